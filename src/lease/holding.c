/*-------------------------------------------------------------------------
 *
 * holding.c
 *		The registry's side of a lease, once it is claimed: guard, revert and
 *		forget a machine id.
 *
 * Guard and revert are for its holder, the worker, which calls them in its own
 * database or through sql/registry.c.  Forgetting a machine id that nobody holds
 * any more is for people.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "utils/builtins.h"

#include "settings.h"
#include "lease/machine.h"
#include "mint/clock.h"

/* The first parameters of guard and revert, and the row that they match. */
#define HELD_ROW \
	"namespace = $1 AND machine_id = $2 AND instance_id = $3" \
	" AND distribute_time = $4 AND last_timestamp >= $5"

static void
holding_values(const CosidHolding *holding, Datum *values)
{
	values[0] = CStringGetTextDatum(holding->namespace);
	values[1] = Int32GetDatum(holding->machine_id);
	values[2] = CStringGetTextDatum(holding->instance_id);
	values[3] = Int64GetDatum(holding->token);
	values[4] = Int64GetDatum(holding->confirmed);
}

/*
 * Execute a statement on the table, "%s" there: whether one row matched.  SPI must
 * be connected.
 */
static bool
execute_on_row(const CosidExtension *extension, const char *format, int nargs,
			   const Oid *types, Datum *values)
{
	Oid			table = cosid_table_oid(extension, "cosid_machine");

	return cosid_execute(table, psprintf(format, cosid_table_name(table)),
						 nargs, types, values, NULL) == 1;
}

/*
 * Extend a lease: raise its watermark to the lead before the server's clock,
 * and no less than the registry's.  False: the lease is lost, or may have been
 * before a failover.
 */
bool
cosid_machine_guard(const CosidExtension *extension, const CosidHolding *holding,
					const char *identity, int64 server_now, int64 lead,
					int64 *watermark)
{
	static const Oid types[8] = {
		TEXTOID, INT4OID, TEXTOID, INT8OID, INT8OID, INT8OID, TEXTOID, INT8OID
	};
	Datum		values[8];
	int64		registry_now = cosid_clock_now_ms();
	CosidFailover failover;
	bool		held;

	ForceSyncCommit();
	SPI_connect();
	cosid_failover_note(extension, registry_now, server_now, lead, false, &failover);
	holding_values(holding, values);
	values[5] = Int64GetDatum(Max(server_now + lead, registry_now));
	values[6] = CStringGetTextDatum(identity);
	values[7] = Int64GetDatum(cosid_failover_silence(&failover));
	held = execute_on_row(extension,
						  "UPDATE %s SET last_timestamp = greatest(last_timestamp, $6), owner = $7"
						  " WHERE " HELD_ROW " AND last_timestamp > $8"
						  " RETURNING last_timestamp", 8, types, values);
	if (held)
		*watermark = DatumGetInt64(cosid_first_row("cosid_machine", 1));
	SPI_finish();
	return held;
}

/*
 * Give a lease back and leave the watermark that its holder reached.  A stable
 * row stays its instance's.  False: the lease was lost, nothing has changed.
 */
bool
cosid_machine_revert(const CosidExtension *extension,
					 const CosidHolding *holding, int64 watermark)
{
	static const Oid types[7] = {
		TEXTOID, INT4OID, TEXTOID, INT8OID, INT8OID, INT8OID, INT8OID
	};
	Datum		values[7];
	bool		held;

	SPI_connect();
	holding_values(holding, values);
	values[5] = Int64GetDatum(watermark);
	values[6] = Int64GetDatum(cosid_clock_now_ms());
	held = execute_on_row(extension,
						  "UPDATE %s SET last_timestamp = $6, revert_time = $7,"
						  " instance_id = CASE WHEN stable THEN instance_id ELSE '' END"
						  " WHERE " HELD_ROW, 7, types, values);
	SPI_finish();
	return held;
}

/*
 * Give back the machine id of a server that is gone for good: if that was a stable
 * one, nobody else would be given it.  What it may have given out stays covered:
 * the watermark stands, a heartbeat of CosId's Java services becomes what a claim
 * would take it for.  Should the server come back after all, the row matches
 * neither its instance id nor its token.  If it comes back at this very moment, one
 * of the two waits for the other's lock on the row and then looks at it anew.
 *
 * Errors: 42704 for a machine id that has no row, 55006 while its lease is live.
 */
void
cosid_machine_forget_row(const CosidExtension *extension, const char *namespace,
						 int machine_id)
{
	static const Oid types[4] = {TEXTOID, INT4OID, INT8OID, INT8OID};
	Datum		values[4] = {
		CStringGetTextDatum(namespace), Int32GetDatum(machine_id),
		Int64GetDatum(cosid_clock_now_ms()), Int64GetDatum(cosid_safe_guard_duration)
	};

	SPI_connect();
	if (!execute_on_row(extension,
						"UPDATE %s m SET instance_id = '', owner = '', stable = false,"
						" last_timestamp = " COSID_ROW_FLOOR("$4") ","
						" distribute_time = m.distribute_time + 1, fence = m.distribute_time + 1,"
						" revert_time = $3"
						" WHERE m.namespace = $1 AND m.machine_id = $2"
						" AND (m.instance_id = '' OR " COSID_ROW_EXPIRED("$3", "$4") ")",
						4, types, values))
	{
		if (!execute_on_row(extension,
							"SELECT last_timestamp FROM %s WHERE namespace = $1 AND machine_id = $2",
							2, types, values))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_OBJECT),
					 errmsg("machine id %d of namespace \"%s\" has never been claimed",
							machine_id, namespace)));
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_IN_USE),
				 errmsg("machine id %d of namespace \"%s\" is in use", machine_id, namespace),
				 errdetail("Its holder has been heard of within \"cosid.safe_guard_duration\".")));
	}
	SPI_finish();
}

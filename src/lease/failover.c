/*-------------------------------------------------------------------------
 *
 * failover.c
 *		What the registry remembers of itself, in table cosid_registry, so that a
 *		failover that loses commits does no harm.
 *
 * An asynchronous standby that is promoted lacks the last commits: claims and
 * extensions whose holders mint on, up to watermarks that the new registry knows
 * nothing of.  But none of these is further ahead of the failover than the
 * largest lead in use.  So the registry keeps which server and timeline it is,
 * when it first saw that this had changed, and that lead; and after a change no
 * claim gets a floor below that moment plus that lead.  Holders whose rows went
 * back to less than they know to be committed are told so by their next
 * extension, and claim anew (holding.c).
 *
 * That is what clocks are for here, and here alone: it holds while those of
 * servers and registries agree within the lead.  For a server whose clock is
 * ahead of the registry's, as much counts as lead, up to the lead once more.
 *
 * A server that has the registry as its own need not wait like that if nobody else
 * uses it (machine.c); so it is kept whether others do.
 *
 * What it can't do: the raise of the largest lead may be lost itself, together
 * with the watermarks that needed it, if a server with a larger lead than anyone
 * had before came just before the failover, or the first one that has its registry
 * elsewhere.  And a registry that goes back on the same timeline (a disk snapshot)
 * looks the same.
 *
 * The row is there from CREATE EXTENSION on, so a table without one has lost it,
 * which counts as a change.  Almost always it is only read: it is changed by the
 * first call after a failover, and by the first with a larger lead, and only
 * those wait for each other.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "tcop/utility.h"

#include "settings.h"
#include "lease/machine.h"

/* No server has a larger lead than this; cosid.watermark_lead ends at 1 hour. */
#define MOST_LEAD_MS		INT64CONST(7200000)

/* Leads are kept in steps of this, so that not each ms more writes the row. */
#define LEAD_STEP_MS		100

/* Each attempt reads what the one before it wrote or found written. */
#define MAX_ATTEMPTS		10

/* The lead as it is kept: by the registry's clock, which is behind a server's. */
static int64
lead_by_registry(int64 registry_now, int64 server_now, int64 lead)
{
	lead = Min(Max(lead, 0), MOST_LEAD_MS);
	lead = Min(Max(server_now + lead - registry_now, lead), 2 * lead);
	return (lead + LEAD_STEP_MS - 1) / LEAD_STEP_MS * LEAD_STEP_MS;
}

static int64
column(int number)
{
	return DatumGetInt64(cosid_first_row("cosid_registry", number));
}

/*
 * For a claim or an extension, before anything else in its transaction: note
 * which registry this is, the lead that is about to be used and whether it is
 * known to be by another server, and tell what is known of a failover.  SPI must
 * be connected, the isolation READ COMMITTED.
 */
void
cosid_failover_note(const CosidExtension *extension, int64 registry_now,
					int64 server_now, int64 lead, bool by_other,
					CosidFailover *failover)
{
	static const Oid types[5] = {INT8OID, INT8OID, INT8OID, INT8OID, BOOLOID};
	Oid			table = cosid_table_oid(extension, "cosid_registry");
	char	   *name = cosid_table_name(table);
	Datum		values[5];

	PreventCommandDuringRecovery("use of the registry of machine ids");
	lead = lead_by_registry(registry_now, server_now, lead);
	values[0] = Int64GetDatum((int64) GetSystemIdentifier());
	values[1] = Int64GetDatum((int64) GetWALInsertionTimeLine());
	values[2] = Int64GetDatum(registry_now);
	values[3] = Int64GetDatum(lead);
	values[4] = BoolGetDatum(by_other);

	for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++)
	{
		CHECK_FOR_INTERRUPTS();
		if (cosid_execute(table,
						  psprintf("SELECT first_seen, largest_lead, shared::int4::int8 FROM %s"
								   " WHERE system_identifier = $1 AND timeline = $2"
								   " AND largest_lead >= $4 AND shared >= $5", name),
						  5, types, values, NULL) == 1)
		{
			failover->first_seen = column(1);
			failover->largest_lead = column(2);
			failover->shared = column(3) != 0;
			return;
		}

		/*
		 * What we waited for may have been the same change by someone else.  A row
		 * that was lost may have said that others use the registry.
		 */
		if (cosid_execute(table,
						  psprintf("UPDATE %s SET system_identifier = $1, timeline = $2,"
								   " first_seen = CASE WHEN system_identifier = $1"
								   " AND timeline = $2 THEN first_seen ELSE $3 END,"
								   " largest_lead = greatest(largest_lead, $4),"
								   " shared = shared OR $5"
								   " WHERE system_identifier <> $1 OR timeline <> $2"
								   " OR largest_lead < $4 OR shared < $5", name),
						  5, types, values, NULL) == 0)
			(void) cosid_execute(table,
								 psprintf("INSERT INTO %s (system_identifier, timeline,"
										  " first_seen, largest_lead, shared)"
										  " VALUES ($1, $2, $3, $4, true)"
										  " ON CONFLICT DO NOTHING", name),
								 4, types, values, NULL);
	}
	elog(ERROR, "table cosid_registry does not keep its row");
}

/*
 * The least floor of a claim: no ID that anyone gave out under a watermark that
 * the failover may have lost is later.  0 if there was none.
 */
int64
cosid_failover_floor(const CosidFailover *failover)
{
	return failover->first_seen == 0 ? 0 :
		failover->first_seen + failover->largest_lead;
}

/*
 * A lease whose watermark was not later than this had expired by the time of the
 * failover: another server may have taken the machine id, in a commit that was
 * lost.  (By this server's own cosid.safe_guard_duration; the fleet's should be
 * the same.)
 */
int64
cosid_failover_silence(const CosidFailover *failover)
{
	return failover->first_seen == 0 ? PG_INT64_MIN :
		failover->first_seen - cosid_safe_guard_duration;
}

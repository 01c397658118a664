/*-------------------------------------------------------------------------
 *
 * machine.c
 *		The registry's side of a lease: claim, guard and revert a machine id.
 *
 * The registry hands out disjoint intervals of time for each machine id, and
 * that is all that keeps IDs unique; clocks and time-outs decide who may take
 * which row, never whether it is safe:
 *
 * - A claim starts above the watermark that stands in the row, read from the
 *   locked version, and raises the watermark in the same transaction.
 * - The token tells this claim from every other.  A holder that was paused and
 *   superseded matches no row any more.
 * - A holder also names the last watermark that it has seen committed.  A row
 *   that shows less was rolled back (a failover that lost commits): no match.
 * - Guard only raises the watermark.  Revert alone may lower it, to what the
 *   holder's cursors reached.
 * - A watermark is on disk before anyone hears of it, whatever the caller's
 *   synchronous_commit is (ForceSyncCommit): it must outlive a crash.
 *
 * The rules of who may take which row are in the fragments of SQL below, once,
 * for choosing and for the second look at the locked row.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "settings.h"
#include "id/snowflake.h"
#include "lease/failover.h"
#include "lease/machine.h"
#include "mint/clock.h"

/* Attempts at a row before the claim gives up for now; each lost one another's. */
#define MAX_ATTEMPTS	1000

/* "<namespace>.<machine id, at least 8 digits>", CosId's key. */
#define MAX_ROW_NAME	100

/* The parameters that every statement of a claim gets. */
#define CLAIM_PARAMETERS	11
#define P_NAMESPACE			"$1"
#define P_MAX_MACHINE_ID	"$2"
#define P_IDENTITY			"$3"
#define P_INSTANCE_ID		"$4"
#define P_STABLE			"$5"
#define P_LOCAL				"$6"
#define P_AVOID				"$7"
#define P_REGISTRY_NOW		"$8"
#define P_SERVER_NOW		"$9"
#define P_SAFE_GUARD		"$10"
#define P_MACHINE_ID		"$11"

/*
 * No ID of the row's machine id is later than this.  Ours is the watermark.
 * CosId's Java services keep a heartbeat there that trails their IDs; they do
 * not know the column fence, which is how such a row is told.
 */
#define ROW_FLOOR_BY(safe_guard) \
	"(CASE WHEN m.fence <> m.distribute_time AND m.instance_id <> ''" \
	" THEN m.last_timestamp + " safe_guard " ELSE m.last_timestamp END)"

#define ROW_FLOOR ROW_FLOOR_BY(P_SAFE_GUARD)

/*
 * A server is known by its identity, whatever its settings say; a stable one by
 * its instance id alone, but not so far as to oust another that runs.  A Java
 * service that took a row over has left the owner as it was.
 */
#define ROW_MINE \
	"(m.fence = m.distribute_time AND m.owner = " P_IDENTITY ")"

#define ROW_OWN \
	"(CASE WHEN " P_STABLE " THEN m.instance_id = " P_INSTANCE_ID \
	" AND (m.stable AND m.fence = m.distribute_time OR " ROW_MINE ")" \
	" ELSE " ROW_MINE " END)"

#define ROW_EXPIRED_BY(now, safe_guard) \
	"(m.last_timestamp <= " now " - " safe_guard ")"

#define ROW_EXPIRED ROW_EXPIRED_BY(P_REGISTRY_NOW, P_SAFE_GUARD)

#define ROW_TAKEABLE \
	"(" ROW_OWN " OR m.instance_id = '' OR (" ROW_EXPIRED " AND NOT m.stable))"

#define ROW_PASSED \
	"(" ROW_FLOOR " < " P_REGISTRY_NOW " AND " ROW_FLOOR " < " P_SERVER_NOW ")"

#define ROW_AVOIDED \
	"(m.machine_id = " P_AVOID " AND NOT " ROW_EXPIRED ")"

/*
 * At which step of a claim a row may be taken; NULL: not at all.  (Step 3 is a
 * machine id without a row.)  A stable instance waits its own row out, but not
 * one in whose place it gave another up: that may be of the same wrong time.  In
 * a local registry rows of another identity mean that this server is a copy,
 * whose origin may run: they are left to the end.
 */
#define ROW_STEP \
	"(CASE WHEN " ROW_AVOIDED " THEN NULL" \
	" WHEN " P_STABLE " AND " ROW_OWN " AND (" P_AVOID " < 0 OR " ROW_PASSED ") THEN 1" \
	" WHEN NOT " ROW_TAKEABLE " THEN NULL" \
	" WHEN " ROW_PASSED " AND (" ROW_OWN " OR NOT " P_LOCAL ") THEN 2" \
	" ELSE 4 END)"

#define STEP_STABLE		1
#define STEP_PASSED		2
#define STEP_WAIT		4

typedef struct ClaimState
{
	const CosidClaim *claim;
	CosidClaimed *claimed;
	Oid			table_oid;
	char	   *table;			/* its qualified name */
	int64		registry_now;
	CosidFailover failover;
	int64		least_floor;
	Datum		values[CLAIM_PARAMETERS];
} ClaimState;

static const Oid claim_types[CLAIM_PARAMETERS] = {
	TEXTOID, INT8OID, TEXTOID, TEXTOID, BOOLOID, BOOLOID, INT4OID,
	INT8OID, INT8OID, INT8OID, INT4OID
};

/* A column of the first row, which must not be NULL. */
static Datum
result(int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
									  column, &isnull);

	if (isnull)
		elog(ERROR, "unexpected null in cosid_machine");
	return value;
}

static uint64
claim_execute(ClaimState *state, const char *format, int machine_id)
{
	state->values[CLAIM_PARAMETERS - 1] = Int32GetDatum(machine_id);
	return cosid_execute(state->table_oid, psprintf(format, state->table),
						 CLAIM_PARAMETERS, claim_types, state->values, NULL);
}

/*
 * Choose a row without locking it: the step at which it may be taken and its
 * machine id.  0: none.
 */
static int
choose_row(ClaimState *state, int *machine_id)
{
	if (claim_execute(state,
					  "SELECT s.step, s.machine_id FROM ("
					  "SELECT " ROW_STEP " AS step, " ROW_MINE " AS mine, "
					  ROW_FLOOR " AS floor, m.machine_id FROM %s m"
					  " WHERE m.namespace = " P_NAMESPACE
					  " AND m.machine_id BETWEEN 0 AND " P_MAX_MACHINE_ID ") s"
					  " WHERE s.step IS NOT NULL"
					  " ORDER BY s.step, CASE WHEN s.step < 4 THEN NOT s.mine END,"
					  " CASE s.step WHEN 2 THEN 0 ELSE s.floor END, s.machine_id LIMIT 1",
					  0) == 0)
		return 0;
	*machine_id = DatumGetInt32(result(2));
	return DatumGetInt32(result(1));
}

/* The lowest machine id without a row, from one on; -1: none. */
static int
choose_free(ClaimState *state, int from)
{
	if (claim_execute(state,
					  "SELECT f.machine_id::int4 FROM ("
					  "SELECT " P_MACHINE_ID "::int8 AS machine_id UNION ALL"
					  " SELECT m.machine_id::int8 + 1 FROM %1$s m"
					  " WHERE m.namespace = " P_NAMESPACE
					  " AND m.machine_id >= " P_MACHINE_ID
					  " UNION ALL SELECT " P_AVOID "::int8 + 1) f"
					  " WHERE f.machine_id BETWEEN " P_MACHINE_ID " AND " P_MAX_MACHINE_ID
					  " AND f.machine_id <> " P_AVOID
					  " AND NOT EXISTS (SELECT 1 FROM %1$s x"
					  " WHERE x.namespace = " P_NAMESPACE
					  " AND x.machine_id = f.machine_id)"
					  " ORDER BY f.machine_id LIMIT 1",
					  from) == 0)
		return COSID_NO_MACHINE_ID;
	return DatumGetInt32(result(1));
}

/*
 * Where to look for a free machine id first.  Local registries never hear of
 * each other, so their servers start at different places.
 */
static int
first_choice(const CosidClaim *claim)
{
	uint64		hash;

	if (!claim->local)
		return 0;
	hash = hash_bytes_extended((const unsigned char *) claim->identity,
							   (int) strlen(claim->identity), 0);
	return (int) (hash % (UINT64CONST(1) << claim->machine_bit));
}

/* The figures of a claim above row_floor (Unix ms). */
static void
set_claimed(ClaimState *state, int machine_id, int64 row_floor, int64 last_token)
{
	const CosidClaim *claim = state->claim;
	CosidClaimed *claimed = state->claimed;

	claimed->status = COSID_CLAIMED;
	claimed->machine_id = machine_id;
	claimed->token = Max(state->registry_now, last_token + 1);
	claimed->floor = Max(row_floor, state->least_floor);
	claimed->watermark = Max(Max(claimed->floor, state->registry_now),
							 claim->server_now + claim->lead);
}

/* The values of the row to write, as set_claimed found them. */
static void
row_values(ClaimState *state, Datum *values)
{
	const CosidClaim *claim = state->claim;
	const CosidClaimed *claimed = state->claimed;
	char		name[MAX_ROW_NAME];

	snprintf(name, sizeof(name), "%s.%08d", claim->namespace, claimed->machine_id);
	values[0] = CStringGetTextDatum(claim->namespace);
	values[1] = Int32GetDatum(claimed->machine_id);
	values[2] = CStringGetTextDatum(claim->instance_id);
	values[3] = CStringGetTextDatum(claim->identity);
	values[4] = BoolGetDatum(claim->stable);
	values[5] = Int64GetDatum(claimed->watermark);
	values[6] = Int64GetDatum(claimed->token);
	values[7] = CStringGetTextDatum(name);
}

static const Oid row_types[8] = {
	TEXTOID, INT4OID, TEXTOID, TEXTOID, BOOLOID, INT8OID, INT8OID, TEXTOID
};

/* Take a machine id that has no row.  False: another was faster. */
static bool
take_free(ClaimState *state, int machine_id)
{
	Datum		values[8];

	/* No ID of it is known to this registry: the later of both clocks will do. */
	set_claimed(state, machine_id,
				Max(state->registry_now, state->claim->server_now), 0);
	row_values(state, values);
	return cosid_execute(state->table_oid,
						 psprintf("INSERT INTO %s (namespace, machine_id, instance_id, owner,"
								  " stable, last_timestamp, distribute_time, fence, revert_time, name)"
								  " VALUES ($1, $2, $3, $4, $5, $6, $7, $7, 0, $8)"
								  " ON CONFLICT DO NOTHING", state->table),
						 8, row_types, values, NULL) == 1;
}

/* Take the row that is locked. */
static void
take_row(ClaimState *state, int machine_id, int64 row_floor, int64 last_token)
{
	Datum		values[8];

	set_claimed(state, machine_id, row_floor, last_token);
	row_values(state, values);
	if (cosid_execute(state->table_oid,
					  psprintf("UPDATE %s SET instance_id = $3, owner = $4, stable = $5,"
							   " last_timestamp = $6, distribute_time = $7, fence = $7,"
							   " revert_time = 0"
							   " WHERE namespace = $1 AND machine_id = $2", state->table),
					  8, row_types, values, NULL) != 1)
		elog(ERROR, "machine id %d of namespace \"%s\" vanished while it was locked",
			 machine_id, state->claim->namespace);
}

/*
 * Lock the chosen row and take it, if it may still be taken at that step.
 * Floor and token come from the locked version: what we saw before may be old.
 */
static bool
take_chosen(ClaimState *state, int step, int machine_id)
{
	if (claim_execute(state,
					  psprintf("SELECT " ROW_FLOOR ", m.distribute_time FROM %%s m"
							   " WHERE m.namespace = " P_NAMESPACE
							   " AND m.machine_id = " P_MACHINE_ID
							   " AND " ROW_STEP " = %d FOR UPDATE", step),
					  machine_id) == 0)
		return false;
	take_row(state, machine_id, DatumGetInt64(result(1)), DatumGetInt64(result(2)));
	return true;
}

/* A fixed machine id: its own row only, taken as soon as nobody else holds it. */
static bool
take_fixed(ClaimState *state, int machine_id)
{
	if (claim_execute(state,
					  "SELECT " ROW_FLOOR ", m.distribute_time, " ROW_TAKEABLE ","
					  " m.instance_id::text FROM %s m"
					  " WHERE m.namespace = " P_NAMESPACE
					  " AND m.machine_id = " P_MACHINE_ID " FOR UPDATE",
					  machine_id) == 0)
		return take_free(state, machine_id);

	if (DatumGetBool(result(3)))
		take_row(state, machine_id, DatumGetInt64(result(1)), DatumGetInt64(result(2)));
	else
	{
		state->claimed->status = COSID_CLAIM_HELD;
		strlcpy(state->claimed->holder, TextDatumGetCString(result(4)),
				sizeof(state->claimed->holder));
	}
	return true;
}

/* One attempt, step by step.  False: another was faster, try again. */
static bool
claim_once(ClaimState *state)
{
	const CosidClaim *claim = state->claim;
	int			machine_id = COSID_NO_MACHINE_ID;
	int			free_id;
	int			step;

	if (claim->fixed_machine_id != COSID_NO_MACHINE_ID)
	{
		if (claim->fixed_machine_id < (INT64CONST(1) << claim->machine_bit))
			return take_fixed(state, claim->fixed_machine_id);
		state->claimed->status = COSID_CLAIM_FULL;
		return true;
	}

	step = choose_row(state, &machine_id);
	if (step == STEP_STABLE || step == STEP_PASSED)
		return take_chosen(state, step, machine_id);

	free_id = choose_free(state, first_choice(claim));
	if (free_id == COSID_NO_MACHINE_ID)
		free_id = choose_free(state, 0);
	if (free_id != COSID_NO_MACHINE_ID)
		return take_free(state, free_id);

	if (step == STEP_WAIT)
	{
		/* Of a server whose last commits a local registry may lack. */
		state->least_floor = Max(state->least_floor,
								 cosid_failover_floor(&state->failover));
		return take_chosen(state, step, machine_id);
	}

	state->claimed->status = COSID_CLAIM_FULL;
	return true;
}

/*
 * After a failover that may have lost commits, a claim starts above all that
 * these may have been about.
 *
 * Not so in a local registry that no other server uses: who claims there after a
 * failover is another server than before, and takes another machine id than those
 * that had rows.  What a standby lacks can only matter if its primary claimed one
 * more just before, and if of all that are free it is this one that the standby
 * chooses, by a hash.  Letting everybody wait for a lead after each promotion, for
 * that, would be a bad bargain; and where a machine id is taken after all that
 * another server had (step 4), there is that floor.
 */
static int64
least_floor(const ClaimState *state)
{
	if (state->claim->local && !state->failover.shared)
		return state->claim->least_floor;
	return Max(state->claim->least_floor, cosid_failover_floor(&state->failover));
}

/*
 * How many machine ids of the namespace servers of another identity hold.  In a
 * local registry there should be none: it was copied along with this server.
 */
static int64
count_others(ClaimState *state)
{
	(void) claim_execute(state,
						 "SELECT count(*) FROM %s m WHERE m.namespace = " P_NAMESPACE
						 " AND m.instance_id <> '' AND NOT " ROW_EXPIRED
						 " AND m.fence = m.distribute_time AND m.owner <> " P_IDENTITY,
						 0);
	return DatumGetInt64(result(1));
}

/*
 * Claim a machine id.  Raises errors of its statements, and 40001 when it lost
 * every race for a row.
 */
void
cosid_machine_claim(const CosidExtension *extension, const CosidClaim *claim,
					CosidClaimed *claimed)
{
	ClaimState	state = {.claim = claim,.claimed = claimed};
	int			attempts = 0;
	bool		done;

	memset(claimed, 0, sizeof(CosidClaimed));
	ForceSyncCommit();
	SPI_connect();
	state.table_oid = cosid_table_oid(extension, "cosid_machine");
	state.table = cosid_table_name(state.table_oid);

	/*
	 * Claims of one namespace queue up.  That is not what keeps them apart, the
	 * rows are: others (CosId's services) claim without it.  But all want the
	 * lowest machine id, and of many that race for it, each time one wins and
	 * the rest have looked in vain; a fleet that starts at once would take
	 * minutes.
	 */
	if (claim->fixed_machine_id == COSID_NO_MACHINE_ID)
		(void) cosid_name_lock(state.table_oid, claim->namespace, ExclusiveLock, true);
	state.values[0] = CStringGetTextDatum(claim->namespace);
	state.values[1] = Int64GetDatum((INT64CONST(1) << claim->machine_bit) - 1);
	state.values[2] = CStringGetTextDatum(claim->identity);
	state.values[3] = CStringGetTextDatum(claim->instance_id);
	state.values[4] = BoolGetDatum(claim->stable);
	state.values[5] = BoolGetDatum(claim->local);
	state.values[6] = Int32GetDatum(claim->avoid_machine_id);
	cosid_failover_note(extension, cosid_clock_now_ms(), claim->server_now,
						claim->lead, !claim->local, &state.failover);
	state.least_floor = least_floor(&state);
	state.values[8] = Int64GetDatum(claim->server_now);
	state.values[9] = Int64GetDatum(claim->safe_guard);
	do
	{
		CHECK_FOR_INTERRUPTS();
		if (attempts++ >= MAX_ATTEMPTS)
			ereport(ERROR,
					(errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
					 errmsg("could not claim a machine id of namespace \"%s\" due to concurrent claims",
							claim->namespace)));
		state.registry_now = cosid_clock_now_ms();
		state.values[7] = Int64GetDatum(state.registry_now);
		done = claim_once(&state);
	} while (!done);
	if (claim->local)
		claimed->others = count_others(&state);
	SPI_finish();
}

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
	Oid			table = cosid_table_oid(extension, "cosid_machine");
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
	held = cosid_execute(table,
						 psprintf("UPDATE %s SET last_timestamp = greatest(last_timestamp, $6), owner = $7"
								  " WHERE " HELD_ROW " AND last_timestamp > $8"
								  " RETURNING last_timestamp",
								  cosid_table_name(table)),
						 8, types, values, NULL) == 1;
	if (held)
		*watermark = DatumGetInt64(result(1));
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
	Oid			table = cosid_table_oid(extension, "cosid_machine");
	bool		held;

	SPI_connect();
	holding_values(holding, values);
	values[5] = Int64GetDatum(watermark);
	values[6] = Int64GetDatum(cosid_clock_now_ms());
	held = cosid_execute(table,
						 psprintf("UPDATE %s SET last_timestamp = $6, revert_time = $7,"
								  " instance_id = CASE WHEN stable THEN instance_id ELSE '' END"
								  " WHERE " HELD_ROW, cosid_table_name(table)),
						 7, types, values, NULL) == 1;
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
static void
forget(const CosidExtension *extension, const char *namespace, int machine_id)
{
	static const Oid types[4] = {TEXTOID, INT4OID, INT8OID, INT8OID};
	Datum		values[4];
	Oid			table = cosid_table_oid(extension, "cosid_machine");
	char	   *name = cosid_table_name(table);

	values[0] = CStringGetTextDatum(namespace);
	values[1] = Int32GetDatum(machine_id);
	values[2] = Int64GetDatum(cosid_clock_now_ms());
	values[3] = Int64GetDatum(cosid_safe_guard_duration);
	SPI_connect();
	if (cosid_execute(table,
					  psprintf("UPDATE %s m SET instance_id = '', owner = '', stable = false,"
							   " last_timestamp = " ROW_FLOOR_BY("$4") ","
							   " distribute_time = m.distribute_time + 1, fence = m.distribute_time + 1,"
							   " revert_time = $3"
							   " WHERE m.namespace = $1 AND m.machine_id = $2"
							   " AND (m.instance_id = '' OR " ROW_EXPIRED_BY("$3", "$4") ")", name),
					  4, types, values, NULL) == 0)
	{
		if (cosid_execute(table,
						  psprintf("SELECT last_timestamp FROM %s WHERE namespace = $1 AND machine_id = $2",
								   name),
						  2, types, values, NULL) == 0)
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

/*
 * The same as SQL functions: what the worker of another server calls here; and
 * cosid_machine_forget.
 */

PG_FUNCTION_INFO_V1(cosid_machine_claim_sql);
PG_FUNCTION_INFO_V1(cosid_machine_guard_sql);
PG_FUNCTION_INFO_V1(cosid_machine_revert_sql);
PG_FUNCTION_INFO_V1(cosid_machine_forget);
PG_FUNCTION_INFO_V1(cosid_machine_keep);

static void
find_extension(CosidExtension *extension)
{
	/* The second look at a locked row must see its latest version. */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("the registry can only be written in isolation level READ COMMITTED")));
	if (!cosid_extension_find(extension))
		elog(ERROR, "extension cosid does not exist");
}

static char *
text_argument(FunctionCallInfo fcinfo, int argument)
{
	return text_to_cstring(PG_GETARG_TEXT_PP(argument));
}

Datum
cosid_machine_claim_sql(PG_FUNCTION_ARGS)
{
	static const char *const status_names[] = {"claimed", "held", "full"};
	CosidExtension extension;
	CosidClaim	claim;
	CosidClaimed claimed;
	TupleDesc	desc = cosid_result_type(fcinfo, 6);
	Datum		values[6];
	bool		nulls[6] = {false};

	claim.namespace = text_argument(fcinfo, 0);
	claim.machine_bit = PG_GETARG_INT32(1);
	claim.identity = text_argument(fcinfo, 2);
	claim.instance_id = text_argument(fcinfo, 3);
	claim.stable = PG_GETARG_BOOL(4);
	claim.fixed_machine_id = PG_GETARG_INT32(5);
	claim.avoid_machine_id = PG_GETARG_INT32(6);
	claim.local = PG_GETARG_BOOL(7);
	claim.server_now = PG_GETARG_INT64(8);
	claim.lead = PG_GETARG_INT64(9);
	claim.safe_guard = PG_GETARG_INT64(10);
	claim.least_floor = PG_GETARG_INT64(11);
	if (!cosid_namespace_valid(claim.namespace, COSID_MAX_NAMESPACE))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid namespace: \"%s\"", claim.namespace)));
	if (claim.machine_bit < 1 || claim.machine_bit > COSID_MAX_MACHINE_BITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("machine bits must be between 1 and %d", COSID_MAX_MACHINE_BITS)));
	if (claim.identity[0] == '\0')
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an identity must not be empty")));
	if (claim.instance_id[0] == '\0' || strlen(claim.instance_id) > COSID_MAX_INSTANCE_ID)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("an instance id must have 1 to %d bytes", COSID_MAX_INSTANCE_ID)));

	find_extension(&extension);
	cosid_machine_claim(&extension, &claim, &claimed);

	values[0] = CStringGetTextDatum(status_names[claimed.status]);
	values[1] = Int32GetDatum(claimed.machine_id);
	values[2] = Int64GetDatum(claimed.token);
	values[3] = Int64GetDatum(claimed.floor);
	values[4] = Int64GetDatum(claimed.watermark);
	values[5] = CStringGetTextDatum(claimed.holder);
	if (claimed.status != COSID_CLAIMED)
		nulls[1] = nulls[2] = nulls[3] = nulls[4] = true;
	if (claimed.status != COSID_CLAIM_HELD)
		nulls[5] = true;
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

static void
holding_arguments(FunctionCallInfo fcinfo, CosidHolding *holding)
{
	holding->namespace = text_argument(fcinfo, 0);
	holding->machine_id = PG_GETARG_INT32(1);
	holding->instance_id = text_argument(fcinfo, 2);
	holding->token = PG_GETARG_INT64(3);
	holding->confirmed = PG_GETARG_INT64(4);
}

Datum
cosid_machine_guard_sql(PG_FUNCTION_ARGS)
{
	CosidExtension extension;
	CosidHolding holding;
	int64		watermark;

	holding_arguments(fcinfo, &holding);
	find_extension(&extension);
	if (!cosid_machine_guard(&extension, &holding, text_argument(fcinfo, 5),
							 PG_GETARG_INT64(6), PG_GETARG_INT64(7), &watermark))
		PG_RETURN_NULL();
	PG_RETURN_INT64(watermark);
}

Datum
cosid_machine_revert_sql(PG_FUNCTION_ARGS)
{
	CosidExtension extension;
	CosidHolding holding;

	holding_arguments(fcinfo, &holding);
	find_extension(&extension);
	PG_RETURN_BOOL(cosid_machine_revert(&extension, &holding, PG_GETARG_INT64(5)));
}

/* cosid_machine_forget(namespace text, machine_id integer) -> void */
Datum
cosid_machine_forget(PG_FUNCTION_ARGS)
{
	CosidExtension extension;

	find_extension(&extension);
	forget(&extension, text_argument(fcinfo, 0), PG_GETARG_INT32(1));
	PG_RETURN_VOID();
}

/*
 * Trigger on cosid_machine and cosid_registry: a machine id's history is its
 * watermark, and the registry's the moment of its last failover.
 */
Datum
cosid_machine_keep(PG_FUNCTION_ARGS)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by trigger manager")));
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("rows of %s cannot be deleted",
					RelationGetRelationName(((TriggerData *) fcinfo->context)->tg_relation)),
			 errdetail("They are what keeps IDs from being given out twice.")));
	PG_RETURN_NULL();
}

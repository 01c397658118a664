/*-------------------------------------------------------------------------
 *
 * machine.c
 *		The registry's side of a lease: choosing and claiming a machine id.
 *
 * The worker calls it, in its own database or through sql/registry.c; machine.h
 * says what makes that safe, whoever takes which row.  The rules of who may are
 * in the fragments of SQL below, once, for choosing and for the second look at
 * the locked row.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "settings.h"
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

#define ROW_FLOOR COSID_ROW_FLOOR(P_SAFE_GUARD)

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

#define ROW_EXPIRED COSID_ROW_EXPIRED(P_REGISTRY_NOW, P_SAFE_GUARD)

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

static Datum
result(int column)
{
	return cosid_first_row("cosid_machine", column);
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

/* Write the row, as set_claimed found its values.  False: no row was written. */
static bool
write_row(ClaimState *state, const char *format)
{
	static const Oid types[8] = {
		TEXTOID, INT4OID, TEXTOID, TEXTOID, BOOLOID, INT8OID, INT8OID, TEXTOID
	};
	const CosidClaim *claim = state->claim;
	const CosidClaimed *claimed = state->claimed;
	char		name[MAX_ROW_NAME];
	Datum		values[8];

	snprintf(name, sizeof(name), "%s.%08d", claim->namespace, claimed->machine_id);
	values[0] = CStringGetTextDatum(claim->namespace);
	values[1] = Int32GetDatum(claimed->machine_id);
	values[2] = CStringGetTextDatum(claim->instance_id);
	values[3] = CStringGetTextDatum(claim->identity);
	values[4] = BoolGetDatum(claim->stable);
	values[5] = Int64GetDatum(claimed->watermark);
	values[6] = Int64GetDatum(claimed->token);
	values[7] = CStringGetTextDatum(name);
	return cosid_execute(state->table_oid, psprintf(format, state->table),
						 8, types, values, NULL) == 1;
}

/* Take a machine id that has no row.  False: another was faster. */
static bool
take_free(ClaimState *state, int machine_id)
{
	/* No ID of it is known to this registry: the later of both clocks will do. */
	set_claimed(state, machine_id,
				Max(state->registry_now, state->claim->server_now), 0);
	return write_row(state,
					 "INSERT INTO %s (namespace, machine_id, instance_id, owner,"
					 " stable, last_timestamp, distribute_time, fence, revert_time, name)"
					 " VALUES ($1, $2, $3, $4, $5, $6, $7, $7, 0, $8)"
					 " ON CONFLICT DO NOTHING");
}

/* Take the row that is locked. */
static void
take_row(ClaimState *state, int machine_id, int64 row_floor, int64 last_token)
{
	set_claimed(state, machine_id, row_floor, last_token);
	if (!write_row(state,
				   "UPDATE %s SET instance_id = $3, owner = $4, stable = $5,"
				   " last_timestamp = $6, distribute_time = $7, fence = $7,"
				   " revert_time = 0"
				   " WHERE namespace = $1 AND machine_id = $2"))
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

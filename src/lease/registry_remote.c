/*-------------------------------------------------------------------------
 *
 * registry_remote.c
 *		The way to a registry in another server: its functions
 *		cosid_machine_claim, _guard and _revert, called through connection.c.
 *
 * What comes from the registry is checked as far as it can be: whoever answers
 * there is believed in what he says about the registry's rows, but can't make
 * this server mint with numbers that make no sense.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "postmaster/bgworker.h"
#include "utils/memutils.h"

#include "settings.h"
#include "lease/connection.h"
#include "lease/registry.h"
#include "mint/clock.h"

/* Where a call's strings are. */
static MemoryContext call_context = NULL;

/*
 * It is connected to no database, only to the server: it is seen in
 * pg_stat_activity and can be sent interrupts.
 */
static void
remote_connect(void)
{
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	call_context = AllocSetContextCreate(TopMemoryContext, "cosid registry call",
										 ALLOCSET_DEFAULT_SIZES);
	cosid_connection_use();
}

static const char *
number_text(int64 number)
{
	return psprintf(INT64_FORMAT, number);
}

/* A column of an answer as a number from `least` to `most`. */
static bool
answer_number(const PGresult *answer, int column, int64 least, int64 most, int64 *number)
{
	const char *text = PQgetvalue(answer, 0, column);
	char	   *end;

	if (PQgetisnull(answer, 0, column))
		return false;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' &&
		*number >= least && *number <= most;
}

/*
 * The figures of a claim, which must be what cosid_machine_claim can give: a
 * machine id that fits, a floor that keeps to what we asked for, and a watermark
 * that is at or above it.
 */
static bool
read_claimed(CosidRegistryCall *call, const PGresult *answer)
{
	const CosidClaim *claim = call->claim;
	CosidClaimed *claimed = call->claimed;
	int			fixed = claim->fixed_machine_id;
	int64		machine_id;

	if (!answer_number(answer, 1, fixed == COSID_NO_MACHINE_ID ? 0 : fixed,
					   fixed == COSID_NO_MACHINE_ID ?
					   (INT64CONST(1) << claim->machine_bit) - 1 : fixed, &machine_id) ||
		!answer_number(answer, 2, 1, PG_INT64_MAX, &claimed->token) ||
		!answer_number(answer, 3, claim->least_floor, PG_INT64_MAX, &claimed->floor) ||
		!answer_number(answer, 4, Max(claimed->floor, claim->server_now), PG_INT64_MAX,
					   &claimed->watermark))
		return cosid_connection_fail(call, "the registry's answer to a claim makes no sense");
	claimed->machine_id = (int) machine_id;
	return true;
}

static CosidRegistryStatus
claim(CosidRegistryCall *call)
{
	static const Oid types[] = {
		TEXTOID, INT4OID, TEXTOID, TEXTOID, BOOLOID, INT4OID, INT4OID, BOOLOID,
		INT8OID, INT8OID, INT8OID, INT8OID
	};
	CosidClaim *claim = call->claim;
	CosidClaimed *claimed = call->claimed;
	const char *values[lengthof(types)];
	const PGresult *answer;
	const char *status;

	memset(claimed, 0, sizeof(CosidClaimed));
	claim->server_now = cosid_clock_now_ms();	/* connecting may have taken long */
	values[0] = claim->namespace;
	values[1] = number_text(claim->machine_bit);
	values[2] = claim->identity;
	values[3] = claim->instance_id;
	values[4] = claim->stable ? "t" : "f";
	values[5] = number_text(claim->fixed_machine_id);
	values[6] = number_text(claim->avoid_machine_id);
	values[7] = claim->local ? "t" : "f";
	values[8] = number_text(claim->server_now);
	values[9] = number_text(claim->lead);
	values[10] = number_text(claim->safe_guard);
	values[11] = number_text(claim->least_floor);
	answer = cosid_connection_call(call,
								   "SELECT status, machine_id, token, floor, watermark, holder"
								   " FROM %s.cosid_machine_claim($1, $2, $3, $4, $5, $6, $7, $8,"
								   " $9, $10, $11, $12)",
								   lengthof(types), types, values, 6);
	if (answer == NULL)
		return COSID_REGISTRY_FAILED;

	status = PQgetvalue(answer, 0, 0);
	if (strcmp(status, "claimed") == 0)
		claimed->status = COSID_CLAIMED;
	else if (strcmp(status, "held") == 0)
		claimed->status = COSID_CLAIM_HELD;
	else if (strcmp(status, "full") == 0)
		claimed->status = COSID_CLAIM_FULL;
	else
	{
		cosid_connection_fail(call, "the registry's answer to a claim makes no sense");
		return COSID_REGISTRY_FAILED;
	}
	strlcpy(claimed->holder, PQgetvalue(answer, 0, 5), sizeof(claimed->holder));
	if (claimed->status == COSID_CLAIMED && !read_claimed(call, answer))
		return COSID_REGISTRY_FAILED;
	return COSID_REGISTRY_OK;
}

/* The first arguments of guard and revert: what the row must show. */
static void
holding_values(const CosidHolding *holding, const char **values)
{
	values[0] = holding->namespace;
	values[1] = number_text(holding->machine_id);
	values[2] = holding->instance_id;
	values[3] = number_text(holding->token);
	values[4] = number_text(holding->confirmed);
}

static CosidRegistryStatus
guard(CosidRegistryCall *call)
{
	static const Oid types[] = {
		TEXTOID, INT4OID, TEXTOID, INT8OID, INT8OID, TEXTOID, INT8OID, INT8OID
	};
	const char *values[lengthof(types)];
	const PGresult *answer;

	holding_values(&call->holding, values);
	values[5] = call->identity;
	values[6] = number_text(cosid_clock_now_ms());
	values[7] = number_text(call->lead);
	answer = cosid_connection_call(call,
								   "SELECT %s.cosid_machine_guard($1, $2, $3, $4, $5, $6, $7, $8)",
								   lengthof(types), types, values, 1);
	if (answer == NULL)
		return COSID_REGISTRY_FAILED;
	if (PQgetisnull(answer, 0, 0))
		return COSID_REGISTRY_LOST;
	if (!answer_number(answer, 0, call->holding.confirmed, PG_INT64_MAX, &call->watermark))
	{
		cosid_connection_fail(call, "the registry's answer to an extension makes no sense");
		return COSID_REGISTRY_FAILED;
	}
	return COSID_REGISTRY_OK;
}

/*
 * The commit need not wait for the registry's standbys; set_config says so for
 * this transaction.
 */
static CosidRegistryStatus
revert(CosidRegistryCall *call)
{
	static const Oid types[] = {
		TEXTOID, INT4OID, TEXTOID, INT8OID, INT8OID, INT8OID
	};
	const char *values[lengthof(types)];
	const PGresult *answer;

	holding_values(&call->holding, values);
	values[5] = number_text(call->watermark);
	answer = cosid_connection_call(call,
								   "SELECT %s.cosid_machine_revert($1, $2, $3, $4, $5, $6),"
								   " pg_catalog.set_config('synchronous_commit', 'local', true)",
								   lengthof(types), types, values, 2);
	if (answer == NULL)
		return COSID_REGISTRY_FAILED;
	return strcmp(PQgetvalue(answer, 0, 0), "t") == 0 ?
		COSID_REGISTRY_OK : COSID_REGISTRY_LOST;
}

static CosidRegistryStatus
remote_run(CosidRegistryCall *call)
{
	call->deadline = cosid_clock_monotonic_ms() + call->timeout_ms;
	MemoryContextSwitchTo(call_context);
	if (!cosid_connection_ensure(call))
		return COSID_REGISTRY_FAILED;
	switch (call->step)
	{
		case COSID_STEP_CLAIM:
			return claim(call);
		case COSID_STEP_GUARD:
			return guard(call);
		case COSID_STEP_REVERT:
			return revert(call);
	}
	return COSID_REGISTRY_FAILED;
}

static void
remote_finish(bool failed)
{
	cosid_connection_finish(!failed);
	MemoryContextReset(call_context);
}

const CosidRegistryKind cosid_registry_remote = {
	.elsewhere = true,
	.name = cosid_connection_name,
	.connect = remote_connect,
	.use = cosid_connection_use,
	.run = remote_run,
	.finish = remote_finish,
};

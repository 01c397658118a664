/*-------------------------------------------------------------------------
 *
 * registry.c
 *		The SQL functions of the registry: what the worker of another server
 *		calls here (see lease/registry_remote.c), cosid_machine_forget, and the
 *		trigger that keeps the rows.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "commands/trigger.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "catalog.h"
#include "settings.h"
#include "id/snowflake.h"
#include "lease/machine.h"

PG_FUNCTION_INFO_V1(cosid_machine_claim_sql);
PG_FUNCTION_INFO_V1(cosid_machine_guard_sql);
PG_FUNCTION_INFO_V1(cosid_machine_revert_sql);
PG_FUNCTION_INFO_V1(cosid_machine_forget);
PG_FUNCTION_INFO_V1(cosid_machine_keep);

/* The extension, for a call that writes the registry.  Errors: 25001, XX000. */
static CosidExtension
writable_registry(void)
{
	CosidExtension extension;

	/* The second look at a locked row must see its latest version. */
	if (IsolationUsesXactSnapshot())
		ereport(ERROR,
				(errcode(ERRCODE_ACTIVE_SQL_TRANSACTION),
				 errmsg("the registry can only be written in isolation level READ COMMITTED")));
	if (!cosid_extension_find(&extension))
		elog(ERROR, "extension cosid does not exist");
	return extension;
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

	extension = writable_registry();
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
	extension = writable_registry();
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
	extension = writable_registry();
	PG_RETURN_BOOL(cosid_machine_revert(&extension, &holding, PG_GETARG_INT64(5)));
}

/* cosid_machine_forget(namespace text, machine_id integer) -> void */
Datum
cosid_machine_forget(PG_FUNCTION_ARGS)
{
	CosidExtension extension = writable_registry();

	cosid_machine_forget_row(&extension, text_argument(fcinfo, 0), PG_GETARG_INT32(1));
	PG_RETURN_VOID();
}

/*
 * Trigger on cosid_machine and cosid_registry: a machine id's history is its
 * watermark, and the registry's the moment of its last failover.
 */
Datum
cosid_machine_keep(PG_FUNCTION_ARGS)
{
	cosid_check_trigger(fcinfo);
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("rows of %s cannot be deleted",
					RelationGetRelationName(((TriggerData *) fcinfo->context)->tg_relation)),
			 errdetail("They are what keeps IDs from being given out twice.")));
	PG_RETURN_NULL();
}

/*-------------------------------------------------------------------------
 *
 * functions.c
 *		The SQL functions that mint IDs and define generators: unpack arguments,
 *		pack results.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "define/definition.h"

PG_FUNCTION_INFO_V1(cosid_next);
PG_FUNCTION_INFO_V1(cosid_next_share);
PG_FUNCTION_INFO_V1(cosid_next_batch);
PG_FUNCTION_INFO_V1(cosid_create);
PG_FUNCTION_INFO_V1(cosid_drop);

/*
 * Minting
 */

/* cosid_next(name text) -> bigint */
Datum
cosid_next(PG_FUNCTION_ARGS)
{
	text	   *name = (text *) PG_GETARG_POINTER(0);

	/* A constant never is, and looking saves a call. */
	if (unlikely(VARATT_IS_EXTERNAL(name) || VARATT_IS_COMPRESSED(name)))
		name = PG_GETARG_TEXT_PP(0);
	PG_RETURN_INT64(cosid_next_id(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)));
}

/* cosid_next() -> bigint */
Datum
cosid_next_share(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(cosid_next_id(COSID_SHARE_NAME, strlen(COSID_SHARE_NAME)));
}

/* cosid_next(name text, count integer) -> SETOF bigint, each minted when fetched */
Datum
cosid_next_batch(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	text	   *name = PG_GETARG_TEXT_PP(0);
	int32		count = PG_GETARG_INT32(1);

	if (SRF_IS_FIRSTCALL())
	{
		if (count < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid value for parameter \"%s\": %d", "count", count),
					 errdetail("The number of IDs must not be negative.")));
		call = SRF_FIRSTCALL_INIT();
		call->max_calls = (uint64) count;
	}
	call = SRF_PERCALL_SETUP();
	if (call->call_cntr >= call->max_calls)
		SRF_RETURN_DONE(call);
	SRF_RETURN_NEXT(call,
					Int64GetDatum(cosid_next_id(VARDATA_ANY(name),
												VARSIZE_ANY_EXHDR(name))));
}

/*
 * Defining
 */

/* cosid_create(name, ...) -> void: the columns of cosid_generator, and
 * safe_javascript after clock_sync */
Datum
cosid_create(PG_FUNCTION_ARGS)
{
	const int	safe_javascript = COSID_COL_CLOCK_SYNC + 1;
	NullableDatum arguments[COSID_COLUMNS];

	for (int i = 0; i < COSID_COL_IMPLICIT; i++)
		arguments[i] = fcinfo->args[i < safe_javascript ? i : i + 1];
	arguments[COSID_COL_IMPLICIT].isnull = true;
	cosid_definition_create(arguments,
							!PG_ARGISNULL(safe_javascript) &&
							PG_GETARG_BOOL(safe_javascript));
	PG_RETURN_VOID();
}

/* cosid_drop(name text) -> void */
Datum
cosid_drop(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);

	cosid_definition_drop(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	PG_RETURN_VOID();
}

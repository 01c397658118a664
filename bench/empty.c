/*-------------------------------------------------------------------------
 *
 * empty.c
 *		A function of cosid_next's signature that does nothing: what any C
 *		function costs, to be taken off from what cosid_next and nextval cost.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(bench_empty);

/* bench_empty(name text) -> bigint */
Datum
bench_empty(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(1);
}

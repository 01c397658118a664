/*-------------------------------------------------------------------------
 *
 * fill.c
 *		cosid_fill: a trigger for clients that insert an explicit NULL as the key,
 *		which no default replaces.
 *
 *	CREATE TRIGGER fill BEFORE INSERT ON orders FOR EACH ROW
 *		EXECUTE FUNCTION cosid_fill('id', 'order')
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "catalog.h"
#include "compat.h"
#include "define/definition.h"

PG_FUNCTION_INFO_V1(cosid_fill);

/* Which column an error is about. */
static void
add_context(void *arg)
{
	TriggerData *trigger = arg;

	errcontext("column \"%s\" of table \"%s\", filled by trigger \"%s\"",
			   trigger->tg_trigger->tgargs[0],
			   RelationGetRelationName(trigger->tg_relation),
			   trigger->tg_trigger->tgname);
}

static void
check_trigger(FunctionCallInfo fcinfo)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;

	cosid_check_trigger(fcinfo);
	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("trigger \"%s\" on table \"%s\" must be fired before insert, for each row",
						trigger->tg_trigger->tgname,
						RelationGetRelationName(trigger->tg_relation))));
	if (trigger->tg_trigger->tgnargs != 2)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("trigger \"%s\" on table \"%s\" must name a column and a generator",
						trigger->tg_trigger->tgname,
						RelationGetRelationName(trigger->tg_relation)),
				 errhint("For example: EXECUTE FUNCTION cosid_fill('id', 'order').")));
}

/* The column's number and type; 42703 without one, 42804 if it can't have an ID. */
static int
find_column(Relation table, char *name, Oid *type)
{
	TupleDesc	tupdesc = RelationGetDescr(table);
	int			attnum = SPI_fnumber(tupdesc, name);

	if (attnum <= 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of table \"%s\" does not exist",
						name, RelationGetRelationName(table))));
	*type = TupleDescAttr(tupdesc, attnum - 1)->atttypid;
	if (*type != INT8OID && getBaseType(*type) != INT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" is of type %s, but an ID is of type bigint",
						name, RelationGetRelationName(table), format_type_be(*type))));
	return attnum;
}

/*
 * As with a default, whoever inserts mints, and must be allowed to.  That is
 * looked at once a statement.
 */
static void
check_may_mint(FmgrInfo *function)
{
	static char checked;
	CosidExtension extension;
	Oid			next;

	if (function->fn_extra == &checked)
		return;
	extension = cosid_extension_get();
	next = cosid_function_find(&extension, "cosid_next", 1);
	if (cosid_proc_aclcheck(next, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, "cosid_next");
	function->fn_extra = &checked;
}

/* cosid_fill(column, generator): an ID for the column, if it is NULL */
Datum
cosid_fill(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	ErrorContextCallback callback = {.callback = add_context,.arg = trigger};
	const char *generator;
	HeapTuple	row;
	int			attnum;
	Oid			type;
	Datum		id;
	bool		isnull;

	check_trigger(fcinfo);
	row = trigger->tg_trigtuple;
	attnum = find_column(trigger->tg_relation, trigger->tg_trigger->tgargs[0],
						 &type);
	(void) heap_getattr(row, attnum, RelationGetDescr(trigger->tg_relation), &isnull);
	if (!isnull)
		return PointerGetDatum(row);

	generator = trigger->tg_trigger->tgargs[1];
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	check_may_mint(fcinfo->flinfo);
	id = Int64GetDatum(cosid_next_id(generator, (int) strlen(generator)));
	if (type != INT8OID)
		domain_check(id, false, type, NULL, NULL);
	error_context_stack = callback.previous;

	isnull = false;
	return PointerGetDatum(heap_modify_tuple_by_cols(row, RelationGetDescr(trigger->tg_relation),
													 1, &attnum, &id, &isnull));
}

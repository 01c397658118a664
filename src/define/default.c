/*-------------------------------------------------------------------------
 *
 * default.c
 *		The defaults of columns and domains, and the triggers, that draw from a
 *		generator.
 *
 * PostgreSQL records that a default depends on the function it calls, but not
 * with which name.  So we look at the expressions of all that depend on one of
 * the extension's functions.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_depend.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "define/default.h"

/* The calls to look for in an expression, and what was found. */
typedef struct CallSearch
{
	List	   *functions;		/* OIDs */
	List	   *names;			/* char *: constant texts that they are given */
} CallSearch;

/*
 * An argument of a call as a text; NULL if it is something else.  Only a
 * constant is recognized: nothing is evaluated, since anyone's function may be
 * in there, and the caller may be superuser.
 */
static char *
constant_text(Node *argument)
{
	Const	   *constant;

	if (IsA(argument, NamedArgExpr))
		argument = (Node *) ((NamedArgExpr *) argument)->arg;
	while (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	if (!IsA(argument, Const))
		return NULL;
	constant = (Const *) argument;
	if (constant->constisnull ||
		(constant->consttype != TEXTOID && constant->consttype != VARCHAROID))
		return NULL;
	return TextDatumGetCString(constant->constvalue);
}

static bool
collect_names(Node *node, void *context)
{
	CallSearch *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) &&
		list_member_oid(search->functions, ((FuncExpr *) node)->funcid))
	{
		ListCell   *cell;

		foreach(cell, ((FuncExpr *) node)->args)
		{
			char	   *name = constant_text(lfirst(cell));

			if (name != NULL)
				search->names = lappend(search->names, name);
		}
	}
	return expression_tree_walker(node, collect_names, context);
}

/* The default expression of a pg_attrdef or pg_type row; NULL if it has none. */
static Node *
default_expression(Oid class, Oid object)
{
	Relation	rel;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	Node	   *expression = NULL;
	bool		is_column = class == AttrDefaultRelationId;

	rel = table_open(class, AccessShareLock);
	ScanKeyInit(&key, is_column ? Anum_pg_attrdef_oid : Anum_pg_type_oid,
				BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(rel, is_column ? AttrDefaultOidIndexId : TypeOidIndexId,
							  true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		Datum		value = heap_getattr(tuple, is_column ? Anum_pg_attrdef_adbin :
										 Anum_pg_type_typdefaultbin,
										 RelationGetDescr(rel), &isnull);

		if (!isnull)
			expression = stringToNode(TextDatumGetCString(value));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return expression;
}

/*
 * The name that a trigger gives to one of the functions, as its second argument;
 * NIL if it executes another one.
 */
static List *
trigger_names(Oid trigger, List *functions)
{
	Relation	rel = table_open(TriggerRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *names = NIL;

	ScanKeyInit(&key, Anum_pg_trigger_oid, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(trigger));
	scan = systable_beginscan(rel, TriggerOidIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_trigger form = (Form_pg_trigger) GETSTRUCT(tuple);
		bool		isnull;
		Datum		value = heap_getattr(tuple, Anum_pg_trigger_tgargs,
										 RelationGetDescr(rel), &isnull);

		/* Arguments end with a NUL each. */
		if (!isnull && form->tgnargs > 1 && list_member_oid(functions, form->tgfoid))
		{
			const char *column = VARDATA_ANY(DatumGetByteaPP(value));

			names = list_make1(pstrdup(column + strlen(column) + 1));
		}
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return names;
}

/* The names that an object gives to the functions; NIL for other objects. */
static List *
names_of(Oid class, Oid object, List *functions)
{
	CallSearch	search = {.functions = functions};

	if (class == TriggerRelationId)
		return trigger_names(object, functions);
	if (class == AttrDefaultRelationId || class == TypeRelationId)
		(void) collect_names(default_expression(class, object), &search);
	return search.names;
}

/*
 * The names of the generators that a column's default (by its pg_attrdef row), a
 * domain's or a trigger mints from, as far as they are constants.
 */
List *
cosid_default_generators(const CosidExtension *extension, Oid class, Oid object)
{
	List	   *functions;

	if (class == TriggerRelationId)
		functions = list_make1_oid(cosid_function_find(extension, "cosid_fill", 0));
	else
		functions = list_make2_oid(cosid_function_find(extension, "cosid_next", 1),
								   cosid_function_find(extension, "cosid_next_string", 1));
	return names_of(class, object, functions);
}

/* The same object, described for people: a default is its column's. */
char *
cosid_default_description(Oid class, Oid object)
{
	ObjectAddress address = {class, object, 0};

	if (class == AttrDefaultRelationId)
		address = GetAttrDefaultColumnAddress(object);
	return psprintf(class == TriggerRelationId ? "%s" : "default of %s",
					getObjectDescription(&address, false));
}

/*
 * Add to a list the descriptions of all that calls one of the extension's
 * functions with the name of a generator.  The name may stand anywhere in the
 * call, which errs on the side of "in use".
 */
static List *
add_users(List *users, Oid function, const char *name)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(function));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ListCell   *cell;

		CHECK_FOR_INTERRUPTS();
		foreach(cell, names_of(form->classid, form->objid, list_make1_oid(function)))
		{
			if (strcmp(lfirst(cell), name) == 0)
			{
				users = lappend(users, cosid_default_description(form->classid,
																 form->objid));
				break;
			}
		}
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return users;
}

/*
 * All whose default, or which itself, calls one of the extension's functions
 * with the name of a generator, described for people (char *).
 */
List *
cosid_default_users(const char *name)
{
	CosidExtension extension;
	Relation	depend;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	List	   *users = NIL;

	if (!cosid_extension_find(&extension))
		return NIL;
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(extension.oid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == ProcedureRelationId && form->deptype == DEPENDENCY_EXTENSION)
			users = add_users(users, form->objid, name);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return users;
}

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
#include "access/heaptoast.h"
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
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "define/default.h"

/* The calls to look for in an expression, and what was found. */
typedef struct CallSearch
{
	List	   *functions;		/* OIDs */
	List	   *names;			/* String *: constant texts that they are given */
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
				search->names = lappend(search->names, makeString(name));
		}
	}
	return expression_tree_walker(node, collect_names, context);
}

/* A copy of the row, which has this OID, of a catalog that is open; or NULL. */
static HeapTuple
read_row(Relation catalog, AttrNumber oid_attnum, Oid oid_index, Oid object)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	row;

	ScanKeyInit(&key, oid_attnum, BTEqualStrategyNumber, F_OIDEQ,
				ObjectIdGetDatum(object));
	scan = systable_beginscan(catalog, oid_index, true, NULL, 1, &key);
	row = systable_getnext(scan);

	/* What is out of line has to be fetched under the scan's snapshot. */
	if (HeapTupleIsValid(row))
		row = toast_flatten_tuple(row, RelationGetDescr(catalog));
	systable_endscan(scan);
	return row;
}

/* The default expression of a pg_attrdef or pg_type row; NULL if it has none. */
static Node *
default_expression(Oid class, Oid object)
{
	bool		is_column = class == AttrDefaultRelationId;
	Relation	catalog = table_open(class, AccessShareLock);
	HeapTuple	row = is_column ?
		read_row(catalog, Anum_pg_attrdef_oid, AttrDefaultOidIndexId, object) :
		read_row(catalog, Anum_pg_type_oid, TypeOidIndexId, object);
	Datum		value = 0;
	bool		isnull = true;

	if (HeapTupleIsValid(row))
		value = heap_getattr(row, is_column ? Anum_pg_attrdef_adbin :
							 Anum_pg_type_typdefaultbin,
							 RelationGetDescr(catalog), &isnull);
	table_close(catalog, AccessShareLock);
	return isnull ? NULL : stringToNode(TextDatumGetCString(value));
}

/*
 * The name that a trigger gives to one of the functions, as its second argument;
 * NIL if it executes another one.
 */
static List *
trigger_names(Oid trigger, List *functions)
{
	Relation	catalog = table_open(TriggerRelationId, AccessShareLock);
	HeapTuple	row = read_row(catalog, Anum_pg_trigger_oid, TriggerOidIndexId, trigger);
	Datum		value = 0;
	bool		isnull = true;
	const char *column;

	if (HeapTupleIsValid(row) &&
		((Form_pg_trigger) GETSTRUCT(row))->tgnargs > 1 &&
		list_member_oid(functions, ((Form_pg_trigger) GETSTRUCT(row))->tgfoid))
		value = heap_getattr(row, Anum_pg_trigger_tgargs, RelationGetDescr(catalog),
							 &isnull);
	table_close(catalog, AccessShareLock);
	if (isnull)
		return NIL;

	/* Arguments end with a NUL each. */
	column = VARDATA_ANY(DatumGetByteaPP(value));
	return list_make1(makeString(pstrdup(column + strlen(column) + 1)));
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
 * domain's or a trigger mints from, as far as they are constants (String *).
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
 * What depends on an object, a generator's user or not: copies of rows of pg_depend
 * (Form_pg_depend).
 */
List *
cosid_default_dependents(Oid class, Oid object)
{
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	row;
	List	   *dependents = NIL;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(class));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(object));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (HeapTupleIsValid(row = systable_getnext(scan)))
		dependents = lappend(dependents, GETSTRUCT(heap_copytuple(row)));
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return dependents;
}

/*
 * Add to a list the descriptions of all that calls one of the extension's
 * functions with the name of a generator.  The name may stand anywhere in the
 * call, which errs on the side of "in use".
 */
static List *
add_users(List *users, Oid function, const char *name)
{
	String	   *searched = makeString(unconstify(char *, name));
	ListCell   *cell;

	foreach(cell, cosid_default_dependents(ProcedureRelationId, function))
	{
		Form_pg_depend user = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (list_member(names_of(user->classid, user->objid, list_make1_oid(function)),
						searched))
			users = lappend(users, cosid_default_description(user->classid, user->objid));
	}
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
	List	   *users = NIL;
	ListCell   *cell;

	if (!cosid_extension_find(&extension))
		return NIL;
	foreach(cell, cosid_default_dependents(ExtensionRelationId, extension.oid))
	{
		Form_pg_depend member = lfirst(cell);

		if (member->classid == ProcedureRelationId &&
			member->deptype == DEPENDENCY_EXTENSION)
			users = add_users(users, member->objid, name);
	}
	return users;
}

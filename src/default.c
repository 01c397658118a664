/*-------------------------------------------------------------------------
 *
 * default.c
 *		The defaults of columns and domains that draw from a generator.
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
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/rel.h"
#include "utils/syscache.h"

#include "catalog.h"
#include "default.h"

/* A call to look for in an expression. */
typedef struct DrawSearch
{
	Oid			function;
	const char *name;			/* of the generator */
} DrawSearch;

/*
 * Whether an argument of a call is a generator's name, and that one.  It may
 * stand anywhere and be named (name => 'order'), so any text counts: that errs
 * on the side of "in use".  Only a constant is recognized: nothing is evaluated,
 * since anyone's function may be in there, and the caller may be superuser.
 */
static bool
is_name(Node *argument, const char *name)
{
	Const	   *constant;

	if (IsA(argument, NamedArgExpr))
		argument = (Node *) ((NamedArgExpr *) argument)->arg;
	while (IsA(argument, RelabelType))
		argument = (Node *) ((RelabelType *) argument)->arg;
	if (!IsA(argument, Const))
		return false;
	constant = (Const *) argument;
	return !constant->constisnull &&
		(constant->consttype == TEXTOID || constant->consttype == VARCHAROID) &&
		strcmp(TextDatumGetCString(constant->constvalue), name) == 0;
}

/* Whether an expression calls the function with the name as an argument. */
static bool
draws_from(Node *node, void *context)
{
	DrawSearch *search = context;

	if (node == NULL)
		return false;
	if (IsA(node, FuncExpr) && ((FuncExpr *) node)->funcid == search->function)
	{
		ListCell   *cell;

		foreach(cell, ((FuncExpr *) node)->args)
		{
			if (is_name(lfirst(cell), search->name))
				return true;
		}
	}
	return expression_tree_walker(node, draws_from, context);
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
 * Something whose default calls one of the extension's functions with the name
 * of a generator, described for people; NULL if nothing does.
 */
static char *
user_of_function(Oid function, const char *name)
{
	DrawSearch	search = {.function = function,.name = name};
	Relation	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *user = NULL;

	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ProcedureRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(function));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (user == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);
		ObjectAddress address = {form->classid, form->objid, form->objsubid};

		CHECK_FOR_INTERRUPTS();
		if (form->classid != AttrDefaultRelationId && form->classid != TypeRelationId)
			continue;
		if (!draws_from(default_expression(form->classid, form->objid), &search))
			continue;
		if (form->classid == AttrDefaultRelationId)
			address = GetAttrDefaultColumnAddress(form->objid);
		user = getObjectDescription(&address, false);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return user;
}

/* The same for all functions of the extension. */
char *
cosid_default_user(const char *name)
{
	CosidExtension extension;
	Relation	depend;
	ScanKeyData key[2];
	SysScanDesc scan;
	HeapTuple	tuple;
	char	   *user = NULL;

	if (!cosid_extension_find(&extension))
		return NULL;
	depend = table_open(DependRelationId, AccessShareLock);
	ScanKeyInit(&key[0], Anum_pg_depend_refclassid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(ExtensionRelationId));
	ScanKeyInit(&key[1], Anum_pg_depend_refobjid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(extension.oid));
	scan = systable_beginscan(depend, DependReferenceIndexId, true, NULL, 2, key);
	while (user == NULL && HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		Form_pg_depend form = (Form_pg_depend) GETSTRUCT(tuple);

		if (form->classid == ProcedureRelationId && form->deptype == DEPENDENCY_EXTENSION)
			user = user_of_function(form->objid, name);
	}
	systable_endscan(scan);
	table_close(depend, AccessShareLock);
	return user;
}

/*-------------------------------------------------------------------------
 *
 * support.c
 *		The planner support function of cosid_next: lets COPY insert many rows
 *		at a time.
 *
 * COPY collects rows and inserts a page of them at once, unless a column's
 * default is volatile: that might look at the table, where the rows that are
 * collected can't be seen yet.  It makes an exception for nextval and for
 * NextValueExpr, which look at nothing but their sequence.  cosid_next looks at
 * nothing but its generator, but there is no way to tell COPY so; and to label
 * it STABLE would be a lie that ALTER TABLE ADD COLUMN believes, which would
 * give all rows one ID.
 *
 * So when COPY plans a default, cosid_next('order') becomes
 *
 *		COALESCE(cosid_next_row('order'), <NextValueExpr>)
 *
 * where cosid_next_row is cosid_next under a label of its own, STABLE.  It is
 * called for each row, as cosid_next would be: the executor never looks at
 * labels.  It gives no NULL (the name is a constant that is none), so nothing
 * ever evaluates the other argument.  That stands there for its volatility,
 * which contain_volatile_functions() sees, and contain_mutable_functions() and
 * the tests for what is parallel safe: they all judge the whole as they would
 * judge cosid_next.  Only contain_volatile_functions_not_nextval(), which has no
 * other use than in COPY, does not.
 *
 * This happens where an expression is planned by itself (expression_planner):
 * the defaults of COPY and of ALTER TABLE, constraints, arguments of EXECUTE.  A
 * query's plan keeps the call as it is: the planner looks at parts of
 * expressions, too, and cosid_next_row by itself would mislead it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/primnodes.h"
#include "nodes/supportnodes.h"
#include "utils/builtins.h"

#include "catalog.h"
#include "compat.h"
#include "define/definition.h"

PG_FUNCTION_INFO_V1(cosid_next_support);

/* The name that a call gives, not NULL; NULL if it is no constant. */
static Const *
generator_name(const FuncExpr *call)
{
	Const	   *name;

	if (call->args == NIL)
		return makeConst(TEXTOID, -1, DEFAULT_COLLATION_OID, -1,
						 CStringGetTextDatum(COSID_SHARE_NAME), false, false);
	name = linitial(call->args);
	return IsA(name, Const) && !name->constisnull ? copyObject(name) : NULL;
}

/*
 * cosid_next_row('name').  SQL can't call it: it is declared with an argument of
 * type internal, so that nobody has a volatile function labelled STABLE.
 */
static Expr *
row_call(Oid function, Const *name)
{
	return (Expr *) makeFuncExpr(function, INT8OID, list_make1(name),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
}

/* Volatile, but not for COPY.  Never evaluated: there is no such sequence. */
static Expr *
volatile_mark(void)
{
	NextValueExpr *mark = makeNode(NextValueExpr);

	mark->seqid = InvalidOid;
	mark->typeId = INT8OID;
	return (Expr *) mark;
}

/* A call as described above; NULL if it has to stay as it is. */
static Expr *
simplify(const FuncExpr *call)
{
	CosidExtension extension;
	Const	   *name = generator_name(call);
	CoalesceExpr *result;
	Oid			row_function;

	if (name == NULL || !cosid_extension_find(&extension))
		return NULL;

	/* Who may not call cosid_next is to be told so. */
	row_function = cosid_function_oid(&extension, "cosid_next_row");
	if (cosid_proc_aclcheck(call->funcid, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK ||
		cosid_proc_aclcheck(row_function, GetUserId(), ACL_EXECUTE) != ACLCHECK_OK)
		return NULL;

	result = makeNode(CoalesceExpr);
	result->coalescetype = INT8OID;
	result->args = list_make2(row_call(row_function, name), volatile_mark());
	result->location = -1;
	return (Expr *) result;
}

/* cosid_next_support(internal) -> internal */
Datum
cosid_next_support(PG_FUNCTION_ARGS)
{
	Node	   *request = (Node *) PG_GETARG_POINTER(0);
	Expr	   *result = NULL;

	if (IsA(request, SupportRequestSimplify) &&
		((SupportRequestSimplify *) request)->root == NULL)
		result = simplify(((SupportRequestSimplify *) request)->fcall);
	PG_RETURN_POINTER(result);
}

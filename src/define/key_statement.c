/*-------------------------------------------------------------------------
 *
 * key_statement.c
 *		cosid.column_default: a statement that defines a primary key, as the parser
 *		leaves it, and its change before it runs.
 *
 * Called by ddl.c for each statement, while the setting is on.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "catalog.h"
#include "compat.h"
#include "define/key.h"

/* What a statement defines of a table: its columns and constraints. */
typedef struct Elements
{
	List	   *columns;		/* ColumnDef * */
	bool		has_key;		/* a primary key */
	List	   *key;			/* String *: the names of its columns */
	List	   *foreign;		/* String *: names of foreign keys' columns */
} Elements;

/* Add a constraint, which is `column`'s, or with NIL the table's. */
static void
add_constraint(Elements *elements, const Constraint *constraint, List *column)
{
	if (constraint->contype == CONSTR_PRIMARY)
	{
		elements->has_key = true;

		/* USING INDEX names none. */
		elements->key = column != NIL ? column : constraint->keys;
	}
	else if (constraint->contype == CONSTR_FOREIGN)
		elements->foreign = list_concat_copy(elements->foreign, column != NIL ? column :
											 constraint->fk_attrs);
}

/* Add a column or a table's constraint; others don't matter. */
static void
add_element(Elements *elements, Node *node)
{
	ListCell   *cell;

	if (node == NULL)
		return;
	if (IsA(node, Constraint))
		add_constraint(elements, (Constraint *) node, NIL);
	if (!IsA(node, ColumnDef))
		return;

	elements->columns = lappend(elements->columns, node);
	foreach(cell, ((ColumnDef *) node)->constraints)
		add_constraint(elements, lfirst_node(Constraint, cell),
					   list_make1(makeString(((ColumnDef *) node)->colname)));
}

/* Whether ADD COLUMN IF NOT EXISTS does nothing. */
static bool
is_there(const RangeVar *table, const AlterTableCmd *command)
{
	Oid			relid;

	if (!command->missing_ok)
		return false;
	relid = RangeVarGetRelid(table, NoLock, true);
	return OidIsValid(relid) &&
		get_attnum(relid, castNode(ColumnDef, command->def)->colname) != InvalidAttrNumber;
}

/*
 * The elements of a CREATE TABLE or an ALTER TABLE, and its table; false if none of
 * them gets a default.
 */
static bool
statement_elements(Node *statement, Elements *elements, RangeVar **table)
{
	ListCell   *cell;

	if (IsA(statement, CreateStmt))
	{
		CreateStmt *create = (CreateStmt *) statement;

		*table = create->relation;

		/* Nothing may come of it; or a default may be inherited. */
		if (create->inhRelations != NIL ||
			(create->if_not_exists &&
			 OidIsValid(RangeVarGetRelid(create->relation, NoLock, true))))
			return false;
		foreach(cell, create->tableElts)
			add_element(elements, lfirst(cell));
		foreach(cell, create->constraints)
			add_element(elements, lfirst(cell));
		return true;
	}
	*table = castNode(AlterTableStmt, statement)->relation;
	foreach(cell, ((AlterTableStmt *) statement)->cmds)
	{
		AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

		if (command->subtype == AT_AddConstraint ||
			(command->subtype == AT_AddColumn && !is_there(*table, command)))
			add_element(elements, command->def);
	}
	return true;
}

/* The width that one of the pseudo-types of serial columns stands for, or 0. */
static int
serial_width(const TypeName *type)
{
	static const struct
	{
		const char *name;
		int			width;
	}			serials[] = {
		{"bigserial", 8}, {"serial8", 8}, {"serial", 4}, {"serial4", 4},
		{"smallserial", 2}, {"serial2", 2}
	};

	if (list_length(type->names) != 1 || type->pct_type)
		return 0;
	for (int i = 0; i < (int) lengthof(serials); i++)
	{
		if (strcmp(strVal(linitial(type->names)), serials[i].name) == 0)
			return serials[i].width;
	}
	return 0;
}

/* Where a column's values come from, as far as its constraints say. */
static CosidKeySource
defined_source(const ColumnDef *definition)
{
	int			sequences = serial_width(definition->typeName) != 0 ? 1 : 0;
	bool		is_other = definition->raw_default != NULL;
	bool		is_null = false;
	ListCell   *cell;

	foreach(cell, definition->constraints)
	{
		switch (lfirst_node(Constraint, cell)->contype)
		{
			case CONSTR_DEFAULT:
			case CONSTR_GENERATED:
				is_other = true;
				break;
			case CONSTR_IDENTITY:
				sequences++;
				break;
			case CONSTR_NULL:
				is_null = true;
				break;
			default:
				break;
		}
	}

	/* Too much of it is wrong, which PostgreSQL says. */
	if (is_other || sequences > 1 || (is_null && sequences > 0))
		return COSID_SOURCE_OTHER;
	return sequences > 0 ? COSID_SOURCE_SEQUENCE : COSID_SOURCE_NONE;
}

/* A column that a statement defines. */
static CosidKeyColumn *
defined_column(const ColumnDef *definition, List *foreign)
{
	const TypeName *type_name = definition->typeName;
	CosidKeyColumn *column = palloc0(sizeof(CosidKeyColumn));
	Type		type;

	column->name = definition->colname;
	column->foreign = list_member(foreign, makeString(definition->colname));
	column->source = defined_source(definition);
	if (type_name->arrayBounds != NIL || type_name->setof || type_name->typmods != NIL)
		return column;
	column->width = serial_width(type_name);
	if (column->width != 0)
		return column;

	/* If there is no such type, PostgreSQL says so. */
	type = LookupTypeName(NULL, type_name, NULL, true);
	if (type == NULL)
		return column;
	if (((Form_pg_type) GETSTRUCT(type))->typisdefined)
	{
		column->width = cosid_key_width(typeTypeId(type));
		if (get_typdefault(typeTypeId(type)) != NULL)
			column->source = COSID_SOURCE_OTHER;
	}
	ReleaseSysCache(type);
	return column;
}

/*
 * The definition, among those of the statement, of the column that gets the
 * default; NULL if none does.  `decided` is set if its whole primary key was there
 * to see.
 */
static ColumnDef *
choose_definition(const Elements *elements, const char *table, bool *decided)
{
	List	   *columns = NIL;
	List	   *definitions = NIL;
	int			chosen;
	ListCell   *key;
	ListCell   *cell;

	foreach(key, elements->key)
	{
		ColumnDef  *definition = NULL;

		foreach(cell, elements->columns)
		{
			if (strcmp(((ColumnDef *) lfirst(cell))->colname, strVal(lfirst(key))) == 0)
				definition = lfirst(cell);
		}
		if (definition == NULL || definition->typeName == NULL)
			return NULL;
		definitions = lappend(definitions, definition);
		columns = lappend(columns, defined_column(definition, elements->foreign));
	}
	*decided = columns != NIL;
	chosen = cosid_key_choose(table, columns);
	return chosen < 0 ? NULL : list_nth(definitions, chosen);
}

/* schema.cosid_next('name'::pg_catalog.text), as the parser would make it */
static Node *
make_call(const char *schema, const char *name)
{
	A_Const    *constant = makeNode(A_Const);
	TypeCast   *cast = makeNode(TypeCast);

	constant->val.sval = *makeString(pstrdup(name));
	constant->location = -1;
	cast->arg = (Node *) constant;
	cast->typeName = SystemTypeName("text");
	cast->location = -1;
	return (Node *) makeFuncCall(list_make2(makeString(pstrdup(schema)),
											makeString("cosid_next")),
								 list_make1(cast), COERCE_EXPLICIT_CALL, -1);
}

/* Let a column draw from a generator, instead of what it draws from. */
static void
change_definition(ColumnDef *definition, const char *schema, const char *generator)
{
	Constraint *constraint = makeNode(Constraint);
	ListCell   *cell;

	foreach(cell, definition->constraints)
	{
		if (lfirst_node(Constraint, cell)->contype == CONSTR_IDENTITY)
			definition->constraints = foreach_delete_current(definition->constraints, cell);
	}
	if (serial_width(definition->typeName) != 0)
		definition->typeName = SystemTypeName("int8");

	constraint->contype = CONSTR_DEFAULT;
	constraint->location = -1;
	constraint->raw_expr = make_call(schema, generator);
	definition->constraints = lappend(definition->constraints, constraint);
}

/* The default names cosid_next in its schema: say why, before PostgreSQL does. */
static void
check_may_name(const CosidExtension *extension)
{
	if (cosid_namespace_aclcheck(extension->schema, GetUserId(), ACL_USAGE) == ACLCHECK_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied for schema %s", cosid_extension_schema(extension)),
			 errhint("Primary keys get cosid_next as their default by \"%s\", which takes USAGE on the schema of extension cosid.",
					 "cosid.column_default")));
}

/*
 * A statement that is about to run: if it defines a primary key that gets a
 * default, a copy of it which says so, else the statement itself.  `decided`:
 * nothing is to be done when the key is there.  42501 if the current user may not
 * name cosid_next.
 */
PlannedStmt *
cosid_key_rewrite(PlannedStmt *pstmt, bool *decided)
{
	PlannedStmt *copy;
	Elements	elements = {.columns = NIL};
	RangeVar   *table;
	ColumnDef  *definition;
	CosidExtension extension;

	*decided = false;
	if (!IsA(pstmt->utilityStmt, CreateStmt) && !IsA(pstmt->utilityStmt, AlterTableStmt))
		return pstmt;
	copy = copyObject(pstmt);
	if (!statement_elements(copy->utilityStmt, &elements, &table))
		return pstmt;
	if (IsA(copy->utilityStmt, AlterTableStmt) && !elements.has_key)
	{
		*decided = true;		/* at most, one is made anew */
		return pstmt;
	}
	definition = choose_definition(&elements, table->relname, decided);
	if (definition == NULL)
		return pstmt;
	if (!cosid_extension_find(&extension))
	{
		ereport(NOTICE,
				(errmsg("primary key column \"%s\" of table \"%s\" is left as it is",
						definition->colname, table->relname),
				 errdetail("\"%s\" is set, but extension cosid does not exist in this database.",
						   "cosid.column_default")));
		return pstmt;
	}
	check_may_name(&extension);
	change_definition(definition, cosid_extension_schema(&extension), table->relname);
	return copy;
}

/*-------------------------------------------------------------------------
 *
 * key.c
 *		cosid.column_default: primary keys that get a default which they do not
 *		ask for.
 *
 * A statement that defines a table's primary key together with its columns is
 * changed before it runs, so that no sequence is made, and the rows that a table
 * has already get an ID each.  A key over columns that the statement does not
 * define (ADD PRIMARY KEY, LIKE, typed tables) is seen to when it is there.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/parsenodes.h"
#include "parser/parse_type.h"
#include "parser/parser.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "catalog.h"
#include "compat.h"
#include "settings.h"
#include "define/attach.h"
#include "define/definition.h"
#include "define/key.h"

/* Where the values of a column come from that an INSERT leaves out. */
typedef enum Source
{
	SOURCE_NONE,
	SOURCE_SEQUENCE,			/* its own: serial or identity */
	SOURCE_OTHER
} Source;

/* A column of a primary key. */
typedef struct KeyColumn
{
	const char *name;
	int			width;			/* bytes, of an integer; else 0 */
	bool		foreign;		/* refers to another table's key */
	Source		source;
} KeyColumn;

/*
 * Which one gets the default
 */

static void
notice_narrow(const char *table, const KeyColumn *column)
{
	ereport(NOTICE,
			(errmsg("primary key column \"%s\" of table \"%s\" is left without cosid_next as its default",
					column->name, table),
			 errdetail("An ID has 8 bytes, the column has %d.", column->width),
			 errhint("Declare it as bigint.")));
}

static void
notice(const char *table, const char *reason)
{
	ereport(NOTICE,
			(errmsg("the primary key of table \"%s\" is left without cosid_next as its default",
					table),
			 errdetail("%s", reason),
			 errhint("Declare the column's default.")));
}

/*
 * The column of a primary key (KeyColumn *) that is to draw from a generator;
 * NULL if none is.  It must be the only one that can.  A foreign key's values
 * come from elsewhere.
 */
static const KeyColumn *
choose(const char *table, List *columns)
{
	const KeyColumn *empty = NULL;
	const KeyColumn *sequence = NULL;
	int			nempty = 0;
	int			nsequence = 0;
	int			nserved = 0;
	ListCell   *cell;

	foreach(cell, columns)
	{
		const KeyColumn *column = lfirst(cell);
		bool		served = column->source == SOURCE_OTHER ||
			(column->source == SOURCE_SEQUENCE &&
			 cosid_column_default != COSID_COLUMN_DEFAULT_SERIAL);

		if (column->width == 0 || column->foreign)
			continue;
		if (column->width < (int) sizeof(int64))
		{
			if (list_length(columns) == 1 && !served)
				notice_narrow(table, column);
			continue;
		}
		if (served)
			nserved++;
		else if (column->source == SOURCE_SEQUENCE)
		{
			sequence = column;
			nsequence++;
		}
		else
		{
			empty = column;
			nempty++;
		}
	}
	if (nsequence > 1 || (nsequence == 0 && nserved > 0))
		return NULL;
	if (nsequence == 0 && nempty > 1)
		notice(table, "More than one of its columns could have it.");
	if (nsequence == 0 && nempty != 1)
		return NULL;
	if (!cosid_definition_valid_name(table))
	{
		notice(table, "The table's name is too long for a generator's, in UTF-8.");
		return NULL;
	}
	return nsequence == 1 ? sequence : empty;
}

/* Bytes of an integer type or a domain over one; 0 for other types. */
static int
integer_width(Oid type)
{
	switch (getBaseType(type))
	{
		case INT8OID:
			return 8;
		case INT4OID:
			return 4;
		case INT2OID:
			return 2;
		default:
			return 0;
	}
}

/*
 * In a statement, as the parser leaves it
 */

/* What a statement defines of a table: its columns and constraints. */
typedef struct Elements
{
	List	   *columns;		/* ColumnDef * */
	bool		has_key;		/* a primary key */
	List	   *key;			/* String *: the names of its columns */
	List	   *foreign;		/* String *: names of foreign keys' columns */
} Elements;

static void
add_constraint(Elements *elements, const Constraint *constraint)
{
	if (constraint->contype == CONSTR_PRIMARY)
	{
		elements->has_key = true;
		elements->key = constraint->keys;	/* none with USING INDEX */
	}
	else if (constraint->contype == CONSTR_FOREIGN)
		elements->foreign = list_concat_copy(elements->foreign, constraint->fk_attrs);
}

/* Add a column or a table's constraint; others don't matter. */
static void
add_element(Elements *elements, Node *node)
{
	ListCell   *cell;

	if (node == NULL)
		return;
	if (IsA(node, Constraint))
		add_constraint(elements, (Constraint *) node);
	if (!IsA(node, ColumnDef))
		return;

	elements->columns = lappend(elements->columns, node);
	foreach(cell, ((ColumnDef *) node)->constraints)
	{
		Constraint *constraint = lfirst_node(Constraint, cell);
		List	   *name = list_make1(makeString(((ColumnDef *) node)->colname));

		if (constraint->contype == CONSTR_PRIMARY)
		{
			elements->has_key = true;
			elements->key = name;
		}
		else if (constraint->contype == CONSTR_FOREIGN)
			elements->foreign = list_concat(name, elements->foreign);
	}
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

/* The elements of a statement, and its table; false for other statements. */
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
	if (IsA(statement, AlterTableStmt))
	{
		*table = ((AlterTableStmt *) statement)->relation;
		foreach(cell, ((AlterTableStmt *) statement)->cmds)
		{
			AlterTableCmd *command = lfirst_node(AlterTableCmd, cell);

			if (command->subtype == AT_AddConstraint ||
				(command->subtype == AT_AddColumn && !is_there(*table, command)))
				add_element(elements, command->def);
		}
		return true;
	}
	return false;
}

/* Whether a list of names has one. */
static bool
has_name(List *names, const char *name)
{
	return list_member(names, makeString(unconstify(char *, name)));
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
static Source
defined_source(const ColumnDef *definition)
{
	bool		is_serial = serial_width(definition->typeName) != 0;
	int			sequences = is_serial ? 1 : 0;
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
		return SOURCE_OTHER;
	return sequences > 0 ? SOURCE_SEQUENCE : SOURCE_NONE;
}

/* A column that a statement defines. */
static KeyColumn *
defined_column(const ColumnDef *definition, List *foreign)
{
	const TypeName *type_name = definition->typeName;
	KeyColumn  *column = palloc0(sizeof(KeyColumn));
	Type		type;

	column->name = definition->colname;
	column->foreign = has_name(foreign, definition->colname);
	column->source = defined_source(definition);
	column->width = 0;
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
		column->width = integer_width(typeTypeId(type));
		if (get_typdefault(typeTypeId(type)) != NULL)
			column->source = SOURCE_OTHER;
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
	const KeyColumn *chosen;
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
	chosen = choose(table, columns);
	forboth(key, columns, cell, definitions)
	{
		if (lfirst(key) == chosen)
			return lfirst(cell);
	}
	return NULL;
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
 * nothing is to be done when the key is there.
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

/*
 * In the catalog
 */

static Source
column_source(Relation table, Form_pg_attribute attribute)
{
	if (attribute->attidentity != '\0' ||
		cosid_owned_sequences(RelationGetRelid(table), attribute->attnum) != NIL)
		return SOURCE_SEQUENCE;
	if (attribute->atthasdef || attribute->attgenerated != '\0' ||
		get_typdefault(attribute->atttypid) != NULL)
		return SOURCE_OTHER;
	return SOURCE_NONE;
}

static bool
is_foreign(Relation table, AttrNumber attnum)
{
	ListCell   *cell;

	foreach(cell, RelationGetFKeyList(table))
	{
		ForeignKeyCacheInfo *foreign = lfirst(cell);

		for (int i = 0; i < foreign->nkeys; i++)
		{
			if (foreign->conkey[i] == attnum)
				return true;
		}
	}
	return false;
}

/* The columns of a table's primary key. */
static List *
table_key(Relation table, const int16 *attnums, int nattnums)
{
	List	   *columns = NIL;

	for (int i = 0; i < nattnums; i++)
	{
		Form_pg_attribute attribute =
			TupleDescAttr(RelationGetDescr(table), attnums[i] - 1);
		KeyColumn  *column = palloc(sizeof(KeyColumn));

		column->name = NameStr(attribute->attname);
		column->width = integer_width(attribute->atttypid);
		column->foreign = is_foreign(table, attribute->attnum);
		column->source = column_source(table, attribute);
		columns = lappend(columns, column);
	}
	return columns;
}

/* Columns of a table that are a key, primary or foreign. */
typedef struct TableKey
{
	char		type;			/* pg_constraint's */
	Oid			table;
	int16	   *attnums;
	int			nattnums;
} TableKey;

/* What a constraint says; false for one of another type, or none. */
static bool
read_constraint(Oid constraint, TableKey *key)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	bool		isnull;
	ArrayType  *array;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	key->type = form->contype;
	key->table = form->conrelid;
	if (key->type == CONSTRAINT_PRIMARY || key->type == CONSTRAINT_FOREIGN)
	{
		array = DatumGetArrayTypePCopy(SysCacheGetAttr(CONSTROID, tuple,
													   Anum_pg_constraint_conkey, &isnull));
		key->attnums = (int16 *) ARR_DATA_PTR(array);
		key->nattnums = ARR_DIMS(array)[0];
	}
	ReleaseSysCache(tuple);
	return key->type == CONSTRAINT_PRIMARY || key->type == CONSTRAINT_FOREIGN;
}

/* Give a new primary key its default. */
static void
complete_primary(const TableKey *key)
{
	Relation	table = table_open(key->table, NoLock); /* the statement's lock */
	char	   *name = pstrdup(RelationGetRelationName(table));
	const KeyColumn *chosen = choose(name, table_key(table, key->attnums, key->nattnums));
	AttrNumber	attnum = chosen == NULL ? InvalidAttrNumber :
		get_attnum(key->table, chosen->name);

	table_close(table, NoLock);
	if (chosen != NULL)
		cosid_attach_column(key->table, attnum, name);
}

/* Take back the defaults that columns of a new foreign key got as a primary key. */
static void
release_foreign(const TableKey *key)
{
	Relation	table = table_open(key->table, NoLock); /* the statement's lock */
	char	   *name = pstrdup(RelationGetRelationName(table));
	Bitmapset  *primary = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_PRIMARY_KEY);

	table_close(table, NoLock);
	for (int i = 0; i < key->nattnums; i++)
	{
		if (bms_is_member(key->attnums[i] - FirstLowInvalidHeapAttributeNumber, primary))
			cosid_release_column(key->table, key->attnums[i], name);
	}
}

/*
 * A constraint that was created.  A primary key (unless that is `decided`): see to
 * its default.  A foreign key: a column of the primary key that got its default
 * before it was known to refer to another table gives it back; most frameworks
 * declare references in statements of their own.
 */
void
cosid_key_created(Oid constraint, bool decided)
{
	TableKey	key;

	/* A partition's defaults are those of the table that it is a part of. */
	if (!read_constraint(constraint, &key) || get_rel_relispartition(key.table))
		return;
	if (key.type == CONSTRAINT_FOREIGN)
		release_foreign(&key);
	else if (!decided)
		complete_primary(&key);
}

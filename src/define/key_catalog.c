/*-------------------------------------------------------------------------
 *
 * key_catalog.c
 *		cosid.column_default: a primary key that was made, whose column gets its
 *		default now; and a foreign key, whose columns give theirs back.
 *
 * Called by ddl.c when the statement that made the key is done.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sysattr.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_inherits.h"
#include "executor/spi.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/relcache.h"
#include "utils/syscache.h"

#include "define/column.h"
#include "define/definition.h"
#include "define/key.h"

static CosidKeySource
column_source(Relation table, Form_pg_attribute attribute)
{
	if (attribute->attidentity != '\0' ||
		cosid_column_sequences(RelationGetRelid(table), attribute->attnum) != NIL)
		return COSID_SOURCE_SEQUENCE;
	if (attribute->atthasdef || attribute->attgenerated != '\0' ||
		get_typdefault(attribute->atttypid) != NULL)
		return COSID_SOURCE_OTHER;
	return COSID_SOURCE_NONE;
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
		CosidKeyColumn *column = palloc(sizeof(CosidKeyColumn));

		column->name = NameStr(attribute->attname);
		column->width = cosid_key_width(attribute->atttypid);
		column->foreign = is_foreign(table, attribute->attnum);
		column->source = column_source(table, attribute);
		columns = lappend(columns, column);
	}
	return columns;
}

/* A column of a primary key, which partitions have too, but heirs do not. */
static void
set_key_column(CosidTableColumn *column, Oid table, AttrNumber attnum)
{
	cosid_column_set(column, table, attnum);
	if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
		column->only = "ONLY ";
}

/*
 * Let a column of a table, which is locked and the current user's, draw from the
 * generator with the table's name, and let go what it drew from before, as far as
 * nothing else uses it.  Nobody has asked for just that: where it can't be, there
 * is a NOTICE, and all stays as it is.  42501 without the right to define the
 * generator, though, as for any default.
 */
static void
attach_column(Oid table, AttrNumber attnum)
{
	CosidTableColumn column;
	const char *generator;
	int			length;
	List	   *tree;
	char	   *reason;

	set_key_column(&column, table, attnum);
	generator = column.table_name;
	length = (int) strlen(generator);
	tree = column.only[0] == '\0' ?
		find_all_inheritors(table, AccessExclusiveLock, NULL) : list_make1_oid(table);
	SPI_connect();
	if (cosid_definition_declare(generator, length))
	{
		CommandCounterIncrement();
		reason = cosid_column_collision(&column, cosid_definition_read(generator, length));
	}
	else
		reason = psprintf("Generator \"%s\" does not exist.", generator);
	if (reason == NULL)
		cosid_column_attach(&column, tree, generator);
	else
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" is left without cosid_next as its default",
						column.name, column.table_name),
				 errdetail_internal("%s", reason)));
	SPI_finish();
}

/* Give a new primary key its default. */
static void
complete_primary(Oid relid, const int16 *attnums, int nattnums)
{
	Relation	table = table_open(relid, NoLock);	/* the statement's lock */
	int			chosen = cosid_key_choose(RelationGetRelationName(table),
										  table_key(table, attnums, nattnums));

	table_close(table, NoLock);
	if (chosen >= 0)
		attach_column(relid, attnums[chosen]);
}

/* Take back the defaults that columns of a new foreign key got as a primary key. */
static void
release_foreign(Oid relid, const int16 *attnums, int nattnums)
{
	Relation	table = table_open(relid, NoLock);	/* the statement's lock */
	Bitmapset  *primary = RelationGetIndexAttrBitmap(table, INDEX_ATTR_BITMAP_PRIMARY_KEY);
	CosidTableColumn column;

	table_close(table, NoLock);
	for (int i = 0; i < nattnums; i++)
	{
		if (!bms_is_member(attnums[i] - FirstLowInvalidHeapAttributeNumber, primary))
			continue;
		set_key_column(&column, relid, attnums[i]);
		if (!cosid_column_draws_from(&column, column.table_name))
			continue;
		SPI_connect();
		cosid_column_alter(&column, psprintf("ALTER COLUMN %s DROP DEFAULT", column.sql_name));
		SPI_finish();
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
	HeapTuple	tuple = SearchSysCacheCopy1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	ArrayType  *key;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_constraint) GETSTRUCT(tuple);

	/* A partition's defaults are those of the table that it is a part of. */
	if ((form->contype != CONSTRAINT_PRIMARY && form->contype != CONSTRAINT_FOREIGN) ||
		get_rel_relispartition(form->conrelid))
		return;
	key = DatumGetArrayTypeP(SysCacheGetAttr(CONSTROID, tuple,
											 Anum_pg_constraint_conkey, &isnull));
	if (form->contype == CONSTRAINT_FOREIGN)
		release_foreign(form->conrelid, (int16 *) ARR_DATA_PTR(key), ARR_DIMS(key)[0]);
	else if (!decided)
		complete_primary(form->conrelid, (int16 *) ARR_DATA_PTR(key), ARR_DIMS(key)[0]);
}

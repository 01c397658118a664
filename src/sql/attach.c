/*-------------------------------------------------------------------------
 *
 * attach.c
 *		The SQL functions that turn a table's existing column into one that draws
 *		from a generator, and back: what may be asked for, and of whom.
 *
 * What is done to the column is in define/column.c.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaddress.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "catalog.h"
#include "compat.h"
#include "define/column.h"
#include "define/definition.h"

PG_FUNCTION_INFO_V1(cosid_attach);
PG_FUNCTION_INFO_V1(cosid_detach);

/*
 * The column must be an integer, or of a domain over one, and have room for an ID:
 * 42804 if not.  Of other types, anyone may have made what reads and casts them.
 */
static void
check_type(const CosidTableColumn *column, bool narrow_ok)
{
	Oid			type = get_atttype(column->table, column->attnum);
	Oid			base = getBaseType(type);
	bool		is_narrow = base == INT4OID || base == INT2OID;

	if (base == INT8OID || (is_narrow && narrow_ok))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_DATATYPE_MISMATCH),
			 errmsg("column \"%s\" of table \"%s\" is of type %s, but an ID is of type bigint",
					column->name, column->table_name, format_type_be(type)),
			 is_narrow ?
			 errhint("Widen it, and the columns that refer to it, first: ALTER TABLE %s ALTER COLUMN %s TYPE bigint",
					 column->sql_table, column->sql_name) : 0));
}

static void
check_exists(Oid table)
{
	if (get_rel_name(table) == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("relation with OID %u does not exist", table)));
}

/*
 * Lock a table and all that inherit from it, and find the column.  The caller
 * must own it.  Errors: 42703, 42501 and 42809.
 */
static List *
open_column(Oid table, const char *name, CosidTableColumn *column)
{
	AttrNumber	attnum;
	List	   *tree;

	check_exists(table);
	if (!cosid_class_ownercheck(table, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, get_relkind_objtype(get_rel_relkind(table)),
					   get_rel_name(table));
	LockRelationOid(table, AccessExclusiveLock);
	check_exists(table);

	switch (get_rel_relkind(table))
	{
		case RELKIND_RELATION:
		case RELKIND_PARTITIONED_TABLE:
		case RELKIND_FOREIGN_TABLE:
			break;
		default:
			ereport(ERROR,
					(errcode(ERRCODE_WRONG_OBJECT_TYPE),
					 errmsg("\"%s\" is not a table", get_rel_name(table))));
	}
	if (get_rel_relispartition(table))
	{
		/* None while it is being detached. */
		List	   *ancestors = get_partition_ancestors(table);

		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("table \"%s\" is a partition", get_rel_name(table)),
				 ancestors == NIL ? 0 :
				 errhint("Name the partitioned table, %s.",
						 cosid_table_name(llast_oid(ancestors)))));
	}
	tree = find_all_inheritors(table, AccessExclusiveLock, NULL);

	attnum = get_attnum(table, name);
	if (attnum == InvalidAttrNumber)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_COLUMN),
				 errmsg("column \"%s\" of relation \"%s\" does not exist",
						name, get_rel_name(table))));
	if (attnum < 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot alter system column \"%s\"", name)));
	cosid_column_set(column, table, attnum);
	return tree;
}

/* cosid_attach("table" regclass, "column" name, generator text) -> void */
Datum
cosid_attach(PG_FUNCTION_ARGS)
{
	char	   *generator = text_to_cstring(PG_GETARG_TEXT_PP(2));
	int			length = (int) strlen(generator);
	CosidTableColumn column;
	List	   *tree;
	char	   *collision;

	tree = open_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), &column);
	check_type(&column, false);
	if (!cosid_definition_declare(generator, length))
		cosid_definition_missing(ERROR, generator, NULL);
	CommandCounterIncrement();

	SPI_connect();
	collision = cosid_column_collision(&column, cosid_definition_read(generator, length));
	if (collision != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("existing values of column \"%s\" of table \"%s\" would collide with IDs to come",
						column.name, column.table_name),
				 errdetail_internal("%s", collision),
				 errhint("Use a generator whose IDs are greater: one with an earlier epoch or more bits for machine and sequence.")));
	cosid_column_attach(&column, tree, generator);
	SPI_finish();
	PG_RETURN_VOID();
}

/* PostgreSQL makes no identity of a domain's column: 42804. */
static void
check_no_domain(const CosidTableColumn *column)
{
	if (get_typtype(get_atttype(column->table, column->attnum)) == TYPTYPE_DOMAIN)
		ereport(ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
				 errmsg("column \"%s\" of table \"%s\" is of a domain, which cannot be an identity",
						column->name, column->table_name),
				 errhint("Drop its default, or change its type to bigint first.")));
}

/* What inherits from the table, its partitions too, had the default as well. */
static void
notice_inheritors(const CosidTableColumn *column, List *tree)
{
	if (list_length(tree) == 1 ||
		(COSID_PARTITIONS_HAVE_IDENTITY &&
		 get_rel_relkind(column->table) == RELKIND_PARTITIONED_TABLE))
		return;
	ereport(NOTICE,
			(errmsg("tables that inherit from \"%s\" have no default for column \"%s\" now",
					column->table_name, column->name),
			 errdetail("The identity is that of \"%s\" alone.", column->table_name)));
}

/* cosid_detach("table" regclass, "column" name) -> void */
Datum
cosid_detach(PG_FUNCTION_ARGS)
{
	CosidTableColumn column;
	List	   *tree;
	int64		greatest = 0;

	tree = open_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), &column);
	check_type(&column, true);
	check_no_domain(&column);
	if (!cosid_column_draws_from(&column, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the default of column \"%s\" of table \"%s\" does not draw from a generator",
						column.name, column.table_name)));

	SPI_connect();
	(void) cosid_column_greatest(&column, PG_INT64_MAX, &greatest);
	if (greatest == PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("column \"%s\" of table \"%s\" has the greatest value there is, after which no sequence can continue",
						column.name, column.table_name)));
	cosid_column_alter(&column, psprintf("ALTER COLUMN %s DROP DEFAULT, ALTER COLUMN %s SET NOT NULL,"
										 " ALTER COLUMN %s ADD GENERATED BY DEFAULT AS IDENTITY"
										 " (START WITH " INT64_FORMAT ")",
										 column.sql_name, column.sql_name, column.sql_name,
										 Max(greatest, 0) + 1));
	CommandCounterIncrement();
	cosid_column_check_changed(!cosid_column_draws_from(&column, NULL), &column);
	notice_inheritors(&column, tree);
	SPI_finish();
	PG_RETURN_VOID();
}

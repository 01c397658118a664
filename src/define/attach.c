/*-------------------------------------------------------------------------
 *
 * attach.c
 *		Turning a table's existing column into one that draws from a generator,
 *		and back.
 *
 * The table is changed by the ALTER TABLE that a user would write, with the
 * rights of the caller: so locks, recursion, and event triggers are those of
 * PostgreSQL.  Statements have to name the table; it is locked by its OID first,
 * and what came of them is looked at by OID, too: when a schema is renamed
 * meanwhile, and another table or a view stands in its place, that ends in an
 * error before anything is read from it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/partition.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "compat.h"
#include "define/attach.h"
#include "define/default.h"
#include "define/cache.h"
#include "define/create.h"
#include "id/snowflake.h"
#include "mint/clock.h"

PG_FUNCTION_INFO_V1(cosid_attach);
PG_FUNCTION_INFO_V1(cosid_detach);

/* A column, and how statements and messages name it. */
typedef struct Column
{
	Oid			table;
	AttrNumber	attnum;
	char	   *table_name;		/* without its schema */
	char	   *name;
	char	   *sql_table;		/* qualified and quoted */
	const char *only;			/* "ONLY " where what inherits is left alone */
	char	   *sql_name;		/* quoted */
} Column;

static void
set_column(Column *column, Oid table, AttrNumber attnum)
{
	column->table = table;
	column->attnum = attnum;
	column->table_name = get_rel_name(table);
	column->name = get_attname(table, attnum, false);
	column->sql_table = cosid_table_name(table);
	column->only = "";
	column->sql_name = pstrdup(quote_identifier(column->name));
}

/*
 * Statements
 */

/* Run a statement with SPI, which is connected. */
static void
run(const char *sql)
{
	int			code = SPI_execute(sql, false, 0);

	if (code < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(code));
}

/* Run what is left of an ALTER TABLE of a column's table. */
static void
alter_table(const Column *column, const char *what)
{
	run(psprintf("ALTER TABLE %s%s %s", column->only, column->sql_table, what));
}

/*
 * The greatest value of the column up to a limit; false if there is none.  Row
 * security must not hide it, nor an old snapshot.
 *
 * It is read with the rights of the table's owner: the planner evaluates what it
 * finds in the predicates of indexes, say, which are the owner's.
 */
static bool
greatest_value(const Column *column, int64 limit, int64 *greatest)
{
	Oid			types[1] = {INT8OID};
	Datum		values[1];
	Datum		value;
	bool		isnull;
	Oid			save_user;
	int			save_context;
	int			nesting = NewGUCNestLevel();

	/* An error restores these with the (sub)transaction. */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(cosid_table_owner(column->table),
						   save_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION | SECURITY_NOFORCE_RLS);
	(void) set_config_option("row_security", "off", PGC_USERSET, PGC_S_SESSION,
							 GUC_ACTION_SAVE, true, 0, false);
	values[0] = Int64GetDatum(limit);
	(void) cosid_query_latest(column->table,
							  psprintf("SELECT pg_catalog.max(%s::pg_catalog.int8) FROM %s"
									   " WHERE %s::pg_catalog.int8 OPERATOR(pg_catalog.<=) $1",
									   column->sql_name, column->sql_table,
									   column->sql_name),
							  1, types, values);
	AtEOXact_GUC(true, nesting);
	SetUserIdAndSecContext(save_user, save_context);
	value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	*greatest = isnull ? 0 : DatumGetInt64(value);
	return !isnull;
}

/*
 * The sequences that belong to a column, as to a serial one; not an identity's,
 * which is a part of it.
 */
List *
cosid_owned_sequences(Oid table, AttrNumber attnum)
{
	List	   *sequences = NIL;
	ListCell   *cell;

	foreach(cell, getOwnedSequences(table))
	{
		Oid			owner;
		int32		column;

		if (sequenceIsOwned(lfirst_oid(cell), DEPENDENCY_AUTO, &owner, &column) &&
			column == attnum)
			sequences = lappend_oid(sequences, lfirst_oid(cell));
	}
	return sequences;
}

/* Drop a sequence that belonged to a column, unless something else uses it. */
static void
drop_sequence(Oid sequence)
{
	char	   *name = cosid_table_name(sequence);

	/* A default or a view, say. */
	if (cosid_default_dependents(RelationRelationId, sequence) != NIL)
		ereport(NOTICE,
				(errmsg("sequence %s is kept because something else uses it", name)));
	else
		run(psprintf("DROP SEQUENCE %s", name));
}

/*
 * Checks
 */

/*
 * The column must be an integer, or of a domain over one, and have room for an ID:
 * 42804 if not.  Of other types, anyone may have made what reads and casts them.
 */
static void
check_type(const Column *column, bool narrow_ok)
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
open_column(Oid table, const char *name, Column *column)
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
	set_column(column, table, attnum);
	return tree;
}

/* An ID's time in a layout, for messages. */
static const char *
id_time(const CosidLayout *layout, int64 id)
{
	CosidParts	parts;
	TimestampTz time;

	if (!cosid_unpack(layout, id, &parts) ||
		!cosid_ms_to_timestamptz((layout->epoch + parts.timestamp) * cosid_unit_ms(layout),
								 &time))
		return "a time that is out of range";
	return timestamptz_to_str(time);
}

/*
 * If the generator may give out some of the column's values one day: which, for
 * people; else NULL.  Those of this tick (which it waits for to end) and before are
 * past, and so are those that no ID of its layout reaches.  SPI is connected.
 */
static char *
find_collision(const Column *column, const CosidDefinition *definition)
{
	const CosidLayout *layout = &definition->generator.layout;
	int64		timestamp = cosid_clock_now(layout->unit) - layout->epoch;
	int64		past = -1;
	int64		last = cosid_last_of_tick(layout, cosid_max_timestamp(layout));
	int64		greatest;

	if (timestamp >= 0)
		past = cosid_last_of_tick(layout, Min(timestamp, cosid_max_timestamp(layout)));
	if (!greatest_value(column, last, &greatest))
		return NULL;
	if (greatest <= past)
	{
		/* In this very tick there may be more.  A wait may end early. */
		if (timestamp >= 0 && timestamp <= cosid_max_timestamp(layout) &&
			greatest >= cosid_pack(layout, cosid_cursor(layout, timestamp, 0), 0))
		{
			while (cosid_clock_now(layout->unit) - layout->epoch == timestamp)
				cosid_clock_wait((layout->epoch + timestamp + 1) * cosid_unit_ms(layout), 0,
								 COSID_EVENT_TICK);
		}
		return NULL;
	}
	return psprintf("The values go up to " INT64_FORMAT ", which generator \"%s\" reaches at %s. IDs that it gives out now go up to " INT64_FORMAT ".",
					greatest, definition->generator.name, id_time(layout, greatest), past);
}

/* Whether the column's default draws from a generator (whichever: name NULL). */
static bool
draws_from(const CosidExtension *extension, const Column *column, const char *name)
{
	Oid			attrdef = GetAttrDefaultOid(column->table, column->attnum);
	List	   *names;

	if (!OidIsValid(attrdef))
		return false;
	names = cosid_default_generators(extension, AttrDefaultRelationId, attrdef);
	return name == NULL ? names != NIL :
		list_member(names, makeString(unconstify(char *, name)));
}

/* After a statement that was to change this column: did it? */
static void
check_changed(bool changed, const Column *column)
{
	if (!changed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was renamed or replaced meanwhile",
						column->table_name)));
}

/*
 * Attach
 */

/* Of a table that inherits: let go what its column drew from up to now. */
static List *
end_identity(Oid table, const char *name, List *sequences)
{
	Column		column;
	AttrNumber	attnum = get_attnum(table, name);
	HeapTuple	tuple;
	bool		is_identity;

	/* Ending the identity of a partitioned table may have ended this one's. */
	CommandCounterIncrement();
	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(table), Int16GetDatum(attnum));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u", attnum, table);
	is_identity = ((Form_pg_attribute) GETSTRUCT(tuple))->attidentity != '\0';
	ReleaseSysCache(tuple);

	set_column(&column, table, attnum);
	if (is_identity)
		alter_table(&column, psprintf("ALTER COLUMN %s DROP IDENTITY", column.sql_name));
	return list_concat(sequences, cosid_owned_sequences(table, attnum));
}

/*
 * With the tree of tables locked and all checked: let the column draw from a
 * generator.  SPI is connected.
 */
static void
change_default(const Column *column, List *tree, const char *generator)
{
	CosidExtension extension = cosid_extension_get();
	List	   *sequences = NIL;
	ListCell   *cell;

	foreach(cell, tree)
		sequences = end_identity(lfirst_oid(cell), column->name, sequences);
	alter_table(column, psprintf("ALTER COLUMN %s SET DEFAULT %s.cosid_next(%s::pg_catalog.text)",
								 column->sql_name,
								 quote_identifier(cosid_extension_schema(&extension)),
								 quote_literal_cstr(generator)));
	CommandCounterIncrement();
	check_changed(draws_from(&extension, column, generator), column);
	foreach(cell, sequences)
		drop_sequence(lfirst_oid(cell));
}

/* A column of a primary key, which partitions have too, but heirs do not. */
static void
set_key_column(Column *column, Oid table, AttrNumber attnum)
{
	set_column(column, table, attnum);
	if (get_rel_relkind(table) != RELKIND_PARTITIONED_TABLE)
		column->only = "ONLY ";
}

/*
 * Let a column of a table, which is locked and the current user's, draw from a
 * generator, and let go what it drew from before, as far as nothing else uses it.
 * Nobody has asked for just that: where it can't be, there is a NOTICE, and all
 * stays as it is.  42501 without the right to define the generator, though, as
 * for any default.
 */
void
cosid_attach_column(Oid table, AttrNumber attnum, const char *generator)
{
	int			length = (int) strlen(generator);
	List	   *tree;
	Column		column;
	char	   *reason;

	set_key_column(&column, table, attnum);
	tree = column.only[0] == '\0' ?
		find_all_inheritors(table, AccessExclusiveLock, NULL) : list_make1_oid(table);
	SPI_connect();
	if (cosid_definition_declare(generator, length))
	{
		CommandCounterIncrement();
		reason = find_collision(&column, cosid_definition_read(generator, length));
	}
	else
		reason = psprintf("Generator \"%s\" does not exist.", generator);
	if (reason == NULL)
		change_default(&column, tree, generator);
	else
		ereport(NOTICE,
				(errmsg("column \"%s\" of table \"%s\" is left without cosid_next as its default",
						column.name, column.table_name),
				 errdetail_internal("%s", reason)));
	SPI_finish();
}

/* Take back the default of a column, if it draws from this generator. */
void
cosid_release_column(Oid table, AttrNumber attnum, const char *generator)
{
	CosidExtension extension = cosid_extension_get();
	Column		column;

	set_key_column(&column, table, attnum);
	if (!draws_from(&extension, &column, generator))
		return;
	SPI_connect();
	alter_table(&column, psprintf("ALTER COLUMN %s DROP DEFAULT", column.sql_name));
	SPI_finish();
}

/* cosid_attach("table" regclass, "column" name, generator text) -> void */
Datum
cosid_attach(PG_FUNCTION_ARGS)
{
	char	   *generator = text_to_cstring(PG_GETARG_TEXT_PP(2));
	int			length = (int) strlen(generator);
	Column		column;
	List	   *tree;
	char	   *collision;

	tree = open_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), &column);
	check_type(&column, false);
	if (!cosid_definition_declare(generator, length))
		cosid_definition_missing(ERROR, generator, NULL);
	CommandCounterIncrement();

	SPI_connect();
	collision = find_collision(&column, cosid_definition_read(generator, length));
	if (collision != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("existing values of column \"%s\" of table \"%s\" would collide with IDs to come",
						column.name, column.table_name),
				 errdetail_internal("%s", collision),
				 errhint("Use a generator whose IDs are greater: one with an earlier epoch or more bits for machine and sequence.")));
	change_default(&column, tree, generator);
	SPI_finish();
	PG_RETURN_VOID();
}

/*
 * Detach
 */

/* PostgreSQL makes no identity of a domain's column: 42804. */
static void
check_no_domain(const Column *column)
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
notice_inheritors(const Column *column, List *tree)
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
	CosidExtension extension = cosid_extension_get();
	Column		column;
	List	   *tree;
	int64		greatest = 0;

	tree = open_column(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), &column);
	check_type(&column, true);
	check_no_domain(&column);
	if (!draws_from(&extension, &column, NULL))
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the default of column \"%s\" of table \"%s\" does not draw from a generator",
						column.name, column.table_name)));

	SPI_connect();
	(void) greatest_value(&column, PG_INT64_MAX, &greatest);
	if (greatest == PG_INT64_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("column \"%s\" of table \"%s\" has the greatest value there is, after which no sequence can continue",
						column.name, column.table_name)));
	alter_table(&column, psprintf("ALTER COLUMN %s DROP DEFAULT, ALTER COLUMN %s SET NOT NULL,"
								  " ALTER COLUMN %s ADD GENERATED BY DEFAULT AS IDENTITY"
								  " (START WITH " INT64_FORMAT ")",
								  column.sql_name, column.sql_name, column.sql_name,
								  Max(greatest, 0) + 1));
	CommandCounterIncrement();
	check_changed(!draws_from(&extension, &column, NULL), &column);
	notice_inheritors(&column, tree);
	SPI_finish();
	PG_RETURN_VOID();
}

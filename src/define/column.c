/*-------------------------------------------------------------------------
 *
 * column.c
 *		A table's column that is to draw from a generator, or no longer: its
 *		values, its sequences, its default.
 *
 * Called for columns that someone names (sql/attach.c) and for those of new keys
 * (key_catalog.c).
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
#include "catalog/pg_attrdef.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "nodes/value.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "define/column.h"
#include "define/default.h"
#include "id/snowflake.h"
#include "mint/clock.h"

/* A column of a table, which has it. */
void
cosid_column_set(CosidTableColumn *column, Oid table, AttrNumber attnum)
{
	column->table = table;
	column->attnum = attnum;
	column->table_name = get_rel_name(table);
	column->name = get_attname(table, attnum, false);
	column->sql_table = cosid_table_name(table);
	column->only = "";
	column->sql_name = pstrdup(quote_identifier(column->name));
}

/* Run a statement with SPI, which is connected. */
static void
run(const char *sql)
{
	int			code = SPI_execute(sql, false, 0);

	if (code < 0)
		elog(ERROR, "SPI_execute failed: %s", SPI_result_code_string(code));
}

/* Run what is left of an ALTER TABLE of a column's table.  SPI is connected. */
void
cosid_column_alter(const CosidTableColumn *column, const char *what)
{
	run(psprintf("ALTER TABLE %s%s %s", column->only, column->sql_table, what));
}

/*
 * The greatest value of the column up to a limit; false if there is none.  Row
 * security must not hide it, nor an old snapshot.  SPI is connected.
 *
 * It is read with the rights of the table's owner: the planner evaluates what it
 * finds in the predicates of indexes, say, which are the owner's.
 */
bool
cosid_column_greatest(const CosidTableColumn *column, int64 limit, int64 *greatest)
{
	Oid			type = INT8OID;
	Datum		value = Int64GetDatum(limit);
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
	(void) cosid_query_latest(column->table,
							  psprintf("SELECT pg_catalog.max(%s::pg_catalog.int8) FROM %s"
									   " WHERE %s::pg_catalog.int8 OPERATOR(pg_catalog.<=) $1",
									   column->sql_name, column->sql_table,
									   column->sql_name),
							  1, &type, &value);
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
cosid_column_sequences(Oid table, AttrNumber attnum)
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
char *
cosid_column_collision(const CosidTableColumn *column, const CosidDefinition *definition)
{
	const CosidLayout *layout = &definition->generator.layout;
	int64		timestamp = cosid_clock_now(layout->unit) - layout->epoch;
	int64		past = -1;
	int64		last = cosid_last_of_tick(layout, cosid_max_timestamp(layout));
	int64		greatest;

	if (timestamp >= 0)
		past = cosid_last_of_tick(layout, Min(timestamp, cosid_max_timestamp(layout)));
	if (!cosid_column_greatest(column, last, &greatest))
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
bool
cosid_column_draws_from(const CosidTableColumn *column, const char *name)
{
	Oid			attrdef = GetAttrDefaultOid(column->table, column->attnum);
	CosidExtension extension;
	List	   *names;

	if (!OidIsValid(attrdef))
		return false;
	extension = cosid_extension_get();
	names = cosid_default_generators(&extension, AttrDefaultRelationId, attrdef);
	return name == NULL ? names != NIL :
		list_member(names, makeString(unconstify(char *, name)));
}

/* After a statement that was to change this column: did it?  55000 if not. */
void
cosid_column_check_changed(bool changed, const CosidTableColumn *column)
{
	if (!changed)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("table \"%s\" was renamed or replaced meanwhile",
						column->table_name)));
}

/* Of a table that inherits: let go what its column drew from up to now. */
static List *
end_identity(Oid table, const char *name, List *sequences)
{
	CosidTableColumn column;
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

	cosid_column_set(&column, table, attnum);
	if (is_identity)
		cosid_column_alter(&column, psprintf("ALTER COLUMN %s DROP IDENTITY", column.sql_name));
	return list_concat(sequences, cosid_column_sequences(table, attnum));
}

/*
 * With the tree of tables locked (list of OIDs) and all checked: let the column
 * draw from a generator, and drop the sequences that it drew from, unless something
 * else uses them.  SPI is connected.  55000 if the table is another one by now.
 */
void
cosid_column_attach(const CosidTableColumn *column, List *tree, const char *generator)
{
	CosidExtension extension = cosid_extension_get();
	List	   *sequences = NIL;
	ListCell   *cell;

	foreach(cell, tree)
		sequences = end_identity(lfirst_oid(cell), column->name, sequences);
	cosid_column_alter(column, psprintf("ALTER COLUMN %s SET DEFAULT %s.cosid_next(%s::pg_catalog.text)",
										column->sql_name,
										quote_identifier(cosid_extension_schema(&extension)),
										quote_literal_cstr(generator)));
	CommandCounterIncrement();
	cosid_column_check_changed(cosid_column_draws_from(column, generator), column);
	foreach(cell, sequences)
		drop_sequence(lfirst_oid(cell));
}

/*-------------------------------------------------------------------------
 *
 * key.c
 *		cosid.column_default: which column of a primary key gets a default that it
 *		does not ask for.
 *
 * A statement that defines a table's primary key together with its columns is
 * changed before it runs (key_statement.c), so that no sequence is made, and the
 * rows that a table has already get an ID each.  A key over columns that the
 * statement does not define (ADD PRIMARY KEY, LIKE, typed tables) is seen to when
 * it is there (key_catalog.c).  Both ask here.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/lsyscache.h"

#include "settings.h"
#include "define/definition.h"
#include "define/key.h"

static void
notice_narrow(const char *table, const CosidKeyColumn *column)
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
 * Which of the columns of a table's primary key (CosidKeyColumn *) is to draw from
 * a generator, counted from 0; -1 if none is.  It must be the only one that can.
 * A foreign key's values come from elsewhere.  A NOTICE says why not, where that
 * isn't plain.
 */
int
cosid_key_choose(const char *table, List *columns)
{
	List	   *empty = NIL;
	List	   *sequences = NIL;
	List	   *candidates;
	bool		any_served = false;
	ListCell   *cell;

	foreach(cell, columns)
	{
		const CosidKeyColumn *column = lfirst(cell);
		bool		served = column->source == COSID_SOURCE_OTHER ||
			(column->source == COSID_SOURCE_SEQUENCE &&
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
			any_served = true;
		else if (column->source == COSID_SOURCE_SEQUENCE)
			sequences = lappend_int(sequences, foreach_current_index(cell));
		else
			empty = lappend_int(empty, foreach_current_index(cell));
	}
	if (sequences == NIL && any_served)
		return -1;
	candidates = sequences != NIL ? sequences : empty;
	if (list_length(candidates) > 1 && sequences == NIL)
		notice(table, "More than one of its columns could have it.");
	if (list_length(candidates) != 1)
		return -1;
	if (!cosid_definition_valid_name(table))
	{
		notice(table, "The table's name is too long for a generator's, in UTF-8.");
		return -1;
	}
	return linitial_int(candidates);
}

/* Bytes of an integer type or a domain over one; 0 for other types. */
int
cosid_key_width(Oid type)
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

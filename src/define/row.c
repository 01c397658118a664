/*-------------------------------------------------------------------------
 *
 * row.c
 *		The rows of cosid_generator in the current database; see row.h.
 *
 * A row is read with a fresh catalog snapshot, whatever the transaction's own
 * snapshot is, so that what another session has defined holds for us at once,
 * as it does for tables.  Whoever has read rows looks at cosid_rows_generation
 * before using them again: it changes by relcache invalidation, which a trigger
 * on the table sends.
 *
 * Everything that makes or deletes rows takes a lock on (table, name) for the
 * transaction first; what needs a row to stay takes it shared.  So a row that is
 * looked for under the lock and is not there can be inserted without a wait for
 * someone else's uncommitted one.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/indexing.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/inval.h"
#include "utils/rel.h"

#include "catalog.h"
#include "define/row.h"
#include "define/shared_cache.h"

uint64		cosid_rows_generation = 1;

/* cosid_generator in this database; InvalidOid: look it up. */
static Oid	generator_table = InvalidOid;

/* 42710: a row that is to be made is there. */
void
cosid_row_exists(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("generator \"%s\" already exists", name)));
}

/*
 * A relation has changed (or any may have: InvalidOid).  While we do not know
 * which one is the table, each may be it.
 */
static void
invalidate(Datum arg pg_attribute_unused(), Oid relid)
{
	if (OidIsValid(relid) && OidIsValid(generator_table) && relid != generator_table)
		return;
	cosid_rows_generation++;
	generator_table = InvalidOid;
}

/* When the library is loaded. */
void
cosid_row_init(void)
{
	CacheRegisterRelcacheCallback(invalidate, (Datum) 0);
}

/* The table.  Errors: 42704 without the extension, and those of cosid_table_oid. */
Oid
cosid_row_table(void)
{
	if (!OidIsValid(generator_table))
	{
		CosidExtension extension = cosid_extension_get();

		generator_table = cosid_table_oid(&extension, "cosid_generator");
	}
	return generator_table;
}

/*
 * The columns are read by their numbers.  A later version of the extension may
 * add some; a table that has others in their place is not for this library.
 */
static void
check_columns(Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < COSID_COLUMNS; i++)
	{
		if (i >= desc->natts || TupleDescAttr(desc, i)->atttypid != cosid_column_types[i])
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" is not what version %s of cosid's library reads",
							RelationGetRelationName(table), COSID_VERSION),
					 errhint("If the library is newer than the extension in this database, run ALTER EXTENSION cosid UPDATE.")));
	}
}

/* Find a name's row by a fresh snapshot; NULL if there is none. */
static HeapTuple
find_row(Relation table, const char *name)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	check_columns(table);

	/* Sets rd_pkindex. */
	list_free(RelationGetIndexList(table));
	ScanKeyEntryInitialize(&key, 0, COSID_COL_NAME + 1, BTEqualStrategyNumber,
						   InvalidOid, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(name));
	scan = systable_beginscan(table, table->rd_pkindex,
							  OidIsValid(table->rd_pkindex), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	return tuple;
}

/* Read a name's row into a definition; false if there is none. */
bool
cosid_row_read(const char *name, CosidDefinition *definition)
{
	Relation	table = table_open(cosid_row_table(), AccessShareLock);
	HeapTuple	tuple = find_row(table, name);

	if (HeapTupleIsValid(tuple))
	{
		NullableDatum values[COSID_COLUMNS];

		for (int i = 0; i < COSID_COLUMNS; i++)
			values[i].value = heap_getattr(tuple, i + 1, RelationGetDescr(table),
										   &values[i].isnull);
		cosid_definition_from_values(definition, values, false);
	}
	table_close(table, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/* Run a statement on the table with the rights of its owner. */
static uint64
execute_as_owner(Oid table, const char *sql, int nargs, const Oid *types,
				 Datum *values, const char *nulls)
{
	Oid			save_user;
	int			save_context;
	uint64		processed;

	/* An error restores these with the (sub)transaction. */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(cosid_table_owner(table),
						   save_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	processed = cosid_execute(table, sql, nargs, types, values, nulls);
	SPI_finish();
	SetUserIdAndSecContext(save_user, save_context);
	return processed;
}

/* Insert a definition's row, by the columns' numbers.  The triggers do the rest. */
void
cosid_row_insert(const CosidDefinition *definition)
{
	Oid			table = cosid_row_table();
	Datum		values[COSID_COLUMNS];
	char		nulls[COSID_COLUMNS];

	cosid_definition_to_values(definition, values, nulls);
	execute_as_owner(table,
					 psprintf("INSERT INTO %s VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9,"
							  " $10, $11, $12, $13, $14, $15, $16)", cosid_table_name(table)),
					 COSID_COLUMNS, cosid_column_types, values, nulls);
}

/* Delete a name's row; false if there is none. */
bool
cosid_row_delete(const char *name)
{
	Oid			table = cosid_row_table();
	Oid			types[1] = {TEXTOID};
	Datum		values[1] = {CStringGetTextDatum(name)};

	return execute_as_owner(table,
							psprintf("DELETE FROM %s WHERE name OPERATOR(pg_catalog.=) $1",
									 cosid_table_name(table)),
							1, types, values, NULL) > 0;
}

/*
 * Triggers on cosid_generator
 */

PG_FUNCTION_INFO_V1(cosid_generator_insert);
PG_FUNCTION_INFO_V1(cosid_generator_changed);

/*
 * Before a row is inserted: what becomes of the one that is there.  A dump's
 * rows come after its tables, whose defaults may have defined the generators on
 * first use; then the dump's word counts.
 */
Datum
cosid_generator_insert(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Relation	table;
	HeapTuple	existing;
	Datum		value;
	bool		isnull;
	char	   *name;
	bool		implicit;

	cosid_check_trigger(fcinfo);
	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		elog(ERROR, "cosid_generator_insert must be fired before an insert, for each row");

	table = trigger->tg_relation;
	check_columns(table);
	value = heap_getattr(trigger->tg_trigtuple, COSID_COL_NAME + 1,
						 RelationGetDescr(table), &isnull);
	if (isnull)
		return PointerGetDatum(trigger->tg_trigtuple);	/* NOT NULL will say so */
	name = TextDatumGetCString(value);
	value = heap_getattr(trigger->tg_trigtuple, COSID_COL_IMPLICIT + 1,
						 RelationGetDescr(table), &isnull);
	implicit = !isnull && DatumGetBool(value);

	cosid_name_lock(RelationGetRelid(table), name, AccessExclusiveLock, true);
	existing = find_row(table, name);
	if (!HeapTupleIsValid(existing))
		return PointerGetDatum(trigger->tg_trigtuple);
	if (implicit)
		return PointerGetDatum(NULL);

	value = heap_getattr(existing, COSID_COL_IMPLICIT + 1, RelationGetDescr(table), &isnull);
	if (isnull || !DatumGetBool(value))
		cosid_row_exists(name);
	CatalogTupleDelete(table, &existing->t_self);
	return PointerGetDatum(trigger->tg_trigtuple);
}

/* After any change: tell every backend's cache, and the one that they share. */
Datum
cosid_generator_changed(PG_FUNCTION_ARGS)
{
	cosid_check_trigger(fcinfo);
	cosid_shared_cache_changed();
	CacheInvalidateRelcache(((TriggerData *) fcinfo->context)->tg_relation);
	return PointerGetDatum(NULL);
}

/*-------------------------------------------------------------------------
 *
 * catalog.c
 *		Finding the extension's own objects in the current database.
 *
 * Tables are found by membership in the extension, never through search_path.
 * A statement has to name them all the same, and a schema's owner can rename it
 * at any moment and put another with a table of that name in its place, whose
 * triggers would then run as superuser.  So cosid_execute() looks at what each
 * statement was analyzed to, and refuses it if that is not the table.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "catalog/dependency.h"
#include "catalog/indexing.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "common/hashfn.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/analyze.h"
#include "storage/lock.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#include "catalog.h"

/* False if the current database does not have the extension. */
bool
cosid_extension_find(CosidExtension *extension)
{
	Relation	rel = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("cosid"));
	scan = systable_beginscan(rel, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		Form_pg_extension form = (Form_pg_extension) GETSTRUCT(tuple);
		bool		isnull;
		Datum		version = heap_getattr(tuple, Anum_pg_extension_extversion,
										   RelationGetDescr(rel), &isnull);

		strlcpy(extension->version, TextDatumGetCString(version),
				sizeof(extension->version));
		extension->oid = form->oid;
		extension->schema = form->extnamespace;
		extension->uncommitted =
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/* The same where it is needed: 42704 without it. */
CosidExtension
cosid_extension_get(void)
{
	CosidExtension extension;

	if (!cosid_extension_find(&extension))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("extension cosid does not exist in this database")));
	return extension;
}

/*
 * The OID of one of the extension's tables.  Errors: 42P01 if it is not there
 * under its name, 42501 if what is there can't be trusted.
 */
Oid
cosid_table_oid(const CosidExtension *extension, const char *name)
{
	Oid			table = get_relname_relid(name, extension->schema);

	if (!OidIsValid(table))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("table \"%s\" of extension cosid does not exist", name)));

	if (getExtensionOfObject(RelationRelationId, table) != extension->oid ||
		!superuser_arg(cosid_table_owner(table)))
		ereport(ERROR,
				(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
				 errmsg("table \"%s\" is not extension cosid's own", name),
				 errdetail("It must be a member of the extension and owned by a superuser.")));
	return table;
}

/*
 * The OID of one of the extension's functions, whose name must be its alone.
 * Anyone's right to see the schema does not matter.
 */
Oid
cosid_function_oid(const CosidExtension *extension, const char *name)
{
	CatCList   *candidates = SearchSysCacheList1(PROCNAMEARGSNSP, CStringGetDatum(name));
	Oid			function = InvalidOid;

	for (int i = 0; i < candidates->n_members; i++)
	{
		Form_pg_proc form = (Form_pg_proc) GETSTRUCT(&candidates->members[i]->tuple);

		if (form->pronamespace == extension->schema &&
			getExtensionOfObject(ProcedureRelationId, form->oid) == extension->oid)
			function = form->oid;
	}
	ReleaseCatCacheList(candidates);
	if (!OidIsValid(function))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("function \"%s\" of extension cosid does not exist", name)));
	return function;
}

/*
 * The OID of the one of the extension's functions that takes so many texts and
 * nothing else; InvalidOid if there is none.
 */
Oid
cosid_function_find(const CosidExtension *extension, const char *name, int texts)
{
	static const Oid types[] = {TEXTOID, TEXTOID};
	Oid			function;

	Assert(texts <= (int) lengthof(types));
	function = GetSysCacheOid3(PROCNAMEARGSNSP, Anum_pg_proc_oid,
							   CStringGetDatum(name),
							   PointerGetDatum(buildoidvector(types, texts)),
							   ObjectIdGetDatum(extension->schema));
	if (OidIsValid(function) &&
		getExtensionOfObject(ProcedureRelationId, function) != extension->oid)
		return InvalidOid;
	return function;
}

/*
 * Check that rows have so many columns.  What a function was declared to return in
 * this database may be of another version of the extension: error 55000.
 */
void
cosid_check_result(TupleDesc desc, int columns)
{
	if (desc->natts != columns)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the extension in this database is not of the version of cosid's library, which is %s",
						COSID_VERSION),
				 errhint("If the library is newer, run ALTER EXTENSION cosid UPDATE.")));
}

/* The type of the rows that a function returns, which must have so many columns. */
TupleDesc
cosid_result_type(FunctionCallInfo fcinfo, int columns)
{
	TupleDesc	desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	cosid_check_result(desc, columns);
	return desc;
}

/* For a trigger function: error 39P01 if it was called in another way. */
void
cosid_check_trigger(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by trigger manager")));
}

/* The name of the extension's schema.  42704 if that was dropped meanwhile. */
char *
cosid_extension_schema(const CosidExtension *extension)
{
	char	   *name = get_namespace_name(extension->schema);

	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("the schema of extension cosid does not exist any more")));
	return name;
}

Oid
cosid_table_owner(Oid table)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(table));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for relation %u", table);
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/* The table's qualified and quoted name, palloc'd. */
char *
cosid_table_name(Oid table)
{
	char	   *schema = get_namespace_name(get_rel_namespace(table));
	char	   *name = get_rel_name(table);

	if (schema == NULL || name == NULL)
		elog(ERROR, "cache lookup failed for relation %u", table);
	return quote_qualified_identifier(schema, name);
}

/*
 * Locks of names.  What is locked is a table and a hash of the name: names that
 * share one merely wait for each other.
 */

static LOCKTAG
name_tag(Oid table, const char *name)
{
	LOCKTAG		tag;
	uint32		hash = hash_bytes((const unsigned char *) name, (int) strlen(name));

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, table, hash, 0);
	return tag;
}

/*
 * Lock a name of something that a table has rows about, until the end of the
 * transaction.  False if that would take a wait and there is to be none.
 */
bool
cosid_name_lock(Oid table, const char *name, LOCKMODE mode, bool wait)
{
	LOCKTAG		tag = name_tag(table, name);

	return LockAcquire(&tag, mode, false, !wait) != LOCKACQUIRE_NOT_AVAIL;
}

/* Take such a lock back. */
void
cosid_name_unlock(Oid table, const char *name, LOCKMODE mode)
{
	LOCKTAG		tag = name_tag(table, name);

	LockRelease(&tag, mode, false);
}

/* The only table that the next statement may use; InvalidOid: it is not ours. */
static Oid	only_table = InvalidOid;

static post_parse_analyze_hook_type previous_post_parse_analyze_hook = NULL;

/* Refuse a query, or a part of it, that uses another relation. */
static bool
check_relations(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, RangeTblEntry))
	{
		if (((RangeTblEntry *) node)->rtekind == RTE_RELATION &&
			((RangeTblEntry *) node)->relid != only_table)
			ereport(ERROR,
					(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
					 errmsg("a table was replaced by another while cosid used it")));
		return false;
	}
	if (IsA(node, Query))
		return query_tree_walker((Query *) node, check_relations, context,
								 QTW_EXAMINE_RTES_BEFORE);
	return expression_tree_walker(node, check_relations, context);
}

static void
check_analyzed(ParseState *pstate, Query *query, JumbleState *jstate)
{
	if (OidIsValid(only_table))
	{
		(void) check_relations((Node *) query, NULL);
		only_table = InvalidOid;	/* what a trigger then runs is its own */
	}
	if (previous_post_parse_analyze_hook != NULL)
		previous_post_parse_analyze_hook(pstate, query, jstate);
}

/* When the library is loaded. */
void
cosid_catalog_init(void)
{
	previous_post_parse_analyze_hook = post_parse_analyze_hook;
	post_parse_analyze_hook = check_analyzed;
}

/* Run a statement that may use no other table than this. */
static uint64
execute_on(Oid table, const char *sql, int nargs, const Oid *types,
		   Datum *values, const char *nulls, bool read_only)
{
	int			code;

	only_table = table;
	PG_TRY();
	{
		code = SPI_execute_with_args(sql, nargs, unconstify(Oid *, types), values,
									 nulls, read_only, 0);
	}
	PG_FINALLY();
	{
		only_table = InvalidOid;
	}
	PG_END_TRY();
	if (code < 0)
		elog(ERROR, "SPI_execute_with_args failed: %s", SPI_result_code_string(code));
	return SPI_processed;
}

/*
 * Run one statement, which uses a table by the name that cosid_table_name()
 * gave, and no other.  SPI must be connected.  Returns the number of rows, which
 * are in SPI_tuptable.
 *
 * SPI analyzes it once and plans what came of that, so what was checked is what
 * runs.
 */
uint64
cosid_execute(Oid table, const char *sql, int nargs, const Oid *types,
			  Datum *values, const char *nulls)
{
	return execute_on(table, sql, nargs, types, values, nulls, false);
}

/*
 * The same for a query, which sees all that is committed now, whatever the
 * transaction's snapshot is.
 */
uint64
cosid_query_latest(Oid table, const char *sql, int nargs, const Oid *types,
				   Datum *values)
{
	uint64		rows;

	PushActiveSnapshot(GetLatestSnapshot());
	rows = execute_on(table, sql, nargs, types, values, NULL, true);
	PopActiveSnapshot();
	return rows;
}

/*
 * A column of the first row that such a statement has given, which must not be
 * NULL; the table is named for the error if it is.
 */
Datum
cosid_first_row(const char *table, int column)
{
	bool		isnull;
	Datum		value = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc,
									  column, &isnull);

	if (isnull)
		elog(ERROR, "unexpected null in %s", table);
	return value;
}

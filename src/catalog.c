/*-------------------------------------------------------------------------
 *
 * catalog.c
 *		Finding the extension's own objects in the current database.
 *
 * Tables are found by membership in the extension, never through search_path,
 * and their names are looked up at each use: a schema's owner can rename it and
 * put something else in its place, which code that runs as superuser must not
 * be led to.
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
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
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

		extension->oid = form->oid;
		extension->schema = form->extnamespace;
		extension->uncommitted =
			TransactionIdIsCurrentTransactionId(HeapTupleHeaderGetXmin(tuple->t_data));
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
	return HeapTupleIsValid(tuple);
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

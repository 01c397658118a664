/*-------------------------------------------------------------------------
 *
 * catalog.h
 *		Finding the extension's own objects in the current database.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_CATALOG_H
#define COSID_CATALOG_H

#include "access/tupdesc.h"
#include "fmgr.h"
#include "storage/lockdefs.h"

/* The extension as it is installed in the current database. */
typedef struct CosidExtension
{
	Oid			oid;
	Oid			schema;
	char		version[NAMEDATALEN];	/* of its objects; the library's is
										 * COSID_VERSION */
	bool		uncommitted;	/* created by the current transaction */
} CosidExtension;

extern bool cosid_extension_find(CosidExtension *extension);
extern CosidExtension cosid_extension_get(void);
extern Oid	cosid_table_oid(const CosidExtension *extension, const char *name);
extern Oid	cosid_function_oid(const CosidExtension *extension, const char *name);
extern Oid	cosid_function_find(const CosidExtension *extension, const char *name,
								int texts);
extern void cosid_check_result(TupleDesc desc, int columns);
extern TupleDesc cosid_result_type(FunctionCallInfo fcinfo, int columns);
extern void cosid_check_trigger(FunctionCallInfo fcinfo);
extern char *cosid_extension_schema(const CosidExtension *extension);
extern Oid	cosid_table_owner(Oid table);
extern char *cosid_table_name(Oid table);
extern bool cosid_name_lock(Oid table, const char *name, LOCKMODE mode, bool wait);
extern void cosid_name_unlock(Oid table, const char *name, LOCKMODE mode);
extern void cosid_check_trigger(FunctionCallInfo fcinfo);
extern void cosid_catalog_init(void);
extern uint64 cosid_execute(Oid table, const char *sql, int nargs,
							const Oid *types, Datum *values, const char *nulls);
extern uint64 cosid_query_latest(Oid table, const char *sql, int nargs,
								 const Oid *types, Datum *values);
extern Datum cosid_first_row(const char *table, int column);

#endif							/* COSID_CATALOG_H */

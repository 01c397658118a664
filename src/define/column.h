/*-------------------------------------------------------------------------
 *
 * column.h
 *		A table's column that is to draw from a generator, or no longer.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_COLUMN_H
#define COSID_COLUMN_H

#include "nodes/pg_list.h"

#include "define/definition.h"

/* A column, and how statements and messages name it. */
typedef struct CosidTableColumn
{
	Oid			table;
	AttrNumber	attnum;
	char	   *table_name;		/* without its schema */
	char	   *name;
	char	   *sql_table;		/* qualified and quoted */
	const char *only;			/* "ONLY " where what inherits is left alone */
	char	   *sql_name;		/* quoted */
} CosidTableColumn;

extern void cosid_column_set(CosidTableColumn *column, Oid table, AttrNumber attnum);
extern List *cosid_column_sequences(Oid table, AttrNumber attnum);
extern bool cosid_column_draws_from(const CosidTableColumn *column, const char *name);
extern bool cosid_column_greatest(const CosidTableColumn *column, int64 limit,
								  int64 *greatest);
extern char *cosid_column_collision(const CosidTableColumn *column,
									const CosidDefinition *definition);
extern void cosid_column_alter(const CosidTableColumn *column, const char *what);
extern void cosid_column_check_changed(bool changed, const CosidTableColumn *column);
extern void cosid_column_attach(const CosidTableColumn *column, List *tree,
								const char *generator);

#endif							/* COSID_COLUMN_H */

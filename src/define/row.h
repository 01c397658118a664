/*-------------------------------------------------------------------------
 *
 * row.h
 *		The rows of cosid_generator in the current database.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_ROW_H
#define COSID_ROW_H

#include "define/definition.h"

/* When this changes, what was read of rows before may not hold any more. */
extern uint64 cosid_rows_generation;

extern void cosid_row_init(void);
extern Oid	cosid_row_table(void);
extern bool cosid_row_read(const char *name, CosidDefinition *definition);
extern void cosid_row_insert(const CosidDefinition *definition);
extern bool cosid_row_delete(const char *name);
extern void cosid_row_exists(const char *name);

#endif							/* COSID_ROW_H */

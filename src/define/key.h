/*-------------------------------------------------------------------------
 *
 * key.h
 *		cosid.column_default: primary keys that get a default which they do not
 *		ask for.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_KEY_H
#define COSID_KEY_H

#include "nodes/plannodes.h"

/* Where the values of a column come from that an INSERT leaves out. */
typedef enum CosidKeySource
{
	COSID_SOURCE_NONE,
	COSID_SOURCE_SEQUENCE,		/* its own: serial or identity */
	COSID_SOURCE_OTHER
} CosidKeySource;

/* A column of a primary key. */
typedef struct CosidKeyColumn
{
	const char *name;
	int			width;			/* bytes, of an integer; else 0 */
	bool		foreign;		/* refers to another table's key */
	CosidKeySource source;
} CosidKeyColumn;

/* key.c */
extern int	cosid_key_choose(const char *table, List *columns);
extern int	cosid_key_width(Oid type);

/* key_statement.c and key_catalog.c: for ddl.c */
extern PlannedStmt *cosid_key_rewrite(PlannedStmt *pstmt, bool *decided);
extern void cosid_key_created(Oid constraint, bool decided);

#endif							/* COSID_KEY_H */

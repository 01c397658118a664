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

extern PlannedStmt *cosid_key_rewrite(PlannedStmt *pstmt, bool *decided);
extern void cosid_key_created(Oid constraint, bool decided);

#endif							/* COSID_KEY_H */

/*-------------------------------------------------------------------------
 *
 * attach.h
 *		Turning a table's existing column into one that draws from a generator,
 *		and back.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_ATTACH_H
#define COSID_ATTACH_H

#include "nodes/pg_list.h"

extern List *cosid_owned_sequences(Oid table, AttrNumber attnum);
extern void cosid_attach_column(Oid table, AttrNumber attnum, const char *generator);
extern void cosid_release_column(Oid table, AttrNumber attnum, const char *generator);

#endif							/* COSID_ATTACH_H */

/*-------------------------------------------------------------------------
 *
 * default.h
 *		The defaults of columns and domains, and the triggers, that draw from a
 *		generator.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_DEFAULT_H
#define COSID_DEFAULT_H

#include "nodes/pg_list.h"

#include "catalog.h"

extern List *cosid_default_generators(const CosidExtension *extension,
									  Oid class, Oid object);
extern char *cosid_default_description(Oid class, Oid object);
extern List *cosid_default_dependents(Oid class, Oid object);
extern List *cosid_default_users(const char *name);

#endif							/* COSID_DEFAULT_H */

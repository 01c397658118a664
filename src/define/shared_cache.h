/*-------------------------------------------------------------------------
 *
 * shared_cache.h
 *		Definitions that sessions have read, for those that come after them.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_SHARED_CACHE_H
#define COSID_SHARED_CACHE_H

#include "define/definition.h"

extern Size cosid_shared_cache_size(void);
extern void cosid_shared_cache_init(void);
extern void cosid_shared_cache_watch(void);

extern bool cosid_shared_cache_find(const char *name, CosidDefinition *definition);
extern uint64 cosid_shared_cache_changes(void);
extern void cosid_shared_cache_keep(const CosidDefinition *definition, uint64 changes);
extern void cosid_shared_cache_changed(void);

#endif							/* COSID_SHARED_CACHE_H */

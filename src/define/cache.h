/*-------------------------------------------------------------------------
 *
 * cache.h
 *		From a generator's name to what it is: what this backend has read.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_CACHE_H
#define COSID_CACHE_H

#include "define/definition.h"

extern CosidDefinition *cosid_definition_mint(const char *name, int length);
extern const CosidDefinition *cosid_definition_read(const char *name, int length);

/* The next ID of a generator: errors of cosid_definition_mint and of minting. */
static inline int64
cosid_next_id(const char *name, int length)
{
	return cosid_generator_next(&cosid_definition_mint(name, length)->generator);
}

#endif							/* COSID_CACHE_H */

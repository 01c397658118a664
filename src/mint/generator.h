/*-------------------------------------------------------------------------
 *
 * generator.h
 *		Minting: from a generator to its next ID.
 *
 * Whoever knows what a generator is (define/) makes a CosidGenerator of it, opens
 * it once, which may take a lock and memory, and draws from it as often as it
 * likes, which takes neither.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_GENERATOR_H
#define COSID_GENERATOR_H

#include "id/snowflake.h"
#include "mint/slot.h"

typedef struct CosidGenerator
{
	/* What it is; constant once it was opened. */
	char		name[COSID_MAX_NAME + 1];	/* in the database's encoding */
	char		utf8_name[COSID_MAX_NAME + 1];
	char		namespace[COSID_MAX_NAMESPACE + 1];
	CosidLayout layout;
	int64		reset_threshold;
	bool		clock_sync;		/* wait for a clock that is a little behind */

	/*
	 * Its state in shared memory, NULL until it was opened; and how many IDs this
	 * backend may take before it asks for another share of a tick.
	 */
	CosidLease *lease;
	CosidSlot  *slot;
	int64		share;
} CosidGenerator;

extern void cosid_generator_open(CosidGenerator *generator);
extern int64 cosid_generator_next(CosidGenerator *generator);

#endif							/* COSID_GENERATOR_H */

/*-------------------------------------------------------------------------
 *
 * slot.h
 *		The state of generators, in shared memory.
 *
 * One slot a (namespace, name, layout), shared by all databases of the server:
 * so IDs of one name and layout are unique across them.  Slots are published
 * before their first use and never freed or reset while the server runs, so
 * whoever closes a grant and then reads how many there are has seen every
 * cursor that may have moved under it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_SLOT_H
#define COSID_SLOT_H

#include "port/atomics.h"

#include "id/snowflake.h"
#include "mint/lease.h"

#define COSID_MAX_NAME		63	/* bytes of a generator's name, in UTF-8 */

/* What callers had to wait for. */
typedef enum CosidWait
{
	COSID_WAIT_TICK,			/* the sequence was used up */
	COSID_WAIT_CLOCK,			/* the clock was behind */
	COSID_WAIT_GRANT			/* no grant, or not for this time */
} CosidWait;

#define COSID_WAIT_KINDS	3

/* What callers were told instead of an ID: ID001 to ID004. */
typedef enum CosidFailure
{
	COSID_FAILED_CLOCK,			/* the clock moved backwards */
	COSID_FAILED_GRANT,			/* machine id lost or unavailable */
	COSID_FAILED_MACHINE_ID,	/* machine id overflow */
	COSID_FAILED_TIMESTAMP		/* timestamp overflow */
} CosidFailure;

#define COSID_FAILURE_KINDS	4

typedef struct CosidSlot
{
	/* Set before the slot is published, constant from then on. */
	int			lease;			/* of the namespace: its index */
	char		name[COSID_MAX_NAME + 1];	/* in UTF-8 */
	CosidLayout layout;

	/*
	 * The last ID of machine ids before the present one; the worker's, written
	 * while no grant stands, read by cosid_stat (which may be off by one then).
	 */
	pg_atomic_uint64 earlier_id;

	/*
	 * Calls that waited and what they waited, in us, by kind; errors by kind.
	 * Added to by those who waited or failed, set to 0 by cosid_stat_reset, read
	 * by cosid_stat.  Each by itself: there is no order among them.
	 */
	pg_atomic_uint64 waits[COSID_WAIT_KINDS];
	pg_atomic_uint64 wait_us[COSID_WAIT_KINDS];
	pg_atomic_uint64 failures[COSID_FAILURE_KINDS];

	/*
	 * The last share that was given out of a tick (generator.c): the tick,
	 * relative to the epoch, times the shares that a tick has, and which one.
	 */
	pg_atomic_uint64 last_share;

	/*
	 * Moved by cosid_mint() in backends; read by the worker and cosid_stat.
	 * The worker lowers it, while no grant stands (cosid_slot_lower).
	 */
	union
	{
		cosid_atomic cursor;
		char		line[PG_CACHE_LINE_SIZE];
	} u			pg_attribute_aligned(PG_CACHE_LINE_SIZE);
} CosidSlot;

extern Size cosid_slot_size(void);
extern void cosid_slot_init(void *memory);
extern void cosid_slot_attach(void *memory);
extern int	cosid_slot_count(void);
extern CosidSlot *cosid_slot_at(int index);
extern CosidLease *cosid_slot_lease(const CosidSlot *slot);
extern CosidSlot *cosid_slot_get(CosidLease *lease, const char *name,
								 const CosidLayout *layout);
extern bool cosid_slot_other_layout(const char *name, const CosidLayout *layout);
extern int64 cosid_slot_largest_ms(const CosidLease *lease);
extern void cosid_slot_keep_ids(const CosidLease *lease, int64 floor,
								int64 machine_id);
extern void cosid_slot_lower(const CosidLease *lease, int64 now_ms);
extern int64 cosid_slot_last_id(CosidSlot *slot);
extern void cosid_slot_reset_counts(void);
extern TimestampTz cosid_slot_reset_at(void);

#endif							/* COSID_SLOT_H */

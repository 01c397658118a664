/*-------------------------------------------------------------------------
 *
 * grant.h
 *		The right to mint, and the one step that mints under it.
 *
 * A grant says: IDs of this machine id with floor < timestamp_ms <= limit are
 * ours to give out.  The worker alone opens, raises and closes it; backends
 * read it without a lock, move a generator's cursor, and then look again.
 * Both sides of that handshake are in this file, so that they can be read (and
 * tested, with threads and ThreadSanitizer) together.  README.md has the argument in
 * prose.
 *
 * Knows only snowflake.h and atomic operations; who calls is generator.c (a
 * backend) and lease/tend.c (the worker).
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_GRANT_H
#define COSID_GRANT_H

#include "id/snowflake.h"
#include "mint/atomic.h"

/*
 * All four are written by the worker alone and read by every backend.  32 bytes
 * that hardly ever change: they sit on a cache line of their own, which stays
 * shared in every core.
 */
typedef struct CosidGrant
{
	/*
	 * Even while the grant stands, odd while there is none; only ever counts
	 * up.  Odd is written before machine_id and floor change (then a full
	 * barrier), even after them (a write barrier before it).
	 */
	cosid_atomic version;
	cosid_atomic machine_id;	/* constant while version is even */
	cosid_atomic floor;			/* IDs need timestamp_ms > floor; constant while
								 * version is even */
	cosid_atomic limit;			/* IDs need timestamp_ms <= limit: the watermark
								 * that is durably committed; within a version it
								 * only rises, and may be read torn from the
								 * others: any value it had is safe */
} CosidGrant;

typedef enum CosidMintStatus
{
	COSID_MINT_OK,
	COSID_MINT_AGAIN,			/* lost a race: start over */
	COSID_MINT_DRY,				/* the sequence is used up: wait for a tick */
	COSID_MINT_CLOCK_BACKWARDS, /* the clock is behind the cursor */
	COSID_MINT_OVERFLOW,		/* the layout has no timestamp for this clock */
	COSID_MINT_NO_GRANT,		/* no grant stands */
	COSID_MINT_FLOOR,			/* the clock has not passed the floor */
	COSID_MINT_LIMIT,			/* the clock has passed the limit */
	COSID_MINT_MACHINE_ID		/* the machine id does not fit the layout */
} CosidMintStatus;

/* One attempt to mint: what it saw and what came out. */
typedef struct CosidMint
{
	uint64_t	last;			/* the cursor it started from */
	uint64_t	next;			/* the state that is ours, if COSID_MINT_OK */
	int64_t		now;			/* the clock, in the layout's unit; 0 if unread */
	int64_t		machine_id;		/* the grant's */
	int64_t		floor;			/* the grant's, Unix ms */
	int64_t		limit;			/* the grant's, Unix ms */

	/*
	 * In and out: the cursor that an attempt before this one found dry, so that
	 * this one may take sequence 0 of the next tick; 0 at first.
	 */
	uint64_t	dry;
} CosidMint;

/* Reads the clock: Unix time in the unit. */
typedef int64_t (*CosidClock) (CosidUnit unit);

/*
 * Take the next state of a generator for the caller alone.
 *
 * The cursor is loaded before the clock is read: the other way round another
 * backend's progress in between would look like a clock that went back.
 *
 * Without the second look at the version, a backend that was paused before its
 * compare-and-swap could take a state that the worker, closing the grant in the
 * meantime, did not see: the watermark that it leaves in the registry would not
 * cover it, and the next holder of the machine id could give it out again.
 * With it, either the worker's look at the cursors (after its barrier) sees our
 * state, or we see that the grant is gone and throw the state away.
 */
static cosid_always_inline CosidMintStatus
cosid_mint(CosidGrant *grant, cosid_atomic *cursor, const CosidLayout *layout,
		   int64_t reset_threshold, CosidClock clock, CosidMint *mint)
{
	uint64_t	version = cosid_atomic_read(&grant->version);
	uint64_t	expected;
	int64_t		timestamp_ms;
	CosidStep	step;

	mint->now = 0;
	if (version & 1)
		return COSID_MINT_NO_GRANT;
	cosid_read_barrier();
	mint->machine_id = (int64_t) cosid_atomic_read(&grant->machine_id);
	mint->floor = (int64_t) cosid_atomic_read(&grant->floor);
	mint->limit = (int64_t) cosid_atomic_read(&grant->limit);
	if (mint->machine_id > cosid_max_machine_id(layout))
	{
		/* Not to be blamed on numbers of which one is of another version. */
		cosid_read_barrier();
		return cosid_atomic_read(&grant->version) == version ?
			COSID_MINT_MACHINE_ID : COSID_MINT_AGAIN;
	}

	mint->last = cosid_atomic_read(cursor);
	cosid_read_barrier();
	mint->now = clock(layout->unit);

	step = cosid_step(layout, reset_threshold, mint->last,
					  mint->dry != 0 && mint->dry == mint->last,
					  mint->now, &mint->next);
	switch (step)
	{
		case COSID_STEP_OK:
			break;
		case COSID_STEP_DRY:
			mint->dry = mint->last;
			return COSID_MINT_DRY;
		case COSID_STEP_CLOCK_BACKWARDS:
			return COSID_MINT_CLOCK_BACKWARDS;
		case COSID_STEP_OVERFLOW:
			return COSID_MINT_OVERFLOW;
	}

	timestamp_ms = cosid_cursor_ms(layout, mint->next);
	if (timestamp_ms <= mint->floor)
		return COSID_MINT_FLOOR;
	if (timestamp_ms > mint->limit)
		return COSID_MINT_LIMIT;

	expected = mint->last;
	if (!cosid_atomic_cas(cursor, &expected, mint->next))
		return COSID_MINT_AGAIN;

	cosid_cas_barrier();
	if (cosid_atomic_read(&grant->version) != version)
		return COSID_MINT_AGAIN;
	return COSID_MINT_OK;
}

/* Before anyone else can see it: no grant. */
static inline void
cosid_grant_init(CosidGrant *grant)
{
	cosid_atomic_init(&grant->version, 1);
	cosid_atomic_init(&grant->machine_id, 0);
	cosid_atomic_init(&grant->floor, 0);
	cosid_atomic_init(&grant->limit, 0);
}

static inline bool
cosid_grant_stands(CosidGrant *grant)
{
	return (cosid_atomic_read(&grant->version) & 1) == 0;
}

/*
 * End the grant.  What a cursor shows after this covers every state that was
 * or will be given out under it.
 */
static inline void
cosid_grant_close(CosidGrant *grant)
{
	if (cosid_grant_stands(grant))
		cosid_atomic_write(&grant->version,
						   cosid_atomic_read(&grant->version) + 1);
	cosid_full_barrier();
}

/*
 * Begin a grant; the one before it must be closed.  The limit must be committed
 * in the registry by now.
 */
static inline void
cosid_grant_open(CosidGrant *grant, int64_t machine_id, int64_t floor,
				 int64_t limit)
{
	cosid_atomic_write(&grant->machine_id, (uint64_t) machine_id);
	cosid_atomic_write(&grant->floor, (uint64_t) floor);
	cosid_atomic_write(&grant->limit, (uint64_t) limit);
	cosid_write_barrier();
	cosid_atomic_write(&grant->version,
					   cosid_atomic_read(&grant->version) + 1);
}

/* Extend the grant to a watermark that has been committed; never lowers it. */
static inline void
cosid_grant_raise(CosidGrant *grant, int64_t limit)
{
	if (limit > (int64_t) cosid_atomic_read(&grant->limit))
		cosid_atomic_write(&grant->limit, (uint64_t) limit);
}

#endif							/* COSID_GRANT_H */

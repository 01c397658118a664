/*-------------------------------------------------------------------------
 *
 * snowflake.h
 *		The arithmetic of a snowflake ID: layout, next state, pack, unpack.
 *
 * Pure C: knows neither the executor nor shared memory, reads no clock,
 * allocates nothing and reports errors by status, so that it compiles and is
 * tested without a server.  The semantics are CosId's (AbstractSnowflakeId):
 * test/vectors/sequence.tsv has calls of that implementation, and
 * test/unit/run-vectors reproduces every one.
 *
 * What a call of cosid_next needs is inline: it costs little more than reading
 * the clock, and calls would show.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_SNOWFLAKE_H
#define COSID_SNOWFLAKE_H

#include <stdbool.h>
#include <stdint.h>

#define COSID_TOTAL_BITS			63	/* an ID is a non-negative bigint */
#define COSID_SAFE_JAVASCRIPT_BITS	53	/* Number.MAX_SAFE_INTEGER is 2^53 - 1 */
#define COSID_MAX_MACHINE_BITS		31	/* a machine id is an int4 */

#define COSID_EPOCH_MS	INT64_C(1577203200000)	/* 2019-12-24 16:00:00 UTC */

/* The latest epoch accepted, 9999-12-31 23:59:59 UTC: keeps sums in 64 bits. */
#define COSID_MAX_EPOCH_SECOND	INT64_C(253402300799)

typedef enum CosidUnit
{
	COSID_MILLISECOND,
	COSID_SECOND
} CosidUnit;

/* How an ID is packed: timestamp, machine id and sequence, from the top. */
typedef struct CosidLayout
{
	CosidUnit	unit;
	int			timestamp_bit;
	int			machine_bit;
	int			sequence_bit;
	int64_t		epoch;			/* Unix time of timestamp 0, in the unit */
} CosidLayout;

/* What cosid_layout_check found wrong. */
typedef enum CosidLayoutStatus
{
	COSID_LAYOUT_OK,
	COSID_LAYOUT_BAD_EPOCH,
	COSID_LAYOUT_BAD_TIMESTAMP_BIT,
	COSID_LAYOUT_BAD_MACHINE_BIT,
	COSID_LAYOUT_BAD_SEQUENCE_BIT,
	COSID_LAYOUT_BAD_TOTAL
} CosidLayoutStatus;

/* The outcome of one step of a generator. */
typedef enum CosidStep
{
	COSID_STEP_OK,
	COSID_STEP_DRY,				/* the sequence is used up: wait for a tick */
	COSID_STEP_CLOCK_BACKWARDS, /* the clock is behind the last timestamp */
	COSID_STEP_OVERFLOW			/* before the epoch, or no bits left for now */
} CosidStep;

/* The parts of an ID; the timestamp is relative to the epoch, in the unit. */
typedef struct CosidParts
{
	int64_t		timestamp;
	int64_t		machine_id;
	int64_t		sequence;
} CosidParts;

static inline int64_t
cosid_max_timestamp(const CosidLayout *layout)
{
	return (INT64_C(1) << layout->timestamp_bit) - 1;
}

static inline int64_t
cosid_max_machine_id(const CosidLayout *layout)
{
	return (INT64_C(1) << layout->machine_bit) - 1;
}

static inline int64_t
cosid_max_sequence(const CosidLayout *layout)
{
	return (INT64_C(1) << layout->sequence_bit) - 1;
}

static inline int
cosid_total_bits(const CosidLayout *layout)
{
	return layout->timestamp_bit + layout->machine_bit + layout->sequence_bit;
}

/* Milliseconds in one tick of the layout's unit. */
static inline int64_t
cosid_unit_ms(const CosidLayout *layout)
{
	return layout->unit == COSID_SECOND ? 1000 : 1;
}

static inline bool
cosid_layout_equal(const CosidLayout *a, const CosidLayout *b)
{
	return a->unit == b->unit && a->epoch == b->epoch &&
		a->timestamp_bit == b->timestamp_bit &&
		a->machine_bit == b->machine_bit && a->sequence_bit == b->sequence_bit;
}

/*
 * A generator's cursor is its last timestamp (relative to the epoch) and
 * sequence in one word, (timestamp << sequence_bit) | sequence, so that it can
 * be moved by one compare-and-swap.  0 is a generator that has given out
 * nothing yet: no state has timestamp 0 and sequence 0, since sequences begin
 * with 1 and only a later tick brings sequence 0.
 */
static inline uint64_t
cosid_cursor(const CosidLayout *layout, int64_t timestamp, int64_t sequence)
{
	return ((uint64_t) timestamp << layout->sequence_bit) | (uint64_t) sequence;
}

static inline int64_t
cosid_cursor_timestamp(const CosidLayout *layout, uint64_t cursor)
{
	return (int64_t) (cursor >> layout->sequence_bit);
}

/*
 * The Unix time of the cursor in milliseconds: the number that floor, limit and
 * watermark are compared with.  A second counts from its first millisecond, one
 * rule for both units.  Only for cursors that cosid_step made, whose timestamp
 * came from a clock; it does not overflow for those.
 */
static inline int64_t
cosid_cursor_ms(const CosidLayout *layout, uint64_t cursor)
{
	return (layout->epoch + cosid_cursor_timestamp(layout, cursor)) *
		cosid_unit_ms(layout);
}

/*
 * The state after `last` when the clock reads `now` (Unix time, in the layout's
 * unit).  CosId's order of checks: clock backwards, sequence reset, next
 * sequence, overflow.
 *
 * COSID_STEP_DRY says that the sequence is used up.  The caller reads the clock
 * until it moves on and calls again for the same `last` with `dry` set: the
 * state is then sequence 0 of the new tick, which no other path gives out.
 */
static inline CosidStep
cosid_step(const CosidLayout *layout, int64_t reset_threshold,
		   uint64_t last, bool dry, int64_t now, uint64_t *next)
{
	int64_t		timestamp = now - layout->epoch;
	int64_t		last_timestamp = cosid_cursor_timestamp(layout, last);
	int64_t		sequence = (int64_t) last & cosid_max_sequence(layout);

	if (timestamp < last_timestamp && last != 0)
		return COSID_STEP_CLOCK_BACKWARDS;

	if (dry)
	{
		if (timestamp == last_timestamp)
			return COSID_STEP_DRY;
		sequence = 0;
	}
	else
	{
		if (timestamp > last_timestamp && sequence >= reset_threshold)
			sequence = 0;
		sequence = (sequence + 1) & cosid_max_sequence(layout);
		if (sequence == 0)
			return COSID_STEP_DRY;
	}

	if (timestamp < 0 || timestamp > cosid_max_timestamp(layout))
		return COSID_STEP_OVERFLOW;

	*next = cosid_cursor(layout, timestamp, sequence);
	return COSID_STEP_OK;
}

/* The ID of a cursor's state.  The machine id must fit the layout's bits. */
static inline int64_t
cosid_pack(const CosidLayout *layout, uint64_t cursor, int64_t machine_id)
{
	uint64_t	timestamp = cursor >> layout->sequence_bit;
	uint64_t	sequence = cursor & (uint64_t) cosid_max_sequence(layout);

	return (int64_t) ((((timestamp << layout->machine_bit) |
						(uint64_t) machine_id) << layout->sequence_bit) | sequence);
}

extern void cosid_layout_default(CosidLayout *layout, CosidUnit unit,
								 bool safe_javascript);
extern CosidLayoutStatus cosid_layout_check(const CosidLayout *layout,
											bool safe_javascript);
extern int64_t cosid_default_reset_threshold(const CosidLayout *layout);
extern int64_t cosid_last_of_tick(const CosidLayout *layout, int64_t timestamp);
extern bool cosid_unpack(const CosidLayout *layout, int64_t id,
						 CosidParts *parts);

#endif							/* COSID_SNOWFLAKE_H */

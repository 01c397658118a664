/*-------------------------------------------------------------------------
 *
 * test_snowflake.c
 *		The arithmetic of snowflake.c, claim by claim.
 *
 * Each test is named after what it claims.  That the results are those of the
 * reference implementation is run-vectors' business; here are the edges that
 * its recorded calls do not reach, and properties of many calls.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "id/snowflake.h"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))

/* Some time after the epoch: 2026-01-01 00:00:00 UTC. */
#define NOW_SECOND	INT64_C(1767225600)
#define NOW_MS		(NOW_SECOND * 1000)

/* A fixed sequence of pseudo-random numbers (xorshift64*). */
static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

static CosidLayout
default_layout(CosidUnit unit, bool safe_javascript)
{
	CosidLayout layout;

	cosid_layout_default(&layout, unit, safe_javascript);
	return layout;
}

static CosidLayout
layout_of(int timestamp_bit, int machine_bit, int sequence_bit)
{
	CosidLayout layout = {COSID_MILLISECOND, timestamp_bit, machine_bit,
	sequence_bit, COSID_EPOCH_MS};

	return layout;
}

static uint64_t
cursor_of(const CosidLayout *layout, int64_t timestamp, int64_t sequence)
{
	return ((uint64_t) timestamp << layout->sequence_bit) | (uint64_t) sequence;
}

static int64_t
sequence_of(const CosidLayout *layout, uint64_t cursor)
{
	return (int64_t) (cursor & (uint64_t) cosid_max_sequence(layout));
}

/* One step with the layout's default threshold, which must succeed. */
static uint64_t
step_ok(const CosidLayout *layout, uint64_t last, bool dry, int64_t now)
{
	uint64_t	next = 0;

	assert_int_equal(cosid_step(layout, cosid_default_reset_threshold(layout),
								last, dry, now, &next), COSID_STEP_OK);
	return next;
}

/* One step that must not succeed, nor touch its result. */
static void
step_fails(const CosidLayout *layout, uint64_t last, bool dry, int64_t now,
		   CosidStep status)
{
	uint64_t	next = UINT64_C(0x5a5a5a5a5a5a5a5a);

	assert_int_equal(cosid_step(layout, cosid_default_reset_threshold(layout),
								last, dry, now, &next), status);
	assert_true(next == UINT64_C(0x5a5a5a5a5a5a5a5a));
}

/* Layouts ---------------------------------------------------------------- */

static void
defaults_are_those_of_the_documented_table(void **state)
{
	static const struct
	{
		CosidUnit	unit;
		bool		safe_javascript;
		CosidLayout layout;
	}			table[] = {
		{COSID_MILLISECOND, false, {COSID_MILLISECOND, 41, 10, 12, INT64_C(1577203200000)}},
		{COSID_SECOND, false, {COSID_SECOND, 31, 10, 22, INT64_C(1577203200)}},
		{COSID_MILLISECOND, true, {COSID_MILLISECOND, 41, 3, 9, INT64_C(1577203200000)}},
		{COSID_SECOND, true, {COSID_SECOND, 31, 3, 19, INT64_C(1577203200)}},
	};

	(void) state;
	for (size_t i = 0; i < lengthof(table); i++)
	{
		CosidLayout layout = default_layout(table[i].unit, table[i].safe_javascript);

		assert_true(cosid_layout_equal(&layout, &table[i].layout));
		assert_int_equal(cosid_layout_check(&layout, table[i].safe_javascript),
						 COSID_LAYOUT_OK);
		assert_int_equal(cosid_total_bits(&layout),
						 table[i].safe_javascript ? 53 : 63);
		assert_int_equal(cosid_unit_ms(&layout),
						 table[i].unit == COSID_SECOND ? 1000 : 1);
	}
}

static void
layouts_differ_if_any_field_does(void **state)
{
	CosidLayout a = default_layout(COSID_MILLISECOND, false);
	CosidLayout b = a;

	(void) state;
	assert_true(cosid_layout_equal(&a, &b));
	b.unit = COSID_SECOND;
	assert_false(cosid_layout_equal(&a, &b));
	b = a;
	b.epoch++;
	assert_false(cosid_layout_equal(&a, &b));
	b = a;
	b.timestamp_bit--;
	assert_false(cosid_layout_equal(&a, &b));
	b = a;
	b.machine_bit--;
	assert_false(cosid_layout_equal(&a, &b));
	b = a;
	b.sequence_bit--;
	assert_false(cosid_layout_equal(&a, &b));
}

static void
layout_check_accepts_extremes_and_names_the_bad_field(void **state)
{
	static const struct
	{
		int			timestamp_bit;
		int			machine_bit;
		int			sequence_bit;
		bool		safe_javascript;
		CosidLayoutStatus status;
	}			cases[] = {
		{41, 1, 21, false, COSID_LAYOUT_OK},
		{41, 21, 1, false, COSID_LAYOUT_OK},
		{31, 10, 22, false, COSID_LAYOUT_OK},
		{31, 31, 1, false, COSID_LAYOUT_OK},
		{1, 31, 31, false, COSID_LAYOUT_OK},
		{61, 1, 1, false, COSID_LAYOUT_OK},
		{1, 1, 61, false, COSID_LAYOUT_OK},
		{1, 1, 1, false, COSID_LAYOUT_OK},

		{0, 10, 12, false, COSID_LAYOUT_BAD_TIMESTAMP_BIT},
		{-1, 10, 12, false, COSID_LAYOUT_BAD_TIMESTAMP_BIT},
		{64, 10, 12, false, COSID_LAYOUT_BAD_TIMESTAMP_BIT},
		{INT32_MAX, 10, 12, false, COSID_LAYOUT_BAD_TIMESTAMP_BIT},
		{INT32_MIN, 10, 12, false, COSID_LAYOUT_BAD_TIMESTAMP_BIT},
		{41, 0, 12, false, COSID_LAYOUT_BAD_MACHINE_BIT},
		{41, -1, 12, false, COSID_LAYOUT_BAD_MACHINE_BIT},
		{1, 32, 1, false, COSID_LAYOUT_BAD_MACHINE_BIT},
		{41, INT32_MAX, 12, false, COSID_LAYOUT_BAD_MACHINE_BIT},
		{62, 1, 0, false, COSID_LAYOUT_BAD_SEQUENCE_BIT},
		{41, 10, -1, false, COSID_LAYOUT_BAD_SEQUENCE_BIT},
		{41, 10, 64, false, COSID_LAYOUT_BAD_SEQUENCE_BIT},
		{41, 10, INT32_MAX, false, COSID_LAYOUT_BAD_SEQUENCE_BIT},
		{42, 10, 12, false, COSID_LAYOUT_BAD_TOTAL},
		{41, 11, 12, false, COSID_LAYOUT_BAD_TOTAL},
		{41, 10, 13, false, COSID_LAYOUT_BAD_TOTAL},
		{63, 1, 1, false, COSID_LAYOUT_BAD_TOTAL},
		{63, 31, 63, false, COSID_LAYOUT_BAD_TOTAL},

		{41, 3, 9, true, COSID_LAYOUT_OK},
		{31, 3, 19, true, COSID_LAYOUT_OK},
		{41, 11, 1, true, COSID_LAYOUT_OK},
		{41, 3, 10, true, COSID_LAYOUT_BAD_TOTAL},
		{41, 10, 12, true, COSID_LAYOUT_BAD_TOTAL},
		{52, 1, 0, true, COSID_LAYOUT_BAD_SEQUENCE_BIT},
	};

	(void) state;
	for (size_t i = 0; i < lengthof(cases); i++)
	{
		CosidLayout layout = layout_of(cases[i].timestamp_bit,
									   cases[i].machine_bit,
									   cases[i].sequence_bit);

		assert_int_equal(cosid_layout_check(&layout, cases[i].safe_javascript),
						 cases[i].status);
	}
}

static void
epoch_is_bounded_by_1970_and_9999_in_both_units(void **state)
{
	const int64_t max_second = INT64_C(253402300799);
	const struct
	{
		CosidUnit	unit;
		int64_t		epoch;
		bool		ok;
	}			cases[] = {
		{COSID_MILLISECOND, 0, true},
		{COSID_MILLISECOND, -1, false},
		{COSID_MILLISECOND, INT64_MIN, false},
		{COSID_MILLISECOND, max_second * 1000 + 999, true},
		{COSID_MILLISECOND, max_second * 1000 + 1000, false},
		{COSID_MILLISECOND, INT64_MAX, false},
		{COSID_SECOND, 0, true},
		{COSID_SECOND, -1, false},
		{COSID_SECOND, INT64_MIN, false},
		{COSID_SECOND, max_second, true},
		{COSID_SECOND, max_second + 1, false},
		{COSID_SECOND, INT64_MAX, false},
	};

	(void) state;
	for (size_t i = 0; i < lengthof(cases); i++)
	{
		CosidLayout layout = default_layout(cases[i].unit, false);

		layout.epoch = cases[i].epoch;
		assert_int_equal(cosid_layout_check(&layout, false),
						 cases[i].ok ? COSID_LAYOUT_OK : COSID_LAYOUT_BAD_EPOCH);
	}
}

static void
default_reset_threshold_is_half_of_the_sequence(void **state)
{
	static const struct
	{
		int			sequence_bit;
		int64_t		threshold;
	}			cases[] = {
		{1, 0},
		{2, 1},
		{9, 255},
		{12, 2047},
		{22, 2097151},
		{61, INT64_C(1152921504606846975)},
	};

	(void) state;
	for (size_t i = 0; i < lengthof(cases); i++)
	{
		CosidLayout layout = layout_of(1, 1, cases[i].sequence_bit);

		assert_int_equal(cosid_default_reset_threshold(&layout),
						 cases[i].threshold);
	}
}

/* Steps ------------------------------------------------------------------ */

static void
a_fresh_generator_begins_with_sequence_1(void **state)
{
	static const bool safe[] = {false, true};

	(void) state;
	for (size_t i = 0; i < lengthof(safe); i++)
	{
		CosidLayout ms = default_layout(COSID_MILLISECOND, safe[i]);
		CosidLayout second = default_layout(COSID_SECOND, safe[i]);

		assert_true(step_ok(&ms, 0, false, NOW_MS) ==
					cursor_of(&ms, NOW_MS - ms.epoch, 1));
		assert_true(step_ok(&second, 0, false, NOW_SECOND) ==
					cursor_of(&second, NOW_SECOND - second.epoch, 1));
	}
}

static void
a_fresh_generator_begins_with_sequence_1_in_the_epochs_own_tick(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	uint64_t	cursor;

	(void) state;
	cursor = step_ok(&layout, 0, false, layout.epoch);
	assert_true(cursor == 1);
	cursor = step_ok(&layout, cursor, false, layout.epoch);
	assert_true(cursor == 2);
}

static void
a_fresh_generator_with_threshold_0_begins_with_sequence_1(void **state)
{
	CosidLayout layout = layout_of(41, 10, 1);
	uint64_t	next = 0;

	(void) state;
	assert_int_equal(cosid_step(&layout, 0, 0, false, NOW_MS, &next),
					 COSID_STEP_OK);
	assert_true(next == cursor_of(&layout, NOW_MS - layout.epoch, 1));
}

static void
the_sequence_counts_within_a_tick(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	uint64_t	cursor = step_ok(&layout, 0, false, NOW_MS);

	(void) state;
	for (int64_t sequence = 2; sequence <= 4095; sequence++)
	{
		cursor = step_ok(&layout, cursor, false, NOW_MS);
		assert_true(cursor == cursor_of(&layout, NOW_MS - layout.epoch, sequence));
	}
}

static void
a_later_tick_resets_the_sequence_from_the_threshold_on(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	int64_t		now = NOW_MS - layout.epoch;

	(void) state;
	/* Below it the sequence goes on ... */
	assert_true(step_ok(&layout, cursor_of(&layout, now, 2046), false, NOW_MS + 1) ==
				cursor_of(&layout, now + 1, 2047));
	/* ... from it on it starts over, with 1 ... */
	assert_true(step_ok(&layout, cursor_of(&layout, now, 2047), false, NOW_MS + 1) ==
				cursor_of(&layout, now + 1, 1));
	assert_true(step_ok(&layout, cursor_of(&layout, now, 4095), false, NOW_MS + 1) ==
				cursor_of(&layout, now + 1, 1));
	/* ... but never within a tick. */
	assert_true(step_ok(&layout, cursor_of(&layout, now, 2047), false, NOW_MS) ==
				cursor_of(&layout, now, 2048));
}

static void
the_threshold_may_be_anything_from_0_to_beyond_the_sequence(void **state)
{
	CosidLayout layout = layout_of(41, 10, 4);
	int64_t		now = NOW_MS - layout.epoch;
	uint64_t	next = 0;

	(void) state;
	/* 0: each tick starts over. */
	assert_int_equal(cosid_step(&layout, 0, cursor_of(&layout, now, 1), false,
								NOW_MS + 1, &next), COSID_STEP_OK);
	assert_true(next == cursor_of(&layout, now + 1, 1));

	/* Out of reach: a used up sequence has to wait, in a later tick too. */
	assert_int_equal(cosid_step(&layout, 16, cursor_of(&layout, now, 15), false,
								NOW_MS + 1, &next), COSID_STEP_DRY);
	assert_int_equal(cosid_step(&layout, 16, cursor_of(&layout, now, 15), true,
								NOW_MS + 1, &next), COSID_STEP_OK);
	assert_true(next == cursor_of(&layout, now + 1, 0));
}

/* `count` IDs, `gap_ms` apart: how often each remainder of 16 comes up. */
static void
count_remainders(int64_t gap_ms, int count, int *buckets)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	int64_t		now = NOW_MS;
	uint64_t	cursor = 0;

	for (int i = 0; i < 16; i++)
		buckets[i] = 0;
	for (int i = 0; i < count; i++)
	{
		cursor = step_ok(&layout, cursor, false, now);
		buckets[cosid_pack(&layout, cursor, 315) % 16]++;
		now += gap_ms;
	}
}

static void
a_quiet_generator_keeps_counting_across_ticks(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	uint64_t	cursor = 0;

	(void) state;
	for (int64_t i = 1; i <= 2047; i++)
	{
		cursor = step_ok(&layout, cursor, false, NOW_MS + i * 7);
		assert_int_equal(sequence_of(&layout, cursor), i);
	}
	cursor = step_ok(&layout, cursor, false, NOW_MS + 2048 * 7);
	assert_int_equal(sequence_of(&layout, cursor), 1);
}

static void
ids_of_a_quiet_generator_spread_evenly_over_16_shards(void **state)
{
	static const int64_t gaps_ms[] = {1, 3, 7, 1000};

	(void) state;
	for (size_t i = 0; i < lengthof(gaps_ms); i++)
	{
		int			buckets[16];
		int			least;
		int			most;

		count_remainders(gaps_ms[i], 20000, buckets);
		least = most = buckets[0];
		for (int j = 1; j < 16; j++)
		{
			if (buckets[j] < least)
				least = buckets[j];
			if (buckets[j] > most)
				most = buckets[j];
		}
		/* Of 1250 in each, the ten resets take one from the remainder 0. */
		assert_true(least > 0);
		assert_true(most * 100 <= least * 102);
	}
}

static void
a_used_up_sequence_is_dry_until_the_clock_moves_on(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	int64_t		now = NOW_MS - layout.epoch;
	uint64_t	last = cursor_of(&layout, now, 4095);

	(void) state;
	step_fails(&layout, last, false, NOW_MS, COSID_STEP_DRY);
	step_fails(&layout, last, true, NOW_MS, COSID_STEP_DRY);
	step_fails(&layout, last, true, NOW_MS, COSID_STEP_DRY);
	assert_true(step_ok(&layout, last, true, NOW_MS + 1) ==
				cursor_of(&layout, now + 1, 0));
	assert_true(step_ok(&layout, last, true, NOW_MS + 1000) ==
				cursor_of(&layout, now + 1000, 0));
}

static void
only_a_dry_cursor_is_followed_by_sequence_0(void **state)
{
	/* Every cursor of a small layout, every threshold, the same and later ticks. */
	CosidLayout layout = layout_of(41, 10, 3);
	int64_t		now = NOW_MS - layout.epoch;

	(void) state;
	for (int64_t threshold = 0; threshold <= 8; threshold++)
	{
		for (int64_t sequence = 0; sequence <= 7; sequence++)
		{
			for (int64_t later = 0; later <= 2; later++)
			{
				uint64_t	last = cursor_of(&layout, now, sequence);
				uint64_t	next = 0;

				if (cosid_step(&layout, threshold, last, false, NOW_MS + later,
							   &next) == COSID_STEP_OK)
					assert_int_not_equal(sequence_of(&layout, next), 0);
				if (cosid_step(&layout, threshold, last, true, NOW_MS + later,
							   &next) == COSID_STEP_OK)
				{
					assert_int_equal(sequence_of(&layout, next), 0);
					assert_true(later > 0);
				}
			}
		}
	}
}

static void
a_clock_that_goes_back_during_a_dry_wait_is_clock_backwards(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	uint64_t	last = cursor_of(&layout, NOW_MS - layout.epoch, 4095);

	(void) state;
	step_fails(&layout, last, true, NOW_MS - 1, COSID_STEP_CLOCK_BACKWARDS);
}

static void
a_saturated_tick_gives_out_exactly_4096_ids(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	int64_t		threshold = cosid_default_reset_threshold(&layout);
	int64_t		now = NOW_MS;
	uint64_t	cursor = 0;
	int			ids[6] = {0};

	(void) state;
	for (int tick = 0; tick < 6; tick++)
	{
		bool		dry = tick > 0;

		for (;;)
		{
			uint64_t	next = 0;
			CosidStep	step = cosid_step(&layout, threshold, cursor, dry, now,
										  &next);

			if (step == COSID_STEP_DRY)
				break;
			assert_int_equal(step, COSID_STEP_OK);
			assert_true(next > cursor);
			assert_int_equal(layout.epoch + cosid_cursor_timestamp(&layout, next),
							 now);
			cursor = next;
			dry = false;
			ids[tick]++;
		}
		now++;
	}

	/* The first tick has no sequence 0: the generator was fresh. */
	assert_int_equal(ids[0], 4095);
	for (int tick = 1; tick < 6; tick++)
		assert_int_equal(ids[tick], 4096);
}

static void
a_clock_behind_the_last_timestamp_is_clock_backwards(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	uint64_t	last = cursor_of(&layout, NOW_MS - layout.epoch, 17);

	(void) state;
	step_fails(&layout, last, false, NOW_MS - 1, COSID_STEP_CLOCK_BACKWARDS);
	step_fails(&layout, last, false, 0, COSID_STEP_CLOCK_BACKWARDS);
	/* Also where the clock is before the epoch: what went wrong came first. */
	step_fails(&layout, last, false, layout.epoch - 1, COSID_STEP_CLOCK_BACKWARDS);
	step_fails(&layout, 1, false, layout.epoch - 1, COSID_STEP_CLOCK_BACKWARDS);
	assert_true(step_ok(&layout, last, false, NOW_MS) ==
				cursor_of(&layout, NOW_MS - layout.epoch, 18));
}

static void
a_clock_before_the_epoch_overflows(void **state)
{
	CosidLayout ms = default_layout(COSID_MILLISECOND, false);
	CosidLayout second = default_layout(COSID_SECOND, false);

	(void) state;
	step_fails(&ms, 0, false, ms.epoch - 1, COSID_STEP_OVERFLOW);
	step_fails(&ms, 0, false, 0, COSID_STEP_OVERFLOW);
	step_fails(&second, 0, false, second.epoch - 1, COSID_STEP_OVERFLOW);
	assert_true(step_ok(&second, 0, false, second.epoch) == 1);
}

static void
a_clock_past_the_timestamp_bits_overflows(void **state)
{
	CosidLayout layouts[] = {
		default_layout(COSID_MILLISECOND, false),
		default_layout(COSID_SECOND, false),
		default_layout(COSID_MILLISECOND, true),
		layout_of(1, 1, 61),
		layout_of(61, 1, 1),
	};

	(void) state;
	for (size_t i = 0; i < lengthof(layouts); i++)
	{
		const CosidLayout *layout = &layouts[i];
		int64_t		max_timestamp = cosid_max_timestamp(layout);
		int64_t		end = layout->epoch + max_timestamp;
		uint64_t	last = cursor_of(layout, max_timestamp, cosid_max_sequence(layout));

		assert_true(step_ok(layout, 0, false, end) ==
					cursor_of(layout, max_timestamp, 1));
		step_fails(layout, 0, false, end + 1, COSID_STEP_OVERFLOW);
		/* The very last ID is followed by none. */
		step_fails(layout, last, false, end, COSID_STEP_DRY);
		step_fails(layout, last, true, end, COSID_STEP_DRY);
		step_fails(layout, last, true, end + 1, COSID_STEP_OVERFLOW);
	}
}

static void
cursors_strictly_increase_under_any_clock(void **state)
{
	static const struct
	{
		int			timestamp_bit;
		int			machine_bit;
		int			sequence_bit;
	}			shapes[] = {
		{41, 10, 12}, {41, 3, 9}, {31, 10, 22}, {41, 21, 1}, {41, 10, 2},
		{20, 10, 3}, {38, 4, 2}, {61, 1, 1},
	};
	uint64_t	random = UINT64_C(20191224);

	(void) state;
	for (size_t i = 0; i < lengthof(shapes); i++)
	{
		CosidLayout layout = layout_of(shapes[i].timestamp_bit,
									   shapes[i].machine_bit,
									   shapes[i].sequence_bit);
		int64_t		threshold = (int64_t) (next_random(&random) %
										   ((uint64_t) cosid_max_sequence(&layout) + 2));
		int64_t		machine_id = (int64_t) (next_random(&random) %
											((uint64_t) cosid_max_machine_id(&layout) + 1));
		int64_t		now = layout.epoch;
		uint64_t	cursor = 0;
		uint64_t	dry = 0;
		int64_t		last_id = -1;
		int			minted = 0;

		for (int call = 0; call < 50000; call++)
		{
			uint64_t	roll = next_random(&random) % 100;
			uint64_t	next = 0;
			CosidStep	step;

			/* A clock that mostly stands, often ticks, sometimes jumps. */
			if (roll < 25)
				now += 1 + (int64_t) (next_random(&random) % 3);
			else if (roll < 28)
				now -= (int64_t) (next_random(&random) % 5);
			else if (roll < 29)
				now += (int64_t) (next_random(&random) % 50);

			step = cosid_step(&layout, threshold, cursor,
							  dry != 0 && dry == cursor, now, &next);
			switch (step)
			{
				case COSID_STEP_OK:
					{
						int64_t		id = cosid_pack(&layout, next, machine_id);

						assert_true(next > cursor);
						assert_true(id > last_id);
						assert_int_equal(layout.epoch +
										 cosid_cursor_timestamp(&layout, next), now);
						cursor = next;
						last_id = id;
						minted++;
						break;
					}
				case COSID_STEP_DRY:
					assert_int_equal(sequence_of(&layout, cursor),
									 cosid_max_sequence(&layout));
					dry = cursor;
					break;
				case COSID_STEP_CLOCK_BACKWARDS:
					assert_true(now < layout.epoch +
								cosid_cursor_timestamp(&layout, cursor));
					break;
				case COSID_STEP_OVERFLOW:
					assert_true(now < layout.epoch ||
								now - layout.epoch > cosid_max_timestamp(&layout));
					break;
			}
		}
		assert_true(minted > 10000);
	}
}

/* IDs -------------------------------------------------------------------- */

static void
assert_round_trip(const CosidLayout *layout, int64_t timestamp,
				  int64_t machine_id, int64_t sequence)
{
	int64_t		id = cosid_pack(layout, cursor_of(layout, timestamp, sequence),
								machine_id);
	CosidParts	parts = {-1, -1, -1};

	assert_true(id >= 0);
	assert_true(cosid_unpack(layout, id, &parts));
	assert_int_equal(parts.timestamp, timestamp);
	assert_int_equal(parts.machine_id, machine_id);
	assert_int_equal(parts.sequence, sequence);
}

static void
pack_and_unpack_agree_on_every_shape_of_layout(void **state)
{
	uint64_t	random = UINT64_C(1577203200000);
	long		layouts = 0;

	(void) state;
	for (int timestamp_bit = 1; timestamp_bit <= 61; timestamp_bit++)
	{
		for (int machine_bit = 1; machine_bit <= 31; machine_bit++)
		{
			for (int sequence_bit = 1;
				 timestamp_bit + machine_bit + sequence_bit <= 63; sequence_bit++)
			{
				CosidLayout layout = layout_of(timestamp_bit, machine_bit,
											   sequence_bit);
				int64_t		t = cosid_max_timestamp(&layout);
				int64_t		m = cosid_max_machine_id(&layout);
				int64_t		s = cosid_max_sequence(&layout);

				assert_round_trip(&layout, 0, 0, 0);
				assert_round_trip(&layout, t, 0, 0);
				assert_round_trip(&layout, 0, m, 0);
				assert_round_trip(&layout, 0, 0, s);
				assert_round_trip(&layout, t, m, s);
				assert_round_trip(&layout,
								  (int64_t) next_random(&random) & t,
								  (int64_t) next_random(&random) & m,
								  (int64_t) next_random(&random) & s);
				layouts++;
			}
		}
	}
	assert_true(layouts > 20000);
}

static void
the_largest_id_uses_all_bits(void **state)
{
	CosidLayout ms = default_layout(COSID_MILLISECOND, false);
	CosidLayout safe = default_layout(COSID_MILLISECOND, true);

	(void) state;
	assert_int_equal(cosid_pack(&ms, cursor_of(&ms, cosid_max_timestamp(&ms), 4095), 1023),
					 INT64_MAX);
	assert_int_equal(cosid_pack(&safe, cursor_of(&safe, cosid_max_timestamp(&safe), 511), 7),
					 INT64_C(9007199254740991));
}

static void
unpack_takes_known_ids_apart(void **state)
{
	CosidLayout layout = default_layout(COSID_MILLISECOND, false);
	CosidParts	parts;

	(void) state;
	assert_true(cosid_unpack(&layout, INT64_C(4336924950302797828), &parts));
	assert_int_equal(layout.epoch + parts.timestamp, INT64_C(2611206684321));
	assert_int_equal(parts.machine_id, 315);
	assert_int_equal(parts.sequence, 4);
}

static void
unpack_refuses_what_is_no_id_of_the_layout(void **state)
{
	CosidLayout ms = default_layout(COSID_MILLISECOND, false);
	CosidLayout safe = default_layout(COSID_MILLISECOND, true);
	CosidLayout tiny = layout_of(1, 1, 1);
	CosidParts	parts;

	(void) state;
	assert_false(cosid_unpack(&ms, -1, &parts));
	assert_false(cosid_unpack(&ms, INT64_MIN, &parts));
	assert_true(cosid_unpack(&ms, 0, &parts));
	assert_true(cosid_unpack(&ms, INT64_MAX, &parts));

	assert_false(cosid_unpack(&safe, -1, &parts));
	assert_true(cosid_unpack(&safe, (INT64_C(1) << 53) - 1, &parts));
	assert_false(cosid_unpack(&safe, INT64_C(1) << 53, &parts));
	assert_false(cosid_unpack(&safe, INT64_MAX, &parts));

	assert_true(cosid_unpack(&tiny, 7, &parts));
	assert_false(cosid_unpack(&tiny, 8, &parts));
}

static void
cursor_ms_is_the_first_millisecond_of_the_tick_in_both_units(void **state)
{
	CosidLayout ms = default_layout(COSID_MILLISECOND, false);
	CosidLayout second = default_layout(COSID_SECOND, false);
	uint64_t	cursor;

	(void) state;
	cursor = step_ok(&ms, 0, false, NOW_MS + 123);
	assert_int_equal(cosid_cursor_ms(&ms, cursor), NOW_MS + 123);
	cursor = step_ok(&second, 0, false, NOW_SECOND + 5);
	assert_int_equal(cosid_cursor_ms(&second, cursor), (NOW_SECOND + 5) * 1000);

	assert_int_equal(cosid_cursor_ms(&ms, 1), COSID_EPOCH_MS);
	assert_int_equal(cosid_cursor_ms(&second, 1), COSID_EPOCH_MS);
	cursor = cursor_of(&second, cosid_max_timestamp(&second),
					   cosid_max_sequence(&second));
	assert_int_equal(cosid_cursor_ms(&second, cursor),
					 (INT64_C(1577203200) + INT64_C(2147483647)) * 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_the_documented_table),
		cmocka_unit_test(layouts_differ_if_any_field_does),
		cmocka_unit_test(layout_check_accepts_extremes_and_names_the_bad_field),
		cmocka_unit_test(epoch_is_bounded_by_1970_and_9999_in_both_units),
		cmocka_unit_test(default_reset_threshold_is_half_of_the_sequence),
		cmocka_unit_test(a_fresh_generator_begins_with_sequence_1),
		cmocka_unit_test(a_fresh_generator_begins_with_sequence_1_in_the_epochs_own_tick),
		cmocka_unit_test(a_fresh_generator_with_threshold_0_begins_with_sequence_1),
		cmocka_unit_test(the_sequence_counts_within_a_tick),
		cmocka_unit_test(a_later_tick_resets_the_sequence_from_the_threshold_on),
		cmocka_unit_test(the_threshold_may_be_anything_from_0_to_beyond_the_sequence),
		cmocka_unit_test(a_quiet_generator_keeps_counting_across_ticks),
		cmocka_unit_test(ids_of_a_quiet_generator_spread_evenly_over_16_shards),
		cmocka_unit_test(a_used_up_sequence_is_dry_until_the_clock_moves_on),
		cmocka_unit_test(only_a_dry_cursor_is_followed_by_sequence_0),
		cmocka_unit_test(a_clock_that_goes_back_during_a_dry_wait_is_clock_backwards),
		cmocka_unit_test(a_saturated_tick_gives_out_exactly_4096_ids),
		cmocka_unit_test(a_clock_behind_the_last_timestamp_is_clock_backwards),
		cmocka_unit_test(a_clock_before_the_epoch_overflows),
		cmocka_unit_test(a_clock_past_the_timestamp_bits_overflows),
		cmocka_unit_test(cursors_strictly_increase_under_any_clock),
		cmocka_unit_test(pack_and_unpack_agree_on_every_shape_of_layout),
		cmocka_unit_test(the_largest_id_uses_all_bits),
		cmocka_unit_test(unpack_takes_known_ids_apart),
		cmocka_unit_test(unpack_refuses_what_is_no_id_of_the_layout),
		cmocka_unit_test(cursor_ms_is_the_first_millisecond_of_the_tick_in_both_units),
	};

	return cmocka_run_group_tests_name("snowflake", tests, NULL, NULL);
}

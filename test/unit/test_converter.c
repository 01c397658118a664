/*-------------------------------------------------------------------------
 *
 * test_converter.c
 *		The converters of converter.c and friendly.c, claim by claim.
 *
 * Each test is named after what it claims.  That the strings are those of the
 * reference implementation is run-vectors' business; here are round trips over
 * layouts, time zones and IDs that the vectors do not have, each status, and
 * the ends of buffers.
 *
 * The time zones are made up: rules that are simple enough for a test to find
 * every reading of a local time by itself.
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
#include <string.h>

#include <cmocka.h>

#include "id/converter.h"
#include "id/radix.h"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))

#define HOUR	INT64_C(3600)
#define DAY		(24 * HOUR)

/* 2026-01-01 00:00:00 UTC. */
#define NOW_SECOND	INT64_C(1767225600)

#define SENTINEL	'\xa5'

/* A fixed sequence of pseudo-random numbers (xorshift64*). */
static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/*
 * Time zones with at most two offsets: before and after one change, or in turn
 * for a time (daylight saving).
 */
typedef struct Rule
{
	const char *name;
	int64_t		offset;
	int64_t		other;			/* the same: a fixed zone */
	int64_t		period;			/* seconds between changes; 0: one, at change */
	int64_t		change;
} Rule;

static const Rule rules[] = {
	{"UTC", 0, 0, 0, 0},
	{"the first to see a day", 14 * HOUR, 14 * HOUR, 0, 0},
	{"the last to see a day", -12 * HOUR, -12 * HOUR, 0, 0},
	{"45 minutes", 12 * HOUR + 2700, 12 * HOUR + 2700, 0, 0},
	{"local mean time", -17762, -17762, 0, 0},
	{"mean time until the epoch", 30472, 28800, 0, NOW_SECOND},
	{"daylight saving, west", -5 * HOUR, -4 * HOUR, 182 * DAY + 7 * HOUR, 0},
	{"daylight saving, east", 13 * HOUR, 14 * HOUR, 182 * DAY - 11 * HOUR, 0},
	{"half an hour", 10 * HOUR + 1800, 11 * HOUR, 182 * DAY + 1, 0},
	{"two hours", HOUR, 3 * HOUR, 91 * DAY, 0},
	{"every four days", 0, HOUR, 4 * DAY, 0},
	{"a day skipped at the date line", -10 * HOUR, 14 * HOUR, 0, NOW_SECOND},
	{"a day repeated at the date line", 14 * HOUR, -10 * HOUR, 0, NOW_SECOND},
};

static int64_t
rule_offset(int64_t unix_second, void *context)
{
	const Rule *rule = context;

	if (rule->period != 0)
		return unix_second / rule->period % 2 != 0 ? rule->other : rule->offset;
	return unix_second >= rule->change ? rule->other : rule->offset;
}

static CosidZone
zone_of(const Rule *rule)
{
	return (CosidZone) {rule_offset, (void *) rule};
}

static const Rule *
rule_named(const char *name)
{
	for (size_t i = 0; i < lengthof(rules); i++)
	{
		if (strcmp(rules[i].name, name) == 0)
			return &rules[i];
	}
	fail_msg("no rule %s", name);
	return NULL;
}

/* The earliest Unix time that is this local time. */
static int64_t
first_reading(const Rule *rule, int64_t local_second)
{
	int64_t		readings[] = {local_second - rule->offset, local_second - rule->other};
	int64_t		first = INT64_MAX;

	for (int i = 0; i < 2; i++)
	{
		if (readings[i] < first &&
			readings[i] + rule_offset(readings[i], (void *) rule) == local_second)
			first = readings[i];
	}
	return first;
}

static const CosidLayout layouts[] = {
	{COSID_MILLISECOND, 41, 10, 12, COSID_EPOCH_MS},
	{COSID_SECOND, 31, 10, 22, COSID_EPOCH_MS / 1000},
	{COSID_MILLISECOND, 41, 3, 9, COSID_EPOCH_MS},
	{COSID_SECOND, 31, 3, 19, COSID_EPOCH_MS / 1000},
	{COSID_MILLISECOND, 41, 10, 12, 0},
	{COSID_SECOND, 31, 31, 1, 0},
	{COSID_MILLISECOND, 61, 1, 1, 0},
	{COSID_SECOND, 61, 1, 1, 0},
	{COSID_MILLISECOND, 40, 1, 1, COSID_EPOCH_MS},
	{COSID_MILLISECOND, 1, 31, 31, COSID_MAX_EPOCH_SECOND * 1000},
	{COSID_SECOND, 1, 1, 61, COSID_MAX_EPOCH_SECOND},
	{COSID_SECOND, 1, 1, 1, 0},
};

static const CosidLayout *const default_layout = &layouts[0];
static const CosidLayout *const second_layout = &layouts[1];
static const CosidLayout *const far_layout = &layouts[6];	/* 61 bits from 1970 on */

/* A pseudo-random ID of a layout, of any number of bits. */
static int64_t
random_id(const CosidLayout *layout, uint64_t *state)
{
	int			bits = cosid_total_bits(layout);

	return (int64_t) ((next_random(state) >> (64 - bits)) >> (next_random(state) % bits));
}

static int64_t
id_at(const CosidLayout *layout, int64_t unix_second, int64_t machine_id, int64_t sequence)
{
	int64_t		tick = unix_second * (1000 / cosid_unit_ms(layout));

	return cosid_pack(layout, cosid_cursor(layout, tick - layout->epoch, sequence), machine_id);
}

static CosidConverter
converter_of(CosidConverterKind kind, bool pad_start)
{
	CosidConverter converter = {
		.kind = kind,.pad_start = pad_start,.char_size = cosid_default_char_size(kind)
	};

	return converter;
}

/* Read a text through a copy that ends where the text does, as SQL's do. */
static CosidTextStatus
read_text(const CosidConverter *converter, const CosidLayout *layout,
		  const Rule *rule, const char *text, int64_t *id)
{
	CosidZone	zone = zone_of(rule);
	size_t		length = strlen(text);
	char	   *copy = test_malloc(length + 1);
	CosidTextStatus status;

	memcpy(copy, text, length);
	copy[length] = '7';			/* a digit: reading on would show */
	status = cosid_converter_read(converter, layout, &zone, copy, length, id);
	test_free(copy);
	return status;
}

static CosidTextStatus
status_of(CosidConverterKind kind, const CosidLayout *layout, const char *text)
{
	CosidConverter converter = converter_of(kind, true);
	int64_t		id = 0;

	return read_text(&converter, layout, &rules[0], text, &id);
}

static CosidTextStatus
friendly_status(const CosidLayout *layout, const char *text)
{
	return status_of(COSID_SNOWFLAKE_FRIENDLY, layout, text);
}

/* Write an ID, and check that no byte behind the buffer is touched. */
static CosidTextStatus
write_text(const CosidConverter *converter, const CosidLayout *layout,
		   const Rule *rule, int64_t id, char *text)
{
	CosidZone	zone = zone_of(rule);
	char		buffer[COSID_TEXT_SIZE + 64];
	CosidTextStatus status;

	memset(buffer, SENTINEL, sizeof(buffer));
	status = cosid_converter_write(converter, layout, &zone, id, buffer);
	for (size_t i = COSID_TEXT_SIZE; i < sizeof(buffer); i++)
		assert_int_equal(buffer[i], SENTINEL);
	if (status == COSID_TEXT_OK)
	{
		assert_true(memchr(buffer, '\0', COSID_TEXT_SIZE) != NULL);
		strcpy(text, buffer);
	}
	return status;
}

static void
check_friendly_round_trip(const CosidLayout *layout, const Rule *rule, bool pad, int64_t id)
{
	CosidConverter converter = converter_of(COSID_SNOWFLAKE_FRIENDLY, pad);
	int64_t		per_second = 1000 / cosid_unit_ms(layout);
	CosidParts	parts;
	int64_t		tick,
				second,
				first_tick,
				read = -1;
	char		text[COSID_TEXT_SIZE];
	CosidTextStatus status;

	assert_true(cosid_unpack(layout, id, &parts));
	tick = layout->epoch + parts.timestamp;
	second = tick / per_second;
	if (second > COSID_MAX_FRIENDLY_SECOND)
	{
		assert_int_equal(write_text(&converter, layout, rule, id, text), COSID_TEXT_TOO_LATE);
		return;
	}
	assert_int_equal(write_text(&converter, layout, rule, id, text), COSID_TEXT_OK);

	first_tick = first_reading(rule, second + rule_offset(second, (void *) rule)) * per_second +
		tick % per_second;
	status = read_text(&converter, layout, rule, text, &read);
	if (first_tick < layout->epoch)
	{
		assert_int_equal(status, COSID_TEXT_LAYOUT);
		return;
	}
	assert_int_equal(status, COSID_TEXT_OK);
	if (read != cosid_pack(layout, cosid_cursor(layout, first_tick - layout->epoch, parts.sequence),
						   parts.machine_id))
		fail_msg("%s in zone \"%s\" is read as another ID", text, rule->name);
	assert_true(first_tick <= tick);
}

static void
friendly_ids_come_back_in_every_layout_and_zone(void **state)
{
	uint64_t	random = 20191224;

	(void) state;
	for (size_t l = 0; l < lengthof(layouts); l++)
	{
		for (size_t r = 0; r < lengthof(rules); r++)
		{
			for (int i = 0; i < 2000; i++)
				check_friendly_round_trip(&layouts[l], &rules[r], i % 2 != 0,
										  random_id(&layouts[l], &random));
		}
	}
}

/* Every ten minutes and a second of three days around each of 100 changes. */
static void
friendly_ids_come_back_around_every_change_of_offset(void **state)
{
	(void) state;
	for (size_t r = 0; r < lengthof(rules); r++)
	{
		for (int n = 0; n < 100; n++)
		{
			int64_t		change = rules[r].change;

			if (rules[r].period != 0)
				change = (NOW_SECOND / rules[r].period + n) * rules[r].period;
			else if (n > 0)
				break;
			for (int64_t second = change - 36 * HOUR; second < change + 36 * HOUR; second += 601)
			{
				if (second < COSID_EPOCH_MS / 1000 + DAY)
					continue;
				check_friendly_round_trip(default_layout, &rules[r], true,
										  id_at(default_layout, second, 1023, 4095));
				check_friendly_round_trip(second_layout, &rules[r], false,
										  id_at(second_layout, second, 7, 0));
			}
			check_friendly_round_trip(far_layout, &rules[r], true, id_at(far_layout, change, 0, 0));
		}
	}
}

static void
radix_and_decimal_ids_come_back(void **state)
{
	static const char *const affixes[][2] = {{"", ""}, {"ord-", "-x"}, {"0", "0"}, {"z", ""}};
	uint64_t	random = 1577203200;
	char		text[COSID_TEXT_SIZE];

	(void) state;
	for (int kind = COSID_RADIX; kind <= COSID_TO_STRING; kind++)
	{
		for (int i = 0; i < 40000; i++)
		{
			CosidConverter converter = converter_of(kind, i % 2 != 0);
			int64_t		id = i < 4 ? (i < 2 ? 0 : INT64_MAX) : random_id(default_layout, &random);
			int64_t		read = -1;

			strcpy(converter.prefix, affixes[i / 2 % 4][0]);
			strcpy(converter.suffix, affixes[i / 2 % 4][1]);
			assert_int_equal(write_text(&converter, NULL, NULL, id, text), COSID_TEXT_OK);
			assert_int_equal(read_text(&converter, NULL, NULL, text, &read), COSID_TEXT_OK);
			assert_int_equal(read, id);
		}
	}
}

static void
padded_texts_have_one_length_and_sort_as_ids(void **state)
{
	static const int lengths[] = {[COSID_RADIX] = 11,[COSID_RADIX36] = 13,[COSID_TO_STRING] = 19};
	uint64_t	random = 63;

	(void) state;
	for (int kind = COSID_RADIX; kind <= COSID_TO_STRING; kind++)
	{
		CosidConverter converter = converter_of(kind, true);

		for (int i = 0; i < 20000; i++)
		{
			int64_t		ids[2] = {random_id(default_layout, &random), 0};
			char		texts[2][COSID_TEXT_SIZE];
			int			order;

			ids[1] = i % 2 != 0 ? ids[0] ^ 1 : random_id(default_layout, &random);
			for (int t = 0; t < 2; t++)
			{
				assert_int_equal(write_text(&converter, NULL, NULL, ids[t], texts[t]), COSID_TEXT_OK);
				assert_int_equal(strlen(texts[t]), lengths[kind]);
			}
			order = strcmp(texts[0], texts[1]);
			assert_int_equal((order > 0) - (order < 0), (ids[0] > ids[1]) - (ids[0] < ids[1]));
		}
	}
}

static void
pad_start_widens_a_friendly_id_to_the_layouts_largest(void **state)
{
	CosidConverter padded = converter_of(COSID_SNOWFLAKE_FRIENDLY, true);
	CosidConverter plain = converter_of(COSID_SNOWFLAKE_FRIENDLY, false);
	char		text[COSID_TEXT_SIZE];
	int64_t		id = id_at(default_layout, NOW_SECOND, 5, 7);

	(void) state;
	write_text(&padded, default_layout, &rules[0], id, text);
	assert_string_equal(text, "20260101000000000-0005-0007");
	write_text(&plain, default_layout, &rules[0], id, text);
	assert_string_equal(text, "20260101000000000-5-7");
	id = id_at(second_layout, NOW_SECOND, 1023, 7);
	write_text(&padded, second_layout, rule_named("45 minutes"), id, text);
	assert_string_equal(text, "20260101124500-1023-0000007");
	write_text(&plain, second_layout, rule_named("local mean time"), id, text);
	assert_string_equal(text, "20251231190358-1023-7");
	id = id_at(&layouts[2], NOW_SECOND, 5, 7);
	write_text(&padded, &layouts[2], &rules[0], id, text);
	assert_string_equal(text, "20260101000000000-5-007");
}

/* What is written without padding is read with it, and the other way round. */
static void
padding_makes_no_difference_to_reading(void **state)
{
	int64_t		ids[2];

	(void) state;
	for (int pad = 0; pad < 2; pad++)
	{
		CosidConverter converter = converter_of(COSID_SNOWFLAKE_FRIENDLY, pad != 0);

		assert_int_equal(read_text(&converter, default_layout, &rules[0], "20260101000000000-0005-0007", &ids[0]), COSID_TEXT_OK);
		assert_int_equal(read_text(&converter, default_layout, &rules[0], "20260101000000000-5-07", &ids[1]), COSID_TEXT_OK);
		assert_int_equal(ids[0], ids[1]);
		converter = converter_of(COSID_RADIX, pad != 0);
		assert_int_equal(read_text(&converter, NULL, NULL, "0000000000z", &ids[0]), COSID_TEXT_OK);
		assert_int_equal(read_text(&converter, NULL, NULL, "z", &ids[1]), COSID_TEXT_OK);
		assert_int_equal(ids[0], 61);
		assert_int_equal(ids[1], 61);
	}
}

static void
the_repeated_hour_is_read_as_its_first(void **state)
{
	CosidConverter converter = converter_of(COSID_SNOWFLAKE_FRIENDLY, false);
	static const char *const repeating[] = {
		"daylight saving, west", "daylight saving, east", "half an hour", "two hours"
	};

	(void) state;
	for (size_t i = 0; i < lengthof(repeating); i++)
	{
		const Rule *rule = rule_named(repeating[i]);
		int64_t		step = rule->other - rule->offset;

		/* From other to offset, which is less: the clocks are set back. */
		int64_t		back = (NOW_SECOND / (2 * rule->period) + 1) * 2 * rule->period;
		char		first[COSID_TEXT_SIZE],
					second[COSID_TEXT_SIZE];
		int64_t		read;

		for (int64_t s = 0; s < step; s += 59)
		{
			int64_t		id = id_at(default_layout, back - step + s, 3, 9);

			write_text(&converter, default_layout, rule, id, first);
			write_text(&converter, default_layout, rule, id_at(default_layout, back + s, 3, 9), second);
			assert_string_equal(first, second);
			assert_int_equal(read_text(&converter, default_layout, rule, first, &read), COSID_TEXT_OK);
			assert_int_equal(read, id);
		}
	}
}

static void
the_skipped_hour_is_no_time(void **state)
{
	CosidConverter converter = converter_of(COSID_SNOWFLAKE_FRIENDLY, false);
	char		text[COSID_TEXT_SIZE];
	int64_t		id;

	(void) state;
	for (size_t r = 0; r < lengthof(rules); r++)
	{
		int64_t		step = rules[r].other - rules[r].offset;
		int64_t		forward = rules[r].change;

		/* The local times that begin when the clocks are set forward. */
		if (rules[r].period != 0)
			forward = (NOW_SECOND / (2 * rules[r].period) * 2 + 1) * rules[r].period;
		if (step <= 0)
			continue;
		/* From a second before to a second after, in a zone that goes on. */
		for (int i = 0; i < 5; i++)
		{
			int64_t		after = (int64_t[]) {-1, 0, step / 2, step - 1, step}[i];
			Rule		fixed = {"fixed", rules[r].offset, rules[r].offset, 0, 0};

			write_text(&converter, default_layout, &fixed,
					   id_at(default_layout, forward + after, 0, 0), text);
			assert_int_equal(read_text(&converter, default_layout, &rules[r], text, &id),
							 after < 0 || after == step ? COSID_TEXT_OK : COSID_TEXT_TIME);
		}
	}
}

static void
digits_that_are_missing_are_noticed(void **state)
{
	(void) state;
	for (int kind = COSID_RADIX; kind <= COSID_TO_STRING; kind++)
		assert_int_equal(status_of(kind, default_layout, ""), COSID_TEXT_EMPTY);
	assert_int_equal(status_of(COSID_TO_STRING, default_layout, "-"), COSID_TEXT_EMPTY);
	assert_int_equal(friendly_status(default_layout, "20260101000000000--0"), COSID_TEXT_EMPTY);
	assert_int_equal(friendly_status(default_layout, "20260101000000000-0-"), COSID_TEXT_EMPTY);
}

static void
only_the_radixs_digits_are_digits(void **state)
{
	static const struct
	{
		CosidConverterKind kind;
		const char *digits;
	}			kinds[] = {
		{COSID_RADIX, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"},
		{COSID_RADIX36, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"},
		{COSID_TO_STRING, "0123456789"},
	};

	(void) state;
	for (size_t k = 0; k < lengthof(kinds); k++)
	{
		CosidConverter converter = converter_of(kinds[k].kind, false);

		for (int c = 0; c < 256; c++)
		{
			char		text[] = {'1', (char) c};
			const char *digit = c != 0 ? strchr(kinds[k].digits, c) : NULL;
			int64_t		id = -1;
			CosidTextStatus status = cosid_converter_read(&converter, NULL, NULL, text, 2, &id);

			assert_int_equal(status, digit != NULL ? COSID_TEXT_OK : COSID_TEXT_CHARACTER);
			if (digit != NULL)
				assert_int_equal(id, strlen(kinds[k].digits) + (digit - kinds[k].digits));
		}
	}
	/* In each part of a friendly ID, too. */
	for (const char *mark = "20260101000000000-0-0"; *mark != '\0'; mark++)
	{
		char		text[] = "20260101000000000-0-0";

		if (*mark == '-')
			continue;
		text[strlen(text) - strlen(mark)] = 'a';
		assert_int_equal(friendly_status(default_layout, text), COSID_TEXT_CHARACTER);
	}
}

static void
a_radix_has_no_more_characters_than_its_size(void **state)
{
	CosidConverter converter = {.kind = COSID_RADIX,.pad_start = false,.char_size = 2};
	char		text[COSID_TEXT_SIZE];
	int64_t		id;

	(void) state;
	assert_int_equal(status_of(COSID_RADIX, NULL, "000000000001"), COSID_TEXT_TOO_LONG);
	assert_int_equal(status_of(COSID_RADIX36, NULL, "00000000000001"), COSID_TEXT_TOO_LONG);
	assert_int_equal(write_text(&converter, NULL, NULL, 62 * 62 - 1, text), COSID_TEXT_OK);
	assert_string_equal(text, "zz");
	assert_int_equal(write_text(&converter, NULL, NULL, 62 * 62, text), COSID_TEXT_TOO_LONG);
	assert_int_equal(read_text(&converter, NULL, NULL, "zz", &id), COSID_TEXT_OK);
	assert_int_equal(read_text(&converter, NULL, NULL, "0zz", &id), COSID_TEXT_TOO_LONG);

	/* to_string's size only pads. */
	converter.kind = COSID_TO_STRING;
	assert_int_equal(write_text(&converter, NULL, NULL, 100, text), COSID_TEXT_OK);
	assert_string_equal(text, "100");
	assert_int_equal(read_text(&converter, NULL, NULL, "0000000000000000000000000007", &id), COSID_TEXT_OK);
	assert_int_equal(id, 7);
}

static void
more_than_a_bigint_overflows(void **state)
{
	static const struct
	{
		CosidConverterKind kind;
		const char *last;
		const char *next;
	}			kinds[] = {
		{COSID_RADIX, "AzL8n0Y58m7", "AzL8n0Y58m8"},
		{COSID_RADIX36, "1Y2P0IJ32E8E7", "1Y2P0IJ32E8E8"},
		{COSID_TO_STRING, "9223372036854775807", "9223372036854775808"},
	};

	(void) state;
	for (size_t k = 0; k < lengthof(kinds); k++)
	{
		CosidConverter converter = converter_of(kinds[k].kind, true);
		int64_t		id;

		assert_int_equal(read_text(&converter, NULL, NULL, kinds[k].last, &id), COSID_TEXT_OK);
		assert_int_equal(id, INT64_MAX);
		assert_int_equal(read_text(&converter, NULL, NULL, kinds[k].next, &id), COSID_TEXT_OVERFLOW);
	}
	assert_int_equal(status_of(COSID_RADIX, NULL, "zzzzzzzzzzz"), COSID_TEXT_OVERFLOW);
	assert_int_equal(friendly_status(default_layout, "20260101000000000-9223372036854775808-0"), COSID_TEXT_OVERFLOW);
	assert_int_equal(friendly_status(default_layout, "20260101000000000-0-9223372036854775808"), COSID_TEXT_OVERFLOW);
}

static void
prefix_and_suffix_must_be_there(void **state)
{
	(void) state;
	for (int kind = COSID_RADIX; kind <= COSID_SNOWFLAKE_FRIENDLY; kind++)
	{
		static const struct
		{
			const char *format;
			CosidTextStatus status;
		}			cases[] = {
			{"", COSID_TEXT_PREFIX},
			{"ord", COSID_TEXT_PREFIX},
			{"orD-#-x", COSID_TEXT_PREFIX},
			{"#-x", COSID_TEXT_PREFIX},
			{"ord-", COSID_TEXT_SUFFIX},
			{"ord-x", COSID_TEXT_SUFFIX},
			{"ord-#", COSID_TEXT_SUFFIX},
			{"ord-#-X", COSID_TEXT_SUFFIX},
			{"ord-#-x ", COSID_TEXT_SUFFIX},
			{"ord-#-x", COSID_TEXT_OK},
		};
		CosidConverter converter = converter_of(kind, false);

		strcpy(converter.prefix, "ord-");
		strcpy(converter.suffix, "-x");
		for (size_t c = 0; c < lengthof(cases); c++)
		{
			char		text[COSID_TEXT_SIZE] = "";
			int64_t		id;

			for (const char *f = cases[c].format; *f != '\0'; f++)
			{
				char		one[] = {*f, '\0'};

				strcat(text, *f != '#' ? one :
					   kind == COSID_SNOWFLAKE_FRIENDLY ? "20260101000000000-0-0" : "7");
			}
			assert_int_equal(read_text(&converter, default_layout, &rules[0], text, &id),
							 cases[c].status);
		}
	}
}

static void
a_friendly_id_has_three_parts_and_a_time_of_the_units_width(void **state)
{
	static const char *const texts[] = {
		"", "-", "20260101000000000", "20260101000000000-0", "-0-0", "2026010100000000-0-0",
		"20260101000000-0-0", "0000020260101000000000-0-0", "-20260101000000000-0-0",
	};

	(void) state;
	for (size_t i = 0; i < lengthof(texts); i++)
		assert_int_equal(friendly_status(default_layout, texts[i]), COSID_TEXT_FORM);
	assert_int_equal(friendly_status(second_layout, "2026010100000-0-0"), COSID_TEXT_FORM);
	assert_int_equal(friendly_status(second_layout, "20260101000000-0-0"), COSID_TEXT_OK);
	assert_int_equal(friendly_status(second_layout, "20260101000000000-0-0"), COSID_TEXT_FORM);
	assert_int_equal(friendly_status(default_layout, "20260101000000000-0-0-0"), COSID_TEXT_CHARACTER);
}

static void
dates_and_times_that_do_not_exist_are_refused(void **state)
{
	static const struct
	{
		const char *text;
		CosidTextStatus status;
	}			cases[] = {
		{"20261301000000000-0-0", COSID_TEXT_TIME},
		{"20260001000000000-0-0", COSID_TEXT_TIME},
		{"20260100000000000-0-0", COSID_TEXT_TIME},
		{"20260132000000000-0-0", COSID_TEXT_TIME},
		{"20260431000000000-0-0", COSID_TEXT_TIME},
		{"20260430000000000-0-0", COSID_TEXT_OK},
		{"20260229000000000-0-0", COSID_TEXT_TIME},
		{"20280229000000000-0-0", COSID_TEXT_OK},
		{"20280230000000000-0-0", COSID_TEXT_TIME},
		{"20260101240000000-0-0", COSID_TEXT_TIME},
		{"20260101006000000-0-0", COSID_TEXT_TIME},
		{"20260101000060000-0-0", COSID_TEXT_TIME},
		{"20260101235959999-0-0", COSID_TEXT_OK},
		{"00000101000000000-0-0", COSID_TEXT_TIME},
		{"00000301000000000-0-0", COSID_TEXT_TIME},
	};

	(void) state;
	for (size_t i = 0; i < lengthof(cases); i++)
		assert_int_equal(friendly_status(default_layout, cases[i].text), cases[i].status);
	assert_int_equal(friendly_status(far_layout, "21000229000000000-0-0"), COSID_TEXT_TIME);
	assert_int_equal(friendly_status(far_layout, "24000229000000000-0-0"), COSID_TEXT_OK);
	assert_int_equal(friendly_status(far_layout, "2942761231235959999-1-1"), COSID_TEXT_OK);
}

static void
parts_that_the_layout_has_no_bits_for_are_refused(void **state)
{
	static const struct
	{
		const char *text;
		CosidTextStatus status;
	}			cases[] = {
		{"20260101000000000-1023-4095", COSID_TEXT_OK},
		{"20260101000000000-1024-0", COSID_TEXT_LAYOUT},
		{"20260101000000000-0-4096", COSID_TEXT_LAYOUT},
		{"20260101000000000-01023-0", COSID_TEXT_LAYOUT},
		{"20260101000000000-0-04095", COSID_TEXT_LAYOUT},
		{"20191224160000000-0-0", COSID_TEXT_OK},
		{"20191224155959999-0-0", COSID_TEXT_LAYOUT},
		{"00010101000000000-0-0", COSID_TEXT_LAYOUT},
		{"20890830074735551-0-0", COSID_TEXT_OK},
		{"20890830074735552-0-0", COSID_TEXT_LAYOUT},
		{"9999991231235959999-0-0", COSID_TEXT_LAYOUT},
	};
	CosidConverter converter = converter_of(COSID_SNOWFLAKE_FRIENDLY, false);
	char		text[COSID_TEXT_SIZE];

	(void) state;
	for (size_t i = 0; i < lengthof(cases); i++)
		assert_int_equal(friendly_status(default_layout, cases[i].text), cases[i].status);
	assert_int_equal(write_text(&converter, &layouts[2], &rules[0], INT64_C(1) << 53, text),
					 COSID_TEXT_LAYOUT);
	assert_int_equal(write_text(&converter, &layouts[2], &rules[0], (INT64_C(1) << 53) - 1, text),
					 COSID_TEXT_OK);
}

static void
negative_ids_are_not_written_and_only_decimals_are_read(void **state)
{
	CosidConverter converter;
	char		text[COSID_TEXT_SIZE];
	int64_t		id;

	(void) state;
	for (int kind = COSID_RADIX; kind <= COSID_SNOWFLAKE_FRIENDLY; kind++)
	{
		converter = converter_of(kind, true);
		assert_int_equal(write_text(&converter, default_layout, &rules[0], -1, text), COSID_TEXT_NEGATIVE);
		assert_int_equal(write_text(&converter, default_layout, &rules[0], INT64_MIN, text), COSID_TEXT_NEGATIVE);
	}
	assert_int_equal(cosid_friendly_write(text, -1, default_layout, &(CosidZone) {rule_offset, (void *) &rules[0]}, false),
					 COSID_TEXT_NEGATIVE);
	converter = converter_of(COSID_TO_STRING, true);
	assert_int_equal(read_text(&converter, NULL, NULL, "-9223372036854775807", &id), COSID_TEXT_OK);
	assert_int_equal(id, -INT64_MAX);
	assert_int_equal(status_of(COSID_RADIX, NULL, "-1"), COSID_TEXT_CHARACTER);
	assert_int_equal(status_of(COSID_RADIX36, NULL, "-1"), COSID_TEXT_CHARACTER);
}

static void
times_to_the_end_of_the_calendar_have_a_friendly_form(void **state)
{
	CosidConverter converter = converter_of(COSID_SNOWFLAKE_FRIENDLY, false);
	const CosidLayout *far = &layouts[7];	/* 61 bits of seconds */
	char		text[COSID_TEXT_SIZE];

	(void) state;
	assert_int_equal(write_text(&converter, far, &rules[0], id_at(far, COSID_MAX_FRIENDLY_SECOND, 0, 0), text), COSID_TEXT_OK);
	assert_string_equal(text, "2942761231235959-0-0");
	assert_int_equal(write_text(&converter, far, &rules[0], id_at(far, COSID_MAX_FRIENDLY_SECOND + 1, 0, 0), text), COSID_TEXT_TOO_LATE);
	assert_int_equal(write_text(&converter, far, &rules[0], INT64_MAX, text), COSID_TEXT_TOO_LATE);
}

static void
the_longest_texts_fit_their_buffer(void **state)
{
	uint64_t	random = 206;
	size_t		longest = 0;

	(void) state;
	for (int kind = COSID_RADIX; kind <= COSID_SNOWFLAKE_FRIENDLY; kind++)
	{
		CosidConverter converter = converter_of(kind, true);

		converter.char_size = COSID_MAX_CHAR_SIZE;
		memset(converter.prefix, 'p', COSID_MAX_AFFIX);
		memset(converter.suffix, 's', COSID_MAX_AFFIX);
		for (size_t l = 0; l < lengthof(layouts); l++)
		{
			for (int i = 0; i < 200; i++)
			{
				int64_t		last = (int64_t) (UINT64_MAX >> (64 - cosid_total_bits(&layouts[l])));
				int64_t		id = i == 0 ? last : random_id(&layouts[l], &random);
				char		text[COSID_TEXT_SIZE];
				size_t		length;
				int64_t		read;

				/* write_text looks at the bytes behind the buffer. */
				if (write_text(&converter, &layouts[l], &rules[1], id, text) != COSID_TEXT_OK)
					continue;
				length = strlen(text);
				if (length > longest)
					longest = length;
				assert_memory_equal(text, converter.prefix, COSID_MAX_AFFIX);
				assert_string_equal(text + length - COSID_MAX_AFFIX, converter.suffix);
				assert_int_equal(read_text(&converter, &layouts[l], &rules[1], text, &read), COSID_TEXT_OK);
				assert_int_equal(read, id);
			}
		}
	}
	/* Three times 63. */
	assert_int_equal(longest, 2 * COSID_MAX_AFFIX + COSID_MAX_CHAR_SIZE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(friendly_ids_come_back_in_every_layout_and_zone),
		cmocka_unit_test(friendly_ids_come_back_around_every_change_of_offset),
		cmocka_unit_test(radix_and_decimal_ids_come_back),
		cmocka_unit_test(padded_texts_have_one_length_and_sort_as_ids),
		cmocka_unit_test(pad_start_widens_a_friendly_id_to_the_layouts_largest),
		cmocka_unit_test(padding_makes_no_difference_to_reading),
		cmocka_unit_test(the_repeated_hour_is_read_as_its_first),
		cmocka_unit_test(the_skipped_hour_is_no_time),
		cmocka_unit_test(digits_that_are_missing_are_noticed),
		cmocka_unit_test(only_the_radixs_digits_are_digits),
		cmocka_unit_test(a_radix_has_no_more_characters_than_its_size),
		cmocka_unit_test(more_than_a_bigint_overflows),
		cmocka_unit_test(prefix_and_suffix_must_be_there),
		cmocka_unit_test(a_friendly_id_has_three_parts_and_a_time_of_the_units_width),
		cmocka_unit_test(dates_and_times_that_do_not_exist_are_refused),
		cmocka_unit_test(parts_that_the_layout_has_no_bits_for_are_refused),
		cmocka_unit_test(negative_ids_are_not_written_and_only_decimals_are_read),
		cmocka_unit_test(times_to_the_end_of_the_calendar_have_a_friendly_form),
		cmocka_unit_test(the_longest_texts_fit_their_buffer),
	};

	return cmocka_run_group_tests_name("converter", tests, NULL, NULL);
}

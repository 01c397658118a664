/*-------------------------------------------------------------------------
 *
 * friendly.c
 *		The friendly form of an ID; see friendly.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "id/friendly.h"
#include "id/radix.h"

#define SECONDS_PER_DAY		INT64_C(86400)

/* Digits of month to second, which follow the year, and of milliseconds. */
#define TIME_DIGITS			10
#define MILLISECOND_DIGITS	3
#define MIN_YEAR_DIGITS		4
#define MAX_YEAR_DIGITS		6

/* A local time, of the Gregorian calendar whatever the year. */
typedef struct Civil
{
	int64_t		year;
	int			month;			/* 1 to 12 */
	int			day;
	int			hour;
	int			minute;
	int			second;
} Civil;

/*
 * Days since 1970-01-01 of a date, and back.  Both count in years that begin in
 * March, so that the leap day is the last, and in eras of 400 years.
 */
static int64_t
days_from_civil(int64_t year, int month, int day)
{
	int64_t		y = month <= 2 ? year - 1 : year;
	int64_t		era = y / 400;	/* y is not negative here */
	int64_t		year_of_era = y - era * 400;
	int64_t		day_of_year = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;

	return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 +
		day_of_year - 719468;
}

static void
civil_from_local(int64_t local_second, Civil *civil)
{
	int64_t		days = local_second / SECONDS_PER_DAY;
	int64_t		second_of_day = local_second % SECONDS_PER_DAY;
	int64_t		era,
				day_of_era,
				year_of_era,
				day_of_year,
				month;

	if (second_of_day < 0)
	{
		second_of_day += SECONDS_PER_DAY;
		days--;
	}
	days += 719468;				/* since 0000-03-01; not negative here */
	era = days / 146097;
	day_of_era = days - era * 146097;
	year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36524 -
				   day_of_era / 146096) / 365;
	day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
	month = (5 * day_of_year + 2) / 153;

	civil->day = (int) (day_of_year - (153 * month + 2) / 5 + 1);
	civil->month = (int) (month < 10 ? month + 3 : month - 9);
	civil->year = era * 400 + year_of_era + (civil->month <= 2 ? 1 : 0);
	civil->hour = (int) (second_of_day / 3600);
	civil->minute = (int) (second_of_day / 60 % 60);
	civil->second = (int) (second_of_day % 60);
}

/* Decimal digits of a non-negative number. */
static int
digits(int64_t number)
{
	int			count = 1;

	while (number >= 10)
	{
		number /= 10;
		count++;
	}
	return count;
}

/*
 * Write an ID into a buffer of COSID_FRIENDLY_SIZE.  With `pad`, machine id and
 * sequence are as wide as the layout's largest.  Milliseconds are there only if
 * the layout counts them.
 */
CosidTextStatus
cosid_friendly_write(char *buffer, int64_t id, const CosidLayout *layout,
					 const CosidZone *zone, bool pad)
{
	CosidParts	parts;
	Civil		civil;
	int64_t		per_second = 1000 / cosid_unit_ms(layout);
	int64_t		tick;
	char		millisecond[8] = "";

	if (id < 0)
		return COSID_TEXT_NEGATIVE;
	if (!cosid_unpack(layout, id, &parts))
		return COSID_TEXT_LAYOUT;
	tick = layout->epoch + parts.timestamp;
	if (tick / per_second > COSID_MAX_FRIENDLY_SECOND)
		return COSID_TEXT_TOO_LATE;

	civil_from_local(tick / per_second + zone->offset(tick / per_second, zone->context),
					 &civil);
	if (layout->unit == COSID_MILLISECOND)
		snprintf(millisecond, sizeof(millisecond), "%03d", (int) (tick % per_second));
	snprintf(buffer, COSID_FRIENDLY_SIZE,
			 "%04" PRId64 "%02d%02d%02d%02d%02d%s-%0*" PRId64 "-%0*" PRId64,
			 civil.year, civil.month, civil.day, civil.hour, civil.minute,
			 civil.second, millisecond,
			 pad ? digits(cosid_max_machine_id(layout)) : 1, parts.machine_id,
			 pad ? digits(cosid_max_sequence(layout)) : 1, parts.sequence);
	return COSID_TEXT_OK;
}

/*
 * The Unix time of a local one.  Where the clocks were set back, the first of
 * its two readings, as the reference implementation has it; where they were set
 * forward, there may be none.
 *
 * Offsets change at most once within a day or so (and if they ever did not, the
 * last test would merely find no reading): the ones a day before, a day after
 * and in between are all that can hold.
 */
static CosidTextStatus
unix_from_local(int64_t local_second, const CosidZone *zone, int64_t *unix_second)
{
	CosidTextStatus status = COSID_TEXT_TIME;

	*unix_second = INT64_MAX;
	for (int day = -1; day <= 1; day++)
	{
		int64_t		reading = local_second -
			zone->offset(local_second + day * SECONDS_PER_DAY, zone->context);

		if (reading < *unix_second &&
			reading + zone->offset(reading, zone->context) == local_second)
		{
			*unix_second = reading;
			status = COSID_TEXT_OK;
		}
	}
	return status;
}

/* A number of exactly so many digits. */
static CosidTextStatus
read_digits(const char **text, int count, int *number)
{
	int64_t		value;
	CosidTextStatus status = cosid_radix_read(*text, count, 10, &value);

	if (status != COSID_TEXT_OK)
		return status;
	*text += count;
	*number = (int) value;
	return COSID_TEXT_OK;
}

/* Read the local time, in ticks of the layout's unit since its epoch. */
static CosidTextStatus
read_time(const char *text, size_t length, const CosidLayout *layout,
		  const CosidZone *zone, int64_t *timestamp)
{
	int			subsecond_digits = layout->unit == COSID_MILLISECOND ? MILLISECOND_DIGITS : 0;
	int			year_digits = (int) length - TIME_DIGITS - subsecond_digits;
	int			year,
				month,
				day,
				hour,
				minute,
				second,
				millisecond = 0;
	int64_t		days;
	int64_t		unix_second;
	Civil		check;

	if (year_digits < MIN_YEAR_DIGITS || year_digits > MAX_YEAR_DIGITS)
		return COSID_TEXT_FORM;
	if (read_digits(&text, year_digits, &year) != COSID_TEXT_OK ||
		read_digits(&text, 2, &month) != COSID_TEXT_OK ||
		read_digits(&text, 2, &day) != COSID_TEXT_OK ||
		read_digits(&text, 2, &hour) != COSID_TEXT_OK ||
		read_digits(&text, 2, &minute) != COSID_TEXT_OK ||
		read_digits(&text, 2, &second) != COSID_TEXT_OK ||
		(subsecond_digits > 0 &&
		 read_digits(&text, subsecond_digits, &millisecond) != COSID_TEXT_OK))
		return COSID_TEXT_CHARACTER;
	if (year < 1 || month < 1 || month > 12 || day < 1 ||
		hour > 23 || minute > 59 || second > 59)
		return COSID_TEXT_TIME;

	/* A day that the month does not have comes out as another one. */
	days = days_from_civil(year, month, day);
	civil_from_local(days * SECONDS_PER_DAY, &check);
	if (check.day != day)
		return COSID_TEXT_TIME;
	if (unix_from_local(days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second,
						zone, &unix_second) != COSID_TEXT_OK)
		return COSID_TEXT_TIME;

	*timestamp = (subsecond_digits > 0 ? unix_second * 1000 + millisecond : unix_second) -
		layout->epoch;
	return COSID_TEXT_OK;
}

/* A machine id or sequence: no wider than the layout's largest, padded or not. */
static CosidTextStatus
read_part(const char *text, size_t length, int64_t largest, int64_t *part)
{
	CosidTextStatus status = cosid_radix_read(text, length, 10, part);

	if (status != COSID_TEXT_OK)
		return status;
	return length <= (size_t) digits(largest) && *part <= largest ?
		COSID_TEXT_OK : COSID_TEXT_LAYOUT;
}

/* Read an ID; the inverse of cosid_friendly_write, padded or not. */
CosidTextStatus
cosid_friendly_read(const char *text, size_t length, const CosidLayout *layout,
					const CosidZone *zone, int64_t *id)
{
	const char *end = text + length;
	const char *first = memchr(text, '-', length);
	const char *second;
	CosidParts	parts;
	CosidTextStatus status;

	if (first == NULL)
		return COSID_TEXT_FORM;
	second = memchr(first + 1, '-', end - (first + 1));
	if (second == NULL)
		return COSID_TEXT_FORM;

	status = read_time(text, first - text, layout, zone, &parts.timestamp);
	if (status != COSID_TEXT_OK)
		return status;
	if (parts.timestamp < 0 || parts.timestamp > cosid_max_timestamp(layout))
		return COSID_TEXT_LAYOUT;
	status = read_part(first + 1, second - (first + 1), cosid_max_machine_id(layout),
					   &parts.machine_id);
	if (status != COSID_TEXT_OK)
		return status;
	status = read_part(second + 1, end - (second + 1), cosid_max_sequence(layout),
					   &parts.sequence);
	if (status != COSID_TEXT_OK)
		return status;

	*id = cosid_pack(layout, cosid_cursor(layout, parts.timestamp, parts.sequence),
					 parts.machine_id);
	return COSID_TEXT_OK;
}

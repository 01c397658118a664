/*-------------------------------------------------------------------------
 *
 * reading.c
 *		IDs as people see them: the SQL functions that take IDs apart, write
 *		them as strings, and read them back.
 *
 * What they do is in snowflake.h and the converters; here it gets its
 * definition, its time zone and its errors: 22P02 for a text that is no ID,
 * 22003 for an ID (or a time) that the layout does not have.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/int.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "define/definition.h"
#include "id/converter.h"
#include "id/snowflake.h"
#include "mint/clock.h"

PG_FUNCTION_INFO_V1(cosid_parse);
PG_FUNCTION_INFO_V1(cosid_timestamp);
PG_FUNCTION_INFO_V1(cosid_machine_id);
PG_FUNCTION_INFO_V1(cosid_sequence);
PG_FUNCTION_INFO_V1(cosid_friendly);
PG_FUNCTION_INFO_V1(cosid_from_friendly);
PG_FUNCTION_INFO_V1(cosid_next_string);
PG_FUNCTION_INFO_V1(cosid_to_string);
PG_FUNCTION_INFO_V1(cosid_from_string);
PG_FUNCTION_INFO_V1(cosid_radix62);
PG_FUNCTION_INFO_V1(cosid_from_radix62);
PG_FUNCTION_INFO_V1(cosid_radix36);
PG_FUNCTION_INFO_V1(cosid_from_radix36);
PG_FUNCTION_INFO_V1(cosid_first_id);
PG_FUNCTION_INFO_V1(cosid_last_id);
PG_FUNCTION_INFO_V1(cosid_is_safe_javascript);

/* Of a text in an error message, bytes. */
#define MAX_SHOWN	100

/*
 * The generator that the argument after the first names; without one, what a
 * generator is about which nothing is said.
 */
static const CosidDefinition *
definition_argument(FunctionCallInfo fcinfo)
{
	static CosidDefinition otherwise;
	text	   *name;

	if (PG_NARGS() > 1)
	{
		name = PG_GETARG_TEXT_PP(1);
		return cosid_definition_read(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	}
	if (otherwise.generator.name[0] == '\0')
		cosid_definition_default(&otherwise, COSID_SHARE_NAME, strlen(COSID_SHARE_NAME));
	return &otherwise;
}

/*
 * Time zones
 */

static int64_t
zone_offset(int64_t unix_second, void *context)
{
	pg_time_t	time = unix_second;
	struct pg_tm *tm = pg_localtime(&time, (pg_tz *) context);

	return tm != NULL ? tm->tm_gmtoff : 0;
}

/* A generator's time zone, or the session's. */
static CosidZone
zone_of(const CosidDefinition *definition)
{
	pg_tz	   *zone = session_timezone;

	if (definition->zone[0] != '\0')
		zone = pg_tzset(definition->zone);
	if (zone == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" of generator \"%s\" not recognized",
						definition->zone, definition->generator.name)));
	return (CosidZone) {zone_offset, zone};
}

/*
 * Errors
 */

static void
raise_out_of_range(int64 id, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("ID " INT64_FORMAT " is out of range", id),
			 errdetail("%s", detail)));
}

static char *
layout_text(const CosidLayout *layout)
{
	return psprintf("%d/%d/%d", layout->timestamp_bit, layout->machine_bit,
					layout->sequence_bit);
}

/* What is wrong with an ID or a text, as a sentence. */
static char *
reason(CosidTextStatus status, const CosidConverter *converter,
	   const CosidLayout *layout, const CosidZone *zone)
{
	switch (status)
	{
		case COSID_TEXT_OK:
			break;
		case COSID_TEXT_EMPTY:
			return "Digits are missing.";
		case COSID_TEXT_CHARACTER:
			return "It has a character that is not a digit there.";
		case COSID_TEXT_TOO_LONG:
			return psprintf("It needs more characters than the converter's %d.",
							converter->char_size);
		case COSID_TEXT_OVERFLOW:
			return "It is greater than any bigint.";
		case COSID_TEXT_PREFIX:
			return psprintf("It does not begin with \"%s\".", converter->prefix);
		case COSID_TEXT_SUFFIX:
			return psprintf("It does not end with \"%s\".", converter->suffix);
		case COSID_TEXT_FORM:
			return psprintf("It is not of the form %s-machine-sequence.",
							layout->unit == COSID_SECOND ? "yyyyMMddHHmmss" : "yyyyMMddHHmmssSSS");
		case COSID_TEXT_TIME:
			return psprintf("There is no such time in time zone \"%s\".",
							pg_get_timezone_name((pg_tz *) zone->context));
		case COSID_TEXT_TOO_LATE:
			return "Its timestamp is later than the last timestamptz.";
		case COSID_TEXT_LAYOUT:
			return psprintf("The layout %s has no room for it.", layout_text(layout));
		case COSID_TEXT_NEGATIVE:
			return "IDs are not negative.";
	}
	return "";
}

/* Fail unless a text could be read. */
static void
check_read(CosidTextStatus status, const text *string,
		   const CosidConverter *converter, const CosidLayout *layout,
		   const CosidZone *zone)
{
	int			length = VARSIZE_ANY_EXHDR(string);
	int			shown = pg_mbcliplen(VARDATA_ANY(string), length, MAX_SHOWN);

	if (status == COSID_TEXT_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid text for an ID: \"%s%s\"",
					pnstrdup(VARDATA_ANY(string), shown), shown < length ? "..." : ""),
			 errdetail("%s", reason(status, converter, layout, zone))));
}

/* Write an ID through a converter, palloc'd; 22003 if that can't be. */
static text *
write_id(int64 id, const CosidConverter *converter, const CosidLayout *layout,
		 const CosidZone *zone)
{
	char		buffer[COSID_TEXT_SIZE];
	CosidTextStatus status = cosid_converter_write(converter, layout, zone, id, buffer);

	if (status != COSID_TEXT_OK)
		raise_out_of_range(id, reason(status, converter, layout, zone));
	return cstring_to_text(buffer);
}

static int64
read_id(const text *string, const CosidConverter *converter,
		const CosidLayout *layout, const CosidZone *zone)
{
	int64_t		id = 0;

	check_read(cosid_converter_read(converter, layout, zone, VARDATA_ANY(string),
									VARSIZE_ANY_EXHDR(string), &id),
			   string, converter, layout, zone);
	return id;
}

/*
 * Parts
 */

/* The parts of an ID.  22003 if it is no ID of the layout. */
static CosidParts
parts_of(int64 id, const CosidDefinition *definition)
{
	CosidParts	parts;

	if (id < 0)
		raise_out_of_range(id, "IDs are not negative.");
	if (!cosid_unpack(&definition->generator.layout, id, &parts))
		raise_out_of_range(id, psprintf("The layout %s has no room for it.",
										layout_text(&definition->generator.layout)));
	return parts;
}

/* The time of an ID's parts.  22003 if no timestamptz is that late. */
static TimestampTz
time_of(int64 id, const CosidDefinition *definition, const CosidParts *parts)
{
	const CosidLayout *layout = &definition->generator.layout;
	int64		unix_ms;
	TimestampTz timestamp = 0;

	if (pg_mul_s64_overflow(layout->epoch + parts->timestamp, cosid_unit_ms(layout),
							&unix_ms) ||
		!cosid_ms_to_timestamptz(unix_ms, &timestamp))
		raise_out_of_range(id, "Its timestamp is later than the last timestamptz.");
	return timestamp;
}

/* The friendly form of an ID, padded only for a converter that says so. */
static text *
friendly_of(int64 id, const CosidDefinition *definition)
{
	CosidConverter converter = {
		.kind = COSID_SNOWFLAKE_FRIENDLY,
		.pad_start = definition->converter.kind == COSID_SNOWFLAKE_FRIENDLY &&
		definition->converter.pad_start,
	};
	CosidZone	zone = zone_of(definition);

	return write_id(id, &converter, &definition->generator.layout, &zone);
}

/* cosid_parse(id bigint [, name text]) -> cosid_state */
Datum
cosid_parse(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	const CosidDefinition *definition = definition_argument(fcinfo);
	CosidParts	parts = parts_of(id, definition);
	TupleDesc	desc = cosid_result_type(fcinfo, 5);
	Datum		values[5];
	bool		nulls[5] = {false};

	values[0] = Int64GetDatum(id);
	values[1] = TimestampTzGetDatum(time_of(id, definition, &parts));
	values[2] = Int32GetDatum((int32) parts.machine_id);
	values[3] = Int64GetDatum(parts.sequence);
	values[4] = PointerGetDatum(friendly_of(id, definition));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* cosid_timestamp(id bigint [, name text]) -> timestamptz */
Datum
cosid_timestamp(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	const CosidDefinition *definition = definition_argument(fcinfo);
	CosidParts	parts = parts_of(id, definition);

	PG_RETURN_TIMESTAMPTZ(time_of(id, definition, &parts));
}

/* cosid_machine_id(id bigint [, name text]) -> integer */
Datum
cosid_machine_id(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32((int32) parts_of(PG_GETARG_INT64(0),
									 definition_argument(fcinfo)).machine_id);
}

/* cosid_sequence(id bigint [, name text]) -> bigint */
Datum
cosid_sequence(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(parts_of(PG_GETARG_INT64(0), definition_argument(fcinfo)).sequence);
}

/* cosid_is_safe_javascript(id bigint) -> boolean */
Datum
cosid_is_safe_javascript(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);

	PG_RETURN_BOOL(id >= 0 && (id >> COSID_SAFE_JAVASCRIPT_BITS) == 0);
}

/*
 * Strings
 */

/* cosid_friendly(id bigint [, name text]) -> text */
Datum
cosid_friendly(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(friendly_of(PG_GETARG_INT64(0), definition_argument(fcinfo)));
}

/* cosid_from_friendly(friendly text [, name text]) -> bigint */
Datum
cosid_from_friendly(PG_FUNCTION_ARGS)
{
	const CosidDefinition *definition = definition_argument(fcinfo);
	CosidConverter converter = {.kind = COSID_SNOWFLAKE_FRIENDLY};
	CosidZone	zone = zone_of(definition);

	PG_RETURN_INT64(read_id(PG_GETARG_TEXT_PP(0), &converter, &definition->generator.layout, &zone));
}

/* An ID through its generator's converter. */
static text *
string_of(int64 id, const CosidDefinition *definition)
{
	CosidZone	zone = zone_of(definition);

	return write_id(id, &definition->converter, &definition->generator.layout, &zone);
}

/* cosid_next_string(name text) -> text */
Datum
cosid_next_string(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);
	CosidDefinition *definition = cosid_definition_mint(VARDATA_ANY(name),
														VARSIZE_ANY_EXHDR(name));
	int64		id = cosid_generator_next(&definition->generator);

	PG_RETURN_TEXT_P(string_of(id, definition));
}

/* cosid_to_string(id bigint, name text) -> text */
Datum
cosid_to_string(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(string_of(PG_GETARG_INT64(0), definition_argument(fcinfo)));
}

/* cosid_from_string(string text, name text) -> bigint */
Datum
cosid_from_string(PG_FUNCTION_ARGS)
{
	const CosidDefinition *definition = definition_argument(fcinfo);
	CosidZone	zone = zone_of(definition);

	PG_RETURN_INT64(read_id(PG_GETARG_TEXT_PP(0), &definition->converter,
							&definition->generator.layout, &zone));
}

/* A converter on its own, of the size in an argument. */
static CosidConverter
radix_converter(FunctionCallInfo fcinfo, CosidConverterKind kind, bool pad_start,
				int char_size_argument)
{
	CosidConverter converter = {
		.kind = kind,
		.pad_start = pad_start,
		.char_size = PG_GETARG_INT32(char_size_argument),
	};

	if (converter.char_size < 1 || converter.char_size > COSID_MAX_CHAR_SIZE)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\": %d", "char_size",
						converter.char_size),
				 errdetail("It must be between %d and %d.", 1, COSID_MAX_CHAR_SIZE)));
	return converter;
}

static Datum
write_radix(FunctionCallInfo fcinfo, CosidConverterKind kind)
{
	CosidConverter converter = radix_converter(fcinfo, kind, PG_GETARG_BOOL(1), 2);

	PG_RETURN_TEXT_P(write_id(PG_GETARG_INT64(0), &converter, NULL, NULL));
}

static Datum
read_radix(FunctionCallInfo fcinfo, CosidConverterKind kind)
{
	CosidConverter converter = radix_converter(fcinfo, kind, true, 1);

	PG_RETURN_INT64(read_id(PG_GETARG_TEXT_PP(0), &converter, NULL, NULL));
}

/* cosid_radix62(id bigint [, pad_start boolean, char_size integer]) -> text */
Datum
cosid_radix62(PG_FUNCTION_ARGS)
{
	return write_radix(fcinfo, COSID_RADIX);
}

/* cosid_from_radix62(string text [, char_size integer]) -> bigint */
Datum
cosid_from_radix62(PG_FUNCTION_ARGS)
{
	return read_radix(fcinfo, COSID_RADIX);
}

/* cosid_radix36(id bigint [, pad_start boolean, char_size integer]) -> text */
Datum
cosid_radix36(PG_FUNCTION_ARGS)
{
	return write_radix(fcinfo, COSID_RADIX36);
}

/* cosid_from_radix36(string text [, char_size integer]) -> bigint */
Datum
cosid_from_radix36(PG_FUNCTION_ARGS)
{
	return read_radix(fcinfo, COSID_RADIX36);
}

/*
 * Time
 */

/* The timestamp, in a layout, of the tick that a time is in; 22003 if none. */
static int64
tick_of(TimestampTz time, const CosidLayout *layout)
{
	const int64 epoch_shift =	/* from 2000 to 1970 */
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * SECS_PER_DAY;
	int64		tick_us = cosid_unit_ms(layout) * 1000;
	int64		timestamp;

	if (!TIMESTAMP_NOT_FINITE(time))
	{
		/*
		 * Round towards the past, also before 2000.  In microseconds since
		 * 1970 the latest times would overflow.
		 */
		timestamp = time / tick_us - (time % tick_us < 0 ? 1 : 0) +
			epoch_shift * (USECS_PER_SEC / tick_us) - layout->epoch;
		if (timestamp >= 0 && timestamp <= cosid_max_timestamp(layout))
			return timestamp;
	}
	ereport(ERROR,
			(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			 errmsg("timestamp %s is out of range for IDs", timestamptz_to_str(time)),
			 errdetail("The layout %s has no room for it.", layout_text(layout))));
	return 0;
}

/* cosid_first_id(time timestamptz [, name text]) -> bigint */
Datum
cosid_first_id(PG_FUNCTION_ARGS)
{
	const CosidLayout *layout = &definition_argument(fcinfo)->generator.layout;
	int64		timestamp = tick_of(PG_GETARG_TIMESTAMPTZ(0), layout);

	PG_RETURN_INT64(cosid_pack(layout, cosid_cursor(layout, timestamp, 0), 0));
}

/* cosid_last_id(time timestamptz [, name text]) -> bigint */
Datum
cosid_last_id(PG_FUNCTION_ARGS)
{
	const CosidLayout *layout = &definition_argument(fcinfo)->generator.layout;
	int64		timestamp = tick_of(PG_GETARG_TIMESTAMPTZ(0), layout);

	PG_RETURN_INT64(cosid_last_of_tick(layout, timestamp));
}

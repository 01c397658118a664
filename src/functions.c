/*-------------------------------------------------------------------------
 *
 * functions.c
 *		The functions that SQL calls: unpack arguments, pack results.
 *
 * (Triggers and what a worker calls in a registry are beside what they serve,
 * in definition.c and machine.c.)
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "common/int.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "clock.h"
#include "definition.h"
#include "friendly.h"
#include "generator.h"
#include "lease.h"
#include "slot.h"
#include "snowflake.h"

PG_FUNCTION_INFO_V1(cosid_next);
PG_FUNCTION_INFO_V1(cosid_next_share);
PG_FUNCTION_INFO_V1(cosid_next_batch);
PG_FUNCTION_INFO_V1(cosid_create);
PG_FUNCTION_INFO_V1(cosid_drop);
PG_FUNCTION_INFO_V1(cosid_parse);
PG_FUNCTION_INFO_V1(cosid_friendly);
PG_FUNCTION_INFO_V1(cosid_lease_rows);
PG_FUNCTION_INFO_V1(cosid_stat_rows);

/*
 * Minting
 */

/* cosid_next(name text) -> bigint */
Datum
cosid_next(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);

	PG_RETURN_INT64(cosid_generator_next(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name)));
}

/* cosid_next() -> bigint */
Datum
cosid_next_share(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT64(cosid_generator_next(COSID_SHARE_NAME, strlen(COSID_SHARE_NAME)));
}

/* cosid_next(name text, count integer) -> SETOF bigint, each minted when fetched */
Datum
cosid_next_batch(PG_FUNCTION_ARGS)
{
	FuncCallContext *call;
	text	   *name = PG_GETARG_TEXT_PP(0);
	int32		count = PG_GETARG_INT32(1);

	if (SRF_IS_FIRSTCALL())
	{
		if (count < 0)
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("invalid value for parameter \"%s\": %d", "count", count),
					 errdetail("The number of IDs must not be negative.")));
		call = SRF_FIRSTCALL_INIT();
		call->max_calls = (uint64) count;
	}
	call = SRF_PERCALL_SETUP();
	if (call->call_cntr >= call->max_calls)
		SRF_RETURN_DONE(call);
	SRF_RETURN_NEXT(call,
					Int64GetDatum(cosid_generator_next(VARDATA_ANY(name),
													   VARSIZE_ANY_EXHDR(name))));
}

/*
 * Defining
 */

/* cosid_create(name, ...) -> void: the columns of cosid_generator, and
 * safe_javascript after clock_sync */
Datum
cosid_create(PG_FUNCTION_ARGS)
{
	const int	safe_javascript = COSID_COL_CLOCK_SYNC + 1;
	NullableDatum arguments[COSID_COLUMNS];

	for (int i = 0; i < COSID_COL_IMPLICIT; i++)
		arguments[i] = fcinfo->args[i < safe_javascript ? i : i + 1];
	arguments[COSID_COL_IMPLICIT].isnull = true;
	cosid_definition_create(arguments,
							!PG_ARGISNULL(safe_javascript) &&
							PG_GETARG_BOOL(safe_javascript));
	PG_RETURN_VOID();
}

/* cosid_drop(name text) -> void */
Datum
cosid_drop(PG_FUNCTION_ARGS)
{
	text	   *name = PG_GETARG_TEXT_PP(0);

	cosid_definition_drop(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	PG_RETURN_VOID();
}

/*
 * Reading
 */

/*
 * The generator that an optional second argument names; without one, what a
 * generator is about which nothing is said.  In `otherwise` if need be.
 */
static const CosidDefinition *
definition_argument(FunctionCallInfo fcinfo, CosidDefinition *otherwise)
{
	text	   *name;

	if (PG_NARGS() > 1)
	{
		name = PG_GETARG_TEXT_PP(1);
		return cosid_definition_read(VARDATA_ANY(name), VARSIZE_ANY_EXHDR(name));
	}
	cosid_definition_default(otherwise, COSID_SHARE_NAME, strlen(COSID_SHARE_NAME));
	return otherwise;
}

/* The parts of an ID and its time.  22003 if it is no ID of the layout. */
static void
unpack(int64 id, const CosidDefinition *definition, CosidParts *parts,
	   TimestampTz *timestamp)
{
	const CosidLayout *layout = &definition->layout;
	int64		unix_ms;

	if (id < 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("ID " INT64_FORMAT " is out of range", id),
				 errdetail("IDs are not negative.")));
	if (!cosid_unpack(layout, id, parts))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("ID " INT64_FORMAT " is out of range", id),
				 errdetail("The IDs of generator \"%s\" have %d bits.",
						   definition->name, cosid_total_bits(layout))));

	if (pg_mul_s64_overflow(layout->epoch + parts->timestamp, cosid_unit_ms(layout),
							&unix_ms) ||
		!cosid_ms_to_timestamptz(unix_ms, timestamp))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("ID " INT64_FORMAT " is out of range", id),
				 errdetail("Its timestamp is later than PostgreSQL's last.")));
}

/* The friendly form of an ID's parts, palloc'd. */
static char *
friendly(const CosidDefinition *definition, const CosidParts *parts,
		 TimestampTz timestamp)
{
	pg_tz	   *zone = definition->zone[0] != '\0' ? pg_tzset(definition->zone) : session_timezone;
	char	   *buffer = palloc(COSID_FRIENDLY_SIZE);
	struct pg_tm tm;
	fsec_t		fsec;
	int			offset;
	CosidCivil	civil;

	if (zone == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("time zone \"%s\" of generator \"%s\" not recognized",
						definition->zone, definition->name)));
	if (timestamp2tm(timestamp, &offset, &tm, &fsec, NULL, zone) != 0)
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range")));
	civil = (CosidCivil) {
		.year = tm.tm_year,.month = tm.tm_mon,.day = tm.tm_mday,
		.hour = tm.tm_hour,.minute = tm.tm_min,.second = tm.tm_sec,
		.millisecond = fsec / 1000,
	};
	cosid_friendly_write(buffer, &definition->layout, &civil, parts,
						 definition->converter == COSID_SNOWFLAKE_FRIENDLY &&
						 definition->pad_start);
	return buffer;
}

/* cosid_parse(id bigint [, name text]) -> cosid_state */
Datum
cosid_parse(PG_FUNCTION_ARGS)
{
	int64		id = PG_GETARG_INT64(0);
	CosidDefinition otherwise;
	const CosidDefinition *definition = definition_argument(fcinfo, &otherwise);
	CosidParts	parts;
	TimestampTz timestamp;
	TupleDesc	desc;
	Datum		values[5];
	bool		nulls[5] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	unpack(id, definition, &parts, &timestamp);
	values[0] = Int64GetDatum(id);
	values[1] = TimestampTzGetDatum(timestamp);
	values[2] = Int32GetDatum((int32) parts.machine_id);
	values[3] = Int64GetDatum(parts.sequence);
	values[4] = CStringGetTextDatum(friendly(definition, &parts, timestamp));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* cosid_friendly(id bigint [, name text]) -> text */
Datum
cosid_friendly(PG_FUNCTION_ARGS)
{
	CosidDefinition otherwise;
	const CosidDefinition *definition = definition_argument(fcinfo, &otherwise);
	CosidParts	parts;
	TimestampTz timestamp;

	unpack(PG_GETARG_INT64(0), definition, &parts, &timestamp);
	PG_RETURN_TEXT_P(cstring_to_text(friendly(definition, &parts, timestamp)));
}

/*
 * The views cosid_lease and cosid_stat
 */

/*
 * A text from shared memory, kept in UTF-8 or in the encoding of the worker's
 * database: what this database can't show becomes question marks.
 */
static Datum
foreign_text(const char *string, int encoding)
{
	int			length = (int) strlen(string);
	int			size = length * MAX_CONVERSION_GROWTH + 1;
	char	   *buffer = palloc(size);
	Oid			conversion;

	if (encoding == GetDatabaseEncoding())
		return CStringGetTextDatum(string);

	conversion = FindDefaultConversionProc(encoding, GetDatabaseEncoding());
	if (OidIsValid(conversion) &&
		pg_do_encoding_conversion_buf(conversion, encoding, GetDatabaseEncoding(),
									  (unsigned char *) unconstify(char *, string),
									  length, (unsigned char *) buffer, size,
									  true) == length)
		return CStringGetTextDatum(buffer);

	strlcpy(buffer, string, size);
	for (char *c = buffer; *c != '\0'; c++)
	{
		if (IS_HIGHBIT_SET(*c))
			*c = '?';
	}
	return CStringGetTextDatum(buffer);
}

/* Unix ms as a timestamptz; null if there is none. */
static Datum
ms_datum(int64 unix_ms, bool *isnull)
{
	TimestampTz timestamp = 0;

	*isnull = !cosid_ms_to_timestamptz(unix_ms, &timestamp);
	return TimestampTzGetDatum(timestamp);
}

#define LEASE_COLUMNS	11

/* The rows of view cosid_lease; none when the library is not preloaded. */
Datum
cosid_lease_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; cosid_preloaded() && i < cosid_lease_count(); i++)
	{
		CosidLease *lease = cosid_lease_at(i);
		CosidLeaseStatus status;
		Datum		values[LEASE_COLUMNS] = {0};
		bool		nulls[LEASE_COLUMNS] = {false};

		cosid_lease_read(lease, &status);
		values[0] = CStringGetTextDatum(lease->namespace);
		values[1] = Int32GetDatum(status.machine_id);
		values[2] = Int32GetDatum(lease->machine_bit);
		values[3] = foreign_text(status.instance_id, PG_SQL_ASCII);
		values[4] = CStringGetTextDatum(cosid_lease_state_name(status.state));
		values[5] = ms_datum(status.floor, &nulls[5]);
		values[6] = ms_datum(status.watermark, &nulls[6]);
		values[7] = TimestampTzGetDatum(status.claimed_at);
		values[8] = TimestampTzGetDatum(status.guarded_at);
		values[9] = foreign_text(status.last_error, PG_SQL_ASCII);
		values[10] = TimestampTzGetDatum(status.last_error_at);

		/* Never had a machine id: nothing to say about one. */
		if (status.machine_id < 0)
			nulls[1] = nulls[3] = nulls[5] = nulls[6] = nulls[7] = nulls[8] = true;
		if (status.last_error[0] == '\0')
			nulls[9] = nulls[10] = true;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

#define STAT_COLUMNS	14

/* The rows of view cosid_stat; none when the library is not preloaded. */
Datum
cosid_stat_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	for (int i = 0; cosid_preloaded() && i < cosid_slot_count(); i++)
	{
		CosidSlot  *slot = cosid_slot_at(i);
		const CosidLayout *layout = &slot->layout;
		int64		last_id = cosid_slot_last_id(slot);
		CosidParts	parts;
		Datum		values[STAT_COLUMNS] = {0};
		bool		nulls[STAT_COLUMNS] = {false};

		values[0] = foreign_text(slot->name, PG_UTF8);
		values[1] = CStringGetTextDatum(slot->lease->namespace);
		values[3] = CStringGetTextDatum(layout->unit == COSID_SECOND ? "second" : "millisecond");
		values[4] = Int64GetDatum(layout->epoch);
		values[5] = Int32GetDatum(layout->timestamp_bit);
		values[6] = Int32GetDatum(layout->machine_bit);
		values[7] = Int32GetDatum(layout->sequence_bit);
		values[8] = BoolGetDatum(cosid_total_bits(layout) <= COSID_SAFE_JAVASCRIPT_BITS);
		if (last_id != 0 && cosid_unpack(layout, last_id, &parts))
		{
			values[2] = Int32GetDatum((int32) parts.machine_id);
			values[9] = Int64GetDatum(last_id);
			values[10] = ms_datum((layout->epoch + parts.timestamp) * cosid_unit_ms(layout),
								  &nulls[10]);
		}
		else
			nulls[2] = nulls[9] = nulls[10] = true;
		for (int kind = 0; kind < COSID_WAIT_KINDS; kind++)
			values[11 + kind] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->waits[kind]));
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/*-------------------------------------------------------------------------
 *
 * views.c
 *		What this server's shared memory shows: the rows of the views
 *		cosid_lease and cosid_stat; and what is counted there from 0 again.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/namespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "id/snowflake.h"
#include "mint/clock.h"
#include "mint/lease.h"
#include "mint/segment.h"
#include "mint/slot.h"

PG_FUNCTION_INFO_V1(cosid_lease_rows);
PG_FUNCTION_INFO_V1(cosid_stat_rows);
PG_FUNCTION_INFO_V1(cosid_stat_reset);

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

/* Begin to return rows. */
static ReturnSetInfo *
begin_rows(FunctionCallInfo fcinfo, int columns)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;

	InitMaterializedSRF(fcinfo, 0);
	cosid_check_result(result->setDesc, columns);
	return result;
}

#define LEASE_COLUMNS	14

/* The rows of view cosid_lease; none without shared memory, see segment.c. */
Datum
cosid_lease_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = begin_rows(fcinfo, LEASE_COLUMNS);
	bool		attached = cosid_segment_attach(DEBUG1);

	for (int i = 0; attached && i < cosid_lease_count(); i++)
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
		values[7] = Float8GetDatum(Max(status.watermark - cosid_clock_now_ms(), 0) / 1000.0);
		values[8] = TimestampTzGetDatum(status.claimed_at);
		values[9] = TimestampTzGetDatum(status.guarded_at);
		values[10] = Int64GetDatum(status.claims);
		values[11] = Int64GetDatum(status.losses);
		values[12] = foreign_text(status.last_error, PG_SQL_ASCII);
		values[13] = TimestampTzGetDatum(status.last_error_at);

		/* Never had a machine id: nothing to say about one. */
		if (status.machine_id < 0)
			nulls[1] = nulls[3] = nulls[5] = nulls[6] = nulls[8] = nulls[9] = true;
		nulls[7] = status.state != COSID_LEASE_HELD;
		if (status.last_error[0] == '\0')
			nulls[12] = nulls[13] = true;
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

#define STAT_COLUMNS	22

/* The rows of view cosid_stat; none without shared memory, see segment.c. */
Datum
cosid_stat_rows(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = begin_rows(fcinfo, STAT_COLUMNS);
	bool		attached = cosid_segment_attach(DEBUG1);

	for (int i = 0; attached && i < cosid_slot_count(); i++)
	{
		CosidSlot  *slot = cosid_slot_at(i);
		const CosidLayout *layout = &slot->layout;
		int64		last_id = cosid_slot_last_id(slot);
		CosidParts	parts;
		Datum		values[STAT_COLUMNS] = {0};
		bool		nulls[STAT_COLUMNS] = {false};

		values[0] = foreign_text(slot->name, PG_UTF8);
		values[1] = CStringGetTextDatum(cosid_slot_lease(slot)->namespace);
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
		{
			values[11 + 2 * kind] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->waits[kind]));
			values[12 + 2 * kind] = Float8GetDatum(pg_atomic_read_u64(&slot->wait_us[kind]) / 1000.0);
		}
		for (int kind = 0; kind < COSID_FAILURE_KINDS; kind++)
			values[17 + kind] = Int64GetDatum((int64) pg_atomic_read_u64(&slot->failures[kind]));
		values[21] = TimestampTzGetDatum(cosid_slot_reset_at());
		tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* Count the waits and errors of cosid_stat from 0 again. */
Datum
cosid_stat_reset(PG_FUNCTION_ARGS)
{
	if (cosid_segment_attach(DEBUG1))
		cosid_slot_reset_counts();
	PG_RETURN_VOID();
}

/*-------------------------------------------------------------------------
 *
 * server.c
 *		This server, to whoever looks after it: the rows of the views cosid_lease
 *		and cosid_stat, which show its shared memory; giving its machine ids back
 *		before it moves, and going on.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "catalog/namespace.h"
#include "fmgr.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "settings.h"
#include "id/snowflake.h"
#include "mint/clock.h"
#include "mint/launch.h"
#include "mint/lease.h"
#include "mint/segment.h"
#include "mint/slot.h"

PG_FUNCTION_INFO_V1(cosid_lease_rows);
PG_FUNCTION_INFO_V1(cosid_stat_rows);
PG_FUNCTION_INFO_V1(cosid_stat_reset);
PG_FUNCTION_INFO_V1(cosid_release);
PG_FUNCTION_INFO_V1(cosid_resume);

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

/*
 * Wait until a lease is not held any more and the worker is not about to claim it;
 * false when the deadline (monotonic ms) has passed.
 */
static bool
wait_until_released(CosidLease *lease, int64 deadline, CosidLeaseStatus *status)
{
	bool		released = false;

	ConditionVariablePrepareToSleep(&lease->changed);
	for (;;)
	{
		int64		left = deadline - cosid_clock_monotonic_ms();

		cosid_lease_read(lease, status);
		released = status->state == COSID_LEASE_RELEASED ||
			(status->state != COSID_LEASE_HELD && !cosid_worker_runs());
		if (released || left <= 0)
			break;
		(void) ConditionVariableTimedSleep(&lease->changed, (long) left,
										   cosid_wait_event(COSID_EVENT_GRANT));
	}
	ConditionVariableCancelSleep();
	return released;
}

/*
 * cosid_release() -> void: have the worker give back all machine ids of this
 * server, as at a clean shutdown, and claim none until cosid_resume() or a
 * restart.  Waits up to cosid.wait_timeout: 55P03 if the worker has not come to
 * it by then, which it still will.
 */
Datum
cosid_release(PG_FUNCTION_ARGS)
{
	int64		deadline = cosid_clock_monotonic_ms() + cosid_wait_timeout;

	cosid_segment_attach(ERROR);
	cosid_release_set(true);

	/* A worker that waits for the end of recovery holds nothing. */
	if (RecoveryInProgress() && !cosid_registry_is_remote())
		PG_RETURN_VOID();
	for (int i = 0; i < cosid_lease_count(); i++)
	{
		CosidLease *lease = cosid_lease_at(i);
		CosidLeaseStatus status;

		if (!wait_until_released(lease, deadline, &status))
			ereport(ERROR,
					(errcode(ERRCODE_LOCK_NOT_AVAILABLE),
					 errmsg("the lease of namespace \"%s\" has not been released in time",
							lease->namespace),
					 errdetail("The worker gives its machine id back when it can, and claims none."),
					 errhint("To go on with it instead, call cosid_resume().")));
		if (status.state == COSID_LEASE_RELEASED && status.failing)
			ereport(WARNING,
					(errmsg("nothing more is minted with machine id %d of namespace \"%s\", but the registry does not know",
							status.machine_id, lease->namespace),
					 errdetail_internal("%s", cosid_status_error_detail(&status)),
					 errhint("Others can have it when \"cosid.safe_guard_duration\" has passed.")));
	}
	PG_RETURN_VOID();
}

/* cosid_resume() -> void: end what cosid_release() began */
Datum
cosid_resume(PG_FUNCTION_ARGS)
{
	cosid_segment_attach(ERROR);
	cosid_release_set(false);
	PG_RETURN_VOID();
}

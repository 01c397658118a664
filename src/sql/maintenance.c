/*-------------------------------------------------------------------------
 *
 * maintenance.c
 *		SQL functions for whoever looks after the server: giving its machine ids
 *		back before it moves, and going on.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "fmgr.h"

#include "settings.h"
#include "mint/clock.h"
#include "mint/lease.h"
#include "mint/segment.h"
#include "mint/wait_event.h"

PG_FUNCTION_INFO_V1(cosid_release);
PG_FUNCTION_INFO_V1(cosid_resume);

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

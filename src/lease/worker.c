/*-------------------------------------------------------------------------
 *
 * worker.c
 *		The background worker that owns this server's leases.
 *
 * It alone opens, extends and closes the right to mint.  Backends never talk to
 * it to get an ID; they set a lease's `wanted` and this process's latch when
 * they find its grant missing or used up.  What a lease then needs is in tend.c,
 * the way to the registry in registry.c.
 *
 * The worker runs from consistency on.  With the server's own registry it waits
 * while the server is in recovery; with one elsewhere it does not, so that a
 * standby mints, too.  When its own error or an administrator ends it, the next
 * one finds the grants in shared memory and goes on with them.  When a reload
 * names another registry, all leases are given back in the old one first.  It
 * always exits with 1, so that it is started again.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "settings.h"
#include "lease/registry.h"
#include "lease/tend.h"
#include "mint/clock.h"
#include "mint/launch.h"
#include "mint/lease.h"
#include "mint/segment.h"

/* Pauses between starts of one that can't reach its database double up to this. */
#define LAST_RESTART_MS			5000

#define RECOVERY_POLL_MS		1000

/*
 * The wall clock was set if it has moved so much more or less than the monotonic
 * one: a clock that is merely being adjusted does not between two looks.
 */
#define CLOCK_STEP_MS			500

/* One a lease. */
static CosidLeaseControl *controls;

/* SIGTERM: also ends a call that waits for something. */
static void
handle_shutdown(SIGNAL_ARGS)
{
	int			save_errno = errno;

	if (cosid_registry_cancellable)
	{
		QueryCancelPending = true;
		InterruptPending = true;
	}
	ShutdownRequestPending = true;
	SetLatch(MyLatch);
	errno = save_errno;
}

/* End all grants now, whatever giving the leases back will take. */
static void
close_all(void)
{
	for (int i = 0; i < cosid_lease_count(); i++)
		cosid_grant_close(&cosid_lease_at(i)->u.grant);
}

/* Look after all leases; returns how long nothing is to be done, ms, or -1. */
static long
tend_all(void)
{
	int			count = cosid_lease_count();
	bool		releasing = cosid_release_is_set();
	int64		next = COSID_TEND_NEVER;
	int64		now;

	for (int i = 0; i < count; i++)
		cosid_tend_adopt(cosid_lease_at(i), &controls[i]);

	/* Those that are closed here must be released below, whatever comes between. */
	if (releasing)
		close_all();
	for (int i = 0; i < count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (ShutdownRequestPending)
			return 0;
		next = Min(next, cosid_tend(cosid_lease_at(i), &controls[i], releasing));
	}
	if (next == COSID_TEND_NEVER)
		return -1;
	now = cosid_clock_monotonic_ms();
	return (long) Min(Max(next - now, 0), INT_MAX);
}

/* Give all leases back that are held. */
static void
release_all(void)
{
	int64		deadline = cosid_clock_monotonic_ms() + COSID_RELEASE_TIMEOUT_MS;

	close_all();
	for (int i = 0; i < cosid_lease_count(); i++)
	{
		int64		left = deadline - cosid_clock_monotonic_ms();

		if (left <= 0)
			break;
		cosid_tend_release(cosid_lease_at(i), (int) left, false);
	}
}

/*
 * Do what new settings ask for.  For another registry: give all leases back in
 * the old one, then claim anew in that.  What can't be given back is abandoned
 * there; its watermark stays above all that was given out.
 */
static void
reload(void)
{
	ConfigReloadPending = false;
	ProcessConfigFile(PGC_SIGHUP);
	if (cosid_registry_same())
		return;
	ereport(LOG,
			(errmsg("cosid goes on with another registry")));
	release_all();
	if (!cosid_registry_change())
		proc_exit(1);

	/* Nothing that this worker remembers of a lease is true in the new one. */
	memset(controls, 0, sizeof(CosidLeaseControl) * cosid_max_namespaces);
}

/* Say so when the clock was set since the last call. */
static void
watch_clock(void)
{
	static bool known = false;
	static int64 offset;		/* of the wall clock to the monotonic one */
	int64		before;
	int64		wall;
	int64		step;

	before = cosid_clock_monotonic_ms();
	wall = cosid_clock_now_ms();
	if (cosid_clock_monotonic_ms() - before > CLOCK_STEP_MS / 2)
		return;					/* we were paused in between: next time */

	step = wall - before - offset;
	offset += step;
	if (known && step > CLOCK_STEP_MS)
		ereport(LOG,
				(errmsg("cosid noticed that the clock was set forward by %lld ms",
						(long long) step)));
	else if (known && step < -CLOCK_STEP_MS)
		ereport(LOG,
				(errmsg("cosid noticed that the clock was set back by %lld ms",
						(long long) -step)));
	known = true;
}

/* Sleep until the latch is set or ms have passed; -1: no limit. */
static void
sleep_ms(long ms)
{
	int			events = WL_LATCH_SET | WL_EXIT_ON_PM_DEATH;

	if (ms >= 0)
		events |= WL_TIMEOUT;
	(void) WaitLatch(MyLatch, events, ms, cosid_wait_event(COSID_EVENT_WORKER));
	ResetLatch(MyLatch);
}

/*
 * A worker that could not reach its database was ended by that and has been
 * started again.  Tell those who wait for it, and do not hurry.
 */
static void
pause_before_connecting(int failed_starts)
{
	int64		until;

	if (failed_starts == 0)
		return;
	for (int i = 0; i < cosid_lease_count(); i++)
		cosid_lease_error(cosid_lease_at(i),
						  "the cosid worker could not connect to the database that \"cosid.database\" names");
	until = cosid_clock_monotonic_ms() +
		Min(INT64CONST(1000) << Min(failed_starts, 20), LAST_RESTART_MS);
	while (cosid_clock_monotonic_ms() < until)
	{
		sleep_ms((long) (until - cosid_clock_monotonic_ms()));
		CHECK_FOR_INTERRUPTS();
		if (ShutdownRequestPending)
			proc_exit(1);
	}
}

/* PostgreSQL finds it by its name, see launch.c. */
extern PGDLLEXPORT void cosid_worker_main(Datum main_arg);

void
cosid_worker_main(Datum main_arg pg_attribute_unused())
{
	int			failed_starts;

	pqsignal(SIGHUP, SignalHandlerForConfigReload);
	pqsignal(SIGTERM, handle_shutdown);
	BackgroundWorkerUnblockSignals();

	controls = MemoryContextAllocZero(TopMemoryContext,
									  sizeof(CosidLeaseControl) * cosid_max_namespaces);

	/* With 0, not to be started again: it can't run, or is the second one. */
	if (!cosid_segment_attach(LOG) || !cosid_worker_attach(MyLatch, &failed_starts))
		proc_exit(0);
	pause_before_connecting(failed_starts);
	cosid_registry_connect();
	cosid_worker_connected();

	while (!ShutdownRequestPending)
	{
		long		timeout;

		CHECK_FOR_INTERRUPTS();
		if (ConfigReloadPending)
			reload();
		watch_clock();
		timeout = RecoveryInProgress() && !cosid_registry_serves_standby() ?
			RECOVERY_POLL_MS : tend_all();
		if (!ShutdownRequestPending)
			sleep_ms(timeout);
	}

	release_all();
	proc_exit(1);
}

/*-------------------------------------------------------------------------
 *
 * launch.c
 *		How a server comes by its worker, and how backends reach it.
 *
 * The worker (lease/worker.c) is started with the server when the library is
 * preloaded, else by the first backend that needs it.  Backends set its latch
 * when they want something; what that is stands in the leases (lease.h), or is
 * cosid_release.  The worker says here that it runs.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "postmaster/bgworker.h"
#include "storage/ipc.h"

#include "mint/clock.h"
#include "mint/launch.h"

/*
 * How long the worker may take to run after it was started, or, when it has ended,
 * to be started again by PostgreSQL, which it is after a second.  Whoever needs
 * it then starts another one.
 */
#define START_MS				2000

static BackgroundWorker worker = {
	.bgw_name = "cosid worker",
	.bgw_type = "cosid worker",
	.bgw_flags = BGWORKER_SHMEM_ACCESS | BGWORKER_BACKEND_DATABASE_CONNECTION,
	.bgw_start_time = BgWorkerStart_ConsistentState,
	.bgw_restart_time = 1,
	.bgw_library_name = "cosid",
	.bgw_function_name = "cosid_worker_main",
};

static CosidLaunch *shared = NULL;
LWLock	   *cosid_lock = NULL;

/* Whether the server starts the worker by itself. */
static bool preloaded = false;

/* Make one that nobody else sees yet. */
void
cosid_launch_init(CosidLaunch *launch)
{
	pg_atomic_init_u64(&launch->latch, 0);
	pg_atomic_init_u32(&launch->release, 0);
	launch->due_ms = 0;
	launch->starts = 0;
}

/* Use it in this process from now on. */
void
cosid_launch_attach(CosidLaunch *launch, LWLock *lock, bool is_preloaded)
{
	shared = launch;
	cosid_lock = lock;
	preloaded = is_preloaded;
}

/* When the library is preloaded: have the worker started with the server. */
void
cosid_worker_register(void)
{
	RegisterBackgroundWorker(&worker);
}

/*
 * Whether no worker runs, and none is expected.  If so, the caller is to start it,
 * and nobody else is for a while.
 */
static bool
worker_missing(void)
{
	int64		now_ms = cosid_clock_monotonic_ms();
	bool		missing;

	if (cosid_worker_runs())
		return false;
	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	missing = !cosid_worker_runs() && now_ms >= shared->due_ms;
	if (missing)
		shared->due_ms = now_ms + START_MS;
	LWLockRelease(cosid_lock);
	return missing;
}

/*
 * For a backend that needs the worker, when the library was not preloaded: start
 * it unless it runs or is about to.  From then on PostgreSQL starts it again when
 * it ends, even after a crash, when a backend may have started another one: the
 * second to come leaves.  Error 53400 when the server has no room for it.
 */
void
cosid_worker_ensure(void)
{
	if (preloaded || !worker_missing() ||
		RegisterDynamicBackgroundWorker(&worker, NULL))
		return;
	ereport(ERROR,
			(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
			 errmsg("could not start the cosid worker"),
			 errdetail("All of the server's background worker slots are in use."),
			 errhint("Increase the setting \"max_worker_processes\", or add cosid to \"shared_preload_libraries\".")));
}

/* Have the worker look at what is wanted; one that is to come does by itself. */
void
cosid_worker_wake(void)
{
	Latch	   *latch = (Latch *) (uintptr_t) pg_atomic_read_u64(&shared->latch);

	if (latch != NULL)
		SetLatch(latch);
}

/* Whether a worker has attached.  Without one, no claim is under way. */
bool
cosid_worker_runs(void)
{
	return pg_atomic_read_u64(&shared->latch) != 0;
}

/* Have the worker give back all machine ids and claim none, or end that. */
void
cosid_release_set(bool release)
{
	pg_atomic_exchange_u32(&shared->release, release);
	cosid_worker_wake();
}

/* Whether it is to do so. */
bool
cosid_release_is_set(void)
{
	return pg_atomic_read_u32(&shared->release) != 0;
}

/* At its end.  PostgreSQL starts it again before START_MS have passed. */
static void
detach(int code pg_attribute_unused(), Datum arg pg_attribute_unused())
{
	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	pg_atomic_write_u64(&shared->latch, 0);
	shared->due_ms = cosid_clock_monotonic_ms() + START_MS;
	LWLockRelease(cosid_lock);
}

/*
 * For the worker when it starts: who is to be woken, until it ends.  False if
 * another process is the worker.  Sets how many starts before this one have not
 * got as far as cosid_worker_connected().
 */
bool
cosid_worker_attach(Latch *latch, int *failed_starts)
{
	bool		alone;

	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	alone = !cosid_worker_runs();
	if (alone)
	{
		pg_atomic_write_u64(&shared->latch, (uint64) (uintptr_t) latch);
		*failed_starts = shared->starts++;
	}
	LWLockRelease(cosid_lock);
	if (alone)
		before_shmem_exit(detach, (Datum) 0);
	return alone;
}

/* It has reached its database, or needs none. */
void
cosid_worker_connected(void)
{
	shared->starts = 0;
}

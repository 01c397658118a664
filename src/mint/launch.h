/*-------------------------------------------------------------------------
 *
 * launch.h
 *		How a server comes by its worker, and how backends reach it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_LAUNCH_H
#define COSID_LAUNCH_H

#include "port/atomics.h"
#include "storage/latch.h"
#include "storage/lwlock.h"

/* In shared memory. */
typedef struct CosidLaunch
{
	/*
	 * The worker's latch, NULL while none runs.  Written by the worker under the
	 * lock, read by backends; a stale one is some process's latch, which a
	 * spurious wake-up does not hurt.
	 */
	pg_atomic_uint64 latch;

	/*
	 * Machine ids are to be given back and not claimed.  Written by
	 * cosid_release and cosid_resume, read by the worker, whose latch is set
	 * afterwards (both are full barriers), and by callers that say why they fail.
	 * Before a claim the worker looks at it under the lock: see
	 * cosid_lease_begin_claim.
	 */
	pg_atomic_uint32 release;

	/*
	 * Until when one that does not run is expected to, on the monotonic clock:
	 * it was just started, or will be by PostgreSQL.  Under the lock.
	 */
	int64		due_ms;

	/* Starts of the worker since it last reached its database; the worker's. */
	int			starts;
} CosidLaunch;

/*
 * Guards the creation of leases and slots, all CosidLeaseStatus, and who is the
 * worker.  Never taken to mint.
 */
extern LWLock *cosid_lock;

extern void cosid_launch_init(CosidLaunch *launch);
extern void cosid_launch_attach(CosidLaunch *launch, LWLock *lock, bool preloaded);

extern void cosid_worker_register(void);
extern void cosid_worker_ensure(void);
extern void cosid_worker_wake(void);
extern bool cosid_worker_runs(void);
extern void cosid_release_set(bool release);
extern bool cosid_release_is_set(void);

/* for the worker */
extern bool cosid_worker_attach(Latch *latch, int *failed_starts);
extern void cosid_worker_connected(void);

#endif							/* COSID_LAUNCH_H */

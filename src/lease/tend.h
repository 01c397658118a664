/*-------------------------------------------------------------------------
 *
 * tend.h
 *		Looking after one lease; for the worker alone.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_TEND_H
#define COSID_TEND_H

#include "mint/lease.h"

/* Giving all leases back at shutdown takes no longer than this, nor does one. */
#define COSID_RELEASE_TIMEOUT_MS	2000

/* After an idle lease's heartbeat, how long until something else happens. */
#define COSID_TEND_NEVER	PG_INT64_MAX

/*
 * What the worker remembers of a lease for itself.  Times are on the monotonic
 * clock.
 */
typedef struct CosidLeaseControl
{
	bool		known;			/* seen by this worker before */
	bool		wanted;			/* claim it, and create the registry if need be */
	bool		eager;			/* claim it if there is a registry */
	bool		reclaim;		/* someone found the clock far behind */
	int64		next_try;		/* not before, after an error */
	int64		retry_ms;		/* the pause before that; 0 while all is well */
	int64		extended_at;
	int64		minted_ms;		/* largest cursor at the last extension */
	bool		gave_up;		/* a machine id, for a wrong time; the next claim
								 * shows whether there was a better one */
	int64		next_give_up;	/* not before, if there was not */
	int			avoid;			/* the machine id that was lost or given up */
} CosidLeaseControl;

extern void cosid_tend_adopt(CosidLease *lease, CosidLeaseControl *control);
extern int64 cosid_tend(CosidLease *lease, CosidLeaseControl *control,
						bool releasing);
extern void cosid_tend_release(CosidLease *lease, int timeout_ms, bool all);

#endif							/* COSID_TEND_H */

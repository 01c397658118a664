/*-------------------------------------------------------------------------
 *
 * lease.h
 *		This server's claims to machine ids, in shared memory.
 *
 * One lease a namespace, in an array that only grows.  A lease is created by
 * the backend that first wants it (that of cosid.namespace with the array) and
 * from then on is the worker's to claim, extend and give back; see lease/tend.c.
 * Backends read its grant (grant.h) and, when that is missing or used up, ask
 * for one and sleep until something has changed.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_LEASE_H
#define COSID_LEASE_H

#include "datatype/timestamp.h"
#include "port/atomics.h"
#include "storage/condition_variable.h"

#include "settings.h"
#include "mint/grant.h"

#define COSID_MAX_ERROR		512 /* bytes of a kept error message */
#define COSID_MAX_REGISTRY_NAME	NAMEDATALEN

typedef enum CosidLeaseState
{
	COSID_LEASE_CLAIMING,		/* has no machine id yet */
	COSID_LEASE_HELD,
	COSID_LEASE_LOST,			/* taken by another server, or given up; the next
								 * claim runs */
	COSID_LEASE_RELEASED		/* given back, at shutdown or by cosid_release;
								 * no claim is under way */
} CosidLeaseState;

/*
 * What the worker knows of a lease beside its grant.  Written by the worker,
 * read by the views and by callers that give up waiting, all under the lock.
 * A worker that was restarted finds here what it needs to go on with the grant
 * that stands: registry, instance_id, token and watermark, which are written
 * before the version becomes even.
 */
typedef struct CosidLeaseStatus
{
	CosidLeaseState state;
	int			machine_id;		/* -1: never had one */
	int64		token;			/* fencing token of the claim */
	int64		floor;			/* the grant's, Unix ms */
	int64		watermark;		/* last one confirmed by the registry, Unix ms */
	char		instance_id[COSID_MAX_INSTANCE_ID + 1];
	char		registry[COSID_MAX_REGISTRY_NAME];	/* which one: registry.c */
	TimestampTz claimed_at;
	TimestampTz guarded_at;
	int64		claims;			/* since the server started */
	int64		losses;			/* likewise; to another server, or given up */
	bool		full;			/* the last claim found no machine id free */
	bool		failing;		/* the last attempt ended with this error: */
	char		last_error[COSID_MAX_ERROR];	/* empty: none yet */
	TimestampTz last_error_at;
} CosidLeaseStatus;

/* What a backend may want of the worker. */
typedef enum CosidWish
{
	COSID_WANT_GRANT = 1,		/* it is missing or used up */
	COSID_WANT_RECLAIM = 2		/* the clock is far behind: see there that it is,
								 * and go on with another machine id */
} CosidWish;

typedef struct CosidLease
{
	/* Set before the lease is published, constant from then on. */
	char		namespace[COSID_MAX_NAMESPACE + 1];
	int			machine_bit;	/* width: machine ids are below 2^machine_bit */

	/* The worker's under the lock, see above. */
	CosidLeaseStatus status;

	/*
	 * CosidWish flags.  Set by backends, taken by the worker (atomic operations
	 * that are full barriers, which orders them with the latch).
	 */
	pg_atomic_uint32 wanted;

	/* Signalled by the worker whenever grant or status have changed. */
	ConditionVariable changed;

	/* The worker writes, backends read without a lock: grant.h. */
	union
	{
		CosidGrant	grant;
		char		line[PG_CACHE_LINE_SIZE];
	} u			pg_attribute_aligned(PG_CACHE_LINE_SIZE);
} CosidLease;

extern Size cosid_lease_size(void);
extern void cosid_lease_init(void *memory);
extern void cosid_lease_attach(void *memory);

extern int	cosid_lease_count(void);
extern CosidLease *cosid_lease_at(int index);
extern int	cosid_lease_index(const CosidLease *lease);
extern CosidLease *cosid_lease_get(const char *namespace, int machine_bit);
extern bool cosid_lease_fits(const CosidLease *lease, int machine_id);
extern void cosid_lease_want(CosidLease *lease, CosidWish wish);
extern uint32 cosid_lease_take_wanted(CosidLease *lease);
extern void cosid_lease_read(CosidLease *lease, CosidLeaseStatus *status);
extern void cosid_lease_write(CosidLease *lease, const CosidLeaseStatus *status);
extern bool cosid_lease_begin_claim(CosidLease *lease, CosidLeaseStatus *status);
extern void cosid_lease_error(CosidLease *lease, const char *message);
extern void cosid_status_error(CosidLeaseStatus *status, const char *message);
extern const char *cosid_status_error_detail(const CosidLeaseStatus *status);
extern const char *cosid_lease_state_name(CosidLeaseState state);

#endif							/* COSID_LEASE_H */

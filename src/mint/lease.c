/*-------------------------------------------------------------------------
 *
 * lease.c
 *		This server's claims to machine ids, in shared memory; see lease.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "mb/pg_wchar.h"
#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "mint/launch.h"
#include "mint/lease.h"

typedef struct LeaseShared
{
	/*
	 * How many leases are published.  Written under the lock after the lease
	 * itself (a write barrier between), read by anyone.
	 */
	pg_atomic_uint32 count;

	CosidLease	leases[FLEXIBLE_ARRAY_MEMBER];
} LeaseShared;

/* Shared memory begins with a cache line, so each grant has one to itself. */
StaticAssertDecl(offsetof(LeaseShared, leases) % PG_CACHE_LINE_SIZE == 0 &&
				 sizeof(CosidLease) % PG_CACHE_LINE_SIZE == 0 &&
				 offsetof(CosidLease, u) == sizeof(CosidLease) - PG_CACHE_LINE_SIZE,
				 "a grant must have a cache line of its own");

static LeaseShared *shared = NULL;

Size
cosid_lease_size(void)
{
	return add_size(offsetof(LeaseShared, leases),
					mul_size(sizeof(CosidLease), cosid_max_namespaces));
}

int
cosid_lease_count(void)
{
	int			count = (int) pg_atomic_read_u32(&shared->count);

	pg_read_barrier();
	return count;
}

CosidLease *
cosid_lease_at(int index)
{
	return &shared->leases[index];
}

int
cosid_lease_index(const CosidLease *lease)
{
	return (int) (lease - shared->leases);
}

static CosidLease *
find_lease(const char *namespace)
{
	int			count = cosid_lease_count();

	for (int i = 0; i < count; i++)
	{
		if (strcmp(shared->leases[i].namespace, namespace) == 0)
			return &shared->leases[i];
	}
	return NULL;
}

/* Set up a lease and publish it.  There must be room. */
static CosidLease *
add_lease(LeaseShared *memory, const char *namespace, int machine_bit)
{
	uint32		count = pg_atomic_read_u32(&memory->count);
	CosidLease *lease = &memory->leases[count];

	memset(lease, 0, sizeof(CosidLease));
	strlcpy(lease->namespace, namespace, sizeof(lease->namespace));
	lease->machine_bit = machine_bit;
	lease->status.state = COSID_LEASE_CLAIMING;
	lease->status.machine_id = -1;
	pg_atomic_init_u32(&lease->wanted, 0);
	ConditionVariableInit(&lease->changed);
	cosid_grant_init(&lease->u.grant);
	pg_write_barrier();
	pg_atomic_write_u32(&memory->count, count + 1);
	return lease;
}

/*
 * The width of a namespace that generators have by default, whatever generator
 * is the first to use it: another database's must not make it too wide for
 * everyone.  0: the name says nothing.
 */
static int
default_width(const char *namespace)
{
	size_t		length = strlen(cosid_namespace);
	CosidLayout layout;
	int			width;

	if (strncmp(namespace, cosid_namespace, length) != 0)
		return 0;
	if (namespace[length] == '\0')
	{
		cosid_layout_default(&layout, COSID_MILLISECOND, false);
		return layout.machine_bit;
	}
	width = namespace[length] == '-' ? atoi(namespace + length + 1) : 0;
	return width >= 1 && width <= COSID_MAX_MACHINE_BITS ? width : 0;
}

/*
 * Make leases of cosid_lease_size() bytes that nobody else sees yet; they
 * begin with a cache line.
 */
void
cosid_lease_init(void *memory)
{
	LeaseShared *leases = memory;

	pg_atomic_init_u32(&leases->count, 0);

	/* The server's own namespace: the worker claims it without being asked. */
	add_lease(leases, cosid_namespace, default_width(cosid_namespace));
}

/* Use these leases in this process from now on. */
void
cosid_lease_attach(void *memory)
{
	shared = memory;
}

/*
 * The lease of a namespace, created if there is none: as wide as its first
 * generator, unless its name says how wide.  Error 53400 when there is no room.
 */
CosidLease *
cosid_lease_get(const char *namespace, int machine_bit)
{
	CosidLease *lease = find_lease(namespace);
	int			width = default_width(namespace);

	if (lease != NULL)
		return lease;

	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	lease = find_lease(namespace);
	if (lease == NULL)
	{
		if (cosid_lease_count() >= cosid_max_namespaces)
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("too many cosid namespaces on this server"),
					 errhint("Increase the setting \"cosid.max_namespaces\".")));
		lease = add_lease(shared, namespace, width != 0 ? width : machine_bit);
	}
	LWLockRelease(cosid_lock);
	return lease;
}

/* Whether a machine id is one that the lease could be of; -1: any would do. */
bool
cosid_lease_fits(const CosidLease *lease, int machine_id)
{
	return machine_id < (INT64CONST(1) << lease->machine_bit);
}

/* Ask the worker for something. */
void
cosid_lease_want(CosidLease *lease, CosidWish wish)
{
	pg_atomic_fetch_or_u32(&lease->wanted, wish);
	cosid_worker_wake();
}

/* For the worker: what was asked for since the last call. */
uint32
cosid_lease_take_wanted(CosidLease *lease)
{
	return pg_atomic_exchange_u32(&lease->wanted, 0);
}

void
cosid_lease_read(CosidLease *lease, CosidLeaseStatus *status)
{
	LWLockAcquire(cosid_lock, LW_SHARED);
	*status = lease->status;
	LWLockRelease(cosid_lock);
}

/* For the worker; tells those who wait. */
void
cosid_lease_write(CosidLease *lease, const CosidLeaseStatus *status)
{
	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	lease->status = *status;
	LWLockRelease(cosid_lock);
	ConditionVariableBroadcast(&lease->changed);
}

/*
 * For the worker, just before a claim.  False if there is to be none.
 *
 * cosid_release sets its mark, and then waits until the lease is released.  Since
 * both the look at the mark and the state's change are under the lock, either the
 * mark is seen here, or who has set it sees that the lease is not released.
 */
bool
cosid_lease_begin_claim(CosidLease *lease, CosidLeaseStatus *status)
{
	bool		begins;

	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	begins = !cosid_release_is_set();
	if (begins && lease->status.state == COSID_LEASE_RELEASED)
		lease->status.state = status->state = COSID_LEASE_CLAIMING;
	LWLockRelease(cosid_lock);
	return begins;
}

/* Keep an error for those who ask what is wrong. */
void
cosid_status_error(CosidLeaseStatus *status, const char *message)
{
	int			length = pg_mbcliplen(message, (int) strlen(message),
									  COSID_MAX_ERROR - 1);

	status->failing = true;
	memcpy(status->last_error, message, length);
	status->last_error[length] = '\0';
	status->last_error_at = GetCurrentTimestamp();
}

/* The same in shared memory; for the worker. */
void
cosid_lease_error(CosidLease *lease, const char *message)
{
	CosidLeaseStatus status;

	cosid_lease_read(lease, &status);
	cosid_status_error(&status, message);
	cosid_lease_write(lease, &status);
}

/* That error as a sentence, for a message to whoever waits in vain. */
const char *
cosid_status_error_detail(const CosidLeaseStatus *status)
{
	/* Kept in the encoding of the worker's database. */
	if (pg_verifymbstr(status->last_error, (int) strlen(status->last_error), true))
		return psprintf("The worker's last error: %s.", status->last_error);
	return "The worker has reported an error, see the server's log.";
}

const char *
cosid_lease_state_name(CosidLeaseState state)
{
	static const char *const names[] = {
		[COSID_LEASE_CLAIMING] = "claiming",
		[COSID_LEASE_HELD] = "held",
		[COSID_LEASE_LOST] = "lost",
		[COSID_LEASE_RELEASED] = "released",
	};

	return names[state];
}

/*-------------------------------------------------------------------------
 *
 * registry.h
 *		The worker's way to the registry, wherever that is.
 *
 * Each call is a transaction of its own, bounded in time.  It reports errors
 * by status and text (of COSID_MAX_ERROR bytes) and never raises one, and what it
 * returns has been committed: a commit whose outcome is unknown counts as failed.
 *
 * There are two kinds of registry.  registry.c chooses and the worker calls that;
 * what a kind must do is below.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_REGISTRY_H
#define COSID_REGISTRY_H

#include <signal.h>

#include "lease/machine.h"
#include "mint/lease.h"

typedef enum CosidRegistryStatus
{
	COSID_REGISTRY_OK,
	COSID_REGISTRY_ABSENT,		/* its database does not have the extension */
	COSID_REGISTRY_LOST,		/* the lease is not ours any more */
	COSID_REGISTRY_REFUSED,		/* no machine id can be had; see the message */
	COSID_REGISTRY_FAILED		/* see the message */
} CosidRegistryStatus;

extern void cosid_registry_connect(void);
extern bool cosid_registry_same(void);
extern bool cosid_registry_change(void);
extern const char *cosid_registry_name(void);
extern bool cosid_registry_serves_standby(void);
extern CosidRegistryStatus cosid_registry_claim(CosidLease *lease, bool create,
												int64 lead, int64 least_floor,
												int avoid, CosidClaimed *claimed,
												char *error);
extern CosidRegistryStatus cosid_registry_guard(const CosidLease *lease,
												const CosidLeaseStatus *status,
												int64 lead, int64 *watermark,
												char *error);
extern CosidRegistryStatus cosid_registry_revert(const CosidLease *lease,
												 const CosidLeaseStatus *status,
												 int64 watermark, int timeout_ms,
												 char *error);

/*
 * A call is under way in this server's own database that SIGTERM is to cancel.
 * (One to another server looks at ShutdownRequestPending whenever its latch is
 * set.)
 */
extern volatile sig_atomic_t cosid_registry_cancellable;

/* How long a call may take (giving back says so itself), and wait for a lock. */
#define COSID_CALL_TIMEOUT_MS	5000
#define COSID_LOCK_TIMEOUT		"1s"

typedef enum CosidRegistryStep
{
	COSID_STEP_CLAIM,
	COSID_STEP_GUARD,
	COSID_STEP_REVERT			/* commit in the registry's own server only, and
								 * let no shutdown cut it short */
} CosidRegistryStep;

/* A call: one step of a lease. */
typedef struct CosidRegistryCall
{
	CosidRegistryStep step;
	int			timeout_ms;
	int64		deadline;		/* the same on the monotonic clock, if the kind
								 * has set it */
	char	   *error;			/* why it failed: COSID_MAX_ERROR bytes */

	/* claim */
	bool		create;			/* the extension if it is absent, in a registry
								 * of the server's own */
	CosidClaim *claim;
	CosidClaimed *claimed;		/* what came of it */

	/* guard and revert */
	CosidHolding holding;
	const char *identity;		/* guard's, as is the lead */
	int64		lead;
	int64		watermark;		/* to leave; what guard has raised it to */
} CosidRegistryCall;

/* A kind of registry, for registry.c alone. */
typedef struct CosidRegistryKind
{
	bool		elsewhere;		/* in another server */

	/*
	 * What a lease's status calls the registry that the settings name, at most
	 * COSID_MAX_REGISTRY_NAME bytes.
	 */
	void		(*name) (char *name);

	/* For the worker, once: connect, as a process, to what the settings name. */
	void		(*connect) (void);

	/*
	 * From now on go to the registry that the settings name, by the way they say.
	 * NULL: the one that the worker has connected to can't be left.
	 */
	void		(*use) (void);

	/* Run a call.  May raise an error, and leave CurrentMemoryContext changed. */
	CosidRegistryStatus (*run) (CosidRegistryCall *call);

	/* After each, also one that has raised an error: it has failed then. */
	void		(*finish) (bool failed);
} CosidRegistryKind;

extern const CosidRegistryKind cosid_registry_local;
extern const CosidRegistryKind cosid_registry_remote;

/* What both kinds have in common. */
extern void cosid_registry_check_version(const char *version);

#endif							/* COSID_REGISTRY_H */

/*-------------------------------------------------------------------------
 *
 * registry.h
 *		The worker's way to the registry, wherever that is.
 *
 * Each call is a transaction of its own, bounded in time.  It reports errors
 * by status and message and never raises one, and what it returns has been
 * committed: a commit whose outcome is unknown counts as failed.
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
	COSID_REGISTRY_FAILED		/* see the message */
} CosidRegistryStatus;

/* What a call says about its failure. */
typedef struct CosidRegistryError
{
	char		message[COSID_MAX_ERROR];
} CosidRegistryError;

/*
 * A call is under way in this server's own database that SIGTERM is to cancel.
 * (One to another server looks at ShutdownRequestPending whenever its latch is
 * set.)
 */
extern volatile sig_atomic_t cosid_registry_cancellable;

extern void cosid_registry_connect(void);
extern bool cosid_registry_same(void);
extern bool cosid_registry_change(void);
extern const char *cosid_registry_name(void);
extern bool cosid_registry_serves_standby(void);
extern CosidRegistryStatus cosid_registry_claim(CosidLease *lease, bool create,
												int64 lead, int64 least_floor,
												int avoid,
												CosidClaimed *claimed,
												CosidRegistryError *error);
extern CosidRegistryStatus cosid_registry_guard(const CosidHolding *holding,
												int64 lead, int64 *watermark,
												CosidRegistryError *error);
extern CosidRegistryStatus cosid_registry_revert(const CosidHolding *holding,
												 int64 watermark,
												 int timeout_ms,
												 CosidRegistryError *error);

#endif							/* COSID_REGISTRY_H */

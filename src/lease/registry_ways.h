/*-------------------------------------------------------------------------
 *
 * registry_ways.h
 *		The two ways to a registry, for registry.c alone.
 *
 * registry_local.c goes by SPI to the server's own, registry_remote.c by libpq
 * to another server's.  Both keep what registry.h promises: a call is one
 * transaction, ends in time, and reports errors rather than raise them.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_REGISTRY_WAYS_H
#define COSID_REGISTRY_WAYS_H

#include "lease/registry.h"

/* How long a call may take (giving back says so itself), and wait for a lock. */
#define COSID_CALL_TIMEOUT_MS	5000
#define COSID_LOCK_TIMEOUT		"1s"

extern void cosid_registry_check_version(const char *version);

extern void cosid_local_connect(void);
extern CosidRegistryStatus cosid_local_claim(CosidClaim *claim, bool create,
											 CosidClaimed *claimed,
											 CosidRegistryError *error);
extern CosidRegistryStatus cosid_local_guard(const CosidHolding *holding,
											 const char *identity, int64 lead,
											 int64 *watermark,
											 CosidRegistryError *error);
extern CosidRegistryStatus cosid_local_revert(const CosidHolding *holding,
											  int64 watermark, int timeout_ms,
											  CosidRegistryError *error);

extern void cosid_remote_connect(void);
extern void cosid_remote_use(const char *conninfo);
extern uint64 cosid_remote_mark(const char *conninfo);
extern CosidRegistryStatus cosid_remote_claim(CosidClaim *claim,
											  CosidClaimed *claimed,
											  CosidRegistryError *error);
extern CosidRegistryStatus cosid_remote_guard(const CosidHolding *holding,
											  const char *identity, int64 lead,
											  int64 *watermark,
											  CosidRegistryError *error);
extern CosidRegistryStatus cosid_remote_revert(const CosidHolding *holding,
											   int64 watermark, int timeout_ms,
											   CosidRegistryError *error);

#endif							/* COSID_REGISTRY_WAYS_H */

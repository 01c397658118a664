/*-------------------------------------------------------------------------
 *
 * cosid.c
 *		The library's entry: settings, shared memory, the worker.
 *
 * Preloaded (shared_preload_libraries), it reserves shared memory and starts the
 * worker.  Loaded by a session instead, it can define, parse and convert; to mint
 * it takes what segment.c does.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "fmgr.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "catalog.h"
#include "settings.h"
#include "define/ddl.h"
#include "define/row.h"
#include "define/shared_cache.h"
#include "lease/identity.h"
#include "mint/launch.h"
#include "mint/segment.h"

PG_MODULE_MAGIC;

void		_PG_init(void);

static shmem_request_hook_type previous_shmem_request_hook = NULL;
static shmem_startup_hook_type previous_shmem_startup_hook = NULL;

static void
shmem_request(void)
{
	if (previous_shmem_request_hook != NULL)
		previous_shmem_request_hook();
	RequestAddinShmemSpace(cosid_segment_size());
	RequestAddinShmemSpace(cosid_shared_cache_size());
}

static void
shmem_startup(void)
{
	if (previous_shmem_startup_hook != NULL)
		previous_shmem_startup_hook();
	LWLockAcquire(AddinShmemInitLock, LW_EXCLUSIVE);
	cosid_segment_startup();
	cosid_shared_cache_init();
	LWLockRelease(AddinShmemInitLock);
}

void
_PG_init(void)
{
	cosid_settings_define(process_shared_preload_libraries_in_progress);
	cosid_catalog_init();
	cosid_row_init();
	if (!process_shared_preload_libraries_in_progress)
		return;

	previous_shmem_request_hook = shmem_request_hook;
	shmem_request_hook = shmem_request;
	previous_shmem_startup_hook = shmem_startup_hook;
	shmem_startup_hook = shmem_startup;

	cosid_ddl_init();
	cosid_shared_cache_watch();

	/* pg_upgrade's servers must not claim anything. */
	if (IsBinaryUpgrade)
		return;
	cosid_distributor_init();
	if (cosid_worker)
		cosid_worker_register();
}

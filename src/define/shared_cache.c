/*-------------------------------------------------------------------------
 *
 * shared_cache.c
 *		Definitions that sessions have read, for those that come after them.
 *
 * The first use of a generator in a session would have to read its row, and for
 * that PostgreSQL loads what it knows about the table, its index, triggers and
 * constraints: twice the time of a sequence's first use.  So whoever has read a
 * row leaves here what it says.
 *
 * What is found here is what reading the row would give.  All entries hold as
 * long as `changes` is what it was before their rows were read.  A transaction
 * that changes rows adds to it when others can see them (XACT_EVENT_COMMIT comes
 * after that), and before its client or an invalidation message tells anyone.
 * An entry that was read in between is of the old number, and never used.
 *
 * Nothing is looked for or left here
 * - by a transaction that has changed rows itself, nor by a parallel worker,
 *   whose leader may have: they see what others must not;
 * - in recovery, where rows change without a transaction of this server;
 * - while prepared transactions are allowed, which commit from anywhere.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/twophase.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "settings.h"
#include "define/shared_cache.h"
#include "mint/launch.h"

/* Written and read under cosid_lock. */
typedef struct Entry
{
	Oid			database;		/* InvalidOid: none yet */
	uint64		changes;		/* when its row was read */
	CosidDefinition definition;
} Entry;

typedef struct SharedCache
{
	/*
	 * Changes that were committed since the server started.  Added to by whoever
	 * has committed one, read by everyone (both are atomic; what orders them with
	 * the rows are the locks within commit and snapshot).
	 */
	pg_atomic_uint64 changes;

	/* A definition's place is its hash's: a later one takes it from another. */
	Entry		entries[FLEXIBLE_ARRAY_MEMBER];
} SharedCache;

static SharedCache *shared = NULL;

/* Whether the current transaction has changed rows. */
static bool changed = false;

Size
cosid_shared_cache_size(void)
{
	return add_size(offsetof(SharedCache, entries),
					mul_size(sizeof(Entry), cosid_max_generators));
}

/* Runs with AddinShmemInitLock held. */
void
cosid_shared_cache_init(void)
{
	bool		found;

	shared = ShmemInitStruct("cosid definitions", cosid_shared_cache_size(), &found);
	if (!found)
	{
		memset(shared, 0, cosid_shared_cache_size());
		pg_atomic_init_u64(&shared->changes, 0);
	}
}

static bool
usable(void)
{
	return shared != NULL && !changed && !IsParallelWorker() &&
		max_prepared_xacts == 0 && !RecoveryInProgress();
}

static Entry *
place(const char *name)
{
	uint32		hash = hash_combine(hash_bytes((const unsigned char *) name, (int) strlen(name)),
									hash_bytes_uint32(MyDatabaseId));

	return &shared->entries[hash % (uint32) cosid_max_generators];
}

/* What the row of a name says; false if that is not known here. */
bool
cosid_shared_cache_find(const char *name, CosidDefinition *definition)
{
	Entry	   *entry;
	bool		found;

	if (!usable())
		return false;
	entry = place(name);
	LWLockAcquire(cosid_lock, LW_SHARED);
	found = entry->database == MyDatabaseId &&
		entry->changes == pg_atomic_read_u64(&shared->changes) &&
		strcmp(entry->definition.generator.name, name) == 0;
	if (found)
		*definition = entry->definition;
	LWLockRelease(cosid_lock);
	return found;
}

/* To be called before a row is read that is to be kept. */
uint64
cosid_shared_cache_changes(void)
{
	return shared == NULL ? 0 : pg_atomic_read_u64(&shared->changes);
}

/* Keep what a row says that has been read since `changes` was asked for. */
void
cosid_shared_cache_keep(const CosidDefinition *definition, uint64 changes)
{
	Entry	   *entry;

	if (!usable())
		return;
	entry = place(definition->generator.name);
	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	entry->database = MyDatabaseId;
	entry->changes = changes;
	entry->definition = *definition;
	LWLockRelease(cosid_lock);
}

/* The current transaction changes rows, or what databases have any. */
void
cosid_shared_cache_changed(void)
{
	changed = true;
}

static void
end_transaction(XactEvent event, void *arg pg_attribute_unused())
{
	switch (event)
	{
		case XACT_EVENT_COMMIT:
			if (changed && shared != NULL)
				pg_atomic_fetch_add_u64(&shared->changes, 1);
			changed = false;
			break;
		case XACT_EVENT_ABORT:
		case XACT_EVENT_PREPARE:
			changed = false;
			break;
		default:
			break;
	}
}

/* When the library is preloaded. */
void
cosid_shared_cache_watch(void)
{
	RegisterXactCallback(end_transaction, NULL);
}

/*-------------------------------------------------------------------------
 *
 * segment.c
 *		The shared memory: the worker's place, leases and slots.
 *
 * Preloaded, it is memory that the server sets aside when it starts.  Else, from
 * PostgreSQL 17 on, it is a segment with a name, which the first process that
 * needs it creates and which stays until the server ends, or starts over after a
 * crash.  That one has another address in each process, so nothing in it points
 * into it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"

#include "compat.h"
#include "settings.h"
#include "mint/launch.h"
#include "mint/lease.h"
#include "mint/segment.h"
#include "mint/slot.h"

/*
 * To be raised with each change of what is in here, or means.  Sessions that
 * loaded the library before and after its file was replaced meet in one segment;
 * the later ones must not touch what is not theirs.
 */
#define SEGMENT_VERSION	2

/* After it come the leases, then the slots, all aligned to cache lines. */
typedef struct Segment
{
	int			version;
	int			tranche;		/* of the lock */
	LWLock		lock;			/* cosid_lock, see launch.h */
	CosidLaunch launch;
} Segment;

#define LEASES_OFFSET	CACHELINEALIGN(sizeof(Segment))
#define SLOTS_OFFSET	add_size(LEASES_OFFSET, cosid_lease_size())

/* Whether this process has it at hand. */
static bool attached = false;

Size
cosid_segment_size(void)
{
	return add_size(SLOTS_OFFSET, cosid_slot_size());
}

/* Nothing here may fail: a segment would stay as it is then. */
static void
init_segment(void *memory)
{
	Segment    *segment = memory;

	segment->version = SEGMENT_VERSION;
	segment->tranche = LWLockNewTrancheId();
	LWLockInitialize(&segment->lock, segment->tranche);
	cosid_launch_init(&segment->launch);
	cosid_lease_init((char *) memory + LEASES_OFFSET);
	cosid_slot_init((char *) memory + SLOTS_OFFSET);
}

static void
use_segment(Segment *segment, bool preloaded)
{
	LWLockRegisterTranche(segment->tranche, "cosid");
	cosid_launch_attach(&segment->launch, &segment->lock, preloaded);
	cosid_lease_attach((char *) segment + LEASES_OFFSET);
	cosid_slot_attach((char *) segment + SLOTS_OFFSET);
	attached = true;
}

/* Preloaded, when the server starts.  Runs with AddinShmemInitLock held. */
void
cosid_segment_startup(void)
{
	bool		found;
	Segment    *segment = ShmemInitStruct("cosid", cosid_segment_size(), &found);

	if (!found)
		init_segment(segment);
	use_segment(segment, true);
}

/*
 * See that this process has leases and slots at hand, preloaded or in the segment.
 * False if it can't, reported at elevel as 55000.
 *
 * Without preloading, the settings that take effect when the server starts have
 * their defaults whatever the configuration says.  A server that was told another
 * namespace or machine id must not mint as if it had not been.
 */
bool
cosid_segment_attach(int elevel)
{
	const char *setting = NULL;
	Segment    *segment = NULL;
	bool		found;

	if (attached)
		return true;

	/* Without a postmaster, and for pg_upgrade, there is no worker. */
	if (IsUnderPostmaster && !IsBinaryUpgrade &&
		(setting = cosid_settings_unserved()) == NULL)
		segment = cosid_named_segment("cosid", cosid_segment_size(), init_segment, &found);
	if (segment == NULL)
	{
		ereport(elevel,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cosid must be loaded when the server starts"),
				 setting == NULL ? 0 :
				 errdetail("The setting \"%s\" has no effect otherwise.", setting),
				 errhint("Add cosid to the setting \"shared_preload_libraries\" and restart the server.")));
		return false;
	}

	if (segment->version != SEGMENT_VERSION)
	{
		ereport(elevel,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("the server is using another version of the cosid library"),
				 errhint("Restart the server.")));
		return false;
	}
	use_segment(segment, false);
	return true;
}

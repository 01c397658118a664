/*-------------------------------------------------------------------------
 *
 * wait_event.c
 *		What pg_stat_activity says while a process of ours waits.
 *
 * PostgreSQL has names for such events from 17 on; before, all are "Extension".
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "compat.h"
#include "mint/wait_event.h"

static const char *const names[] = {
	[COSID_EVENT_TICK] = "CosidTick",
	[COSID_EVENT_CLOCK] = "CosidClock",
	[COSID_EVENT_GRANT] = "CosidGrant",
	[COSID_EVENT_WORKER] = "CosidWorkerMain",
	[COSID_EVENT_REGISTRY] = "CosidRegistry",
};

/*
 * The event's number, as PostgreSQL's functions that wait take it.  The first
 * use of a name in a process takes a lock, so it is looked up when the process
 * waits anyway.
 */
uint32
cosid_wait_event(CosidWaitEvent event)
{
	static uint32 numbers[lengthof(names)];

	if (numbers[event] == 0)
		numbers[event] = cosid_wait_event_new(names[event]);
	return numbers[event];
}

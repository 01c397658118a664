/*-------------------------------------------------------------------------
 *
 * wait_event.h
 *		What pg_stat_activity says while a process of ours waits.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_WAIT_EVENT_H
#define COSID_WAIT_EVENT_H

#include "utils/wait_event.h"

typedef enum CosidWaitEvent
{
	COSID_EVENT_TICK,			/* a caller: the sequence was used up */
	COSID_EVENT_CLOCK,			/* a caller: the clock is behind */
	COSID_EVENT_GRANT,			/* a caller: no grant, or not for this time */
	COSID_EVENT_WORKER,			/* the worker: nothing to do */
	COSID_EVENT_REGISTRY		/* the worker: an answer of a remote registry */
} CosidWaitEvent;

extern uint32 cosid_wait_event(CosidWaitEvent event);

#endif							/* COSID_WAIT_EVENT_H */

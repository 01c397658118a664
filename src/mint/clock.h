/*-------------------------------------------------------------------------
 *
 * clock.h
 *		The wall clock, and waiting: for it, or for anything else.
 *
 * Everything here is Unix time.  Wall time is what IDs are made of; where a
 * span is measured (time-outs, heartbeats), cosid_clock_monotonic_ms() is used,
 * which no step of the wall clock touches.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_CLOCK_H
#define COSID_CLOCK_H

#include <time.h>

#include "datatype/timestamp.h"

#include "id/snowflake.h"

/* What pg_stat_activity says while a process of ours waits. */
typedef enum CosidWaitEvent
{
	COSID_EVENT_TICK,			/* a caller: the sequence was used up */
	COSID_EVENT_CLOCK,			/* a caller: the clock is behind */
	COSID_EVENT_GRANT,			/* a caller: no grant, or not for this time */
	COSID_EVENT_WORKER,			/* the worker: nothing to do */
	COSID_EVENT_REGISTRY		/* the worker: an answer of a remote registry */
} CosidWaitEvent;

/* The clock in a layout's unit. */
static inline int64
cosid_clock_now(CosidUnit unit)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (unit == COSID_SECOND)
		return now.tv_sec;
	return (int64) now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static inline int64
cosid_clock_now_ms(void)
{
	return cosid_clock_now(COSID_MILLISECOND);
}

extern int64 cosid_clock_monotonic_us(void);
extern int64 cosid_clock_monotonic_ms(void);
extern uint32 cosid_wait_event(CosidWaitEvent event);
extern void cosid_clock_wait(int64 until_ms, int64 spin_us, CosidWaitEvent event);
extern bool cosid_ms_to_timestamptz(int64 unix_ms, TimestampTz *result);

#endif							/* COSID_CLOCK_H */

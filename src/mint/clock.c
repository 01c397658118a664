/*-------------------------------------------------------------------------
 *
 * clock.c
 *		The wall clock, and waiting; see clock.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <time.h>

#include "common/int.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "storage/s_lock.h"
#include "utils/timestamp.h"
#include "utils/wait_event.h"

#include "compat.h"
#include "mint/clock.h"

/*
 * Sleeps shorter than this are left to the kernel's timer, which is finer than
 * a latch's milliseconds; they are short enough not to need waking up.
 */
#define SHORT_SLEEP_US		2000

/* A sleep ends at least this often to see whether the clock was set. */
#define LONGEST_SLEEP_MS	100

/* Clock readings of a spinning wait between two looks at interrupts. */
#define SPINS_PER_CHECK		100

static const char *const event_names[] = {
	[COSID_EVENT_TICK] = "CosidTick",
	[COSID_EVENT_CLOCK] = "CosidClock",
	[COSID_EVENT_GRANT] = "CosidGrant",
	[COSID_EVENT_WORKER] = "CosidWorkerMain",
	[COSID_EVENT_REGISTRY] = "CosidRegistry",
};

/*
 * The event's number, as PostgreSQL's functions that wait take it.  From 17 on they
 * have names; before, all are "Extension".  The first use of a name in a process
 * takes a lock, so it is looked up when the process waits anyway.
 */
uint32
cosid_wait_event(CosidWaitEvent event)
{
	static uint32 numbers[lengthof(event_names)];

	if (numbers[event] == 0)
		numbers[event] = cosid_wait_event_new(event_names[event]);
	return numbers[event];
}

static int64
now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* A clock that only goes forward; its zero means nothing. */
int64
cosid_clock_monotonic_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

int64
cosid_clock_monotonic_ms(void)
{
	return cosid_clock_monotonic_us() / 1000;
}

/*
 * Wait for the wall clock to read until_ms.  The last spin_us of it are waited
 * out actively, the rest asleep.  May return early (the clock may be set, a
 * latch woken at any time): callers look at the clock again.  Interruptible.
 * pg_stat_activity shows the event while it is asleep.
 */
void
cosid_clock_wait(int64 until_ms, int64 spin_us, CosidWaitEvent event)
{
	int64		until_us = until_ms * 1000;
	int64		left_us = until_us - now_us();

	CHECK_FOR_INTERRUPTS();

	if (left_us <= 0)
		return;

	if (left_us <= spin_us)
	{
		for (int spins = 0; spins < SPINS_PER_CHECK && now_us() < until_us; spins++)
			SPIN_DELAY();
	}
	else if (left_us < SHORT_SLEEP_US)
	{
		pgstat_report_wait_start(cosid_wait_event(event));
		pg_usleep(left_us - spin_us);
		pgstat_report_wait_end();
	}
	else
	{
		int64		left_ms = (left_us - spin_us) / 1000;

		(void) WaitLatch(MyLatch,
						 WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
						 (long) Min(left_ms, LONGEST_SLEEP_MS),
						 cosid_wait_event(event));
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
}

/* Unix ms as a timestamptz; false when there is none for it. */
bool
cosid_ms_to_timestamptz(int64 unix_ms, TimestampTz *result)
{
	const int64 epoch_shift_ms =
		(POSTGRES_EPOCH_JDATE - UNIX_EPOCH_JDATE) * (USECS_PER_DAY / 1000);
	int64		postgres_ms;

	return !pg_sub_s64_overflow(unix_ms, epoch_shift_ms, &postgres_ms) &&
		!pg_mul_s64_overflow(postgres_ms, 1000, result) &&
		IS_VALID_TIMESTAMP(*result);
}

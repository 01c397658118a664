/*-------------------------------------------------------------------------
 *
 * clockshift.c
 *		A wall clock that tests can set, for one server only.
 *
 * Preloaded (LD_PRELOAD) into a postmaster and so into all of its children, it
 * shifts what clock_gettime, gettimeofday, time and timespec_get say about the
 * wall clock.  All other clocks stay as they are.  The shift stands in a file
 * that is mapped by every process, so a change is seen by all of them at once;
 * the environment variable COSID_CLOCK_FILE names it.  Without the variable
 * nothing is shifted.
 *
 * libfaketime does not do: a PostgreSQL 15 postmaster forks its children inside
 * of a signal handler, where that library keeps the real time.  Here all that
 * may block or allocate is done by the constructor; after it a call reads memory
 * and calls the kernel, which is safe anywhere.
 *
 * The file (written by t/CosidClock.pm) is a ClockFile.  A change is written
 * into the setting after the one that is in use, and then `current` is changed,
 * which is one byte: readers see the old setting or the new one.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define FILE_VARIABLE	"COSID_CLOCK_FILE"

#define NS_PER_S		INT64_C(1000000000)
#define NS_PER_US		INT64_C(1000)

/* The clock is the real one + shift + drift * (monotonic clock - since). */
typedef struct ClockSetting
{
	int64_t		shift_us;
	int64_t		drift_ppm;
	int64_t		since_us;
} ClockSetting;

typedef struct ClockFile
{
	_Atomic uint8_t current;	/* which setting counts */
	uint8_t		unused[7];
	ClockSetting settings[256];
} ClockFile;

typedef int (*ClockGetTime) (clockid_t clock, struct timespec *now);

/* Both are set by the constructor and constant from then on. */
static const ClockFile *clock_file = NULL;
static ClockGetTime real_clock_gettime = NULL;

static void
fail(const char *what)
{
	perror(what);
	_exit(127);
}

__attribute__((constructor))
static void
map_clock_file(void)
{
	const char *name = getenv(FILE_VARIABLE);
	void	   *mapped;
	int			fd;

	/* The C library's, which need not enter the kernel. */
	*(void **) &real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	if (name == NULL)
		return;
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(name);
	mapped = mmap(NULL, sizeof(ClockFile), PROT_READ, MAP_SHARED, fd, 0);
	if (mapped == MAP_FAILED)
		fail(name);
	close(fd);
	clock_file = mapped;
}

static int
real_time(clockid_t clock, struct timespec *now)
{
	/* Some other library's constructor may run before ours. */
	if (real_clock_gettime == NULL)
		return (int) syscall(SYS_clock_gettime, clock, now);
	return real_clock_gettime(clock, now);
}

static int64_t
shift_ns(void)
{
	const ClockSetting *setting;
	int64_t		shift_us;

	if (clock_file == NULL)
		return 0;
	setting = &clock_file->settings[atomic_load_explicit(&clock_file->current,
														 memory_order_acquire)];
	shift_us = setting->shift_us;
	if (setting->drift_ppm != 0)
	{
		struct timespec now;
		int64_t		elapsed_us;

		real_time(CLOCK_MONOTONIC, &now);
		elapsed_us = now.tv_sec * (NS_PER_S / NS_PER_US) + now.tv_nsec / NS_PER_US -
			setting->since_us;
		shift_us += elapsed_us * setting->drift_ppm / 1000000;
	}
	return shift_us * NS_PER_US;
}

static int
shifted_time(clockid_t clock, struct timespec *now)
{
	int64_t		shift = shift_ns();
	int64_t		nsec;

	if (real_time(clock, now) != 0)
		return -1;
	nsec = now->tv_nsec + shift % NS_PER_S;
	now->tv_sec += shift / NS_PER_S;
	if (nsec < 0)
	{
		nsec += NS_PER_S;
		now->tv_sec--;
	}
	else if (nsec >= NS_PER_S)
	{
		nsec -= NS_PER_S;
		now->tv_sec++;
	}
	now->tv_nsec = nsec;
	return 0;
}

int
clock_gettime(clockid_t clock, struct timespec *now)
{
	if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)
		return shifted_time(clock, now);
	return real_time(clock, now);
}

int
gettimeofday(struct timeval *restrict now, void *restrict zone)
{
	struct timespec shifted;

	if (shifted_time(CLOCK_REALTIME, &shifted) != 0)
		return -1;
	now->tv_sec = shifted.tv_sec;
	now->tv_usec = shifted.tv_nsec / NS_PER_US;
	if (zone != NULL)
		*(struct timezone *) zone = (struct timezone) {0, 0};
	return 0;
}

time_t
time(time_t *result)
{
	struct timespec now;

	if (shifted_time(CLOCK_REALTIME, &now) != 0)
		return -1;
	if (result != NULL)
		*result = now.tv_sec;
	return now.tv_sec;
}

int
timespec_get(struct timespec *now, int base)
{
	return base == TIME_UTC && shifted_time(CLOCK_REALTIME, now) == 0 ? base : 0;
}

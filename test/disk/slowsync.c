/*-------------------------------------------------------------------------
 *
 * slowsync.c
 *		A disk on which the cosid worker's commits take long: preloaded into a
 *		server, it delays what makes them durable.
 *
 * The environment variable SLOWSYNC names a file that holds the delay in ms; it
 * is read again each time, so that a test can change it while the server runs.
 * Only the process that is titled "cosid worker" is delayed.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The beginning of a file as a string; empty if it can't be read. */
static void
read_file(const char *path, char *text, size_t size)
{
	int			fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t		length = -1;

	if (fd >= 0)
	{
		length = read(fd, text, size - 1);
		close(fd);
	}
	text[length > 0 ? length : 0] = '\0';
}

static void
delay(void)
{
	const char *path = getenv("SLOWSYNC");
	char		title[256];
	char		number[32];
	long		ms;
	struct timespec pause;

	/* PostgreSQL writes a process's title over its arguments. */
	read_file("/proc/self/cmdline", title, sizeof(title));
	if (path == NULL || strstr(title, "cosid worker") == NULL)
		return;
	read_file(path, number, sizeof(number));
	ms = atol(number);
	pause = (struct timespec) {.tv_sec = ms / 1000,.tv_nsec = ms % 1000 * 1000000};
	while (ms > 0 && nanosleep(&pause, &pause) != 0)
		;						/* a signal does not make a disk faster */
}

int
fdatasync(int fd)
{
	int			(*real) (int) = (int (*) (int)) dlsym(RTLD_NEXT, "fdatasync");

	delay();
	return real(fd);
}

int
fsync(int fd)
{
	int			(*real) (int) = (int (*) (int)) dlsym(RTLD_NEXT, "fsync");

	delay();
	return real(fd);
}

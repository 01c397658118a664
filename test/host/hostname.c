/*-------------------------------------------------------------------------
 *
 * hostname.c
 *		A host name that tests choose, for one server only.
 *
 * Preloaded (LD_PRELOAD), it makes gethostname() say what the environment
 * variable COSID_HOSTNAME does.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

int			gethostname(char *name, size_t length);
int			__gethostname_chk(char *name, size_t length, size_t size);

int
gethostname(char *name, size_t length)
{
	const char *chosen = getenv("COSID_HOSTNAME");

	snprintf(name, length, "%s", chosen != NULL ? chosen : "localhost");
	return 0;
}

/* What the same call becomes where the compiler has its buffer's size checked. */
int
__gethostname_chk(char *name, size_t length, size_t size)
{
	return gethostname(name, length < size ? length : size);
}

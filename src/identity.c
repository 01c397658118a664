/*-------------------------------------------------------------------------
 *
 * identity.c
 *		Who this server is, for the registry.
 *
 * An instance id is what people call a server, and nothing keeps two servers
 * from having the same: a copy of a data directory brings its settings along.
 * The identity is made from what a copy cannot share with its origin, at least
 * not while both run: host, port, data directory and its inode, and the system
 * identifier and timeline that make a promoted standby another server.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"

#include "identity.h"
#include "settings.h"

#define MAX_HOST_NAME	256

static void
host_name(char *name)
{
	if (gethostname(name, MAX_HOST_NAME) != 0)
		strlcpy(name, "localhost", MAX_HOST_NAME);
	name[MAX_HOST_NAME - 1] = '\0';
}

/* cosid.instance_id, or host:port if that is empty. */
const char *
cosid_own_instance_id(void)
{
	static char instance_id[COSID_MAX_INSTANCE_ID + 1];
	char		host[MAX_HOST_NAME];

	if (cosid_instance_id[0] != '\0')
		return cosid_instance_id;
	host_name(host);
	/* Leaves room for the port, which tells servers of one host apart. */
	snprintf(instance_id, sizeof(instance_id), "%.*s:%d",
			 COSID_MAX_INSTANCE_ID - 6, host, PostPortNumber);
	return instance_id;
}

/*
 * This server's identity, COSID_IDENTITY_SIZE bytes.  Not during recovery: the
 * timeline is the one being written (the control file's lags behind after a
 * promotion).
 */
void
cosid_own_identity(char *identity)
{
	char		host[MAX_HOST_NAME];
	char		text[MAXPGPATH + 2 * MAX_HOST_NAME + 256];
	struct stat data;
	uint64		inode = 0;
	int			length;

	host_name(host);
	if (stat(DataDir, &data) == 0)
		inode = (uint64) data.st_ino;
	length = snprintf(text, sizeof(text), "%s\n" UINT64_FORMAT "\n%u\n%s\n%d\n%s\n" UINT64_FORMAT,
					  cosid_own_instance_id(), GetSystemIdentifier(),
					  GetWALInsertionTimeLine(), host, PostPortNumber,
					  DataDir, inode);
	length = Min(length, (int) sizeof(text) - 1);
	snprintf(identity, COSID_IDENTITY_SIZE, "%016llx%016llx",
			 (unsigned long long) hash_bytes_extended((unsigned char *) text, length, 0),
			 (unsigned long long) hash_bytes_extended((unsigned char *) text, length, 1));
}

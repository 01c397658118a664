/*-------------------------------------------------------------------------
 *
 * identity.c
 *		Who this server is, for the registry.
 *
 * An instance id is what people call a server, and nothing keeps two servers
 * from having the same: a copy of a data directory brings its settings along.
 * The identity is made from what a copy does not share with its origin while
 * both run: host name, port, data directory, its device and inode; the kernel's
 * boot id, which tells apart the hosts of a disk's snapshots, equal in all of
 * these; and the system identifier and timeline, which make a promoted standby
 * another server.  After a reboot a server is another one, too: that merely
 * costs it another machine id.
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
#include "storage/fd.h"

#include "settings.h"
#include "lease/identity.h"

/* The host's name, COSID_MAX_HOST_NAME bytes. */
void
cosid_host_name(char *name)
{
	if (gethostname(name, COSID_MAX_HOST_NAME) != 0)
		strlcpy(name, "localhost", COSID_MAX_HOST_NAME);
	name[COSID_MAX_HOST_NAME - 1] = '\0';
}

/* The kernel's, different on each host and after each boot; empty if unknown. */
static void
boot_id(char *id, size_t size)
{
	FILE	   *file = AllocateFile("/proc/sys/kernel/random/boot_id", "r");

	id[0] = '\0';
	if (file == NULL)
		return;
	if (fgets(id, (int) size, file) == NULL)
		id[0] = '\0';
	FreeFile(file);
}

/* cosid.instance_id, or host:port if that is empty. */
const char *
cosid_own_instance_id(void)
{
	static char instance_id[COSID_MAX_INSTANCE_ID + 1];
	char		host[COSID_MAX_HOST_NAME];

	if (cosid_instance_id[0] != '\0')
		return cosid_instance_id;
	cosid_host_name(host);
	/* Leaves room for the port, which tells servers of one host apart. */
	snprintf(instance_id, sizeof(instance_id), "%.*s:%d",
			 COSID_MAX_INSTANCE_ID - 6, host, PostPortNumber);
	return instance_id;
}

/*
 * This server's identity, COSID_IDENTITY_SIZE bytes.  The timeline is the one
 * being written (the control file's lags behind after a promotion).  During
 * recovery none is: 0, whichever its primary is at.
 */
void
cosid_own_identity(char *identity)
{
	char		host[COSID_MAX_HOST_NAME];
	char		text[MAXPGPATH + 2 * COSID_MAX_HOST_NAME + 256];
	struct stat data;
	char		boot[64];
	int			length;

	cosid_host_name(host);
	boot_id(boot, sizeof(boot));
	if (stat(DataDir, &data) != 0)
		memset(&data, 0, sizeof(data));
	length = snprintf(text, sizeof(text),
					  "%s\n" UINT64_FORMAT "\n%u\n%s\n%s\n%d\n%s\n" UINT64_FORMAT "\n" UINT64_FORMAT,
					  cosid_own_instance_id(), GetSystemIdentifier(),
					  RecoveryInProgress() ? 0 : GetWALInsertionTimeLine(),
					  host, boot, PostPortNumber,
					  DataDir, (uint64) data.st_dev, (uint64) data.st_ino);
	length = Min(length, (int) sizeof(text) - 1);
	snprintf(identity, COSID_IDENTITY_SIZE, "%016llx%016llx",
			 (unsigned long long) hash_bytes_extended((unsigned char *) text, length, 0),
			 (unsigned long long) hash_bytes_extended((unsigned char *) text, length, 1));
}

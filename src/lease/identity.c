/*-------------------------------------------------------------------------
 *
 * identity.c
 *		Who this server is, for the registry, and which machine id it asks for.
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
 * It asks for any machine id (cosid.distributor = catalog), the one that
 * cosid.machine_id says (manual), or the ordinal at the end of the host's name
 * (stateful_set).  A fixed machine id is claimed in the registry like any other,
 * with a token and a watermark: two servers that were given the same one do not
 * mint with it at the same time.  What can't be right is refused when the server
 * starts.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access/xlog.h"
#include "common/hashfn.h"
#include "miscadmin.h"
#include "postmaster/postmaster.h"
#include "storage/fd.h"

#include "settings.h"
#include "lease/identity.h"

#define MAX_HOST_NAME	256		/* bytes of a host name, its NUL included */

/* The host's name, MAX_HOST_NAME bytes. */
static void
host_name(char *name)
{
	if (gethostname(name, MAX_HOST_NAME) != 0)
		strlcpy(name, "localhost", MAX_HOST_NAME);
	name[MAX_HOST_NAME - 1] = '\0';
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
 * This server's identity, COSID_IDENTITY_SIZE bytes.  The timeline is the one
 * being written (the control file's lags behind after a promotion).  During
 * recovery none is: 0, whichever its primary is at.
 */
void
cosid_own_identity(char *identity)
{
	char		host[MAX_HOST_NAME];
	char		text[MAXPGPATH + 2 * MAX_HOST_NAME + 256];
	struct stat data;
	char		boot[64];
	int			length;

	host_name(host);
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

/* What stands after the last hyphen: digits alone; -1 if it isn't that. */
static int64
host_ordinal(const char *host)
{
	const char *hyphen = strrchr(host, '-');
	int64		ordinal = 0;

	if (hyphen == NULL || hyphen == host || hyphen[1] == '\0')
		return -1;
	for (const char *c = hyphen + 1; *c != '\0'; c++)
	{
		if (!isdigit((unsigned char) *c) || ordinal > PG_INT32_MAX)
			return -1;
		ordinal = ordinal * 10 + (*c - '0');
	}
	return ordinal <= PG_INT32_MAX ? ordinal : -1;
}

/*
 * When the server starts: see which machine id the settings fix, if any, and set
 * cosid_fixed_machine_id.  FATAL, code 22023, if they do not say.
 */
void
cosid_distributor_init(void)
{
	char		host[MAX_HOST_NAME];

	switch ((CosidDistributor) cosid_distributor)
	{
		case COSID_DISTRIBUTOR_CATALOG:
			cosid_fixed_machine_id = COSID_NO_MACHINE_ID;
			break;
		case COSID_DISTRIBUTOR_MANUAL:
			if (cosid_manual_machine_id < 0)
				ereport(FATAL,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("no machine id is set"),
						 errdetail("The setting \"cosid.distributor\" is \"manual\"."),
						 errhint("Set \"cosid.machine_id\" to a number that no other server of the registry has.")));
			cosid_fixed_machine_id = cosid_manual_machine_id;
			break;
		case COSID_DISTRIBUTOR_STATEFUL_SET:
			host_name(host);
			cosid_fixed_machine_id = (int) host_ordinal(host);
			if (cosid_fixed_machine_id < 0)
				ereport(FATAL,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("host name \"%s\" does not end in an ordinal", host),
						 errdetail("The setting \"cosid.distributor\" is \"stateful_set\": the machine id is the number after the last hyphen, as 3 in \"pg-3\"."),
						 errhint("Set \"cosid.distributor\" to \"manual\", or to \"catalog\" to have a machine id chosen.")));
			break;
	}
}

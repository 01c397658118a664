/*-------------------------------------------------------------------------
 *
 * distributor.c
 *		Which machine id this server asks for: any (cosid.distributor =
 *		catalog), the one that cosid.machine_id says (manual), or the ordinal at
 *		the end of the host's name (stateful_set).
 *
 * A fixed machine id is claimed in the registry like any other, with a token and
 * a watermark: two servers that were given the same one do not mint with it at
 * the same time.  What can't be right is refused when the server starts.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ctype.h>

#include "settings.h"
#include "lease/distributor.h"
#include "lease/identity.h"
#include "lease/machine.h"

/* Set when the server starts, and inherited by all its processes. */
static int	fixed_machine_id = COSID_NO_MACHINE_ID;

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
 * When the server starts: see which machine id the settings fix.  FATAL, code
 * 22023, if they do not say.
 */
void
cosid_distributor_init(void)
{
	char		host[COSID_MAX_HOST_NAME];

	switch ((CosidDistributor) cosid_distributor)
	{
		case COSID_DISTRIBUTOR_CATALOG:
			fixed_machine_id = COSID_NO_MACHINE_ID;
			break;
		case COSID_DISTRIBUTOR_MANUAL:
			if (cosid_manual_machine_id < 0)
				ereport(FATAL,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("no machine id is set"),
						 errdetail("The setting \"cosid.distributor\" is \"manual\"."),
						 errhint("Set \"cosid.machine_id\" to a number that no other server of the registry has.")));
			fixed_machine_id = cosid_manual_machine_id;
			break;
		case COSID_DISTRIBUTOR_STATEFUL_SET:
			cosid_host_name(host);
			fixed_machine_id = (int) host_ordinal(host);
			if (fixed_machine_id < 0)
				ereport(FATAL,
						(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						 errmsg("host name \"%s\" does not end in an ordinal", host),
						 errdetail("The setting \"cosid.distributor\" is \"stateful_set\": the machine id is the number after the last hyphen, as 3 in \"pg-3\"."),
						 errhint("Set \"cosid.distributor\" to \"manual\", or to \"catalog\" to have a machine id chosen.")));
			break;
	}
}

/* The one machine id that this server may have, or COSID_NO_MACHINE_ID. */
int
cosid_fixed_machine_id(void)
{
	return fixed_machine_id;
}

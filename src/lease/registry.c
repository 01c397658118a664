/*-------------------------------------------------------------------------
 *
 * registry.c
 *		The worker's way to the registry: which one it is, and what all have in
 *		common.
 *
 * The registry is the server's own (registry_local.c), or another server's when
 * cosid.registry has a connection string (registry_remote.c).
 *
 * A worker that uses its own is connected to a database for as long as it lives.
 * So the way from one registry to another leads through a new worker, unless
 * both are elsewhere.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "settings.h"
#include "lease/identity.h"
#include "lease/registry_ways.h"
#include "mint/clock.h"

/* The registry in use, which a reload does not change by itself. */
static bool remote = false;
static char registry_name[COSID_MAX_REGISTRY_NAME];

/*
 * What a lease's status calls the registry that the settings name.  A grant is
 * gone on with only where this is the same; but should two registries have one
 * name, the token in the row still tells them apart.
 *
 * For one elsewhere it's made from where it is: its host, port and database, or
 * the service that says so.  (What it says of itself, its system identifier,
 * would be known only once it answers.)
 */
static void
name_registry(char *name)
{
	if (cosid_registry_is_remote())
		snprintf(name, COSID_MAX_REGISTRY_NAME, "cosid.registry %016llx",
				 (unsigned long long) cosid_remote_mark(cosid_registry));
	else
		strlcpy(name, cosid_database, COSID_MAX_REGISTRY_NAME);
}

/* For the worker, once: take up the registry that the settings name. */
void
cosid_registry_connect(void)
{
	remote = cosid_registry_is_remote();
	name_registry(registry_name);
	if (remote)
	{
		cosid_remote_connect();
		cosid_remote_use(cosid_registry);
	}
	else
		cosid_local_connect();
}

/*
 * After a reload: whether the settings still name the registry in use.  If they
 * do, it is gone on with by what they now say of the way there.
 */
bool
cosid_registry_same(void)
{
	char		name[COSID_MAX_REGISTRY_NAME];

	name_registry(name);
	if (remote != cosid_registry_is_remote() || strcmp(name, registry_name) != 0)
		return false;
	if (remote)
		cosid_remote_use(cosid_registry);
	return true;
}

/*
 * Leave the registry in use, whose leases have been given back, for the one that
 * the settings name.  False: that takes a new worker.
 */
bool
cosid_registry_change(void)
{
	if (!remote || !cosid_registry_is_remote())
		return false;
	name_registry(registry_name);
	cosid_remote_use(cosid_registry);
	return true;
}

/* Which registry a lease is of, if it is the one in use. */
const char *
cosid_registry_name(void)
{
	return registry_name;
}

/* Whether the registry in use can be used while this server is in recovery. */
bool
cosid_registry_serves_standby(void)
{
	return remote;
}

/*
 * The objects in the registry are of a version, and may differ from what this
 * library expects: say so, once for each.  Whether they do for what is called is
 * seen when it is.
 */
void
cosid_registry_check_version(const char *version)
{
	static char said[NAMEDATALEN] = COSID_VERSION;

	if (strcmp(version, said) == 0)
		return;
	strlcpy(said, version, sizeof(said));
	if (strcmp(version, COSID_VERSION) != 0)
		ereport(LOG,
				(errmsg("the registry has version %s of extension cosid, but the server's library is of version %s",
						version, COSID_VERSION),
				 errhint("If the library is newer, run ALTER EXTENSION cosid UPDATE in the registry's database; if it is older, install the newer one in this server.")));
}

/*
 * Claim a machine id for a lease, with a watermark `lead` ms ahead.
 * COSID_REGISTRY_OK: `claimed` has the registry's answer.
 */
CosidRegistryStatus
cosid_registry_claim(CosidLease *lease, bool create, int64 lead,
					 int64 least_floor, int avoid, CosidClaimed *claimed,
					 CosidRegistryError *error)
{
	char		identity[COSID_IDENTITY_SIZE];
	CosidClaim	claim = {
		.namespace = lease->namespace,
		.machine_bit = lease->machine_bit,
		.identity = identity,
		.instance_id = cosid_own_instance_id(),
		.stable = cosid_stable,
		.fixed_machine_id = cosid_fixed_machine_id,
		.avoid_machine_id = avoid,
		.local = !remote,
		.server_now = cosid_clock_now_ms(),
		.lead = lead,
		.safe_guard = cosid_safe_guard_duration,
		.least_floor = least_floor,
	};

	cosid_own_identity(identity);
	return remote ? cosid_remote_claim(&claim, claimed, error) :
		cosid_local_claim(&claim, create, claimed, error);
}

/* Extend a lease to `lead` ms ahead; COSID_REGISTRY_OK: to `watermark`. */
CosidRegistryStatus
cosid_registry_guard(const CosidHolding *holding, int64 lead, int64 *watermark,
					 CosidRegistryError *error)
{
	char		identity[COSID_IDENTITY_SIZE];

	cosid_own_identity(identity);
	return remote ?
		cosid_remote_guard(holding, identity, lead, watermark, error) :
		cosid_local_guard(holding, identity, lead, watermark, error);
}

/*
 * Give a lease back, leaving `watermark`.  Durable in the registry's own server
 * is enough: where it is lost, the row merely keeps a higher watermark.
 */
CosidRegistryStatus
cosid_registry_revert(const CosidHolding *holding, int64 watermark,
					  int timeout_ms, CosidRegistryError *error)
{
	return remote ?
		cosid_remote_revert(holding, watermark, timeout_ms, error) :
		cosid_local_revert(holding, watermark, timeout_ms, error);
}

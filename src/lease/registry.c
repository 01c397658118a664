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

#include "miscadmin.h"
#include "storage/latch.h"

#include "settings.h"
#include "lease/identity.h"
#include "lease/registry.h"
#include "mint/clock.h"

/*
 * The registry in use, which a reload does not change by itself.  A grant is gone
 * on with only where the name is the same; but should two registries have one
 * name, the token in the row still tells them apart.
 */
static const CosidRegistryKind *kind = NULL;
static char registry_name[COSID_MAX_REGISTRY_NAME];

/* The kind that the settings name. */
static const CosidRegistryKind *
chosen_kind(void)
{
	return cosid_registry_is_remote() ? &cosid_registry_remote : &cosid_registry_local;
}

/* For the worker, once: take up the registry that the settings name. */
void
cosid_registry_connect(void)
{
	kind = chosen_kind();
	kind->name(registry_name);
	kind->connect();
}

/*
 * After a reload: whether the settings still name the registry in use.  If they
 * do, it is gone on with by what they now say of the way there.
 */
bool
cosid_registry_same(void)
{
	char		name[COSID_MAX_REGISTRY_NAME];

	chosen_kind()->name(name);
	if (chosen_kind() != kind || strcmp(name, registry_name) != 0)
		return false;
	if (kind->use != NULL)
		kind->use();
	return true;
}

/*
 * Leave the registry in use, whose leases have been given back, for the one that
 * the settings name.  False: that takes a new worker.
 */
bool
cosid_registry_change(void)
{
	if (chosen_kind() != kind || kind->use == NULL)
		return false;
	kind->name(registry_name);
	kind->use();
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
	return kind->elsewhere;
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
 * Run a call; see registry.h for what it promises.  What failed may have been
 * committed all the same: nobody knows.
 */
static CosidRegistryStatus
run(CosidRegistryCall *call)
{
	MemoryContext context = CurrentMemoryContext;
	CosidRegistryStatus status;

	call->error[0] = '\0';
	PG_TRY();
	{
		status = kind->run(call);
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(context);
		edata = CopyErrorData();
		FlushErrorState();
		strlcpy(call->error, edata->message, COSID_MAX_ERROR);
		FreeErrorData(edata);
		status = COSID_REGISTRY_FAILED;
	}
	PG_END_TRY();
	kind->finish(status == COSID_REGISTRY_FAILED);
	MemoryContextSwitchTo(context);

	/*
	 * The call's own waits (for a lock, a standby, an answer) reset the latch.
	 * Whatever it was set for meanwhile, an interrupt or a backend's wish, must
	 * not wait until the worker wakes up again.
	 */
	SetLatch(MyLatch);
	return status;
}

/* Why a registry that has answered gave no machine id. */
static void
describe_refusal(const CosidLease *lease, const CosidClaimed *claimed, char *error)
{
	if (claimed->status == COSID_CLAIM_HELD)
		snprintf(error, COSID_MAX_ERROR,
				 "machine id %d is held by instance \"%s\"",
				 cosid_fixed_machine_id, claimed->holder);
	else if (cosid_lease_fits(lease, cosid_fixed_machine_id))
		snprintf(error, COSID_MAX_ERROR,
				 "all machine ids of " INT64_FORMAT " are taken",
				 INT64CONST(1) << lease->machine_bit);
	else
		snprintf(error, COSID_MAX_ERROR,
				 "machine id %d does not fit into %d machine bits",
				 cosid_fixed_machine_id, lease->machine_bit);
}

/*
 * Claim a machine id for a lease, with a watermark `lead` ms ahead.  `claimed` has
 * the registry's answer with COSID_REGISTRY_OK, and COSID_REGISTRY_REFUSED.
 */
CosidRegistryStatus
cosid_registry_claim(CosidLease *lease, bool create, int64 lead,
					 int64 least_floor, int avoid, CosidClaimed *claimed,
					 char *error)
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
		.local = !kind->elsewhere,
		.server_now = cosid_clock_now_ms(),
		.lead = lead,
		.safe_guard = cosid_safe_guard_duration,
		.least_floor = least_floor,
	};
	CosidRegistryCall call = {
		.step = COSID_STEP_CLAIM,
		.timeout_ms = COSID_CALL_TIMEOUT_MS,
		.error = error,
		.create = create,
		.claim = &claim,
		.claimed = claimed,
	};
	CosidRegistryStatus result;

	cosid_own_identity(identity);
	result = run(&call);
	if (result != COSID_REGISTRY_OK || claimed->status == COSID_CLAIMED)
		return result;
	describe_refusal(lease, claimed, error);
	return COSID_REGISTRY_REFUSED;
}

/* What the registry is to find of a lease that is held. */
static CosidHolding
holding_of(const CosidLease *lease, const CosidLeaseStatus *status)
{
	return (CosidHolding)
	{
		.namespace = lease->namespace,
			.machine_id = status->machine_id,
			.instance_id = status->instance_id,
			.token = status->token,
			.confirmed = status->watermark,
	};
}

/* Extend a lease to `lead` ms ahead; COSID_REGISTRY_OK: to `watermark`. */
CosidRegistryStatus
cosid_registry_guard(const CosidLease *lease, const CosidLeaseStatus *status,
					 int64 lead, int64 *watermark, char *error)
{
	char		identity[COSID_IDENTITY_SIZE];
	CosidRegistryCall call = {
		.step = COSID_STEP_GUARD,
		.timeout_ms = COSID_CALL_TIMEOUT_MS,
		.error = error,
		.holding = holding_of(lease, status),
		.identity = identity,
		.lead = lead,
	};
	CosidRegistryStatus result;

	cosid_own_identity(identity);
	result = run(&call);
	*watermark = call.watermark;
	return result;
}

/*
 * Give a lease back, leaving `watermark`.  Durable in the registry's own server
 * is enough: where it is lost, the row merely keeps a higher watermark.
 */
CosidRegistryStatus
cosid_registry_revert(const CosidLease *lease, const CosidLeaseStatus *status,
					  int64 watermark, int timeout_ms, char *error)
{
	CosidRegistryCall call = {
		.step = COSID_STEP_REVERT,
		.timeout_ms = timeout_ms,
		.error = error,
		.holding = holding_of(lease, status),
		.watermark = watermark,
	};

	return run(&call);
}

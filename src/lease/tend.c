/*-------------------------------------------------------------------------
 *
 * tend.c
 *		Looking after one lease: claim it, extend it, give it back; called by the
 *		worker, again and again.
 *
 * The watermark is persisted in the registry first, and the grant raised to it
 * only when that has committed.
 *
 * The states of a lease, and what moves it on:
 *
 *	claiming	wanted (or the server's own namespace, at start)
 *					-> claim a machine id			-> held
 *	held		half of the lead used up while IDs are minted, the limit reached,
 *				or a heartbeat due
 *					-> extend						-> held, or lost
 *				or the clock was set back far and is to be gone on with
 *					-> give back					-> lost
 *	lost		another server has the machine id, or it was given up
 *					-> claim another one at once	-> held
 *	released	given back, at the end or since cosid_release was called
 *				and cosid_resume was, or the next worker starts
 *					-> claim						-> held
 *
 * An error leaves the state as it is: minting goes on up to the limit, the
 * worker tries again with growing pauses, says so once in the log, and keeps
 * the message where callers that wait in vain find it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "postmaster/interrupt.h"
#include "utils/timestamp.h"

#include "settings.h"
#include "lease/identity.h"
#include "lease/registry.h"
#include "lease/tend.h"
#include "mint/clock.h"
#include "mint/lease.h"
#include "mint/slot.h"

/*
 * Pauses between attempts after an error double from the first to the last.  Up
 * to half of one is left out at random, so that a fleet does not come all at once
 * when its registry is back.
 */
#define FIRST_RETRY_MS			100
#define LAST_RETRY_MS			2000

/* How much of a slow call is made up for, see current_lead(). */
#define LONGEST_CALL_MS			10000

/* How long the last claim or extension that was answered took, ms. */
static int64 call_ms = 0;

/*
 * How far ahead to persist the watermark now.  A commit that takes long (a slow
 * disk, a standby that is away) uses up the lead it was to give: then the lead is
 * longer by so much, and again by so much since the next extension has to begin
 * that much earlier, at half of it.
 */
static int64
current_lead(void)
{
	return cosid_watermark_lead + 2 * call_ms;
}

static void
note_call(int64 began)
{
	call_ms = Min(cosid_clock_monotonic_ms() - began, LONGEST_CALL_MS);
}

/* All went well. */
static void
note_success(CosidLease *lease, CosidLeaseControl *control)
{
	if (control->retry_ms != 0)
		ereport(LOG,
				(errmsg("cosid lease of namespace \"%s\" has recovered",
						lease->namespace)));
	control->retry_ms = 0;
	control->next_try = 0;
}

/*
 * An attempt failed: keep why, say it once an episode, try again later.  One
 * that a shutdown cut short is no failure.
 */
static void
note_failure(CosidLease *lease, CosidLeaseControl *control, const char *message)
{
	if (ShutdownRequestPending)
		return;
	if (control->retry_ms == 0)
		ereport(LOG,
				(errmsg("cosid lease of namespace \"%s\" has a problem: %s",
						lease->namespace, message)));
	control->retry_ms = control->retry_ms == 0 ? FIRST_RETRY_MS :
		Min(control->retry_ms * 2, LAST_RETRY_MS);
	control->next_try = cosid_clock_monotonic_ms() + control->retry_ms -
		(int64) (control->retry_ms / 2 * pg_prng_double(&pg_global_prng_state));
	cosid_lease_error(lease, message);
}

/*
 * End a lease's grant.  From here on the cursors of its namespace cover all that
 * was given out under it.
 */
static void
close_grant(CosidLease *lease, const CosidLeaseStatus *status)
{
	cosid_grant_close(&lease->u.grant);
	if (status->state == COSID_LEASE_HELD)
		cosid_slot_keep_ids(lease, status->floor, status->machine_id);
}

/* The lease is not ours any more. */
static void
lose(CosidLease *lease, CosidLeaseControl *control, CosidLeaseStatus *status,
	 const char *why)
{
	close_grant(lease, status);
	status->state = COSID_LEASE_LOST;
	status->losses++;
	cosid_lease_write(lease, status);
	control->avoid = status->machine_id;
	control->eager = true;
	ereport(LOG,
			(errmsg("lost machine id %d of cosid namespace \"%s\": %s",
					status->machine_id, lease->namespace, why)));
}

/*
 * Give a machine id back: its watermark falls to what was really given out, so
 * that its next claim need not wait for the lead to pass.  The cursors are read
 * after the grant is closed and a full barrier (cosid_grant_close): what they do
 * not show has seen, or will see, that the grant is gone.
 *
 * False if it can't be done, or nobody knows whether it was: then the row is left
 * as it is.  A second attempt, with cursors that may have been lowered since,
 * could leave a watermark below IDs that were given out.
 */
static bool
give_back(CosidLease *lease, CosidLeaseStatus *status, int timeout_ms)
{
	char		error[COSID_MAX_ERROR];
	CosidRegistryStatus result;

	close_grant(lease, status);
	result = cosid_registry_revert(lease, status,
								   Max(status->floor, cosid_slot_largest_ms(lease)) + 1,
								   timeout_ms, error);
	if (result == COSID_REGISTRY_FAILED)
	{
		cosid_status_error(status, error);
		ereport(LOG,
				(errmsg("could not give back machine id %d of cosid namespace \"%s\": %s",
						status->machine_id, lease->namespace, error)));
	}
	return result == COSID_REGISTRY_OK;
}

/*
 * Whether a floor is so far ahead that a clock must have been wrong when it came
 * about: up to a lead ahead it is without that.
 */
static bool
floor_is_ahead(int64 floor)
{
	return floor - cosid_clock_now_ms() >
		current_lead() + cosid_clock_backwards_broken_threshold;
}

/* Open the grant that a claim has committed. */
static void
open_grant(CosidLease *lease, CosidLeaseControl *control, CosidLeaseStatus *status,
		   const CosidClaimed *claimed)
{
	status->state = COSID_LEASE_HELD;
	status->machine_id = claimed->machine_id;
	status->token = claimed->token;
	status->floor = claimed->floor;
	status->watermark = claimed->watermark;
	strlcpy(status->instance_id, cosid_own_instance_id(), sizeof(status->instance_id));
	strlcpy(status->registry, cosid_registry_name(), sizeof(status->registry));
	status->claimed_at = status->guarded_at = GetCurrentTimestamp();
	status->claims++;
	status->full = status->failing = false;
	/* The status first: a worker that finds an open grant relies on it. */
	cosid_lease_write(lease, status);
	cosid_grant_open(&lease->u.grant, claimed->machine_id, claimed->floor,
					 claimed->watermark);
	ConditionVariableBroadcast(&lease->changed);

	if (control->gave_up && floor_is_ahead(claimed->floor))
		control->next_give_up = cosid_clock_monotonic_ms() + cosid_guard_interval;
	control->wanted = control->eager = control->gave_up = false;
	control->extended_at = cosid_clock_monotonic_ms();
	control->minted_ms = cosid_slot_largest_ms(lease);
	note_success(lease, control);
	ereport(LOG,
			(errmsg("claimed machine id %d of cosid namespace \"%s\"",
					claimed->machine_id, lease->namespace)));
	if (claimed->others > 0)
		ereport(WARNING,
				(errmsg("another server holds a machine id of cosid namespace \"%s\" in this server's own registry",
						lease->namespace),
				 errdetail("This server is a copy, or was promoted, moved or rebooted."),
				 errhint("If the other one still runs, what they claim from now on is likely but not certain to differ: compare their machine ids in the view cosid_lease.")));
}

/* Claim a machine id for a lease that has none. */
static void
claim(CosidLease *lease, CosidLeaseControl *control, CosidLeaseStatus *status)
{
	char		error[COSID_MAX_ERROR];
	CosidClaimed claimed;
	CosidRegistryStatus result;
	int64		began = cosid_clock_monotonic_ms();

	if (!cosid_lease_begin_claim(lease, status))
		return;

	/* Machine id and floor change: no grant may stand. */
	close_grant(lease, status);

	/*
	 * In order with what the cursors show, and after this moment: a second that
	 * was begun before a crash, with another machine id, is not used again.
	 */
	result = cosid_registry_claim(lease, control->wanted, current_lead(),
								  Max(cosid_slot_largest_ms(lease), cosid_clock_now_ms()),
								  control->avoid, &claimed, error);
	if (result == COSID_REGISTRY_ABSENT)
	{
		/* Nobody needs it yet: made when a backend does.  There's no next try. */
		control->eager = false;
		control->retry_ms = control->next_try = 0;
		return;
	}
	if (result == COSID_REGISTRY_OK || result == COSID_REGISTRY_REFUSED)
		note_call(began);
	if (result == COSID_REGISTRY_OK)
	{
		open_grant(lease, control, status, &claimed);
		return;
	}
	status->full = result == COSID_REGISTRY_REFUSED &&
		claimed.status == COSID_CLAIM_FULL;
	cosid_lease_write(lease, status);
	note_failure(lease, control, error);
}

/*
 * Extend a lease that is held.  The limit rises only to what the registry has
 * committed and returned.
 */
static void
extend(CosidLease *lease, CosidLeaseControl *control, CosidLeaseStatus *status)
{
	char		error[COSID_MAX_ERROR];
	CosidRegistryStatus result;
	int64		began = cosid_clock_monotonic_ms();
	int64		minted_ms = cosid_slot_largest_ms(lease);
	int64		watermark;

	result = cosid_registry_guard(lease, status, current_lead(), &watermark, error);
	if (result == COSID_REGISTRY_LOST)
		lose(lease, control, status, "its row in the registry shows another claim");
	else if (result == COSID_REGISTRY_ABSENT)
		lose(lease, control, status, "the registry has no extension cosid any more");
	else if (result != COSID_REGISTRY_OK)
		note_failure(lease, control, error);
	else
	{
		note_call(began);
		status->watermark = watermark;
		status->guarded_at = GetCurrentTimestamp();
		status->failing = false;
		cosid_lease_write(lease, status);
		cosid_grant_raise(&lease->u.grant, watermark);
		ConditionVariableBroadcast(&lease->changed);
		control->wanted = false;
		control->extended_at = cosid_clock_monotonic_ms();
		control->minted_ms = minted_ms;
		note_success(lease, control);
	}
}

/*
 * Whether the lease's machine id is of no use for long, since the clock was wrong
 * when it gave out IDs (or was claimed) and has been set back, and the setting
 * says to go on without it.  What backends have seen, the worker sees again.
 */
static bool
clock_gave_way(CosidLease *lease, CosidLeaseControl *control,
			   const CosidLeaseStatus *status)
{
	int64		now_ms = cosid_clock_now_ms();
	bool		asked = control->reclaim;

	control->reclaim = false;
	if (cosid_clock_backwards_action != COSID_ACTION_RECLAIM ||
		cosid_clock_monotonic_ms() < control->next_give_up)
		return false;
	return (asked && cosid_slot_largest_ms(lease) - now_ms >
			cosid_clock_backwards_broken_threshold) ||
		(control->wanted && floor_is_ahead(status->floor));
}

/*
 * Go on with another machine id.  This one is given back first, with the cursors
 * as they stand, so that its watermark covers all that was given out: nobody
 * mints that time with it again.  Only then may cursors fall, and only when the
 * status says so: a worker that is started while it says "held" may give back.
 */
static void
give_up_jump(CosidLease *lease, CosidLeaseControl *control, CosidLeaseStatus *status)
{
	ereport(LOG,
			(errmsg("giving up machine id %d of cosid namespace \"%s\": the clock was set back",
					status->machine_id, lease->namespace)));
	(void) give_back(lease, status, COSID_RELEASE_TIMEOUT_MS);
	status->state = COSID_LEASE_LOST;
	status->losses++;
	cosid_lease_write(lease, status);
	control->avoid = status->machine_id;
	control->eager = control->gave_up = true;
	cosid_slot_lower(lease, cosid_clock_now_ms());
}

/*
 * Give a lease back in timeout_ms, if it is held; one that is not becomes released,
 * too, if `all`.  The grant has ended, whether that can be done or not; if not, the
 * log and the lease's status say why.
 */
void
cosid_tend_release(CosidLease *lease, int timeout_ms, bool all)
{
	CosidLeaseStatus status;

	cosid_lease_read(lease, &status);
	if (status.state == COSID_LEASE_RELEASED ||
		(status.state != COSID_LEASE_HELD && !all))
		return;
	status.full = status.failing = false;	/* what was before it */
	if (status.state == COSID_LEASE_HELD && give_back(lease, &status, timeout_ms))
		ereport(LOG,
				(errmsg("gave back machine id %d of cosid namespace \"%s\"",
						status.machine_id, lease->namespace)));
	status.state = COSID_LEASE_RELEASED;
	cosid_lease_write(lease, &status);
}

/* When a lease that is held is to be extended next, on the monotonic clock. */
static int64
extension_due(CosidLease *lease, CosidLeaseControl *control,
			  const CosidLeaseStatus *status)
{
	int64		now = cosid_clock_monotonic_ms();
	int64		heartbeat = control->extended_at +
		Min(cosid_guard_interval, cosid_safe_guard_duration / 2);
	int64		until_half = status->watermark - current_lead() / 2 -
		cosid_clock_now_ms();

	if (until_half > 0)
	{
		/* Enough left, whatever made a caller wait. */
		control->wanted = false;
		return Min(heartbeat, now + until_half);
	}
	if (control->wanted || cosid_slot_largest_ms(lease) > control->minted_ms)
		return now;
	return heartbeat;
}

/*
 * Do what a lease needs now; if cosid_release was called, that is to be released.
 * Returns when to look at it again, on the monotonic clock, or COSID_TEND_NEVER.
 */
int64
cosid_tend(CosidLease *lease, CosidLeaseControl *control, bool releasing)
{
	CosidLeaseStatus status;
	uint32		wishes = cosid_lease_take_wanted(lease);
	int64		due;

	control->wanted |= (wishes & COSID_WANT_GRANT) != 0;
	control->reclaim |= (wishes & COSID_WANT_RECLAIM) != 0;
	if (releasing)
	{
		cosid_tend_release(lease, COSID_RELEASE_TIMEOUT_MS, true);
		control->eager = true;	/* when that is over */
		control->retry_ms = control->next_try = 0;
		return COSID_TEND_NEVER;
	}
	if (cosid_clock_monotonic_ms() < control->next_try)
		return control->next_try;

	cosid_lease_read(lease, &status);
	if (status.state == COSID_LEASE_HELD && clock_gave_way(lease, control, &status))
		give_up_jump(lease, control, &status);
	else if (status.state == COSID_LEASE_HELD)
	{
		due = extension_due(lease, control, &status);
		if (due > cosid_clock_monotonic_ms())
			return due;
		extend(lease, control, &status);
	}

	if (status.state != COSID_LEASE_HELD && !ShutdownRequestPending &&
		(control->wanted || control->eager))
		claim(lease, control, &status);

	if (control->retry_ms != 0)
		return control->next_try;
	return status.state == COSID_LEASE_HELD ?
		extension_due(lease, control, &status) : COSID_TEND_NEVER;
}

/*
 * Take up a lease if this worker has not seen it before: new, or left by the
 * worker before it.  A grant that stands is gone on with; its next extension, at
 * once, shows whether it is still ours.
 */
void
cosid_tend_adopt(CosidLease *lease, CosidLeaseControl *control)
{
	CosidLeaseStatus status;

	if (control->known)
		return;
	control->known = true;
	control->avoid = COSID_NO_MACHINE_ID;
	cosid_lease_read(lease, &status);

	/* What others wait for says so itself. */
	control->eager = status.state != COSID_LEASE_CLAIMING ||
		strcmp(lease->namespace, cosid_namespace) == 0;

	if (status.state == COSID_LEASE_HELD &&
		(!cosid_grant_stands(&lease->u.grant) ||
		 strcmp(status.registry, cosid_registry_name()) != 0))
	{
		close_grant(lease, &status);
		status.state = COSID_LEASE_CLAIMING;
		cosid_lease_write(lease, &status);
	}
}

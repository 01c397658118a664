/*-------------------------------------------------------------------------
 *
 * generator.c
 *		Minting: from a generator to its next ID; see generator.h.
 *
 * The step that mints is cosid_mint() in grant.h; here is what surrounds it: the
 * way to its slot in shared memory, and what a backend does when a step gives no
 * ID: wait for the clock, wait for the worker, or say why not.  Every wait can
 * be cancelled, and none holds anything that others need.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xlog.h"
#include "commands/dbcommands.h"
#include "miscadmin.h"
#include "utils/timestamp.h"

#include "catalog.h"
#include "errors.h"
#include "settings.h"
#include "mint/clock.h"
#include "mint/generator.h"
#include "mint/grant.h"
#include "mint/launch.h"
#include "mint/lease.h"
#include "mint/slot.h"

/*
 * How much of a wait for the next tick is spent looking at the clock.  More is
 * a core's time lost, less is an ID's: a sleep ends some 60 us late.
 */
#ifndef TICK_SPIN_US			/* bench/run.sh compares with 0 */
#define TICK_SPIN_US	60
#endif

/*
 * How many shares a tick has, see take_share(), and how many IDs a share: more
 * than its part of the tick, since not everyone comes in time to use it.
 */
#define SHARES_PER_TICK	8
#define SHARE_SIZE(layout)	Max(2 * cosid_max_sequence(layout) / 15, 1)

/* A tick that is further ahead than this is not waited for. */
#define LONGEST_QUEUE_TICKS	64

#define REPEAT_WISH_MS	1000

/* One call's waits so far. */
typedef struct WaitState
{
	bool		counted[COSID_WAIT_KINDS];
	int64		began;			/* the last of them, monotonic us */
	int64		grant_deadline; /* monotonic ms; set with the first grant wait */
} WaitState;

/* A wait begins.  Each kind is counted once a call. */
static void
begin_wait(CosidSlot *slot, WaitState *state, CosidWait kind)
{
	if (!state->counted[kind])
		pg_atomic_fetch_add_u64(&slot->waits[kind], 1);
	state->counted[kind] = true;
	state->began = cosid_clock_monotonic_us();
}

/* It has ended.  (What a cancelled statement waited last is not counted.) */
static void
end_wait(CosidSlot *slot, const WaitState *state, CosidWait kind)
{
	pg_atomic_fetch_add_u64(&slot->wait_us[kind],
							cosid_clock_monotonic_us() - state->began);
}

static void
count_failure(CosidSlot *slot, CosidFailure kind)
{
	pg_atomic_fetch_add_u64(&slot->failures[kind], 1);
}

/* A Unix time in ms, for a message. */
static const char *
ms_to_text(int64 unix_ms)
{
	TimestampTz timestamp;

	if (!cosid_ms_to_timestamptz(unix_ms, &timestamp))
		return psprintf(INT64_FORMAT " ms", unix_ms);
	return pstrdup(timestamptz_to_str(timestamp));
}

static void
raise_clock_backwards(const CosidGenerator *generator, int64 last_ms, int64 now_ms)
{
	count_failure(generator->slot, COSID_FAILED_CLOCK);
	ereport(ERROR,
			(errcode(ERRCODE_COSID_CLOCK_BACKWARDS),
			 errmsg("clock moved backwards: it is " INT64_FORMAT " ms behind the last ID of generator \"%s\"",
					last_ms - now_ms, generator->name),
			 errdetail("The last ID is of %s, the clock reads %s.",
					   ms_to_text(last_ms), ms_to_text(now_ms)),
			 errhint("IDs are given out again when the clock has caught up.")));
}

static void
raise_overflow(const CosidGenerator *generator, int64 now)
{
	const CosidLayout *layout = &generator->layout;
	int64		unit_ms = cosid_unit_ms(layout);

	count_failure(generator->slot, COSID_FAILED_TIMESTAMP);
	if (now < layout->epoch)
		ereport(ERROR,
				(errcode(ERRCODE_COSID_TIMESTAMP_OVERFLOW),
				 errmsg("timestamp overflow: the clock is before the epoch of generator \"%s\"",
						generator->name),
				 errdetail("The epoch is %s, the clock reads %s.",
						   ms_to_text(layout->epoch * unit_ms),
						   ms_to_text(now * unit_ms))));
	ereport(ERROR,
			(errcode(ERRCODE_COSID_TIMESTAMP_OVERFLOW),
			 errmsg("timestamp overflow: the timestamp bits of generator \"%s\" are used up",
					generator->name),
			 errdetail("Its %d bits lasted until %s.", layout->timestamp_bit,
					   ms_to_text((layout->epoch + cosid_max_timestamp(layout)) * unit_ms)),
			 errhint("Create a generator with a later epoch or more timestamp bits.")));
}

static void
raise_does_not_fit(const CosidGenerator *generator, int64 machine_id)
{
	count_failure(generator->slot, COSID_FAILED_MACHINE_ID);
	ereport(ERROR,
			(errcode(ERRCODE_COSID_MACHINE_ID_OVERFLOW),
			 errmsg("machine id overflow: machine id " INT64_FORMAT " does not fit into the %d machine bits of generator \"%s\"",
					machine_id, generator->layout.machine_bit, generator->name),
			 errhint("Create the generator with a namespace of its own.")));
}

/* Why there is no grant, as far as anyone knows; NULL: nobody does. */
static const char *
grant_problem(const CosidLeaseStatus *status, CosidMintStatus outcome,
			  const CosidMint *mint)
{
	if (!cosid_worker)
		return "The worker is switched off (\"cosid.worker\").";
	if (cosid_release_is_set())
		return "This server's machine ids were given back by cosid_release.";
	if (status->failing)
		return cosid_status_error_detail(status);
	if (outcome == COSID_MINT_FLOOR)
		return psprintf("The machine id was in use until %s; the clock has not passed that yet.",
						ms_to_text(mint->floor));
	if (outcome == COSID_MINT_LIMIT)
		return psprintf("The grant ended at %s, and the worker has not extended it.",
						ms_to_text(mint->limit));
	return psprintf("The worker has not claimed one yet (state \"%s\").",
					cosid_lease_state_name(status->state));
}

static void
raise_no_grant(CosidSlot *slot, CosidMintStatus outcome, const CosidMint *mint)
{
	CosidLease *lease = cosid_slot_lease(slot);
	CosidLeaseStatus status;
	bool		fits = cosid_lease_fits(lease, cosid_fixed_machine_id);
	bool		full;

	cosid_lease_read(lease, &status);
	full = status.full && outcome == COSID_MINT_NO_GRANT;
	count_failure(slot, full || !fits ? COSID_FAILED_MACHINE_ID : COSID_FAILED_GRANT);
	if (!fits)
		ereport(ERROR,
				(errcode(ERRCODE_COSID_MACHINE_ID_OVERFLOW),
				 errmsg("machine id overflow: machine id %d does not fit into the %d machine bits of namespace \"%s\"",
						cosid_fixed_machine_id, lease->machine_bit, lease->namespace),
				 errdetail("This server's machine id is fixed by the setting \"cosid.distributor\"."),
				 errhint("Use a layout with more machine bits, or another distributor.")));
	if (full)
		ereport(ERROR,
				(errcode(ERRCODE_COSID_MACHINE_ID_OVERFLOW),
				 errmsg("machine id overflow: all machine ids of namespace \"%s\" are taken",
						lease->namespace),
				 errhint("Use a namespace of its own, or a layout with more machine bits.")));
	ereport(ERROR,
			(errcode(ERRCODE_COSID_MACHINE_ID_LOST),
			 errmsg("machine id lost or unavailable in namespace \"%s\"",
					lease->namespace),
			 errdetail("%s", grant_problem(&status, outcome, mint)),
			 cosid_release_is_set() ?
			 errhint("To claim machine ids again, call cosid_resume() or restart the server.") :
			 errhint("The view cosid_lease and the server's log tell more.")));
}

/*
 * The worker needs the extension in its database.  If it is our own transaction
 * that is creating it there, waiting would be in vain.
 */
static void
check_own_extension(CosidSlot *slot)
{
	CosidExtension extension;
	char	   *database = get_database_name(MyDatabaseId);

	if (database == NULL || strcmp(database, cosid_database) != 0 ||
		!cosid_extension_find(&extension) || !extension.uncommitted)
		return;
	count_failure(slot, COSID_FAILED_GRANT);
	ereport(ERROR,
			(errcode(ERRCODE_COSID_MACHINE_ID_LOST),
			 errmsg("machine id lost or unavailable in namespace \"%s\"",
					cosid_slot_lease(slot)->namespace),
			 errdetail("Extension cosid in database \"%s\" was created by this transaction, and the worker does not see it before that has committed.",
					   database)));
}

/*
 * Wait until something about the lease has changed; false when the time for that
 * is over.  The first call of a wait only prepares and asks the worker, so that
 * no change is missed between the attempt that failed and the sleep.
 */
static bool
wait_for_grant(CosidSlot *slot, WaitState *state, CosidMintStatus outcome,
			   const CosidMint *mint)
{
	CosidLease *lease = cosid_slot_lease(slot);
	CosidWish	wish = outcome == COSID_MINT_CLOCK_BACKWARDS ? COSID_WANT_RECLAIM : COSID_WANT_GRANT;
	int64		now = cosid_clock_monotonic_ms();
	int64		left;

	if (state->grant_deadline == 0)
	{
		if (RecoveryInProgress() && !cosid_registry_is_remote())
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("cannot give out IDs during recovery"),
					 errdetail("The registry of machine ids is in this server's own database."),
					 errhint("A standby mints with a registry in another server, set by \"cosid.registry\".")));
		if (outcome == COSID_MINT_NO_GRANT && !cosid_registry_is_remote())
			check_own_extension(slot);
		state->grant_deadline = now + cosid_wait_timeout;
		cosid_worker_ensure();
		ConditionVariablePrepareToSleep(&lease->changed);
		cosid_lease_want(lease, wish);
		CHECK_FOR_INTERRUPTS();
		return true;
	}

	left = state->grant_deadline - now;
	if (left <= 0)
	{
		ConditionVariableCancelSleep();
		return false;
	}

	/* The clock will pass the floor by itself, with the next tick after it. */
	if (outcome == COSID_MINT_FLOOR)
	{
		int64		unit_ms = cosid_unit_ms(&slot->layout);
		int64		passed_ms = (mint->floor / unit_ms + 1) * unit_ms;

		left = Min(left, Max(passed_ms - cosid_clock_now_ms(), 1));
	}

	/* A wish is repeated now and then, should the worker have had no use for it. */
	cosid_worker_ensure();
	cosid_lease_want(lease, wish);
	begin_wait(slot, state, COSID_WAIT_GRANT);
	(void) ConditionVariableTimedSleep(&lease->changed, (long) Min(left, REPEAT_WISH_MS),
									   cosid_wait_event(COSID_EVENT_GRANT));
	end_wait(slot, state, COSID_WAIT_GRANT);
	return true;
}

/* Wait for a clock that is behind the cursor, or fail if it is too far. */
static void
wait_for_clock(const CosidGenerator *generator, WaitState *state,
			   const CosidMint *mint)
{
	int64		last_ms = cosid_cursor_ms(&generator->layout, mint->last);
	int64		now_ms = cosid_clock_now_ms();
	int64		behind_ms = last_ms - now_ms;

	if (behind_ms <= 0)
		return;					/* it has caught up by now */
	if (behind_ms > cosid_clock_backwards_broken_threshold &&
		cosid_clock_backwards_action == COSID_ACTION_RECLAIM)
	{
		/* The worker goes on with another machine id. */
		if (generator->clock_sync &&
			wait_for_grant(generator->slot, state, COSID_MINT_CLOCK_BACKWARDS, mint))
			return;
		cosid_lease_want(generator->lease, COSID_WANT_RECLAIM);
	}
	if (!generator->clock_sync || behind_ms > cosid_clock_backwards_broken_threshold)
		raise_clock_backwards(generator, last_ms, now_ms);
	begin_wait(generator->slot, state, COSID_WAIT_CLOCK);
	cosid_clock_wait(last_ms, behind_ms <= cosid_clock_backwards_spin_threshold ?
					 INT64CONST(1000) * behind_ms : 0, COSID_EVENT_CLOCK);
	end_wait(generator->slot, state, COSID_WAIT_CLOCK);
}

/* Wait for a tick of a layout; may return early. */
static void
wait_for_tick(const CosidLayout *layout, int64 tick)
{
	cosid_clock_wait((layout->epoch + tick) * cosid_unit_ms(layout), TICK_SPIN_US,
					 COSID_EVENT_TICK);
}

/*
 * Get another share of a tick, not before the given one, and wait for its tick.
 *
 * Whoever runs when a tick begins could take all of its IDs, and those who wake
 * up a little late would have to try their luck again with the next one: of many
 * clients, some would wait several times as long as others.  So while there is a
 * queue, a backend takes IDs by the share, and when its share is used up or the
 * tick is dry it queues for another one.  A share is a right to try, nothing
 * else: it need not be used in its tick, nor given back.
 *
 * A queue begins with a tick that is dry, and has ended when its last share is of
 * a tick that is over: until then nobody waits.  Seconds are not dealt out.
 * Waking up late is nothing beside them, and a session that wants one ID should
 * not wait a second for a share while the present one has IDs left.
 */
static void
take_share(CosidGenerator *generator, WaitState *state, int64 from, bool dry)
{
	CosidSlot  *slot = generator->slot;
	const CosidLayout *layout = &slot->layout;
	uint64		first = (uint64) Max(from, 0) * SHARES_PER_TICK;
	uint64		last = pg_atomic_read_u64(&slot->last_share);
	uint64		share;
	int64		tick;
	bool		waits = false;

	generator->share = SHARE_SIZE(layout);
	if (!dry && last < first)
		return;
	do
	{
		share = Max(last + 1, first);
		/* The clock was set back, or the queue is longer than we care for. */
		if (share - first > LONGEST_QUEUE_TICKS * SHARES_PER_TICK)
			share = first;
	} while (!pg_atomic_compare_exchange_u64(&slot->last_share, &last, share));

	tick = (int64) (share / SHARES_PER_TICK);
	for (;;)
	{
		uint64		cursor = cosid_atomic_read(&slot->u.cursor);
		int64		now;

		/* A clock that is behind the cursor is no matter of ours. */
		pg_read_barrier();
		now = cosid_clock_now(layout->unit) - layout->epoch;
		if (now >= tick || now < cosid_cursor_timestamp(layout, cursor) ||
			tick - now > LONGEST_QUEUE_TICKS + 1)
			break;
		if (!waits)
			begin_wait(slot, state, COSID_WAIT_TICK);
		waits = true;
		wait_for_tick(layout, tick);
	}
	if (waits)
		end_wait(slot, state, COSID_WAIT_TICK);
}

/* The tick is dry: wait for the next one, or the one in which it is our turn. */
static void
wait_for_turn(CosidGenerator *generator, WaitState *state, const CosidMint *mint)
{
	const CosidLayout *layout = &generator->layout;
	int64		next = cosid_cursor_timestamp(layout, mint->last) + 1;

	if (layout->unit == COSID_MILLISECOND)
	{
		take_share(generator, state, next, true);
		return;
	}
	begin_wait(generator->slot, state, COSID_WAIT_TICK);
	wait_for_tick(layout, next);
	end_wait(generator->slot, state, COSID_WAIT_TICK);
}

/* A step gave no ID: do what has to be done before the next one. */
static void
wait_or_fail(CosidGenerator *generator, WaitState *state,
			 CosidMintStatus outcome, const CosidMint *mint)
{
	CosidSlot  *slot = generator->slot;

	switch (outcome)
	{
		case COSID_MINT_OK:
			break;
		case COSID_MINT_AGAIN:
			CHECK_FOR_INTERRUPTS();
			break;
		case COSID_MINT_DRY:
			wait_for_turn(generator, state, mint);
			break;
		case COSID_MINT_CLOCK_BACKWARDS:
			wait_for_clock(generator, state, mint);
			break;
		case COSID_MINT_OVERFLOW:
			raise_overflow(generator, mint->now);
			break;
		case COSID_MINT_MACHINE_ID:
			raise_does_not_fit(generator, mint->machine_id);
			break;
		case COSID_MINT_NO_GRANT:
		case COSID_MINT_FLOOR:
		case COSID_MINT_LIMIT:
			/* In vain, if the one machine id that we may have is too large. */
			if (!cosid_lease_fits(generator->lease, cosid_fixed_machine_id) ||
				!wait_for_grant(slot, state, outcome, mint))
				raise_no_grant(slot, outcome, mint);
			break;
	}
}

/*
 * A call that is more than one step: the share that this backend had is used up,
 * or the first step gave no ID.
 */
static pg_noinline int64
next_by_steps(CosidGenerator *generator, bool needs_share, CosidMint *mint,
			  CosidMintStatus outcome)
{
	CosidSlot  *slot = generator->slot;
	WaitState	state = {.grant_deadline = 0};

	if (!needs_share)
		wait_or_fail(generator, &state, outcome, mint);
	else if (slot->layout.unit == COSID_MILLISECOND)
		take_share(generator, &state,
				   cosid_clock_now(COSID_MILLISECOND) - slot->layout.epoch, false);
	else
		generator->share = PG_INT64_MAX;
	while ((outcome = cosid_mint(&generator->lease->u.grant, &slot->u.cursor,
								 &slot->layout, generator->reset_threshold,
								 cosid_clock_now, mint)) != COSID_MINT_OK)
		wait_or_fail(generator, &state, outcome, mint);
	if (state.grant_deadline != 0)
		ConditionVariableCancelSleep();
	return cosid_pack(&slot->layout, mint->next, mint->machine_id);
}

/*
 * Find a generator's state in shared memory, or make it.  Errors: 53400 when
 * there is no room for another generator or namespace.  The library must have its
 * shared memory at hand (cosid_segment_attach).
 */
void
cosid_generator_open(CosidGenerator *generator)
{
	generator->lease = cosid_lease_get(generator->namespace,
									   generator->layout.machine_bit);
	generator->slot = cosid_slot_get(generator->lease, generator->utf8_name,
									 &generator->layout);
}

/*
 * The next ID of a generator that was opened.  Errors: ID001 to ID004, 55000 in
 * recovery with the server's own registry, 53400 when the server has no room for
 * the worker.
 */
int64
cosid_generator_next(CosidGenerator *generator)
{
	CosidSlot  *slot = generator->slot;
	CosidMint	mint = {.dry = 0};
	CosidMintStatus outcome;

	if (unlikely(generator->share-- <= 0))
		return next_by_steps(generator, true, &mint, COSID_MINT_AGAIN);
	outcome = cosid_mint(&generator->lease->u.grant, &slot->u.cursor, &slot->layout,
						 generator->reset_threshold, cosid_clock_now, &mint);
	if (likely(outcome == COSID_MINT_OK))
		return cosid_pack(&slot->layout, mint.next, mint.machine_id);
	return next_by_steps(generator, false, &mint, outcome);
}

/*-------------------------------------------------------------------------
 *
 * test_cursor.c
 *		Minting under a grant (grant.h): one thread at a time, then many.
 *
 * What a single thread can show is shown by one, with a clock that does
 * whatever is to happen in the middle of a mint: the clock is read between the
 * load of the cursor and the compare-and-swap, which is where a backend that is
 * descheduled at the worst moment would stand.
 *
 * The rest is threads.  The main thread is the worker (and the registry), the
 * others are backends.  Nothing waits for time to pass: waits are for progress,
 * in turns of the scheduler, and every count is bounded.  All checks are made
 * after the threads have ended, on what they noted down.
 *
 * Also built with ThreadSanitizer, as test_cursor_tsan.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#define _POSIX_C_SOURCE 200809L

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "mint/grant.h"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))

/* ThreadSanitizer makes everything several times slower. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#define SLOW_BUILD
#endif
#endif
#ifdef __SANITIZE_THREAD__
#define SLOW_BUILD
#endif
#ifdef SLOW_BUILD
#define SCALED(count)	((count) / 4)
#else
#define SCALED(count)	(count)
#endif

/* 2026-01-01 00:00:00 UTC */
#define START_SECOND	INT64_C(1767225600)
#define START_MS		(START_SECOND * 1000)

#define FOREVER			INT64_MAX

/* Attempts at one ID after which a minter gives up, so that no test hangs. */
#define MAX_ATTEMPTS	200000

/* A state and the grant that it was given out under. */
typedef struct Given
{
	uint64_t	state;
	int64_t		machine_id;
	int64_t		floor;
	int64_t		limit;
} Given;

/* A generator of one server: what backends share. */
typedef struct Server
{
	CosidGrant	grant __attribute__((aligned(64)));
	cosid_atomic cursor __attribute__((aligned(64)));
	CosidLayout layout;
	int64_t		reset_threshold;
	int64_t		skew_ms;		/* how far its clock is ahead of the world's */
} Server;

/* One backend. */
typedef struct Minter
{
	pthread_t	thread;
	Server	   *server;
	CosidClock	clock;
	void		(*on_dry) (int64_t now);
	uint64_t	random;
	int			wanted;			/* how many states it mints at most */
	bool		stops_on_error; /* what is neither AGAIN nor DRY is one */
	Given	   *given;			/* what it was given, in this order */
	int			ngiven;
	_Atomic int progress;		/* ngiven, for the worker to see */
	long		statuses[COSID_MINT_MACHINE_ID + 1];
	long		pauses_over_close;
} Minter;

/* The world's clock, where it is not the real one. */
static _Atomic int64_t world_ms;

/* Tells the minters to end. */
static atomic_bool stop;

/* The minter that the current thread is, for its clock. */
static _Thread_local Minter *self;

/* A fixed sequence of pseudo-random numbers (xorshift64*). */
static uint64_t
next_random(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * UINT64_C(2685821657736338717);
}

/* One of 0 .. bound - 1. */
static int
random_below(uint64_t *state, int bound)
{
	return (int) ((next_random(state) >> 32) % (uint64_t) bound);
}

static int64_t
later_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Clocks ----------------------------------------------------------------- */

static int64_t
in_unit(CosidUnit unit, int64_t ms)
{
	return unit == COSID_SECOND ? ms / 1000 : ms;
}

static int64_t
world_now(void)
{
	return atomic_load_explicit(&world_ms, memory_order_relaxed);
}

static void
set_world_clock(int64_t ms)
{
	atomic_store_explicit(&world_ms, ms, memory_order_relaxed);
}

static void
advance_world_clock(int64_t ms)
{
	atomic_fetch_add_explicit(&world_ms, ms, memory_order_relaxed);
}

static int64_t
world_clock(CosidUnit unit)
{
	return in_unit(unit, world_now() + (self != NULL ? self->server->skew_ms : 0));
}

/*
 * Moves the world's clock on from `now`, once however many threads ask.
 */
static void
tick_world_clock(int64_t now)
{
	atomic_compare_exchange_strong_explicit(&world_ms, &now, now + 1,
											memory_order_relaxed,
											memory_order_relaxed);
}

/*
 * The time of the real clock.  It goes by the monotonic one, so that someone
 * who sets the machine's time does not fail a test.
 */
static int64_t
real_clock(CosidUnit unit)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return in_unit(unit, START_MS + (int64_t) ts.tv_sec * 1000 + ts.tv_nsec / 1000000);
}

/*
 * The world's clock, for a backend that the scheduler now and then takes off
 * its processor at the worst moment: until the grant has been closed, and
 * perhaps opened again.  Gives up after some turns, or all might wait for each
 * other.
 */
static int64_t
pausing_clock(CosidUnit unit)
{
	int64_t		now = world_clock(unit);

	if (random_below(&self->random, 8) == 0)
	{
		cosid_atomic *version = &self->server->grant.version;
		uint64_t	before = cosid_atomic_read(version);

		for (int turns = 0; turns < 100; turns++)
		{
			if (cosid_atomic_read(version) != before)
			{
				self->pauses_over_close++;
				for (int more = random_below(&self->random, 4); more > 0; more--)
					sched_yield();
				break;
			}
			sched_yield();
		}
	}
	return now;
}

/* Servers and minters ---------------------------------------------------- */

static void
init_server(Server *server, CosidLayout layout)
{
	memset(server, 0, sizeof(*server));
	cosid_grant_init(&server->grant);
	cosid_atomic_init(&server->cursor, 0);
	server->layout = layout;
	server->reset_threshold = cosid_default_reset_threshold(&layout);
}

static CosidLayout
default_layout(CosidUnit unit)
{
	CosidLayout layout;

	cosid_layout_default(&layout, unit, false);
	return layout;
}

/* The worker's look at the cursor. */
static int64_t
cursor_ms(Server *server)
{
	return cosid_cursor_ms(&server->layout, cosid_atomic_read(&server->cursor));
}

static CosidMintStatus
mint_once(Server *server, CosidClock clock, CosidMint *mint)
{
	return cosid_mint(&server->grant, &server->cursor, &server->layout,
					  server->reset_threshold, clock, mint);
}

static bool
is_error(CosidMintStatus status)
{
	return status != COSID_MINT_OK && status != COSID_MINT_AGAIN &&
		status != COSID_MINT_DRY;
}

/* A backend: mints until it has what it wants, or is told to stop. */
static void *
minter_main(void *arg)
{
	Minter	   *minter = arg;

	self = minter;
	while (minter->ngiven < minter->wanted &&
		   !atomic_load_explicit(&stop, memory_order_relaxed))
	{
		CosidMint	mint = {.dry = 0};
		CosidMintStatus status;
		int			attempts = 0;

		/* One ID, which takes as many attempts as it takes. */
		do
		{
			status = mint_once(minter->server, minter->clock, &mint);
			minter->statuses[status]++;
			if (status == COSID_MINT_DRY && minter->on_dry != NULL)
				minter->on_dry(mint.now);
			if (status != COSID_MINT_OK && status != COSID_MINT_AGAIN)
				sched_yield();
			if (minter->stops_on_error && is_error(status))
				return NULL;
		} while (status != COSID_MINT_OK && ++attempts < MAX_ATTEMPTS &&
				 !atomic_load_explicit(&stop, memory_order_relaxed));
		if (status != COSID_MINT_OK)
			break;

		minter->given[minter->ngiven++] =
			(Given) {mint.next, mint.machine_id, mint.floor, mint.limit};
		atomic_store_explicit(&minter->progress, minter->ngiven,
							  memory_order_relaxed);
	}
	return NULL;
}

static void
start_minter(Minter *minter, Server *server, CosidClock clock, int wanted,
			 bool stops_on_error, int number)
{
	memset(minter, 0, sizeof(*minter));
	minter->server = server;
	minter->clock = clock;
	minter->random = UINT64_C(1577203200000) + (uint64_t) number;
	minter->wanted = wanted;
	minter->stops_on_error = stops_on_error;
	minter->given = calloc((size_t) wanted, sizeof(Given));
	assert_non_null(minter->given);
	if (clock == world_clock)
		minter->on_dry = tick_world_clock;
	assert_int_equal(pthread_create(&minter->thread, NULL, minter_main, minter), 0);
}

static void
join_minters(Minter *minters, int nminters)
{
	for (int i = 0; i < nminters; i++)
		assert_int_equal(pthread_join(minters[i].thread, NULL), 0);
}

static void
free_minters(Minter *minters, int nminters)
{
	for (int i = 0; i < nminters; i++)
		free(minters[i].given);
}

static int
total_progress(Minter *minters, int nminters)
{
	int			total = 0;

	for (int i = 0; i < nminters; i++)
		total += atomic_load_explicit(&minters[i].progress, memory_order_relaxed);
	return total;
}

/* Lets the minters get some `states` further, or as far as they can. */
static void
await_progress(Minter *minters, int nminters, int states, int patience)
{
	int			target = total_progress(minters, nminters) + states;

	while (total_progress(minters, nminters) < target && patience-- > 0)
		sched_yield();
}

static int
compare_given(const void *a, const void *b)
{
	const Given *x = a;
	const Given *y = b;

	if (x->machine_id != y->machine_id)
		return x->machine_id < y->machine_id ? -1 : 1;
	return (x->state > y->state) - (x->state < y->state);
}

/*
 * Everything that was given out, sorted, after checking that nothing was given
 * out twice.  The caller frees it.
 */
static Given *
all_given_once(Minter *minters, int nminters, int *count)
{
	Given	   *all;
	int			n = 0;

	for (int i = 0; i < nminters; i++)
		n += minters[i].ngiven;
	all = calloc((size_t) n + 1, sizeof(Given));
	assert_non_null(all);
	n = 0;
	for (int i = 0; i < nminters; i++)
	{
		memcpy(all + n, minters[i].given, (size_t) minters[i].ngiven * sizeof(Given));
		n += minters[i].ngiven;
	}
	qsort(all, (size_t) n, sizeof(Given), compare_given);
	for (int i = 1; i < n; i++)
	{
		if (compare_given(&all[i - 1], &all[i]) == 0)
			fail_msg("state %llu of machine id %lld was given out twice",
					 (unsigned long long) all[i].state,
					 (long long) all[i].machine_id);
	}
	*count = n;
	return all;
}

/* One thread: what a grant lets through ------------------------------------ */

/* Something that happens to the server in the middle of the next mint. */
static void (*meanwhile) (Server *server);
static Server *meanwhile_server;

static int64_t
eventful_clock(CosidUnit unit)
{
	int64_t		now = world_clock(unit);

	if (meanwhile != NULL)
	{
		void		(*event) (Server *server) = meanwhile;

		meanwhile = NULL;
		event(meanwhile_server);
	}
	return now;
}

/* A mint, with `event` in its middle unless that is NULL. */
static CosidMintStatus
mint_while(Server *server, void (*event) (Server *server), CosidMint *mint)
{
	CosidMintStatus status;

	meanwhile = event;
	meanwhile_server = server;
	status = mint_once(server, eventful_clock, mint);
	assert_true(meanwhile == NULL);
	return status;
}

/* A mint of a fresh ID when the clock reads `ms`, and its status. */
static CosidMintStatus
mint_at(Server *server, int64_t ms, CosidMint *mint)
{
	memset(mint, 0, sizeof(*mint));
	set_world_clock(ms);
	return mint_once(server, world_clock, mint);
}

/* A mint that must fail, and leave the cursor alone. */
static void
refused_at(Server *server, int64_t ms, CosidMintStatus status)
{
	uint64_t	before = cosid_atomic_read(&server->cursor);
	CosidMint	mint;

	assert_int_equal(mint_at(server, ms, &mint), status);
	assert_true(cosid_atomic_read(&server->cursor) == before);
}

/* A mint that must succeed.  Returns its state. */
static uint64_t
minted_at(Server *server, int64_t ms)
{
	CosidMint	mint;

	assert_int_equal(mint_at(server, ms, &mint), COSID_MINT_OK);
	assert_true(cosid_atomic_read(&server->cursor) == mint.next);
	assert_int_equal(cosid_cursor_ms(&server->layout, mint.next),
					 ms / cosid_unit_ms(&server->layout) *
					 cosid_unit_ms(&server->layout));
	return mint.next;
}

static int64_t
sequence_of(Server *server, uint64_t state)
{
	return (int64_t) (state & (uint64_t) cosid_max_sequence(&server->layout));
}

static void
without_a_grant_nothing_is_minted(void **state)
{
	Server		server;
	CosidMint	mint;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	assert_false(cosid_grant_stands(&server.grant));
	refused_at(&server, START_MS, COSID_MINT_NO_GRANT);

	cosid_grant_open(&server.grant, 3, START_MS - 1, FOREVER);
	assert_true(cosid_grant_stands(&server.grant));
	minted_at(&server, START_MS);

	cosid_grant_close(&server.grant);
	assert_false(cosid_grant_stands(&server.grant));
	refused_at(&server, START_MS, COSID_MINT_NO_GRANT);
	refused_at(&server, START_MS + 1, COSID_MINT_NO_GRANT);
	mint.now = 1;
	assert_int_equal(mint_at(&server, START_MS, &mint), COSID_MINT_NO_GRANT);
	assert_int_equal(mint.now, 0);
}

static void
closing_twice_is_closing_once(void **state)
{
	Server		server;
	uint64_t	version;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	version = cosid_atomic_read(&server.grant.version);
	cosid_grant_close(&server.grant);
	assert_true(cosid_atomic_read(&server.grant.version) == version);
	cosid_grant_open(&server.grant, 3, 0, FOREVER);
	assert_true(cosid_atomic_read(&server.grant.version) == version + 1);
	cosid_grant_close(&server.grant);
	cosid_grant_close(&server.grant);
	assert_true(cosid_atomic_read(&server.grant.version) == version + 2);
	assert_false(cosid_grant_stands(&server.grant));
}

static void
a_mint_reports_the_grant_it_was_made_under(void **state)
{
	Server		server;
	CosidMint	mint;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 315, START_MS - 1, START_MS + 10);
	assert_int_equal(mint_at(&server, START_MS, &mint), COSID_MINT_OK);
	assert_true(mint.last == 0);
	assert_int_equal(mint.now, START_MS);
	assert_int_equal(mint.machine_id, 315);
	assert_int_equal(mint.floor, START_MS - 1);
	assert_int_equal(mint.limit, START_MS + 10);
	assert_int_equal(sequence_of(&server, mint.next), 1);
}

static void
ids_are_later_than_the_floor_and_not_later_than_the_limit(void **state)
{
	Server		server;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS, START_MS + 2);
	refused_at(&server, START_MS - 1, COSID_MINT_FLOOR);
	refused_at(&server, START_MS, COSID_MINT_FLOOR);
	refused_at(&server, START_MS + 3, COSID_MINT_LIMIT);
	minted_at(&server, START_MS + 1);
	minted_at(&server, START_MS + 2);
	refused_at(&server, START_MS + 3, COSID_MINT_LIMIT);
	minted_at(&server, START_MS + 2);
}

static void
a_second_counts_from_its_first_millisecond(void **state)
{
	Server		server;

	(void) state;
	init_server(&server, default_layout(COSID_SECOND));

	/* A second that had begun at the floor is never used, however late in it. */
	cosid_grant_open(&server.grant, 3, START_MS, START_MS + 1000);
	refused_at(&server, START_MS + 999, COSID_MINT_FLOOR);
	minted_at(&server, START_MS + 1000);
	minted_at(&server, START_MS + 1999);
	refused_at(&server, START_MS + 2000, COSID_MINT_LIMIT);

	/* A floor within a second excludes that second, a limit does not. */
	cosid_grant_close(&server.grant);
	cosid_grant_open(&server.grant, 3, START_MS + 2001, START_MS + 3500);
	refused_at(&server, START_MS + 2999, COSID_MINT_FLOOR);
	minted_at(&server, START_MS + 3999);
	refused_at(&server, START_MS + 4000, COSID_MINT_LIMIT);
}

static void
a_raised_limit_goes_on_under_the_same_version(void **state)
{
	Server		server;
	uint64_t	version;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS);
	version = cosid_atomic_read(&server.grant.version);
	minted_at(&server, START_MS);
	refused_at(&server, START_MS + 1, COSID_MINT_LIMIT);
	cosid_grant_raise(&server.grant, START_MS + 1);
	minted_at(&server, START_MS + 1);
	refused_at(&server, START_MS + 2, COSID_MINT_LIMIT);
	assert_true(cosid_atomic_read(&server.grant.version) == version);
}

static void
raising_never_lowers_the_limit(void **state)
{
	Server		server;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 5);
	cosid_grant_raise(&server.grant, START_MS + 1);
	minted_at(&server, START_MS + 5);
}

static void
a_grant_with_a_lower_limit_stops_minting(void **state)
{
	Server		server;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	minted_at(&server, START_MS + 4);
	cosid_grant_close(&server.grant);
	cosid_grant_open(&server.grant, 4, START_MS + 4, START_MS + 5);
	refused_at(&server, START_MS + 6, COSID_MINT_LIMIT);
	refused_at(&server, START_MS + 4, COSID_MINT_FLOOR);
	minted_at(&server, START_MS + 5);
}

static void
a_machine_id_must_fit_the_layout(void **state)
{
	Server		server;
	CosidMint	mint;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 1024, START_MS - 1, FOREVER);
	refused_at(&server, START_MS, COSID_MINT_MACHINE_ID);
	assert_int_equal(mint_at(&server, START_MS, &mint), COSID_MINT_MACHINE_ID);
	assert_int_equal(mint.machine_id, 1024);
	cosid_grant_close(&server.grant);
	cosid_grant_open(&server.grant, 1023, START_MS - 1, FOREVER);
	minted_at(&server, START_MS);
	cosid_grant_close(&server.grant);
	cosid_grant_open(&server.grant, 0, START_MS - 1, FOREVER);
	minted_at(&server, START_MS);
}

static void
a_clock_outside_of_the_layout_overflows(void **state)
{
	Server		server;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, 0, FOREVER);
	refused_at(&server, COSID_EPOCH_MS - 1, COSID_MINT_OVERFLOW);
	refused_at(&server, COSID_EPOCH_MS + (INT64_C(1) << 41), COSID_MINT_OVERFLOW);
	minted_at(&server, COSID_EPOCH_MS + (INT64_C(1) << 41) - 1);
}

static void
a_clock_that_went_back_mints_nothing_until_it_has_caught_up(void **state)
{
	Server		server;
	uint64_t	first;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 100, FOREVER);
	first = minted_at(&server, START_MS);
	refused_at(&server, START_MS - 1, COSID_MINT_CLOCK_BACKWARDS);
	refused_at(&server, START_MS - 1000, COSID_MINT_CLOCK_BACKWARDS);
	assert_true(minted_at(&server, START_MS) == first + 1);
}

static void
a_dry_tick_waits_and_the_next_begins_with_sequence_0(void **state)
{
	Server		server;
	CosidMint	mint;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, FOREVER);
	for (int i = 1; i <= 4095; i++)
		minted_at(&server, START_MS);

	assert_int_equal(mint_at(&server, START_MS, &mint), COSID_MINT_DRY);
	assert_true(mint.dry == cosid_atomic_read(&server.cursor));
	assert_int_equal(mint_once(&server, world_clock, &mint), COSID_MINT_DRY);
	set_world_clock(START_MS - 1);
	assert_int_equal(mint_once(&server, world_clock, &mint),
					 COSID_MINT_CLOCK_BACKWARDS);
	set_world_clock(START_MS + 1);
	assert_int_equal(mint_once(&server, world_clock, &mint), COSID_MINT_OK);
	assert_int_equal(sequence_of(&server, mint.next), 0);
	assert_int_equal(sequence_of(&server, minted_at(&server, START_MS + 1)), 1);
}

static void
only_one_of_those_who_waited_for_a_tick_gets_sequence_0(void **state)
{
	Server		server;
	CosidMint	mine;
	CosidMint	theirs;

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, FOREVER);
	for (int i = 1; i <= 4095; i++)
		minted_at(&server, START_MS);

	assert_int_equal(mint_at(&server, START_MS, &mine), COSID_MINT_DRY);
	assert_int_equal(mint_at(&server, START_MS, &theirs), COSID_MINT_DRY);
	set_world_clock(START_MS + 1);
	assert_int_equal(mint_once(&server, world_clock, &theirs), COSID_MINT_OK);
	assert_int_equal(sequence_of(&server, theirs.next), 0);
	assert_int_equal(mint_once(&server, world_clock, &mine), COSID_MINT_OK);
	assert_int_equal(sequence_of(&server, mine.next), 1);

	/* Nor does what someone found dry long ago matter to a later tick. */
	set_world_clock(START_MS + 2);
	assert_int_equal(mint_once(&server, world_clock, &mine), COSID_MINT_OK);
	assert_int_equal(sequence_of(&server, mine.next), 2);
}

/* One thread: what happens in the middle of a mint ------------------------- */

static void
another_backend_mints(Server *server)
{
	CosidMint	mint = {.dry = 0};

	assert_int_equal(mint_once(server, world_clock, &mint), COSID_MINT_OK);
}

static void
another_backend_mints_a_tick_later(Server *server)
{
	advance_world_clock(1);
	another_backend_mints(server);
}

static uint64_t closed_at_cursor;

static void
the_grant_is_closed(Server *server)
{
	cosid_grant_close(&server->grant);
	closed_at_cursor = cosid_atomic_read(&server->cursor);
}

static void
the_grant_becomes_another(Server *server)
{
	the_grant_is_closed(server);
	cosid_grant_open(&server->grant, 4, START_MS, START_MS + 20);
}

static void
the_grant_is_lost_and_claimed_again(Server *server)
{
	the_grant_is_closed(server);
	cosid_grant_open(&server->grant, 3, START_MS - 1, START_MS + 10);
}

static void
the_limit_is_raised(Server *server)
{
	cosid_grant_raise(&server->grant, START_MS + 20);
}

static void
who_loses_the_race_for_a_state_starts_over(void **state)
{
	Server		server;
	CosidMint	mint = {.dry = 0};

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	set_world_clock(START_MS);
	assert_int_equal(mint_while(&server, another_backend_mints, &mint),
					 COSID_MINT_AGAIN);
	assert_int_equal(sequence_of(&server, cosid_atomic_read(&server.cursor)), 1);
	assert_int_equal(mint_while(&server, NULL, &mint), COSID_MINT_OK);
	assert_int_equal(sequence_of(&server, mint.next), 2);
}

static void
the_progress_of_others_is_no_clock_that_went_back(void **state)
{
	Server		server;
	CosidMint	mint = {.dry = 0};

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	set_world_clock(START_MS);
	assert_int_equal(mint_while(&server, another_backend_mints_a_tick_later, &mint),
					 COSID_MINT_AGAIN);
	assert_int_equal(mint_while(&server, NULL, &mint), COSID_MINT_OK);
	assert_int_equal(sequence_of(&server, mint.next), 2);
}

static void
a_state_taken_after_the_grant_was_closed_is_thrown_away(void **state)
{
	Server		server;
	CosidMint	mint = {.dry = 0};

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	minted_at(&server, START_MS);
	set_world_clock(START_MS + 1);
	assert_int_equal(mint_while(&server, the_grant_is_closed, &mint),
					 COSID_MINT_AGAIN);
	/* Why: whoever closed it did not see that state. */
	assert_true(mint.next > closed_at_cursor);
	assert_int_equal(mint_while(&server, NULL, &mint), COSID_MINT_NO_GRANT);
}

static void
a_state_taken_under_another_grant_is_thrown_away(void **state)
{
	Server		server;
	CosidMint	mint = {.dry = 0};

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	minted_at(&server, START_MS);
	set_world_clock(START_MS + 1);
	assert_int_equal(mint_while(&server, the_grant_becomes_another, &mint),
					 COSID_MINT_AGAIN);
	assert_int_equal(mint_while(&server, NULL, &mint), COSID_MINT_OK);
	assert_int_equal(mint.machine_id, 4);
	assert_int_equal(mint.floor, START_MS);
	assert_int_equal(mint.limit, START_MS + 20);
}

static void
a_grant_that_reads_the_same_is_still_another(void **state)
{
	Server		server;
	CosidMint	mint = {.dry = 0};

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	set_world_clock(START_MS);
	assert_int_equal(mint_while(&server, the_grant_is_lost_and_claimed_again, &mint),
					 COSID_MINT_AGAIN);
	assert_int_equal(mint_while(&server, NULL, &mint), COSID_MINT_OK);
}

static void
raising_the_limit_disturbs_no_mint(void **state)
{
	Server		server;
	CosidMint	mint = {.dry = 0};

	(void) state;
	init_server(&server, default_layout(COSID_MILLISECOND));
	cosid_grant_open(&server.grant, 3, START_MS - 1, START_MS + 10);
	set_world_clock(START_MS);
	assert_int_equal(mint_while(&server, the_limit_is_raised, &mint), COSID_MINT_OK);
	assert_int_equal(mint.limit, START_MS + 10);
	minted_at(&server, START_MS + 20);
}

/* Threads on a grant that stands ------------------------------------------- */

#define SATURATING_MINTERS	8

/*
 * A saturated generator of 8 backends.  Its states, sorted, are returned; the
 * caller frees them.
 */
static Given *
saturate(CosidClock clock, int states_each, int *count)
{
	Server		server;
	Minter		minters[SATURATING_MINTERS];
	Given	   *all;

	init_server(&server, default_layout(COSID_MILLISECOND));
	set_world_clock(START_MS);
	atomic_store(&stop, false);
	cosid_grant_open(&server.grant, 315, START_MS - 1, FOREVER);
	for (int i = 0; i < SATURATING_MINTERS; i++)
		start_minter(&minters[i], &server, clock, states_each, true, i);
	join_minters(minters, SATURATING_MINTERS);

	for (int i = 0; i < SATURATING_MINTERS; i++)
	{
		for (int status = 0; status < (int) lengthof(minters[i].statuses); status++)
		{
			if (is_error((CosidMintStatus) status))
				assert_int_equal(minters[i].statuses[status], 0);
		}
		assert_int_equal(minters[i].ngiven, states_each);
		for (int j = 1; j < states_each; j++)
			assert_true(minters[i].given[j - 1].state < minters[i].given[j].state);
	}
	all = all_given_once(minters, SATURATING_MINTERS, count);
	assert_int_equal(*count, SATURATING_MINTERS * states_each);
	assert_true(all[*count - 1].state == cosid_atomic_read(&server.cursor));
	free_minters(minters, SATURATING_MINTERS);
	return all;
}

static void
eight_threads_get_no_duplicate_no_error_and_increasing_ids(void **state)
{
	Given	   *all;
	int			count;

	(void) state;
	all = saturate(world_clock, SCALED(40000), &count);

	/*
	 * This clock ticks only when a tick is used up.  So there are no gaps
	 * either, but for the sequence 0 of a tick, which goes to who found the
	 * one before dry: it is left out when someone else comes first.
	 */
	for (int i = 1; i < count; i++)
	{
		uint64_t	next = all[i - 1].state + 1;

		assert_true(all[i].state == next ||
					((next & 4095) == 0 && all[i].state == next + 1));
	}
	free(all);
}

static void
eight_threads_do_so_by_the_real_clock_too(void **state)
{
	Given	   *all;
	int			count;

	(void) state;
	all = saturate(real_clock, SCALED(40000), &count);
	free(all);
}

/* Threads and a worker that opens, raises and closes ----------------------- */

#define MINTERS			4
#define VERSIONS		SCALED(2000)
#define MAX_TICKS		4		/* of the clock, in one version */
#define PATIENCE		60		/* turns of the scheduler */

/* What the worker noted of a version; its number is the machine id. */
typedef struct Version
{
	int64_t		floor;
	int64_t		limit;			/* as it was in the end */
	uint64_t	opened_at;		/* the cursor before opening */
	uint64_t	closed_at;		/* the cursor that was read after closing */
} Version;

/* Room for every version's number in the machine id; 16 IDs a tick. */
static const CosidLayout versions_layout = {
	COSID_MILLISECOND, 38, 20, 4, COSID_EPOCH_MS
};

/* Runs the minters under one version, with the clock and limit moving. */
static void
live_through_version(Server *server, Version *version, Minter *minters,
					 int nminters, uint64_t *random)
{
	for (int ticks = 1 + random_below(random, MAX_TICKS); ticks > 0; ticks--)
	{
		if (random_below(random, 4) != 0)
			advance_world_clock(1);
		if (random_below(random, 2) == 0)
		{
			version->limit = later_of(version->limit,
									  world_now() + random_below(random, 3));
			cosid_grant_raise(&server->grant, version->limit);
		}
		await_progress(minters, nminters, random_below(random, 16), PATIENCE);
	}
}

static void
check_against_versions(const Minter *minter, const Version *versions,
					   int nversions)
{
	const CosidLayout *layout = &minter->server->layout;
	const Given *before = NULL;

	for (const Given *given = minter->given;
		 given < minter->given + minter->ngiven; given++)
	{
		const Version *version;
		int64_t		timestamp_ms = cosid_cursor_ms(layout, given->state);

		assert_true(given->machine_id >= 1 && given->machine_id <= nversions);
		version = &versions[given->machine_id];

		/* One grant's numbers, not a mixture of two. */
		assert_int_equal(given->floor, version->floor);
		assert_true(given->limit <= version->limit);

		/* Within the grant, and no later than the worker saw on closing. */
		assert_true(timestamp_ms > version->floor);
		assert_true(timestamp_ms <= version->limit);
		assert_true(given->state <= version->closed_at);

		/* Nor before the version began. */
		assert_true(given->state > version->opened_at);

		if (before != NULL && before->machine_id == given->machine_id)
			assert_true(before->state < given->state);
		else if (before != NULL)
			assert_true(before->machine_id < given->machine_id);
		before = given;
	}
}

/*
 * The worker's side of the test below.  Sometimes the clock jumps back and the
 * worker gives the jump up: it lowers the cursor while no grant stands.
 */
static void
open_and_close_versions(Server *server, Version *versions, Minter *minters)
{
	uint64_t	random = UINT64_C(20260101);
	int64_t		floor = world_now();

	for (int i = 1; i <= VERSIONS; i++)
	{
		Version    *version = &versions[i];
		bool		jump = random_below(&random, 16) == 0;

		version->opened_at = cosid_atomic_read(&server->cursor);
		version->floor = floor;
		version->limit = later_of(floor, world_now()) + random_below(&random, 4);
		cosid_grant_open(&server->grant, i, version->floor, version->limit);
		live_through_version(server, version, minters, MINTERS, &random);
		if (jump)
			set_world_clock(world_now() - 1 - random_below(&random, 10));

		cosid_grant_close(&server->grant);
		version->closed_at = cosid_atomic_read(&server->cursor);

		if (jump)
		{
			int64_t		timestamp = world_now() - server->layout.epoch;

			cosid_atomic_write(&server->cursor,
							   (uint64_t) timestamp << server->layout.sequence_bit);
			floor = world_now();
		}
		else
			floor = later_of(floor, cosid_cursor_ms(&server->layout, version->closed_at));

		for (int turns = random_below(&random, 4); turns > 0; turns--)
			sched_yield();
	}
}

static void
what_the_closing_worker_reads_covers_all_that_was_given_out(void **state)
{
	/* At most 16 states whenever the clock moves or the cursor is lowered. */
	const int	room = VERSIONS * (MAX_TICKS + 2) * 16;
	Server		server;
	Minter		minters[MINTERS];
	Version    *versions = calloc(VERSIONS + 1, sizeof(Version));
	Given	   *all;
	long		pauses_over_close = 0;
	int			count;

	(void) state;
	assert_non_null(versions);
	init_server(&server, versions_layout);
	set_world_clock(START_MS);
	atomic_store(&stop, false);
	for (int i = 0; i < MINTERS; i++)
		start_minter(&minters[i], &server, pausing_clock, room, false, i);
	open_and_close_versions(&server, versions, minters);
	atomic_store(&stop, true);
	join_minters(minters, MINTERS);

	for (int i = 0; i < MINTERS; i++)
	{
		assert_true(minters[i].ngiven < room);
		assert_int_equal(minters[i].statuses[COSID_MINT_OVERFLOW], 0);
		assert_int_equal(minters[i].statuses[COSID_MINT_MACHINE_ID], 0);
		check_against_versions(&minters[i], versions, VERSIONS);
		pauses_over_close += minters[i].pauses_over_close;
	}
	all = all_given_once(minters, MINTERS, &count);
	free(all);

	/* It was a test: much was minted, and much was in the balance. */
	assert_true(count > VERSIONS);
	assert_true(pauses_over_close > VERSIONS / 10);
	free_minters(minters, MINTERS);
	free(versions);
}

/*
 * The same at full speed.  Nobody pauses and no tick runs dry, so that closing
 * races with the processors' own order of loads and stores.  Only the first and
 * the last state of each version are noted: there are too many to keep.
 */

#define RACES			SCALED(40000)

typedef struct Racer
{
	pthread_t	thread;
	Server	   *server;
	uint64_t	first[RACES + 1];	/* by machine id */
	uint64_t	last[RACES + 1];
	_Atomic int progress;
} Racer;

static void *
racer_main(void *arg)
{
	Racer	   *racer = arg;
	int			minted = 0;

	while (!atomic_load_explicit(&stop, memory_order_relaxed))
	{
		CosidMint	mint = {.dry = 0};
		CosidMintStatus status = mint_once(racer->server, world_clock, &mint);

		if (status == COSID_MINT_OK)
		{
			if (racer->first[mint.machine_id] == 0)
				racer->first[mint.machine_id] = mint.next;
			racer->last[mint.machine_id] = mint.next;
			atomic_store_explicit(&racer->progress, (int) mint.machine_id,
								  memory_order_relaxed);
			/* Where there is but one processor, it is the worker's turn. */
			if (++minted % 1024 == 0)
				sched_yield();
		}
	}
	return NULL;
}

static void
closing_at_full_speed_covers_all_that_was_given_out(void **state)
{
	/* Sequences enough for the whole test in one millisecond. */
	CosidLayout layout = {COSID_MILLISECOND, 2, 20, 40, START_MS};
	Server		server;
	Racer	   *racer = calloc(1, sizeof(Racer));
	uint64_t   *closed_at = calloc(RACES + 1, sizeof(uint64_t));
	uint64_t	random = UINT64_C(40);
	int			raced = 0;

	(void) state;
	assert_non_null(racer);
	assert_non_null(closed_at);
	init_server(&server, layout);
	set_world_clock(START_MS + 1);
	atomic_store(&stop, false);
	racer->server = &server;
	assert_int_equal(pthread_create(&racer->thread, NULL, racer_main, racer), 0);

	for (int i = 1; i <= RACES; i++)
	{
		cosid_grant_open(&server.grant, i, START_MS, START_MS + 1);
		for (int turns = 0; turns < 2000 &&
			 atomic_load_explicit(&racer->progress, memory_order_relaxed) != i; turns++)
		{
			if (turns % 200 == 199)
				sched_yield();
		}
		for (int spins = random_below(&random, 32); spins > 0; spins--)
			(void) cosid_atomic_read(&server.grant.limit);
		cosid_grant_close(&server.grant);
		closed_at[i] = cosid_atomic_read(&server.cursor);
	}
	atomic_store(&stop, true);
	assert_int_equal(pthread_join(racer->thread, NULL), 0);

	for (int i = 1; i <= RACES; i++)
	{
		if (racer->last[i] == 0)
			continue;
		assert_true(racer->first[i] > closed_at[i - 1]);
		assert_true(racer->last[i] <= closed_at[i]);
		raced++;
	}
	assert_true(raced > RACES / 10);
	free(closed_at);
	free(racer);
}

/* Threads of two servers that share a machine id --------------------------- */

#define HANDOVERS		SCALED(2000)

/*
 * The registry's and both workers' side of the test below.  The holder gives
 * the machine id back with its watermark lowered to what its cursor shows, or
 * is fenced: it knows nothing and mints on up to its limit, while the other
 * one has claimed its row with that limit for a floor.
 */
static void
hand_over(Server *servers, Minter *minters)
{
	uint64_t	random = UINT64_C(20191224);
	int64_t		watermark = world_now();

	for (int i = 0; i < HANDOVERS; i++)
	{
		Server	   *holder = &servers[random_below(&random, 2)];
		Version		tenure;

		/* It notices that it had been fenced. */
		cosid_grant_close(&holder->grant);

		tenure.floor = watermark;
		tenure.limit = later_of(watermark, world_now()) + random_below(&random, 3);
		cosid_grant_open(&holder->grant, 1, tenure.floor, tenure.limit);
		live_through_version(holder, &tenure, minters, MINTERS, &random);

		if (random_below(&random, 4) == 0)
			watermark = tenure.limit;
		else
		{
			cosid_grant_close(&holder->grant);
			watermark = later_of(tenure.floor, cursor_ms(holder));
		}
	}
}

static void
two_servers_that_hand_a_machine_id_over_never_share_an_id(void **state)
{
	const int	room = HANDOVERS * (MAX_TICKS + 1) * 16 * 2;
	Server		servers[2];
	Minter		minters[MINTERS];
	Given	   *all;
	int			given[2] = {0, 0};
	int			count;

	(void) state;
	set_world_clock(START_MS);
	atomic_store(&stop, false);
	for (int i = 0; i < 2; i++)
	{
		init_server(&servers[i], versions_layout);
		/* Every tick starts over: they would choose the same sequences. */
		servers[i].reset_threshold = 0;
		servers[i].skew_ms = i;
	}
	for (int i = 0; i < MINTERS; i++)
		start_minter(&minters[i], &servers[i % 2], pausing_clock, room, false, i);
	hand_over(servers, minters);
	atomic_store(&stop, true);
	join_minters(minters, MINTERS);

	for (int i = 0; i < MINTERS; i++)
	{
		assert_true(minters[i].ngiven < room);
		given[i % 2] += minters[i].ngiven;
		assert_int_equal(minters[i].statuses[COSID_MINT_CLOCK_BACKWARDS], 0);
		for (int j = 1; j < minters[i].ngiven; j++)
			assert_true(minters[i].given[j - 1].state < minters[i].given[j].state);
	}
	all = all_given_once(minters, MINTERS, &count);
	free(all);
	assert_true(given[0] > HANDOVERS / 10);
	assert_true(given[1] > HANDOVERS / 10);
	free_minters(minters, MINTERS);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_grant_nothing_is_minted),
		cmocka_unit_test(closing_twice_is_closing_once),
		cmocka_unit_test(a_mint_reports_the_grant_it_was_made_under),
		cmocka_unit_test(ids_are_later_than_the_floor_and_not_later_than_the_limit),
		cmocka_unit_test(a_second_counts_from_its_first_millisecond),
		cmocka_unit_test(a_raised_limit_goes_on_under_the_same_version),
		cmocka_unit_test(raising_never_lowers_the_limit),
		cmocka_unit_test(a_grant_with_a_lower_limit_stops_minting),
		cmocka_unit_test(a_machine_id_must_fit_the_layout),
		cmocka_unit_test(a_clock_outside_of_the_layout_overflows),
		cmocka_unit_test(a_clock_that_went_back_mints_nothing_until_it_has_caught_up),
		cmocka_unit_test(a_dry_tick_waits_and_the_next_begins_with_sequence_0),
		cmocka_unit_test(only_one_of_those_who_waited_for_a_tick_gets_sequence_0),
		cmocka_unit_test(who_loses_the_race_for_a_state_starts_over),
		cmocka_unit_test(the_progress_of_others_is_no_clock_that_went_back),
		cmocka_unit_test(a_state_taken_after_the_grant_was_closed_is_thrown_away),
		cmocka_unit_test(a_state_taken_under_another_grant_is_thrown_away),
		cmocka_unit_test(a_grant_that_reads_the_same_is_still_another),
		cmocka_unit_test(raising_the_limit_disturbs_no_mint),
		cmocka_unit_test(eight_threads_get_no_duplicate_no_error_and_increasing_ids),
		cmocka_unit_test(eight_threads_do_so_by_the_real_clock_too),
		cmocka_unit_test(what_the_closing_worker_reads_covers_all_that_was_given_out),
		cmocka_unit_test(closing_at_full_speed_covers_all_that_was_given_out),
		cmocka_unit_test(two_servers_that_hand_a_machine_id_over_never_share_an_id),
	};

	return cmocka_run_group_tests_name("cursor", tests, NULL, NULL);
}

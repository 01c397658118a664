/*
 * lease.pml
 *		A model of the grant: why no ID is given out twice.
 *
 * Servers share machine ids through the rows of one registry.  Each server is
 * a worker, which claims, extends and gives back, and backends, which mint.
 * What may go wrong goes wrong at any step: clocks read anything, a process is
 * paused for as long as one likes, the worker dies and is started again, the
 * server crashes, an answer of the registry is lost, another server takes the
 * row over.  spin visits every order in which the steps can happen.
 *
 * Checked: no (machine id, generator, timestamp, sequence) is given out twice,
 * and an ID is greater than every ID that its generator gave out on that server
 * before the call began.
 *
 * A step is what one process does without another getting in between: one load
 * or store of shared memory, one compare-and-swap, or one transaction of the
 * registry, which holds the row's lock from its first look to its commit.  What
 * a process does to its own memory goes with the step before it.  spec/README.md
 * says which code a step stands for.
 *
 * Left out, since nothing here depends on it: what makes a row takeable (here
 * anybody may take any row at any time, which covers every rule and every
 * clock); how far a claim or an extension raises the watermark (one more tick
 * each time: a greater raise is several, with nothing in between); attempts
 * that end without an ID and change nothing.  Both servers have one instance id,
 * as copies have: the token alone tells their claims apart.  Memory is
 * sequentially consistent: that the barriers of grant.h make it so is shown by
 * test/unit/test_cursor.c.  A registry that loses commits is not modelled.
 *
 *		spec/run-model.sh		all configurations and mutants
 *
 * Configurations are made by macros:
 *		T				timestamps are 1 .. T (ms)
 *		CLAIMS			claims in all
 *		SERVERS			1 or 2
 *		MACHINES		machine ids; with 2, a server may give up a clock jump
 *		BACKENDS		backends of a server
 *		UNITS			2: every second backend draws from a generator whose
 *						unit, the "second", is 2 ms
 *		SEQUENCES		sequence numbers within a timestamp
 *		STABLE			a row that was given back stays its instance's
 * Mutants, each of which leaves out one thing that the argument needs, are the
 * macros that begin with NO_ or BUG_.
 */
#ifndef T
#define T 3
#endif
#ifndef CLAIMS
#define CLAIMS 3
#endif
#ifndef SERVERS
#define SERVERS 2
#endif
#ifndef MACHINES
#define MACHINES 1
#endif
#ifndef BACKENDS
#define BACKENDS 1
#endif
#ifndef UNITS
#define UNITS 1
#endif
#ifndef SEQUENCES
#define SEQUENCES 1
#endif

#define MAX(a, b)		((a) > (b) -> (a) : (b))
#define ODD(v)			((v) % 2 == 1)

/* A cursor is a timestamp and a sequence; a second counts as its first ms. */
#define MS(state)		((state) / SEQUENCES)
#define LAST_OF(ms)		((ms) * SEQUENCES + SEQUENCES - 1)
#define UNIT_MS(g)		((g) + 1)

/* ------------------------------------------------------------ the registry */

byte row_watermark[MACHINES];	/* last_timestamp */
byte row_token[MACHINES];		/* distribute_time; 0: never claimed */
bool row_taken[MACHINES];		/* instance_id <> '' */

/* ------------------------------------- a server's shared memory: its grant */

byte version[SERVERS] = 1;		/* even while the grant stands */
byte g_machine[SERVERS];
byte g_floor[SERVERS];
byte g_limit[SERVERS];

/* its slots, a cursor for each generator */
#define GENERATORS	(SERVERS * UNITS)
byte cursor[GENERATORS];

/* and its lease's status, which outlives the worker */
bool held[SERVERS];
byte machine[SERVERS];
byte token[SERVERS];
byte floor[SERVERS];
byte confirmed[SERVERS];		/* the last watermark seen committed */

/* ---------------------------------------------------- what was given out */

short issued[MACHINES * UNITS];	/* a bit for each timestamp and sequence */
byte latest[GENERATORS];		/* the greatest ID of the generator here */

/* -------------------------------------------------- processes' own memory */

/*
 * Where a process is stands beside what it remembers, not in the process: so a
 * crash is one step that forgets it all.
 */
mtype:backend = {
	IDLE,						/* about to load the version */
	LOAD_MACHINE, LOAD_FLOOR, LOAD_LIMIT, LOAD_CURSOR,
	SWAP,						/* about to compare and swap */
	LOOK						/* about to look at the version again */
};

#define ALL_BACKENDS	(SERVERS * BACKENDS)
mtype:backend at[ALL_BACKENDS] = IDLE;
byte b_version[ALL_BACKENDS];
byte b_machine[ALL_BACKENDS];
byte b_floor[ALL_BACKENDS];
byte b_limit[ALL_BACKENDS];
byte b_last[ALL_BACKENDS];
byte b_next[ALL_BACKENDS];

mtype:worker = {
	TEND,						/* about to choose what to do */
	CLAIM,						/* has read the cursors for a claim */
	OPEN_MACHINE, OPEN_FLOOR, OPEN_LIMIT, OPEN_VERSION,
	RAISE,						/* an extension has committed */
	READ, READ_SECOND,			/* about to read the cursors, closed */
	REVERT,						/* has read them */
	LOWER, LOWER_SECOND,		/* about to lower them */
	LOWERED
};

mtype:worker doing[SERVERS] = TEND;
byte reached[SERVERS];			/* largest cursor read, ms */
bool giving_up[SERVERS];		/* a clock jump is given up */
byte avoid[SERVERS];			/* machine id not to be claimed, plus 1 */

hidden byte x, m;				/* within one step */

/* The call ends, with an ID or without. */
inline end_call(b)
{
	at[b] = IDLE;
	b_version[b] = 0;
	b_machine[b] = 0;
	b_floor[b] = 0;
	b_limit[b] = 0;
	b_last[b] = 0;
	b_next[b] = 0
}

/* ------------------------------------------------------------- a backend */

/* IDs need a timestamp after it. */
#ifdef NO_FLOOR
#define FLOOR(b)		0
#else
#define FLOOR(b)		b_floor[b]
#endif

/*
 * cosid_mint, again and again.  Of backends that do the same thing, the first
 * that is idle makes the next call: which one it is makes no difference.
 */
#define SAME_BEFORE(b)	((b) % BACKENDS >= UNITS)

proctype backend(byte b; byte s; byte g)
{
	do
	/* A grant must stand. */
	:: d_step {
			at[b] == IDLE && !ODD(version[s]) &&
			(!SAME_BEFORE(b) || at[(SAME_BEFORE(b) -> b - UNITS : b)] != IDLE) ->
			b_version[b] = version[s];
			at[b] = (MACHINES > 1 -> LOAD_MACHINE : LOAD_FLOOR)
		}
	:: d_step {
			at[b] == LOAD_MACHINE ->
			b_machine[b] = g_machine[s];
			at[b] = LOAD_FLOOR
		}
	:: d_step {
			at[b] == LOAD_FLOOR ->
			b_floor[b] = g_floor[s];
			at[b] = LOAD_LIMIT
		}
	:: d_step {
			at[b] == LOAD_LIMIT ->
			if
			:: g_limit[s] > FLOOR(b) ->
				b_limit[b] = g_limit[s];
				at[b] = LOAD_CURSOR
			:: else ->
				end_call(b)
			fi
		}

	/*
	 * The cursor, then the clock, which reads anything; the next state is any
	 * later one (which sequence it has is snowflake.h's matter).  Floor and
	 * limit are checked here: what does not pass ends the call.
	 */
	:: atomic {
			at[b] == LOAD_CURSOR ->
			b_last[b] = cursor[g];
			x = b_last[b] + 1;
			do
			:: x < LAST_OF(T) -> x++
			:: break
			od;
			if
			:: MS(x) % UNIT_MS(g % UNITS) == 0 && MS(x) <= b_limit[b] &&
#if defined(BUG_SECOND_BY_ITS_LAST_MS)
			   MS(x) + UNIT_MS(g % UNITS) - 1 > b_floor[b]
#else
			   MS(x) > FLOOR(b)
#endif
			   ->
				assert(x > latest[g]);
				b_next[b] = x;
				b_floor[b] = 0;
				b_limit[b] = 0;
				at[b] = SWAP
			:: else ->
				end_call(b)
			fi
		}

	:: d_step {
			at[b] == SWAP ->
			if
#ifdef NO_COMPARE
			:: true ->
#else
			:: cursor[g] == b_last[b] ->
#endif
				cursor[g] = b_next[b];
				b_last[b] = 0;
				at[b] = LOOK
			:: else ->
				end_call(b)
			fi
		}

	/* The same version: the ID is out.  Else the state is thrown away. */
	:: d_step {
			at[b] == LOOK ->
			if
#ifndef NO_SECOND_LOOK
			:: version[s] == b_version[b] ->
#else
			:: true ->
#endif
				x = b_machine[b] * UNITS + g % UNITS;
				assert((issued[x] & (1 << b_next[b])) == 0);
				issued[x] = issued[x] | (1 << b_next[b]);
				latest[g] = MAX(latest[g], b_next[b])
#ifndef NO_SECOND_LOOK
			:: else
#endif
			fi;
			end_call(b)
		}
	od
}

/* -------------------------------------------------------------- the worker */

/* The row that guard and revert match. */
#ifdef NO_TOKEN
#define ROW_HELD(s) \
	(row_taken[machine[s]] && row_watermark[machine[s]] >= confirmed[s])
#else
#define ROW_HELD(s) \
	(row_taken[machine[s]] && row_token[machine[s]] == token[s] && \
	 row_watermark[machine[s]] >= confirmed[s])
#endif

inline not_held(s)
{
	held[s] = false;
	machine[s] = 0;
	token[s] = 0;
	floor[s] = 0;
	confirmed[s] = 0
}

/* The worker's own memory is gone. */
inline forget(s)
{
	doing[s] = TEND;
	reached[s] = 0;
	giving_up[s] = false;
	avoid[s] = 0
}

inline lower_cursor(g)
{
	/* to the clock, which reads anything */
	do
	:: cursor[g] > 0 -> cursor[g] = cursor[g] - 1
	:: break
	od;
	latest[g] = 0				/* order is given up with the jump */
}

/* With no timestamp left above the watermark there is nothing to see. */
#if MACHINES > 1
#define CLAIMED		(row_token[0] + row_token[1])
#else
#define CLAIMED		(row_token[0])
#endif
#define MAY_CLAIM(s, m) \
	(avoid[s] != (m) + 1 && CLAIMED < CLAIMS && row_watermark[m] < T)

proctype worker(byte s)
{
	do
	/*
	 * Claim.  No grant stands.  First the largest cursor, which the floor must
	 * not be below.  (The first claim ever is the first server's: they are
	 * alike.)
	 */
	:: d_step {
			doing[s] == TEND && !held[s] && (s == 0 || row_token[0] > 0) &&
			(MAY_CLAIM(s, 0) || MAY_CLAIM(s, MACHINES - 1)) ->
			reached[s] = MAX(MS(cursor[s * UNITS]), MS(cursor[s * UNITS + UNITS - 1]));
#ifdef BUG_FLOOR_BEFORE_LOCK
			reached[s] = MAX(reached[s], row_watermark[0]);
#endif
			doing[s] = CLAIM
		}

	/*
	 * The claim's transaction: floor, token and first watermark, from the locked
	 * row.  The status goes with it.  When the answer is lost, or the worker
	 * dies now, the row is taken all the same.
	 */
	:: atomic {
			doing[s] == CLAIM &&
			(MAY_CLAIM(s, 0) || MAY_CLAIM(s, MACHINES - 1)) ->
			if
			:: MAY_CLAIM(s, 0) -> m = 0
			:: MACHINES > 1 && MAY_CLAIM(s, MACHINES - 1) -> m = MACHINES - 1
			fi;
			row_token[m]++;
			row_taken[m] = true;
			row_watermark[m] = MAX(row_watermark[m], reached[s]);
			if
			::
				held[s] = true;
				machine[s] = m;
				token[s] = row_token[m];
#ifdef BUG_FLOOR_BEFORE_LOCK
				floor[s] = reached[s];
#else
				floor[s] = row_watermark[m];
#endif
				confirmed[s] = row_watermark[m];
				doing[s] = (MACHINES > 1 -> OPEN_MACHINE : OPEN_FLOOR)
			::
				doing[s] = TEND
			fi;
			avoid[s] = 0;
			reached[s] = 0
		}

	/* Open the grant. */
	:: d_step {
			doing[s] == OPEN_MACHINE ->
			g_machine[s] = machine[s];
			doing[s] = OPEN_FLOOR
		}
	:: d_step {
			doing[s] == OPEN_FLOOR ->
			g_floor[s] = floor[s];
			doing[s] = OPEN_LIMIT
		}
	:: d_step {
			doing[s] == OPEN_LIMIT ->
			g_limit[s] = confirmed[s];
			doing[s] = OPEN_VERSION
		}
	:: d_step {
			doing[s] == OPEN_VERSION ->
#ifdef BUG_CHANGE_WHILE_EVEN
			if
			:: ODD(version[s]) -> version[s]++
			:: else
			fi;
#else
			version[s]++;
#endif
			doing[s] = TEND
		}

	/*
	 * Extend: the registry commits, then the limit rises.  When the answer is
	 * lost, the row is raised and nothing else.
	 */
	:: atomic {
			doing[s] == TEND && held[s] && !ODD(version[s]) && ROW_HELD(s) &&
			row_watermark[machine[s]] < T ->
			x = 0;
			if
			:: row_watermark[machine[s]]++
#ifdef BUG_EXTENSION_LOWERS
			:: row_watermark[machine[s]] > 0 -> row_watermark[machine[s]]--
#endif
#ifdef BUG_UNKNOWN_IS_COMMITTED
			::
				x = 1				/* not committed, but taken for it */
#endif
			fi;
			if
			::
				confirmed[s] = row_watermark[machine[s]] + x;
				doing[s] = RAISE
			::
				skip
			fi
		}
#ifdef BUG_LIMIT_BEFORE_COMMIT
	:: d_step {
			doing[s] == TEND && held[s] && !ODD(version[s]) &&
			g_limit[s] == confirmed[s] && confirmed[s] < T ->
			g_limit[s]++
		}
#endif
	:: d_step {
			doing[s] == RAISE ->
			g_limit[s] = MAX(g_limit[s], confirmed[s]);
			doing[s] = TEND
		}

	/*
	 * The lease is lost: the row shows another claim.  That it does stays so;
	 * when the worker saw it makes no difference.
	 */
	:: d_step {
			doing[s] == TEND && held[s] && !ODD(version[s]) && !ROW_HELD(s) ->
#ifndef BUG_CHANGE_WHILE_EVEN
			version[s]++;
#endif
			not_held(s)
		}

	/* Give back: close the grant (perhaps since a clock jump is given up), */
	:: atomic {
			doing[s] == TEND && held[s] && !ODD(version[s]) && !giving_up[s] ->
#ifndef BUG_CURSORS_BEFORE_CLOSING
			version[s]++;
#endif
			if
			:: giving_up[s] = false
			:: MACHINES > 1 -> giving_up[s] = true
			fi;
			doing[s] = READ
		}
	/* read the cursors, one by one, */
	:: d_step {
			doing[s] == READ ->
			reached[s] = MS(cursor[s * UNITS]);
			doing[s] = (UNITS > 1 -> READ_SECOND : REVERT)
		}
	:: d_step {
			doing[s] == READ_SECOND ->
			reached[s] = MAX(reached[s], MS(cursor[s * UNITS + UNITS - 1]));
			doing[s] = REVERT
		}
	/*
	 * and lower the row's watermark to what they show, if it is still ours.  It
	 * may also fail, or commit and the answer is lost: the same to the worker.
	 */
	:: atomic {
			doing[s] == REVERT ->
#ifdef BUG_CURSORS_BEFORE_CLOSING
			if
			:: !ODD(version[s]) -> version[s]++
			:: else
			fi;
#endif
			if
			:: ROW_HELD(s) ->
#ifdef BUG_CLOSE_WITHOUT_FLOOR
				row_watermark[machine[s]] = reached[s] + 1;
#else
				row_watermark[machine[s]] = MAX(floor[s], reached[s]) + 1;
#endif
#ifndef STABLE
				row_taken[machine[s]] = false
#endif
			::
				skip
			fi;
			reached[s] = 0;
			if
			:: giving_up[s] ->
				avoid[s] = machine[s] + 1;
#ifndef BUG_LOWER_WHILE_HELD
				not_held(s);
#endif
				doing[s] = LOWER
			:: !giving_up[s] ->
				not_held(s);
				doing[s] = TEND
			::
				/* The worker died before it wrote the status. */
				giving_up[s] = false;
				doing[s] = TEND
			fi
		}

	/*
	 * Giving up a clock jump: only now, with no grant and a status that says
	 * so, lower the cursors.  Another machine id is claimed next.
	 */
	:: atomic {
			doing[s] == LOWER ->
#ifndef BUG_LOWER_WHILE_EVEN
			lower_cursor(s * UNITS);
#endif
			doing[s] = (UNITS > 1 -> LOWER_SECOND : LOWERED)
		}
	:: atomic {
			doing[s] == LOWER_SECOND ->
			lower_cursor(s * UNITS + UNITS - 1);
			doing[s] = LOWERED
		}
	:: d_step {
			doing[s] == LOWERED ->
#ifdef BUG_LOWER_WHILE_HELD
			not_held(s);
#endif
#ifndef BUG_LOWER_WHILE_EVEN
			giving_up[s] = false;
#endif
			doing[s] = TEND
		}
#ifdef BUG_LOWER_WHILE_EVEN
	:: atomic {
			doing[s] == TEND && held[s] && !ODD(version[s]) && giving_up[s] ->
			lower_cursor(s * UNITS);
			giving_up[s] = false
		}
#endif

	/*
	 * The worker dies and is started again.  It goes on with a grant that
	 * stands; of one that is closed it has nothing, unless it is told to stop
	 * before it has looked: then it gives it back.
	 */
	:: d_step {
			doing[s] != TEND ->
			forget(s)
		}
	:: d_step {
			doing[s] == TEND && held[s] && ODD(version[s]) ->
#ifdef BUG_RESUME_CLOSED
			if
			:: version[s] < 4 -> version[s]++
			:: else -> not_held(s)
			fi
#else
			not_held(s)
#endif
		}
	:: d_step {
			doing[s] == TEND && held[s] && ODD(version[s]) ->
			doing[s] = READ
		}

	/* The server crashes: shared memory and all processes are gone. */
	:: d_step {
			version[s] > 1 || held[s] ->
			version[s] = 1;
			g_machine[s] = 0;
			g_floor[s] = 0;
			g_limit[s] = 0;
			not_held(s);
			forget(s);
			for (x : 0 .. UNITS - 1) {
				cursor[s * UNITS + x] = 0;
				latest[s * UNITS + x] = 0
			}
			for (x : 0 .. BACKENDS - 1) {
				end_call(s * BACKENDS + x)
			}
			x = 0
		}
	od
}

init
{
	atomic {
		for (x : 0 .. ALL_BACKENDS - 1) {
			run backend(x, x / BACKENDS, x / BACKENDS * UNITS + x % BACKENDS % UNITS)
		}
		for (x : 0 .. SERVERS - 1) {
			run worker(x)
		}
	}
}

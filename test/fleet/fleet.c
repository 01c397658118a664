/*-------------------------------------------------------------------------
 *
 * fleet.c
 *		A fleet of simulated servers against one real registry.
 *
 *	fleet [-n INSTANCES] [-c CONNECTIONS] [-s SECONDS] CONNINFO
 *
 * Each instance calls what a server's worker calls, with an identity of its own:
 * all claim a machine id at once, guard it once a second, half of them fall
 * silent until others may take theirs, and all are given back.  Instances share
 * connections; that many calls are under way at once.
 *
 * It checks what the registry promises (no machine id has two holders, none of
 * them is lost that is guarded, a floor is no less than the watermark before it,
 * a full namespace says so), and shows how long calls take and what they cost
 * the registry.  The last line is "N passed, M failed".
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <libpq-fe.h>

#define MACHINE_BIT			10
#define MACHINES			(1 << MACHINE_BIT)
#define NAMESPACE			"fleet"

/* How far ahead watermarks are, and when a silent one's may be taken, ms. */
#define LEAD_MS				"2000"
#define SAFE_GUARD_MS		"2000"
#define GUARD_EVERY_MS		1000
#define RETRY_EVERY_MS		250

/* All that wait for a machine id must have one by then. */
#define PATIENCE_MS			120000

typedef enum Call
{
	CLAIM,
	GUARD,
	REVERT,
	CALLS
} Call;

static const char *const call_names[] = {"claim", "guard", "revert"};

static const char *const call_sql[] = {
	"SELECT status, machine_id, token, floor, watermark"
	" FROM cosid_machine_claim('" NAMESPACE "', 10, $1, $2, false, -1, -1, false, $3, " LEAD_MS ", " SAFE_GUARD_MS ", 0)",
	"SELECT cosid_machine_guard('" NAMESPACE "', $1, $2, $3, $4, $5, $6, " LEAD_MS ")",
	"SELECT cosid_machine_revert('" NAMESPACE "', $1, $2, $3, $4, $5)",
};

typedef struct Instance
{
	char		name[32];		/* instance id and identity */
	bool		held;
	bool		full;			/* the last claim found no machine id */
	bool		silent;			/* does nothing */
	int			machine_id;
	int64_t		token;
	int64_t		floor;
	int64_t		watermark;		/* last one that was confirmed */
	int64_t		due_ms;			/* the next call, on the monotonic clock */
	bool		busy;
} Instance;

typedef struct Connection
{
	PGconn	   *conn;
	Instance   *instance;		/* whose call is under way; NULL: none is */
	Call		call;
	int64_t		sent_us;
} Connection;

/* What calls of one kind have taken. */
typedef struct Latencies
{
	int64_t    *us;
	int			count;
	int			room;
} Latencies;

static const char *conninfo;
static Connection *connections;
static int	nconnections = 64;
static Latencies latencies[CALLS];

/* Who holds a machine id; the watermark that its last holder left. */
static Instance *holders[MACHINES];
static int64_t watermarks[MACHINES];

static int	passed = 0;
static int	failed = 0;
static int	duplicates = 0;
static int	low_floors = 0;
static int	lost = 0;

static void
die(const char *format,...)
{
	va_list		args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	exit(1);
}

static void
check(bool ok, const char *what)
{
	printf("%s - %s\n", ok ? "ok" : "not ok", what);
	fflush(stdout);
	if (ok)
		passed++;
	else
		failed++;
}

static int64_t
clock_us(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t) now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static int64_t
monotonic_ms(void)
{
	return clock_us(CLOCK_MONOTONIC) / 1000;
}

/*
 * Connections and calls
 */

static PGconn *
connect_registry(void)
{
	PGconn	   *conn = PQconnectdb(conninfo);

	if (PQstatus(conn) != CONNECTION_OK)
		die("%s", PQerrorMessage(conn));
	return conn;
}

static PGresult *
query(PGconn *conn, const char *sql)
{
	PGresult   *result = PQexec(conn, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK && PQresultStatus(result) != PGRES_COMMAND_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	return result;
}

static void
connect_all(void)
{
	connections = calloc(nconnections, sizeof(Connection));
	for (int i = 0; i < nconnections; i++)
	{
		connections[i].conn = connect_registry();
		for (int call = 0; call < CALLS; call++)
		{
			PGresult   *result = PQprepare(connections[i].conn, call_names[call],
										   call_sql[call], 0, NULL);

			if (PQresultStatus(result) != PGRES_COMMAND_OK)
				die("%s", PQerrorMessage(connections[i].conn));
			PQclear(result);
		}
	}
}

static void
send_call(Connection *connection, Instance *instance, Call call)
{
	char		numbers[5][24];
	const char *parameters[6];
	int			count;

	snprintf(numbers[0], sizeof(numbers[0]), "%d", instance->machine_id);
	snprintf(numbers[1], sizeof(numbers[1]), "%" PRId64, instance->token);
	snprintf(numbers[2], sizeof(numbers[2]), "%" PRId64, instance->watermark);
	snprintf(numbers[3], sizeof(numbers[3]), "%" PRId64, clock_us(CLOCK_REALTIME) / 1000);
	snprintf(numbers[4], sizeof(numbers[4]), "%" PRId64, instance->floor + 1);
	if (call == CLAIM)
	{
		count = 3;
		parameters[0] = parameters[1] = instance->name;
		parameters[2] = numbers[3];
	}
	else
	{
		count = call == GUARD ? 6 : 5;
		parameters[0] = numbers[0];
		parameters[1] = instance->name;
		parameters[2] = numbers[1];
		parameters[3] = numbers[2];
		parameters[4] = call == GUARD ? instance->name : numbers[4];
		parameters[5] = numbers[3];
	}
	if (!PQsendQueryPrepared(connection->conn, call_names[call], count, parameters, NULL, NULL, 0))
		die("%s", PQerrorMessage(connection->conn));
	instance->busy = true;
	connection->instance = instance;
	connection->call = call;
	connection->sent_us = clock_us(CLOCK_MONOTONIC);
}

static void
note_latency(Call call, int64_t us)
{
	Latencies  *all = &latencies[call];

	if (all->count == all->room)
	{
		all->room = all->room == 0 ? 4096 : all->room * 2;
		all->us = realloc(all->us, all->room * sizeof(int64_t));
	}
	all->us[all->count++] = us;
}

static void
claimed(Instance *instance, PGresult *result)
{
	int			machine_id;

	instance->full = strcmp(PQgetvalue(result, 0, 0), "full") == 0;
	if (strcmp(PQgetvalue(result, 0, 0), "claimed") != 0)
		return;
	machine_id = atoi(PQgetvalue(result, 0, 1));
	if (machine_id < 0 || machine_id >= MACHINES)
		die("machine id %d\n", machine_id);
	instance->held = true;
	instance->machine_id = machine_id;
	instance->token = strtoll(PQgetvalue(result, 0, 2), NULL, 10);
	instance->floor = strtoll(PQgetvalue(result, 0, 3), NULL, 10);
	instance->watermark = strtoll(PQgetvalue(result, 0, 4), NULL, 10);
	if (holders[machine_id] != NULL)
		duplicates++;
	if (instance->floor < watermarks[machine_id])
		low_floors++;
	holders[machine_id] = instance;
	watermarks[machine_id] = instance->watermark;
}

static void
guarded(Instance *instance, PGresult *result)
{
	if (PQgetisnull(result, 0, 0))
	{
		lost++;
		instance->held = false;
		return;
	}
	instance->watermark = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	watermarks[instance->machine_id] = instance->watermark;
}

static void
reverted(Instance *instance, PGresult *result)
{
	if (strcmp(PQgetvalue(result, 0, 0), "t") != 0)
		lost++;
	instance->held = false;
	holders[instance->machine_id] = NULL;
	watermarks[instance->machine_id] = instance->floor + 1;
}

/* Take a call's answer, if it is there. */
static void
collect(Connection *connection)
{
	Instance   *instance = connection->instance;
	PGresult   *result;

	if (!PQconsumeInput(connection->conn))
		die("%s", PQerrorMessage(connection->conn));
	if (PQisBusy(connection->conn))
		return;
	result = PQgetResult(connection->conn);
	if (PQresultStatus(result) != PGRES_TUPLES_OK)
		die("%s: %s", call_names[connection->call], PQerrorMessage(connection->conn));
	note_latency(connection->call, clock_us(CLOCK_MONOTONIC) - connection->sent_us);
	switch (connection->call)
	{
		case CLAIM:
			claimed(instance, result);
			break;
		case GUARD:
			guarded(instance, result);
			break;
		default:
			reverted(instance, result);
			break;
	}
	PQclear(result);
	while ((result = PQgetResult(connection->conn)) != NULL)
		PQclear(result);
	instance->busy = false;
	connection->instance = NULL;
}

/* Wait for answers, and take them.  Returns how many calls are under way. */
static int
pump(int timeout_ms)
{
	static struct pollfd *fds = NULL;
	int			under_way = 0;

	fds = realloc(fds, (size_t) nconnections * sizeof(struct pollfd));
	for (int i = 0; i < nconnections; i++)
	{
		fds[i].fd = connections[i].instance != NULL ? PQsocket(connections[i].conn) : -1;
		fds[i].events = POLLIN;
	}
	if (poll(fds, nconnections, timeout_ms) < 0 && errno != EINTR)
		die("poll: %s\n", strerror(errno));
	for (int i = 0; i < nconnections; i++)
	{
		if (fds[i].fd >= 0 && fds[i].revents != 0)
			collect(&connections[i]);
		under_way += connections[i].instance != NULL;
	}
	return under_way;
}

/* Send the instances' calls that are due to connections that have none. */
static void
send_due(Instance *instances, int count, int64_t now)
{
	static int	next = 0;		/* so that all get their turn */

	for (int i = 0; i < nconnections; i++)
	{
		for (int tries = 0; connections[i].instance == NULL && tries < count; tries++)
		{
			Instance   *instance = &instances[next % count];

			next = (next + 1) % count;
			if (instance->busy || instance->silent || instance->due_ms > now)
				continue;
			instance->due_ms = now + (instance->held ? GUARD_EVERY_MS : RETRY_EVERY_MS);
			send_call(&connections[i], instance, instance->held ? GUARD : CLAIM);
		}
	}
}

/*
 * What servers do: claim, until a machine id is there, and guard it.  Until all
 * have one that are not silent, or if `until_ms` is given, until then, on the
 * monotonic clock.
 */
static void
run_fleet(Instance *instances, int count, int64_t until_ms)
{
	int64_t		limit_ms = monotonic_ms() + PATIENCE_MS;
	bool		more = true;

	if (count < 1)
		return;
	while (more)
	{
		int64_t		now = monotonic_ms();

		more = until_ms != 0 ? now < until_ms : false;
		for (int i = 0; until_ms == 0 && now < limit_ms && i < count; i++)
			more |= !instances[i].held && !instances[i].silent;
		if (more)
			send_due(instances, count, now);
		pump(10);
	}
	while (pump(1000) > 0)
		;
}

/* One call of each instance, as soon as a connection is free. */
static void
run_once(Call call, Instance *instances, int count)
{
	int			next = 0;

	do
	{
		for (int i = 0; i < nconnections; i++)
		{
			while (next < count && (instances[next].silent || instances[next].held == (call == CLAIM)))
				next++;
			if (next < count && connections[i].instance == NULL)
				send_call(&connections[i], &instances[next++], call);
		}
	} while (pump(1000) > 0 || next < count);
}

/*
 * Figures
 */

static int
compare_us(const void *a, const void *b)
{
	int64_t		x = *(const int64_t *) a;
	int64_t		y = *(const int64_t *) b;

	return (x > y) - (x < y);
}

static void
show_latencies(Call call, const char *what)
{
	Latencies  *all = &latencies[call];

	if (all->count == 0)
		return;
	qsort(all->us, all->count, sizeof(int64_t), compare_us);
	printf("# %-28s %7d calls; ms: median %.2f, 95%% %.2f, 99%% %.2f, longest %.2f\n",
		   what, all->count, all->us[all->count / 2] / 1000.0,
		   all->us[(int64_t) all->count * 95 / 100] / 1000.0,
		   all->us[(int64_t) all->count * 99 / 100] / 1000.0,
		   all->us[all->count - 1] / 1000.0);
	all->count = 0;
}

/* The registry's WAL so far, and the size of its table, bytes. */
static void
registry_bytes(PGconn *conn, int64_t *wal, int64_t *table)
{
	PGresult   *result = query(conn,
							   "SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::bigint,"
							   " pg_total_relation_size('cosid_machine')");

	*wal = strtoll(PQgetvalue(result, 0, 0), NULL, 10);
	*table = strtoll(PQgetvalue(result, 0, 1), NULL, 10);
	PQclear(result);
}

static int
count_held(const Instance *instances, int count)
{
	int			held = 0;

	for (int i = 0; i < count; i++)
		held += instances[i].held;
	return held;
}

static Instance *
make_instances(const char *kind, int count)
{
	Instance   *instances = calloc(count, sizeof(Instance));

	for (int i = 0; i < count; i++)
		snprintf(instances[i].name, sizeof(instances[i].name), "%s-%d", kind, i);
	return instances;
}

int
main(int argc, char **argv)
{
	int			count = MACHINES;
	int			seconds = 10;
	int			option;
	PGconn	   *conn;
	Instance   *instances;
	Instance   *extra = make_instances("extra", 1);
	int64_t		start;
	int64_t		wal[2];
	int64_t		table[2];
	int			guards;
	int			quiet;

	while ((option = getopt(argc, argv, "n:c:s:")) != -1)
	{
		switch (option)
		{
			case 'n':
				count = atoi(optarg);
				break;
			case 'c':
				nconnections = atoi(optarg);
				break;
			case 's':
				seconds = atoi(optarg);
				break;
			default:
				return 2;
		}
	}
	if (optind != argc - 1 || count < 2 || count > MACHINES || nconnections < 1 || seconds < 1)
		die("usage: fleet [-n INSTANCES (2 to %d)] [-c CONNECTIONS] [-s SECONDS] CONNINFO\n", MACHINES);
	conninfo = argv[optind];
	conn = connect_registry();
	connect_all();
	printf("# %d instances, %d connections\n", count, nconnections);

	/* As many again, which come in when half of the others have fallen silent. */
	quiet = count / 2;
	instances = make_instances("server", count + quiet);
	for (int i = count; i < count + quiet; i++)
		instances[i].silent = true;

	start = monotonic_ms();
	run_fleet(instances, count, 0);
	printf("# all had claimed after %" PRId64 " ms\n", monotonic_ms() - start);
	check(count_held(instances, count) == count && duplicates == 0,
		  "all claim at once: as many different machine ids");
	check(lost == 0, "all claim at once: those that came first keep theirs");
	show_latencies(CLAIM, "claim, all at once");
	latencies[GUARD].count = 0;

	if (count == MACHINES)
	{
		run_once(CLAIM, extra, 1);
		check(extra->full && !extra->held, "one more: the namespace is full");
		latencies[CLAIM].count = 0;
	}

	/* Spread over the second, as servers that were started at any time are. */
	for (int i = 0; i < count; i++)
		instances[i].due_ms = monotonic_ms() + (int64_t) i * GUARD_EVERY_MS / count;
	registry_bytes(conn, &wal[0], &table[0]);
	run_fleet(instances, count, monotonic_ms() + (int64_t) seconds * 1000);
	registry_bytes(conn, &wal[1], &table[1]);
	guards = latencies[GUARD].count;
	check(lost == 0, "guarded once a second: none is lost");
	printf("# %.0f guards a second, %.0f bytes of WAL each, table from %" PRId64 " to %" PRId64 " kB\n",
		   (double) guards / seconds, (double) (wal[1] - wal[0]) / guards,
		   table[0] / 1024, table[1] / 1024);
	show_latencies(GUARD, "guard, each once a second");

	/* Until the first half's watermarks have expired, nobody gets theirs. */
	for (int i = 0; i < quiet; i++)
	{
		holders[instances[i].machine_id] = NULL;
		instances[i].held = false;
		instances[i].silent = true;
		instances[count + i].silent = false;
	}
	start = monotonic_ms();
	run_fleet(instances, count + quiet, 0);
	printf("# %d more had claimed after %" PRId64 " ms\n", quiet, monotonic_ms() - start);
	check(count_held(instances, count + quiet) == count, "silent ones expire: others take over");
	check(duplicates == 0, "silent ones expire: no machine id has two holders");
	check(low_floors == 0, "silent ones expire: no floor is below the watermark before it");
	check(lost == 0, "silent ones expire: none that is guarded is lost");
	latencies[CLAIM].count = latencies[GUARD].count = 0;

	run_once(REVERT, instances, count + quiet);
	check(lost == 0 && count_held(instances, count + quiet) == 0, "all are given back");
	show_latencies(REVERT, "revert");
	run_fleet(instances, count + quiet, 0);
	check(count_held(instances, count + quiet) == count && duplicates == 0 && low_floors == 0,
		  "what was given back is claimed again");
	show_latencies(CLAIM, "claim, of what was given back");

	for (int i = 0; i < nconnections; i++)
		PQfinish(connections[i].conn);
	PQfinish(conn);
	printf("%d passed, %d failed\n", passed, failed);
	return failed == 0 ? 0 : 1;
}

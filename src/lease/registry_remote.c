/*-------------------------------------------------------------------------
 *
 * registry_remote.c
 *		The way to a registry in another server: its functions
 *		cosid_machine_claim, _guard and _revert, called through libpq.
 *
 * The worker must never be stuck in here.  So nothing of libpq that waits is
 * used: the connection is polled, statements are sent and their answers awaited
 * on the socket and the worker's latch, until the call's time is over.  What the
 * registry's server should do on its part, give up a statement or a lock, is set
 * when a session begins.  (Only the resolver of host names can't be hurried; an
 * address as hostaddr does without it.)
 *
 * A connection is kept from call to call, and given up with the first thing that
 * goes wrong: an answer that is still to come must not be taken for that to the
 * next question, and a server that has become a standby should be left.  The
 * next call connects anew.
 *
 * What comes from the registry is checked as far as it can be: whoever answers
 * there is believed in what he says about the registry's rows, but can't make
 * this server mint with numbers that make no sense.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "libpq-fe.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "lease/registry_ways.h"
#include "mint/clock.h"
#include "mint/wait_event.h"

/* More than libpq has parameters. */
#define MAX_PARAMETERS		100

/* The most arguments that a function has. */
#define MAX_ARGUMENTS		12

/* A call: how long it may take, and what came of it. */
typedef struct RemoteCall RemoteCall;

typedef CosidRegistryStatus (*RemoteWork) (RemoteCall *call);

struct RemoteCall
{
	RemoteWork	work;
	int64		deadline;		/* on the monotonic clock */
	bool		closing;		/* gives a lease back: let no shutdown cut it
								 * short */
	CosidRegistryError *error;

	/* arguments and results of the three calls */
	CosidClaim *claim;
	CosidClaimed *claimed;
	const CosidHolding *holding;
	const char *identity;
	int64		lead;
	int64		watermark;
};

/* A statement's arguments. */
typedef struct Arguments
{
	int			count;
	Oid			types[MAX_ARGUMENTS];
	const char *values[MAX_ARGUMENTS];
} Arguments;

/* The connection string in use, the same taken apart, and how many hosts it has. */
static char *connection_string = NULL;
static PQconninfoOption *parameters = NULL;
static int	host_count = 1;

/* Which host to try first: the last one that was well, or that one's next. */
static int	next_host = 0;

/*
 * The connection, if there is one, with its session set up; an answer that is
 * being read.  Static, so that an error that is raised leaks neither: both are
 * given up when the call ends in failure.
 */
static PGconn *connection = NULL;
static PGresult *answer = NULL;
static char schema[2 * NAMEDATALEN + 3];	/* of the extension there, quoted */

/* Where a call's strings are. */
static MemoryContext call_context = NULL;

static void
ignore_notice(void *arg pg_attribute_unused(), const PGresult *result pg_attribute_unused())
{
}

/*
 * A call's failure, on one line: libpq's messages have several, indented, and what
 * a server says may have anything.  Texts are in UTF-8.
 */
static bool
fail(RemoteCall *call, const char *message)
{
	char	   *out = call->error->message;
	int			length = pg_encoding_mbcliplen(PG_UTF8, message, (int) strlen(message),
											   COSID_MAX_ERROR - 1);
	int			used = 0;

	for (int i = 0; i < length; i++)
	{
		if ((unsigned char) message[i] > ' ')
			out[used++] = message[i];
		else if (used > 0 && out[used - 1] != ' ')
			out[used++] = ' ';
	}
	if (used > 0 && out[used - 1] == ' ')
		used--;
	out[used] = '\0';
	return false;
}

static int64
time_left(int64 deadline)
{
	return deadline - cosid_clock_monotonic_ms();
}

/* Give up the connection, and what is under way there. */
static void
disconnect(void)
{
	PQclear(answer);
	answer = NULL;
	if (connection == NULL)
		return;
	PQfinish(connection);
	connection = NULL;
	ReleaseExternalFD();
}

/*
 * Wait for the connection's socket until a time on the monotonic clock.  False,
 * and the reason: that has come, or the worker is to end.  May raise what
 * CHECK_FOR_INTERRUPTS does.
 */
static bool
wait_for_socket(RemoteCall *call, int64 deadline, int events)
{
	for (;;)
	{
		int64		left = time_left(deadline);
		int			happened;

		if (ShutdownRequestPending && !call->closing)
			return fail(call, "the cosid worker was told to end");
		if (left <= 0)
			return fail(call, PQstatus(connection) == CONNECTION_OK ?
						"timeout while waiting for the registry's answer" :
						"timeout while connecting to the registry");
		happened = WaitLatchOrSocket(MyLatch,
									 WL_LATCH_SET | WL_EXIT_ON_PM_DEATH | WL_TIMEOUT | events,
									 PQsocket(connection), (long) left,
									 cosid_wait_event(COSID_EVENT_REGISTRY));
		if (happened & WL_LATCH_SET)
		{
			ResetLatch(MyLatch);
			CHECK_FOR_INTERRUPTS();
		}
		if (happened & events)
			return true;
	}
}

/* Read the answer as far as it has come; true when there is nothing to wait for. */
static bool
await(RemoteCall *call)
{
	int			unsent;

	while ((unsent = PQflush(connection)) > 0)
	{
		if (!wait_for_socket(call, call->deadline, WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE))
			return false;
		if (!PQconsumeInput(connection))
			return fail(call, PQerrorMessage(connection));
	}
	if (unsent < 0)
		return fail(call, PQerrorMessage(connection));
	while (PQisBusy(connection))
	{
		if (!wait_for_socket(call, call->deadline, WL_SOCKET_READABLE))
			return false;
		if (!PQconsumeInput(connection))
			return fail(call, PQerrorMessage(connection));
	}
	return true;
}

/*
 * Run one statement, a transaction of its own.  True: it has been committed, and
 * its rows are in `answer`.
 *
 * The server sends the rows, and that the statement is complete, before it
 * commits: that is done when it says that it's ready for the next.  Should the
 * commit fail, there is an error in between.  So the rows count only when no
 * more results come, which libpq says by NULL.
 */
static bool
run(RemoteCall *call, const char *sql, const Arguments *arguments)
{
	PQclear(answer);
	answer = NULL;
	if (!PQsendQueryParams(connection, sql, arguments ? arguments->count : 0,
						   arguments ? arguments->types : NULL,
						   arguments ? arguments->values : NULL, NULL, NULL, 0))
		return fail(call, PQerrorMessage(connection));
	for (;;)
	{
		PGresult   *result;
		const char *message;

		if (!await(call))
			return false;
		result = PQgetResult(connection);
		if (result == NULL)
			break;
		PQclear(answer);
		answer = result;
		if (PQresultStatus(answer) == PGRES_TUPLES_OK)
			continue;
		message = PQresultErrorField(answer, PG_DIAG_MESSAGE_PRIMARY);
		if (message == NULL)
			message = PQresultErrorMessage(answer);
		return fail(call, message[0] != '\0' ? message : "unexpected answer from the registry");
	}
	if (answer == NULL || PQtransactionStatus(connection) != PQTRANS_IDLE)
		return fail(call, "unexpected answer from the registry");
	return true;
}

/* Element `index` of a list as libpq reads it; a list of one is everyone's. */
static char *
list_element(const char *list, int index)
{
	const char *end;

	if (strchr(list, ',') == NULL)
		return pstrdup(list);
	for (; index > 0 && *list != '\0'; index--)
	{
		list += strcspn(list, ",");
		if (*list == ',')
			list++;
	}
	end = list + strcspn(list, ",");
	return pnstrdup(list, end - list);
}

static int
count_elements(const char *list)
{
	int			length = 1;

	for (; *list != '\0'; list++)
		length += *list == ',';
	return length;
}

/* A parameter of the connection string in use; NULL if it doesn't have it. */
static const char *
parameter(const char *keyword)
{
	for (PQconninfoOption *option = parameters; option != NULL && option->keyword != NULL; option++)
	{
		if (strcmp(option->keyword, keyword) == 0)
			return option->val;
	}
	return NULL;
}

/*
 * Begin to connect to one of the hosts.  What the connection string doesn't say
 * is chosen so that a dead server is noticed, and a standby is not taken.
 * ("read-write" would not take a primary either where the role's transactions
 * are read-only by default, which we override.)
 */
static PGconn *
begin_connecting(int host)
{
	static const char *const defaults[][2] = {
		{"fallback_application_name", "cosid"},
		{"target_session_attrs", "primary"},
		{"keepalives_idle", "5"},
		{"keepalives_interval", "2"},
		{"keepalives_count", "3"},
		{"tcp_user_timeout", "5000"},
	};
	const char *keywords[MAX_PARAMETERS + lengthof(defaults) + 2];
	const char *values[MAX_PARAMETERS + lengthof(defaults) + 2];
	int			count = 0;

	for (PQconninfoOption *option = parameters;
		 option->keyword != NULL && count < MAX_PARAMETERS; option++)
	{
		if (option->val == NULL)
			continue;
		keywords[count] = option->keyword;
		values[count++] = strcmp(option->keyword, "host") == 0 ||
			strcmp(option->keyword, "hostaddr") == 0 ||
			strcmp(option->keyword, "port") == 0 ?
			list_element(option->val, host) : option->val;
	}
	for (int i = 0; i < (int) lengthof(defaults); i++)
	{
		if (parameter(defaults[i][0]) != NULL)
			continue;
		keywords[count] = defaults[i][0];
		values[count++] = defaults[i][1];
	}
	keywords[count] = "client_encoding";
	values[count++] = "UTF8";
	keywords[count] = values[count] = NULL;
	return PQconnectStartParams(keywords, values, 0);
}

/* Connect to one of the hosts, in so many ms. */
static bool
connect_to_host(RemoteCall *call, int host, int64 patience_ms)
{
	PostgresPollingStatusType polling = PGRES_POLLING_WRITING;
	const char *own = parameter("connect_timeout");
	int64		deadline;

	/* libpq itself does not look at it when it is polled. */
	if (own != NULL && atoi(own) > 0)
		patience_ms = Min(patience_ms, INT64CONST(1000) * atoi(own));
	deadline = cosid_clock_monotonic_ms() + patience_ms;

	if (!AcquireExternalFD())
		return fail(call, "too many open files");
	connection = begin_connecting(host);
	if (connection == NULL)
	{
		ReleaseExternalFD();
		return fail(call, "out of memory");
	}
	PQsetNoticeReceiver(connection, ignore_notice, NULL);
	if (PQstatus(connection) == CONNECTION_BAD)
		polling = PGRES_POLLING_FAILED;
	while (polling != PGRES_POLLING_OK)
	{
		if (polling == PGRES_POLLING_FAILED)
			return fail(call, PQerrorMessage(connection));
		if (!wait_for_socket(call, deadline, polling == PGRES_POLLING_READING ?
							 WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE))
			return false;
		polling = PQconnectPoll(connection);
	}
	if (PQsetnonblocking(connection, 1) != 0)
		return fail(call, PQerrorMessage(connection));
	return true;
}

/*
 * Make the session what we need, whatever ALTER ROLE or ALTER DATABASE say there,
 * and find the extension.  (That a commit reaches the disk, cosid_machine_claim
 * and _guard see to themselves.)
 */
static bool
set_up_session(RemoteCall *call)
{
	static const char *const settings =
		"SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),"
		" pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
		" pg_catalog.set_config('default_transaction_read_only', 'off', false),"
		" pg_catalog.set_config('default_transaction_deferrable', 'off', false),"
		" pg_catalog.set_config('lock_timeout', '" COSID_LOCK_TIMEOUT "', false),"
		" pg_catalog.set_config('statement_timeout', '%d', false),"
		" pg_catalog.set_config('idle_session_timeout', '0', false)";

	if (!run(call, psprintf(settings, COSID_CALL_TIMEOUT_MS), NULL) ||
		!run(call,
			 "SELECT pg_catalog.quote_ident(n.nspname), e.extversion"
			 " FROM pg_catalog.pg_extension e"
			 " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
			 " WHERE e.extname OPERATOR(pg_catalog.=) 'cosid'", NULL))
		return false;
	if (PQntuples(answer) != 1 || PQnfields(answer) != 2)
		return fail(call, "the registry's database does not have extension cosid");
	strlcpy(schema, PQgetvalue(answer, 0, 0), sizeof(schema));
	cosid_registry_check_version(PQgetvalue(answer, 0, 1));
	return true;
}

/*
 * A connection that can be used: the one that there is, unless it has ended
 * meanwhile, or a new one.  Each host gets an equal share of the time that is
 * left, and where we were stuck we do not begin the next time.
 */
static bool
ensure_connection(RemoteCall *call)
{
	/* Two looks: the server's last words, and the end of the connection. */
	if (connection != NULL &&
		(!PQconsumeInput(connection) || !PQconsumeInput(connection) ||
		 PQstatus(connection) != CONNECTION_OK))
		disconnect();
	if (connection != NULL)
		return true;

	for (int tries_left = host_count; tries_left > 0; tries_left--)
	{
		if (connect_to_host(call, next_host, time_left(call->deadline) / tries_left) &&
			set_up_session(call))
			return true;
		disconnect();
		next_host = (next_host + 1) % host_count;
		if (ShutdownRequestPending && !call->closing)
			return false;
	}
	return false;
}

/*
 * Run a call; see registry.h for what it promises.  What failed may have been
 * committed all the same: nobody knows.
 */
static CosidRegistryStatus
run_call(RemoteCall *call, int timeout_ms)
{
	MemoryContext context = CurrentMemoryContext;
	CosidRegistryStatus status;

	call->error->message[0] = '\0';
	call->deadline = cosid_clock_monotonic_ms() + timeout_ms;
	MemoryContextSwitchTo(call_context);
	PG_TRY();
	{
		status = ensure_connection(call) ? call->work(call) : COSID_REGISTRY_FAILED;
	}
	PG_CATCH();
	{
		ErrorData  *edata;

		MemoryContextSwitchTo(call_context);
		edata = CopyErrorData();
		FlushErrorState();
		(void) fail(call, edata->message);
		status = COSID_REGISTRY_FAILED;
	}
	PG_END_TRY();
	MemoryContextSwitchTo(context);
	if (status == COSID_REGISTRY_FAILED)
		disconnect();
	PQclear(answer);
	answer = NULL;
	MemoryContextReset(call_context);

	/* What the latch was set for meanwhile must not wait until next time. */
	SetLatch(MyLatch);
	return status;
}

static void
add_text(Arguments *arguments, const char *value)
{
	arguments->types[arguments->count] = TEXTOID;
	arguments->values[arguments->count++] = value;
}

static void
add_bool(Arguments *arguments, bool value)
{
	arguments->types[arguments->count] = BOOLOID;
	arguments->values[arguments->count++] = value ? "t" : "f";
}

static void
add_int4(Arguments *arguments, int value)
{
	arguments->types[arguments->count] = INT4OID;
	arguments->values[arguments->count++] = psprintf("%d", value);
}

static void
add_int8(Arguments *arguments, int64 value)
{
	arguments->types[arguments->count] = INT8OID;
	arguments->values[arguments->count++] = psprintf(INT64_FORMAT, value);
}

/*
 * Call a function of the extension, which must give one row with so many
 * columns.  With the arguments' types given, no other function of the name can
 * be a better match.
 */
static bool
run_function(RemoteCall *call, const char *format, const Arguments *arguments,
			 int columns)
{
	if (!run(call, psprintf(format, schema), arguments))
		return false;
	if (PQntuples(answer) != 1 || PQnfields(answer) != columns)
		return fail(call, "unexpected answer from the registry");
	return true;
}

/* A column of the answer as a number from `least` to `most`. */
static bool
answer_number(int column, int64 least, int64 most, int64 *number)
{
	const char *text = PQgetvalue(answer, 0, column);
	char	   *end;

	if (PQgetisnull(answer, 0, column))
		return false;
	errno = 0;
	*number = strtoll(text, &end, 10);
	return errno == 0 && end != text && *end == '\0' &&
		*number >= least && *number <= most;
}

/*
 * The figures of a claim, which must be what cosid_machine_claim can give: a
 * machine id that fits, a floor that keeps to what we asked for, and a watermark
 * that is at or above it.
 */
static bool
read_claimed(RemoteCall *call)
{
	const CosidClaim *claim = call->claim;
	CosidClaimed *claimed = call->claimed;
	int			fixed = claim->fixed_machine_id;
	int64		machine_id;

	if (!answer_number(1, fixed == COSID_NO_MACHINE_ID ? 0 : fixed,
					   fixed == COSID_NO_MACHINE_ID ?
					   (INT64CONST(1) << claim->machine_bit) - 1 : fixed, &machine_id) ||
		!answer_number(2, 1, PG_INT64_MAX, &claimed->token) ||
		!answer_number(3, claim->least_floor, PG_INT64_MAX, &claimed->floor) ||
		!answer_number(4, Max(claimed->floor, claim->server_now), PG_INT64_MAX,
					   &claimed->watermark))
		return fail(call, "the registry's answer to a claim makes no sense");
	claimed->machine_id = (int) machine_id;
	return true;
}

static CosidRegistryStatus
work_claim(RemoteCall *call)
{
	CosidClaim *claim = call->claim;
	CosidClaimed *claimed = call->claimed;
	Arguments	arguments = {.count = 0};
	const char *status;

	memset(claimed, 0, sizeof(CosidClaimed));
	claim->server_now = cosid_clock_now_ms();	/* connecting may have taken long */
	add_text(&arguments, claim->namespace);
	add_int4(&arguments, claim->machine_bit);
	add_text(&arguments, claim->identity);
	add_text(&arguments, claim->instance_id);
	add_bool(&arguments, claim->stable);
	add_int4(&arguments, claim->fixed_machine_id);
	add_int4(&arguments, claim->avoid_machine_id);
	add_bool(&arguments, claim->local);
	add_int8(&arguments, claim->server_now);
	add_int8(&arguments, claim->lead);
	add_int8(&arguments, claim->safe_guard);
	add_int8(&arguments, claim->least_floor);
	if (!run_function(call,
					  "SELECT status, machine_id, token, floor, watermark, holder"
					  " FROM %s.cosid_machine_claim($1, $2, $3, $4, $5, $6, $7, $8,"
					  " $9, $10, $11, $12)", &arguments, 6))
		return COSID_REGISTRY_FAILED;

	status = PQgetvalue(answer, 0, 0);
	if (strcmp(status, "claimed") == 0)
		claimed->status = COSID_CLAIMED;
	else if (strcmp(status, "held") == 0)
		claimed->status = COSID_CLAIM_HELD;
	else if (strcmp(status, "full") == 0)
		claimed->status = COSID_CLAIM_FULL;
	else
	{
		fail(call, "the registry's answer to a claim makes no sense");
		return COSID_REGISTRY_FAILED;
	}
	strlcpy(claimed->holder, PQgetvalue(answer, 0, 5), sizeof(claimed->holder));
	if (claimed->status == COSID_CLAIMED && !read_claimed(call))
		return COSID_REGISTRY_FAILED;
	return COSID_REGISTRY_OK;
}

static void
add_holding(Arguments *arguments, const CosidHolding *holding)
{
	add_text(arguments, holding->namespace);
	add_int4(arguments, holding->machine_id);
	add_text(arguments, holding->instance_id);
	add_int8(arguments, holding->token);
	add_int8(arguments, holding->confirmed);
}

static CosidRegistryStatus
work_guard(RemoteCall *call)
{
	Arguments	arguments = {.count = 0};

	add_holding(&arguments, call->holding);
	add_text(&arguments, call->identity);
	add_int8(&arguments, cosid_clock_now_ms());
	add_int8(&arguments, call->lead);
	if (!run_function(call,
					  "SELECT %s.cosid_machine_guard($1, $2, $3, $4, $5, $6, $7, $8)",
					  &arguments, 1))
		return COSID_REGISTRY_FAILED;
	if (PQgetisnull(answer, 0, 0))
		return COSID_REGISTRY_LOST;
	if (!answer_number(0, call->holding->confirmed, PG_INT64_MAX, &call->watermark))
	{
		fail(call, "the registry's answer to an extension makes no sense");
		return COSID_REGISTRY_FAILED;
	}
	return COSID_REGISTRY_OK;
}

/*
 * The commit need not wait for the registry's standbys; set_config says so for
 * this transaction.
 */
static CosidRegistryStatus
work_revert(RemoteCall *call)
{
	Arguments	arguments = {.count = 0};

	add_holding(&arguments, call->holding);
	add_int8(&arguments, call->watermark);
	if (!run_function(call,
					  "SELECT %s.cosid_machine_revert($1, $2, $3, $4, $5, $6),"
					  " pg_catalog.set_config('synchronous_commit', 'local', true)",
					  &arguments, 2))
		return COSID_REGISTRY_FAILED;
	return strcmp(PQgetvalue(answer, 0, 0), "t") == 0 ?
		COSID_REGISTRY_OK : COSID_REGISTRY_LOST;
}

CosidRegistryStatus
cosid_remote_claim(CosidClaim *claim, CosidClaimed *claimed,
				   CosidRegistryError *error)
{
	RemoteCall	call = {
		.work = work_claim,
		.error = error,
		.claim = claim,
		.claimed = claimed,
	};

	return run_call(&call, COSID_CALL_TIMEOUT_MS);
}

CosidRegistryStatus
cosid_remote_guard(const CosidHolding *holding, const char *identity, int64 lead,
				   int64 *watermark, CosidRegistryError *error)
{
	RemoteCall	call = {
		.work = work_guard,
		.error = error,
		.holding = holding,
		.identity = identity,
		.lead = lead,
	};
	CosidRegistryStatus status = run_call(&call, COSID_CALL_TIMEOUT_MS);

	*watermark = call.watermark;
	return status;
}

CosidRegistryStatus
cosid_remote_revert(const CosidHolding *holding, int64 watermark, int timeout_ms,
					CosidRegistryError *error)
{
	RemoteCall	call = {
		.work = work_revert,
		.closing = true,
		.error = error,
		.holding = holding,
		.watermark = watermark,
	};

	return run_call(&call, timeout_ms);
}

/*
 * For the worker, once.  It is connected to no database, only to the server: it
 * is seen in pg_stat_activity and can be sent interrupts.
 */
void
cosid_remote_connect(void)
{
	BackgroundWorkerInitializeConnection(NULL, NULL, 0);
	call_context = AllocSetContextCreate(TopMemoryContext, "cosid registry call",
										 ALLOCSET_DEFAULT_SIZES);
}

/*
 * Use this connection string from now on; the next call connects.  One that the
 * setting's check has accepted.
 */
void
cosid_remote_use(const char *conninfo)
{
	const char *host;
	const char *hostaddr;

	if (connection_string != NULL && strcmp(connection_string, conninfo) == 0)
		return;
	disconnect();
	PQconninfoFree(parameters);
	parameters = PQconninfoParse(conninfo, NULL);
	if (parameters == NULL)
		elog(ERROR, "could not parse the setting \"cosid.registry\"");
	if (connection_string != NULL)
		pfree(connection_string);
	connection_string = MemoryContextStrdup(TopMemoryContext, conninfo);
	host = parameter("host");
	hostaddr = parameter("hostaddr");
	host_count = Max(count_elements(host != NULL ? host : ""),
					 count_elements(hostaddr != NULL ? hostaddr : ""));
	next_host = 0;
}

/*
 * Which registry a connection string leads to, as a number.  User, time-outs and
 * the like make no difference.
 */
uint64
cosid_remote_mark(const char *conninfo)
{
	static const char *const keywords[] = {"service", "host", "hostaddr", "port", "dbname"};
	PQconninfoOption *options = PQconninfoParse(conninfo, NULL);
	uint64		mark = 0;

	for (int i = 0; options != NULL && i < (int) lengthof(keywords); i++)
	{
		PQconninfoOption *option = options;
		const char *value;

		while (option->keyword != NULL && strcmp(option->keyword, keywords[i]) != 0)
			option++;
		value = option->keyword != NULL && option->val != NULL ? option->val : "";
		mark = hash_bytes_extended((const unsigned char *) value, (int) strlen(value),
								   mark + 1);
	}
	PQconninfoFree(options);
	return mark;
}

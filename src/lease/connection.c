/*-------------------------------------------------------------------------
 *
 * connection.c
 *		The worker's connection to a registry in another server, through libpq.
 *
 * registry_remote.c makes its calls through it.  The worker must never be stuck in
 * here.  So nothing of libpq that waits is used: the connection is polled,
 * statements are sent and their answers awaited on the socket and the worker's
 * latch, until the call's time is over.  What the registry's server should do on
 * its part, give up a statement or a lock, is set when a session begins.  (Only
 * the resolver of host names can't be hurried; an address as hostaddr does
 * without it.)
 *
 * A connection is kept from call to call, and given up with the first thing that
 * goes wrong: an answer that is still to come must not be taken for that to the
 * next question, and a server that has become a standby should be left.  The
 * next call connects anew.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "postmaster/interrupt.h"
#include "storage/fd.h"
#include "storage/latch.h"
#include "utils/memutils.h"

#include "settings.h"
#include "lease/connection.h"
#include "mint/clock.h"

/* More than libpq has parameters. */
#define MAX_PARAMETERS		100

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

static void
ignore_notice(void *arg pg_attribute_unused(), const PGresult *result pg_attribute_unused())
{
}

/*
 * A call's failure, on one line: libpq's messages have several, indented, and what
 * a server says may have anything.  Texts are in UTF-8.  Returns false.
 */
bool
cosid_connection_fail(CosidRegistryCall *call, const char *message)
{
	char	   *out = call->error;
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
wait_for_socket(CosidRegistryCall *call, int64 deadline, int events)
{
	for (;;)
	{
		int64		left = time_left(deadline);
		int			happened;

		if (ShutdownRequestPending && call->step != COSID_STEP_REVERT)
			return cosid_connection_fail(call, "the cosid worker was told to end");
		if (left <= 0)
			return cosid_connection_fail(call, PQstatus(connection) == CONNECTION_OK ?
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
await(CosidRegistryCall *call)
{
	int			unsent = 1;

	for (;;)
	{
		if (unsent > 0)
			unsent = PQflush(connection);
		if (unsent < 0)
			return cosid_connection_fail(call, PQerrorMessage(connection));
		if (unsent == 0 && !PQisBusy(connection))
			return true;
		if (!wait_for_socket(call, call->deadline, unsent > 0 ?
							 WL_SOCKET_READABLE | WL_SOCKET_WRITEABLE : WL_SOCKET_READABLE))
			return false;
		if (!PQconsumeInput(connection))
			return cosid_connection_fail(call, PQerrorMessage(connection));
	}
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
run(CosidRegistryCall *call, const char *sql, int count, const Oid *types,
	const char *const *values)
{
	PQclear(answer);
	answer = NULL;
	if (!PQsendQueryParams(connection, sql, count, types, values, NULL, NULL, 0))
		return cosid_connection_fail(call, PQerrorMessage(connection));
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
		return cosid_connection_fail(call, message[0] != '\0' ? message : "unexpected answer from the registry");
	}
	if (answer == NULL || PQtransactionStatus(connection) != PQTRANS_IDLE)
		return cosid_connection_fail(call, "unexpected answer from the registry");
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

/* A parameter of a connection string taken apart; NULL if it doesn't have it. */
static const char *
parameter(const PQconninfoOption *option, const char *keyword)
{
	for (; option != NULL && option->keyword != NULL; option++)
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
		if (parameter(parameters, defaults[i][0]) != NULL)
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
connect_to_host(CosidRegistryCall *call, int host, int64 patience_ms)
{
	PostgresPollingStatusType polling = PGRES_POLLING_WRITING;
	const char *own = parameter(parameters, "connect_timeout");
	int64		deadline;

	/* libpq itself does not look at it when it is polled. */
	if (own != NULL && atoi(own) > 0)
		patience_ms = Min(patience_ms, INT64CONST(1000) * atoi(own));
	deadline = cosid_clock_monotonic_ms() + patience_ms;

	if (!AcquireExternalFD())
		return cosid_connection_fail(call, "too many open files");
	connection = begin_connecting(host);
	if (connection == NULL)
	{
		ReleaseExternalFD();
		return cosid_connection_fail(call, "out of memory");
	}
	PQsetNoticeReceiver(connection, ignore_notice, NULL);
	if (PQstatus(connection) == CONNECTION_BAD)
		polling = PGRES_POLLING_FAILED;
	while (polling != PGRES_POLLING_OK)
	{
		if (polling == PGRES_POLLING_FAILED)
			return cosid_connection_fail(call, PQerrorMessage(connection));
		if (!wait_for_socket(call, deadline, polling == PGRES_POLLING_READING ?
							 WL_SOCKET_READABLE : WL_SOCKET_WRITEABLE))
			return false;
		polling = PQconnectPoll(connection);
	}
	if (PQsetnonblocking(connection, 1) != 0)
		return cosid_connection_fail(call, PQerrorMessage(connection));
	return true;
}

/*
 * Make the session what we need, whatever ALTER ROLE or ALTER DATABASE say there,
 * and find the extension.  (That a commit reaches the disk, cosid_machine_claim
 * and _guard see to themselves.)
 */
static bool
set_up_session(CosidRegistryCall *call)
{
	static const char *const settings =
		"SELECT pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false),"
		" pg_catalog.set_config('default_transaction_isolation', 'read committed', false),"
		" pg_catalog.set_config('default_transaction_read_only', 'off', false),"
		" pg_catalog.set_config('default_transaction_deferrable', 'off', false),"
		" pg_catalog.set_config('lock_timeout', '" COSID_LOCK_TIMEOUT "', false),"
		" pg_catalog.set_config('statement_timeout', '%d', false),"
		" pg_catalog.set_config('idle_session_timeout', '0', false)";

	if (!run(call, psprintf(settings, COSID_CALL_TIMEOUT_MS), 0, NULL, NULL) ||
		!run(call,
			 "SELECT pg_catalog.quote_ident(n.nspname), e.extversion"
			 " FROM pg_catalog.pg_extension e"
			 " JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace"
			 " WHERE e.extname OPERATOR(pg_catalog.=) 'cosid'", 0, NULL, NULL))
		return false;
	if (PQntuples(answer) != 1 || PQnfields(answer) != 2)
		return cosid_connection_fail(call, "the registry's database does not have extension cosid");
	strlcpy(schema, PQgetvalue(answer, 0, 0), sizeof(schema));
	cosid_registry_check_version(PQgetvalue(answer, 0, 1));
	return true;
}

/*
 * See to a connection that can be used: the one that there is, unless it has ended
 * meanwhile, or a new one.  Each host gets an equal share of the time that is
 * left, and where we were stuck we do not begin the next time.  False, and the
 * call's error, if there is none.
 */
bool
cosid_connection_ensure(CosidRegistryCall *call)
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
		if (ShutdownRequestPending && call->step != COSID_STEP_REVERT)
			return false;
	}
	return false;
}

/*
 * Call a function of the extension, which must give one row with so many columns;
 * "%s" in the statement is its schema.  With the arguments' types given, no other
 * function of the name can be a better match.  Returns the row, until the next
 * call of anything here; NULL, and the call's error, if there is none.
 */
const PGresult *
cosid_connection_call(CosidRegistryCall *call, const char *format, int count,
					  const Oid *types, const char *const *values, int columns)
{
	if (!run(call, psprintf(format, schema), count, types, values))
		return NULL;
	if (PQntuples(answer) != 1 || PQnfields(answer) != columns)
	{
		cosid_connection_fail(call, "unexpected answer from the registry");
		return NULL;
	}
	return answer;
}

/* At the end of a call: keep the connection for the next one, or give it up. */
void
cosid_connection_finish(bool keep)
{
	if (!keep)
		disconnect();
	PQclear(answer);
	answer = NULL;
}

/*
 * Use the connection string that the setting is now, whose check has accepted it;
 * the next call connects.
 */
void
cosid_connection_use(void)
{
	const char *host;
	const char *hostaddr;

	if (connection_string != NULL && strcmp(connection_string, cosid_registry) == 0)
		return;
	disconnect();
	PQconninfoFree(parameters);
	parameters = PQconninfoParse(cosid_registry, NULL);
	if (parameters == NULL)
		elog(ERROR, "could not parse the setting \"cosid.registry\"");
	if (connection_string != NULL)
		pfree(connection_string);
	connection_string = MemoryContextStrdup(TopMemoryContext, cosid_registry);
	host = parameter(parameters, "host");
	hostaddr = parameter(parameters, "hostaddr");
	host_count = Max(count_elements(host != NULL ? host : ""),
					 count_elements(hostaddr != NULL ? hostaddr : ""));
	next_host = 0;
}

/*
 * What a lease's status calls the registry that the setting names, made from where
 * it is: its host, port and database, or the service that says so.  User, time-outs
 * and the like make no difference.  (What it says of itself, its system identifier,
 * would be known only once it answers.)
 */
void
cosid_connection_name(char *name)
{
	static const char *const keywords[] = {"service", "host", "hostaddr", "port", "dbname"};
	PQconninfoOption *options = PQconninfoParse(cosid_registry, NULL);
	uint64		mark = 0;

	for (int i = 0; options != NULL && i < (int) lengthof(keywords); i++)
	{
		const char *value = parameter(options, keywords[i]);

		if (value == NULL)
			value = "";
		mark = hash_bytes_extended((const unsigned char *) value, (int) strlen(value),
								   mark + 1);
	}
	PQconninfoFree(options);
	snprintf(name, COSID_MAX_REGISTRY_NAME, "cosid.registry %016llx",
			 (unsigned long long) mark);
}

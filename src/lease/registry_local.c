/*-------------------------------------------------------------------------
 *
 * registry_local.c
 *		The way to a registry of the server's own: the extension's tables in
 *		cosid.database, reached through SPI.
 *
 * The worker is superuser in a database that others can write to.  So it takes
 * nothing from there on trust: settings that ALTER DATABASE or ALTER ROLE could
 * have changed are overridden, tables are found as members of the extension
 * (catalog.c), and all statements run as a security-restricted operation.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/namespace.h"
#include "catalog/pg_database.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "utils/guc.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/timeout.h"

#include "settings.h"
#include "lease/registry.h"
#include "mint/clock.h"

volatile sig_atomic_t cosid_registry_cancellable = false;

/*
 * Whoever owns a database can drop its schemas, and with them the extension and
 * all watermarks.
 */
static void
warn_of_owner(void)
{
	HeapTuple	tuple;

	StartTransactionCommand();
	tuple = SearchSysCache1(DATABASEOID, ObjectIdGetDatum(MyDatabaseId));
	if (HeapTupleIsValid(tuple))
	{
		if (!superuser_arg(((Form_pg_database) GETSTRUCT(tuple))->datdba))
			ereport(WARNING,
					(errmsg("database \"%s\", which has the registry of machine ids, is not owned by a superuser",
							cosid_database),
					 errhint("Its owner can drop the registry. Set \"cosid.database\" to a database of a superuser's.")));
		ReleaseSysCache(tuple);
	}
	CommitTransactionCommand();
}

/* It is called by the name of its database. */
static void
local_name(char *name)
{
	strlcpy(name, cosid_database, COSID_MAX_REGISTRY_NAME);
}

static void
local_connect(void)
{
	static const char *const overrides[][2] = {
		{"role", "none"},
		{"search_path", "pg_catalog, pg_temp"},
		{"default_transaction_isolation", "read committed"},
		{"default_transaction_read_only", "off"},
		{"default_transaction_deferrable", "off"},
		{"default_tablespace", ""},
		{"default_table_access_method", "heap"},
		{"session_replication_role", "origin"},
		{"statement_timeout", "0"},
		{"transaction_timeout", "0"},
		{"lock_timeout", COSID_LOCK_TIMEOUT},
		{"idle_in_transaction_session_timeout", "0"},
		{"exit_on_error", "off"},
	};

	BackgroundWorkerInitializeConnection(cosid_database, NULL, 0);

	for (int i = 0; i < (int) lengthof(overrides); i++)
	{
		/* transaction_timeout is not in every version */
		if (GetConfigOption(overrides[i][0], true, false) != NULL)
			SetConfigOption(overrides[i][0], overrides[i][1],
							PGC_SUSET, PGC_S_OVERRIDE);
	}
	warn_of_owner();
}

/* Create the extension in the registry's database: no user has to. */
static void
create_extension(void)
{
	const char *schema = "public";

	SPI_connect();
	if (!OidIsValid(get_namespace_oid(schema, true)))
	{
		schema = "cosid";
		SPI_execute("CREATE SCHEMA IF NOT EXISTS cosid", false, 0);
	}
	SPI_execute(psprintf("CREATE EXTENSION cosid SCHEMA %s", schema), false, 0);
	SPI_finish();
	CommandCounterIncrement();
}

/* What the call is about. */
static CosidRegistryStatus
take_step(CosidRegistryCall *call, const CosidExtension *extension)
{
	bool		held = true;

	switch (call->step)
	{
		case COSID_STEP_CLAIM:
			cosid_machine_claim(extension, call->claim, call->claimed);
			break;
		case COSID_STEP_GUARD:
			held = cosid_machine_guard(extension, &call->holding, call->identity,
									   cosid_clock_now_ms(), call->lead,
									   &call->watermark);
			break;
		case COSID_STEP_REVERT:
			held = cosid_machine_revert(extension, &call->holding, call->watermark);
			break;
	}
	return held ? COSID_REGISTRY_OK : COSID_REGISTRY_LOST;
}

/* Run a call in a transaction of its own. */
static CosidRegistryStatus
local_run(CosidRegistryCall *call)
{
	CosidRegistryStatus status;
	CosidExtension extension;
	bool		created = false;
	Oid			user;
	int			context;

	cosid_registry_cancellable = call->step != COSID_STEP_REVERT;
	if (cosid_registry_cancellable && ShutdownRequestPending)
		/* SIGTERM was before that. */
		QueryCancelPending = InterruptPending = true;
	SetCurrentStatementStartTimestamp();
	StartTransactionCommand();
	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(user, context | SECURITY_RESTRICTED_OPERATION);
	enable_timeout_after(STATEMENT_TIMEOUT, call->timeout_ms);
	PushActiveSnapshot(GetTransactionSnapshot());

	/*
	 * Never less than a flush, for this transaction: the watermark must outlive
	 * a crash.
	 */
	if (call->step == COSID_STEP_REVERT || synchronous_commit < SYNCHRONOUS_COMMIT_LOCAL_FLUSH)
		(void) set_config_option("synchronous_commit", "local", PGC_USERSET,
								 PGC_S_SESSION, GUC_ACTION_LOCAL, true, 0, false);

	if (!cosid_extension_find(&extension) && call->create)
	{
		create_extension();
		created = true;
	}
	if (cosid_extension_find(&extension))
	{
		cosid_registry_check_version(extension.version);
		status = take_step(call, &extension);
	}
	else
		status = COSID_REGISTRY_ABSENT;

	PopActiveSnapshot();
	SetUserIdAndSecContext(user, context);

	/*
	 * The timeout bounds a wait for a synchronous standby too: it ends with a
	 * warning, and the commit stands.  The watermark then is durable here, and
	 * comes to a standby before any row whose ID needed it.
	 */
	CommitTransactionCommand();
	disable_timeout(STATEMENT_TIMEOUT, false);

	if (created)
		ereport(LOG,
				(errmsg("created extension cosid in database \"%s\"",
						cosid_database)));
	return status;
}

static void
local_finish(bool failed)
{
	if (failed)
	{
		disable_timeout(STATEMENT_TIMEOUT, false);
		AbortCurrentTransaction();
	}
	cosid_registry_cancellable = false;

	/* A cancel that came too late is not meant for the next call. */
	QueryCancelPending = false;

	/* Lets autovacuum know of the rows that we update. */
	pgstat_report_stat(true);
}

const CosidRegistryKind cosid_registry_local = {
	.elsewhere = false,
	.name = local_name,
	.connect = local_connect,
	.use = NULL,
	.run = local_run,
	.finish = local_finish,
};

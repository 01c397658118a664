/*-------------------------------------------------------------------------
 *
 * settings.c
 *		Defines the settings; see settings.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "libpq-fe.h"
#include "miscadmin.h"
#include "utils/guc.h"

#include "settings.h"

/* Room for "-<machine bits>", which a generator may add (see definition.c). */
#define MAX_NAMESPACE_SETTING	(COSID_MAX_NAMESPACE - 3)

#define DEFAULT_NAMESPACE	"cosid"

char	   *cosid_namespace = DEFAULT_NAMESPACE;
char	   *cosid_database = "postgres";
int			cosid_distributor = COSID_DISTRIBUTOR_CATALOG;
int			cosid_manual_machine_id = -1;
char	   *cosid_instance_id = "";
bool		cosid_stable = false;
bool		cosid_worker = true;
int			cosid_max_generators = 1024;
int			cosid_max_namespaces = 64;
int			cosid_fixed_machine_id = COSID_NO_MACHINE_ID;

char	   *cosid_registry = "";
int			cosid_guard_interval = 60 * 1000;
int			cosid_safe_guard_duration = 5 * 60 * 1000;
int			cosid_watermark_lead = 10 * 1000;
int			cosid_clock_backwards_spin_threshold = 1;
int			cosid_clock_backwards_broken_threshold = 500;
int			cosid_clock_backwards_action = COSID_ACTION_ERROR;

int			cosid_wait_timeout = 5 * 1000;
bool		cosid_auto_create = true;
int			cosid_column_default = COSID_COLUMN_DEFAULT_OFF;

static const struct config_enum_entry distributors[] = {
	{"catalog", COSID_DISTRIBUTOR_CATALOG, false},
	{"manual", COSID_DISTRIBUTOR_MANUAL, false},
	{"stateful_set", COSID_DISTRIBUTOR_STATEFUL_SET, false},
	{NULL, 0, false}
};

static const struct config_enum_entry clock_backwards_actions[] = {
	{"error", COSID_ACTION_ERROR, false},
	{"reclaim", COSID_ACTION_RECLAIM, false},
	{NULL, 0, false}
};

static const struct config_enum_entry column_defaults[] = {
	{"off", COSID_COLUMN_DEFAULT_OFF, false},
	{"primary_key", COSID_COLUMN_DEFAULT_PRIMARY_KEY, false},
	{"serial", COSID_COLUMN_DEFAULT_SERIAL, false},
	{NULL, 0, false}
};

/*
 * Whether a text can be a namespace: 1 to max_length characters of printable
 * ASCII, since databases of any encoding and servers in any locale share it.
 */
bool
cosid_namespace_valid(const char *name, int max_length)
{
	int			length = 0;

	for (; name[length] != '\0'; length++)
	{
		if (name[length] <= ' ' || name[length] > '~')
			return false;
	}
	return length >= 1 && length <= max_length;
}

/*
 * For a check that has failed and said why.  At the server's start PostgreSQL
 * would only warn and go on with the default: with another registry or in another
 * namespace than its fleet, where IDs may come twice.
 */
static bool
refuse(const char *setting)
{
	if (process_shared_preload_libraries_in_progress)
		ereport(FATAL,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid value for parameter \"%s\"", setting),
				 errdetail_internal("%s", GUC_check_errdetail_string),
				 GUC_check_errhint_string == NULL ? 0 :
				 errhint("%s", GUC_check_errhint_string)));
	return false;
}

static bool
check_namespace(char **newval, void **extra pg_attribute_unused(),
				GucSource source pg_attribute_unused())
{
	if (cosid_namespace_valid(*newval, MAX_NAMESPACE_SETTING))
		return true;
	GUC_check_errdetail("A namespace is 1 to %d characters of printable ASCII without spaces.",
						MAX_NAMESPACE_SETTING);
	return refuse("cosid.namespace");
}

static bool
check_instance_id(char **newval, void **extra pg_attribute_unused(),
				  GucSource source pg_attribute_unused())
{
	if (strlen(*newval) <= COSID_MAX_INSTANCE_ID)
		return true;
	GUC_check_errdetail("An instance id has at most %d bytes.",
						COSID_MAX_INSTANCE_ID);
	return refuse("cosid.instance_id");
}

/*
 * A connection string that libpq can read and that holds no secret: PostgreSQL
 * logs the new value of each setting that a reload has changed, and a role may
 * see it that has pg_read_all_settings.  Our message must not show the value.
 */
static bool
check_registry(char **newval, void **extra pg_attribute_unused(),
			   GucSource source pg_attribute_unused())
{
	/* What libpq of a later version than 15 does not mark as secret. */
	static const char *const secrets[] = {
		"scram_client_key", "scram_server_key", "oauth_client_secret"
	};
	PQconninfoOption *options;
	bool		secret = false;

	if ((*newval)[0] == '\0')
		return true;
	options = PQconninfoParse(*newval, NULL);
	if (options == NULL)
	{
		GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
		GUC_check_errmsg("invalid value for parameter \"cosid.registry\"");
		GUC_check_errdetail("It is not a valid connection string.");
		return refuse("cosid.registry");
	}
	for (PQconninfoOption *option = options; option->keyword != NULL; option++)
	{
		if (option->val == NULL || option->val[0] == '\0')
			continue;
		/* libpq marks what is to be entered without being seen. */
		if (option->dispchar[0] == '*')
			secret = true;
		for (int i = 0; i < (int) lengthof(secrets); i++)
			secret |= strcmp(option->keyword, secrets[i]) == 0;
	}
	PQconninfoFree(options);
	if (!secret)
		return true;
	GUC_check_errcode(ERRCODE_INVALID_PARAMETER_VALUE);
	GUC_check_errmsg("invalid value for parameter \"cosid.registry\"");
	GUC_check_errdetail("It has a password, which the server would write to its log.");
	GUC_check_errhint("Keep it in a password file (\"passfile\"), in a service file (\"service\"), or use a certificate.");
	return refuse("cosid.registry");
}

/* Whether the settings name a registry elsewhere. */
bool
cosid_registry_is_remote(void)
{
	return cosid_registry[0] != '\0';
}

/* The settings that exist only when the library is preloaded. */
static void
define_postmaster_settings(void)
{
	DefineCustomStringVariable("cosid.namespace",
							   "Namespace of generators that name none.",
							   NULL,
							   &cosid_namespace, DEFAULT_NAMESPACE,
							   PGC_POSTMASTER, 0,
							   check_namespace, NULL, NULL);
	DefineCustomStringVariable("cosid.database",
							   "Database that holds this server's registry of machine ids.",
							   NULL,
							   &cosid_database, "postgres",
							   PGC_POSTMASTER, 0,
							   NULL, NULL, NULL);
	DefineCustomEnumVariable("cosid.distributor",
							 "Where this server's machine id comes from.",
							 "\"catalog\": the registry chooses; \"manual\": cosid.machine_id; "
							 "\"stateful_set\": the ordinal at the end of the host name.",
							 &cosid_distributor, COSID_DISTRIBUTOR_CATALOG,
							 distributors,
							 PGC_POSTMASTER, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.machine_id",
							"Machine id of this server, if cosid.distributor is \"manual\".",
							"-1 means that none is set.",
							&cosid_manual_machine_id, -1, -1, INT_MAX,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
	DefineCustomStringVariable("cosid.instance_id",
							   "Name of this server in the registry.",
							   "Empty means host:port.",
							   &cosid_instance_id, "",
							   PGC_POSTMASTER, 0,
							   check_instance_id, NULL, NULL);
	DefineCustomBoolVariable("cosid.stable",
							 "Keeps the machine id across restarts.",
							 "The row in the registry is found again by the instance id, "
							 "which must be this server's alone.",
							 &cosid_stable, false,
							 PGC_POSTMASTER, 0,
							 NULL, NULL, NULL);
	DefineCustomBoolVariable("cosid.worker",
							 "Starts the worker that claims machine ids.",
							 NULL,
							 &cosid_worker, true,
							 PGC_POSTMASTER, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.max_generators",
							"Number of generators that the server has room for.",
							NULL,
							&cosid_max_generators, 1024, 1, 1024 * 1024,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.max_namespaces",
							"Number of namespaces that the server has room for.",
							NULL,
							&cosid_max_namespaces, 64, 1, 64 * 1024,
							PGC_POSTMASTER, 0,
							NULL, NULL, NULL);
}

/* Without preloading: the configuration has a registry that was not accepted. */
static bool registry_refused = false;

/*
 * Without preloading: a setting of those above that was set all the same, or NULL.
 * An empty one counts as none, which is what RESET leaves.
 */
const char *
cosid_settings_unserved(void)
{
	static const char *const names[] = {
		"cosid.namespace", "cosid.database", "cosid.distributor",
		"cosid.machine_id", "cosid.instance_id", "cosid.stable", "cosid.worker",
		"cosid.max_generators", "cosid.max_namespaces"
	};

	if (registry_refused)
		return "cosid.registry";
	/* What it was when the library was loaded is in use, below. */
	if (strcmp(cosid_namespace, DEFAULT_NAMESPACE) != 0)
		return "cosid.namespace";
	for (int i = 0; i < (int) lengthof(names); i++)
	{
		const char *value = GetConfigOption(names[i], true, false);

		if (value != NULL && value[0] != '\0')
			return names[i];
	}
	return NULL;
}

void
cosid_settings_define(bool preloaded)
{
	const char *registry = GetConfigOption("cosid.registry", true, false);
	bool		registry_configured = registry != NULL && registry[0] != '\0';

	if (preloaded)
		define_postmaster_settings();

	DefineCustomStringVariable("cosid.registry",
							   "Connects to the registry of machine ids in another server.",
							   "Empty means the server's own registry.",
							   &cosid_registry, "",
							   PGC_SIGHUP, GUC_SUPERUSER_ONLY,
							   check_registry, NULL, NULL);
	registry_refused = registry_configured && !cosid_registry_is_remote();
	DefineCustomIntVariable("cosid.guard_interval",
							"Time between heartbeats of an idle lease.",
							"At most half of cosid.safe_guard_duration is used.",
							&cosid_guard_interval, 60 * 1000, 100, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.safe_guard_duration",
							"Silence after which another server may take a machine id.",
							NULL,
							&cosid_safe_guard_duration, 5 * 60 * 1000, 200, INT_MAX,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.watermark_lead",
							"How far ahead of the clock the watermark is persisted.",
							NULL,
							&cosid_watermark_lead, 10 * 1000, 100, 60 * 60 * 1000,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.clock_backwards_spin_threshold",
							"Waits actively while the clock is behind the last ID by no more than this.",
							NULL,
							&cosid_clock_backwards_spin_threshold, 1, 0, 1000,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.clock_backwards_broken_threshold",
							"Fails when the clock is behind the last ID by more than this.",
							NULL,
							&cosid_clock_backwards_broken_threshold, 500, 0, 60 * 60 * 1000,
							PGC_SIGHUP, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomEnumVariable("cosid.clock_backwards_action",
							 "What to do when the clock is behind the last ID by more than that.",
							 "\"reclaim\" goes on with another machine id and gives up the order "
							 "of IDs at that point.",
							 &cosid_clock_backwards_action, COSID_ACTION_ERROR,
							 clock_backwards_actions,
							 PGC_SIGHUP, 0,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("cosid.wait_timeout",
							"Longest wait for a machine id before an ID is refused.",
							NULL,
							&cosid_wait_timeout, 5 * 1000, 0, INT_MAX,
							PGC_USERSET, GUC_UNIT_MS,
							NULL, NULL, NULL);
	DefineCustomBoolVariable("cosid.auto_create",
							 "Defines a generator on first use.",
							 NULL,
							 &cosid_auto_create, true,
							 PGC_SUSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("cosid.column_default",
							 "Gives new bigint primary keys an ID as their default.",
							 "\"primary_key\" means those without a default, \"serial\" also "
							 "those that are serial or identity columns.",
							 &cosid_column_default, COSID_COLUMN_DEFAULT_OFF,
							 column_defaults,
							 PGC_USERSET, 0,
							 NULL, NULL, NULL);

	if (preloaded)
		MarkGUCPrefixReserved("cosid");
	else
	{
		/* Not defined, but a configuration file may have it. */
		const char *configured = GetConfigOption("cosid.namespace", true, false);

		if (configured != NULL &&
			cosid_namespace_valid(configured, MAX_NAMESPACE_SETTING))
			cosid_namespace = strdup(configured);
	}
}

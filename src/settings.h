/*-------------------------------------------------------------------------
 *
 * settings.h
 *		The settings, cosid.*, as variables.
 *
 * Time spans are in milliseconds.  Those set at server start (postmaster
 * level) do not exist when the library is not preloaded, and a session that was
 * told one can't mint then; if the configuration has a cosid.namespace,
 * cosid_namespace is that all the same, for what it defines.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_SETTINGS_H
#define COSID_SETTINGS_H

#define COSID_MAX_NAMESPACE		63	/* bytes of a namespace */
#define COSID_MAX_INSTANCE_ID	100 /* bytes of an instance id */
#define COSID_NO_MACHINE_ID		(-1)

/* What to do when the clock is behind by more than the broken threshold. */
typedef enum CosidClockBackwardsAction
{
	COSID_ACTION_ERROR,			/* refuse, until it has caught up */
	COSID_ACTION_RECLAIM		/* go on with another machine id */
} CosidClockBackwardsAction;

/* Which primary keys get a default that they do not ask for, see key.h. */
typedef enum CosidColumnDefault
{
	COSID_COLUMN_DEFAULT_OFF,
	COSID_COLUMN_DEFAULT_PRIMARY_KEY,	/* those without a default */
	COSID_COLUMN_DEFAULT_SERIAL /* those with a sequence of their own, too */
} CosidColumnDefault;

/* Where a machine id comes from; see identity.c. */
typedef enum CosidDistributor
{
	COSID_DISTRIBUTOR_CATALOG,	/* the registry chooses */
	COSID_DISTRIBUTOR_MANUAL,	/* cosid.machine_id */
	COSID_DISTRIBUTOR_STATEFUL_SET	/* the host name's ordinal */
} CosidDistributor;

/* at server start */
extern char *cosid_namespace;
extern char *cosid_database;
extern int	cosid_distributor;	/* a CosidDistributor */
extern int	cosid_manual_machine_id;	/* for manual; -1: not set */
extern char *cosid_instance_id;
extern bool cosid_stable;
extern bool cosid_worker;
extern int	cosid_max_generators;
extern int	cosid_max_namespaces;

/*
 * The one machine id that this server may have, or COSID_NO_MACHINE_ID.  No
 * setting itself but derived from them: identity.c sets it when the server
 * starts, and all its processes inherit it.
 */
extern int	cosid_fixed_machine_id;

/* on reload */
extern char *cosid_registry;	/* conninfo; empty: the server's own */
extern int	cosid_guard_interval;
extern int	cosid_safe_guard_duration;
extern int	cosid_watermark_lead;
extern int	cosid_clock_backwards_spin_threshold;
extern int	cosid_clock_backwards_broken_threshold;
extern int	cosid_clock_backwards_action;	/* a CosidClockBackwardsAction */

/* in a session */
extern int	cosid_wait_timeout;
extern bool cosid_auto_create;
extern int	cosid_column_default;	/* a CosidColumnDefault */

extern void cosid_settings_define(bool preloaded);
extern const char *cosid_settings_unserved(void);
extern bool cosid_registry_is_remote(void);
extern bool cosid_namespace_valid(const char *name, int max_length);

#endif							/* COSID_SETTINGS_H */

/*-------------------------------------------------------------------------
 *
 * create.c
 *		Defining generators, and dropping their definitions: by hand, by a column
 *		default, on first use.
 *
 * A generator that is used without having been defined gets the default layout
 * and is pinned: a row is made for it, so that it keeps that layout for life.
 * Pinning never waits for another session and is left out where it can't be
 * done at once; then the next statement tries again.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "access/xlog.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"

#include "catalog.h"
#include "compat.h"
#include "settings.h"
#include "define/default.h"
#include "define/definition.h"
#include "define/row.h"
#include "mint/segment.h"

/* Of those that keep a generator from being dropped, in the message. */
#define MAX_SHOWN_USERS		100

/*
 * Whether the current user may define generators.  Raises 42501 if not.
 */
static void
check_may_define(const char *name)
{
	CosidExtension extension = cosid_extension_get();
	Oid			create = cosid_function_oid(&extension, "cosid_create");

	if (cosid_proc_aclcheck(create, GetUserId(), ACL_EXECUTE) == ACLCHECK_OK)
		return;
	ereport(ERROR,
			(errcode(ERRCODE_INSUFFICIENT_PRIVILEGE),
			 errmsg("permission denied to define generator \"%s\"", name),
			 errdetail("The generator does not exist, and defining it takes EXECUTE on function cosid_create."),
			 errhint("Have the database's owner call cosid_create(%s), or grant EXECUTE on it.",
					 quote_literal_cstr(name))));
}

/*
 * With a name locked: its row is read into the definition; if there is none, an
 * implicit one is made of it.
 */
static void
read_or_insert_row(CosidDefinition *definition)
{
	char		name[COSID_MAX_NAME + 1];

	strlcpy(name, definition->generator.name, sizeof(name));
	if (!cosid_row_read(name, definition))
	{
		definition->implicit = true;
		cosid_row_insert(definition);
	}
}

/*
 * Define a generator that is used for the first time.  False if it has the default
 * layout for now, but a row can't be made without waiting.  (It may also be defined
 * as someone else has just done.)  Errors: 22023 for what can't be a name, 42704 if
 * cosid.auto_create is off, 42501 without the right to define it.
 */
bool
cosid_definition_first_use(CosidDefinition *definition, const char *name, int length)
{
	Oid			table = cosid_row_table();

	cosid_definition_default(definition, name, length);
	if (!cosid_auto_create)
		cosid_definition_missing(ERROR, definition->generator.name, NULL);
	check_may_define(definition->generator.name);
	if (XactReadOnly || IsInParallelMode() || RecoveryInProgress() ||
		!ConditionalLockRelationOid(table, RowExclusiveLock) ||
		!cosid_name_lock(table, definition->generator.name, AccessExclusiveLock, false))
		return false;
	read_or_insert_row(definition);
	return true;
}

/*
 * See to it that a generator is defined, for something that will draw from it
 * later, and stays so until that has committed: whoever drops it meanwhile waits
 * and sees the user then.  False if there is none and cosid.auto_create is off.
 * Errors: 22023 for what can't be a name, 42501 without the right to define it.
 */
bool
cosid_definition_declare(const char *name, int length)
{
	Oid			table = cosid_row_table();
	CosidDefinition definition;
	CosidDefinition existing;

	cosid_definition_default(&definition, name, length);
	if (strcmp(definition.generator.name, COSID_SHARE_NAME) == 0)
		return true;
	if (cosid_row_read(definition.generator.name, &existing))
	{
		cosid_name_lock(table, definition.generator.name, AccessShareLock, true);
		if (cosid_row_read(definition.generator.name, &existing))
			return true;
		/* Dropped just now.  Two who hold it could not both go on below. */
		cosid_name_unlock(table, definition.generator.name, AccessShareLock);
	}
	if (!cosid_auto_create)
		return false;
	check_may_define(definition.generator.name);
	cosid_name_lock(table, definition.generator.name, AccessExclusiveLock, true);
	read_or_insert_row(&definition);
	return true;
}

/*
 * Define a generator.  The arguments are those of the columns, the last one
 * excepted.  22023 for a bad one, 42710 if it is defined already.
 */
void
cosid_definition_create(const NullableDatum *arguments, bool safe_javascript)
{
	CosidDefinition definition;
	CosidDefinition existing;
	bool		other_layout;

	cosid_definition_from_values(&definition, arguments, safe_javascript);
	if (!arguments[COSID_COL_ZONE].isnull &&
		(definition.zone[0] == '\0' || pg_tzset(definition.zone) == NULL))
		cosid_bad_parameter("zone", definition.zone, "It must be the name of a time zone.");

	cosid_name_lock(cosid_row_table(), definition.generator.name, AccessExclusiveLock, true);
	other_layout = cosid_segment_attach(DEBUG1) &&
		cosid_slot_other_layout(definition.generator.utf8_name, &definition.generator.layout);
	if (cosid_row_read(definition.generator.name, &existing))
	{
		if (!existing.implicit)
			cosid_row_exists(definition.generator.name);
		/* It may have given out IDs before the server was started. */
		if (!cosid_layout_equal(&existing.generator.layout, &definition.generator.layout))
			other_layout = true;
	}
	if (other_layout)
		ereport(NOTICE,
				(errmsg("generator \"%s\" has given out IDs with another layout",
						definition.generator.name),
				 errdetail("IDs of different layouts may be equal.")));
	cosid_row_insert(&definition);
}

/* Refuse to drop what column defaults, domains' defaults or triggers use. */
static void
check_unused(const char *name)
{
	List	   *users = cosid_default_users(name);
	StringInfoData detail;
	ListCell   *cell;

	if (users == NIL)
		return;
	initStringInfo(&detail);
	foreach(cell, users)
	{
		if (foreach_current_index(cell) == MAX_SHOWN_USERS)
		{
			appendStringInfo(&detail, "\nand %d others",
							 list_length(users) - MAX_SHOWN_USERS);
			break;
		}
		appendStringInfo(&detail, "%s%s draws from it", detail.len == 0 ? "" : "\n",
						 (char *) lfirst(cell));
	}
	ereport(ERROR,
			(errcode(ERRCODE_DEPENDENT_OBJECTS_STILL_EXIST),
			 errmsg("cannot drop generator \"%s\" because it is still in use", name),
			 errdetail_internal("%s", detail.data),
			 errhint("Drop these defaults or triggers first, or use cosid_detach.")));
}

/*
 * Drop a generator's definition.  42704 without one, 2BP01 while something draws
 * from it.
 */
void
cosid_definition_drop(const char *name, int length)
{
	CosidGenerator probe;

	cosid_generator_set_name(&probe, name, length);
	cosid_name_lock(cosid_row_table(), probe.name, AccessExclusiveLock, true);
	check_unused(probe.name);
	if (!cosid_row_delete(probe.name))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("generator \"%s\" does not exist", probe.name)));
}

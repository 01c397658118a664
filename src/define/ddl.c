/*-------------------------------------------------------------------------
 *
 * ddl.c
 *		What is done when someone declares a column default.
 *
 * A default that calls cosid_next with a constant name is checked when it is
 * declared, not at the first INSERT: the generator is defined if need be, with
 * the rights of who declares it.  So whoever may only insert never has to define
 * one.  The same goes for domains' defaults and cosid_fill triggers.
 *
 * PostgreSQL tells us of each new object while the statement is at work, when
 * the object's row can't be seen yet.  We note which ones are of interest, and
 * look at them when the statement is done.  The statements that one statement
 * consists of (CREATE SCHEMA ..., CREATE TABLE ... LIKE) are done with it.
 *
 * cosid.column_default is served here, too: see key.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_attrdef.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_database.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_trigger.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "miscadmin.h"
#include "tcop/utility.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "settings.h"
#include "define/ddl.h"
#include "define/default.h"
#include "define/definition.h"
#include "define/key.h"
#include "define/shared_cache.h"

/*
 * An object to look at; a column (table, attribute number) for its default, a
 * constraint and whether its table's primary key has been seen to.
 */
typedef struct Note
{
	Oid			class;
	Oid			object;
	int			sub;
} Note;

/* A statement that is being run. */
typedef struct Statement
{
	struct Statement *outer;
	MemoryContext memory;		/* of the notes; NULL without any */
	List	   *notes;
	bool		key_decided;	/* its primary key has been seen to (key.h) */
} Statement;

static Statement *current = NULL;

static ProcessUtility_hook_type previous_process_utility_hook = NULL;
static object_access_hook_type previous_object_access_hook = NULL;

static void
add_note(Statement *statement, Oid class, Oid object, int sub)
{
	MemoryContext context;
	Note	   *note;

	/* A procedure may end the transaction within the statement that calls it. */
	if (statement->memory == NULL)
		statement->memory = AllocSetContextCreate(TopMemoryContext, "cosid notes",
												  ALLOCSET_SMALL_SIZES);
	context = MemoryContextSwitchTo(statement->memory);
	note = palloc(sizeof(Note));
	note->class = class;
	note->object = object;
	note->sub = sub;
	statement->notes = lappend(statement->notes, note);
	MemoryContextSwitchTo(context);
}

/* Whether an object that was created may be of interest. */
static bool
is_interesting(Oid class, const ObjectAccessPostCreate *created)
{
	switch (class)
	{
		case AttrDefaultRelationId:
		case TypeRelationId:
			return true;
		case TriggerRelationId:
			return created == NULL || !created->is_internal;
		case ConstraintRelationId:
			return cosid_column_default != COSID_COLUMN_DEFAULT_OFF;
		default:
			return false;
	}
}

static void
note_object(ObjectAccessType access, Oid class, Oid object, int sub, void *arg)
{
	if (previous_object_access_hook != NULL)
		previous_object_access_hook(access, class, object, sub, arg);

	/* Rows may go with it, of which no trigger tells. */
	if (access == OAT_DROP &&
		(class == ExtensionRelationId || class == DatabaseRelationId))
		cosid_shared_cache_changed();

	if (current == NULL || creating_extension || IsBinaryUpgrade)
		return;
	if (access == OAT_POST_CREATE ? is_interesting(class, arg) :
		access == OAT_POST_ALTER && class == TypeRelationId)	/* ALTER DOMAIN */
		add_note(current, class, object, sub);
}

/* Whom an error or a warning is about. */
static void
add_context(void *user)
{
	errcontext("%s", (char *) user);
}

/* See to it that the generators that a default or trigger uses are defined. */
static void
declare_generators(const CosidExtension *extension, Oid class, Oid object)
{
	ErrorContextCallback callback = {.callback = add_context};
	List	   *names = cosid_default_generators(extension, class, object);
	ListCell   *cell;

	if (names == NIL)
		return;
	callback.arg = cosid_default_description(class, object);
	callback.previous = error_context_stack;
	error_context_stack = &callback;
	foreach(cell, names)
	{
		char	   *name = strVal(lfirst(cell));

		/* Only a warning: a dump's definitions come after its tables. */
		if (!cosid_definition_declare(name, (int) strlen(name)))
			cosid_definition_missing(WARNING, name, callback.arg);
	}
	error_context_stack = callback.previous;
}

/* Look at what a statement has made. */
static void
settle_note(const CosidExtension *extension, const Note *note)
{
	switch (note->class)
	{
		case AttrDefaultRelationId:
			{
				Oid			attrdef = GetAttrDefaultOid(note->object, note->sub);

				if (OidIsValid(attrdef))
					declare_generators(extension, note->class, attrdef);
				break;
			}
		case TypeRelationId:
			if (get_typtype(note->object) == TYPTYPE_DOMAIN)
				declare_generators(extension, note->class, note->object);
			break;
		case TriggerRelationId:
			declare_generators(extension, note->class, note->object);
			break;
		case ConstraintRelationId:
			cosid_key_created(note->object, note->sub != 0);
			break;
	}
}

/* The statement is done: look at its notes, or hand them to the outer one. */
static void
settle(Statement *statement, bool is_part)
{
	CosidExtension extension;
	ListCell   *cell;

	if (statement->notes == NIL)
		return;
	if (!is_part)
	{
		CommandCounterIncrement();
		if (!cosid_extension_find(&extension))
			return;
	}
	foreach(cell, statement->notes)
	{
		Note	   *note = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (note->class == ConstraintRelationId && statement->key_decided)
			note->sub = true;
		if (is_part)
			add_note(statement->outer, note->class, note->object, note->sub);
		else
			settle_note(&extension, note);
	}
}

/* As it was before the statement. */
static void
leave(Statement *statement)
{
	current = statement->outer;
	if (statement->memory != NULL)
		MemoryContextDelete(statement->memory);
}

static void
run_statement(Statement *statement, PlannedStmt *pstmt, const char *query,
			  bool read_only_tree, ProcessUtilityContext context,
			  ParamListInfo params, QueryEnvironment *environment,
			  DestReceiver *dest, QueryCompletion *completion)
{
	if (cosid_column_default != COSID_COLUMN_DEFAULT_OFF &&
		!creating_extension && !IsBinaryUpgrade)
		pstmt = cosid_key_rewrite(pstmt, &statement->key_decided);
	if (previous_process_utility_hook != NULL)
		previous_process_utility_hook(pstmt, query, read_only_tree, context, params,
									  environment, dest, completion);
	else
		standard_ProcessUtility(pstmt, query, read_only_tree, context, params,
								environment, dest, completion);
	settle(statement, context == PROCESS_UTILITY_SUBCOMMAND && statement->outer != NULL);
}

static void
process_utility(PlannedStmt *pstmt, const char *query, bool read_only_tree,
				ProcessUtilityContext context, ParamListInfo params,
				QueryEnvironment *environment, DestReceiver *dest,
				QueryCompletion *completion)
{
	Statement	statement = {.outer = current};

	current = &statement;
	PG_TRY();
	{
		run_statement(&statement, pstmt, query, read_only_tree, context, params,
					  environment, dest, completion);
	}
	PG_CATCH();
	{
		leave(&statement);
		PG_RE_THROW();
	}
	PG_END_TRY();
	leave(&statement);
}

/* When the library is preloaded. */
void
cosid_ddl_init(void)
{
	previous_process_utility_hook = ProcessUtility_hook;
	ProcessUtility_hook = process_utility;
	previous_object_access_hook = object_access_hook;
	object_access_hook = note_object;
}

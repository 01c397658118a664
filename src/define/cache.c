/*-------------------------------------------------------------------------
 *
 * cache.c
 *		From a generator's name to what it is: what this backend has read.
 *
 * A change of the rows takes effect with the next statement.  What has no row,
 * since one could not be made, holds for one statement.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/xact.h"
#include "utils/hsearch.h"
#include "utils/inval.h"

#include "define/definition.h"
#include "define/row.h"
#include "define/shared_cache.h"
#include "mint/segment.h"

/* A name's definition, which counts as absent when its generation is an old one. */
typedef struct CacheEntry
{
	char		name[COSID_MAX_NAME + 1];
	int			name_length;
	bool		pinned;			/* there is a row (or it is the share one) */
	uint64		generation;		/* of the rows before this was read */
	TimestampTz statement;		/* that used this last */
	CosidDefinition definition;
} CacheEntry;

/* By name; entries never move and are never freed. */
static HTAB *cache = NULL;

/* When invalidations were last looked for: the statement's start. */
static TimestampTz accepted_at = 0;

/* The entry that was minted from last; open. */
static CacheEntry *last_used = NULL;

/*
 * Put a definition into the cache.  `read_at` is the generation before its row
 * was looked for: if that has changed since, the entry serves the caller only.
 */
static CacheEntry *
remember(const CosidDefinition *definition, bool pinned, uint64 read_at)
{
	bool		found;
	CacheEntry *entry = hash_search(cache, definition->generator.name, HASH_ENTER, &found);
	int64		share = found ? entry->definition.generator.share : 0;

	entry->name_length = (int) strlen(entry->name);
	entry->pinned = pinned;
	entry->generation = read_at;
	entry->statement = accepted_at;
	entry->definition = *definition;
	entry->definition.generator.share = share;

	/* It is to be opened again. */
	if (last_used == entry)
		last_used = NULL;
	return entry;
}

/*
 * What the cache has for a name that can be one; NULL if it has nothing that
 * holds.
 */
static CacheEntry *
recall(const char *name, int length)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	CosidGenerator probe;
	CacheEntry *entry;

	if (cache == NULL)
	{
		HASHCTL		control = {
			.keysize = COSID_MAX_NAME + 1,
			.entrysize = sizeof(CacheEntry),
		};

		cache = hash_create("cosid generators", 16, &control, HASH_ELEM | HASH_STRINGS);
	}
	if (accepted_at != statement)
	{
		AcceptInvalidationMessages();
		accepted_at = statement;
	}
	cosid_generator_set_name(&probe, name, length);
	entry = hash_search(cache, probe.name, HASH_FIND, NULL);
	if (entry == NULL || entry->generation != cosid_rows_generation ||
		(!entry->pinned && entry->statement != statement))
		return NULL;
	entry->statement = statement;
	return entry;
}

/* The share generator, or what a row says; NULL if there is neither. */
static CacheEntry *
load(const char *name, int length)
{
	CosidDefinition definition;
	uint64		read_at = cosid_rows_generation;
	uint64		changes = cosid_shared_cache_changes();
	const char *its_name;

	cosid_definition_default(&definition, name, length);
	its_name = definition.generator.name;
	if (strcmp(its_name, COSID_SHARE_NAME) != 0 &&
		!cosid_shared_cache_find(its_name, &definition))
	{
		if (!cosid_row_read(its_name, &definition))
			return NULL;
		cosid_shared_cache_keep(&definition, changes);
	}
	return remember(&definition, true, read_at);
}

static CacheEntry *
define_on_first_use(const char *name, int length)
{
	CosidDefinition definition;
	uint64		read_at = cosid_rows_generation;
	bool		pinned = cosid_definition_first_use(&definition, name, length);

	return remember(&definition, pinned, read_at);
}

/*
 * The definition to mint from, which is open; defined now, if it is not and that
 * is allowed.  Errors: 55000 when the library is not preloaded and had to be
 * (segment.c), those of cosid_definition_first_use and of cosid_generator_open.
 */
CosidDefinition *
cosid_definition_mint(const char *name, int length)
{
	CacheEntry *entry = last_used;

	if (entry != NULL && entry->generation == cosid_rows_generation &&
		entry->statement == GetCurrentStatementStartTimestamp() &&
		entry->name_length == length && memcmp(entry->name, name, length) == 0)
		return &entry->definition;

	cosid_segment_attach(ERROR);
	entry = recall(name, length);
	if (entry == NULL)
		entry = load(name, length);
	if (entry == NULL)
		entry = define_on_first_use(name, length);
	if (entry->definition.generator.slot == NULL)
		cosid_generator_open(&entry->definition.generator);
	last_used = entry;
	return &entry->definition;
}

/* The definition that a row has, of whoever may call us.  42704 without one. */
const CosidDefinition *
cosid_definition_read(const char *name, int length)
{
	CacheEntry *entry = recall(name, length);

	if (entry == NULL || !entry->pinned)
		entry = load(name, length);
	if (entry == NULL)
		cosid_definition_missing(ERROR, pnstrdup(name, length), NULL);
	return &entry->definition;
}

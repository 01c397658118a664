/*-------------------------------------------------------------------------
 *
 * definition.c
 *		What a generator is: the rows of cosid_generator, and a backend's cache
 *		of them.
 *
 * A row is read with a fresh catalog snapshot, whatever the transaction's own
 * snapshot is, so that what another session has defined holds for us at once,
 * as it does for tables.  The cache is dropped by relcache invalidation, which
 * a trigger on the table sends; a change takes effect with the next statement.
 *
 * A generator that is used without having been defined gets the default layout
 * and is pinned: a row is made for it, so that it keeps that layout for life.
 * Pinning never waits for another session and is left out where it can't be
 * done at once; then the next statement tries again.
 *
 * Everything that makes or deletes rows takes a lock on (table, name) for the
 * transaction first; what needs a row to stay takes it shared.  So a row that is
 * looked for under the lock and is not there can be inserted without a wait for
 * someone else's uncommitted one.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/indexing.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "executor/spi.h"
#include "lib/stringinfo.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "pgtime.h"
#include "storage/lmgr.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "compat.h"
#include "settings.h"
#include "define/default.h"
#include "define/definition.h"
#include "define/shared_cache.h"
#include "mint/segment.h"

/* Of those that keep a generator from being dropped, in the message. */
#define MAX_SHOWN_USERS		100

static const char *const unit_names[] = {
	[COSID_MILLISECOND] = "millisecond",
	[COSID_SECOND] = "second",
};

static const char *const converter_names[] = {
	[COSID_RADIX] = "radix",
	[COSID_RADIX36] = "radix36",
	[COSID_TO_STRING] = "to_string",
	[COSID_SNOWFLAKE_FRIENDLY] = "snowflake_friendly",
};

static const Oid column_types[COSID_COLUMNS] = {
	TEXTOID, TEXTOID, TEXTOID, INT8OID, INT4OID, INT4OID, INT4OID, INT8OID,
	BOOLOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID, INT4OID, TEXTOID, BOOLOID
};

/*
 * The backend's cache: definitions by name, never freed.  One counts as absent
 * when its generation is an old one.
 */
typedef struct CacheEntry
{
	char		name[COSID_MAX_NAME + 1];
	CosidDefinition *definition;
} CacheEntry;

static HTAB *cache = NULL;
static uint64 generation = 1;

/* cosid_generator in this database; InvalidOid: look it up. */
static Oid	generator_table = InvalidOid;

/* When invalidations were last looked for: the statement's start. */
static TimestampTz accepted_at = 0;

/* The entry that was minted from last. */
static CosidDefinition *last_used = NULL;

/*
 * Errors
 */

static void
bad_parameter(const char *parameter, const char *value, const char *detail)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": \"%s\"", parameter, value),
			 errdetail("%s", detail)));
}

static void
bad_number(const char *parameter, int64 value, int64 from, int64 to)
{
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("invalid value for parameter \"%s\": " INT64_FORMAT, parameter, value),
			 errdetail("It must be between " INT64_FORMAT " and " INT64_FORMAT ".",
					   from, to)));
}

/*
 * Say that a generator is wanted that is not defined: 42704.  `user`, if there is
 * one, draws from it.
 */
void
cosid_definition_missing(int elevel, const char *name, const char *user)
{
	ereport(elevel,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("generator \"%s\" does not exist", name),
			 user != NULL ? errdetail("The %s draws from it.", user) : 0,
			 errhint("Create it with cosid_create(%s).", quote_literal_cstr(name))));
}

static void
already_exists(const char *name)
{
	ereport(ERROR,
			(errcode(ERRCODE_DUPLICATE_OBJECT),
			 errmsg("generator \"%s\" already exists", name)));
}

/*
 * Names
 */

/* A name in UTF-8 and its length; false if it can't be a generator's. */
static bool
name_to_utf8(const char *name, int length, char **utf8, int *utf8_length)
{
	*utf8 = pg_server_to_any(name, length, PG_UTF8);
	*utf8_length = *utf8 == name ? length : (int) strlen(*utf8);
	return length >= 1 && length <= COSID_MAX_NAME && *utf8_length <= COSID_MAX_NAME;
}

/* Whether a name can be a generator's: 1 to 63 bytes, in UTF-8 as well. */
bool
cosid_definition_valid_name(const char *name)
{
	char	   *utf8;
	int			utf8_length;

	return name_to_utf8(name, (int) strlen(name), &utf8, &utf8_length);
}

/* Check a generator's name and set it, in both encodings. */
static void
set_name(CosidDefinition *definition, const char *name, int length)
{
	char	   *utf8;
	int			utf8_length;

	if (!name_to_utf8(name, length, &utf8, &utf8_length))
		bad_parameter("name", pnstrdup(name, length),
					  psprintf("A generator's name has 1 to %d bytes.", COSID_MAX_NAME));
	memcpy(definition->name, name, length);
	definition->name[length] = '\0';
	definition->name_length = length;
	memcpy(definition->utf8_name, utf8, utf8_length);
	definition->utf8_name[utf8_length] = '\0';
}

/*
 * The namespace of a generator that names none.  A machine id that was leased
 * for 10 bits may not fit into another number of them, so each has its own.
 */
static void
set_default_namespace(CosidDefinition *definition)
{
	CosidLayout standard;

	cosid_layout_default(&standard, COSID_MILLISECOND, false);
	if (definition->layout.machine_bit == standard.machine_bit)
		strlcpy(definition->namespace, cosid_namespace, sizeof(definition->namespace));
	else
		snprintf(definition->namespace, sizeof(definition->namespace), "%s-%d",
				 cosid_namespace, definition->layout.machine_bit);
}

/* What a name means about which nothing is said. */
void
cosid_definition_default(CosidDefinition *definition, const char *name, int length)
{
	memset(definition, 0, sizeof(CosidDefinition));
	set_name(definition, name, length);
	cosid_layout_default(&definition->layout, COSID_MILLISECOND, false);
	set_default_namespace(definition);
	definition->reset_threshold = cosid_default_reset_threshold(&definition->layout);
	definition->clock_sync = true;
	definition->converter.kind = COSID_RADIX;
	definition->converter.pad_start = true;
	definition->converter.char_size = cosid_default_char_size(COSID_RADIX);
}

/*
 * From values to a definition: the arguments of cosid_create, where NULL means
 * the default, and the columns of a row.
 */

static char *
text_value(const NullableDatum *values, CosidColumn column)
{
	return values[column].isnull ? NULL : TextDatumGetCString(values[column].value);
}

/* The index of a word; an error if it is none of them. */
static int
word_value(const NullableDatum *values, CosidColumn column, const char *parameter,
		   const char *const *words, int nwords, int otherwise)
{
	char	   *word = text_value(values, column);
	char	   *all;

	if (word == NULL)
		return otherwise;
	all = pstrdup("");
	for (int i = 0; i < nwords; i++)
	{
		if (strcmp(word, words[i]) == 0)
			return i;
		all = psprintf("%s%s%s", all, i == 0 ? "" : i == nwords - 1 ? " or " : ", ",
					   words[i]);
	}
	bad_parameter(parameter, word, psprintf("It must be %s.", all));
	return otherwise;
}

/* A text of limited length, into a buffer of that and a NUL. */
static void
copy_text(const NullableDatum *values, CosidColumn column, const char *parameter,
		  char *buffer, int max_length)
{
	char	   *value = text_value(values, column);

	if (value == NULL)
		return;
	if (strlen(value) > (size_t) max_length)
		bad_parameter(parameter, value,
					  psprintf("It must have at most %d bytes.", max_length));
	strlcpy(buffer, value, max_length + 1);
}

static int
int_value(const NullableDatum *values, CosidColumn column, int otherwise)
{
	return values[column].isnull ? otherwise : DatumGetInt32(values[column].value);
}

static void
check_layout(const CosidLayout *layout, bool safe_javascript)
{
	int			total = safe_javascript ? COSID_SAFE_JAVASCRIPT_BITS : COSID_TOTAL_BITS;

	switch (cosid_layout_check(layout, safe_javascript))
	{
		case COSID_LAYOUT_OK:
			break;
		case COSID_LAYOUT_BAD_EPOCH:
			bad_number("epoch", layout->epoch, 0,
					   (COSID_MAX_EPOCH_SECOND + 1) * (1000 / cosid_unit_ms(layout)) - 1);
			break;
		case COSID_LAYOUT_BAD_TIMESTAMP_BIT:
			bad_number("timestamp_bit", layout->timestamp_bit, 1, total - 2);
			break;
		case COSID_LAYOUT_BAD_MACHINE_BIT:
			bad_number("machine_bit", layout->machine_bit, 1, COSID_MAX_MACHINE_BITS);
			break;
		case COSID_LAYOUT_BAD_SEQUENCE_BIT:
			bad_number("sequence_bit", layout->sequence_bit, 1, total - 2);
			break;
		case COSID_LAYOUT_BAD_TOTAL:
			ereport(ERROR,
					(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					 errmsg("timestamp_bit, machine_bit and sequence_bit add up to %d, more than %d",
							cosid_total_bits(layout), total),
					 errdetail("The layout is %d/%d/%d.", layout->timestamp_bit,
							   layout->machine_bit, layout->sequence_bit)));
			break;
	}
}

static void
set_layout(CosidDefinition *definition, const NullableDatum *values,
		   bool safe_javascript)
{
	CosidLayout *layout = &definition->layout;
	CosidUnit	unit;

	unit = word_value(values, COSID_COL_TIMESTAMP_UNIT, "timestamp_unit",
					  unit_names, lengthof(unit_names), COSID_MILLISECOND);
	cosid_layout_default(layout, unit, safe_javascript);
	if (!values[COSID_COL_EPOCH].isnull)
		layout->epoch = DatumGetInt64(values[COSID_COL_EPOCH].value);
	layout->timestamp_bit = int_value(values, COSID_COL_TIMESTAMP_BIT, layout->timestamp_bit);
	layout->machine_bit = int_value(values, COSID_COL_MACHINE_BIT, layout->machine_bit);
	layout->sequence_bit = int_value(values, COSID_COL_SEQUENCE_BIT, layout->sequence_bit);
	check_layout(layout, safe_javascript);

	definition->reset_threshold = cosid_default_reset_threshold(layout);
	if (!values[COSID_COL_RESET_THRESHOLD].isnull)
		definition->reset_threshold = DatumGetInt64(values[COSID_COL_RESET_THRESHOLD].value);
	if (definition->reset_threshold < 0 ||
		definition->reset_threshold > cosid_max_sequence(layout))
		bad_number("sequence_reset_threshold", definition->reset_threshold,
				   0, cosid_max_sequence(layout));
}

static void
set_converter(CosidDefinition *definition, const NullableDatum *values)
{
	CosidConverter *converter = &definition->converter;

	converter->kind = word_value(values, COSID_COL_CONVERTER, "converter", converter_names,
								 lengthof(converter_names), COSID_RADIX);
	converter->pad_start = converter->kind == COSID_RADIX || converter->kind == COSID_RADIX36;
	if (!values[COSID_COL_PAD_START].isnull)
		converter->pad_start = DatumGetBool(values[COSID_COL_PAD_START].value);
	converter->char_size = int_value(values, COSID_COL_CHAR_SIZE,
									 cosid_default_char_size(converter->kind));
	if (converter->char_size < 1 || converter->char_size > COSID_MAX_CHAR_SIZE)
		bad_number("char_size", converter->char_size, 1, COSID_MAX_CHAR_SIZE);
	copy_text(values, COSID_COL_PREFIX, "prefix", converter->prefix, COSID_MAX_AFFIX);
	copy_text(values, COSID_COL_SUFFIX, "suffix", converter->suffix, COSID_MAX_AFFIX);
	copy_text(values, COSID_COL_ZONE, "zone", definition->zone, COSID_MAX_ZONE);
}

static void
set_definition(CosidDefinition *definition, const NullableDatum *values,
			   bool safe_javascript)
{
	char	   *name = text_value(values, COSID_COL_NAME);

	memset(definition, 0, sizeof(CosidDefinition));
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a generator's name must not be null")));
	set_name(definition, name, (int) strlen(name));
	if (strcmp(name, COSID_SHARE_NAME) == 0)
		bad_parameter("name", name, "The share generator is built in.");
	set_layout(definition, values, safe_javascript);
	set_converter(definition, values);
	definition->clock_sync = values[COSID_COL_CLOCK_SYNC].isnull ||
		DatumGetBool(values[COSID_COL_CLOCK_SYNC].value);
	definition->implicit = !values[COSID_COL_IMPLICIT].isnull &&
		DatumGetBool(values[COSID_COL_IMPLICIT].value);

	if (values[COSID_COL_NAMESPACE].isnull)
		set_default_namespace(definition);
	else
	{
		copy_text(values, COSID_COL_NAMESPACE, "namespace", definition->namespace,
				  COSID_MAX_NAMESPACE);
		if (!cosid_namespace_valid(definition->namespace, COSID_MAX_NAMESPACE))
			bad_parameter("namespace", definition->namespace,
						  psprintf("A namespace is 1 to %d characters of printable ASCII without spaces.",
								   COSID_MAX_NAMESPACE));
	}
}

/*
 * Rows
 */

/*
 * A relation has changed (or any may have: InvalidOid).  While we do not know
 * which one is the table, each may be it.
 */
static void
invalidate_cache(Datum arg pg_attribute_unused(), Oid relid)
{
	if (OidIsValid(relid) && OidIsValid(generator_table) && relid != generator_table)
		return;
	generation++;
	generator_table = InvalidOid;
}

static void
create_cache(void)
{
	HASHCTL		control = {
		.keysize = COSID_MAX_NAME + 1,
		.entrysize = sizeof(CacheEntry),
	};

	cache = hash_create("cosid generators", 16, &control, HASH_ELEM | HASH_STRINGS);
	CacheRegisterRelcacheCallback(invalidate_cache, (Datum) 0);
}

static Oid
find_table(void)
{
	if (cache == NULL)
		create_cache();
	if (!OidIsValid(generator_table))
	{
		CosidExtension extension = cosid_extension_get();

		generator_table = cosid_table_oid(&extension, "cosid_generator");
	}
	return generator_table;
}

/*
 * The columns are read by their numbers.  A later version of the extension may
 * add some; a table that has others in their place is not for this library.
 */
static void
check_columns(Relation table)
{
	TupleDesc	desc = RelationGetDescr(table);

	for (int i = 0; i < COSID_COLUMNS; i++)
	{
		if (i >= desc->natts || TupleDescAttr(desc, i)->atttypid != column_types[i])
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("table \"%s\" is not what version %s of cosid's library reads",
							RelationGetRelationName(table), COSID_VERSION),
					 errhint("If the library is newer than the extension in this database, run ALTER EXTENSION cosid UPDATE.")));
	}
}

/* Find a name's row by a fresh snapshot; NULL if there is none. */
static HeapTuple
find_row(Relation table, const char *name)
{
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	check_columns(table);

	/* Sets rd_pkindex. */
	list_free(RelationGetIndexList(table));
	ScanKeyEntryInitialize(&key, 0, COSID_COL_NAME + 1, BTEqualStrategyNumber,
						   InvalidOid, C_COLLATION_OID, F_TEXTEQ,
						   CStringGetTextDatum(name));
	scan = systable_beginscan(table, table->rd_pkindex,
							  OidIsValid(table->rd_pkindex), NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
		tuple = heap_copytuple(tuple);
	systable_endscan(scan);
	return tuple;
}

/* Read a name's row into a definition; false if there is none. */
static bool
read_row(const char *name, CosidDefinition *definition)
{
	Relation	table = table_open(find_table(), AccessShareLock);
	HeapTuple	tuple = find_row(table, name);

	if (HeapTupleIsValid(tuple))
	{
		NullableDatum values[COSID_COLUMNS];

		for (int i = 0; i < COSID_COLUMNS; i++)
			values[i].value = heap_getattr(tuple, i + 1, RelationGetDescr(table),
										   &values[i].isnull);
		set_definition(definition, values, false);
	}
	table_close(table, AccessShareLock);
	return HeapTupleIsValid(tuple);
}

/* Run a statement on the table with the rights of its owner. */
static uint64
execute_as_owner(Oid table, const char *sql, int nargs, const Oid *types,
				 Datum *values, const char *nulls)
{
	Oid			save_user;
	int			save_context;
	uint64		processed;

	/* An error restores these with the (sub)transaction. */
	GetUserIdAndSecContext(&save_user, &save_context);
	SetUserIdAndSecContext(cosid_table_owner(table),
						   save_context | SECURITY_LOCAL_USERID_CHANGE |
						   SECURITY_RESTRICTED_OPERATION);
	SPI_connect();
	processed = cosid_execute(table, sql, nargs, types, values, nulls);
	SPI_finish();
	SetUserIdAndSecContext(save_user, save_context);
	return processed;
}

/* Insert a definition's row.  The triggers below do the rest. */
static void
insert_row(const CosidDefinition *definition)
{
	Oid			table = find_table();
	Datum		values[COSID_COLUMNS];
	char		nulls[COSID_COLUMNS];

	memset(nulls, ' ', sizeof(nulls));
	values[COSID_COL_NAME] = CStringGetTextDatum(definition->name);
	values[COSID_COL_NAMESPACE] = CStringGetTextDatum(definition->namespace);
	values[COSID_COL_TIMESTAMP_UNIT] = CStringGetTextDatum(unit_names[definition->layout.unit]);
	values[COSID_COL_EPOCH] = Int64GetDatum(definition->layout.epoch);
	values[COSID_COL_TIMESTAMP_BIT] = Int32GetDatum(definition->layout.timestamp_bit);
	values[COSID_COL_MACHINE_BIT] = Int32GetDatum(definition->layout.machine_bit);
	values[COSID_COL_SEQUENCE_BIT] = Int32GetDatum(definition->layout.sequence_bit);
	values[COSID_COL_RESET_THRESHOLD] = Int64GetDatum(definition->reset_threshold);
	values[COSID_COL_CLOCK_SYNC] = BoolGetDatum(definition->clock_sync);
	values[COSID_COL_CONVERTER] = CStringGetTextDatum(converter_names[definition->converter.kind]);
	values[COSID_COL_PREFIX] = CStringGetTextDatum(definition->converter.prefix);
	values[COSID_COL_SUFFIX] = CStringGetTextDatum(definition->converter.suffix);
	values[COSID_COL_PAD_START] = BoolGetDatum(definition->converter.pad_start);
	values[COSID_COL_CHAR_SIZE] = Int32GetDatum(definition->converter.char_size);
	values[COSID_COL_ZONE] = CStringGetTextDatum(definition->zone);
	if (definition->zone[0] == '\0')
		nulls[COSID_COL_ZONE] = 'n';
	values[COSID_COL_IMPLICIT] = BoolGetDatum(definition->implicit);

	execute_as_owner(table,
					 psprintf("INSERT INTO %s (name, namespace, timestamp_unit, epoch,"
							  " timestamp_bit, machine_bit, sequence_bit,"
							  " sequence_reset_threshold, clock_sync, converter, prefix,"
							  " suffix, pad_start, char_size, zone, implicit)"
							  " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
							  " $12, $13, $14, $15, $16)", cosid_table_name(table)),
					 COSID_COLUMNS, column_types, values, nulls);
}

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

	strlcpy(name, definition->name, sizeof(name));
	if (!read_row(name, definition))
	{
		definition->implicit = true;
		insert_row(definition);
	}
}

/*
 * Make a row for a generator that is used for the first time.  False if that
 * can't be done now without waiting.  The definition may be replaced by one
 * that was committed in the meantime.
 */
static bool
pin(CosidDefinition *definition)
{
	Oid			table = find_table();

	if (XactReadOnly || IsInParallelMode() || RecoveryInProgress())
		return false;
	if (!ConditionalLockRelationOid(table, RowExclusiveLock) ||
		!cosid_name_lock(table, definition->name, AccessExclusiveLock, false))
		return false;
	read_or_insert_row(definition);
	return true;
}

/*
 * The cache
 */

/*
 * Put a definition into the cache.  `read_at` is the generation before its row
 * was looked for: if that has changed since, the entry serves the caller only.
 */
static CosidDefinition *
remember(const CosidDefinition *definition, bool pinned, uint64 read_at)
{
	CacheEntry *entry;
	CosidDefinition *kept;
	bool		found;
	int64		share;

	entry = hash_search(cache, definition->name, HASH_ENTER, &found);
	if (!found)
		entry->definition = NULL;
	if (entry->definition == NULL)
		entry->definition = MemoryContextAllocZero(TopMemoryContext,
												   sizeof(CosidDefinition));
	kept = entry->definition;
	share = kept->share;
	*kept = *definition;
	kept->share = share;
	kept->pinned = pinned;
	kept->generation = read_at;
	kept->statement = accepted_at;
	return kept;
}

/*
 * What the cache has for a name that can be one; NULL if it has nothing that
 * holds.  What has no row holds for one statement.
 */
static CosidDefinition *
recall(const char *name, int length)
{
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	CosidDefinition probe;
	CosidDefinition *kept;
	CacheEntry *entry;

	if (cache == NULL)
		create_cache();
	if (accepted_at != statement)
	{
		AcceptInvalidationMessages();
		accepted_at = statement;
	}
	set_name(&probe, name, length);
	entry = hash_search(cache, probe.name, HASH_FIND, NULL);
	kept = entry == NULL ? NULL : entry->definition;
	if (kept == NULL || kept->generation != generation ||
		(!kept->pinned && kept->statement != statement))
		return NULL;
	kept->statement = statement;
	return kept;
}

/* The share generator, or what a row says; NULL if there is neither. */
static CosidDefinition *
load(const char *name, int length)
{
	CosidDefinition definition;
	uint64		read_at = generation;
	uint64		changes = cosid_shared_cache_changes();

	cosid_definition_default(&definition, name, length);
	if (strcmp(definition.name, COSID_SHARE_NAME) == 0 ||
		cosid_shared_cache_find(definition.name, &definition))
		return remember(&definition, true, read_at);
	if (!read_row(definition.name, &definition))
		return NULL;
	cosid_shared_cache_keep(&definition, changes);
	return remember(&definition, true, read_at);
}

static CosidDefinition *
define_on_first_use(const char *name, int length)
{
	CosidDefinition definition;
	uint64		read_at = generation;
	bool		pinned;

	cosid_definition_default(&definition, name, length);
	if (!cosid_auto_create)
		cosid_definition_missing(ERROR, definition.name, NULL);
	check_may_define(definition.name);
	pinned = pin(&definition);
	return remember(&definition, pinned, read_at);
}

/*
 * The definition to mint from; defined now, if it is not and that is allowed.
 * Errors: 22023 for what can't be a name, 42704 if cosid.auto_create is off,
 * 42501 without the right to define it.
 */
CosidDefinition *
cosid_definition_mint(const char *name, int length)
{
	CosidDefinition *entry = last_used;

	if (entry != NULL && entry->generation == generation &&
		entry->statement == GetCurrentStatementStartTimestamp() &&
		entry->name_length == length && memcmp(entry->name, name, length) == 0)
		return entry;

	entry = recall(name, length);
	if (entry == NULL)
		entry = load(name, length);
	if (entry == NULL)
		entry = define_on_first_use(name, length);
	last_used = entry;
	return entry;
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
	Oid			table = find_table();
	CosidDefinition definition;
	CosidDefinition existing;

	cosid_definition_default(&definition, name, length);
	if (strcmp(definition.name, COSID_SHARE_NAME) == 0)
		return true;
	if (read_row(definition.name, &existing))
	{
		cosid_name_lock(table, definition.name, AccessShareLock, true);
		if (read_row(definition.name, &existing))
			return true;
		/* Dropped just now.  Two who hold it could not both go on below. */
		cosid_name_unlock(table, definition.name, AccessShareLock);
	}
	if (!cosid_auto_create)
		return false;
	check_may_define(definition.name);
	cosid_name_lock(table, definition.name, AccessExclusiveLock, true);
	read_or_insert_row(&definition);
	return true;
}

/* The definition that a row has, of whoever may call us.  42704 without one. */
const CosidDefinition *
cosid_definition_read(const char *name, int length)
{
	CosidDefinition *entry = recall(name, length);

	if (entry == NULL || !entry->pinned)
		entry = load(name, length);
	if (entry == NULL)
		cosid_definition_missing(ERROR, pnstrdup(name, length), NULL);
	return entry;
}

/*
 * cosid_create and cosid_drop
 */

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

	set_definition(&definition, arguments, safe_javascript);
	if (!arguments[COSID_COL_ZONE].isnull &&
		(definition.zone[0] == '\0' || pg_tzset(definition.zone) == NULL))
		bad_parameter("zone", definition.zone, "It must be the name of a time zone.");

	cosid_name_lock(find_table(), definition.name, AccessExclusiveLock, true);
	other_layout = cosid_segment_attach(DEBUG1) &&
		cosid_slot_other_layout(definition.utf8_name, &definition.layout);
	if (read_row(definition.name, &existing))
	{
		if (!existing.implicit)
			already_exists(definition.name);
		/* It may have given out IDs before the server was started. */
		if (!cosid_layout_equal(&existing.layout, &definition.layout))
			other_layout = true;
	}
	if (other_layout)
		ereport(NOTICE,
				(errmsg("generator \"%s\" has given out IDs with another layout",
						definition.name),
				 errdetail("IDs of different layouts may be equal.")));
	insert_row(&definition);
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
	CosidDefinition probe;
	Oid			table = find_table();
	Oid			types[1] = {TEXTOID};
	Datum		values[1];

	set_name(&probe, name, length);
	cosid_name_lock(table, probe.name, AccessExclusiveLock, true);
	check_unused(probe.name);
	values[0] = CStringGetTextDatum(probe.name);
	if (execute_as_owner(table,
						 psprintf("DELETE FROM %s WHERE name OPERATOR(pg_catalog.=) $1",
								  cosid_table_name(table)),
						 1, types, values, NULL) == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("generator \"%s\" does not exist", probe.name)));
}

/*
 * Triggers on cosid_generator
 */

PG_FUNCTION_INFO_V1(cosid_generator_insert);
PG_FUNCTION_INFO_V1(cosid_generator_changed);

static void
check_trigger(FunctionCallInfo fcinfo)
{
	if (!CALLED_AS_TRIGGER(fcinfo))
		ereport(ERROR,
				(errcode(ERRCODE_E_R_I_E_TRIGGER_PROTOCOL_VIOLATED),
				 errmsg("function was not called by trigger manager")));
}

/*
 * Before a row is inserted: what becomes of the one that is there.  A dump's
 * rows come after its tables, whose defaults may have defined the generators on
 * first use; then the dump's word counts.
 */
Datum
cosid_generator_insert(PG_FUNCTION_ARGS)
{
	TriggerData *trigger = (TriggerData *) fcinfo->context;
	Relation	table;
	HeapTuple	existing;
	Datum		value;
	bool		isnull;
	char	   *name;
	bool		implicit;

	check_trigger(fcinfo);
	if (!TRIGGER_FIRED_BEFORE(trigger->tg_event) ||
		!TRIGGER_FIRED_FOR_ROW(trigger->tg_event) ||
		!TRIGGER_FIRED_BY_INSERT(trigger->tg_event))
		elog(ERROR, "cosid_generator_insert must be fired before an insert, for each row");

	table = trigger->tg_relation;
	check_columns(table);
	value = heap_getattr(trigger->tg_trigtuple, COSID_COL_NAME + 1,
						 RelationGetDescr(table), &isnull);
	if (isnull)
		return PointerGetDatum(trigger->tg_trigtuple);	/* NOT NULL will say so */
	name = TextDatumGetCString(value);
	value = heap_getattr(trigger->tg_trigtuple, COSID_COL_IMPLICIT + 1,
						 RelationGetDescr(table), &isnull);
	implicit = !isnull && DatumGetBool(value);

	cosid_name_lock(RelationGetRelid(table), name, AccessExclusiveLock, true);
	existing = find_row(table, name);
	if (!HeapTupleIsValid(existing))
		return PointerGetDatum(trigger->tg_trigtuple);
	if (implicit)
		return PointerGetDatum(NULL);

	value = heap_getattr(existing, COSID_COL_IMPLICIT + 1, RelationGetDescr(table), &isnull);
	if (isnull || !DatumGetBool(value))
		already_exists(name);
	CatalogTupleDelete(table, &existing->t_self);
	return PointerGetDatum(trigger->tg_trigtuple);
}

/* After any change: tell every backend's cache, and the one that they share. */
Datum
cosid_generator_changed(PG_FUNCTION_ARGS)
{
	check_trigger(fcinfo);
	cosid_shared_cache_changed();
	CacheInvalidateRelcache(((TriggerData *) fcinfo->context)->tg_relation);
	return PointerGetDatum(NULL);
}

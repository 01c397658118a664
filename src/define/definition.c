/*-------------------------------------------------------------------------
 *
 * definition.c
 *		What a generator is, as values: the columns of a row of cosid_generator,
 *		and the arguments of cosid_create.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"

#include "settings.h"
#include "define/definition.h"

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

const Oid	cosid_column_types[COSID_COLUMNS] = {
	TEXTOID, TEXTOID, TEXTOID, INT8OID, INT4OID, INT4OID, INT4OID, INT8OID,
	BOOLOID, TEXTOID, TEXTOID, TEXTOID, BOOLOID, INT4OID, TEXTOID, BOOLOID
};

/*
 * Errors
 */

/* 22023, with what a value must be as a sentence. */
void
cosid_bad_parameter(const char *parameter, const char *value, const char *detail)
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

/* Check a generator's name and set it, in both encodings.  22023 if it is none. */
void
cosid_generator_set_name(CosidGenerator *generator, const char *name, int length)
{
	char	   *utf8;
	int			utf8_length;

	if (!name_to_utf8(name, length, &utf8, &utf8_length))
		cosid_bad_parameter("name", pnstrdup(name, length),
							psprintf("A generator's name has 1 to %d bytes.", COSID_MAX_NAME));
	memcpy(generator->name, name, length);
	generator->name[length] = '\0';
	memcpy(generator->utf8_name, utf8, utf8_length);
	generator->utf8_name[utf8_length] = '\0';
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
	if (definition->generator.layout.machine_bit == standard.machine_bit)
		strlcpy(definition->generator.namespace, cosid_namespace, sizeof(definition->generator.namespace));
	else
		snprintf(definition->generator.namespace, sizeof(definition->generator.namespace), "%s-%d",
				 cosid_namespace, definition->generator.layout.machine_bit);
}

/* What a name means about which nothing is said. */
void
cosid_definition_default(CosidDefinition *definition, const char *name, int length)
{
	memset(definition, 0, sizeof(CosidDefinition));
	cosid_generator_set_name(&definition->generator, name, length);
	cosid_layout_default(&definition->generator.layout, COSID_MILLISECOND, false);
	set_default_namespace(definition);
	definition->generator.reset_threshold = cosid_default_reset_threshold(&definition->generator.layout);
	definition->generator.clock_sync = true;
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
	cosid_bad_parameter(parameter, word, psprintf("It must be %s.", all));
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
		cosid_bad_parameter(parameter, value,
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
	CosidLayout *layout = &definition->generator.layout;
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

	definition->generator.reset_threshold = cosid_default_reset_threshold(layout);
	if (!values[COSID_COL_RESET_THRESHOLD].isnull)
		definition->generator.reset_threshold = DatumGetInt64(values[COSID_COL_RESET_THRESHOLD].value);
	if (definition->generator.reset_threshold < 0 ||
		definition->generator.reset_threshold > cosid_max_sequence(layout))
		bad_number("sequence_reset_threshold", definition->generator.reset_threshold,
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

/*
 * A definition of values, of which NULL means the default.  22023 for one that
 * can't be, 22004 without a name.
 */
void
cosid_definition_from_values(CosidDefinition *definition, const NullableDatum *values,
							 bool safe_javascript)
{
	char	   *name = text_value(values, COSID_COL_NAME);

	memset(definition, 0, sizeof(CosidDefinition));
	if (name == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				 errmsg("a generator's name must not be null")));
	cosid_generator_set_name(&definition->generator, name, (int) strlen(name));
	if (strcmp(name, COSID_SHARE_NAME) == 0)
		cosid_bad_parameter("name", name, "The share generator is built in.");
	set_layout(definition, values, safe_javascript);
	set_converter(definition, values);
	definition->generator.clock_sync = values[COSID_COL_CLOCK_SYNC].isnull ||
		DatumGetBool(values[COSID_COL_CLOCK_SYNC].value);
	definition->implicit = !values[COSID_COL_IMPLICIT].isnull &&
		DatumGetBool(values[COSID_COL_IMPLICIT].value);

	if (values[COSID_COL_NAMESPACE].isnull)
		set_default_namespace(definition);
	else
	{
		copy_text(values, COSID_COL_NAMESPACE, "namespace", definition->generator.namespace,
				  COSID_MAX_NAMESPACE);
		if (!cosid_namespace_valid(definition->generator.namespace, COSID_MAX_NAMESPACE))
			cosid_bad_parameter("namespace", definition->generator.namespace,
								psprintf("A namespace is 1 to %d characters of printable ASCII without spaces.",
										 COSID_MAX_NAMESPACE));
	}
}

/*
 * The same back: COSID_COLUMNS values, and as many characters that SPI takes for
 * which of them are null.
 */
void
cosid_definition_to_values(const CosidDefinition *definition, Datum *values, char *nulls)
{
	memset(nulls, ' ', COSID_COLUMNS);
	values[COSID_COL_NAME] = CStringGetTextDatum(definition->generator.name);
	values[COSID_COL_NAMESPACE] = CStringGetTextDatum(definition->generator.namespace);
	values[COSID_COL_TIMESTAMP_UNIT] = CStringGetTextDatum(unit_names[definition->generator.layout.unit]);
	values[COSID_COL_EPOCH] = Int64GetDatum(definition->generator.layout.epoch);
	values[COSID_COL_TIMESTAMP_BIT] = Int32GetDatum(definition->generator.layout.timestamp_bit);
	values[COSID_COL_MACHINE_BIT] = Int32GetDatum(definition->generator.layout.machine_bit);
	values[COSID_COL_SEQUENCE_BIT] = Int32GetDatum(definition->generator.layout.sequence_bit);
	values[COSID_COL_RESET_THRESHOLD] = Int64GetDatum(definition->generator.reset_threshold);
	values[COSID_COL_CLOCK_SYNC] = BoolGetDatum(definition->generator.clock_sync);
	values[COSID_COL_CONVERTER] = CStringGetTextDatum(converter_names[definition->converter.kind]);
	values[COSID_COL_PREFIX] = CStringGetTextDatum(definition->converter.prefix);
	values[COSID_COL_SUFFIX] = CStringGetTextDatum(definition->converter.suffix);
	values[COSID_COL_PAD_START] = BoolGetDatum(definition->converter.pad_start);
	values[COSID_COL_CHAR_SIZE] = Int32GetDatum(definition->converter.char_size);
	values[COSID_COL_ZONE] = CStringGetTextDatum(definition->zone);
	if (definition->zone[0] == '\0')
		nulls[COSID_COL_ZONE] = 'n';
	values[COSID_COL_IMPLICIT] = BoolGetDatum(definition->implicit);
}

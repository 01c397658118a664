/*-------------------------------------------------------------------------
 *
 * converter.c
 *		How a generator's IDs are written as strings; see converter.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <string.h>

#include "id/converter.h"
#include "id/radix.h"

static int
radix_of(CosidConverterKind kind)
{
	return kind == COSID_RADIX ? 62 : kind == COSID_RADIX36 ? 36 : 10;
}

/* As many characters as the largest ID needs. */
int
cosid_default_char_size(CosidConverterKind kind)
{
	return kind == COSID_RADIX ? 11 : kind == COSID_RADIX36 ? 13 : 19;
}

/*
 * Write an ID into a buffer of COSID_TEXT_SIZE.  An ID that needs more
 * characters than a radix converter's size has none of its strings
 * (COSID_TEXT_TOO_LONG); to_string only pads.
 */
CosidTextStatus
cosid_converter_write(const CosidConverter *converter, const CosidLayout *layout,
					  const CosidZone *zone, int64_t id, char *buffer)
{
	size_t		prefix_length = strlen(converter->prefix);
	char	   *end = buffer + prefix_length;

	if (id < 0)
		return COSID_TEXT_NEGATIVE;

	memcpy(buffer, converter->prefix, prefix_length);
	if (converter->kind == COSID_SNOWFLAKE_FRIENDLY)
	{
		CosidTextStatus status = cosid_friendly_write(end, id, layout, zone,
													  converter->pad_start);

		if (status != COSID_TEXT_OK)
			return status;
		end += strlen(end);
	}
	else
	{
		int			length = cosid_radix_write(end, id, radix_of(converter->kind),
											   converter->pad_start ? converter->char_size : 0);

		if (converter->kind != COSID_TO_STRING && length > converter->char_size)
			return COSID_TEXT_TOO_LONG;
		end += length;
	}
	strcpy(end, converter->suffix);
	return COSID_TEXT_OK;
}

/*
 * A decimal number.  The reference reads a negative one too, and no limit of
 * length but what a bigint holds.
 */
static CosidTextStatus
read_decimal(const char *text, size_t length, int64_t *id)
{
	bool		negative = length > 0 && text[0] == '-';
	CosidTextStatus status = cosid_radix_read(text + negative, length - negative, 10, id);

	if (status == COSID_TEXT_OK && negative)
		*id = -*id;
	return status;
}

/* Read an ID: the inverse of cosid_converter_write. */
CosidTextStatus
cosid_converter_read(const CosidConverter *converter, const CosidLayout *layout,
					 const CosidZone *zone, const char *text, size_t length,
					 int64_t *id)
{
	size_t		prefix_length = strlen(converter->prefix);
	size_t		suffix_length = strlen(converter->suffix);

	if (length < prefix_length || memcmp(text, converter->prefix, prefix_length) != 0)
		return COSID_TEXT_PREFIX;
	text += prefix_length;
	length -= prefix_length;
	if (length < suffix_length ||
		memcmp(text + length - suffix_length, converter->suffix, suffix_length) != 0)
		return COSID_TEXT_SUFFIX;
	length -= suffix_length;

	switch (converter->kind)
	{
		case COSID_SNOWFLAKE_FRIENDLY:
			return cosid_friendly_read(text, length, layout, zone, id);
		case COSID_TO_STRING:
			return read_decimal(text, length, id);
		case COSID_RADIX:
		case COSID_RADIX36:
			break;
	}
	if (length > (size_t) converter->char_size)
		return COSID_TEXT_TOO_LONG;
	return cosid_radix_read(text, length, radix_of(converter->kind), id);
}

/*-------------------------------------------------------------------------
 *
 * converter.h
 *		How a generator's IDs are written as strings, and read back.
 *
 * Pure C, like snowflake.h.  The semantics are CosId's converters':
 * test/vectors/convert.tsv and parse.tsv have conversions of that
 * implementation, and test/unit/run-vectors reproduces every one.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_CONVERTER_H
#define COSID_CONVERTER_H

#include "id/friendly.h"

#define COSID_MAX_AFFIX			63	/* bytes of a prefix or suffix */
#define COSID_MAX_CHAR_SIZE		63

/* Enough for any string, with a NUL. */
#define COSID_TEXT_SIZE			(2 * COSID_MAX_AFFIX + COSID_FRIENDLY_SIZE)

typedef enum CosidConverterKind
{
	COSID_RADIX,				/* radix 62 */
	COSID_RADIX36,
	COSID_TO_STRING,			/* decimal */
	COSID_SNOWFLAKE_FRIENDLY
} CosidConverterKind;

typedef struct CosidConverter
{
	CosidConverterKind kind;
	bool		pad_start;		/* with zeros to char_size; of a friendly ID,
								 * machine id and sequence to their widest */
	int			char_size;		/* of a radix: the most characters, too; of a
								 * friendly ID: unused */
	char		prefix[COSID_MAX_AFFIX + 1];
	char		suffix[COSID_MAX_AFFIX + 1];
} CosidConverter;

extern int	cosid_default_char_size(CosidConverterKind kind);
extern CosidTextStatus cosid_converter_write(const CosidConverter *converter,
											 const CosidLayout *layout,
											 const CosidZone *zone,
											 int64_t id, char *buffer);
extern CosidTextStatus cosid_converter_read(const CosidConverter *converter,
											const CosidLayout *layout,
											const CosidZone *zone,
											const char *text, size_t length,
											int64_t *id);

#endif							/* COSID_CONVERTER_H */

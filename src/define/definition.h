/*-------------------------------------------------------------------------
 *
 * definition.h
 *		What a generator is in the current database: as values, as something to
 *		define or drop, and by its name.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_DEFINITION_H
#define COSID_DEFINITION_H

#include "id/converter.h"
#include "mint/generator.h"

/* The share generator: built in, without a row. */
#define COSID_SHARE_NAME		"__share__"

#define COSID_MAX_ZONE			63	/* bytes of a time zone's name */

/* The columns of cosid_generator, and (but for the last) the arguments of
 * cosid_create, which has safe_javascript besides. */
typedef enum CosidColumn
{
	COSID_COL_NAME,
	COSID_COL_NAMESPACE,
	COSID_COL_TIMESTAMP_UNIT,
	COSID_COL_EPOCH,
	COSID_COL_TIMESTAMP_BIT,
	COSID_COL_MACHINE_BIT,
	COSID_COL_SEQUENCE_BIT,
	COSID_COL_RESET_THRESHOLD,
	COSID_COL_CLOCK_SYNC,
	COSID_COL_CONVERTER,
	COSID_COL_PREFIX,
	COSID_COL_SUFFIX,
	COSID_COL_PAD_START,
	COSID_COL_CHAR_SIZE,
	COSID_COL_ZONE,
	COSID_COL_IMPLICIT,
	COSID_COLUMNS
} CosidColumn;

/* In the columns' order, their types. */
extern const Oid cosid_column_types[COSID_COLUMNS];

typedef struct CosidDefinition
{
	CosidGenerator generator;	/* what is minted from */
	CosidConverter converter;	/* for cosid_next_string and the like */
	char		zone[COSID_MAX_ZONE + 1];	/* empty: the session's */
	bool		implicit;		/* defined on first use, or for a default */
} CosidDefinition;

/* definition.c: as values */
extern void cosid_definition_missing(int elevel, const char *name,
									 const char *user);
extern void cosid_bad_parameter(const char *parameter, const char *value,
								const char *detail);
extern bool cosid_definition_valid_name(const char *name);
extern void cosid_generator_set_name(CosidGenerator *generator, const char *name,
									 int length);
extern void cosid_definition_default(CosidDefinition *definition,
									 const char *name, int length);
extern void cosid_definition_from_values(CosidDefinition *definition,
										 const NullableDatum *values,
										 bool safe_javascript);
extern void cosid_definition_to_values(const CosidDefinition *definition,
									   Datum *values, char *nulls);

/* create.c: defining */
extern bool cosid_definition_first_use(CosidDefinition *definition,
									   const char *name, int length);
extern bool cosid_definition_declare(const char *name, int length);
extern void cosid_definition_create(const NullableDatum *arguments,
									bool safe_javascript);
extern void cosid_definition_drop(const char *name, int length);

/* cache.c: by name */
extern CosidDefinition *cosid_definition_mint(const char *name, int length);
extern const CosidDefinition *cosid_definition_read(const char *name, int length);

/* The next ID of a generator: errors of cosid_definition_mint and of minting. */
static inline int64
cosid_next_id(const char *name, int length)
{
	return cosid_generator_next(&cosid_definition_mint(name, length)->generator);
}

#endif							/* COSID_DEFINITION_H */

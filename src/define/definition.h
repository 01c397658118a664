/*-------------------------------------------------------------------------
 *
 * definition.h
 *		What a generator is: the rows of cosid_generator, and a backend's cache
 *		of them.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_DEFINITION_H
#define COSID_DEFINITION_H

#include "datatype/timestamp.h"

#include "catalog.h"
#include "id/converter.h"
#include "id/snowflake.h"
#include "mint/slot.h"

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

typedef struct CosidDefinition
{
	/* In the database's encoding. */
	char		name[COSID_MAX_NAME + 1];

	char		utf8_name[COSID_MAX_NAME + 1];
	char		namespace[COSID_MAX_NAMESPACE + 1];
	CosidLayout layout;
	int64		reset_threshold;
	bool		clock_sync;		/* wait for a clock that is a little behind */
	CosidConverter converter;	/* for cosid_next_string and the like */
	char		zone[COSID_MAX_ZONE + 1];	/* empty: the session's */
	bool		implicit;		/* defined on first use, or for a default */

	/* The cache's, see definition.c. */
	bool		pinned;			/* there is a row (or it is the share one) */
	uint64		generation;		/* of the cache when this was read */
	TimestampTz statement;		/* that used this last */
	int			name_length;

	/*
	 * The generator's state, and how many IDs this backend may take before it
	 * asks for another share of a tick; set and used by generator.c alone.
	 */
	CosidLease *lease;
	CosidSlot  *slot;
	int64		share;
} CosidDefinition;

extern CosidDefinition *cosid_definition_mint(const char *name, int length);
extern const CosidDefinition *cosid_definition_read(const char *name, int length);
extern bool cosid_definition_valid_name(const char *name);
extern void cosid_definition_missing(int elevel, const char *name,
									 const char *user);
extern bool cosid_definition_declare(const char *name, int length);
extern void cosid_definition_default(CosidDefinition *definition,
									 const char *name, int length);
extern void cosid_definition_create(const NullableDatum *arguments,
									bool safe_javascript);
extern void cosid_definition_drop(const char *name, int length);

#endif							/* COSID_DEFINITION_H */

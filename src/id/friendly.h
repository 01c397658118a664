/*-------------------------------------------------------------------------
 *
 * friendly.h
 *		The friendly form of an ID: 20210623131730192-1-0, local time, machine
 *		id and sequence.
 *
 * Pure C, like snowflake.h: what it needs of a time zone is a parameter.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_FRIENDLY_H
#define COSID_FRIENDLY_H

#include <stddef.h>

#include "id/radix.h"
#include "id/snowflake.h"

/* Enough for any: a year and a time, two numbers of up to 19 digits, a NUL. */
#define COSID_FRIENDLY_SIZE		80

/* The latest time that has a friendly form: keeps the arithmetic in 64 bits. */
#define COSID_MAX_FRIENDLY_SECOND	INT64_C(9224318015999)	/* year 294276 */

/* A time zone: seconds east of UTC at a Unix time in seconds. */
typedef struct CosidZone
{
	int64_t		(*offset) (int64_t unix_second, void *context);
	void	   *context;
} CosidZone;

extern CosidTextStatus cosid_friendly_write(char *buffer, int64_t id,
											const CosidLayout *layout,
											const CosidZone *zone, bool pad);
extern CosidTextStatus cosid_friendly_read(const char *text, size_t length,
										   const CosidLayout *layout,
										   const CosidZone *zone, int64_t *id);

#endif							/* COSID_FRIENDLY_H */

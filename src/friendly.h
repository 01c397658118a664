/*-------------------------------------------------------------------------
 *
 * friendly.h
 *		The friendly form of an ID: 20210623131730192-1-0.
 *
 * Pure C, like snowflake.h: the caller knows the time zone.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_FRIENDLY_H
#define COSID_FRIENDLY_H

#include "snowflake.h"

/* Enough for any: a 20-digit year, a time, two 19-digit numbers and a NUL. */
#define COSID_FRIENDLY_SIZE		80

/* A local time. */
typedef struct CosidCivil
{
	int64_t		year;
	int			month;			/* 1 to 12 */
	int			day;
	int			hour;
	int			minute;
	int			second;
	int			millisecond;
} CosidCivil;

extern void cosid_friendly_write(char *buffer, const CosidLayout *layout,
								 const CosidCivil *time, const CosidParts *parts,
								 bool pad);

#endif							/* COSID_FRIENDLY_H */

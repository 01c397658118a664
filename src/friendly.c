/*-------------------------------------------------------------------------
 *
 * friendly.c
 *		The friendly form of an ID; see friendly.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <inttypes.h>
#include <stdio.h>

#include "friendly.h"

/* Decimal digits of a non-negative number. */
static int
digits(int64_t number)
{
	int			count = 1;

	while (number >= 10)
	{
		number /= 10;
		count++;
	}
	return count;
}

/*
 * Write time, machine id and sequence into a buffer of COSID_FRIENDLY_SIZE.
 * With `pad`, the numbers are as wide as the layout's largest.  Milliseconds
 * are there only if the layout counts them.
 */
void
cosid_friendly_write(char *buffer, const CosidLayout *layout,
					 const CosidCivil *time, const CosidParts *parts, bool pad)
{
	char		millisecond[12] = "";

	if (layout->unit == COSID_MILLISECOND)
		snprintf(millisecond, sizeof(millisecond), "%03d", time->millisecond);
	snprintf(buffer, COSID_FRIENDLY_SIZE,
			 "%04" PRId64 "%02d%02d%02d%02d%02d%s-%0*" PRId64 "-%0*" PRId64,
			 time->year, time->month, time->day, time->hour, time->minute,
			 time->second, millisecond,
			 pad ? digits(cosid_max_machine_id(layout)) : 1, parts->machine_id,
			 pad ? digits(cosid_max_sequence(layout)) : 1, parts->sequence);
}

/*-------------------------------------------------------------------------
 *
 * radix.h
 *		Numbers as digits of radix 10, 36 or 62.
 *
 * Pure C.  Digits are 0-9, A-Z, a-z, in this order, which is that of their
 * bytes: padded to one length, texts sort (COLLATE "C") as the numbers do.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_RADIX_H
#define COSID_RADIX_H

#include <stddef.h>
#include <stdint.h>

/*
 * What can be wrong with a text that is to be read as an ID, or with an ID that is
 * to be written as one: what all converters return.
 */
typedef enum CosidTextStatus
{
	COSID_TEXT_OK,
	COSID_TEXT_EMPTY,			/* no characters where some must be */
	COSID_TEXT_CHARACTER,		/* a character that is no digit of the radix */
	COSID_TEXT_TOO_LONG,		/* more characters than the converter's size */
	COSID_TEXT_OVERFLOW,		/* more than a bigint holds */
	COSID_TEXT_PREFIX,			/* does not begin with the prefix */
	COSID_TEXT_SUFFIX,			/* does not end with the suffix */
	COSID_TEXT_FORM,			/* not time-machine-sequence */
	COSID_TEXT_TIME,			/* no such time in the time zone */
	COSID_TEXT_TOO_LATE,		/* later than any time that is written */
	COSID_TEXT_LAYOUT,			/* a part that the layout has no bits for */
	COSID_TEXT_NEGATIVE			/* an ID is not negative */
} CosidTextStatus;

#define COSID_MAX_DIGITS	19	/* of any int64 in radix 10 or more */

extern int	cosid_radix_write(char *buffer, int64_t number, int radix, int width);
extern CosidTextStatus cosid_radix_read(const char *text, size_t length, int radix,
										int64_t *number);

#endif							/* COSID_RADIX_H */

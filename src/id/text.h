/*-------------------------------------------------------------------------
 *
 * text.h
 *		What can be wrong with a text that is to be read as an ID, or with an
 *		ID that is to be written as one.
 *
 * Shared by the converters, which are pure C: they return one of these, and
 * the SQL layer makes an error of it.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_TEXT_H
#define COSID_TEXT_H

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

#endif							/* COSID_TEXT_H */

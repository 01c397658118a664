/*-------------------------------------------------------------------------
 *
 * radix.c
 *		Numbers as digits of radix 10, 36 or 62; see radix.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "id/radix.h"

static const char digit_of[] =
"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/*
 * Write a non-negative number, padded with zeros to a width (0: not at all).
 * No NUL; returns the length, at most the larger of width and
 * COSID_MAX_DIGITS.
 */
int
cosid_radix_write(char *buffer, int64_t number, int radix, int width)
{
	char		digits[COSID_MAX_DIGITS];
	int			count = 0;
	int			length = 0;

	do
	{
		digits[count++] = digit_of[number % radix];
		number /= radix;
	} while (number > 0);

	while (length < width - count)
		buffer[length++] = '0';
	while (count > 0)
		buffer[length++] = digits[--count];
	return length;
}

/* The value of a digit; the radix or more if it is none. */
static int
digit_value(unsigned char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'A' && c <= 'Z')
		return c - 'A' + 10;
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 36;
	return 62;
}

/* Read a number: digits only, at least one, any number of leading zeros. */
CosidTextStatus
cosid_radix_read(const char *text, size_t length, int radix, int64_t *number)
{
	int64_t		value = 0;

	if (length == 0)
		return COSID_TEXT_EMPTY;
	for (size_t i = 0; i < length; i++)
	{
		int			digit = digit_value((unsigned char) text[i]);

		if (digit >= radix)
			return COSID_TEXT_CHARACTER;
		if (value > (INT64_MAX - digit) / radix)
			return COSID_TEXT_OVERFLOW;
		value = value * radix + digit;
	}
	*number = value;
	return COSID_TEXT_OK;
}

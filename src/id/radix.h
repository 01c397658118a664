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

#include "id/text.h"

#define COSID_MAX_DIGITS	19	/* of any int64 in radix 10 or more */

extern int	cosid_radix_write(char *buffer, int64_t number, int radix, int width);
extern CosidTextStatus cosid_radix_read(const char *text, size_t length, int radix,
										int64_t *number);

#endif							/* COSID_RADIX_H */

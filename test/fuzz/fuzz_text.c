/*-------------------------------------------------------------------------
 *
 * fuzz_text.c
 *		A libFuzzer target over everything that reads a text as an ID.
 *
 * The first byte of an input chooses converter, padding and layout, the second
 * the time zone and affixes; the rest is the text.  Nothing may crash, and what
 * was read must come back: an ID that is read from a text is written as one
 * that is read as the same ID.
 *
 * With FUZZ_REPLAY defined it has a main() that runs files instead, for the
 * kept corpus: scripts/test.sh does that, scripts/test-long.sh fuzzes.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "id/converter.h"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))

static const CosidLayout layouts[] = {
	{COSID_MILLISECOND, 41, 10, 12, COSID_EPOCH_MS},
	{COSID_SECOND, 31, 10, 22, COSID_EPOCH_MS / 1000},
	{COSID_MILLISECOND, 41, 3, 9, COSID_EPOCH_MS},
	{COSID_MILLISECOND, 61, 1, 1, 0},
	{COSID_SECOND, 61, 1, 1, 0},
	{COSID_MILLISECOND, 1, 31, 31, COSID_MAX_EPOCH_SECOND * 1000},
	{COSID_SECOND, 40, 1, 1, COSID_MAX_EPOCH_SECOND},
};

/* Zones as steps: an hour of daylight saving in every other half year, or none. */
static int64_t
stepping_offset(int64_t unix_second, void *context)
{
	int64_t		base = *(const int *) context;

	return base + (unix_second / (182 * INT64_C(86400)) % 2 != 0 ? 3600 : 0);
}

static int64_t
fixed_offset(int64_t unix_second, void *context)
{
	(void) unix_second;
	return *(const int *) context;
}

int			LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int	bases[] = {0, 28800, -18000, 45900, -43200, 50400, 1, -1};
	CosidConverter converter = {.kind = COSID_RADIX};
	const CosidLayout *layout;
	CosidZone	zone;
	char		written[COSID_TEXT_SIZE];
	char	   *text;
	size_t		length;
	int64_t		id,
				again;
	CosidTextStatus status;

	if (size < 2)
		return 0;
	converter.kind = (CosidConverterKind) (data[0] & 3);
	converter.pad_start = (data[0] & 4) != 0;
	layout = &layouts[(data[0] >> 3) % lengthof(layouts)];
	zone.offset = (data[1] & 8) != 0 ? stepping_offset : fixed_offset;
	zone.context = &bases[data[1] & 7];
	converter.char_size = (data[1] & 16) != 0 ? COSID_MAX_CHAR_SIZE :
		cosid_default_char_size(converter.kind);
	if ((data[1] & 32) != 0)
		strcpy(converter.prefix, "ord-");
	if ((data[1] & 64) != 0)
		strcpy(converter.suffix, "-x");

	/* A copy of exactly this size lets ASan see a byte too far. */
	length = size - 2;
	text = malloc(length > 0 ? length : 1);
	if (text == NULL)
		return 0;
	memcpy(text, data + 2, length);
	status = cosid_converter_read(&converter, layout, &zone, text, length, &id);
	free(text);
	if (status != COSID_TEXT_OK || id < 0)
		return 0;

	status = cosid_converter_write(&converter, layout, &zone, id, written);
	if (status != COSID_TEXT_OK && status != COSID_TEXT_TOO_LATE)
		abort();
	if (status == COSID_TEXT_OK &&
		(cosid_converter_read(&converter, layout, &zone, written, strlen(written),
							  &again) != COSID_TEXT_OK || again != id))
		abort();
	return 0;
}

#ifdef FUZZ_REPLAY

int
main(int argc, char **argv)
{
	static uint8_t data[1 << 16];

	for (int i = 1; i < argc; i++)
	{
		FILE	   *file = fopen(argv[i], "rb");
		size_t		size;

		if (file == NULL)
		{
			perror(argv[i]);
			return 1;
		}
		size = fread(data, 1, sizeof(data), file);
		fclose(file);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%d inputs replayed\n", argc - 1);
	return argc > 1 ? 0 : 1;
}

#endif							/* FUZZ_REPLAY */

/*-------------------------------------------------------------------------
 *
 * run-vectors.c
 *		Replays the test vectors through the pure core.
 *
 *		run-vectors DIR
 *
 * The files in DIR have calls of the reference implementation and what came
 * of them; their first lines say what the fields are.  Every line of data is
 * one test.  A line that can't be read is a test that failed: a damaged file
 * must not look like a shorter one.  The last line of the output is
 * "N passed, M failed"; the exit status is 1 if a test failed, a file that
 * must be there is not, or one has no tests in it.
 *
 * A file more is a function of the type RunLine and a row in the table at the
 * end.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE				/* tm_gmtoff */

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "id/converter.h"
#include "id/snowflake.h"

#define lengthof(array)	(sizeof(array) / sizeof((array)[0]))

#define MAX_FIELDS	16

/* Where we are in a file: for messages. */
typedef struct Position
{
	const char *path;
	int			line;
} Position;

/* What became of a line. */
typedef enum Outcome
{
	PASSED,
	FAILED,
	NO_TEST						/* it only sets up the lines that follow */
} Outcome;

/* Runs one line, split at its tabs. */
typedef Outcome (*RunLine) (const Position *at, char **fields, int nfields);

static long passed = 0;
static long failed = 0;

static Outcome
fail(const Position *at, const char *format,...)
{
	va_list		args;

	printf("%s:%d: ", at->path, at->line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	putchar('\n');
	return FAILED;
}

static Outcome
expect_string(const Position *at, const char *expected, const char *got)
{
	if (strcmp(expected, got) != 0)
		return fail(at, "expected %s, got %s", expected, got);
	return PASSED;
}

/*
 * The number at *text, which it moves past it.  Takes digits with or without a
 * minus sign and nothing else.
 */
static bool
scan_int64(char **text, int64_t *value)
{
	const char *digits = **text == '-' ? *text + 1 : *text;
	char	   *end;

	if (*digits < '0' || *digits > '9')
		return false;
	errno = 0;
	*value = strtoll(*text, &end, 10);
	*text = end;
	return errno == 0;
}

static bool
parse_int64(char *text, int64_t *value)
{
	return scan_int64(&text, value) && *text == '\0';
}

static bool
parse_int(char *text, int *value)
{
	int64_t		wide;

	if (!parse_int64(text, &wide) || wide < INT_MIN || wide > INT_MAX)
		return false;
	*value = (int) wide;
	return true;
}

/*
 * sequence.tsv.  The generator that N lines call: the one of the last G line.
 * Its unit is not in the file and makes no difference, since clock and epoch
 * are both in it.
 */
static struct
{
	bool		defined;
	CosidLayout layout;
	int64_t		machine_id;
	int64_t		reset_threshold;
	uint64_t	cursor;
}			generator;

/*
 * G	epoch	timestamp_bit	machine_bit	sequence_bit	machine_id	threshold
 */
static Outcome
define_generator(const Position *at, char **fields, int nfields)
{
	CosidLayout *layout = &generator.layout;

	generator.defined = false;
	generator.cursor = 0;
	layout->unit = COSID_MILLISECOND;
	if (nfields != 7 ||
		!parse_int64(fields[1], &layout->epoch) ||
		!parse_int(fields[2], &layout->timestamp_bit) ||
		!parse_int(fields[3], &layout->machine_bit) ||
		!parse_int(fields[4], &layout->sequence_bit) ||
		!parse_int64(fields[5], &generator.machine_id) ||
		!parse_int64(fields[6], &generator.reset_threshold))
		return fail(at, "malformed generator");
	if (cosid_layout_check(layout, false) != COSID_LAYOUT_OK)
		return fail(at, "the layout is refused");
	if (generator.machine_id < 0 ||
		generator.machine_id > cosid_max_machine_id(layout))
		return fail(at, "the machine id does not fit the layout");
	generator.defined = true;
	return NO_TEST;
}

/*
 * N	reading[,reading...]	id or error
 *
 * One call: it reads the clock again while the sequence is used up, and must
 * have read it as often as the reference did.
 */
static Outcome
call_generator(const Position *at, char **fields, int nfields)
{
	CosidStep	step = COSID_STEP_DRY;
	uint64_t	next = 0;
	bool		dry = false;
	char	   *readings;
	const char *expected;
	char		got[64];

	if (!generator.defined)
		return fail(at, "a call without a generator");
	if (nfields != 3 || fields[2][0] == '\0')
		return fail(at, "malformed call");
	readings = fields[1];
	expected = fields[2];

	for (;;)
	{
		int64_t		now;

		if (!scan_int64(&readings, &now) ||
			(*readings != ',' && *readings != '\0'))
			return fail(at, "malformed clock readings");
		step = cosid_step(&generator.layout, generator.reset_threshold,
						  generator.cursor, dry, now, &next);
		if (step != COSID_STEP_DRY || *readings == '\0')
			break;
		dry = true;
		readings++;
	}
	if (*readings != '\0')
		return fail(at, "expected %s, got an outcome with clock readings left: %s",
					expected, readings + 1);

	switch (step)
	{
		case COSID_STEP_OK:
			generator.cursor = next;
			snprintf(got, sizeof(got), "%" PRId64,
					 cosid_pack(&generator.layout, next, generator.machine_id));
			break;
		case COSID_STEP_DRY:
			snprintf(got, sizeof(got), "a wait for another clock reading");
			break;
		case COSID_STEP_CLOCK_BACKWARDS:
			snprintf(got, sizeof(got), "clock_backwards");
			break;
		case COSID_STEP_OVERFLOW:
			snprintf(got, sizeof(got), "timestamp_overflow");
			break;
	}
	return expect_string(at, expected, got);
}

static Outcome
run_sequence(const Position *at, char **fields, int nfields)
{
	if (strcmp(fields[0], "G") == 0)
		return define_generator(at, fields, nfields);
	if (strcmp(fields[0], "N") == 0)
		return call_generator(at, fields, nfields);
	return fail(at, "malformed line");
}

static bool
parse_bool(const char *text, bool *value)
{
	*value = strcmp(text, "true") == 0;
	return *value || strcmp(text, "false") == 0;
}

/*
 * convert.tsv
 *
 * direction	converter	pad_start	char_size	prefix	suffix	input	output
 */

static bool
parse_kind(const char *text, CosidConverterKind *kind)
{
	static const char *const names[] = {
		[COSID_RADIX] = "radix",
		[COSID_RADIX36] = "radix36",
		[COSID_TO_STRING] = "to_string",
	};

	for (size_t i = 0; i < lengthof(names); i++)
	{
		*kind = (CosidConverterKind) i;
		if (strcmp(text, names[i]) == 0)
			return true;
	}
	return false;
}

static Outcome
run_convert(const Position *at, char **fields, int nfields)
{
	CosidConverter converter;
	CosidTextStatus status;
	int64_t		id;
	char		got[COSID_TEXT_SIZE];

	if (nfields != 8 ||
		!parse_kind(fields[1], &converter.kind) ||
		!parse_bool(fields[2], &converter.pad_start) ||
		!parse_int(fields[3], &converter.char_size) ||
		strlen(fields[4]) > COSID_MAX_AFFIX || strlen(fields[5]) > COSID_MAX_AFFIX)
		return fail(at, "malformed conversion");
	strcpy(converter.prefix, fields[4]);
	strcpy(converter.suffix, fields[5]);

	if (strcmp(fields[0], "as_string") == 0)
	{
		if (!parse_int64(fields[6], &id))
			return fail(at, "malformed id");
		status = cosid_converter_write(&converter, NULL, NULL, id, got);
	}
	else if (strcmp(fields[0], "as_long") == 0)
	{
		status = cosid_converter_read(&converter, NULL, NULL, fields[6],
									  strlen(fields[6]), &id);
		if (status == COSID_TEXT_OK)
			snprintf(got, sizeof(got), "%" PRId64, id);
	}
	else
		return fail(at, "malformed direction");
	return expect_string(at, fields[7], status == COSID_TEXT_OK ? got : "error");
}

/*
 * parse.tsv
 *
 * unit	epoch	timestamp_bit	machine_bit	sequence_bit	zone	pad_start	id
 * local timestamp	machine_id	sequence	friendly id	id that it is read as
 */

/* A time zone of libc's: the one that TZ names. */
static int64_t
libc_offset(int64_t unix_second, void *context)
{
	time_t		time = (time_t) unix_second;
	struct tm	local;

	(void) context;
	return localtime_r(&time, &local) != NULL ? local.tm_gmtoff : 0;
}

/* The local time of an ID, as the file has it. */
static void
local_timestamp(const CosidLayout *layout, const CosidParts *parts,
				char *buffer, size_t size)
{
	int64_t		unix_ms = (layout->epoch + parts->timestamp) * cosid_unit_ms(layout);
	time_t		time = (time_t) (unix_ms / 1000);
	struct tm	local;
	size_t		length;

	localtime_r(&time, &local);
	length = strftime(buffer, size, "%Y-%m-%d %H:%M:%S", &local);
	snprintf(buffer + length, size - length, ".%03d", (int) (unix_ms % 1000));
}

static Outcome
run_parse(const Position *at, char **fields, int nfields)
{
	CosidLayout layout;
	CosidZone	zone = {libc_offset, NULL};
	CosidParts	parts;
	bool		pad;
	int64_t		id,
				read_as;
	char		got[256],
				expected[256],
				timestamp[64],
				friendly[COSID_FRIENDLY_SIZE];

	if (nfields != 13 ||
		!parse_int64(fields[1], &layout.epoch) ||
		!parse_int(fields[2], &layout.timestamp_bit) ||
		!parse_int(fields[3], &layout.machine_bit) ||
		!parse_int(fields[4], &layout.sequence_bit) ||
		!parse_bool(fields[6], &pad) || !parse_int64(fields[7], &id))
		return fail(at, "malformed line");
	layout.unit = strcmp(fields[0], "second") == 0 ? COSID_SECOND : COSID_MILLISECOND;
	if (cosid_layout_check(&layout, false) != COSID_LAYOUT_OK)
		return fail(at, "the layout is refused");
	setenv("TZ", fields[5], 1);
	tzset();

	if (!cosid_unpack(&layout, id, &parts))
		return fail(at, "the id is refused");
	local_timestamp(&layout, &parts, timestamp, sizeof(timestamp));
	if (cosid_friendly_write(friendly, id, &layout, &zone, pad) != COSID_TEXT_OK)
		return fail(at, "the id has no friendly form");
	if (cosid_friendly_read(friendly, strlen(friendly), &layout, &zone,
							&read_as) != COSID_TEXT_OK)
		return fail(at, "%s can't be read", friendly);

	snprintf(expected, sizeof(expected), "%s %s %s %s %s", fields[8], fields[9],
			 fields[10], fields[11], fields[12]);
	snprintf(got, sizeof(got), "%s %" PRId64 " %" PRId64 " %s %" PRId64, timestamp,
			 parts.machine_id, parts.sequence, friendly, read_as);
	return expect_string(at, expected, got);
}

/* Splits a line at its tabs, in place.  Returns 0 if there are too many. */
static int
split(char *line, char **fields)
{
	int			nfields = 0;

	for (;;)
	{
		if (nfields == MAX_FIELDS)
			return 0;
		fields[nfields++] = line;
		line = strchr(line, '\t');
		if (line == NULL)
			return nfields;
		*line++ = '\0';
	}
}

/* One line, of `length` bytes and without its newline. */
static Outcome
run_line(const Position *at, RunLine run, char *line, size_t length)
{
	char	   *fields[MAX_FIELDS];
	int			nfields;

	if (strlen(line) != length)
		return fail(at, "a zero byte in the line");
	nfields = split(line, fields);
	if (nfields == 0)
		return fail(at, "too many fields");
	return run(at, fields, nfields);
}

/* Runs DIR/name.  False if the file itself is not as it should be. */
static bool
run_file(const char *dir, const char *name, bool required, RunLine run)
{
	char		path[4096];
	Position	at = {path, 0};
	long		before = passed + failed;
	FILE	   *file;
	char	   *line = NULL;
	size_t		size = 0;
	ssize_t		length;
	bool		complete;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int) sizeof(path))
	{
		printf("%s/%s: the path is too long\n", dir, name);
		return false;
	}
	file = fopen(path, "r");
	if (file == NULL)
	{
		if (!required && errno == ENOENT)
			return true;
		printf("%s: %s\n", path, strerror(errno));
		return false;
	}

	while ((length = getline(&line, &size, file)) >= 0)
	{
		at.line++;
		if (line[0] == '#')
			continue;
		if (length > 0 && line[length - 1] == '\n')
			line[--length] = '\0';
		switch (run_line(&at, run, line, (size_t) length))
		{
			case PASSED:
				passed++;
				break;
			case FAILED:
				failed++;
				break;
			case NO_TEST:
				break;
		}
	}
	complete = feof(file) && !ferror(file);
	free(line);
	fclose(file);

	if (!complete)
		printf("%s: could not be read to its end\n", path);
	else if (passed + failed == before)
	{
		printf("%s: no tests in it\n", path);
		complete = false;
	}
	return complete;
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		bool		required;
		RunLine		run;
	}			files[] = {
		{"sequence.tsv", true, run_sequence},
		{"convert.tsv", false, run_convert},
		{"parse.tsv", false, run_parse},
	};
	bool		complete = true;

	if (argc != 2)
	{
		fprintf(stderr, "usage: %s DIR\n", argv[0]);
		return 1;
	}
	for (size_t i = 0; i < lengthof(files); i++)
	{
		if (!run_file(argv[1], files[i].name, files[i].required, files[i].run))
			complete = false;
	}
	printf("%ld passed, %ld failed\n", passed, failed);
	return complete && failed == 0 ? 0 : 1;
}

/*
 * cppcheck.h - what scripts/check-cppcheck.sh has to know of PostgreSQL, whose
 * headers are too much for it: what ends a function, and what is a loop.
 */
#include <stdlib.h>

#define ereport(elevel, ...)	end_if_##elevel
#define elog(elevel, ...)	end_if_##elevel
#define end_if_NOTICE		((void) 0)
#define end_if_LOG			((void) 0)
#define end_if_WARNING		((void) 0)
#define end_if_ERROR		abort()
#define end_if_FATAL		abort()
#define Assert(condition) \
	do { if (!(condition)) abort(); } while (0)
#define foreach(cell, list) \
	for (cell = list_head(list); cell != NULL; cell = lnext(list, cell))
#define lengthof(array)		(sizeof (array) / sizeof ((array)[0]))

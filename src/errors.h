/*-------------------------------------------------------------------------
 *
 * errors.h
 *		The SQLSTATEs of cosid's own errors.
 *
 * Everything else that goes wrong has one of PostgreSQL's codes.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_ERRORS_H
#define COSID_ERRORS_H

#define ERRCODE_COSID_CLOCK_BACKWARDS		MAKE_SQLSTATE('I','D','0','0','1')
#define ERRCODE_COSID_MACHINE_ID_LOST		MAKE_SQLSTATE('I','D','0','0','2')
#define ERRCODE_COSID_MACHINE_ID_OVERFLOW	MAKE_SQLSTATE('I','D','0','0','3')
#define ERRCODE_COSID_TIMESTAMP_OVERFLOW	MAKE_SQLSTATE('I','D','0','0','4')

#endif							/* COSID_ERRORS_H */

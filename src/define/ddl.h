/*-------------------------------------------------------------------------
 *
 * ddl.h
 *		What is done when someone declares a column default.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_DDL_H
#define COSID_DDL_H

extern void cosid_ddl_init(void);

#endif							/* COSID_DDL_H */

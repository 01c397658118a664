/*-------------------------------------------------------------------------
 *
 * default.h
 *		The defaults of columns and domains that draw from a generator.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_DEFAULT_H
#define COSID_DEFAULT_H

extern char *cosid_default_user(const char *name);

#endif							/* COSID_DEFAULT_H */

/*-------------------------------------------------------------------------
 *
 * generator.h
 *		Minting: what cosid_next does.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_GENERATOR_H
#define COSID_GENERATOR_H

extern int64 cosid_generator_next(const char *name, int length);

#endif							/* COSID_GENERATOR_H */

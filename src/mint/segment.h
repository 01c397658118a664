/*-------------------------------------------------------------------------
 *
 * segment.h
 *		The shared memory of a server that has not preloaded the library.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_SEGMENT_H
#define COSID_SEGMENT_H

extern bool cosid_segment_attach(int elevel);
extern bool cosid_segment_attached(void);

#endif							/* COSID_SEGMENT_H */

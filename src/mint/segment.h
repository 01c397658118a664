/*-------------------------------------------------------------------------
 *
 * segment.h
 *		The shared memory: the worker's place, leases and slots.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_SEGMENT_H
#define COSID_SEGMENT_H

extern Size cosid_segment_size(void);
extern void cosid_segment_startup(void);
extern bool cosid_segment_attach(int elevel);

#endif							/* COSID_SEGMENT_H */

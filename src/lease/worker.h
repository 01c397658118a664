/*-------------------------------------------------------------------------
 *
 * worker.h
 *		The background worker that owns this server's leases.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_WORKER_H
#define COSID_WORKER_H

extern void cosid_worker_register(void);
extern void cosid_worker_ensure(void);
extern PGDLLEXPORT void cosid_worker_main(Datum main_arg);

#endif							/* COSID_WORKER_H */

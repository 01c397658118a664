/*-------------------------------------------------------------------------
 *
 * atomic.h
 *		The few atomic operations that a grant and a cursor need.
 *
 * In the server they are PostgreSQL's.  Its header can't be used outside of
 * one, so with COSID_STANDALONE defined, as for the unit tests, they are C11's
 * (which ThreadSanitizer understands too).  Reads and writes are relaxed in
 * both: what order matters, the code says with a barrier.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_ATOMIC_H
#define COSID_ATOMIC_H

#ifndef COSID_STANDALONE

#include "port/atomics.h"

typedef pg_atomic_uint64 cosid_atomic;

#define cosid_atomic_init(a, value)		pg_atomic_init_u64(a, value)
#define cosid_atomic_read(a)			pg_atomic_read_u64(a)
#define cosid_atomic_write(a, value)	pg_atomic_write_u64(a, value)
#define cosid_atomic_cas(a, expected, value) \
	pg_atomic_compare_exchange_u64(a, expected, value)
#define cosid_read_barrier()			pg_read_barrier()
#define cosid_write_barrier()			pg_write_barrier()
#define cosid_full_barrier()			pg_memory_barrier()

/*
 * A full barrier between a compare-and-swap and a later load.  On x86 the swap
 * is one already; on ARM the swap alone does not order the load.
 */
#if defined(__x86_64__) || defined(__i386__)
#define cosid_cas_barrier()				pg_compiler_barrier()
#else
#define cosid_cas_barrier()				pg_memory_barrier()
#endif

/* For the one step that every call takes. */
#define cosid_always_inline				pg_attribute_always_inline

#else

#include <stdatomic.h>
#include <stdint.h>

typedef _Atomic uint64_t cosid_atomic;

#define cosid_atomic_init(a, value)		atomic_init(a, value)
#define cosid_atomic_read(a)			atomic_load_explicit(a, memory_order_relaxed)
#define cosid_atomic_write(a, value)	atomic_store_explicit(a, value, memory_order_relaxed)
#define cosid_atomic_cas(a, expected, value) \
	atomic_compare_exchange_strong_explicit(a, expected, value, \
											memory_order_acq_rel, memory_order_relaxed)
#define cosid_read_barrier()			atomic_thread_fence(memory_order_acquire)
#define cosid_write_barrier()			atomic_thread_fence(memory_order_release)
#define cosid_full_barrier()			atomic_thread_fence(memory_order_seq_cst)
#define cosid_cas_barrier()				atomic_thread_fence(memory_order_seq_cst)

#define cosid_always_inline				inline

#endif							/* COSID_STANDALONE */

#endif							/* COSID_ATOMIC_H */

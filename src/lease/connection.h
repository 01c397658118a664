/*-------------------------------------------------------------------------
 *
 * connection.h
 *		The worker's connection to a registry in another server.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_CONNECTION_H
#define COSID_CONNECTION_H

#include "libpq-fe.h"

#include "lease/registry.h"

extern void cosid_connection_name(char *name);
extern void cosid_connection_use(void);
extern bool cosid_connection_ensure(CosidRegistryCall *call);
extern const PGresult *cosid_connection_call(CosidRegistryCall *call,
											 const char *format, int count,
											 const Oid *types,
											 const char *const *values,
											 int columns);
extern bool cosid_connection_fail(CosidRegistryCall *call, const char *message);
extern void cosid_connection_finish(bool keep);

#endif							/* COSID_CONNECTION_H */

/*-------------------------------------------------------------------------
 *
 * compat.h
 *		The differences between PostgreSQL 15 to 18 that cosid meets.
 *
 * Include it after postgres.h, where one of these is needed; no other file
 * looks at PG_VERSION_NUM.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_COMPAT_H
#define COSID_COMPAT_H

#include "utils/acl.h"

#if PG_VERSION_NUM < 150000
#error "cosid needs PostgreSQL 15 or later"
#endif

/* Checks of rights: 16 replaced one function a catalog by one for all. */
#if PG_VERSION_NUM >= 160000
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#define cosid_proc_aclcheck(proc, role, mode) \
	object_aclcheck(ProcedureRelationId, proc, role, mode)
#define cosid_namespace_aclcheck(schema, role, mode) \
	object_aclcheck(NamespaceRelationId, schema, role, mode)
#define cosid_class_ownercheck(relation, role) \
	object_ownercheck(RelationRelationId, relation, role)
#else
#define cosid_proc_aclcheck(proc, role, mode) \
	pg_proc_aclcheck(proc, role, mode)
#define cosid_namespace_aclcheck(schema, role, mode) \
	pg_namespace_aclcheck(schema, role, mode)
#define cosid_class_ownercheck(relation, role) \
	pg_class_ownercheck(relation, role)
#endif

/* Names of wait events: from 17 on. */
#if PG_VERSION_NUM >= 170000
#define cosid_wait_event_new(name)	WaitEventExtensionNew(name)
#else
#define cosid_wait_event_new(name)	((void) (name), PG_WAIT_EXTENSION)
#endif

/* Whether partitions take the identity of the table that they are parts of. */
#define COSID_PARTITIONS_HAVE_IDENTITY	(PG_VERSION_NUM >= 170000)

/* Shared memory that a server makes while it runs, by a name; NULL before 17. */
#if PG_VERSION_NUM >= 170000
#include "storage/dsm_registry.h"
#define cosid_named_segment(name, size, init, found) \
	GetNamedDSMSegment(name, size, init, found)
#else
#define cosid_named_segment(name, size, init, found) \
	((void) (size), (void) (init), (void) (found), NULL)
#endif

#endif							/* COSID_COMPAT_H */

/*-------------------------------------------------------------------------
 *
 * identity.h
 *		Who this server is, for the registry.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_IDENTITY_H
#define COSID_IDENTITY_H

#define COSID_MAX_HOST_NAME		256 /* bytes of a host name, its NUL included */
#define COSID_IDENTITY_SIZE		33	/* 128 bits in hexadecimal, and a NUL */

extern void cosid_host_name(char *name);
extern const char *cosid_own_instance_id(void);
extern void cosid_own_identity(char *identity);

#endif							/* COSID_IDENTITY_H */

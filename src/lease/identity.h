/*-------------------------------------------------------------------------
 *
 * identity.h
 *		Who this server is, for the registry, and which machine id it asks for.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_IDENTITY_H
#define COSID_IDENTITY_H

#define COSID_IDENTITY_SIZE		33	/* 128 bits in hexadecimal, and a NUL */

extern const char *cosid_own_instance_id(void);
extern void cosid_own_identity(char *identity);
extern void cosid_distributor_init(void);

#endif							/* COSID_IDENTITY_H */

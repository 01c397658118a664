/*-------------------------------------------------------------------------
 *
 * distributor.h
 *		Which machine id this server asks for.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_DISTRIBUTOR_H
#define COSID_DISTRIBUTOR_H

extern void cosid_distributor_init(void);
extern int	cosid_fixed_machine_id(void);

#endif							/* COSID_DISTRIBUTOR_H */

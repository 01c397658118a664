/*-------------------------------------------------------------------------
 *
 * failover.h
 *		What the registry remembers of itself, for a failover that loses commits.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_FAILOVER_H
#define COSID_FAILOVER_H

#include "catalog.h"

/* The row of cosid_registry. */
typedef struct CosidFailover
{
	int64		first_seen;		/* when another server or timeline than before
								 * was seen to be the registry, Unix ms; 0: never */
	int64		largest_lead;	/* largest lead that was asked for so far, ms */
	bool		shared;			/* other servers have claimed here */
} CosidFailover;

extern void cosid_failover_note(const CosidExtension *extension,
								int64 registry_now, int64 server_now,
								int64 lead, bool by_other,
								CosidFailover *failover);
extern int64 cosid_failover_floor(const CosidFailover *failover);
extern int64 cosid_failover_silence(const CosidFailover *failover);

#endif							/* COSID_FAILOVER_H */

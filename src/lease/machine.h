/*-------------------------------------------------------------------------
 *
 * machine.h
 *		The registry's side of a lease: claim, guard and revert a machine id.
 *
 * These run in the database that holds cosid_machine, in the caller's
 * transaction: nothing counts before that has committed.  All times are Unix
 * ms; "the registry's clock" is the clock of the server that this runs on.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#ifndef COSID_MACHINE_H
#define COSID_MACHINE_H

#include "catalog.h"

/* What a server asks for. */
typedef struct CosidClaim
{
	const char *namespace;
	int			machine_bit;	/* machine ids below 2^machine_bit will do */
	const char *identity;		/* see identity.h */
	const char *instance_id;
	bool		stable;			/* the instance id names the row */
	int			fixed_machine_id;	/* this one only, or COSID_NO_MACHINE_ID */
	int			avoid_machine_id;	/* not this one unless it has expired, or
									 * COSID_NO_MACHINE_ID */
	bool		local;			/* the registry is the server's own */
	int64		server_now;		/* the server's clock */
	int64		lead;			/* persist the watermark so far ahead, ms */
	int64		safe_guard;		/* silence after which a row has expired, ms */
	int64		least_floor;	/* the floor is no less than this */
} CosidClaim;

typedef enum CosidClaimStatus
{
	COSID_CLAIMED,
	COSID_CLAIM_HELD,			/* the fixed machine id is another's */
	COSID_CLAIM_FULL			/* no machine id is free */
} CosidClaimStatus;

/* What it gets. */
typedef struct CosidClaimed
{
	CosidClaimStatus status;
	int			machine_id;		/* the rest only if COSID_CLAIMED */
	int64		token;			/* fencing token: every later call names it */
	int64		floor;
	int64		watermark;
	char		holder[128];	/* if COSID_CLAIM_HELD: its instance id */
	int64		others;			/* machine ids that other servers hold, in a
								 * local registry; else 0 */
} CosidClaimed;

/* A lease as its holder knows it: what guard and revert must match. */
typedef struct CosidHolding
{
	const char *namespace;
	int			machine_id;
	const char *instance_id;
	int64		token;
	int64		confirmed;		/* last watermark that was committed */
} CosidHolding;

extern void cosid_machine_claim(const CosidExtension *extension,
								const CosidClaim *claim, CosidClaimed *claimed);
extern bool cosid_machine_guard(const CosidExtension *extension,
								const CosidHolding *holding,
								const char *identity, int64 server_now,
								int64 lead, int64 *watermark);
extern bool cosid_machine_revert(const CosidExtension *extension,
								 const CosidHolding *holding, int64 watermark);

#endif							/* COSID_MACHINE_H */

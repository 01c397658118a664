/*-------------------------------------------------------------------------
 *
 * machine.h
 *		The registry's side of a lease: claim, guard and revert a machine id.
 *
 * The registry hands out disjoint intervals of time for each machine id, and
 * that is all that keeps IDs unique; clocks and time-outs decide who may take
 * which row, never whether it is safe:
 *
 * - A claim starts above the watermark that stands in the row, read from the
 *   locked version, and raises the watermark in the same transaction.
 * - The token tells this claim from every other.  A holder that was paused and
 *   superseded matches no row any more.
 * - A holder also names the last watermark that it has seen committed.  A row
 *   that shows less was rolled back (a failover that lost commits): no match.
 * - Guard only raises the watermark.  Revert alone may lower it, to what the
 *   holder's cursors reached.
 * - A watermark is on disk before anyone hears of it, whatever the caller's
 *   synchronous_commit is (ForceSyncCommit): it must outlive a crash.
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

/* Of a row m of cosid_machine, in SQL; the arguments are SQL, too. */

/*
 * No ID of the row's machine id is later than this.  Ours is the watermark.
 * CosId's Java services keep a heartbeat there that trails their IDs; they do
 * not know the column fence, which is how such a row is told.
 */
#define COSID_ROW_FLOOR(safe_guard) \
	"(CASE WHEN m.fence <> m.distribute_time AND m.instance_id <> ''" \
	" THEN m.last_timestamp + " safe_guard " ELSE m.last_timestamp END)"

#define COSID_ROW_EXPIRED(now, safe_guard) \
	"(m.last_timestamp <= " now " - " safe_guard ")"

extern void cosid_machine_claim(const CosidExtension *extension,
								const CosidClaim *claim, CosidClaimed *claimed);
extern bool cosid_machine_guard(const CosidExtension *extension,
								const CosidHolding *holding,
								const char *identity, int64 server_now,
								int64 lead, int64 *watermark);
extern bool cosid_machine_revert(const CosidExtension *extension,
								 const CosidHolding *holding, int64 watermark);
extern void cosid_machine_forget_row(const CosidExtension *extension,
									 const char *namespace, int machine_id);

/* What the registry remembers of itself (failover.c): its row of cosid_registry. */
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

#endif							/* COSID_MACHINE_H */

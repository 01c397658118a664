/*-------------------------------------------------------------------------
 *
 * slot.c
 *		The state of generators, in shared memory; see slot.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "storage/shmem.h"
#include "utils/timestamp.h"

#include "mint/launch.h"
#include "mint/slot.h"

typedef struct SlotShared
{
	/*
	 * How many slots are published.  Written under the lock after the slot
	 * itself (a write barrier between), read by anyone.
	 */
	pg_atomic_uint32 count;

	/*
	 * Since when waits and errors are counted, a TimestampTz.  Written by
	 * cosid_stat_reset, read by cosid_stat.
	 */
	pg_atomic_uint64 reset_at;

	CosidSlot	slots[FLEXIBLE_ARRAY_MEMBER];
} SlotShared;

/* Shared memory begins with a cache line, so each cursor has one to itself. */
StaticAssertDecl(offsetof(SlotShared, slots) % PG_CACHE_LINE_SIZE == 0 &&
				 sizeof(CosidSlot) % PG_CACHE_LINE_SIZE == 0 &&
				 offsetof(CosidSlot, u) == sizeof(CosidSlot) - PG_CACHE_LINE_SIZE,
				 "a cursor must have a cache line of its own");

static SlotShared *shared = NULL;

Size
cosid_slot_size(void)
{
	return add_size(offsetof(SlotShared, slots),
					mul_size(sizeof(CosidSlot), cosid_max_generators));
}

/*
 * Make room for slots of cosid_slot_size() bytes that nobody else sees yet;
 * they begin with a cache line.
 */
void
cosid_slot_init(void *memory)
{
	SlotShared *slots = memory;

	pg_atomic_init_u32(&slots->count, 0);
	pg_atomic_init_u64(&slots->reset_at, (uint64) GetCurrentTimestamp());
}

/* Use these slots in this process from now on. */
void
cosid_slot_attach(void *memory)
{
	shared = memory;
}

static void
init_counts(CosidSlot *slot)
{
	for (int i = 0; i < COSID_WAIT_KINDS; i++)
	{
		pg_atomic_init_u64(&slot->waits[i], 0);
		pg_atomic_init_u64(&slot->wait_us[i], 0);
	}
	for (int i = 0; i < COSID_FAILURE_KINDS; i++)
		pg_atomic_init_u64(&slot->failures[i], 0);
}

int
cosid_slot_count(void)
{
	int			count = (int) pg_atomic_read_u32(&shared->count);

	pg_read_barrier();
	return count;
}

CosidSlot *
cosid_slot_at(int index)
{
	return &shared->slots[index];
}

CosidLease *
cosid_slot_lease(const CosidSlot *slot)
{
	return cosid_lease_at(slot->lease);
}

static CosidSlot *
find_slot(const CosidLease *lease, const char *name, const CosidLayout *layout)
{
	int			count = cosid_slot_count();

	for (int i = 0; i < count; i++)
	{
		CosidSlot  *slot = &shared->slots[i];

		if (cosid_slot_lease(slot) == lease && strcmp(slot->name, name) == 0 &&
			cosid_layout_equal(&slot->layout, layout))
			return slot;
	}
	return NULL;
}

/* The slot of a generator, created if there is none.  53400 when full. */
CosidSlot *
cosid_slot_get(CosidLease *lease, const char *name, const CosidLayout *layout)
{
	CosidSlot  *slot = find_slot(lease, name, layout);
	uint32		count;

	if (slot != NULL)
		return slot;

	LWLockAcquire(cosid_lock, LW_EXCLUSIVE);
	slot = find_slot(lease, name, layout);
	if (slot == NULL)
	{
		count = pg_atomic_read_u32(&shared->count);
		if (count >= (uint32) cosid_max_generators)
			ereport(ERROR,
					(errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
					 errmsg("too many cosid generators on this server"),
					 errhint("Increase the setting \"cosid.max_generators\".")));
		slot = &shared->slots[count];
		memset(slot, 0, sizeof(CosidSlot));
		slot->lease = cosid_lease_index(lease);
		strlcpy(slot->name, name, sizeof(slot->name));
		slot->layout = *layout;
		pg_atomic_init_u64(&slot->earlier_id, 0);
		init_counts(slot);
		pg_atomic_init_u64(&slot->last_share, 0);
		cosid_atomic_init(&slot->u.cursor, 0);
		pg_write_barrier();
		pg_atomic_write_u32(&shared->count, count + 1);
	}
	LWLockRelease(cosid_lock);
	return slot;
}

/*
 * Whether the name has given out IDs with another layout, in any namespace:
 * machine ids of two namespaces may be equal.
 */
bool
cosid_slot_other_layout(const char *name, const CosidLayout *layout)
{
	int			count = cosid_slot_count();

	for (int i = 0; i < count; i++)
	{
		CosidSlot  *slot = &shared->slots[i];

		if (strcmp(slot->name, name) == 0 &&
			!cosid_layout_equal(&slot->layout, layout))
			return true;
	}
	return false;
}

/*
 * The latest time (Unix ms) that any cursor of the lease's namespace stands at;
 * 0 if none has moved.  The watermark that a closed grant leaves must cover it.
 */
int64
cosid_slot_largest_ms(const CosidLease *lease)
{
	int			count = cosid_slot_count();
	int64		largest = 0;

	for (int i = 0; i < count; i++)
	{
		CosidSlot  *slot = &shared->slots[i];
		uint64		cursor;

		if (cosid_slot_lease(slot) != lease)
			continue;
		cursor = cosid_atomic_read(&slot->u.cursor);
		if (cursor != 0)
			largest = Max(largest, cosid_cursor_ms(&slot->layout, cursor));
	}
	return largest;
}

/*
 * For the worker, when a grant is closed: keep the last IDs under it, which the
 * cursors alone do not tell once the machine id is another.
 */
void
cosid_slot_keep_ids(const CosidLease *lease, int64 floor, int64 machine_id)
{
	int			count = cosid_slot_count();

	for (int i = 0; i < count; i++)
	{
		CosidSlot  *slot = &shared->slots[i];
		uint64		cursor = cosid_atomic_read(&slot->u.cursor);

		if (cosid_slot_lease(slot) == lease && cursor != 0 &&
			cosid_cursor_ms(&slot->layout, cursor) > floor)
			pg_atomic_write_u64(&slot->earlier_id,
								(uint64) cosid_pack(&slot->layout, cursor, machine_id));
	}
}

/*
 * For the worker, when it gives up a clock jump: lower the cursors that are above
 * the clock, to the end of its present tick.
 *
 * No grant may stand: a backend whose compare-and-swap comes before or after
 * ours finds another version and throws its state away.
 */
void
cosid_slot_lower(const CosidLease *lease, int64 now_ms)
{
	int			count = cosid_slot_count();

	for (int i = 0; i < count; i++)
	{
		CosidSlot  *slot = &shared->slots[i];
		const CosidLayout *layout = &slot->layout;
		int64		timestamp = now_ms / cosid_unit_ms(layout) - layout->epoch;
		uint64		cursor = cosid_atomic_read(&slot->u.cursor);

		if (cosid_slot_lease(slot) == lease &&
			cosid_cursor_timestamp(layout, cursor) > timestamp)
			cosid_atomic_write(&slot->u.cursor, timestamp < 0 ? 0 :
							   cosid_cursor(layout, timestamp, cosid_max_sequence(layout)));
	}
}

/* The last ID of a generator since the server started; 0 if there is none. */
int64
cosid_slot_last_id(CosidSlot *slot)
{
	CosidGrant *grant = &cosid_slot_lease(slot)->u.grant;
	uint64		cursor = cosid_atomic_read(&slot->u.cursor);

	if (cosid_grant_stands(grant) && cursor != 0 &&
		cosid_cursor_ms(&slot->layout, cursor) > (int64) cosid_atomic_read(&grant->floor))
		return cosid_pack(&slot->layout, cursor,
						  (int64) cosid_atomic_read(&grant->machine_id));
	return (int64) pg_atomic_read_u64(&slot->earlier_id);
}

/* Count waits and errors from 0 again. */
void
cosid_slot_reset_counts(void)
{
	int			count = cosid_slot_count();

	for (int i = 0; i < count; i++)
	{
		CosidSlot  *slot = &shared->slots[i];

		for (int kind = 0; kind < COSID_WAIT_KINDS; kind++)
		{
			pg_atomic_write_u64(&slot->waits[kind], 0);
			pg_atomic_write_u64(&slot->wait_us[kind], 0);
		}
		for (int kind = 0; kind < COSID_FAILURE_KINDS; kind++)
			pg_atomic_write_u64(&slot->failures[kind], 0);
	}
	pg_atomic_write_u64(&shared->reset_at, (uint64) GetCurrentTimestamp());
}

/* Since when they are counted. */
TimestampTz
cosid_slot_reset_at(void)
{
	return (TimestampTz) pg_atomic_read_u64(&shared->reset_at);
}

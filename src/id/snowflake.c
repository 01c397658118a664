/*-------------------------------------------------------------------------
 *
 * snowflake.c
 *		The arithmetic of a snowflake ID; see snowflake.h.
 *
 * Copyright (c) 2026, the cosid authors
 *
 *-------------------------------------------------------------------------
 */
#include "id/snowflake.h"

/*
 * The layout that a generator has when nothing is said about it.  The figures
 * are CosId's, except that a second-unit layout counts seconds from the epoch
 * in seconds and gives the bits that it saves to the sequence.
 */
void
cosid_layout_default(CosidLayout *layout, CosidUnit unit, bool safe_javascript)
{
	layout->unit = unit;
	layout->machine_bit = safe_javascript ? 3 : 10;
	if (unit == COSID_SECOND)
	{
		layout->epoch = COSID_EPOCH_MS / 1000;
		layout->timestamp_bit = 31;
		layout->sequence_bit = safe_javascript ? 19 : 22;
	}
	else
	{
		layout->epoch = COSID_EPOCH_MS;
		layout->timestamp_bit = 41;
		layout->sequence_bit = safe_javascript ? 9 : 12;
	}
}

/*
 * Whether a layout can be used at all.  Everything else here takes that for
 * granted.
 */
CosidLayoutStatus
cosid_layout_check(const CosidLayout *layout, bool safe_javascript)
{
	int			total = safe_javascript ? COSID_SAFE_JAVASCRIPT_BITS : COSID_TOTAL_BITS;

	if (layout->epoch < 0 ||
		layout->epoch / (1000 / cosid_unit_ms(layout)) > COSID_MAX_EPOCH_SECOND)
		return COSID_LAYOUT_BAD_EPOCH;
	if (layout->timestamp_bit < 1 || layout->timestamp_bit > COSID_TOTAL_BITS)
		return COSID_LAYOUT_BAD_TIMESTAMP_BIT;
	if (layout->machine_bit < 1 || layout->machine_bit > COSID_MAX_MACHINE_BITS)
		return COSID_LAYOUT_BAD_MACHINE_BIT;
	if (layout->sequence_bit < 1 || layout->sequence_bit > COSID_TOTAL_BITS)
		return COSID_LAYOUT_BAD_SEQUENCE_BIT;
	if (cosid_total_bits(layout) > total)
		return COSID_LAYOUT_BAD_TOTAL;
	return COSID_LAYOUT_OK;
}

/*
 * CosId's default: half of the sequence.  A quiet generator counts on across
 * ticks until there, so its low bits spread evenly; a busy one starts each tick
 * with at least half of its sequence left.
 */
int64_t
cosid_default_reset_threshold(const CosidLayout *layout)
{
	return (INT64_C(1) << (layout->sequence_bit - 1)) - 1;
}

/* The greatest ID that any machine can give out in a tick. */
int64_t
cosid_last_of_tick(const CosidLayout *layout, int64_t timestamp)
{
	return cosid_pack(layout,
					  cosid_cursor(layout, timestamp, cosid_max_sequence(layout)),
					  cosid_max_machine_id(layout));
}

/* The parts of an ID; false when it is no ID of this layout. */
bool
cosid_unpack(const CosidLayout *layout, int64_t id, CosidParts *parts)
{
	if (id < 0 || (id >> cosid_total_bits(layout)) != 0)
		return false;
	parts->sequence = id & cosid_max_sequence(layout);
	parts->machine_id = (id >> layout->sequence_bit) & cosid_max_machine_id(layout);
	parts->timestamp = id >> (layout->machine_bit + layout->sequence_bit);
	return true;
}

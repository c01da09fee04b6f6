// SPDX-License-Identifier: GPL-2.0-only
/* Work rings in the guest's memory. */
#include <errno.h>

#include "vrnic_nic.h"

#define ENTRY_SIZE	128

_Static_assert(sizeof(struct vrnic_send_wr) == ENTRY_SIZE, "send entries");
_Static_assert(sizeof(struct vrnic_receive_wr) == ENTRY_SIZE, "receive entries");

uint32_t ring_waiting(const struct vrnic_ring *ring)
{
	return (ring->producer - ring->next) & VRNIC_INDEX_MASK;
}

int ring_fetch(struct vrnic *nic, struct vrnic_ring *ring, void *entry)
{
	uint32_t waiting = ring_waiting(ring);

	if (!waiting)
		return -EAGAIN;
	if (waiting > ring->entries)
		return -ERANGE;
	if (nic_read(nic, ring->address + (uint64_t)ring->next % ring->entries * ENTRY_SIZE, entry,
		     ENTRY_SIZE))
		return -EFAULT;
	ring->next = (ring->next + 1) & VRNIC_INDEX_MASK;
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Event queues: the device has no way to know what was taken, the driver makes them large enough. */
#include <stdlib.h>

#include "function.h"
#include "vrnic_nic.h"

static bool is_power(uint32_t number)
{
	return number && !(number & (number - 1));
}

unsigned int eq_create(struct vrnic *nic, const struct vrnic_cmd_eq *cmd)
{
	struct vrnic_eq *eq;

	if (cmd->eq >= NIC_VECTORS || nic->eqs[cmd->eq])
		return VRNIC_BAD_NUMBER;
	if (!is_power(cmd->entries) || cmd->entries > NIC_EQ_ENTRIES ||
	    cmd->address % sizeof(struct vrnic_event))
		return VRNIC_BAD_ARGUMENT;
	eq = calloc(1, sizeof(*eq));
	if (!eq)
		return VRNIC_BAD_ARGUMENT;
	eq->number = cmd->eq;
	eq->entries = cmd->entries;
	eq->address = cmd->address;
	nic->eqs[cmd->eq] = eq;
	return VRNIC_OK;
}

unsigned int eq_destroy(struct vrnic *nic, uint32_t number)
{
	if (number >= NIC_VECTORS || !nic->eqs[number])
		return VRNIC_BAD_NUMBER;
	if (nic->eqs[number]->users)
		return VRNIC_BAD_STATE;
	free(nic->eqs[number]);
	nic->eqs[number] = NULL;
	return VRNIC_OK;
}

void eq_event(struct vrnic *nic, unsigned int number, enum vrnic_event_type type, uint32_t object)
{
	const size_t head = offsetof(struct vrnic_event, number);
	struct vrnic_eq *eq = nic->eqs[number];
	struct vrnic_event event = { .type = type, .number = object };
	uint64_t address;

	if (!eq)
		return;
	address = eq->address + eq->producer % eq->entries * sizeof(event);
	event.phase = !(eq->producer / eq->entries % 2);
	eq->producer++;
	/* What makes it valid comes last. */
	if (nic_write(nic, address + head, (char *)&event + head, sizeof(event) - head) ||
	    nic_write(nic, address, &event, head))
		return;
	nic->counters.events++;
	function_interrupt(nic->function, number);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Commands: one at a time, from the guest's memory and back to where it came from. */
#include <string.h>

#include "vrnic_nic.h"

/* Bytes that a command has at least. */
static size_t shortest(uint16_t opcode)
{
	switch (opcode) {
	case VRNIC_CMD_NOP:
		return sizeof(struct vrnic_command_head);
	case VRNIC_CMD_CREATE_EQ:
		return sizeof(struct vrnic_cmd_eq);
	case VRNIC_CMD_CREATE_CQ:
		return sizeof(struct vrnic_cmd_cq);
	case VRNIC_CMD_CREATE_QP:
		return sizeof(struct vrnic_cmd_create_qp);
	case VRNIC_CMD_MODIFY_QP:
		return sizeof(struct vrnic_cmd_modify_qp);
	case VRNIC_CMD_CREATE_MR:
		return sizeof(struct vrnic_cmd_create_mr);
	case VRNIC_CMD_MAP_MR:
		return sizeof(struct vrnic_cmd_map_mr);
	default:
		return sizeof(struct vrnic_cmd_number);
	}
}

static unsigned int do_command(struct vrnic *nic, size_t length)
{
	const void *cmd = nic->command;
	uint32_t number = ((const struct vrnic_cmd_number *)cmd)->number;

	switch (nic->command_head.opcode) {
	case VRNIC_CMD_NOP:
		return VRNIC_OK;
	case VRNIC_CMD_CREATE_EQ:
		return eq_create(nic, cmd);
	case VRNIC_CMD_DESTROY_EQ:
		return eq_destroy(nic, number);
	case VRNIC_CMD_CREATE_CQ:
		return cq_create(nic, cmd);
	case VRNIC_CMD_DESTROY_CQ:
		return cq_destroy(nic, number);
	case VRNIC_CMD_CREATE_QP:
		return qp_create(nic, cmd);
	case VRNIC_CMD_MODIFY_QP:
		return qp_modify(nic, cmd);
	case VRNIC_CMD_QUERY_QP:
		return qp_query(nic, number, (void *)nic->command);
	case VRNIC_CMD_DESTROY_QP:
		return qp_destroy(nic, number);
	case VRNIC_CMD_CREATE_MR:
		return mr_create(nic, cmd);
	case VRNIC_CMD_MAP_MR:
		return mr_map(nic, cmd, length);
	case VRNIC_CMD_UNMAP_MR:
		return mr_unmap(nic, number);
	case VRNIC_CMD_FAIL_MR:
		return mr_fail(nic, number);
	case VRNIC_CMD_DESTROY_MR:
		return mr_destroy(nic, number);
	default:
		return VRNIC_BAD_OPCODE;
	}
}

static size_t answer_length(const struct vrnic *nic)
{
	if (nic->command_head.opcode == VRNIC_CMD_QUERY_QP && nic->command_head.status == VRNIC_OK)
		return sizeof(struct vrnic_cmd_modify_qp);
	return sizeof(struct vrnic_command_head);
}

static void finish(struct vrnic *nic, enum vrnic_command_state state)
{
	/* It was reset meanwhile, this is not its command any more. */
	if (nic->dead)
		return;
	nic->command_state = state;
	nic->counters.commands++;
	eq_event(nic, 0, VRNIC_EVENT_COMMAND, 0);
}

void command_run(struct vrnic *nic)
{
	uint64_t address = nic->command_address;
	size_t length = nic->command_length;

	nic->command_waits = false;
	if (length < sizeof(nic->command_head) || length > sizeof(nic->command)) {
		finish(nic, VRNIC_COMMAND_LOST);
		return;
	}
	if (nic_read(nic, address, nic->command, length)) {
		finish(nic, VRNIC_COMMAND_LOST);
		return;
	}
	if (length < shortest(nic->command_head.opcode))
		nic->command_head.status = VRNIC_BAD_LENGTH;
	else
		nic->command_head.status = do_command(nic, length);
	if (nic_write(nic, address, nic->command, answer_length(nic)))
		finish(nic, VRNIC_COMMAND_LOST);
	else
		finish(nic, VRNIC_COMMAND_DONE);
}

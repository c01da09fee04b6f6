// SPDX-License-Identifier: GPL-2.0-only
/* A driver that writes anything: commands, work requests, doorbells and registers, near what is right. */
#include "loop.h"
#include "test_vrnic.h"

#define MACHINES	3
#define ROUNDS		60000
#define QPS		6
#define CQS		3
#define MRS		4
#define MR_SIZE		300000
#define LONGEST		60000	/* element */

static uint64_t seed = 0x9e3779b97f4a7c15ull;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static uint32_t below(uint32_t end)
{
	return (any() >> 11) % end;
}

/* Mostly VALUE. */
static uint64_t mostly(uint64_t value)
{
	switch (below(400)) {
	case 0:
		return any();
	case 1:
		return value + 1;
	case 2:
		return UINT64_MAX >> below(64);
	default:
		return value;
	}
}

static uint64_t place(void)
{
	return mostly(RIG_BASE + below(RIG_MEMORY / 8192) * 4096ull);
}

static uint32_t key(void)
{
	return mostly((1 + below(MRS)) << 8);
}

static uint64_t address(void)
{
	return mostly(0x100000 + below((MR_SIZE - LONGEST) / 8) * 8);
}

/* What is made lives long enough to be used. */
static uint16_t opcode(void)
{
	uint16_t opcode = below(VRNIC_CMD_DESTROY_MR + 1);

	switch (opcode) {
	case VRNIC_CMD_DESTROY_EQ:
	case VRNIC_CMD_DESTROY_CQ:
	case VRNIC_CMD_DESTROY_QP:
	case VRNIC_CMD_DESTROY_MR:
	case VRNIC_CMD_UNMAP_MR:
		return below(12) ? VRNIC_CMD_MODIFY_QP : opcode;
	default:
		return mostly(opcode);
	}
}

/* Mostly the state that comes after the one the QP has. */
static uint32_t next_state(const struct vrnic *nic, uint32_t number)
{
	const struct vrnic_qp *qp = number <= NIC_QPS ? nic->qps[number] : NULL;

	if (!below(20) || !qp)
		return mostly(below(5));
	if (qp_state(qp) == VRNIC_QPS_RTS)
		return VRNIC_QPS_RTS;
	return (qp_state(qp) + 1) % 5;
}

/* QPs of the same number know each other, odd ones themselves. */
static uint16_t peer_of(uint16_t lid, uint32_t qp)
{
	return qp % 2 || lid > 2 ? lid : 3 - lid;
}

static void fill_command(const struct vrnic *nic, uint8_t *bytes, uint32_t *length)
{
	struct vrnic_command_head *head = (void *)bytes;
	unsigned int i;

	memset(bytes, 0, 1024);
	head->opcode = opcode();
	*length = 256;
	switch (head->opcode) {
	case VRNIC_CMD_CREATE_EQ: {
		struct vrnic_cmd_eq *cmd = (void *)bytes;

		cmd->eq = mostly(below(3));
		cmd->entries = mostly(1u << below(8));
		cmd->address = place();
		break;
	}
	case VRNIC_CMD_CREATE_CQ: {
		struct vrnic_cmd_cq *cmd = (void *)bytes;

		cmd->cq = mostly(1 + below(CQS));
		cmd->eq = mostly(below(3));
		cmd->entries = mostly(16u << below(6));
		cmd->address = place();
		cmd->consumer = place();
		break;
	}
	case VRNIC_CMD_CREATE_QP: {
		struct vrnic_cmd_create_qp *cmd = (void *)bytes;

		cmd->qp = mostly(1 + below(QPS));
		cmd->pd = mostly(1);
		cmd->type = mostly(1 + !below(4));
		cmd->send_cq = mostly(1 + below(CQS));
		cmd->receive_cq = mostly(1 + below(CQS));
		cmd->send_entries = mostly(16u << below(5));
		cmd->receive_entries = mostly(16u << below(5));
		cmd->send_address = place();
		cmd->receive_address = place();
		cmd->all_signaled = below(2);
		break;
	}
	case VRNIC_CMD_MODIFY_QP: {
		struct vrnic_cmd_modify_qp *cmd = (void *)bytes;

		cmd->qp = mostly(1 + below(QPS));
		cmd->state = next_state(nic, cmd->qp);
		cmd->mask = mostly(0x7ff);
		cmd->destination_qp = mostly(cmd->qp);
		cmd->destination_lid = mostly(peer_of(nic->lid, cmd->qp));
		cmd->access = mostly(0xf);
		cmd->retries = mostly(2);
		cmd->rnr_retries = mostly(below(8));
		cmd->timeout = mostly(below(8));
		cmd->rnr_timer = mostly(1 + below(8));
		cmd->send_psn = mostly(100) & PSN_MASK;
		cmd->receive_psn = mostly(100) & PSN_MASK;
		break;
	}
	case VRNIC_CMD_CREATE_MR: {
		struct vrnic_cmd_create_mr *cmd = (void *)bytes;

		cmd->key = key();
		cmd->pd = mostly(1);
		cmd->access = mostly(0xf);
		cmd->address = mostly(0x100000);
		cmd->length = mostly(MR_SIZE);
		break;
	}
	case VRNIC_CMD_MAP_MR: {
		struct vrnic_cmd_map_mr *cmd = (void *)bytes;

		cmd->key = key();
		cmd->flags = mostly(3);
		cmd->segments = mostly(3);
		for (i = 0; i < 3; i++) {
			/* Seldom where rings are. */
			cmd->segment[i].address = mostly(RIG_BASE + RIG_MEMORY / 2 +
							 8ull * below(RIG_MEMORY / 32));
			cmd->segment[i].length = mostly(MR_SIZE / 3);
		}
		break;
	}
	default:
		((struct vrnic_cmd_number *)bytes)->number =
			head->opcode >= VRNIC_CMD_UNMAP_MR ? key() : mostly(1 + below(QPS));
		break;
	}
	if (!below(16))
		*length = below(600);
}

static void send_command(struct machine *machine)
{
	uint64_t at = mostly(machine->command);
	uint32_t length;

	fill_command(machine->function.private, machine_at(machine, machine->command), &length);
	vrnic_device.write(&machine->function, 0, VRNIC_REG_COMMAND_ADDRESS, 8, at);
	vrnic_device.write(&machine->function, 0, VRNIC_REG_COMMAND, 4, mostly(length));
}

static void fill_sges(struct vrnic_sge *sge)
{
	unsigned int i;

	for (i = 0; i < VRNIC_MAX_SGE; i++)
		sge[i] = (struct vrnic_sge){ address(), mostly(below(LONGEST)), key() };
}

static void ring(struct machine *machine, unsigned int doorbell, uint32_t number, uint32_t index)
{
	vrnic_device.write(&machine->function, 2, doorbell, 8,
			   (uint64_t)number << 32 | (uint32_t)mostly(index));
}

static struct vrnic_qp *some_qp(struct vrnic *nic)
{
	return nic->qps[1 + below(QPS)];
}

static void post_send(struct machine *machine, struct vrnic_qp *qp)
{
	struct vrnic_send_wr wr = {
		.id = any(), .opcode = mostly(1 + below(VRNIC_WR_FETCH_ADD)), .flags = any(),
		.sges = mostly(1 + below(4)), .inline_length = mostly(below(64)),
		.remote_address = address(), .remote_key = key(),
		.destination_qp = mostly(1 + below(QPS)), .destination_lid = mostly(1 + below(3)),
	};
	uint64_t at = qp->send.ring.address +
		      (qp->send.ring.producer & (qp->send.ring.entries - 1)) * sizeof(wr);

	if (qp_state(qp) != VRNIC_QPS_RTS && below(10))
		return;
	if (below(4) || wr.opcode > VRNIC_WR_WRITE_IMM)
		wr.flags &= ~VRNIC_WR_INLINE;
	if (qp->type == VRNIC_QP_UD) {
		wr.opcode = mostly(1 + below(2));
		wr.sges = 0;
		wr.qkey = 1u << 31;
	}
	fill_sges(wr.sge);
	if (wr.opcode >= VRNIC_WR_COMPARE_SWAP) {
		wr.sges = 1;
		wr.sge[0].length = 8;
	}
	if (at >= RIG_BASE && at + sizeof(wr) <= RIG_BASE + RIG_MEMORY)
		memcpy(machine_at(machine, at), &wr, sizeof(wr));
	ring(machine, VRNIC_DOORBELL_SEND, qp->number, qp->send.ring.producer + 1);
}

static void post_receive(struct machine *machine, struct vrnic_qp *qp)
{
	struct vrnic_receive_wr wr = { .id = any(), .sges = mostly(below(5)) };
	uint64_t at = qp->receive.ring.address +
		      (qp->receive.ring.producer & (qp->receive.ring.entries - 1)) * sizeof(wr);

	if (qp_state(qp) != VRNIC_QPS_RTS && below(4))
		return;
	fill_sges(wr.sge);
	if (at >= RIG_BASE && at + sizeof(wr) <= RIG_BASE + RIG_MEMORY)
		memcpy(machine_at(machine, at), &wr, sizeof(wr));
	ring(machine, VRNIC_DOORBELL_RECEIVE, qp->number, qp->receive.ring.producer + 1);
}

static void consume(struct machine *machine, struct vrnic *nic)
{
	struct vrnic_cq *cq = nic->cqs[1 + below(CQS)];

	if (!cq || cq->consumer_address < RIG_BASE ||
	    cq->consumer_address + 4 > RIG_BASE + RIG_MEMORY)
		return;
	*(uint32_t *)machine_at(machine, cq->consumer_address) = mostly(cq->producer);
	ring(machine, VRNIC_DOORBELL_ARM, cq->number, cq->producer);
}

static void change(struct machine *machine)
{
	switch (below(200)) {
	case 0:
		vrnic_device.reset(&machine->function);
		break;
	case 1:
		vrnic_device.write(&machine->function, 0, VRNIC_REG_RESET, 4, 1);
		break;
	case 2:
		machine->fails_from = place();
		machine->fails_to = machine->fails_from + 4096;
		break;
	case 3:
		machine->not_master = true;
		break;
	case 5 ... 20:
		machine->not_master = false;
		break;
	case 4:
		machine->function.faults.on = below(8) ? 0 : 1u << FAULT_CQE_ERROR;
		break;
	default:
		vrnic_device.write(&machine->function, below(6), 8 * below(32), 4 << below(2),
				   any());
		break;
	}
}

/* What a guest does while its memory is waited for. */
static void meanwhile(struct machine *machine)
{
	if (!below(20000))
		vrnic_device.write(&machine->function, 0, VRNIC_REG_RESET, 4, 1);
	else if (!below(100))
		vrnic_device.write(&machine->function, 2, 8 * below(3), 8,
				   (uint64_t)below(QPS + 1) << 32 | below(300));
}

static void do_something(struct machine *machine)
{
	struct vrnic *nic = machine->function.private;
	unsigned int what = below(100);
	struct vrnic_qp *qp = some_qp(nic);

	if (what < 30)
		send_command(machine);
	else if (what < 60 && qp)
		post_send(machine, qp);
	else if (what < 80 && qp)
		post_receive(machine, qp);
	else if (what < 95)
		consume(machine, nic);
	else
		change(machine);
}

void test_fuzz(void)
{
	struct machine *machines = calloc(MACHINES, sizeof(*machines));
	uint64_t commands = 0, completions = 0, good = 0, frames = 0;
	unsigned int i;

	for (i = 0; i < MACHINES; i++) {
		machine_make(&machines[i]);
		machines[i].during_dma = meanwhile;
	}
	for (i = 0; i < ROUNDS; i++) {
		do_something(&machines[below(MACHINES)]);
		if (below(4) == 0)
			rig_run();
		if (below(200) == 0)
			rig_run_for(below(400000));
	}
	for (i = 0; i < MACHINES; i++) {
		struct vrnic_counters *counters =
			&((struct vrnic *)machines[i].function.private)->counters;

		commands += counters->commands;
		completions += counters->completions;
		good += counters->completions - counters->error_completions;
		frames += counters->frames_in;
	}
	printf("%llu commands, %llu frames, %llu completions, %llu good\n",
	       (unsigned long long)commands, (unsigned long long)frames,
	       (unsigned long long)completions, (unsigned long long)good);
	/* It got far enough to mean something. */
	CHECK(commands > 1000 && frames > 1000 && good > 100 && completions > good);
	for (i = 0; i < MACHINES; i++)
		machine_free(&machines[i]);
	free(machines);
}

// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "fuzz.h"
#include "vrnic_abi.h"

#define COMMANDS	0x0u		/* places in the guest's RAM */
#define RINGS		0x20000u
#define RING		0x8000u
#define DATA		0x200000u
#define OBJECTS		4		/* numbers that are used */
#define ENTRIES		32
#define MR_START	0x1000u
#define MR_LENGTH	0x4000u
#define COMMAND_PLACE	0x400u

static uint64_t some_address(void)
{
	switch (fuzz_below(8)) {
	case 0:
		return BAR_IOVA + fuzz_below(BAR_SIZE);
	case 1:
		return FAR_IOVA + fuzz_below(FAR_SIZE);
	case 2:
		return fuzz_random();
	}
	return RAM_IOVA + DATA + fuzz_below(RAM_SIZE - DATA);
}

static uint32_t some_number(void)
{
	return fuzz_chance(95) ? 1 + fuzz_below(OBJECTS) : (uint32_t)fuzz_random();
}

static uint32_t some_key(void)
{
	return some_number() << 8 | (fuzz_chance(90) ? 1 : fuzz_below(256));
}

static uint32_t some_entries(void)
{
	return fuzz_chance(90) ? 1u << (2 + fuzz_below(4)) : (uint32_t)fuzz_random();
}

static uint64_t ring_of(unsigned int kind, uint32_t number)
{
	if (fuzz_chance(3))
		return some_address();
	return RAM_IOVA + RINGS + (uint64_t)((kind * OBJECTS + number % OBJECTS) * RING);
}

static uint32_t put_create(void *at, uint16_t opcode)
{
	uint32_t number = some_number();

	if (opcode == VRNIC_CMD_CREATE_EQ) {
		number = fuzz_below(OBJECTS);
		*(struct vrnic_cmd_eq *)at = (struct vrnic_cmd_eq){
			.eq = number, .entries = some_entries(), .address = ring_of(0, number),
		};
		return sizeof(struct vrnic_cmd_eq);
	}
	if (opcode == VRNIC_CMD_CREATE_CQ) {
		*(struct vrnic_cmd_cq *)at = (struct vrnic_cmd_cq){
			.cq = number, .eq = fuzz_below(OBJECTS), .entries = some_entries(),
			.address = ring_of(1, number), .consumer = RAM_IOVA + RINGS - 4 * number,
		};
		return sizeof(struct vrnic_cmd_cq);
	}
	*(struct vrnic_cmd_create_qp *)at = (struct vrnic_cmd_create_qp){
		.qp = number,
		.pd = 1,
		.type = 1 + fuzz_chance(30),
		.send_cq = some_number(),
		.receive_cq = some_number(),
		.send_entries = some_entries(),
		.receive_entries = some_entries(),
		.send_address = ring_of(2, number),
		.receive_address = ring_of(3, number),
		.all_signaled = fuzz_chance(50),
	};
	return sizeof(struct vrnic_cmd_create_qp);
}

static uint32_t put_modify(void *at)
{
	*(struct vrnic_cmd_modify_qp *)at = (struct vrnic_cmd_modify_qp){
		.qp = some_number(),
		.state = fuzz_below(6),
		.mask = fuzz_chance(90) ? 0x7ff : fuzz_below(0x1000),
		.destination_qp = some_number(),
		.qkey = 1,
		.access = fuzz_below(32),
		.destination_lid = (uint16_t)(1 + fuzz_below(3)),
		.retries = (uint8_t)fuzz_below(8),
		.rnr_retries = (uint8_t)fuzz_below(8),
		.timeout = (uint8_t)fuzz_below(6),
		.rnr_timer = (uint8_t)fuzz_below(32),
	};
	return sizeof(struct vrnic_cmd_modify_qp);
}

static uint32_t put_mr(void *at, uint16_t opcode)
{
	struct vrnic_cmd_map_mr *map = at;

	if (opcode == VRNIC_CMD_CREATE_MR) {
		*(struct vrnic_cmd_create_mr *)at = (struct vrnic_cmd_create_mr){
			.key = some_key(), .pd = 1, .access = fuzz_below(32), .address = 0x1000,
			.length = fuzz_chance(90) ? 0x4000 : fuzz_random(),
		};
		return sizeof(struct vrnic_cmd_create_mr);
	}
	*map = (struct vrnic_cmd_map_mr){
		.key = some_key(), .flags = fuzz_chance(80) ? 3 : fuzz_below(8),
		.segments = fuzz_chance(95) ? 1 + fuzz_below(3) : (uint32_t)fuzz_random(),
	};
	for (unsigned int i = 0; i < 3; i++)
		map->segment[i] = (struct vrnic_segment){
			.address = some_address(),
			.length = map->segments == 1 ? 0x4000 :
				  map->segments == 2 ? 0x2000 :
						       fuzz_below(0x4000),
		};
	return sizeof(*map) + 3 * sizeof(map->segment[0]);
}

static uint32_t put_command(uint8_t *at)
{
	struct vrnic_command_head *head = (void *)at;
	uint16_t opcode =
		(uint16_t)(fuzz_chance(97) ? fuzz_below(VRNIC_CMD_DESTROY_MR + 1) : fuzz_random());
	uint32_t length;

	/* What is made lasts for a while. */
	if ((opcode == VRNIC_CMD_DESTROY_EQ || opcode == VRNIC_CMD_DESTROY_CQ ||
	     opcode == VRNIC_CMD_DESTROY_QP || opcode == VRNIC_CMD_DESTROY_MR) &&
	    fuzz_chance(70))
		opcode = VRNIC_CMD_MODIFY_QP;
	if (opcode == VRNIC_CMD_CREATE_EQ || opcode == VRNIC_CMD_CREATE_CQ ||
	    opcode == VRNIC_CMD_CREATE_QP) {
		length = put_create(at, opcode);
	} else if (opcode == VRNIC_CMD_MODIFY_QP) {
		length = put_modify(at);
	} else if (opcode == VRNIC_CMD_CREATE_MR || opcode == VRNIC_CMD_MAP_MR) {
		length = put_mr(at, opcode);
	} else {
		struct vrnic_cmd_number *command = (void *)at;

		*command = (struct vrnic_cmd_number){ .number = some_number() };
		if (opcode >= VRNIC_CMD_CREATE_MR)
			command->number = some_key();
		length = sizeof(struct vrnic_cmd_number);
	}
	head->opcode = opcode;
	if (fuzz_chance(5))
		at[fuzz_below(length)] = (uint8_t)fuzz_random();
	if (fuzz_chance(2))
		length = fuzz_chance(50) ? fuzz_below(length) : (uint32_t)fuzz_random();
	return length;
}

/* What a driver does first, object after object. */
static uint32_t set_up_eq(void *at, uint32_t number)
{
	*(struct vrnic_cmd_eq *)at = (struct vrnic_cmd_eq){
		.head.opcode = VRNIC_CMD_CREATE_EQ, .eq = number - 1, .entries = ENTRIES,
		.address = RAM_IOVA + RINGS + (uint64_t)(number - 1) * RING,
	};
	return sizeof(struct vrnic_cmd_eq);
}

static uint32_t set_up_cq(void *at, uint32_t number)
{
	*(struct vrnic_cmd_cq *)at = (struct vrnic_cmd_cq){
		.head.opcode = VRNIC_CMD_CREATE_CQ,
		.cq = number,
		.eq = number % OBJECTS,
		.entries = ENTRIES,
		.address = RAM_IOVA + RINGS + (uint64_t)(OBJECTS + number - 1) * RING,
		.consumer = RAM_IOVA + RINGS - 4 * number,
	};
	return sizeof(struct vrnic_cmd_cq);
}

static uint32_t set_up_mr(void *at, uint32_t number)
{
	*(struct vrnic_cmd_create_mr *)at = (struct vrnic_cmd_create_mr){
		.head.opcode = VRNIC_CMD_CREATE_MR, .key = number << 8 | 1, .pd = 1, .access = 0xf,
		.address = MR_START, .length = MR_LENGTH,
	};
	return sizeof(struct vrnic_cmd_create_mr);
}

/* The last one is left to page requests. */
static uint32_t set_up_mapping(void *at, uint32_t number)
{
	static const uint64_t places[] = { RAM_IOVA + DATA, BAR_IOVA, FAR_IOVA };
	struct vrnic_cmd_map_mr *map = at;

	*map = (struct vrnic_cmd_map_mr){
		.head.opcode = number == OBJECTS ? VRNIC_CMD_NOP : VRNIC_CMD_MAP_MR,
		.key = number << 8 | 1,
		.flags = VRNIC_MAP_FIRST | VRNIC_MAP_LAST,
		.segments = 1,
	};
	map->segment[0] = (struct vrnic_segment){ places[number % 3], MR_LENGTH };
	return sizeof(*map) + sizeof(map->segment[0]);
}

static uint32_t set_up_qp(void *at, uint32_t number)
{
	*(struct vrnic_cmd_create_qp *)at = (struct vrnic_cmd_create_qp){
		.head.opcode = VRNIC_CMD_CREATE_QP,
		.qp = number,
		.pd = 1,
		.type = number == OBJECTS ? VRNIC_QP_UD : VRNIC_QP_RC,
		.send_cq = number,
		.receive_cq = number,
		.send_entries = ENTRIES,
		.receive_entries = ENTRIES,
		.send_address = RAM_IOVA + RINGS + (uint64_t)(2 * OBJECTS + number - 1) * RING,
		.receive_address = RAM_IOVA + RINGS + (uint64_t)(3 * OBJECTS + number - 1) * RING,
		.all_signaled = 1,
	};
	return sizeof(struct vrnic_cmd_create_qp);
}

static uint32_t set_up_state(void *at, uint32_t number, uint32_t state)
{
	*(struct vrnic_cmd_modify_qp *)at = (struct vrnic_cmd_modify_qp){
		.head.opcode = VRNIC_CMD_MODIFY_QP,
		.qp = number,
		.state = state,
		.mask = 0x7ff,
		.destination_qp = number,
		.qkey = 1,
		.access = 0xf,
		.destination_lid = (uint16_t)(1 + fuzz_below(2)),
		.retries = 2,
		.rnr_retries = 2,
		.timeout = 8,
		.rnr_timer = 1,
	};
	return sizeof(struct vrnic_cmd_modify_qp);
}

enum {
	SET_UP_MRS = 2 * OBJECTS,
	SET_UP_QPS = SET_UP_MRS + 2 * OBJECTS,
	STEPS_OF_QP = 5,
	SET_UP = SET_UP_QPS + STEPS_OF_QP * OBJECTS,
};

static uint32_t set_up(struct target *target, void *at)
{
	unsigned int step = target->nic_step++;
	uint32_t number = step % OBJECTS + 1;

	if (step < SET_UP_MRS)
		return step < OBJECTS ? set_up_eq(at, number) : set_up_cq(at, number);
	if (step < SET_UP_QPS)
		return step < SET_UP_MRS + OBJECTS ? set_up_mr(at, number) :
						     set_up_mapping(at, number);
	switch ((step - SET_UP_QPS) / OBJECTS) {
	case 0:
		target->posted[number] = 0;
		return set_up_state(at, number, VRNIC_QPS_RESET);
	case 1:
		return set_up_qp(at, number);
	case 2:
		return set_up_state(at, number, VRNIC_QPS_INIT);
	case 3:
		return set_up_state(at, number, VRNIC_QPS_RTR);
	}
	return set_up_state(at, number, VRNIC_QPS_RTS);
}

static struct vrnic_sge some_sge(void)
{
	struct vrnic_sge sge = {
		.address = MR_START + fuzz_below(MR_LENGTH / 2),
		.length = fuzz_below(MR_LENGTH / 2),
		.key = (1 + fuzz_below(OBJECTS - 1)) << 8 | 1,
	};

	if (fuzz_chance(3))
		sge.key = some_key();
	if (fuzz_chance(3))
		sge.length = fuzz_chance(50) ? fuzz_below(0x8000) : (uint32_t)fuzz_random();
	if (fuzz_chance(3))
		sge.address = fuzz_random();
	return sge;
}

static void put_send(uint32_t number, uint32_t index)
{
	struct vrnic_send_wr *wr = (void *)(fuzz_ram + RINGS + (2 * OBJECTS + number - 1) * RING);

	wr += index % ENTRIES;
	*wr = (struct vrnic_send_wr){
		.id = fuzz_random(),
		.opcode = (uint8_t)(1 + fuzz_below(fuzz_chance(97) ? 7 : 256)),
		.flags = (uint8_t)fuzz_below(16),
		.sges = (uint8_t)fuzz_below(fuzz_chance(97) ? 5 : 256),
		.inline_length = (uint8_t)fuzz_below(fuzz_chance(97) ? 65 : 256),
		.remote_address = MR_START + fuzz_below(MR_LENGTH / 2),
		.remote_key = (1 + fuzz_below(OBJECTS - (fuzz_below(200) > 0))) << 8 | 1,
		.destination_qp = OBJECTS,
		.qkey = 1,
		.destination_lid = (uint16_t)(1 + fuzz_below(fuzz_chance(95) ? 2 : 4)),
	};
	for (unsigned int i = 0; i < VRNIC_MAX_SGE; i++)
		wr->sge[i] = some_sge();
	if (wr->opcode < VRNIC_WR_COMPARE_SWAP || fuzz_chance(10))
		return;
	wr->remote_address &= ~7ull;
	wr->sges = 1;
	wr->sge[0].length = 8;
}

static void put_receive(uint32_t number, uint32_t index)
{
	struct vrnic_receive_wr *wr =
		(void *)(fuzz_ram + RINGS + (3 * OBJECTS + number - 1) * RING);

	wr += index % ENTRIES;
	*wr = (struct vrnic_receive_wr){
		.id = fuzz_random(), .sges = fuzz_chance(97) ? VRNIC_MAX_SGE : fuzz_below(1000),
	};
	for (unsigned int i = 0; i < VRNIC_MAX_SGE; i++)
		wr->sge[i] = some_sge();
}

/* Address and length are two writes: what comes between them is left to chance. */
static void put_register(struct target *target, struct packet *packet)
{
	uint32_t place = COMMANDS + fuzz_below(16) * COMMAND_PLACE;

	if (target->length) {
		packet_write(packet, target, 0, VRNIC_REG_COMMAND, target->length, 4);
		packet->starts_work = true;
		target->length = 0;
		return;
	}
	if (target->nic_step < SET_UP)
		target->length = set_up(target, fuzz_ram + place);
	else
		target->length = put_command(fuzz_ram + place);
	packet_write(packet, target, 0, VRNIC_REG_COMMAND_ADDRESS,
		     fuzz_chance(99) ? RAM_IOVA + place : some_address(), 8);
}

static void put_doorbell(struct target *target, struct packet *packet)
{
	uint32_t number = 1 + fuzz_below(OBJECTS), more = 1 + fuzz_below(4), kind = fuzz_below(3);
	uint32_t index = target->posted[number];

	for (uint32_t i = 0; i < more; i++) {
		put_send(number, index + i);
		put_receive(number, index + i);
	}
	if (kind == 0)
		target->posted[number] = index + more;
	if (fuzz_chance(1))
		more = (uint32_t)fuzz_random();
	if (fuzz_chance(1))
		number = some_number();
	packet_write(packet, target, 2, 8 * kind, (uint64_t)number << 32 | (index + more), 8);
	packet->starts_work = true;
}

void fuzz_nic(struct target *target, struct packet *packet)
{
	/* A QP is of no use once it met an error. */
	if (target->nic_step >= SET_UP && fuzz_chance(3))
		target->nic_step = fuzz_chance(20) ? 0 : SET_UP_QPS;
	if (target->length || target->nic_step < SET_UP || fuzz_chance(target->is_calm ? 3 : 30))
		put_register(target, packet);
	else if (fuzz_below(50))
		put_doorbell(target, packet);
	else
		packet_write(packet, target, 0, VRNIC_REG_BOUNCE_ADDRESS + 8 * fuzz_below(2),
			     RAM_IOVA + DATA, 4);
}

// SPDX-License-Identifier: GPL-2.0-only
/* vrnic without QEMU. All regions together have so many segments, and get back what one gives up. */
#include "test_vrnic.h"

#define AT_ONCE		2048		/* segments of a command */
#define COMMANDS	8		/* of a region */
#define REGIONS		(NIC_SEGMENTS / (AT_ONCE * COMMANDS))
#define SMALL		(REGIONS + 1)	/* a region of one segment */

struct map {
	struct vrnic_cmd_map_mr head;
	struct vrnic_segment segment[AT_ONCE];
};

static unsigned int map_part(struct machine *machine, struct map *map, uint32_t index,
			     uint32_t flags, uint32_t count)
{
	map->head = (struct vrnic_cmd_map_mr){ .head.opcode = VRNIC_CMD_MAP_MR, .key = index << 8,
					       .flags = flags, .segments = count };
	for (unsigned int i = 0; i < count; i++)
		map->segment[i] = (struct vrnic_segment){ RIG_BASE + i, 1 };
	return machine_command(machine, map, sizeof(map->head) + count * sizeof(map->segment[0]));
}

static unsigned int map_region(struct machine *machine, struct map *map, uint32_t index)
{
	unsigned int status = VRNIC_OK;

	if (index == SMALL)
		return map_part(machine, map, index, VRNIC_MAP_FIRST | VRNIC_MAP_LAST, 1);
	for (unsigned int i = 0; i < COMMANDS && status == VRNIC_OK; i++)
		status = map_part(machine, map, index,
				  (i ? 0 : VRNIC_MAP_FIRST) |
				  (i == COMMANDS - 1 ? VRNIC_MAP_LAST : 0), AT_ONCE);
	return status;
}

static unsigned int make_region(struct machine *machine, uint32_t index)
{
	struct vrnic_cmd_create_mr cmd = { .head.opcode = VRNIC_CMD_CREATE_MR, .key = index << 8,
					   .pd = RIG_PD, .access = ALL,
					   .length = index == SMALL ? 1 : AT_ONCE * COMMANDS };

	return machine_command(machine, &cmd, sizeof(cmd));
}

static void use_all(struct machine *machine, struct map *map)
{
	CHECK(make_region(machine, SMALL) == VRNIC_OK);
	for (uint32_t i = 1; i <= REGIONS; i++) {
		CHECK(make_region(machine, i) == VRNIC_OK);
		CHECK(map_region(machine, map, i) == VRNIC_OK);
	}
	CHECK(map_region(machine, map, SMALL) == VRNIC_BAD_ARGUMENT);
}

static void check_given_back(struct machine *machine, struct map *map)
{
	/* When it is unmapped; what it cannot have again for lack of one, it gives back, too. */
	CHECK(number_command(machine, VRNIC_CMD_UNMAP_MR, 1 << 8) == VRNIC_OK);
	CHECK(map_region(machine, map, SMALL) == VRNIC_OK);
	CHECK(map_region(machine, map, 1) == VRNIC_BAD_ARGUMENT);
	CHECK(number_command(machine, VRNIC_CMD_UNMAP_MR, SMALL << 8) == VRNIC_OK);
	CHECK(map_region(machine, map, 1) == VRNIC_OK);
	CHECK(map_region(machine, map, SMALL) == VRNIC_BAD_ARGUMENT);
	/* When it is destroyed. */
	CHECK(number_command(machine, VRNIC_CMD_DESTROY_MR, 2 << 8) == VRNIC_OK);
	CHECK(make_region(machine, 2) == VRNIC_OK);
	CHECK(map_region(machine, map, 2) == VRNIC_OK);
	CHECK(map_region(machine, map, SMALL) == VRNIC_BAD_ARGUMENT);
	/* When others take their place. */
	CHECK(map_region(machine, map, 3) == VRNIC_OK);
	CHECK(map_region(machine, map, SMALL) == VRNIC_BAD_ARGUMENT);
}

static void make_again(struct machine *machine)
{
	struct vrnic_cmd_eq eq = { .head.opcode = VRNIC_CMD_CREATE_EQ, .entries = RIG_EQ_ENTRIES,
				   .address = machine->eqs[0] };

	vrnic_device.reset(&machine->function);
	CHECK(machine_command(machine, &eq, sizeof(eq)) == VRNIC_OK);
}

void test_segments(void)
{
	struct map *map = malloc(sizeof(*map));
	struct machine machine;

	if (!map)
		abort();
	machine_make(&machine);
	use_all(&machine, map);
	check_given_back(&machine, map);
	/* A reset gives back all. */
	make_again(&machine);
	use_all(&machine, map);
	machine_free(&machine);
	free(map);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The function: registers, doorbells, and the one piece of work that does all that they ask for. */
#include "vrnic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "loop.h"
#include "vrnic_nic.h"

#define REGISTERS_SIZE	4096
#define CLASS_RDMA	0x020700
#define LAST_LID	0xbfff
/* Locally administered, so that no vendor's number is taken. */
#define GUID_BASE	0x0276726e6963ull

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the interface is little endian");

struct vrnics vrnics = TAILQ_HEAD_INITIALIZER(vrnics);
static unsigned int next_lid = 1;

int vrnic_set_first_lid(unsigned int lid)
{
	if (!lid || lid > LAST_LID)
		return -EINVAL;
	next_lid = lid;
	return 0;
}

/* After a slow access to a region it is another function's turn. */
static void take_from_budget(struct vrnic *nic, size_t length)
{
	nic->budget -= NIC_ACCESS_COST + (int64_t)length;
	if (nic->budget > 0 && !nic->function->own_queues &&
	    fault_is_on(&nic->function->faults, FAULT_SLOW))
		nic->budget = 0;
}

int nic_read_region(struct vrnic *nic, uint64_t iova, void *to, size_t length)
{
	take_from_budget(nic, length);
	if (nic->dead || dma_read(nic->function, iova, to, length) || nic->dead)
		return -EFAULT;
	return 0;
}

int nic_write_region(struct vrnic *nic, uint64_t iova, const void *from, size_t length)
{
	take_from_budget(nic, length);
	if (nic->dead || dma_write(nic->function, iova, from, length) || nic->dead)
		return -EFAULT;
	return 0;
}

int nic_read(struct vrnic *nic, uint64_t iova, void *to, size_t length)
{
	int error;

	nic->function->own_queues = true;
	error = nic_read_region(nic, iova, to, length);
	nic->function->own_queues = false;
	return error;
}

int nic_write(struct vrnic *nic, uint64_t iova, const void *from, size_t length)
{
	int error;

	nic->function->own_queues = true;
	error = nic_write_region(nic, iova, from, length);
	nic->function->own_queues = false;
	return error;
}

int nic_atomic(struct vrnic *nic, uint64_t iova, enum dma_atomic operation, const uint64_t *operand,
	       uint64_t *before)
{
	take_from_budget(nic, NIC_ACCESS_COST);
	if (nic->dead ||
	    dma_atomic(nic->function, iova, operation, operand[0], operand[1], before) || nic->dead)
		return -EFAULT;
	return 0;
}

static void forget_objects(struct vrnic *nic)
{
	unsigned int i;

	for (i = 1; i <= NIC_QPS; i++)
		qp_destroy(nic, i);
	for (i = 1; i <= NIC_CQS; i++)
		cq_destroy(nic, i);
	for (i = 0; i < NIC_VECTORS; i++)
		eq_destroy(nic, i);
	for (i = 1; i <= NIC_MRS; i++)
		if (nic->mrs[i])
			mr_destroy(nic, nic->mrs[i]->key);
	fabric_forget(nic);
}

/* Only between pieces of work: it holds on to objects while it waits for memory. */
static void clean(struct vrnic *nic)
{
	forget_objects(nic);
	nic->dead = false;
}

static void reset(struct vrnic *nic)
{
	nic->command_address = 0;
	nic->command_length = 0;
	nic->command_state = VRNIC_COMMAND_IDLE;
	nic->command_waits = false;
	nic->bounce_address = 0;
	nic->bounce_size = 0;
	nic->port_event = false;
	function_bounce(nic->function, 0, 0);
	nic->dead = true;
	if (!nic->runs)
		clean(nic);
}

static void run_queues(struct vrnic *nic)
{
	while (nic->budget > 0 && !nic->dead) {
		bool idle = true;

		if (!TAILQ_EMPTY(&nic->rung)) {
			cq_look_at_rung(nic);
			idle = false;
		}
		if (!TAILQ_EMPTY(&nic->inbound)) {
			fabric_take(nic);
			idle = false;
		}
		if (!TAILQ_EMPTY(&nic->active)) {
			struct vrnic_qp *qp = TAILQ_FIRST(&nic->active);

			TAILQ_REMOVE(&nic->active, qp, active_link);
			qp->active = false;
			nic->budget -= NIC_ACCESS_COST;
			qp_run(qp);
			idle = false;
		}
		if (idle)
			return;
	}
}

/* A function that may not reach memory keeps its work, and hears nothing. */
static void run_without_memory(struct vrnic *nic)
{
	while (!TAILQ_EMPTY(&nic->inbound) && nic->budget > 0)
		fabric_take(nic);
}

static bool hangs(const struct vrnic *nic)
{
	return fault_is_on(&nic->function->faults, FAULT_HANG);
}

static void run(void *arg)
{
	struct vrnic *nic = arg;
	bool is_master = function_is_master(nic->function), more;

	nic->deferred = false;
	nic->runs = true;
	nic->budget = NIC_BUDGET;
	if (nic->command_waits && !hangs(nic))
		command_run(nic);
	if (nic->port_event && is_master) {
		nic->port_event = false;
		eq_event(nic, 0, VRNIC_EVENT_PORT, fabric_is_up());
	}
	if (is_master)
		run_queues(nic);
	else
		run_without_memory(nic);
	nic->runs = false;
	if (nic->dead)
		clean(nic);
	more = (nic->command_waits && !hangs(nic)) || !TAILQ_EMPTY(&nic->inbound);
	if (is_master)
		more |= nic->port_event || !TAILQ_EMPTY(&nic->rung) ||
			!TAILQ_EMPTY(&nic->active);
	if (more)
		nic_defer(nic);
}

void nic_defer(struct vrnic *nic)
{
	if (nic->deferred || nic->runs)
		return;
	nic->deferred = !loop_defer(run, nic);
	if (!nic->deferred)
		fprintf(stderr, "sim: %s: no memory, work waits for the next doorbell\n",
			nic->function->name);
}

static uint64_t read_register(struct vrnic *nic, uint64_t offset)
{
	switch (offset) {
	case VRNIC_REG_MAGIC:
		return VRNIC_MAGIC;
	case VRNIC_REG_ABI:
		return VRNIC_ABI_VERSION;
	case VRNIC_REG_LID:
		return nic->lid;
	case VRNIC_REG_PORT:
		return fabric_is_up();
	case VRNIC_REG_GUID:
		return GUID_BASE << 16 | nic->lid;
	case VRNIC_REG_GUID + 4:
		return GUID_BASE >> 16;
	case VRNIC_REG_MAX_QP:
		return NIC_QPS;
	case VRNIC_REG_MAX_CQ:
		return NIC_CQS;
	case VRNIC_REG_MAX_MR:
		return NIC_MRS;
	case VRNIC_REG_MAX_DOORBELL:
		return NIC_DOORBELLS;
	case VRNIC_REG_VECTORS:
		return NIC_VECTORS;
	case VRNIC_REG_COMMAND_STATE:
		return nic->command_state;
	case VRNIC_REG_FAULTS:
		return nic->function->untranslated;
	default:
		return UINT64_MAX;
	}
}

static uint64_t vrnic_read(struct function *function, unsigned int bar, uint64_t offset,
			   unsigned int size)
{
	struct vrnic *nic = function->private;
	uint64_t value;

	if (bar != 0 || size < 4)
		return UINT64_MAX;
	value = read_register(nic, offset);
	return size == 4 ? (uint32_t)value : value;
}

static void start_command(struct vrnic *nic, uint32_t length)
{
	if (nic->command_state == VRNIC_COMMAND_RUNS)
		return;
	nic->command_length = length;
	nic->command_state = VRNIC_COMMAND_RUNS;
	nic->command_waits = true;
	nic_defer(nic);
}

static void set_low(uint64_t *value, uint32_t half)
{
	*value = (*value & ~(uint64_t)UINT32_MAX) | half;
}

static void set_high(uint64_t *value, uint32_t half)
{
	*value = (uint32_t)*value | (uint64_t)half << 32;
}

static void write_register(struct vrnic *nic, uint64_t offset, uint32_t value)
{
	switch (offset) {
	case VRNIC_REG_COMMAND_ADDRESS:
		set_low(&nic->command_address, value);
		break;
	case VRNIC_REG_COMMAND_ADDRESS + 4:
		set_high(&nic->command_address, value);
		break;
	case VRNIC_REG_COMMAND:
		start_command(nic, value);
		break;
	case VRNIC_REG_RESET:
		if (value == 1 && !hangs(nic))
			reset(nic);
		break;
	case VRNIC_REG_BOUNCE_ADDRESS:
		set_low(&nic->bounce_address, value);
		break;
	case VRNIC_REG_BOUNCE_ADDRESS + 4:
		set_high(&nic->bounce_address, value);
		break;
	case VRNIC_REG_BOUNCE_SIZE:
		nic->bounce_size = value;
		break;
	}
	function_bounce(nic->function, nic->bounce_address, nic->bounce_size);
}

static void ring(struct vrnic *nic, uint64_t offset, uint64_t value)
{
	uint32_t page = offset / VRNIC_DOORBELL_PAGE;

	/* What is there goes away. */
	if (nic->dead)
		return;
	switch (offset % VRNIC_DOORBELL_PAGE) {
	case VRNIC_DOORBELL_SEND:
		qp_ring(nic, page, false, value);
		break;
	case VRNIC_DOORBELL_RECEIVE:
		qp_ring(nic, page, true, value);
		break;
	case VRNIC_DOORBELL_ARM:
		cq_ring(nic, page, value);
		break;
	}
}

static void vrnic_write(struct function *function, unsigned int bar, uint64_t offset,
			unsigned int size, uint64_t value)
{
	struct vrnic *nic = function->private;

	if (bar == 2 && size == 8)
		ring(nic, offset, value);
	if (bar != 0 || size < 4)
		return;
	write_register(nic, offset, value);
	if (size == 8)
		write_register(nic, offset + 4, value >> 32);
}

static void vrnic_reset(struct function *function)
{
	reset(function->private);
}

static void vrnic_go_on(struct function *function)
{
	nic_defer(function->private);
}

static int read_options(const struct function *function, const char *options, bool *ats)
{
	static char *const names[] = { "no-ats", NULL };
	char *copy = strdup(options ? options : ""), *words = copy, *value;
	int error = copy ? 0 : -ENOMEM;

	*ats = true;
	while (!error && *words) {
		char *word = words;

		if (getsubopt(&words, names, &value) == 0 && !value) {
			*ats = false;
			continue;
		}
		fprintf(stderr, "sim: %s: no such option: %s (options: no-ats)\n", function->name,
			word);
		error = -EINVAL;
	}
	free(copy);
	return error;
}

static void describe(struct function *function, bool ats)
{
	struct config *config = &function->config;
	uint64_t doorbells = NIC_DOORBELLS * VRNIC_DOORBELL_PAGE;

	function->bars[0] = (struct bar){ .size = REGISTERS_SIZE, .fd = -1 };
	function->bars[2] = (struct bar){ .size = doorbells, .fd = -1 };
	function->vectors = NIC_VECTORS;
	config_begin(config, VRNIC_VENDOR, VRNIC_DEVICE, CLASS_RDMA);
	config_bar(config, 0, REGISTERS_SIZE, false, false);
	config_bar(config, 2, doorbells, false, false);
	config_express(config);
	config_msix(config, function->vectors, 4);
	if (ats)
		config_ats(config);
}

static int vrnic_create(struct function *function, const char *options)
{
	struct vrnic *nic;
	bool ats;
	int error = read_options(function, options, &ats);

	if (error)
		return error;
	if (next_lid > LAST_LID) {
		fprintf(stderr, "sim: %s: no LID is left, give a smaller --lid\n", function->name);
		return -ENOSPC;
	}
	nic = calloc(1, sizeof(*nic));
	if (!nic)
		return -ENOMEM;
	nic->function = function;
	nic->lid = next_lid++;
	TAILQ_INIT(&nic->active);
	TAILQ_INIT(&nic->rung);
	TAILQ_INIT(&nic->inbound);
	TAILQ_INSERT_TAIL(&vrnics, nic, link);
	function->private = nic;
	describe(function, ats);
	return 0;
}

static void vrnic_destroy(struct function *function)
{
	struct vrnic *nic = function->private;

	forget_objects(nic);
	loop_forget(nic);
	TAILQ_REMOVE(&vrnics, nic, link);
	free(nic);
	function->private = NULL;
}

const struct device vrnic_device = {
	.kind = "vrnic",
	.create = vrnic_create,
	.read = vrnic_read,
	.write = vrnic_write,
	.reset = vrnic_reset,
	.go_on = vrnic_go_on,
	.state = vrnic_state,
	.destroy = vrnic_destroy,
};

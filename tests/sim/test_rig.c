// SPDX-License-Identifier: GPL-2.0-only
#include "test_rig.h"

#include <errno.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#include "dma.h"
#include "log.h"
#include "loop.h"

#define MOST_WORK	4096
#define MOST_TIMERS	4096
#define MOST_FDS	16
#define RUN_LIMIT	400000	/* pieces of work after which something spins */

unsigned int rig_failures, rig_checks, rig_turns;

static struct {
	loop_work run;
	void *arg;
} works[MOST_WORK];
static unsigned int work_first, work_count;

static struct {
	uint64_t id, due;
	loop_work run;
	void *arg;
} timers[MOST_TIMERS];
static uint64_t next_timer = 1, skew;

static struct {
	int fd;
	short events;
	loop_ready ready;
	void *arg;
} fds[MOST_FDS];
static unsigned int fd_count;

uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000ull + now.tv_nsec / 1000 + skew;
}

int loop_defer(loop_work run, void *arg)
{
	unsigned int at = (work_first + work_count) % MOST_WORK;

	if (work_count == MOST_WORK)
		return -ENOMEM;
	works[at].run = run;
	works[at].arg = arg;
	work_count++;
	return 0;
}

uint64_t loop_timer(uint64_t microseconds, loop_work run, void *arg)
{
	unsigned int i;

	for (i = 0; i < MOST_TIMERS && timers[i].id; i++)
		;
	if (i == MOST_TIMERS)
		return 0;
	timers[i].id = next_timer++;
	timers[i].due = loop_now() + microseconds;
	timers[i].run = run;
	timers[i].arg = arg;
	return timers[i].id;
}

void loop_cancel(uint64_t timer)
{
	unsigned int i;

	for (i = 0; i < MOST_TIMERS; i++)
		if (timers[i].id == timer)
			timers[i].id = 0;
}

static void nothing(void *arg)
{
	(void)arg;
}

void loop_forget(void *arg)
{
	unsigned int i;

	for (i = 0; i < MOST_TIMERS; i++)
		if (timers[i].arg == arg)
			timers[i].id = 0;
	for (i = 0; i < work_count; i++)
		if (works[(work_first + i) % MOST_WORK].arg == arg)
			works[(work_first + i) % MOST_WORK].run = nothing;
}

int loop_add(int fd, short events, loop_ready ready, void *arg)
{
	if (fd_count == MOST_FDS)
		return -ENOMEM;
	fds[fd_count].fd = fd;
	fds[fd_count].events = events;
	fds[fd_count].ready = ready;
	fds[fd_count].arg = arg;
	fd_count++;
	return 0;
}

void loop_change(int fd, short events)
{
	unsigned int i;

	for (i = 0; i < fd_count; i++)
		if (fds[i].fd == fd)
			fds[i].events = events;
}

void loop_remove(int fd)
{
	unsigned int i;

	for (i = 0; i < fd_count; i++)
		if (fds[i].fd == fd)
			fds[i] = fds[--fd_count];
}

static bool run_one(void)
{
	unsigned int at = work_first;

	if (!work_count)
		return false;
	work_first = (work_first + 1) % MOST_WORK;
	work_count--;
	rig_turns++;
	works[at].run(works[at].arg);
	return true;
}

static int first_timer(void)
{
	int i, first = -1;

	for (i = 0; i < MOST_TIMERS; i++)
		if (timers[i].id && (first < 0 || timers[i].due < timers[first].due))
			first = i;
	return first;
}

static bool run_timer(void)
{
	int i = first_timer();

	if (i < 0 || timers[i].due > loop_now())
		return false;
	timers[i].id = 0;
	timers[i].run(timers[i].arg);
	return true;
}

static void poll_fds(int milliseconds)
{
	struct pollfd polled[MOST_FDS];
	unsigned int i, count = fd_count;

	for (i = 0; i < count; i++)
		polled[i] = (struct pollfd){ fds[i].fd, fds[i].events, 0 };
	if (poll(polled, count, milliseconds) <= 0)
		return;
	for (i = 0; i < count; i++) {
		unsigned int j;

		for (j = 0; polled[i].revents && j < fd_count; j++)
			if (fds[j].fd == polled[i].fd) {
				fds[j].ready(fds[j].fd, polled[i].revents, fds[j].arg);
				break;
			}
	}
}

void rig_run(void)
{
	unsigned int count = 0;

	while (run_one() || run_timer()) {
		if (++count < RUN_LIMIT)
			continue;
		fprintf(stderr, "work without end\n");
		abort();
	}
}

/* Time is skipped to the next timer as long as there are no descriptors, which live in real time. */
void rig_run_for(uint64_t microseconds)
{
	uint64_t end = loop_now() + microseconds;

	rig_run();
	while (loop_now() < end) {
		int i = first_timer();
		uint64_t until = i < 0 || timers[i].due > end ? end : timers[i].due;
		uint64_t now = loop_now();

		if (fd_count)
			poll_fds(work_count ? 0 : 1);
		else if (until > now)
			skew += until - now;
		rig_run();
	}
}

static struct machine *machine_of(const struct function *function)
{
	return (struct machine *)((char *)function - offsetof(struct machine, function));
}

void function_interrupt(struct function *function, unsigned int vector)
{
	machine_of(function)->interrupts[vector]++;
}

bool function_is_master(const struct function *function)
{
	return !machine_of(function)->not_master;
}

void log_access(const struct function *function, uint64_t iova, size_t length, const char *op,
		const char *outcome, const char *route)
{
	(void)function;
	(void)iova;
	(void)length;
	(void)op;
	(void)outcome;
	(void)route;
}

void function_bounce(struct function *function, uint64_t iova, uint64_t size)
{
	function->bounce = iova;
	function->bounce_size = size;
}

static uint8_t *reach(struct function *function, uint64_t iova, size_t length)
{
	struct machine *machine = machine_of(function);

	machine->dma_count++;
	machine->dma_at = iova;
	if (machine->during_dma)
		machine->during_dma(machine);
	if (machine->not_master || iova < RIG_BASE || iova - RIG_BASE > RIG_MEMORY ||
	    length > RIG_MEMORY - (iova - RIG_BASE) ||
	    (iova < machine->fails_to && iova + length > machine->fails_from)) {
		function->untranslated++;
		return NULL;
	}
	return machine->memory + (iova - RIG_BASE);
}

int dma_read(struct function *function, uint64_t iova, void *to, size_t length)
{
	uint8_t *at = reach(function, iova, length);

	if (!at)
		return -EFAULT;
	memcpy(to, at, length);
	return 0;
}

int dma_write(struct function *function, uint64_t iova, const void *from, size_t length)
{
	uint8_t *at = reach(function, iova, length);

	if (!at)
		return -EFAULT;
	memcpy(at, from, length);
	return 0;
}

int dma_atomic(struct function *function, uint64_t iova, enum dma_atomic operation,
	       uint64_t operand1, uint64_t operand2, uint64_t *before)
{
	uint8_t *at = reach(function, iova, sizeof(*before));
	uint64_t after;

	if (!at || iova % sizeof(*before))
		return at ? -EINVAL : -EFAULT;
	memcpy(before, at, sizeof(*before));
	after = *before;
	if (operation == DMA_FETCH_ADD)
		after += operand1;
	else if (*before == operand1)
		after = operand2;
	memcpy(at, &after, sizeof(after));
	return 0;
}

uint64_t machine_allocate(struct machine *machine, size_t length, size_t align)
{
	uint64_t at = (machine->next + align - 1) / align * align;

	machine->next = at + length;
	if (machine->next > RIG_BASE + RIG_MEMORY)
		abort();
	return at;
}

void *machine_at(struct machine *machine, uint64_t iova)
{
	return machine->memory + (iova - RIG_BASE);
}

static void write4(struct machine *machine, unsigned int offset, uint32_t value)
{
	vrnic_device.write(&machine->function, 0, offset, 4, value);
}

unsigned int machine_command(struct machine *machine, void *cmd, size_t length)
{
	uint32_t state;

	memcpy(machine_at(machine, machine->command), cmd, length);
	vrnic_device.write(&machine->function, 0, VRNIC_REG_COMMAND_ADDRESS, 8, machine->command);
	write4(machine, VRNIC_REG_COMMAND, length);
	rig_run();
	state = vrnic_device.read(&machine->function, 0, VRNIC_REG_COMMAND_STATE, 4);
	if (state != VRNIC_COMMAND_DONE)
		return 0x100 + state;
	memcpy(cmd, machine_at(machine, machine->command), length);
	return ((struct vrnic_command_head *)cmd)->status;
}

unsigned int number_command(struct machine *machine, unsigned int opcode, uint32_t number)
{
	struct vrnic_cmd_number cmd = { .head.opcode = opcode, .number = number };

	return machine_command(machine, &cmd, sizeof(cmd));
}

void machine_make(struct machine *machine)
{
	unsigned int i;

	memset(machine, 0, sizeof(*machine));
	snprintf(machine->function.name, sizeof(machine->function.name), "vrnic");
	machine->memory = calloc(1, RIG_MEMORY);
	machine->next = RIG_BASE;
	if (!machine->memory || vrnic_device.create(&machine->function, ""))
		abort();
	machine->command = machine_allocate(machine, VRNIC_COMMAND_SIZE, 4096);
	for (i = 0; i < 2; i++) {
		struct vrnic_cmd_eq eq = { .head.opcode = VRNIC_CMD_CREATE_EQ, .eq = i,
					   .entries = RIG_EQ_ENTRIES };

		machine->eqs[i] = machine_allocate(machine, RIG_EQ_ENTRIES * 16, 4096);
		eq.address = machine->eqs[i];
		CHECK(machine_command(machine, &eq, sizeof(eq)) == VRNIC_OK);
	}
}

void machine_free(struct machine *machine)
{
	vrnic_device.destroy(&machine->function);
	free(machine->memory);
}

uint16_t machine_lid(struct machine *machine)
{
	return vrnic_device.read(&machine->function, 0, VRNIC_REG_LID, 4);
}

bool machine_event(struct machine *machine, unsigned int eq, struct vrnic_event *event)
{
	uint32_t taken = machine->eq_taken[eq];
	struct vrnic_event *ring = machine_at(machine, machine->eqs[eq]);

	*event = ring[taken % RIG_EQ_ENTRIES];
	if (event->phase != !(taken / RIG_EQ_ENTRIES % 2) || !event->type)
		return false;
	machine->eq_taken[eq]++;
	return true;
}

bool machine_event_of(struct machine *machine, unsigned int eq, unsigned int type, uint32_t *number)
{
	struct vrnic_event event;

	while (machine_event(machine, eq, &event))
		if (event.type == type) {
			*number = event.number;
			return true;
		}
	return false;
}

const char *machine_state(struct machine *machine)
{
	static char text[1 << 16];
	FILE *file = tmpfile();

	if (!file)
		abort();
	vrnic_device.state(&machine->function, fileno(file));
	rewind(file);
	text[fread(text, 1, sizeof(text) - 1, file)] = 0;
	fclose(file);
	return text;
}

uint64_t machine_count(struct machine *machine, const char *name)
{
	const char *at = strstr(machine_state(machine), name);

	if (!at)
		abort();
	return strtoull(at + strlen(name), NULL, 10);
}

void rig_doorbell(struct machine *machine, unsigned int offset, uint32_t number, uint32_t value)
{
	vrnic_device.write(&machine->function, 2, VRNIC_DOORBELL_PAGE + offset, 8,
			   (uint64_t)number << 32 | value);
}

void queue_make(struct machine *machine, struct queue *queue, uint32_t number, uint32_t entries)
{
	struct vrnic_cmd_cq cmd = { .head.opcode = VRNIC_CMD_CREATE_CQ, .cq = number, .eq = 1,
				    .doorbell = 1, .entries = entries };

	*queue = (struct queue){ .machine = machine, .number = number, .entries = entries };
	queue->ring = machine_allocate(machine, entries * sizeof(struct vrnic_completion), 4096);
	queue->consumer = machine_allocate(machine, 4096, 4096);
	cmd.address = queue->ring;
	cmd.consumer = queue->consumer;
	CHECK(machine_command(machine, &cmd, sizeof(cmd)) == VRNIC_OK);
}

bool queue_poll(struct queue *queue, struct vrnic_completion *completion)
{
	struct vrnic_completion *ring = machine_at(queue->machine, queue->ring);

	*completion = ring[queue->taken % queue->entries];
	if (completion->phase != !(queue->taken / queue->entries % 2))
		return false;
	queue->taken++;
	*(uint32_t *)machine_at(queue->machine, queue->consumer) = queue->taken;
	return true;
}

void pair_make(struct machine *machine, struct pair *pair, uint32_t number, uint32_t type,
	       struct queue *send_cq, struct queue *receive_cq)
{
	struct vrnic_cmd_create_qp cmd = {
		.head.opcode = VRNIC_CMD_CREATE_QP, .qp = number, .pd = RIG_PD, .type = type,
		.doorbell = 1, .send_cq = send_cq->number, .receive_cq = receive_cq->number,
		.send_entries = RIG_WRS, .receive_entries = RIG_WRS,
	};

	*pair = (struct pair){ .machine = machine, .number = number, .send_cq = send_cq,
			       .receive_cq = receive_cq };
	pair->send_ring = machine_allocate(machine, RIG_WRS * 128, 4096);
	pair->receive_ring = machine_allocate(machine, RIG_WRS * 128, 4096);
	cmd.send_address = pair->send_ring;
	cmd.receive_address = pair->receive_ring;
	CHECK(machine_command(machine, &cmd, sizeof(cmd)) == VRNIC_OK);
}

unsigned int pair_state(struct pair *pair, uint32_t state)
{
	struct vrnic_cmd_modify_qp cmd = { .head.opcode = VRNIC_CMD_MODIFY_QP, .qp = pair->number,
					   .mask = VRNIC_QP_STATE, .state = state };

	if (state == VRNIC_QPS_RESET) {
		pair->sent = 0;
		pair->received = 0;
	}
	return machine_command(pair->machine, &cmd, sizeof(cmd));
}

void pair_connect(struct pair *pair, uint16_t lid, uint32_t number)
{
	struct vrnic_cmd_modify_qp cmd = {
		.head.opcode = VRNIC_CMD_MODIFY_QP, .qp = pair->number,
		.mask = 0x7ff & ~VRNIC_QP_STATE, .destination_qp = number, .destination_lid = lid,
		.qkey = RIG_QKEY, .access = 0xf, .retries = 3, .rnr_retries = 3, .timeout = 14,
		.rnr_timer = 12, .send_psn = 0xfffffc, .receive_psn = 0xfffffc,
	};

	CHECK(pair_state(pair, VRNIC_QPS_INIT) == VRNIC_OK);
	CHECK(machine_command(pair->machine, &cmd, sizeof(cmd)) == VRNIC_OK);
	CHECK(pair_state(pair, VRNIC_QPS_RTR) == VRNIC_OK);
	CHECK(pair_state(pair, VRNIC_QPS_RTS) == VRNIC_OK);
}

unsigned int pair_query(struct pair *pair, struct vrnic_cmd_modify_qp *answer)
{
	memset(answer, 0, sizeof(*answer));
	answer->head.opcode = VRNIC_CMD_QUERY_QP;
	((struct vrnic_cmd_number *)answer)->number = pair->number;
	return machine_command(pair->machine, answer, sizeof(*answer));
}

void pair_post(struct pair *pair, const struct vrnic_send_wr *wr)
{
	struct vrnic_send_wr *ring = machine_at(pair->machine, pair->send_ring);

	ring[pair->sent++ % RIG_WRS] = *wr;
	rig_doorbell(pair->machine, VRNIC_DOORBELL_SEND, pair->number, pair->sent);
}

void pair_receive(struct pair *pair, uint64_t id, const struct buffer *buffer, uint32_t offset,
		  uint32_t length)
{
	struct vrnic_receive_wr *ring = machine_at(pair->machine, pair->receive_ring);
	struct vrnic_receive_wr wr = { .id = id, .sges = length ? 1 : 0 };

	if (length)
		wr.sge[0] = (struct vrnic_sge){ buffer->address + offset, length, buffer->key };
	ring[pair->received++ % RIG_WRS] = wr;
	rig_doorbell(pair->machine, VRNIC_DOORBELL_RECEIVE, pair->number, pair->received);
}

void buffer_make_unmapped(struct machine *machine, struct buffer *buffer, uint32_t index,
			  uint64_t length, uint32_t access)
{
	struct vrnic_cmd_create_mr cmd = { .head.opcode = VRNIC_CMD_CREATE_MR,
					   .key = index << 8 | 0x5a, .pd = RIG_PD,
					   .access = access, .length = length };

	*buffer = (struct buffer){ .machine = machine, .length = length, .key = cmd.key };
	/* Not aligned on purpose, and two segments with a hole between them. */
	buffer->iova = machine_allocate(machine, length + 8192, 4096) + 8;
	buffer->bytes = machine_at(machine, buffer->iova);
	buffer->address = 0x7f0000000000ull + ((uint64_t)index << 32);
	cmd.address = buffer->address;
	CHECK(machine_command(machine, &cmd, sizeof(cmd)) == VRNIC_OK);
}

unsigned int buffer_map(struct buffer *buffer)
{
	struct {
		struct vrnic_cmd_map_mr head;
		struct vrnic_segment segment[2];
	} cmd = { .head = { .head.opcode = VRNIC_CMD_MAP_MR, .key = buffer->key,
			    .flags = VRNIC_MAP_FIRST | VRNIC_MAP_LAST, .segments = 2 } };
	uint64_t first = buffer->length / 2 & ~7ull;

	cmd.segment[0] = (struct vrnic_segment){ buffer->iova, first };
	cmd.segment[1] = (struct vrnic_segment){ buffer->iova + first, buffer->length - first };
	return machine_command(buffer->machine, &cmd, sizeof(cmd));
}

unsigned int buffer_unmap(struct buffer *buffer)
{
	return number_command(buffer->machine, VRNIC_CMD_UNMAP_MR, buffer->key);
}

void buffer_make(struct machine *machine, struct buffer *buffer, uint32_t index, uint64_t length,
		 uint32_t access)
{
	buffer_make_unmapped(machine, buffer, index, length, access);
	CHECK(buffer_map(buffer) == VRNIC_OK);
}

struct vrnic_send_wr wr_of(unsigned int opcode, uint64_t id, const struct buffer *from,
			   uint32_t offset, uint32_t length)
{
	struct vrnic_send_wr wr = { .id = id, .opcode = opcode, .flags = VRNIC_WR_SIGNALED };

	if (length) {
		wr.sges = 1;
		wr.sge[0] = (struct vrnic_sge){ from->address + offset, length, from->key };
	}
	return wr;
}

struct vrnic_send_wr wr_remote(unsigned int opcode, uint64_t id, const struct buffer *from,
			       uint32_t length, const struct buffer *to, uint64_t offset)
{
	struct vrnic_send_wr wr = wr_of(opcode, id, from, 0, length);

	wr.remote_address = to->address + offset;
	wr.remote_key = to->key;
	return wr;
}

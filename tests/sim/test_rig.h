/* SPDX-License-Identifier: GPL-2.0-only */
/* Drives vrnics without QEMU: memory is an array, time passes when nothing else is to do. */
#ifndef SIM_TEST_RIG_H
#define SIM_TEST_RIG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../hca/vrnic_abi.h"
#include "function.h"
#include "vrnic.h"
#include "vrnic_nic.h"

#define RIG_BASE	0x10000000ull	/* IOVA of a machine's memory */
#define RIG_MEMORY	(48u << 20)
#define RIG_PD		7
#define RIG_QKEY	0x11111111
#define RIG_CQ_ENTRIES	256
#define RIG_WRS		64
#define RIG_EQ_ENTRIES	256

extern unsigned int rig_failures, rig_checks;
extern unsigned int rig_turns;		/* pieces of work that ran */

#define CHECK(condition)                                                            \
	do {                                                                        \
		rig_checks++;                                                       \
		if (!(condition)) {                                                 \
			fprintf(stderr, "%s:%d: %s: not so: %s\n", __FILE__,        \
				__LINE__, __func__, #condition);                    \
			rig_failures++;                                             \
		}                                                                   \
	} while (0)

struct machine {
	struct function function;
	uint8_t *memory;
	uint64_t next;			/* IOVA that is free */
	uint64_t command;
	uint64_t eqs[2];
	uint32_t eq_taken[2];
	unsigned int interrupts[NIC_VECTORS];
	bool not_master;
	uint64_t fails_from, fails_to;	/* IOVAs that are not reached */
	void (*during_dma)(struct machine *machine);
	uint64_t dma_count, dma_at;	/* and the last IOVA */
};

struct queue {			/* a CQ */
	struct machine *machine;
	uint32_t number, entries, taken;
	uint64_t ring, consumer;
};

struct pair {			/* a QP */
	struct machine *machine;
	uint32_t number;
	struct queue *send_cq, *receive_cq;
	uint64_t send_ring, receive_ring;
	uint32_t sent, received;
};

struct buffer {
	struct machine *machine;
	uint64_t iova, address, length;
	uint32_t key;
	uint8_t *bytes;
};

void machine_make(struct machine *machine);
void machine_free(struct machine *machine);
uint64_t machine_allocate(struct machine *machine, size_t length, size_t align);
void *machine_at(struct machine *machine, uint64_t iova);
/* Its status, or 0x100 + the state that is not done. */
unsigned int machine_command(struct machine *machine, void *cmd, size_t length);
bool machine_event(struct machine *machine, unsigned int eq, struct vrnic_event *event);
/* Takes events until one of that type; false: there is none. */
bool machine_event_of(struct machine *machine, unsigned int eq, unsigned int type,
		      uint32_t *number);

const char *machine_state(struct machine *machine);	/* as the control socket tells it */
uint64_t machine_count(struct machine *machine, const char *name);	/* that follows NAME there */

void rig_doorbell(struct machine *machine, unsigned int offset, uint32_t number, uint32_t value);
void rig_run(void);				/* until nothing is left but far timers */
void rig_run_for(uint64_t microseconds);	/* also what comes by descriptors */

void queue_make(struct machine *machine, struct queue *queue, uint32_t number, uint32_t entries);
bool queue_poll(struct queue *queue, struct vrnic_completion *completion);

void pair_make(struct machine *machine, struct pair *pair, uint32_t number, uint32_t type,
	       struct queue *send_cq, struct queue *receive_cq);
unsigned int pair_state(struct pair *pair, uint32_t state);	/* only the state */
void pair_connect(struct pair *pair, uint16_t lid, uint32_t number);
unsigned int pair_query(struct pair *pair, struct vrnic_cmd_modify_qp *answer);
void pair_post(struct pair *pair, const struct vrnic_send_wr *wr);
void pair_receive(struct pair *pair, uint64_t id, const struct buffer *buffer, uint32_t offset,
		  uint32_t length);
uint16_t machine_lid(struct machine *machine);

void buffer_make(struct machine *machine, struct buffer *buffer, uint32_t index, uint64_t length,
		 uint32_t access);
void buffer_make_unmapped(struct machine *machine, struct buffer *buffer, uint32_t index,
			  uint64_t length, uint32_t access);
unsigned int buffer_map(struct buffer *buffer);
unsigned int buffer_unmap(struct buffer *buffer);
unsigned int number_command(struct machine *machine, unsigned int opcode, uint32_t number);

struct vrnic_send_wr wr_of(unsigned int opcode, uint64_t id, const struct buffer *from,
			   uint32_t offset, uint32_t length);
struct vrnic_send_wr wr_remote(unsigned int opcode, uint64_t id, const struct buffer *from,
			       uint32_t length, const struct buffer *to, uint64_t offset);

#endif

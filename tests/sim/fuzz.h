/* SPDX-License-Identifier: GPL-2.0-only */
/* A QEMU that means ill, or knows no better: what fuzz.c sends to the server. */
#ifndef SIM_FUZZ_H
#define SIM_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

#define FUZZ_FDS	16
#define FUZZ_BODY	4096

/* Where the guest's RAM, another device's BAR with a file, and one without lie. */
#define RAM_IOVA	0x10000000ull
#define RAM_SIZE	(4u << 20)
#define BAR_IOVA	0x120000000ull
#define BAR_SIZE	(1u << 20)
#define FAR_IOVA	0x30000000ull
#define FAR_SIZE	(1u << 20)

struct packet {
	struct message_head head;
	uint8_t body[FUZZ_BODY];
	size_t length;			/* of the body */
	int fds[FUZZ_FDS];		/* closed once sent */
	unsigned int fd_count;
	bool starts_work;		/* the answer is worth waiting for */
};

struct target {
	char path[128];
	bool is_nic;
	int fd;				/* -1: not connected */
	unsigned int step;		/* of what a reasonable client does first */
	unsigned int nic_step;		/* of what a driver of vrnic does first */
	uint32_t length;		/* of a command that waits to be told, 0: none */
	uint32_t posted[8];		/* on each QP's queues */
	bool is_calm;			/* seldom undoes what it did */
	uint16_t id;
	struct message_head in;		/* what is being read */
	size_t got;
	uint8_t *body;
};

struct counts {
	uint64_t sent, answers, refusals, requests, connections;
};

extern struct counts counts;
extern uint8_t *fuzz_ram;
extern int fuzz_ram_fd, fuzz_bar_fd;

void fuzz_seed(uint64_t seed);
uint64_t fuzz_random(void);
uint32_t fuzz_below(uint32_t limit);	/* 0 to limit - 1 */
bool fuzz_chance(uint32_t percent);

/* The next thing to send; a packet that goes wrong on the way is fuzz_spoil()ed. */
void fuzz_make(struct target *target, struct packet *packet);
void fuzz_spoil(struct packet *packet);

/* A command, work request or doorbell of vrnic: in fuzz_ram, and PACKET tells of it. */
void fuzz_nic(struct target *target, struct packet *packet);

/* The server asked: an answer, true or not. */
void fuzz_answer(const struct target *target, struct packet *packet, uint8_t **data,
		 size_t *data_length);

void packet_begin(struct packet *packet, struct target *target, uint16_t command);
void packet_put(struct packet *packet, const void *data, size_t length);
void packet_write(struct packet *packet, struct target *target, uint32_t region, uint64_t offset,
		  uint64_t value, uint32_t size);

#endif

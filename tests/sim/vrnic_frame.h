/* SPDX-License-Identifier: GPL-2.0-only */
/* What functions send each other: in the process as it is, over a socket head and payload. */
#ifndef SIM_VRNIC_FRAME_H
#define SIM_VRNIC_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#define FRAME_SEGMENT	65536		/* longest payload */
#define FRAME_MAGIC	0x3166766e	/* of FRAME_HELLO, with the version in it */
#define PSN_MASK	0x00ffffff

enum frame_op {
	FRAME_HELLO = 1,	/* between servers: key: magic, source LID: first one, psn: how many */
	FRAME_SEND,
	FRAME_WRITE,
	FRAME_READ,		/* operand[0]: bytes */
	FRAME_READ_DATA,
	FRAME_COMPARE_SWAP,
	FRAME_FETCH_ADD,
	FRAME_ATOMIC_DATA,	/* operand[0]: what was there */
	FRAME_ACK,
	FRAME_NAK,
	FRAME_DATAGRAM,
	FRAME_NO_SUCH,		/* nobody has that LID */
	FRAME_OPS,
};

enum frame_flag {
	FRAME_FIRST = 1 << 0,
	FRAME_LAST = 1 << 1,
	FRAME_IMMEDIATE = 1 << 2,
	FRAME_SOLICITED = 1 << 3,
};

enum frame_nak {
	NAK_SEQUENCE,
	NAK_RNR,
	NAK_PENDING,		/* a page request is under way */
	NAK_REQUEST,
	NAK_ACCESS,
	NAK_OPERATION,
	NAK_CODES,
};

struct frame_head {
	uint32_t length;	/* of the payload */
	uint16_t source_lid;
	uint16_t destination_lid;
	uint32_t source_qp;
	uint32_t destination_qp;
	uint8_t op;
	uint8_t flags;
	uint8_t code;		/* enum frame_nak */
	uint8_t timer;		/* NAK_RNR: as in the InfiniBand specification */
	uint32_t psn;
	uint32_t immediate;
	uint32_t key;
	uint32_t qkey;
	uint32_t reserved;
	uint64_t address;
	uint64_t operand[2];
};

struct frame {
	TAILQ_ENTRY(frame) link;
	struct frame_head head;
	uint8_t payload[];
};

TAILQ_HEAD(frames, frame);

struct frame *frame_new(size_t length);		/* zeroed head but for the length; NULL: no memory */
bool frame_is_sound(const struct frame_head *head);	/* as far as it can be told by itself */

/* How far a is after b, negative if before. */
static inline int32_t psn_distance(uint32_t a, uint32_t b)
{
	return (int32_t)((a - b) << 8) >> 8;
}

static inline uint32_t psn_add(uint32_t psn, uint32_t count)
{
	return (psn + count) & PSN_MASK;
}

/* A message of no bytes takes one as well. */
static inline uint32_t psn_count(uint64_t length)
{
	return length ? (length + FRAME_SEGMENT - 1) / FRAME_SEGMENT : 1;
}

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What vrnic, its driver and its libibverbs provider agree on. All numbers little endian.
 *
 * BAR 0 holds registers, BAR 2 a doorbell page per user context, BAR 4 the MSI-X table. Queues,
 * commands and events lie in the guest's memory and are named by DMA addresses only.
 */
#ifndef VRNIC_ABI_H
#define VRNIC_ABI_H

#include <linux/types.h>

#define VRNIC_VENDOR		0x1234
#define VRNIC_DEVICE		0x766e
#define VRNIC_ABI_VERSION	1
#define VRNIC_MAGIC		0x636e7276	/* "vrnc" */
#define VRNIC_ANY_LID		0xffff

/* BAR 0, 4 KiB. R: read only, W: written by the driver. 32-bit accesses, 64-bit ones where "u64". */
enum vrnic_register {
	VRNIC_REG_MAGIC = 0x00,			/* R */
	VRNIC_REG_ABI = 0x04,			/* R */
	VRNIC_REG_LID = 0x08,			/* R: address on the fabric, 1 to 0xbfff */
	VRNIC_REG_PORT = 0x0c,			/* R: 1 if the fabric is up */
	VRNIC_REG_GUID = 0x10,			/* R, u64 */
	VRNIC_REG_MAX_QP = 0x18,		/* R: QP numbers are 1 to this */
	VRNIC_REG_MAX_CQ = 0x1c,		/* R: CQ numbers are 1 to this */
	VRNIC_REG_MAX_MR = 0x20,		/* R: MR indices are 1 to this */
	VRNIC_REG_MAX_DOORBELL = 0x24,		/* R: pages of BAR 2 */
	VRNIC_REG_VECTORS = 0x28,		/* R: MSI-X vectors, as many event queues */
	VRNIC_REG_COMMAND_ADDRESS = 0x30,	/* W, u64: of VRNIC_COMMAND_SIZE bytes */
	VRNIC_REG_COMMAND = 0x38,		/* W: its length in bytes; the device runs it */
	VRNIC_REG_COMMAND_STATE = 0x3c,		/* R: enum vrnic_command_state */
	VRNIC_REG_RESET = 0x40,			/* W, 1: as after a reset of the function */
	VRNIC_REG_FAULTS = 0x44,		/* R: DMA accesses that found no translation */
	VRNIC_REG_BOUNCE_ADDRESS = 0x48,	/* W, u64: memory for the misbehaviour "bounce" */
	VRNIC_REG_BOUNCE_SIZE = 0x50,		/* W */
};

enum vrnic_command_state {
	VRNIC_COMMAND_IDLE,
	VRNIC_COMMAND_RUNS,
	VRNIC_COMMAND_DONE,	/* the answer lies in the command's place */
	VRNIC_COMMAND_LOST,	/* the command or its answer could not be reached by DMA */
};

/*
 * In a doorbell page of BAR 2; a queue takes doorbells of the page that it was created with only. ARM asks for one
 * event, which comes at once if a completion lies beyond the index that no event has told of.
 */
enum vrnic_doorbell {
	VRNIC_DOORBELL_SEND = 0x00,	/* u64: QP number << 32 | producer index */
	VRNIC_DOORBELL_RECEIVE = 0x08,	/* u64: QP number << 32 | producer index */
	VRNIC_DOORBELL_ARM = 0x10,	/* u64: CQ number << 32 | VRNIC_ARM_SOLICITED | consumer index */
};

#define VRNIC_DOORBELL_PAGE	4096
#define VRNIC_ARM_SOLICITED	(1u << 31)
#define VRNIC_INDEX_MASK	0x00ffffff	/* indices count entries and wrap here, rings are powers of 2 */

#define VRNIC_COMMAND_SIZE	65536
#define VRNIC_MAX_WR		16384
#define VRNIC_MAX_CQE		65536
#define VRNIC_MAX_SGE		4
#define VRNIC_MAX_INLINE	64
#define VRNIC_MAX_MESSAGE	(1u << 30)
#define VRNIC_MTU		4096		/* longest UD message */
#define VRNIC_GRH		40		/* bytes before the data of a UD receive, zero */

enum vrnic_opcode {
	VRNIC_CMD_NOP,
	VRNIC_CMD_CREATE_EQ,
	VRNIC_CMD_DESTROY_EQ,
	VRNIC_CMD_CREATE_CQ,
	VRNIC_CMD_DESTROY_CQ,
	VRNIC_CMD_CREATE_QP,
	VRNIC_CMD_MODIFY_QP,
	VRNIC_CMD_QUERY_QP,
	VRNIC_CMD_DESTROY_QP,
	VRNIC_CMD_CREATE_MR,	/* without translations: nothing reaches it yet */
	VRNIC_CMD_MAP_MR,	/* adds segments; with VRNIC_MAP_LAST the MR works */
	VRNIC_CMD_UNMAP_MR,	/* when done, no access is under way and none begins until mapped again */
	VRNIC_CMD_FAIL_MR,	/* its page request cannot be met: waiting work fails */
	VRNIC_CMD_DESTROY_MR,
};

/* Answers, in struct vrnic_command_head. */
enum vrnic_status {
	VRNIC_OK,
	VRNIC_BAD_OPCODE,
	VRNIC_BAD_ARGUMENT,
	VRNIC_BAD_NUMBER,	/* no such object, or the number is taken */
	VRNIC_BAD_STATE,	/* of a QP; or a CQ or EQ that is in use */
	VRNIC_BAD_LENGTH,
};

struct vrnic_command_head {
	__u16 opcode;
	__u16 status;		/* written by the device */
	__u32 reserved;
};

/* Event queue 0 has vector 0 and takes all events but completions; queue N has vector N. */
struct vrnic_cmd_eq {
	struct vrnic_command_head head;
	__u32 eq;
	__u32 entries;		/* power of 2 */
	__u64 address;
};

struct vrnic_cmd_cq {
	struct vrnic_command_head head;
	__u32 cq;
	__u32 eq;
	__u32 doorbell;		/* page */
	__u32 entries;		/* power of 2 */
	__u64 address;		/* of the entries */
	__u64 consumer;		/* address of a __u32: how many were taken, kept by the user */
};

enum vrnic_qp_type {
	VRNIC_QP_RC = 1,
	VRNIC_QP_UD,
};

enum vrnic_qp_state {
	VRNIC_QPS_RESET,
	VRNIC_QPS_INIT,
	VRNIC_QPS_RTR,
	VRNIC_QPS_RTS,
	VRNIC_QPS_ERROR,
};

struct vrnic_cmd_create_qp {
	struct vrnic_command_head head;
	__u32 qp;
	__u32 pd;
	__u32 type;
	__u32 doorbell;		/* page */
	__u32 send_cq;
	__u32 receive_cq;
	__u32 send_entries;	/* powers of 2 */
	__u32 receive_entries;
	__u64 send_address;
	__u64 receive_address;
	__u8 all_signaled;
	__u8 reserved[7];
};

enum vrnic_access {
	VRNIC_LOCAL_WRITE = 1 << 0,
	VRNIC_REMOTE_WRITE = 1 << 1,
	VRNIC_REMOTE_READ = 1 << 2,
	VRNIC_REMOTE_ATOMIC = 1 << 3,
	VRNIC_RELAXED_ORDERING = 1 << 4,
};

/* Fields that a state does not need are ignored; QUERY_QP gives the same back. */
struct vrnic_cmd_modify_qp {
	struct vrnic_command_head head;
	__u32 qp;
	__u32 state;
	__u32 mask;		/* enum vrnic_qp_field */
	__u32 destination_qp;
	__u32 qkey;
	__u32 access;		/* remote rights of the QP, enum vrnic_access */
	__u16 destination_lid;
	__u8 retries;		/* of a lost answer */
	__u8 rnr_retries;	/* 7: without end */
	__u8 timeout;		/* 4.096 us << this; 0: none */
	__u8 rnr_timer;		/* as in the InfiniBand specification, 9.7.5.2.8 */
	__u8 reserved[2];
	__u32 send_psn;
	__u32 receive_psn;
};

enum vrnic_qp_field {
	VRNIC_QP_STATE = 1 << 0,
	VRNIC_QP_DESTINATION = 1 << 1,	/* QP number */
	VRNIC_QP_PATH = 1 << 2,		/* LID */
	VRNIC_QP_QKEY = 1 << 3,
	VRNIC_QP_ACCESS = 1 << 4,
	VRNIC_QP_RETRIES = 1 << 5,
	VRNIC_QP_RNR_RETRIES = 1 << 6,
	VRNIC_QP_TIMEOUT = 1 << 7,
	VRNIC_QP_RNR_TIMER = 1 << 8,
	VRNIC_QP_SEND_PSN = 1 << 9,
	VRNIC_QP_RECEIVE_PSN = 1 << 10,
};

/* An MR's key is index << 8 | tag, the same for local and remote use. */
struct vrnic_cmd_create_mr {
	struct vrnic_command_head head;
	__u32 key;
	__u32 pd;
	__u32 access;
	__u32 reserved;
	__u64 address;		/* by which work requests name its first byte */
	__u64 length;
};

struct vrnic_segment {
	__u64 address;		/* DMA address, any alignment */
	__u64 length;
};

#define VRNIC_MAP_FIRST		(1u << 0)	/* forget earlier segments */
#define VRNIC_MAP_LAST		(1u << 1)	/* together they must be as long as the MR */

struct vrnic_cmd_map_mr {
	struct vrnic_command_head head;
	__u32 key;
	__u32 flags;
	__u32 segments;
	__u32 reserved;
	struct vrnic_segment segment[];
};

/* DESTROY_*, QUERY_QP (the answer is a struct vrnic_cmd_modify_qp), UNMAP_MR, FAIL_MR. */
struct vrnic_cmd_number {
	struct vrnic_command_head head;
	__u32 number;		/* or key */
	__u32 reserved;
};

enum vrnic_event_type {
	VRNIC_EVENT_COMPLETION = 1,	/* number: CQ */
	VRNIC_EVENT_CQ_ERROR,		/* number: CQ, which had no place for an entry */
	VRNIC_EVENT_QP_FATAL,		/* number: QP */
	VRNIC_EVENT_QP_ACCESS,		/* number: QP that was asked for what it may not give */
	VRNIC_EVENT_PAGE_REQUEST,	/* number: key of an MR that is needed and not mapped */
	VRNIC_EVENT_PORT,		/* number: 1 up, 0 down */
	VRNIC_EVENT_COMMAND,		/* the command is done */
};

/* Valid when phase is 1 in the first round of the ring, 0 in the second, and so on. */
struct vrnic_event {
	__u8 type;
	__u8 phase;
	__u16 reserved;
	__u32 number;
	__u64 reserved2;
};

enum vrnic_wr_opcode {
	VRNIC_WR_SEND = 1,
	VRNIC_WR_SEND_IMM,
	VRNIC_WR_WRITE,
	VRNIC_WR_WRITE_IMM,
	VRNIC_WR_READ,
	VRNIC_WR_COMPARE_SWAP,
	VRNIC_WR_FETCH_ADD,
};

enum vrnic_wr_flag {
	VRNIC_WR_SIGNALED = 1 << 0,
	VRNIC_WR_SOLICITED = 1 << 1,
	VRNIC_WR_INLINE = 1 << 2,	/* data lies in place of the SGEs, inline_length bytes */
	VRNIC_WR_FENCE = 1 << 3,
};

struct vrnic_sge {
	__u64 address;
	__u32 length;
	__u32 key;
};

/* An entry of a send queue: 128 bytes. */
struct vrnic_send_wr {
	__u64 id;
	__u8 opcode;
	__u8 flags;
	__u8 sges;
	__u8 inline_length;
	__u32 immediate;	/* as it is to arrive, opaque */
	__u64 remote_address;
	__u32 remote_key;
	__u32 destination_qp;	/* UD */
	__u64 compare_add;
	__u64 swap;
	__u32 qkey;		/* UD */
	__u16 destination_lid;	/* UD */
	__u16 reserved;
	__u64 reserved2;
	union {
		struct vrnic_sge sge[VRNIC_MAX_SGE];
		__u8 data[VRNIC_MAX_INLINE];
	};
};

/* An entry of a receive queue: 80 bytes are used of 128. */
struct vrnic_receive_wr {
	__u64 id;
	__u32 sges;
	__u32 reserved;
	struct vrnic_sge sge[VRNIC_MAX_SGE];
	__u8 reserved2[48];
};

enum vrnic_wc_status {
	VRNIC_WC_OK,
	VRNIC_WC_LOCAL_LENGTH,
	VRNIC_WC_LOCAL_PROTECTION,
	VRNIC_WC_LOCAL_QP,
	VRNIC_WC_FLUSHED,
	VRNIC_WC_REMOTE_REQUEST,
	VRNIC_WC_REMOTE_ACCESS,
	VRNIC_WC_REMOTE_OPERATION,
	VRNIC_WC_RETRIES,
	VRNIC_WC_RNR_RETRIES,
	VRNIC_WC_GENERAL,
};

enum vrnic_wc_opcode {
	VRNIC_WC_SEND = 1,
	VRNIC_WC_WRITE,
	VRNIC_WC_READ,
	VRNIC_WC_COMPARE_SWAP,
	VRNIC_WC_FETCH_ADD,
	VRNIC_WC_RECEIVE,
	VRNIC_WC_RECEIVE_WRITE_IMM,
};

#define VRNIC_WC_IMMEDIATE	(1 << 0)
#define VRNIC_WC_GRH		(1 << 1)

/* An entry of a completion queue: 64 bytes; phase as in struct vrnic_event, written last. */
struct vrnic_completion {
	__u64 id;
	__u32 qp;
	__u32 source_qp;
	__u32 length;
	__u32 immediate;
	__u32 vendor_error;
	__u16 source_lid;
	__u8 status;
	__u8 opcode;
	__u8 flags;
	__u8 reserved[27];
	__u32 phase;
};

/* Between driver and provider: what comes after the answers of ib_uverbs. */
struct vrnic_alloc_context_answer {
	__u64 doorbell_key;	/* mmap offset of the context's doorbell page */
	__u32 max_sge;
	__u32 max_inline;
};

struct vrnic_create_cq_answer {
	__u64 ring_key;		/* mmap offset: the entries, then a page that starts with the consumer index */
	__u64 ring_size;	/* bytes, with that page */
	__u32 cq;
	__u32 entries;
};

struct vrnic_create_qp_answer {
	__u64 send_key;
	__u64 receive_key;
	__u64 send_size;	/* bytes */
	__u64 receive_size;
	__u32 qp;
	__u32 send_entries;
	__u32 receive_entries;
	__u32 reserved;
};

#endif

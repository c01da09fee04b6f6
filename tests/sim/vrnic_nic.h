/* SPDX-License-Identifier: GPL-2.0-only */
/* A vrnic and its objects, for the files that make it up. */
#ifndef SIM_VRNIC_NIC_H
#define SIM_VRNIC_NIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "../hca/vrnic_abi.h"
#include "dma.h"
#include "vrnic_frame.h"

#define NIC_QPS			1024
#define NIC_CQS			1024
#define NIC_MRS			4096
#define NIC_DOORBELLS		64
#define NIC_VECTORS		8
#define NIC_EQ_ENTRIES		65536
#define NIC_SEGMENTS		(1u << 20)	/* of all MRs together */
#define NIC_BUDGET		(1u << 20)	/* bytes moved before others have their turn */
#define NIC_ACCESS_COST		64		/* of any access, in such bytes */
#define NIC_INBOUND		(4u << 20)	/* bytes of frames that wait, beyond answers without data */

#define QP_WINDOW		64		/* work requests begun and not completed */
#define QP_SEGMENTS		16		/* sent and not acknowledged */
#define QP_READS		16		/* reads and atomics under way */

/* completion.vendor_error */
enum nic_vendor_error {
	NIC_ERROR_DMA = 1,	/* memory could not be reached */
	NIC_ERROR_PAGE,		/* a page request was not met */
	NIC_ERROR_KEY,		/* key, PD, bounds or right */
	NIC_ERROR_REQUEST,	/* the work request is malformed */
	NIC_ERROR_INJECTED,	/* the misbehaviour "cqe-error" */
};

struct function;
struct vrnic;

struct vrnic_eq {
	uint32_t number;
	uint32_t entries;
	uint64_t address;
	uint32_t producer;
	unsigned int users;
};

struct vrnic_cq {
	TAILQ_ENTRY(vrnic_cq) armed_link;
	struct vrnic *nic;
	struct vrnic_eq *eq;
	uint32_t number;
	uint32_t doorbell;
	uint32_t entries;
	uint64_t address;
	uint64_t consumer_address;
	uint32_t producer;
	uint32_t consumer;		/* as last seen */
	uint32_t solicited;		/* producer after the last solicited completion */
	uint32_t told;			/* producer at the last event */
	bool armed, armed_solicited;
	bool rung;			/* the doorbell, not yet looked at */
	uint32_t rung_index;
	bool rung_solicited;
	bool overrun;
	unsigned int users;
};

struct vrnic_mr {
	uint32_t key;
	uint32_t pd;
	uint32_t access;
	uint64_t address;
	uint64_t length;
	struct vrnic_segment *segments;
	uint64_t *starts;		/* of each segment in the MR */
	uint32_t count;
	uint64_t mapped_length;
	bool mapped;
	bool requested;
	uint64_t until;			/* of the page request, or of its failure */
	bool failed;
};

struct vrnic_ring {
	uint64_t address;
	uint32_t entries;
	uint32_t producer;
	uint32_t next;			/* index of the entry to fetch next */
};

/* A work request of the send queue that was fetched. */
struct send_work {
	struct vrnic_send_wr wr;
	uint32_t psn;			/* first one */
	uint32_t psns;
	uint32_t length;
	uint32_t received;		/* segments of a read, answers of an atomic */
	uint8_t status;			/* enum vrnic_wc_status: found before it was sent */
	uint8_t vendor_error;
	bool checked;
};

struct send_queue {
	struct vrnic_ring ring;
	struct send_work work[QP_WINDOW];
	unsigned int first, count;	/* those in flight */
	unsigned int position;		/* from first: the one to send next */
	uint32_t segment;		/* of it */
	uint32_t next_psn;		/* for the next one fetched */
	uint32_t acknowledged;		/* first PSN that is not */
	uint32_t sent;			/* first PSN never sent */
	unsigned int retries, rnr_retries;	/* left */
	uint64_t hold_until;		/* nothing is sent before; 0: no hold */
	uint64_t answer_by;		/* 0: none is awaited */
};

/* What is to be answered with data, in order: a read, or an atomic operation that is done. */
struct data_answer {
	uint32_t psn;
	bool is_atomic;
	uint64_t before;
	uint32_t key;
	uint64_t address;
	uint64_t left;
};

struct atomic_done {
	uint32_t psn;
	bool valid;
	uint64_t before;
};

/* A refusal that waits until earlier answers are out. */
struct refusal {
	bool waits;
	uint8_t code;
	uint32_t psn;
};

struct receive_queue {
	struct vrnic_ring ring;
	struct vrnic_receive_wr wr;
	bool has_wr;
	bool in_send, in_write;		/* between first and last segment */
	bool nak_sent;			/* until the awaited PSN comes */
	uint32_t offset;		/* bytes of the message so far */
	uint32_t expected;		/* PSN */
	struct data_answer answers[QP_READS];
	unsigned int first_answer, answer_count;
	struct atomic_done atomics[QP_READS];
	unsigned int next_atomic;
	struct refusal refusal;
};

struct vrnic_qp {
	TAILQ_ENTRY(vrnic_qp) active_link;
	struct vrnic *nic;
	uint32_t number;
	uint32_t pd;
	uint32_t type;
	uint32_t doorbell;
	bool all_signaled;
	struct vrnic_cq *send_cq, *receive_cq;
	struct vrnic_cmd_modify_qp attributes;	/* with the state */
	bool active;			/* in the list */
	bool blocked;			/* until the fabric has room */
	bool timed_out;
	bool fatal;			/* told by an event */
	bool flush_failed;
	uint64_t timer, timer_at;
	struct send_queue send;
	struct receive_queue receive;
};

struct vrnic_counters {
	uint64_t frames_out, frames_in, bytes_out, bytes_in;
	uint64_t completions, error_completions, events, commands;
	uint64_t retries, rnr, page_requests, dropped;
};

struct vrnic {
	TAILQ_ENTRY(vrnic) link;
	struct function *function;
	uint16_t lid;
	/* registers */
	uint64_t command_address;
	uint32_t command_length;
	uint32_t command_state;
	bool command_waits;
	uint64_t bounce_address;
	uint32_t bounce_size;
	/* objects by number, 0 is not used but for EQs */
	struct vrnic_eq *eqs[NIC_VECTORS];
	struct vrnic_cq *cqs[NIC_CQS + 1];
	struct vrnic_qp *qps[NIC_QPS + 1];
	struct vrnic_mr *mrs[NIC_MRS + 1];
	uint32_t segments;
	/* work */
	TAILQ_HEAD(, vrnic_qp) active;
	TAILQ_HEAD(, vrnic_cq) rung;
	struct frames inbound;
	size_t inbound_bytes;
	bool deferred;
	bool runs;
	bool dead;			/* was reset while it ran; its objects go when that ends */
	bool port_event;		/* to be told */
	int64_t budget;
	struct vrnic_counters counters;
	union {
		uint8_t command[VRNIC_COMMAND_SIZE];
		struct vrnic_command_head command_head;
	} __attribute__((aligned(8)));
};

TAILQ_HEAD(vrnics, vrnic);
extern struct vrnics vrnics;

/* vrnic.c */
void nic_defer(struct vrnic *nic);
/* Its own queues, commands and events. */
int nic_read(struct vrnic *nic, uint64_t iova, void *to, size_t length);
int nic_write(struct vrnic *nic, uint64_t iova, const void *from, size_t length);
/* Memory of regions, which misbehaviours are about. */
int nic_read_region(struct vrnic *nic, uint64_t iova, void *to, size_t length);
int nic_write_region(struct vrnic *nic, uint64_t iova, const void *from, size_t length);
int nic_atomic(struct vrnic *nic, uint64_t iova, enum dma_atomic operation, const uint64_t *operand,
	       uint64_t *before);

/* vrnic_state.c */
void vrnic_state(struct function *function, int out);

/* vrnic_command.c */
void command_run(struct vrnic *nic);

/* vrnic_eq.c */
unsigned int eq_create(struct vrnic *nic, const struct vrnic_cmd_eq *cmd);
unsigned int eq_destroy(struct vrnic *nic, uint32_t number);
void eq_event(struct vrnic *nic, unsigned int eq, enum vrnic_event_type type, uint32_t number);

/* vrnic_cq.c */
unsigned int cq_create(struct vrnic *nic, const struct vrnic_cmd_cq *cmd);
unsigned int cq_destroy(struct vrnic *nic, uint32_t number);
void cq_ring(struct vrnic *nic, uint32_t doorbell, uint64_t value);
void cq_look_at_rung(struct vrnic *nic);
/* 0, or -ENOSPC/-EFAULT: it is lost and the CQ is in error. */
int cq_complete(struct vrnic_cq *cq, struct vrnic_completion *completion, bool solicited);

/* vrnic_mr.c */
enum mr_result {
	MR_OK,
	MR_REFUSED,		/* key, PD, bounds or right */
	MR_PENDING,		/* a page request is under way: again later */
	MR_FAILED,		/* it was not met */
	MR_UNREACHED,		/* by DMA */
};

unsigned int mr_create(struct vrnic *nic, const struct vrnic_cmd_create_mr *cmd);
unsigned int mr_map(struct vrnic *nic, const struct vrnic_cmd_map_mr *cmd, size_t length);
unsigned int mr_unmap(struct vrnic *nic, uint32_t key);
unsigned int mr_fail(struct vrnic *nic, uint32_t key);
unsigned int mr_destroy(struct vrnic *nic, uint32_t key);

/* What an access is made by and needs. */
struct mr_access {
	uint32_t pd;
	uint32_t key;
	uint32_t rights;	/* enum vrnic_access, all of them; 0: local read */
};

enum mr_result mr_check(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			uint64_t length);
enum mr_result mr_read(struct vrnic *nic, const struct mr_access *access, uint64_t address,
		       void *to, size_t length);
enum mr_result mr_write(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			const void *from, size_t length);
enum mr_result mr_atomic(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			 const struct frame_head *head, uint64_t *before);

/* vrnic_sge.c */
int64_t sge_length(const struct vrnic_sge *sge, unsigned int count);	/* -1: longer than a message may be */
enum mr_result sge_check(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			 uint32_t rights);
/* OFFSET counts over all of them; the bytes must be there. */
enum mr_result sge_gather(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			  uint64_t offset, void *to, size_t length);
enum mr_result sge_scatter(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			   uint64_t offset, const void *from, size_t length);

/* vrnic_qp.c */
unsigned int qp_create(struct vrnic *nic, const struct vrnic_cmd_create_qp *cmd);
unsigned int qp_modify(struct vrnic *nic, const struct vrnic_cmd_modify_qp *cmd);
unsigned int qp_query(struct vrnic *nic, uint32_t number, struct vrnic_cmd_modify_qp *answer);
unsigned int qp_destroy(struct vrnic *nic, uint32_t number);
void qp_ring(struct vrnic *nic, uint32_t doorbell, bool receive, uint64_t value);
void qp_activate(struct vrnic_qp *qp);
void qp_error(struct vrnic_qp *qp);	/* state ERROR: what is posted is flushed */
void qp_fatal(struct vrnic_qp *qp);	/* with an event, when no completion can tell */
void qp_arm_timer(struct vrnic_qp *qp);
void qp_run(struct vrnic_qp *qp);
static inline uint32_t qp_state(const struct vrnic_qp *qp)
{
	return qp->attributes.state;
}

/* vrnic_ring.c */
uint32_t ring_waiting(const struct vrnic_ring *ring);
int ring_fetch(struct vrnic *nic, struct vrnic_ring *ring, void *entry);	/* 128 bytes; 0, -EAGAIN, -EFAULT, -ERANGE */

/* vrnic_complete.c: completions of a QP's work */
void complete_send(struct vrnic_qp *qp, const struct send_work *work, unsigned int status,
		   unsigned int vendor_error);
void complete_receive(struct vrnic_qp *qp, const struct frame_head *head, uint32_t length,
		      unsigned int status, unsigned int vendor_error);
bool complete_flush(struct vrnic_qp *qp);	/* true: there is more */

/* vrnic_send.c: the requester's way out; answers to it in vrnic_answer.c */
bool send_run(struct vrnic_qp *qp);		/* true: there is more to do at once */
struct send_work *send_at(struct send_queue *send, unsigned int position);
bool send_wants_data(const struct send_work *work);	/* a read or an atomic operation */
void send_pop(struct send_queue *send);
void send_rewind(struct vrnic_qp *qp, uint32_t psn);
void send_hold(struct vrnic_qp *qp, uint64_t microseconds);
void send_await(struct vrnic_qp *qp);		/* an answer, from now on */
void send_fail(struct send_work *work, enum mr_result result);	/* locally */
void answer_take(struct vrnic_qp *qp, const struct frame *frame);
void answer_timeout(struct vrnic_qp *qp);
void answer_unreachable(struct vrnic_qp *qp);	/* nobody has the LID */
void answer_finish(struct vrnic_qp *qp);	/* completes what is done, in order */

/* vrnic_respond.c: the responder */
void respond_take(struct vrnic_qp *qp, const struct frame *frame);
void respond_ack(struct vrnic_qp *qp);
void respond_nak(struct vrnic_qp *qp, enum frame_nak code, uint32_t psn);
/* The QP goes to ERROR after its peer was told. */
void respond_refuse(struct vrnic_qp *qp, enum frame_nak code, uint32_t psn);
void respond_mr(struct vrnic_qp *qp, enum mr_result result, uint32_t psn);
struct frame *respond_frame(struct vrnic_qp *qp, enum frame_op op, uint32_t psn, size_t length);

/* vrnic_data.c: answers with data. "again": the requester missed the answer. */
void data_read(struct vrnic_qp *qp, const struct frame_head *head, bool again);
void data_atomic(struct vrnic_qp *qp, const struct frame_head *head, bool again);
bool data_run(struct vrnic_qp *qp);	/* true: there is more */

/* vrnic_receive.c: entries of the receive queue */
int receive_get(struct vrnic_qp *qp);	/* 0, -EAGAIN: none is posted, else the QP is in error */
void receive_drop(struct vrnic_qp *qp);	/* it is completed */

/* vrnic_ud.c */
void ud_take(struct vrnic_qp *qp, const struct frame *frame);

/* vrnic_fabric.c */
void fabric_send(struct vrnic *nic, struct frame *frame);	/* the frame is the fabric's now */
bool fabric_has_room(const struct vrnic *nic, uint16_t lid);
void fabric_take(struct vrnic *nic);	/* one frame from those that wait */
void fabric_forget(struct vrnic *nic);
void fabric_wake(void);			/* there is room again */
struct vrnic *fabric_find(uint16_t lid);
void fabric_enqueue(struct vrnic *nic, struct frame *frame);
bool fabric_turn_back(struct frame *frame);	/* as FRAME_NO_SUCH to who sent it; false: it needs no answer */
bool fabric_is_up(void);

/* vrnic_link.c: the socket to another server */
bool link_is_used(void);
bool link_is_up(void);
bool link_has_room(void);
void link_send(struct frame *frame);
void link_room_in(void);	/* a function has room for what waits in the socket */

#endif

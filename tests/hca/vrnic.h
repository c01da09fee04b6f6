/* SPDX-License-Identifier: GPL-2.0-only */
/* The driver's own names. Those it shares with device and provider are in vrnic_abi.h. */
#ifndef VRNIC_H
#define VRNIC_H

#include <linux/completion.h>
#include <linux/idr.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "compat.h"
#include "vrnic_abi.h"

/* One page of BAR 2 is one of the user's pages, and the device's numbers are the CPU's. */
static_assert(PAGE_SIZE == VRNIC_DOORBELL_PAGE);

#define VRNIC_NAME		"vrnic_ib"
#define VRNIC_MAX_PD		65535
#define VRNIC_MAX_READS		16	/* outstanding, of a QP */
#define VRNIC_UNICAST_LIDS	0xbfff

struct vrnic_eq {
	struct vrnic *dev;
	struct vrnic_event *ring;
	dma_addr_t dma;
	u32 next;		/* event to come, counted without end */
};

enum vrnic_flag {
	VRNIC_GONE,		/* it does not answer, or not sensibly; no command is sent any more */
	VRNIC_REGISTERED,
};

struct vrnic {
	struct ib_device ib;
	struct pci_dev *pdev;
	void __iomem *registers;
	unsigned long flags;

	u32 lid;
	u64 guid;
	u32 max_qp;
	u32 max_cq;
	u32 max_mr;
	u32 max_doorbell;

	struct mutex command_lock;	/* one command at a time */
	void *command;
	dma_addr_t command_dma;
	struct completion command_done;
	void *bounce;
	dma_addr_t bounce_dma;

	struct vrnic_eq *eqs;
	unsigned int vectors;

	struct ida doorbells;
	struct ida pds;
	struct xarray cqs;
	struct xarray qps;
	struct xarray mrs;
	u32 next_cq;
	u32 next_qp;
	u32 next_mr;
	u8 *tags;			/* of an MR index: makes its next key another one */
	struct workqueue_struct *page_requests;
};

/* What a user may map: a doorbell page, or the memory of a queue. */
struct vrnic_mapping {
	struct rdma_user_mmap_entry entry;
	phys_addr_t doorbell;
	void *ring;
	void *index;			/* a page that follows the ring, or NULL */
	size_t ring_size;
	dma_addr_t ring_dma;
	dma_addr_t index_dma;
};

struct vrnic_context {
	struct ib_ucontext ib;
	u32 doorbell;
	struct vrnic_mapping *mapping;
};

struct vrnic_pd {
	struct ib_pd ib;
	u32 number;
};

struct vrnic_ah {
	struct ib_ah ib;
};

struct vrnic_cq {
	struct ib_cq ib;
	u32 number;
	u32 eq;
	struct vrnic_mapping *mapping;
};

struct vrnic_qp {
	struct ib_qp ib;
	struct mutex lock;		/* of attr */
	struct ib_qp_attr attr;
	enum ib_sig_type sig_type;
	struct vrnic_mapping *send;
	struct vrnic_mapping *receive;
};

enum vrnic_mr_kind {
	VRNIC_MR_USER,
	VRNIC_MR_DYNAMIC,
	VRNIC_MR_REVOCABLE,
	VRNIC_MR_PINNED,
};

/* Of a DMA-buf: whether the device has it mapped changes under its reservation lock only. */
struct vrnic_mr {
	struct ib_mr ib;
	struct vrnic *dev;
	struct ib_umem *umem;
	enum vrnic_mr_kind kind;
	u32 key;
	bool mapped;
	bool destroyed;			/* in the device */
	struct work_struct page_request;
};

#define VRNIC_CONTAINER(type, name)						\
static inline struct vrnic_##type *to_vrnic_##type(struct ib_##name *ib)	\
{										\
	return container_of(ib, struct vrnic_##type, ib);			\
}

VRNIC_CONTAINER(context, ucontext)
VRNIC_CONTAINER(pd, pd)
VRNIC_CONTAINER(cq, cq)
VRNIC_CONTAINER(qp, qp)
VRNIC_CONTAINER(mr, mr)

static inline struct vrnic *to_vrnic(struct ib_device *ib)
{
	return container_of(ib, struct vrnic, ib);
}

/* command.c */
int vrnic_commands_init(struct vrnic *dev);
void vrnic_commands_exit(struct vrnic *dev);
void *vrnic_command_begin(struct vrnic *dev);
int vrnic_command_run(struct vrnic *dev, size_t length);
void vrnic_command_end(struct vrnic *dev);
int vrnic_command(struct vrnic *dev, void *command, size_t length, size_t answer);
int vrnic_command_number(struct vrnic *dev, enum vrnic_opcode opcode, u32 number);
void vrnic_command_obeyed(struct vrnic *dev, enum vrnic_opcode opcode, u32 number);
void vrnic_gone(struct vrnic *dev, const char *why);

/* event.c */
int vrnic_events_init(struct vrnic *dev);
int vrnic_events_start(struct vrnic *dev);
void vrnic_events_exit(struct vrnic *dev);
void vrnic_events_settle(struct vrnic *dev, u32 eq);

/* context.c */
int vrnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata);
void vrnic_dealloc_ucontext(struct ib_ucontext *ib);
void vrnic_disassociate_ucontext(struct ib_ucontext *ib);
int vrnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma);
void vrnic_mmap_free(struct rdma_user_mmap_entry *entry);
struct vrnic_mapping *vrnic_queue_alloc(struct ib_ucontext *ib, size_t size, bool index);
void vrnic_queue_free(struct vrnic *dev, struct vrnic_mapping *mapping);
size_t vrnic_queue_size(const struct vrnic_mapping *mapping);
int vrnic_answer(struct ib_udata *udata, void *answer, size_t length);

/* pd.c */
int vrnic_alloc_pd(struct ib_pd *ib, struct ib_udata *udata);
int vrnic_dealloc_pd(struct ib_pd *ib, struct ib_udata *udata);
bool vrnic_is_destination(const struct rdma_ah_attr *attr);
int vrnic_create_user_ah(struct ib_ah *ib, struct rdma_ah_init_attr *attr,
			 struct ib_udata *udata);
int vrnic_destroy_ah(struct ib_ah *ib, u32 flags);

/* cq.c */
int vrnic_create_cq(struct ib_cq *ib, const struct ib_cq_init_attr *attr,
		    vrnic_compat_cq_attrs_t *attrs);
int vrnic_destroy_cq(struct ib_cq *ib, struct ib_udata *udata);
void vrnic_cq_completion(struct vrnic *dev, u32 number);
void vrnic_cq_error(struct vrnic *dev, u32 number);

/* qp.c */
int vrnic_create_qp(struct ib_qp *ib, struct ib_qp_init_attr *attr, struct ib_udata *udata);
int vrnic_modify_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask, struct ib_udata *udata);
int vrnic_query_qp(struct ib_qp *ib, struct ib_qp_attr *attr, int mask,
		   struct ib_qp_init_attr *init);
int vrnic_destroy_qp(struct ib_qp *ib, struct ib_udata *udata);
void vrnic_qp_event(struct vrnic *dev, u32 number, enum ib_event_type type);

/* mr.c */
struct ib_mr *vrnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt, int access,
				VRNIC_COMPAT_DMAH struct ib_udata *udata);
int vrnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata);
struct vrnic_mr *vrnic_mr_create(struct ib_pd *pd, struct ib_umem *umem, enum vrnic_mr_kind kind,
				 u64 virt, int access);
int vrnic_mr_map(struct vrnic_mr *mr);
void vrnic_mr_destroy(struct vrnic_mr *mr);
void vrnic_mr_free(struct vrnic_mr *mr);
void vrnic_mr_page_request(struct vrnic *dev, u32 key);
u32 vrnic_access(int access);

/* dmabuf.c */
struct ib_mr *vrnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 virt, int fd,
				       int access,
				       VRNIC_COMPAT_DMAH vrnic_compat_dmabuf_attrs_t *attrs);
void vrnic_dmabuf_lock(struct vrnic_mr *mr);
void vrnic_dmabuf_unlock(struct vrnic_mr *mr);
int vrnic_dmabuf_map(struct vrnic_mr *mr);

/* port.c */
int vrnic_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata);
int vrnic_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr);
int vrnic_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable);
int vrnic_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid);
int vrnic_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey);
void vrnic_port_event(struct vrnic *dev, bool up);

#endif

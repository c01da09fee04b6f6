// SPDX-License-Identifier: GPL-2.0-only
/* Memory regions: of users, and what those of DMA-bufs (dmabuf.c) have in common with them. */
#include <linux/slab.h>

#include "vrnic.h"

#define VRNIC_SEGMENTS	((VRNIC_COMMAND_SIZE - sizeof(struct vrnic_cmd_map_mr)) /	\
			 sizeof(struct vrnic_segment))
#define VRNIC_MR_ACCESS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE |		\
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/* Goes through an umem's DMA addresses. */
struct vrnic_walk {
	struct scatterlist *sg;
	unsigned int entries;
	u64 skip;		/* bytes before the MR's first one */
	u64 left;
};

u32 vrnic_access(int access)
{
	return (access & IB_ACCESS_LOCAL_WRITE ? VRNIC_LOCAL_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_WRITE ? VRNIC_REMOTE_WRITE : 0) |
	       (access & IB_ACCESS_REMOTE_READ ? VRNIC_REMOTE_READ : 0) |
	       (access & IB_ACCESS_REMOTE_ATOMIC ? VRNIC_REMOTE_ATOMIC : 0) |
	       (access & IB_ACCESS_RELAXED_ORDERING ? VRNIC_RELAXED_ORDERING : 0);
}

/* The longest segment from here on, or false at the end. */
static bool vrnic_walk_next(struct vrnic_walk *walk, struct vrnic_segment *segment)
{
	segment->length = 0;
	for (; walk->left && walk->entries; walk->sg = sg_next(walk->sg), walk->entries--) {
		u64 address = sg_dma_address(walk->sg) + walk->skip;
		u64 length = min(sg_dma_len(walk->sg) - walk->skip, walk->left);

		if (!segment->length)
			segment->address = address;
		else if (segment->address + segment->length != address)
			break;
		segment->length += length;
		walk->left -= length;
		walk->skip = 0;
	}
	return segment->length;
}

/* One command's worth. */
static int vrnic_mr_map_some(struct vrnic_mr *mr, struct vrnic_walk *walk, u32 flags)
{
	struct vrnic_cmd_map_mr *cmd = vrnic_command_begin(mr->dev);
	u32 count = 0;
	int ret;

	while (count < VRNIC_SEGMENTS && vrnic_walk_next(walk, &cmd->segment[count]))
		count++;
	memset(cmd, 0, sizeof(*cmd));
	cmd->head.opcode = VRNIC_CMD_MAP_MR;
	cmd->key = mr->key;
	cmd->flags = flags | (walk->left ? 0 : VRNIC_MAP_LAST);
	cmd->segments = count;
	ret = count ? vrnic_command_run(mr->dev, struct_size(cmd, segment, count)) : -EINVAL;
	vrnic_command_end(mr->dev);
	return ret;
}

/* Tells the device where the memory is. Afterwards it is used. */
int vrnic_mr_map(struct vrnic_mr *mr)
{
	const struct sg_table *table = &mr->umem->sgt_append.sgt;
	struct vrnic_walk walk = {
		.sg = table->sgl,
		.entries = table->nents,
		.skip = ib_umem_offset(mr->umem),
		.left = mr->umem->length,
	};
	u32 flags = VRNIC_MAP_FIRST;
	int ret;

	do {
		ret = vrnic_mr_map_some(mr, &walk, flags);
		flags = 0;
	} while (!ret && walk.left);
	return ret;
}

/*
 * The device needs pages of an MR. Only those of a dynamic DMA-buf come back;
 * an MR that lost its memory for good lets the work fail that waits for it.
 */
static void vrnic_mr_serve(struct work_struct *work)
{
	struct vrnic_mr *mr = container_of(work, struct vrnic_mr, page_request);
	int ret = -EOPNOTSUPP;

	vrnic_dmabuf_lock(mr);
	if (mr->mapped || mr->destroyed)
		goto unlock;
	if (mr->kind == VRNIC_MR_DYNAMIC)
		ret = vrnic_dmabuf_map(mr);
	if (ret)
		vrnic_command_number(mr->dev, VRNIC_CMD_FAIL_MR, mr->key);
unlock:
	vrnic_dmabuf_unlock(mr);
}

void vrnic_mr_page_request(struct vrnic *dev, u32 key)
{
	struct vrnic_mr *mr = xa_load(&dev->mrs, key >> 8);

	if (mr && mr->key == key)
		queue_work(dev->page_requests, &mr->page_request);
}

/*
 * Indices go round before one comes again, and then its key differs in the tag.
 * This one is taken, but page requests do not find the MR yet.
 */
static int vrnic_mr_number(struct vrnic_mr *mr)
{
	struct vrnic *dev = mr->dev;
	u32 index;
	int ret;

	ret = xa_alloc_cyclic(&dev->mrs, &index, NULL, XA_LIMIT(1, dev->max_mr), &dev->next_mr,
			      GFP_KERNEL);
	if (ret < 0)
		return ret;
	mr->key = index << 8 | dev->tags[index]++;
	mr->ib.lkey = mr->key;
	mr->ib.rkey = mr->key;
	return 0;
}

static int vrnic_mr_start(struct vrnic_mr *mr, struct ib_pd *pd, u64 virt, int access)
{
	struct vrnic_cmd_create_mr cmd = {
		.head.opcode = VRNIC_CMD_CREATE_MR,
		.key = mr->key,
		.pd = to_vrnic_pd(pd)->number,
		.access = vrnic_access(access),
		.address = virt,
		.length = mr->umem->length,
	};

	return vrnic_command(mr->dev, &cmd, sizeof(cmd), 0);
}

/* UMEM is the MR's from now on, if there is one. The lock of a DMA-buf may be held. */
struct vrnic_mr *vrnic_mr_create(struct ib_pd *pd, struct ib_umem *umem, enum vrnic_mr_kind kind,
				 u64 virt, int access)
{
	struct vrnic_mr *mr;
	int ret;

	if (access & ~(VRNIC_MR_ACCESS | IB_ACCESS_OPTIONAL))
		return ERR_PTR(-EOPNOTSUPP);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL);
	if (!mr)
		return ERR_PTR(-ENOMEM);
	mr->dev = to_vrnic(pd->device);
	mr->umem = umem;
	mr->kind = kind;
	mr->ib.iova = virt;
	mr->ib.length = umem->length;
	INIT_WORK(&mr->page_request, vrnic_mr_serve);
	ret = vrnic_mr_number(mr);
	if (ret)
		goto free;
	ret = vrnic_mr_start(mr, pd, virt, access);
	if (ret)
		goto erase;
	/* Its place is there. */
	xa_store(&mr->dev->mrs, mr->key >> 8, mr, GFP_KERNEL);
	return mr;

erase:
	xa_erase(&mr->dev->mrs, mr->key >> 8);
free:
	kfree(mr);
	return ERR_PTR(ret);
}

/* Afterwards the device reaches the memory no more; the key stays taken. */
void vrnic_mr_destroy(struct vrnic_mr *mr)
{
	if (mr->destroyed)
		return;
	vrnic_command_obeyed(mr->dev, VRNIC_CMD_DESTROY_MR, mr->key);
	mr->destroyed = true;
}

/* The device first, then the memory. */
void vrnic_mr_free(struct vrnic_mr *mr)
{
	vrnic_dmabuf_lock(mr);
	vrnic_mr_destroy(mr);
	vrnic_dmabuf_unlock(mr);
	xa_erase(&mr->dev->mrs, mr->key >> 8);
	vrnic_events_settle(mr->dev, 0);
	cancel_work_sync(&mr->page_request);
	ib_umem_release(mr->umem);
	kfree(mr);
}

struct ib_mr *vrnic_reg_user_mr(struct ib_pd *pd, u64 start, u64 length, u64 virt, int access,
				VRNIC_COMPAT_DMAH struct ib_udata *udata)
{
	struct ib_umem *umem;
	struct vrnic_mr *mr;
	int ret;

	if (!vrnic_compat_no_dmah())
		return ERR_PTR(-EOPNOTSUPP);
	umem = vrnic_compat_umem_get(pd->device, start, length, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = vrnic_mr_create(pd, umem, VRNIC_MR_USER, virt, access);
	if (IS_ERR(mr)) {
		ib_umem_release(umem);
		return ERR_CAST(mr);
	}
	ret = vrnic_mr_map(mr);
	if (ret) {
		vrnic_mr_free(mr);
		return ERR_PTR(ret);
	}
	mr->mapped = true;
	return &mr->ib;
}

int vrnic_dereg_mr(struct ib_mr *ib, struct ib_udata *udata)
{
	vrnic_mr_free(to_vrnic_mr(ib));
	return 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* User contexts, and what they map: a doorbell page each, and the memory of their queues. */
#include <linux/mm.h>
#include <linux/slab.h>

#include "vrnic.h"

static struct vrnic_mapping *to_vrnic_mapping(struct rdma_user_mmap_entry *entry)
{
	return container_of(entry, struct vrnic_mapping, entry);
}

/* Copies ANSWER to a provider, which needs all of it and says nothing itself. */
int vrnic_answer(struct ib_udata *udata, void *answer, size_t length)
{
	if (udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	if (udata->outlen < length)
		return -EINVAL;
	return ib_copy_to_udata(udata, answer, length);
}

/* Memory is the mapping's: someone may be mapping it while its queue is destroyed. */
void vrnic_mmap_free(struct rdma_user_mmap_entry *entry)
{
	struct vrnic_mapping *mapping = to_vrnic_mapping(entry);

	if (mapping->ring)
		free_pages_exact(mapping->ring, mapping->ring_size);
	free_page((unsigned long)mapping->index);
	kfree(mapping);
}

static int vrnic_share(struct vrnic *dev, void *memory, size_t size, dma_addr_t *dma)
{
	*dma = dma_map_single_attrs(&dev->pdev->dev, memory, size, DMA_BIDIRECTIONAL,
				    VRNIC_COMPAT_SHARED);
	return dma_mapping_error(&dev->pdev->dev, *dma);
}

static void vrnic_unshare(struct vrnic *dev, dma_addr_t dma, size_t size)
{
	dma_unmap_single_attrs(&dev->pdev->dev, dma, size, DMA_BIDIRECTIONAL,
			       VRNIC_COMPAT_SHARED);
}

static int vrnic_queue_share(struct vrnic *dev, struct vrnic_mapping *mapping)
{
	int ret;

	ret = vrnic_share(dev, mapping->ring, mapping->ring_size, &mapping->ring_dma);
	if (ret || !mapping->index)
		return ret;
	ret = vrnic_share(dev, mapping->index, PAGE_SIZE, &mapping->index_dma);
	if (ret)
		vrnic_unshare(dev, mapping->ring_dma, mapping->ring_size);
	return ret;
}

static void vrnic_queue_unshare(struct vrnic *dev, struct vrnic_mapping *mapping)
{
	vrnic_unshare(dev, mapping->ring_dma, mapping->ring_size);
	if (mapping->index)
		vrnic_unshare(dev, mapping->index_dma, PAGE_SIZE);
}

static struct vrnic_mapping *vrnic_queue_memory(size_t size, bool index)
{
	struct vrnic_mapping *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);

	if (!mapping)
		return NULL;
	mapping->ring_size = PAGE_ALIGN(size);
	mapping->ring = alloc_pages_exact(mapping->ring_size,
					  GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN);
	if (mapping->ring && index)
		mapping->index = (void *)get_zeroed_page(GFP_KERNEL);
	if (mapping->ring && (mapping->index || !index))
		return mapping;
	vrnic_mmap_free(&mapping->entry);
	return NULL;
}

size_t vrnic_queue_size(const struct vrnic_mapping *mapping)
{
	return mapping->ring_size + (mapping->index ? PAGE_SIZE : 0);
}

/* Memory of a queue, with a page for an index if asked for, which the device may use and IB map. */
struct vrnic_mapping *vrnic_queue_alloc(struct ib_ucontext *ib, size_t size, bool index)
{
	struct vrnic_mapping *mapping = vrnic_queue_memory(size, index);
	struct vrnic *dev = to_vrnic(ib->device);
	int ret;

	if (!mapping)
		return ERR_PTR(-ENOMEM);
	ret = vrnic_queue_share(dev, mapping);
	if (ret)
		goto free;
	ret = rdma_user_mmap_entry_insert(ib, &mapping->entry, vrnic_queue_size(mapping));
	if (ret)
		goto unshare;
	return mapping;

unshare:
	vrnic_queue_unshare(dev, mapping);
free:
	vrnic_mmap_free(&mapping->entry);
	return ERR_PTR(ret);
}

/* The device uses it no more; users that have it mapped keep it as plain memory. */
void vrnic_queue_free(struct vrnic *dev, struct vrnic_mapping *mapping)
{
	vrnic_queue_unshare(dev, mapping);
	rdma_user_mmap_entry_remove(&mapping->entry);
}

static int vrnic_mmap_pages(struct vm_area_struct *vma, unsigned long *at, void *memory,
			    size_t size)
{
	size_t done;
	int ret;

	for (done = 0; done < size; done += PAGE_SIZE) {
		ret = vm_insert_page(vma, *at, virt_to_page(memory + done));
		if (ret)
			return ret;
		*at += PAGE_SIZE;
	}
	return 0;
}

static int vrnic_mmap_queue(struct vm_area_struct *vma, const struct vrnic_mapping *mapping)
{
	unsigned long at = vma->vm_start;
	int ret;

	if (!(vma->vm_flags & VM_SHARED))
		return -EINVAL;
	ret = vrnic_mmap_pages(vma, &at, mapping->ring, mapping->ring_size);
	if (ret || !mapping->index)
		return ret;
	return vrnic_mmap_pages(vma, &at, mapping->index, PAGE_SIZE);
}

int vrnic_mmap(struct ib_ucontext *ib, struct vm_area_struct *vma)
{
	struct rdma_user_mmap_entry *entry = rdma_user_mmap_entry_get(ib, vma);
	struct vrnic_mapping *mapping;
	int ret;

	if (!entry)
		return -EINVAL;
	mapping = to_vrnic_mapping(entry);
	if (mapping->ring)
		ret = vrnic_mmap_queue(vma, mapping);
	else
		ret = rdma_user_mmap_io(ib, vma, PHYS_PFN(mapping->doorbell), PAGE_SIZE,
					pgprot_noncached(vma->vm_page_prot), entry);
	rdma_user_mmap_entry_put(entry);
	return ret;
}

static struct vrnic_mapping *vrnic_doorbell_alloc(struct ib_ucontext *ib, u32 page)
{
	struct vrnic_mapping *mapping = kzalloc(sizeof(*mapping), GFP_KERNEL);
	struct vrnic *dev = to_vrnic(ib->device);
	int ret;

	if (!mapping)
		return ERR_PTR(-ENOMEM);
	mapping->doorbell = pci_resource_start(dev->pdev, 2) + (u64)page * PAGE_SIZE;
	ret = rdma_user_mmap_entry_insert(ib, &mapping->entry, PAGE_SIZE);
	if (ret) {
		kfree(mapping);
		return ERR_PTR(ret);
	}
	return mapping;
}

int vrnic_alloc_ucontext(struct ib_ucontext *ib, struct ib_udata *udata)
{
	struct vrnic_context *context = to_vrnic_context(ib);
	struct vrnic_alloc_context_answer answer = {
		.max_sge = VRNIC_MAX_SGE,
		.max_inline = VRNIC_MAX_INLINE,
	};
	struct vrnic *dev = to_vrnic(ib->device);
	int ret;

	ret = ida_alloc_max(&dev->doorbells, dev->max_doorbell - 1, GFP_KERNEL);
	if (ret < 0)
		return ret;
	context->doorbell = ret;
	context->mapping = vrnic_doorbell_alloc(ib, context->doorbell);
	if (IS_ERR(context->mapping)) {
		ret = PTR_ERR(context->mapping);
		goto free;
	}
	answer.doorbell_key = rdma_user_mmap_get_offset(&context->mapping->entry);
	ret = vrnic_answer(udata, &answer, sizeof(answer));
	if (ret)
		goto remove;
	return 0;

remove:
	rdma_user_mmap_entry_remove(&context->mapping->entry);
free:
	ida_free(&dev->doorbells, context->doorbell);
	return ret;
}

void vrnic_dealloc_ucontext(struct ib_ucontext *ib)
{
	struct vrnic_context *context = to_vrnic_context(ib);

	rdma_user_mmap_entry_remove(&context->mapping->entry);
	ida_free(&to_vrnic(ib->device)->doorbells, context->doorbell);
}

/* That there is such a function lets the device go while users have it open. */
void vrnic_disassociate_ucontext(struct ib_ucontext *ib)
{
}

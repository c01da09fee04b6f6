// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Memory of the CUDA driver. What a pointer is, and that it is still the same, only
 * the driver can tell: each allocation has a buffer id that is never used again.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda_memory.h"
#include "finder.h"
#include "memory_kinds.h"
#include "sysfs.h"

static int add_piece(struct vpeer_cuda_memory *memory, const struct vpeer_cuda_pointer *got)
{
	struct vpeer_cuda_piece *grown;

	if (memory->count == memory->room) {
		memory->room = memory->room ? 2 * memory->room : 1;
		grown = realloc(memory->pieces, memory->room * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		memory->pieces = grown;
	}
	memory->pieces[memory->count++] = (struct vpeer_cuda_piece){
		.start = got->start,
		.length = got->length,
		.id = got->id,
	};
	return 0;
}

static int fail_mixed(struct vpeer_error *error, const struct vpeer_memory *memory, uint64_t at)
{
	return vpeer_fail(error, EINVAL, VPEER_REASON_MIXED_MEMORY, memory->who,
			  vpeer_reason_remedy(VPEER_REASON_MIXED_MEMORY),
			  "the range of %llu bytes at %#llx leaves the GPU's memory at %#llx",
			  (unsigned long long)memory->length, (unsigned long long)memory->start,
			  (unsigned long long)at);
}

/* A range of virtual memory management may consist of many allocations. */
static int walk(struct vpeer_memory *memory, const struct vpeer_cuda_pointer *first,
		struct vpeer_error *error)
{
	uint64_t last = memory->start + memory->length - 1, next;
	struct vpeer_cuda_pointer got = *first;
	int err;

	for (;;) {
		err = add_piece(memory->cuda, &got);
		if (err)
			return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, memory->who, "",
					  "out of memory");
		next = got.start + got.length;
		if (next - 1 >= last)
			return 0;
		if (!vpeer_cuda_ask(memory->cuda->cuda, next, &got) ||
		    got.type != VPEER_CU_MEMORY_DEVICE || got.managed ||
		    got.ordinal != first->ordinal || got.start != next ||
		    got.identity != first->identity)
			return fail_mixed(error, memory, next);
	}
}

static void name_device(struct vpeer_memory *memory)
{
	const struct vpeer_cuda *cuda = memory->cuda->cuda;
	char text[32] = "";

	memory->device_known = !cuda->device_pci(text, sizeof(text), memory->cuda->device) &&
			       !vpeer_pci_parse(text, &memory->device);
	snprintf(memory->who + strlen(memory->who), sizeof(memory->who) - strlen(memory->who),
		 " of GPU %.31s", memory->device_known ? text : "");
}

static void drop(struct vpeer_cuda_memory *memory)
{
	if (__atomic_sub_fetch(&memory->users, 1, __ATOMIC_ACQ_REL))
		return;
	free(memory->pieces);
	free(memory);
}

static int set_up(const struct vpeer_cuda *cuda, const struct vpeer_cuda_pointer *got,
		  struct vpeer_memory *memory, struct vpeer_error *error)
{
	int err;

	memory->cuda = calloc(1, sizeof(*memory->cuda));
	if (!memory->cuda)
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, memory->who, "",
				  "out of memory");
	memory->cuda->cuda = cuda;
	memory->cuda->users = 1;
	memory->cuda->context = got->context;
	memory->cuda->identity = got->identity;
	if (cuda->device_get(&memory->cuda->device, got->ordinal))
		memory->cuda->device = got->ordinal;
	name_device(memory);
	err = walk(memory, got, error);
	if (err) {
		drop(memory->cuda);
		return err;
	}
	memory->base = got->start;
	memory->base_length = memory->cuda->pieces[memory->cuda->count - 1].start +
			      memory->cuda->pieces[memory->cuda->count - 1].length - got->start;
	memory->writable = true;
	memory->seen = got->id;
	return 0;
}

/* Host memory of the driver's is host memory to the kernel. */
static bool lies_in(const struct vpeer_memory *memory, const struct vpeer_cuda_pointer *got)
{
	return memory->length <= got->length - (memory->start - got->start);
}

static int identify_host(const struct vpeer_cuda_pointer *got, struct vpeer_memory *memory)
{
	if (!lies_in(memory, got))
		return 0;
	memory->ops = &vpeer_memory_cuda_host;
	memory->kind = VPEER_MEMORY_CUDA_HOST;
	memory->base = got->start;
	memory->base_length = got->length;
	memory->writable = true;
	memory->seen = got->id;
	snprintf(memory->who, sizeof(memory->who), "%llu bytes at %#llx of CUDA host memory",
		 (unsigned long long)memory->length, (unsigned long long)memory->start);
	return 1;
}

static bool has_ids(const struct vpeer_cuda_memory *memory)
{
	for (size_t i = 0; i < memory->count; i++)
		if (!memory->pieces[i].id)
			return false;
	return true;
}

static void set_cacheable(struct vpeer_memory *memory, const struct vpeer_cuda_pointer *got)
{
	bool known = got->context || got->identity == VPEER_CU_POINTER_BLOCK_ID;

	if (got->managed)
		return;
	memory->cacheable = known && has_ids(memory->cuda);
	if (!known)
		memory->uncached = "the CUDA driver does not tell what is mapped at its addresses; "
				   "newer ones do";
	else if (!memory->cacheable)
		memory->uncached = "the CUDA driver gives it no id";
}

static int identify(struct vpeer_finder *finder, const struct vpeer_maps *maps,
		    struct vpeer_memory *memory, struct vpeer_error *error)
{
	const struct vpeer_cuda *cuda = vpeer_finder_cuda(finder);
	struct vpeer_cuda_pointer got;
	int err;

	(void)maps;
	if (!cuda || !vpeer_cuda_ask(cuda, memory->start, &got))
		return 0;
	if (!got.managed && got.type == VPEER_CU_MEMORY_HOST)
		return identify_host(&got, memory);
	if (!got.managed && got.type != VPEER_CU_MEMORY_DEVICE)
		return 0;
	memory->ops = got.managed ? &vpeer_memory_cuda_managed : &vpeer_memory_cuda;
	memory->kind = got.managed ? VPEER_MEMORY_CUDA_MANAGED : VPEER_MEMORY_CUDA;
	snprintf(memory->who, sizeof(memory->who), "%sCUDA memory at %#llx",
		 got.managed ? "managed " : "", (unsigned long long)memory->start);
	if (got.managed && !lies_in(memory, &got))
		return fail_mixed(error, memory, got.start + got.length);
	err = set_up(cuda, &got, memory, error);
	if (err)
		return err;
	set_cacheable(memory, &got);
	memory->exportable = !got.managed && cuda->range_handle &&
			     vpeer_cuda_device_attribute(cuda, VPEER_CU_DEVICE_DMABUF,
							 memory->cuda->device);
	return 1;
}

static bool valid(const struct vpeer_memory *memory)
{
	const struct vpeer_cuda_memory *m = memory->cuda;
	uint64_t id;
	size_t i;

	for (i = 0; i < m->count; i++) {
		id = 0;
		if (m->cuda->pointer_get(&id, m->identity, m->pieces[i].start) ||
		    id != m->pieces[i].id)
			return false;
	}
	return true;
}

/*
 * Copies that the driver would go on with after they returned are waited for: a
 * device must not read what has yet to be written. Memory of virtual memory
 * management has no such attribute.
 */
static int prepare(struct vpeer_memory *memory, struct vpeer_error *error)
{
	const struct vpeer_cuda_memory *m = memory->cuda;
	const unsigned int one = 1;
	struct vpeer_cuda_scope scope;
	int result = VPEER_CU_SUCCESS;
	size_t i;
	int err = vpeer_cuda_memory_enter(memory, &scope, error);

	if (err)
		return err;
	for (i = 0; i < m->count && !result; i++) {
		result = m->cuda->pointer_set(&one, VPEER_CU_POINTER_SYNC_MEMOPS,
					      m->pieces[i].start);
		if (result == VPEER_CU_NOT_SUPPORTED ||
		    (result == VPEER_CU_INVALID_VALUE && !m->context))
			result = VPEER_CU_SUCCESS;
	}
	vpeer_cuda_leave(&scope);
	if (!result)
		return 0;
	return vpeer_cuda_fail(m->cuda, result, memory->who,
			       "cannot make copies synchronous: cuPointerSetAttribute()", error);
}

static int copy(struct vpeer_memory *memory, uint64_t address, void *host, size_t length,
		bool to_host, struct vpeer_error *error)
{
	const struct vpeer_cuda *cuda = memory->cuda->cuda;
	struct vpeer_cuda_scope scope;
	int result;
	int err = vpeer_cuda_memory_enter(memory, &scope, error);

	if (err)
		return err;
	result = to_host ? cuda->copy_to_host(host, address, length) :
			   cuda->copy_from_host(address, host, length);
	vpeer_cuda_leave(&scope);
	if (!result)
		return 0;
	vpeer_cuda_fail(cuda, result, memory->who,
			to_host ? "cannot copy: cuMemcpyDtoH()" : "cannot copy: cuMemcpyHtoD()",
			error);
	if (error)
		error->err = EIO;
	return -EIO;
}

/* The kernel has no pages for a GPU's addresses: only a peer-memory client takes them. */
static unsigned int explain(const struct vpeer_memory *memory, unsigned int route, int err)
{
	(void)memory;
	return route == VPEER_ROUTE_PEERMEM && err == EFAULT ? VPEER_REASON_NO_PEERMEM :
							       VPEER_REASON_NONE;
}

/* Without that module, or where no RDMA stack took it in, no one knows a GPU's addresses. */
static const char *remark(const struct vpeer_memory *memory, unsigned int reason)
{
	(void)memory;
	if (reason != VPEER_REASON_NO_PEERMEM)
		return NULL;
	if (vpeer_sysfs_exists("/sys/kernel/mm/memory_peers/nv_mem/version"))
		return "nvidia-peermem is loaded and registered: the GPU's driver refused";
	if (vpeer_sysfs_exists("/sys/module/nvidia_peermem"))
		return "nvidia-peermem is loaded, but this RDMA stack has no use for it";
	return "nvidia-peermem is not loaded";
}

static int share(struct vpeer_memory *memory)
{
	__atomic_add_fetch(&memory->cuda->users, 1, __ATOMIC_RELAXED);
	return 0;
}

static void release(struct vpeer_memory *memory)
{
	drop(memory->cuda);
}

const struct vpeer_memory_ops vpeer_memory_cuda = {
	.name = "CUDA memory",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) | VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) |
		  VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
	.identify = identify,
	.export = vpeer_cuda_memory_export,
	.prepare = prepare,
	.copy = copy,
	.valid = valid,
	.explain = explain,
	.remark = remark,
	.share = share,
	.release = release,
};

/* The driver moves it from GPU to host and back: no device may keep an address of it. */
const struct vpeer_memory_ops vpeer_memory_cuda_managed = {
	.name = "CUDA managed memory",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
	.copy = copy,
	.valid = valid,
	.share = share,
	.release = release,
};

const struct vpeer_memory_ops vpeer_memory_cuda_host = {
	.name = "CUDA host memory",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) | VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
};

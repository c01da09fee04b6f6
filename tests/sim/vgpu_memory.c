// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vgpu_memory.h"
#include "vgpu_regs.h"

static uint64_t bytes_of(uint32_t pages)
{
	return pages * VGPU_PAGE_SIZE;
}

static void *map_bytes(uint64_t size, int flags, int fd)
{
	void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, flags, fd, 0);

	return bytes == MAP_FAILED ? NULL : bytes;
}

static int create_aperture(struct vgpu_memory *memory)
{
	uint64_t size = bytes_of(memory->aperture_pages);

	memory->aperture_fd = memfd_create("vgpu-aperture", MFD_CLOEXEC);
	if (memory->aperture_fd < 0 || ftruncate(memory->aperture_fd, size))
		return -errno;
	memory->aperture = map_bytes(size, MAP_SHARED, memory->aperture_fd);
	return memory->aperture ? 0 : -ENOMEM;
}

int vgpu_memory_create(struct vgpu_memory *memory, uint64_t size, uint64_t aperture_size)
{
	int ret;

	*memory = (struct vgpu_memory){
		.pages = size / VGPU_PAGE_SIZE,
		.aperture_pages = aperture_size / VGPU_PAGE_SIZE,
		.aperture_fd = -1,
	};
	memory->bytes = map_bytes(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	memory->page = calloc(memory->pages, sizeof(*memory->page));
	memory->mapped = calloc(memory->aperture_pages, sizeof(*memory->mapped));
	ret = memory->bytes && memory->page && memory->mapped ? create_aperture(memory) : -ENOMEM;
	if (!ret)
		ret = vgpu_memory_reset(memory);
	if (ret)
		vgpu_memory_destroy(memory);
	return ret;
}

void vgpu_memory_destroy(struct vgpu_memory *memory)
{
	if (memory->bytes)
		munmap(memory->bytes, bytes_of(memory->pages));
	if (memory->aperture)
		munmap(memory->aperture, bytes_of(memory->aperture_pages));
	if (memory->aperture_fd >= 0)
		close(memory->aperture_fd);
	free(memory->page);
	free(memory->mapped);
	*memory = (struct vgpu_memory){ .aperture_fd = -1 };
}

static int zero_all(struct vgpu_memory *memory)
{
	/* The guest may have the aperture mapped: the same file, with holes. */
	if (fallocate(memory->aperture_fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0,
		      bytes_of(memory->aperture_pages)))
		return -errno;
	if (madvise(memory->bytes, bytes_of(memory->pages), MADV_DONTNEED))
		return -errno;
	return 0;
}

int vgpu_memory_reset(struct vgpu_memory *memory)
{
	for (uint32_t at = 0; at < memory->pages; at++) {
		bool mapped = at < memory->aperture_pages;

		memory->page[at].allocated = mapped;
		memory->page[at].aperture_page = mapped ? at : VGPU_NO_PAGE;
	}
	for (uint32_t at = 0; at < memory->aperture_pages; at++)
		memory->mapped[at] = at;
	memory->free_pages = memory->pages - memory->aperture_pages;
	memory->invalidations = 0;
	return zero_all(memory);
}

uint8_t *vgpu_memory_at(const struct vgpu_memory *memory, uint64_t address)
{
	uint32_t shown = memory->page[address / VGPU_PAGE_SIZE].aperture_page;

	if (shown == VGPU_NO_PAGE)
		return memory->bytes + address;
	return memory->aperture + bytes_of(shown) + address % VGPU_PAGE_SIZE;
}

static bool in_range(uint32_t first, uint32_t count, uint32_t limit)
{
	return count && count <= limit && first <= limit - count;
}

/* Allocated pages that the aperture does not show. */
static bool all_hidden(const struct vgpu_memory *memory, uint32_t first, uint32_t count)
{
	if (!in_range(first, count, memory->pages))
		return false;
	for (uint32_t at = first; at < first + count; at++)
		if (!memory->page[at].allocated || memory->page[at].aperture_page != VGPU_NO_PAGE)
			return false;
	return true;
}

/* Pages of the aperture all of which are used, or none. */
static bool all_used(const struct vgpu_memory *memory, uint32_t first, uint32_t count, bool used)
{
	if (!in_range(first, count, memory->aperture_pages))
		return false;
	for (uint32_t at = first; at < first + count; at++) {
		bool is_used = memory->mapped[at] != VGPU_NO_PAGE;

		if (is_used != used)
			return false;
	}
	return true;
}

static void set_allocated(struct vgpu_memory *memory, uint32_t first, uint32_t count,
			  bool allocated)
{
	for (uint32_t at = first; at < first + count; at++)
		memory->page[at].allocated = allocated;
}

int vgpu_memory_alloc(struct vgpu_memory *memory, uint32_t count, uint64_t *first)
{
	uint32_t run = 0;

	if (!count)
		return VGPU_BAD_ARGUMENT;
	for (uint32_t at = 0; at < memory->pages; at++) {
		run = memory->page[at].allocated ? 0 : run + 1;
		if (run < count)
			continue;
		*first = at + 1 - count;
		set_allocated(memory, *first, count, true);
		memory->free_pages -= count;
		return VGPU_DONE;
	}
	return VGPU_NO_MEMORY;
}

int vgpu_memory_free(struct vgpu_memory *memory, uint32_t first, uint32_t count)
{
	if (!all_hidden(memory, first, count))
		return VGPU_BAD_ARGUMENT;
	set_allocated(memory, first, count, false);
	memory->free_pages += count;
	return VGPU_DONE;
}

int vgpu_memory_map(struct vgpu_memory *memory, uint32_t first, uint32_t aperture_page,
		    uint32_t count)
{
	if (!all_hidden(memory, first, count) || !all_used(memory, aperture_page, count, false))
		return VGPU_BAD_ARGUMENT;
	memcpy(memory->aperture + bytes_of(aperture_page), memory->bytes + bytes_of(first),
	       bytes_of(count));
	for (uint32_t at = 0; at < count; at++) {
		memory->page[first + at].aperture_page = aperture_page + at;
		memory->mapped[aperture_page + at] = first + at;
	}
	return VGPU_DONE;
}

int vgpu_memory_unmap(struct vgpu_memory *memory, uint32_t aperture_page, uint32_t count)
{
	if (!all_used(memory, aperture_page, count, true))
		return VGPU_BAD_ARGUMENT;
	for (uint32_t at = aperture_page; at < aperture_page + count; at++) {
		uint8_t *shown = memory->aperture + bytes_of(at);

		memcpy(memory->bytes + bytes_of(memory->mapped[at]), shown, VGPU_PAGE_SIZE);
		memset(shown, 0xff, VGPU_PAGE_SIZE);
		memory->page[memory->mapped[at]].aperture_page = VGPU_NO_PAGE;
		memory->mapped[at] = VGPU_NO_PAGE;
	}
	memory->invalidations += count;
	return VGPU_DONE;
}

// SPDX-License-Identifier: GPL-2.0-only
/* What the library says that pointers point to. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/memory.h"
#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "vgem.h"

static struct vpeer_memory_info query(const void *address, size_t length)
{
	struct vpeer_memory_info info;
	struct vpeer_error error;

	if (vpeer_query_memory(address, length, &info, &error))
		test_fail(__FILE__, __LINE__, "query of %p: %s: %s", address, error.who,
			  error.message);
	CHECK_EQ(error.err, 0);
	return info;
}

static void check_refused(const void *address, size_t length, int err, unsigned int reason)
{
	struct vpeer_memory_info info;
	struct vpeer_error error = { 0 };

	CHECK_EQ(vpeer_query_memory(address, length, &info, &error), -err);
	CHECK_EQ(error.err, err);
	CHECK_EQ(error.reason, reason);
	CHECK(error.who[0] && error.message[0]);
	CHECK_EQ(info.kind, VPEER_MEMORY_UNKNOWN);
}

static void check_window(const struct vpeer_memory_info *info, const void *base, uint64_t length,
			 uint64_t offset)
{
	struct vpeer_pci_address pci;

	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &pci), 0);
	CHECK_EQ(info->kind, VPEER_MEMORY_WINDOW);
	CHECK_EQ(info->base, (uintptr_t)base);
	CHECK_EQ(info->length, length);
	CHECK_EQ(info->window_offset, offset);
	CHECK(info->device_known && !memcmp(&info->device, &pci, sizeof(pci)));
	CHECK(!strcmp(info->node, aperture_node()));
}

/* Two mappings, one right behind the other. */
static void *map_pair(int first, uint64_t at_first, int second, uint64_t at_second)
{
	char *place = mmap(NULL, 2 * GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(place != MAP_FAILED);
	CHECK(mmap(place, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, first,
		   (off_t)at_first) == place);
	CHECK(mmap(place + GRANULE, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, second,
		   (off_t)at_second) == place + GRANULE);
	return place;
}

TEST(window, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, 2 * GRANULE);
	char *mapped = window_map(fd, at, 2 * GRANULE);
	struct vpeer_memory_info info = query(mapped + 5000, 3);

	check_window(&info, mapped, 2 * GRANULE, at);
	CHECK(info.exportable);
	CHECK_EQ(info.identity, window_info(fd, at).generation);

	/* Part of the window is mapped elsewhere, too. */
	munmap(mapped, 2 * GRANULE);
	mapped = mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, fd, (off_t)(at + GRANULE / 2));
	CHECK(mapped != MAP_FAILED);
	info = query(mapped, GRANULE);
	check_window(&info, mapped, GRANULE, at + GRANULE / 2);
	check_refused(mapped - 1, GRANULE, EFAULT, VPEER_REASON_NOT_MAPPED);
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(implicit_window, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 4 * GRANULE, GRANULE);
	struct vpeer_memory_info info = query(mapped, GRANULE);

	check_window(&info, mapped, GRANULE, 4 * GRANULE);
	CHECK(info.exportable);
	munmap(mapped, GRANULE);
	close(fd);
}

/* One window by two mappings is one piece, and so is one that mprotect() cut. */
TEST(window_of_two_mappings, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, 2 * GRANULE);
	char *mapped = map_pair(fd, at, fd, at + GRANULE);
	struct vpeer_memory_info info = query(mapped + GRANULE - 4096, 8192);

	check_window(&info, mapped, 2 * GRANULE, at);
	CHECK_OK(mprotect(mapped + GRANULE, GRANULE, PROT_READ));
	info = query(mapped + 4096, 1);
	check_window(&info, mapped, GRANULE, at);
	info = query(mapped + GRANULE - 4096, 8192);
	check_window(&info, mapped, 2 * GRANULE, at);
	CHECK_OK(mprotect(mapped, GRANULE, PROT_NONE));
	check_refused(mapped, 1, EACCES, VPEER_REASON_ACCESS);
	munmap(mapped, 2 * GRANULE);

	/* In the wrong order they are not, nor with something left out. */
	mapped = map_pair(fd, at + GRANULE, fd, at);
	info = query(mapped, GRANULE);
	check_window(&info, mapped, GRANULE, at + GRANULE);
	check_refused(mapped + GRANULE - 1, 2, EINVAL, VPEER_REASON_MIXED_MEMORY);
	munmap(mapped, 2 * GRANULE);
	at = window_alloc(fd, 3 * GRANULE);
	mapped = map_pair(fd, at, fd, at + 2 * GRANULE);
	check_refused(mapped + GRANULE - 1, 2, EINVAL, VPEER_REASON_MIXED_MEMORY);
	info = query(mapped + GRANULE, 1);
	check_window(&info, mapped + GRANULE, GRANULE, at + 2 * GRANULE);
	munmap(mapped, 2 * GRANULE);
	close(fd);
}

/* Side by side in the BAR, and in memory: still two, also of one open file. */
TEST(two_windows, 10)
{
	int one = aperture_open(), other = aperture_open();
	struct vpeer_memory_info info;
	char *mapped;

	CHECK_OK(window_alloc_at(one, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(one, GRANULE, GRANULE, NULL));
	CHECK_OK(window_alloc_at(other, 2 * GRANULE, GRANULE, NULL));
	mapped = map_pair(one, 0, one, GRANULE);
	info = query(mapped, GRANULE);
	check_window(&info, mapped, GRANULE, 0);
	info = query(mapped + GRANULE, GRANULE);
	check_window(&info, mapped + GRANULE, GRANULE, GRANULE);
	check_refused(mapped, GRANULE + 1, EINVAL, VPEER_REASON_MIXED_MEMORY);
	munmap(mapped, 2 * GRANULE);

	mapped = map_pair(one, GRANULE, other, 2 * GRANULE);
	info = query(mapped + GRANULE, GRANULE);
	check_window(&info, mapped + GRANULE, GRANULE, 2 * GRANULE);
	check_refused(mapped, 2 * GRANULE, EINVAL, VPEER_REASON_MIXED_MEMORY);
	munmap(mapped, 2 * GRANULE);
	close(one);
	close(other);
}

TEST(window_and_host, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, 2 * GRANULE);
	char *mapped = map_pair(fd, at, fd, at);

	CHECK(mmap(mapped + GRANULE, GRANULE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapped + GRANULE);
	check_refused(mapped, GRANULE + 1, EINVAL, VPEER_REASON_MIXED_MEMORY);
	CHECK_EQ(query(mapped + GRANULE, GRANULE).kind, VPEER_MEMORY_HOST);
	munmap(mapped, 2 * GRANULE);

	/* And the other way round. */
	mapped = mmap(NULL, 2 * GRANULE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		      0);
	CHECK(mapped != MAP_FAILED);
	CHECK(mmap(mapped + GRANULE, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   (off_t)at) == mapped + GRANULE);
	check_refused(mapped + GRANULE - 1, 2, EINVAL, VPEER_REASON_MIXED_MEMORY);
	munmap(mapped, 2 * GRANULE);
	close(fd);
}

TEST(hole, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, 2 * GRANULE);
	char *mapped = window_map(fd, at, 2 * GRANULE);

	munmap(mapped + GRANULE, 4096);
	check_refused(mapped, 2 * GRANULE, EFAULT, VPEER_REASON_NOT_MAPPED);
	CHECK_EQ(query(mapped, GRANULE).length, GRANULE);
	CHECK_EQ(query(mapped + GRANULE + 4096, 4096).length, GRANULE - 4096);
	check_refused(NULL, 1, EFAULT, VPEER_REASON_NOT_MAPPED);
	check_refused(mapped, 0, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(mapped, SIZE_MAX, EOVERFLOW, VPEER_REASON_BAD_ARGUMENT);
	munmap(mapped, 2 * GRANULE);
	close(fd);
}

/* The mapping goes on without a descriptor, but no DMA-buf can be made. */
TEST(closed_descriptor, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, at, GRANULE);
	struct vpeer_memory_info info;
	struct vpeer_export export;
	struct vpeer_error error;
	int copy = dup(fd);

	close(fd);
	CHECK(query(mapped, GRANULE).exportable);
	close(copy);
	info = query(mapped, GRANULE);
	check_window(&info, mapped, GRANULE, at);
	CHECK(!info.exportable);
	CHECK_EQ(info.identity, 0);
	CHECK_EQ(vpeer_export(mapped, 1, &export, &error), -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_EXPORT);
	CHECK_EQ(export.fd, -1);
	munmap(mapped, GRANULE);
}

/* A window that another open file has at the same node is not taken for it. */
TEST(closed_among_others, 10)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(other, GRANULE, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	close(fd);
	CHECK(!query(mapped, GRANULE).exportable);
	munmap(mapped, GRANULE);
	close(other);
}

TEST(revoked, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, at, GRANULE);

	query(mapped, 1);
	CHECK_OK(window_revoke(fd, at, 0, NULL));
	check_refused(mapped, 1, ENODEV, VPEER_REASON_REVOKED);
	close(fd);
	check_refused(mapped, 1, ENODEV, VPEER_REASON_REVOKED);
	munmap(mapped, GRANULE);
}

/* What is left of a mapping is not the window that has its place now. */
TEST(freed_and_allocated_anew, 10)
{
	int fd = aperture_open();
	char *old, *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	old = window_map(fd, 0, GRANULE);
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	CHECK_EQ(query(mapped, GRANULE).kind, VPEER_MEMORY_WINDOW);
	check_refused(old, 1, ENODEV, VPEER_REASON_REVOKED);
	munmap(old, GRANULE);
	munmap(mapped, GRANULE);
	close(fd);
}

/* Nor does it take part of the window with it that is mapped right behind. */
TEST(beside_what_is_left, 10)
{
	struct vpeer_memory_info info;
	int fd = aperture_open();
	char *place;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	place = map_pair(fd, 0, fd, 0);
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	CHECK(mmap(place + GRANULE, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
		   GRANULE) == place + GRANULE);
	info = query(place + GRANULE, GRANULE);
	check_window(&info, place + GRANULE, GRANULE, GRANULE);
	check_refused(place, 1, ENODEV, VPEER_REASON_REVOKED);
	check_refused(place, 2 * GRANULE, ENODEV, VPEER_REASON_REVOKED);
	munmap(place, 2 * GRANULE);
	close(fd);
}

TEST(detached, 30)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, at, GRANULE);
	uint64_t pinned;

	CHECK_OK(control_detach(aperture_pci(), &pinned, NULL));
	check_refused(mapped, 1, ENODEV, VPEER_REASON_GONE);
	munmap(mapped, GRANULE);
	close(fd);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

TEST(generation_page, 10)
{
	int fd = aperture_open();
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, (off_t)VPEER_MMAP_GENERATION);

	CHECK(page != MAP_FAILED);
	CHECK_EQ(query(page, 4096).kind, VPEER_MEMORY_HOST);
	munmap(page, 4096);
	close(fd);
}

TEST(host, 10)
{
	static const char constant[] = "read only";
	char *memory = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);
	char file[] = "/tmp/vpeer-file-XXXXXX";
	struct vpeer_memory_info info;
	int fd = mkstemp(file);
	char on_stack;

	info = query(memory + 1, 8191);
	CHECK_EQ(info.kind, VPEER_MEMORY_HOST);
	CHECK(info.base <= (uintptr_t)memory);
	CHECK(info.base + info.length >= (uintptr_t)memory + 8192);
	CHECK(!info.exportable && !info.device_known && !info.identity);
	CHECK_EQ(query(&on_stack, 1).kind, VPEER_MEMORY_HOST);
	CHECK_EQ(query(constant, 3).kind, VPEER_MEMORY_HOST);
	munmap(memory, 8192);

	/* A name is no proof. */
	CHECK_OK(ftruncate(fd, 4096));
	CHECK_OK(rename(file, "/tmp/vpeer0"));
	memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CHECK(memory != MAP_FAILED);
	CHECK_EQ(query(memory, 1).kind, VPEER_MEMORY_HOST);
	CHECK_OK(unlink("/tmp/vpeer0"));
	CHECK_EQ(query(memory, 1).kind, VPEER_MEMORY_HOST);
	munmap(memory, 4096);
	close(fd);
}

TEST(dmabuf, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, GRANULE);
	int dmabuf = dmabuf_export(fd, at, GRANULE);
	char *mapped = dmabuf_map(dmabuf, 0, GRANULE);
	struct vpeer_memory_info info = query(mapped + 4096, 4096);
	struct vpeer_export export;
	struct vpeer_error error;

	CHECK_EQ(info.kind, VPEER_MEMORY_DMABUF);
	CHECK_EQ(info.base, (uintptr_t)mapped);
	CHECK_EQ(info.length, GRANULE);
	CHECK(!info.exportable);
	CHECK_EQ(vpeer_export(mapped, 1, &export, &error), -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_EXPORT);
	munmap(mapped, GRANULE);
	close(dmabuf);
	close(fd);
}

TEST(dmabuf_by_descriptor, 10)
{
	struct vpeer_memory memory, second;
	struct vpeer_error error;
	unsigned int before;
	int fd = aperture_open(), dmabuf, exported;
	uint64_t at = window_alloc(fd, GRANULE), offset;

	dmabuf = dmabuf_export(fd, at, GRANULE);
	before = descriptors();
	CHECK_EQ(vpeer_memory_from_dmabuf(dmabuf, 4100, 10, 0x10004, &memory, &error), 0);
	CHECK_EQ(memory.kind, VPEER_MEMORY_DMABUF);
	CHECK_EQ(memory.dmabuf.size, GRANULE);
	CHECK(!strcmp(memory.dmabuf.name, "vpeer"));
	CHECK(strstr(memory.who, "vpeer"));
	CHECK_EQ(vpeer_memory_export(&memory, 0x10006, 2, 0, &exported, &offset, &error), 0);
	CHECK_EQ(dmabuf_size(exported), GRANULE);
	CHECK_EQ(offset, 4102);
	close(exported);
	CHECK_EQ(vpeer_memory_share(&memory, &second), 0);
	vpeer_memory_release(&memory);
	CHECK_EQ(lseek(second.dmabuf.fd, 0, SEEK_END), GRANULE);
	vpeer_memory_release(&second);

	CHECK_EQ(vpeer_memory_from_dmabuf(dmabuf, 4100, 10, 0x10000, &memory, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BAD_ALIGNMENT);
	CHECK_EQ(vpeer_memory_from_dmabuf(dmabuf, GRANULE - 1, 2, 0xfff, &memory, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BEYOND_END);
	CHECK_EQ(vpeer_memory_from_dmabuf(dmabuf, 0, UINT64_MAX, 0, &memory, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BEYOND_END);
	CHECK_EQ(vpeer_memory_from_dmabuf(fd, 0, 1, 0, &memory, &error), -EBADF);
	CHECK(strstr(error.message, "DMA-buf"));
	CHECK_EQ(vpeer_memory_from_dmabuf(-1, 0, 1, 0, &memory, &error), -EBADF);
	CHECK_EQ(vpeer_memory_from_dmabuf(12345, 0, 1, 0, &memory, NULL), -EBADF);
	CHECK_EQ(descriptors(), before);
	close(dmabuf);
	close(fd);
}

TEST(dmabuf_of_another_driver, 10)
{
	struct vpeer_memory memory;
	struct vpeer_error error;
	void *same;
	int dmabuf = vgem_make(2, &same);
	char *mapped = mmap(NULL, 8192, PROT_READ, MAP_SHARED, dmabuf, 0);

	CHECK(mapped != MAP_FAILED);
	CHECK_EQ(query(mapped, 8192).kind, VPEER_MEMORY_DMABUF);
	CHECK_EQ(query(same, 8192).kind, VPEER_MEMORY_HOST);
	CHECK_EQ(vpeer_memory_from_dmabuf(dmabuf, 0, 8192, 0, &memory, &error), 0);
	CHECK(strcmp(memory.dmabuf.name, "vpeer") != 0 && memory.dmabuf.name[0]);
	vpeer_memory_release(&memory);
	munmap(mapped, 8192);
	munmap(same, 8192);
	close(dmabuf);
}

/* A BAR mapped by the kernel's own means is known to be nothing that can be pinned. */
TEST(bar_of_sysfs, 10)
{
	const char *pci = aperture_pci();
	struct vpeer_memory memory;
	struct vpeer_finder *finder;
	char path[128], *mapped;
	int fd;

	CHECK_OK(control_detach(pci, NULL, NULL));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource2", pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(mapped != MAP_FAILED);
	close(fd);
	CHECK_EQ(query(mapped, 4096).kind, VPEER_MEMORY_HOST);
	CHECK(!query(mapped, 4096).exportable);
	CHECK_EQ(vpeer_finder_create(&finder, -1, NULL), 0);
	CHECK_EQ(vpeer_memory_identify(finder, (uintptr_t)mapped, 1, &memory, NULL), 0);
	CHECK(strstr(memory.who, "resource2"));
	CHECK_EQ(memory.ops->explain(&memory, VPEER_ROUTE_PAGES, EFAULT),
		 VPEER_REASON_NOT_PINNABLE);
	vpeer_memory_release(&memory);
	vpeer_finder_destroy(finder);
	munmap(mapped, 4096);
	CHECK_OK(control_attach(pci, VPEER_BAR_AUTO, 0, NULL));
}

/* A finder keeps an open file as long as there is memory of it, and no longer. */
TEST(owner_is_let_go, 10)
{
	int fd = aperture_open(), event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	unsigned int before = descriptors();
	struct vpeer_memory memory, second;
	struct vpeer_finder *finder;
	struct vpeer_error error;
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, at, GRANULE);

	CHECK_EQ(vpeer_finder_create(&finder, event, &error), 0);
	CHECK_EQ(vpeer_memory_identify(finder, (uintptr_t)mapped, GRANULE, &memory, &error), 0);
	CHECK_EQ(vpeer_memory_identify(finder, (uintptr_t)mapped + 1, 1, &second, &error), 0);
	CHECK_EQ(descriptors(), before + 1);
	CHECK(memory.writable && memory.cacheable);
	CHECK(vpeer_memory_valid(&memory));
	CHECK(memory.aperture_id && memory.aperture_size == aperture_stat("size"));
	vpeer_finder_trim(finder);
	CHECK_EQ(descriptors(), before + 1);

	/* The program lets go; the finder is told, and lets go too. */
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	munmap(mapped, GRANULE);
	CHECK(!vpeer_memory_valid(&memory));
	CHECK_OK(eventfd_read(event, &at));
	vpeer_memory_release(&memory);
	vpeer_finder_trim(finder);
	CHECK_EQ(aperture_stat("windows"), 1);
	vpeer_memory_release(&second);
	vpeer_finder_trim(finder);
	CHECK_EQ(aperture_stat("windows"), 0);
	CHECK_EQ(descriptors(), before - 1);
	vpeer_finder_destroy(finder);
	close(event);
}

static int find(struct vpeer_finder *finder, const char *mapped, struct vpeer_memory *memory)
{
	struct vpeer_error error;

	return vpeer_memory_identify(finder, (uintptr_t)mapped, 1, memory, &error);
}

/* Windows of two open files, through one finder: each is told from the others. */
TEST(one_finder, 10)
{
	int one = aperture_open(), other = aperture_open();
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct vpeer_memory memories[3];
	struct vpeer_finder *finder;
	unsigned int before;
	char *mapped[3];

	CHECK_EQ(vpeer_finder_create(&finder, event, NULL), 0);
	before = descriptors();
	for (uint64_t i = 0; i < 3; i++) {
		int fd = i < 2 ? one : other;

		CHECK_OK(window_alloc_at(fd, i * GRANULE, GRANULE, NULL));
		mapped[i] = window_map(fd, i * GRANULE, GRANULE);
		CHECK_EQ(find(finder, mapped[i], &memories[i]), 0);
		CHECK_EQ(memories[i].window.offset, i * GRANULE);
		CHECK_EQ(memories[i].base_length, GRANULE);
		CHECK_EQ(memories[i].seen, window_info(fd, i * GRANULE).generation);
	}
	CHECK_EQ(descriptors(), before + 2);
	CHECK(memories[0].window.owner == memories[1].window.owner);
	CHECK(memories[0].window.owner != memories[2].window.owner);
	CHECK_OK(window_revoke(one, GRANULE, 0, NULL));
	CHECK(vpeer_memory_valid(&memories[0]) && !vpeer_memory_valid(&memories[1]) &&
	      vpeer_memory_valid(&memories[2]));
	for (uint64_t i = 0; i < 3; i++) {
		vpeer_memory_release(&memories[i]);
		munmap(mapped[i], GRANULE);
	}
	vpeer_finder_destroy(finder);
	CHECK_EQ(descriptors(), before);
	close(event);
	close(one);
	close(other);
}

/* Each way in which it ends is seen by the generation that was read before. */
TEST(validity, 10)
{
	int fd = aperture_open(), event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct vpeer_finder *finder;
	struct vpeer_memory memory;
	char *mapped;

	CHECK_EQ(vpeer_finder_create(&finder, event, NULL), 0);
	for (int way = 0; way < 4; way++) {
		uint64_t at = window_alloc(fd, GRANULE);

		mapped = window_map(fd, at, GRANULE);
		CHECK_EQ(find(finder, mapped, &memory), 0);
		CHECK(vpeer_memory_valid(&memory));
		if (way == 0)
			CHECK_OK(window_revoke(fd, at, 0, NULL));
		if (way == 1)
			CHECK_OK(window_free(fd, at));
		if (way == 2)
			munmap(mapped + GRANULE - 4096, 4096);
		if (way == 3)
			CHECK(mmap(mapped, 4096, PROT_READ,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == mapped);
		CHECK(!vpeer_memory_valid(&memory));
		vpeer_memory_release(&memory);
		munmap(mapped, GRANULE);
		if (way != 1)
			CHECK_OK(window_free(fd, at));
	}
	vpeer_finder_destroy(finder);
	close(event);
	close(fd);
}

/* An open file tells so many finders, and each further one that it does not. */
TEST(eventfds_run_out, 10)
{
	struct vpeer_memory memories[VPEER_MAX_EVENTFDS + 1];
	struct vpeer_finder *finders[VPEER_MAX_EVENTFDS + 1];
	int fd = aperture_open(), events[VPEER_MAX_EVENTFDS + 1];
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, at, GRANULE);
	const int last = VPEER_MAX_EVENTFDS;

	for (int i = 0; i <= last; i++) {
		events[i] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		CHECK_EQ(vpeer_finder_create(&finders[i], events[i], NULL), 0);
		CHECK_EQ(find(finders[i], mapped, &memories[i]), 0);
		CHECK_EQ(memories[i].cacheable, i < last);
		CHECK(vpeer_memory_valid(&memories[i]));
	}
	CHECK(!memories[0].uncached && strstr(memories[last].uncached, "eventfd"));

	/* One that goes makes room. */
	vpeer_memory_release(&memories[0]);
	vpeer_finder_destroy(finders[0]);
	vpeer_memory_release(&memories[last]);
	CHECK_EQ(find(finders[last], mapped, &memories[last]), 0);
	CHECK(memories[last].cacheable);
	munmap(mapped, GRANULE);
	for (int i = 1; i <= last; i++) {
		CHECK(!vpeer_memory_valid(&memories[i]));
		CHECK_OK(eventfd_read(events[i], &at));
		vpeer_memory_release(&memories[i]);
		vpeer_finder_destroy(finders[i]);
	}
	for (int i = 0; i <= last; i++)
		close(events[i]);
	close(fd);
}

// SPDX-License-Identifier: GPL-2.0-only
/* An aperture of many times the guest's memory, most of which no one ever touches. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "disk.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define GIB	(1ULL << 30)
#define PAGE	4096

/* Of the aperture: what a mapped one may cost in host memory, and an idle one. */
#define COST_MAPPED(size)	((int64_t)((size) / 200))
#define COST_IDLE(size)		((int64_t)((size) / 5000))

static uint64_t big_size(void)
{
	uint64_t size = aperture_stat("size");

	if (size < 64 * GIB)
		test_skip("aperture smaller than 64 GiB");
	return size;
}

/* Sum of the numbers behind a word of /proc/zoneinfo, in bytes. */
static int64_t zone_bytes(const char *text, const char *word)
{
	int64_t pages = 0;

	while ((text = strstr(text, word))) {
		text += strlen(word);
		pages += strtoll(text, NULL, 10);
	}
	return pages * PAGE;
}

/* Free pages, those included that each CPU keeps at hand: many after a great release. */
static int64_t free_now(void)
{
	static char text[64 << 10];

	CHECK(sysfs_read("/proc/zoneinfo", text, sizeof(text)));
	CHECK(strlen(text) < sizeof(text) - 1);
	return zone_bytes(text, "nr_free_pages ") + zone_bytes(text, " count: ");
}

/* Bytes of memory that nothing uses, caches left out, once they are the same twice. */
static int64_t memory_free(void)
{
	int64_t before, now = 0;

	CHECK(sysfs_write("/proc/sys/vm/drop_caches", "3"));
	do {
		before = now;
		test_sleep_ms(200);
		now = free_now();
	} while (llabs(now - before) > 256 * 1024);
	return now;
}

static void tell(const char *what, int64_t bytes, uint64_t size)
{
	printf("%s: %lld KiB, %.4f %% of %llu GiB\n", what, (long long)bytes / 1024,
	       100.0 * bytes / size, (unsigned long long)(size / GIB));
}

static int64_t attach_ms(void)
{
	int64_t start = test_now_ms();

	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	return test_now_ms() - start;
}

TEST(attach_is_quick_and_costs_little, 60)
{
	uint64_t size = big_size();
	int64_t before, cost, ms;

	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	before = memory_free();
	ms = attach_ms();
	cost = before - memory_free();
	printf("attached in %lld ms\n", (long long)ms);
	tell("attached", cost, size);
	CHECK(ms < 1000);
	CHECK(cost < COST_IDLE(size));
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	cost = before - memory_free();
	tell("detached", cost, size);
	CHECK(cost < COST_IDLE(size) / 4);
	attach_ms();
}

/* One window costs its own GiB, not the aperture. */
TEST(one_window_costs_one_chunk, 60)
{
	int64_t before, cost;
	int fd;

	big_size();
	fd = aperture_open();
	before = memory_free();
	CHECK_OK(window_alloc_at(fd, 40 * GIB, GRANULE, NULL));
	cost = before - memory_free();
	tell("one window", cost, GIB);
	CHECK(cost < COST_MAPPED(GIB));
	close(fd);
}

/* The whole of it: the measure sees what it costs, and that it comes back. */
TEST(whole, 120)
{
	uint64_t size = big_size();
	int64_t before, cost, start;
	char *mapped;
	int fd = aperture_open();

	/* Pages of the window before linger for a moment. */
	test_sleep_ms(3000);
	before = memory_free();
	start = test_now_ms();
	CHECK_OK(window_alloc_at(fd, 0, size, NULL));
	printf("claimed in %lld ms\n", (long long)(test_now_ms() - start));
	cost = before - memory_free();
	tell("mapped", cost, size);
	CHECK(cost < COST_MAPPED(size));
	CHECK(cost > COST_MAPPED(size) / 4);
	mapped = window_map(fd, size - GRANULE, GRANULE);
	CHECK_EQ(signal_of_write(mapped + GRANULE - 1), 0);
	munmap(mapped, GRANULE);
	close(fd);
	CHECK(aperture_all_free());
	start = test_now_ms();
	CHECK_WITHIN(before - memory_free() < COST_IDLE(size), 30000);
	printf("given back after %lld ms\n", (long long)(test_now_ms() - start));
	tell("given back", before - memory_free(), size);
}

static void check_window(int fd, uint64_t offset, uint64_t seed)
{
	char *mapped = window_map(fd, offset, 2 * GRANULE), *plain = plain_memory(2 * GRANULE);

	CHECK(all_zero(mapped, 2 * GRANULE));
	pattern_fill(plain, 2 * GRANULE, seed);
	memcpy(mapped, plain, 2 * GRANULE);
	CHECK(owner_is(offset, plain, 2 * GRANULE));
	pattern_fill(plain, PAGE, seed + 1);
	owner_write(offset + 2 * GRANULE - PAGE, plain, PAGE);
	CHECK(pattern_is(mapped + 2 * GRANULE - PAGE, PAGE, seed + 1));
	munmap(plain, 2 * GRANULE);
}

TEST(windows_anywhere, 120)
{
	uint64_t size = big_size(), offsets[] = {
		0, GIB - GRANULE, 2 * GIB - GRANULE, 4 * GIB - GRANULE, 8 * GIB,
		33 * GIB + 66 * GRANULE, size - 2 * GRANULE,
	};
	int fd = aperture_open();

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++)
		check_window(fd, offsets[i], 201 + 2 * i);
	CHECK_EQ(aperture_stat("windows"), ARRAY_SIZE(offsets));
	close(fd);
}

TEST(last_page_by_rdma, 60)
{
	uint64_t size = big_size();
	char *plain = plain_memory(GRANULE), *mapped;
	struct ibv_mr *mr, *local;
	int fd = aperture_open();
	struct rdma r;

	rdma_open(&r);
	mapped = window_map(fd, size - GRANULE, GRANULE);
	mr = rdma_reg(&r, mapped, GRANULE);
	local = rdma_reg(&r, plain, GRANULE);
	pattern_fill(plain, GRANULE, 221);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, GRANULE), IBV_WC_SUCCESS);
	CHECK(owner_is(size - GRANULE, plain, GRANULE));
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped + GRANULE - PAGE, mr->rkey, PAGE),
		 IBV_WC_SUCCESS);
	CHECK(owner_is(size - PAGE, plain, PAGE));
	pattern_fill(plain, GRANULE, 222);
	owner_write(size - GRANULE, plain, GRANULE);
	memset(plain, 0, GRANULE);
	CHECK_EQ(rdma_read(&r, local, (uintptr_t)mapped, mr->rkey, GRANULE), IBV_WC_SUCCESS);
	CHECK(pattern_is(plain, GRANULE, 222));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	close(fd);
}

TEST(last_page_by_disk, 60)
{
	uint64_t size = big_size();
	int disk = disk_open("VPEER_NVME_DISK"), fd = aperture_open();
	char *mapped = window_map(fd, size - GRANULE, GRANULE), *plain = plain_memory(GRANULE);
	char *last = mapped + GRANULE - PAGE;

	pattern_fill(plain, PAGE, 223);
	CHECK_EQ(pwrite(disk, plain, PAGE, 20 * MIB), PAGE);
	CHECK_EQ(pread(disk, last, PAGE, 20 * MIB), PAGE);
	CHECK(owner_is(size - PAGE, plain, PAGE));
	pattern_fill(plain, PAGE, 224);
	owner_write(size - PAGE, plain, PAGE);
	CHECK_EQ(pwrite(disk, last, PAGE, 24 * MIB), PAGE);
	CHECK_EQ(pread(disk, plain, PAGE, 24 * MIB), PAGE);
	CHECK(pattern_is(plain, PAGE, 224));
	close(disk);
	close(fd);
}

/* Bytes that the memory behind the aperture takes. */
static int64_t backing_bytes(void)
{
	char path[256];
	struct stat status;

	snprintf(path, sizeof(path), "%s/%s-bar2", getenv("VPEER_OWNER_DIR") ?: "",
		 aperture_pci());
	CHECK_OK(stat(path, &status));
	return status.st_blocks * 512LL;
}

/* Nothing but what was written: neither attach nor pages nor a claim fills the memory. */
TEST(stays_sparse, 60)
{
	uint64_t size = big_size();
	int64_t before = backing_bytes();
	int fd = aperture_open();
	char *mapped;

	tell("memory behind the aperture", before, size);
	CHECK(before < (int64_t)(64 * MIB));
	CHECK_OK(window_alloc_at(fd, 16 * GIB, 32 * GIB, NULL));
	CHECK(backing_bytes() - before < (int64_t)MIB);
	mapped = window_map(fd, 20 * GIB, GRANULE);
	memset(mapped, 1, GRANULE);
	CHECK(backing_bytes() - before >= (int64_t)GRANULE);
	close(fd);
}

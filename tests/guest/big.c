// SPDX-License-Identifier: GPL-2.0-only
/* What needs an aperture of more than 1 GiB: several chunks of pages, many windows. */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define GIB	(1ULL << 30)

static void need_size(uint64_t size)
{
	if (aperture_stat("size") < size)
		test_skip("aperture smaller than %llu MiB",
			  (unsigned long long)(size / MIB));
}

TEST(slots_run_out, 60)
{
	struct vpeer_window_alloc arg = { .argsz = sizeof(arg), .size = 1 };
	int fd = aperture_open(), other = aperture_open();

	need_size((VPEER_MAX_WINDOWS + 8) * GRANULE);
	for (unsigned int i = 0; i < VPEER_MAX_WINDOWS; i++)
		window_alloc(fd, 1);
	CHECK_EQ(aperture_stat("windows"), VPEER_MAX_WINDOWS);
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, EMFILE,
		      VPEER_REASON_TOO_MANY_WINDOWS);
	CHECK_EQ(aperture_stat("bytes_free"),
		 aperture_stat("size") - VPEER_MAX_WINDOWS * GRANULE);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
			       (VPEER_MAX_WINDOWS + 1) * GRANULE), EMFILE);
	CHECK_OK(ioctl(other, VPEER_IOCTL_WINDOW_ALLOC, &arg));
	CHECK_OK(window_free(fd, 5 * GRANULE));
	window_alloc(fd, 1);
	close(fd);
	close(other);
}

TEST(across_chunks, 60)
{
	uint64_t offset = GIB - 2 * GRANULE, size = 4 * GRANULE;
	char *plain = plain_memory(64 * KIB), *mapped;
	struct ibv_mr *mr, *local;
	struct rdma r;
	int fd;

	need_size(GIB + 2 * GRANULE);
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, offset, size, NULL));
	mapped = window_map(fd, offset, size);
	CHECK(all_zero(mapped, size));
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, size);
	local = rdma_reg(&r, plain, 64 * KIB);
	CHECK_EQ(aperture_stat("bytes_pinned"), size);
	pattern_fill(plain, 64 * KIB, 91);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped + 2 * GRANULE - 32 * KIB,
			    mr->rkey, 64 * KIB), IBV_WC_SUCCESS);
	CHECK(owner_is(GIB - 32 * KIB, plain, 64 * KIB));
	CHECK_ERRNO(window_revoke(fd, offset, 0, NULL), EINPROGRESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_OK(window_revoke(fd, offset, 0, NULL));
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	close(fd);
}

TEST(both_ends, 60)
{
	uint64_t size = aperture_stat("size");
	char bytes[4096], *first, *last;
	int fd = aperture_open();

	need_size(GIB + GRANULE);
	first = window_map(fd, 0, GRANULE);
	last = window_map(fd, size - GRANULE, GRANULE);
	pattern_fill(first, sizeof(bytes), 92);
	pattern_fill(last + GRANULE - sizeof(bytes), sizeof(bytes), 93);
	owner_read(0, bytes, sizeof(bytes));
	CHECK(pattern_is(bytes, sizeof(bytes), 92));
	owner_read(size - sizeof(bytes), bytes, sizeof(bytes));
	CHECK(pattern_is(bytes, sizeof(bytes), 93));
	close(fd);
}

/* Pages are made on first claim and go again: whole aperture, twice. */
TEST(whole, 60)
{
	uint64_t size = aperture_stat("size");
	void *mapped;
	int fd;

	need_size(GIB + GRANULE);
	for (int round = 0; round < 2; round++) {
		fd = aperture_open();
		CHECK_OK(window_alloc_at(fd, 0, size, NULL));
		CHECK_EQ(aperture_stat("bytes_free"), 0);
		mapped = window_map(fd, size - GRANULE, GRANULE);
		CHECK_EQ(signal_of_write(mapped), 0);
		munmap(mapped, GRANULE);
		close(fd);
		test_sleep_ms(2500);
	}
}

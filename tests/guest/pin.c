// SPDX-License-Identifier: GPL-2.0-only
/* Memory registrations pin windows. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

TEST(counted, 20)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, 2 * GRANULE);
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
	mr = rdma_reg(&r, mapped, 2 * GRANULE);
	CHECK_EQ(aperture_stat("bytes_pinned"), 2 * GRANULE);
	CHECK_EQ(window_info(fd, 0).pinned_bytes, 2 * GRANULE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
	mr = rdma_reg(&r, mapped + 4096, 4096);
	CHECK_EQ(aperture_stat("bytes_pinned"), 4096);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	munmap(mapped, 2 * GRANULE);
	close(fd);
	rdma_close(&r);
}

/* The claim ends with the last mapping and pin, here in this order. */
TEST(claim_outlives_mapping, 20)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	uint64_t size = aperture_stat("size");
	struct ibv_mr *mr;
	uint32_t reason;
	struct rdma r;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	munmap(mapped, GRANULE);
	CHECK_EQ(aperture_stat("bytes_free"), size - GRANULE);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_DRAINING);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0), EBUSY);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), EBUSY);

	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_WITHIN(aperture_stat("bytes_free") == size, 5000);
	CHECK_OK(window_alloc_at(other, 0, GRANULE, NULL));
	close(other);
	close(fd);
	rdma_close(&r);
}

/* Freed and closed while pinned: not reused, and zero for the next owner. */
TEST(freed_while_pinned, 20)
{
	int fd = aperture_open(), other = aperture_open();
	char *mapped, *source = plain_memory(4096);
	struct ibv_mr *mr, *local;
	uint32_t reason;
	struct rdma r;

	rdma_open(&r);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mr = rdma_reg(&r, mapped, GRANULE);
	local = rdma_reg(&r, source, 4096);
	CHECK_ERRNO(window_free(fd, 0), EINPROGRESS);
	close(fd);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_DRAINING);

	/* The old registration still writes: into memory no one else has. */
	pattern_fill(source, 4096, 41);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, 4096), IBV_WC_SUCCESS);
	CHECK(owner_is(0, source, 4096));

	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_WITHIN(!window_alloc_at(other, 0, GRANULE, NULL), 5000);
	CHECK(all_zero(window_map(other, 0, GRANULE), GRANULE));
	close(other);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
}

/* Two registrations of one range: both must go. */
TEST(two_registrations, 20)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	uint64_t size = aperture_stat("size");
	struct ibv_mr *first, *second;
	struct rdma r;

	rdma_open(&r);
	first = rdma_reg(&r, mapped, GRANULE);
	second = rdma_reg(&r, mapped, GRANULE);
	munmap(mapped, GRANULE);
	CHECK_EQ(ibv_dereg_mr(first), 0);
	test_sleep_ms(500);
	CHECK_EQ(aperture_stat("bytes_free"), size - GRANULE);
	CHECK_EQ(ibv_dereg_mr(second), 0);
	CHECK_WITHIN(aperture_stat("bytes_free") == size, 5000);
	close(fd);
	rdma_close(&r);
}

TEST(module_stays_while_pinned, 20)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	munmap(mapped, GRANULE);
	close(fd);
	CHECK(system("rmmod vpeer 2>/dev/null") != 0);
	CHECK_EQ(aperture_stat("windows"), 1);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * CUDA memory, registered by the library on a device that imports DMA-bufs: of a GPU
 * whose own driver exports it, with and without vpeer's module, and of vpeer's windows.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "cuda_reg.h"
#include "dmabuf.h"
#include "gpu_window.h"
#include "harness.h"
#include "memory.h"
#include "module.h"
#include "vrnic.h"

#define UNIT	CUDA_UNIT
#define OFF	(4096 + 512)

/* Neither begins nor ends with a page; what is beside it is out of reach. */
static void check_transfers(struct cuda_reg *t, uint64_t at, size_t length)
{
	struct vpeer_mr *mr = cuda_reg_must(t, at, length, NULL);
	uint32_t rkey = vpeer_mr_rkey(mr);
	struct ibv_mr local;

	CHECK_EQ(vpeer_mr_kind(mr), VPEER_MEMORY_CUDA);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_DMABUF);
	cuda_reg_check(t, at, rkey, length);
	cuda_reg_check(t, at + length - 8, rkey, 8);
	cuda_reg_check_denied(t, at - 1, rkey, 1);
	cuda_reg_check_denied(t, at + length, rkey, 1);
	cuda_reg_check_denied(t, at, rkey ^ 1, 8);

	/* And as the sender's side. */
	local = *vpeer_mr_ibv(mr);
	local.addr = (void *)at;
	CHECK_EQ(rdma_write(&t->r, &local, (uintptr_t)t->plain + UNIT, t->plain_mr->rkey, 4096),
		 IBV_WC_SUCCESS);
	CHECK(cuda_reg_holds(t, at, t->plain + UNIT, 4096));
	CHECK_EQ(vpeer_dereg(mr), 0);
}

TEST(write_and_read, 60)
{
	unsigned int before;
	struct cuda_reg t;
	uint64_t at, small;

	cuda_reg_begin(&t, NULL);
	at = cuda_alloc(3 * UNIT);
	small = cuda_alloc(5000);
	before = descriptors();
	check_transfers(&t, at + OFF, 2 * UNIT);
	check_transfers(&t, small, 5000);
	CHECK_EQ(descriptors(), before);
	CHECK_EQ(cuda_reg_stats(&t).routes[VPEER_ROUTE_DMABUF], 2);
	cuda_reg_end(&t);
}

/* The GPU's driver alone: nothing of vpeer's is in the kernel. */
TEST(without_module, 60)
{
	struct cuda_reg t;
	uint64_t at;

	module_unload();
	CHECK(access("/sys/module/vpeer", F_OK) && access("/dev/vpeerctl", F_OK));
	cuda_reg_begin(&t, NULL);
	at = cuda_alloc(3 * UNIT);
	check_transfers(&t, at + OFF, 2 * UNIT);
	cuda_free(at);
	CHECK(cuda_alloc(3 * UNIT) == at);
	check_transfers(&t, at, UNIT);
	cuda_reg_end(&t);
	module_load();
}

/* The GPU's memory is a window of vpeer's, and its own engine tells what is in it. */
TEST(window_of_vpeer, 60)
{
	struct vgpu gpu;
	struct cuda_reg t;
	uint64_t at;

	cuda_reg_open(&t);
	cuda_load();
	gpu_attach(0, 0);
	vgpu_open(&gpu, 0);
	t.gpu = &gpu;
	t.ordinal = cuda_add_window(2 * GRANULE, &t.memory);
	cuda_use(t.ordinal);
	cuda_reg_context(&t, NULL);
	at = cuda_alloc(3 * UNIT);
	check_transfers(&t, at + OFF, 2 * UNIT);
	cuda_free(at);
	cuda_reg_end(&t);
	vgpu_close(&gpu);
	munmap(t.memory, 2 * GRANULE);
	cuda_close_windows();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* A hit asks the driver one thing; or nothing, when frees are told. */
static void check_hits(uint32_t check, uint64_t calls)
{
	struct vpeer_context_options options = { .cuda_check = check };
	struct vpeer_mr *mr, *again;
	uint64_t at, before, all;
	struct cuda_reg t;

	cuda_reg_begin(&t, &options);
	at = cuda_alloc(2 * UNIT);
	mr = cuda_reg_must(&t, at, 2 * UNIT, NULL);
	CHECK_EQ(vpeer_dereg(mr), 0);
	before = cuda.calls("cuPointerGetAttribute");
	all = cuda.calls("cuPointerGetAttributes");
	for (int i = 0; i < 10; i++) {
		again = cuda_reg_must(&t, at + (uint64_t)i * 512, UNIT, NULL);
		CHECK_EQ(again, mr);
		CHECK_EQ(vpeer_dereg(again), 0);
	}
	CHECK_EQ(cuda.calls("cuPointerGetAttribute"), before + 10 * calls);
	CHECK_EQ(cuda.calls("cuPointerGetAttributes"), all);
	CHECK_EQ(cuda.calls("cuMemGetHandleForAddressRange"), 1);
	CHECK_EQ(cuda_reg_stats(&t).hits, 10);
	cuda_reg_end(&t);
}

TEST(hits_by_id, 30)
{
	check_hits(VPEER_CUDA_CHECK_ID, 1);
}

TEST(hits_by_frees, 30)
{
	check_hits(VPEER_CUDA_CHECK_FREES, 0);
}

/* One write, and where it went: to what the address is now, or to what it was. */
static bool lands(struct cuda_reg *t, uint64_t at, uint64_t old_place, uint64_t seed)
{
	struct vpeer_mr *mr = cuda_reg_must(t, at, UNIT, NULL);
	bool now, old;

	pattern_fill(t->plain, 64, seed);
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, at, vpeer_mr_rkey(mr), 64), IBV_WC_SUCCESS);
	now = cuda_reg_holds(t, at, t->plain, 64);
	old = !memcmp(t->memory + old_place, t->plain, 64);
	CHECK(now != old);
	CHECK_EQ(vpeer_dereg(mr), 0);
	return now;
}

/* The same address, other memory behind it, each time. */
TEST(reallocated, 120)
{
	struct cuda_reg t;
	uint64_t at, place;

	cuda_reg_begin(&t, NULL);
	at = cuda_alloc(UNIT);
	for (unsigned int round = 0; round < 1000; round++) {
		place = cuda.place(at);
		CHECK_EQ(vpeer_dereg(cuda_reg_must(&t, at, UNIT, NULL)), 0);
		cuda_free(at);
		CHECK_EQ(cuda_alloc(UNIT), at);
		CHECK(cuda.place(at) != place);
		CHECK(lands(&t, at, place, round + 1));
	}
	CHECK_EQ(cuda_reg_stats(&t).stale, 1000);
	cuda_reg_end(&t);
}

/* Who promises to tell of frees, and does not, gets the old memory: what the check is for. */
TEST(frees_untold, 60)
{
	struct vpeer_context_options options = { .cuda_check = VPEER_CUDA_CHECK_FREES };
	struct cuda_reg t;
	uint64_t at, place;

	cuda_reg_begin(&t, &options);
	for (unsigned int told = 0; told < 2; told++) {
		at = cuda_alloc(UNIT);
		place = cuda.place(at);
		CHECK_EQ(vpeer_dereg(cuda_reg_must(&t, at, UNIT, NULL)), 0);
		if (told)
			CHECK(vpeer_invalidate(t.context, (void *)at, UNIT) >= 1);
		cuda_free(at);
		CHECK_EQ(cuda_alloc(UNIT), at);
		CHECK_EQ(lands(&t, at, place, 77 + told), told);
		vpeer_invalidate(t.context, (void *)at, UNIT);
		cuda_free(at);
	}
	cuda_reg_end(&t);
}

/* Held while its memory goes: it is known to be stale, and others get what is there now. */
TEST(held_and_freed, 60)
{
	struct vpeer_error error;
	struct vpeer_mr *mr, *other;
	struct cuda_reg t;
	uint64_t at;

	cuda_reg_begin(&t, NULL);
	at = cuda_alloc(UNIT);
	mr = cuda_reg_must(&t, at, UNIT, NULL);
	CHECK_EQ(vpeer_mr_check(mr, &error), 0);
	cuda_free(at);
	CHECK_EQ(vpeer_mr_check(mr, &error), -ESTALE);
	CHECK_EQ(error.reason, VPEER_REASON_MR_STALE);
	CHECK_EQ(vpeer_mr_work_begin(mr), -ESTALE);
	CHECK_EQ(cuda_alloc(UNIT), at);
	CHECK_EQ(vpeer_mr_check(mr, &error), -ESTALE);
	other = cuda_reg_must(&t, at, UNIT, NULL);
	CHECK(other != mr);
	cuda_reg_check(&t, at, vpeer_mr_rkey(other), UNIT);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_dereg(other), 0);
	cuda_reg_end(&t);
}

/* Several allocations side by side, which need not be so in the GPU's memory. */
TEST(mapped_allocations, 60)
{
	struct vpeer_mr *mr, *other;
	struct cuda_reg t;
	uint64_t at, between;

	cuda_reg_begin(&t, NULL);
	CHECK_EQ(cuda.reserve(&at, 3 * UNIT, 0, 0, 0), 0);
	for (unsigned int i = 0; i < 3; i++) {
		cuda_map(at + i * UNIT, UNIT, t.ordinal, true);
		between = cuda_alloc(UNIT);
	}
	check_transfers(&t, at + UNIT - 4096 - 8, UNIT + 8192);
	mr = cuda_reg_must(&t, at, 3 * UNIT, NULL);
	cuda_reg_check(&t, at, vpeer_mr_rkey(mr), 3 * UNIT);
	CHECK_EQ(cuda.unmap(at + UNIT, UNIT), 0);
	cuda_free(between);
	cuda_map(at + UNIT, UNIT, t.ordinal, true);
	CHECK_EQ(vpeer_mr_check(mr, NULL), -ESTALE);
	other = cuda_reg_must(&t, at, 3 * UNIT, NULL);
	CHECK(other != mr);
	cuda_reg_check(&t, at, vpeer_mr_rkey(other), 3 * UNIT);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_dereg(other), 0);
	cuda_reg_end(&t);
}

TEST(whole, 60)
{
	struct vpeer_reg_options whole = { .flags = VPEER_REG_WHOLE };
	uint64_t at, start, length;
	struct vpeer_mr *mr;
	struct cuda_reg t;

	cuda_reg_begin(&t, NULL);
	at = cuda_alloc(10000);
	mr = cuda_reg_must(&t, at + 5000, 1, &whole);
	vpeer_mr_range(mr, &start, &length);
	CHECK_EQ(start, at);
	CHECK_EQ(length, 10000);
	cuda_reg_check(&t, at, vpeer_mr_rkey(mr), 10000);
	cuda_reg_check_denied(&t, at + 10000, vpeer_mr_rkey(mr), 1);
	CHECK_EQ(vpeer_dereg(mr), 0);
	cuda_reg_end(&t);
}

/* One export for several devices. */
TEST(rails, 60)
{
	struct vpeer_context *contexts[2];
	struct vpeer_error error;
	struct vpeer_mr *mrs[2];
	struct rdma second;
	struct cuda_reg t;
	uint64_t at;

	cuda_reg_begin(&t, NULL);
	rdma_open_device(&second, vrnic_device(1));
	contexts[0] = t.context;
	CHECK_EQ(vpeer_context_create(&contexts[1], second.pd, NULL, &error), 0);
	at = cuda_alloc(UNIT);
	if (vpeer_reg_rails(contexts, 2, (void *)at, UNIT, NULL, mrs, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_EQ(cuda.calls("cuMemGetHandleForAddressRange"), 1);
	cuda_reg_check(&t, at, vpeer_mr_rkey(mrs[0]), UNIT);
	CHECK(vpeer_mr_ibv(mrs[1])->context == second.context);
	CHECK_EQ(vpeer_dereg(mrs[0]), 0);
	CHECK_EQ(vpeer_dereg(mrs[1]), 0);
	CHECK_EQ(vpeer_context_destroy(contexts[1], NULL), 0);
	rdma_close(&second);
	cuda_reg_end(&t);
}

static int export_by_pcie(void *context, const struct test_cuda_extent *extents, size_t count)
{
	struct test_cuda_device *real = context;

	/* What no device imports. */
	if (!cuda.export_flags())
		return memfd_create("no DMA-buf", MFD_CLOEXEC);
	return real->export(real->context, extents, count);
}

/* The mapping type that the NIC does not take is not the last word. */
TEST(other_mapping_type, 60)
{
	struct test_cuda_device real, device;
	struct cuda_reg t;
	uint64_t at;

	cuda_reg_open(&t);
	cuda_load();
	real = cuda_memory_device(8 * MIB, &t.memory);
	device = real;
	device.pcie = 1;
	device.export = export_by_pcie;
	device.context = &real;
	t.ordinal = cuda_add(&device);
	cuda_use(t.ordinal);
	cuda_reg_context(&t, NULL);
	at = cuda_alloc(3 * UNIT);
	check_transfers(&t, at, UNIT);
	CHECK_EQ(cuda.export_flags(), 1);
	CHECK_EQ(cuda.calls("cuMemGetHandleForAddressRange"), 2);
	cuda_reg_end(&t);
}

/* What fails for a moment is tried again by the next registration. */
TEST(failures, 60)
{
	struct vpeer_reg_options dmabuf = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_error error;
	struct cuda_reg t;
	uint64_t at;

	cuda_reg_begin(&t, NULL);
	at = cuda_alloc(UNIT);
	cuda.fail("cuMemGetHandleForAddressRange", 2, 1);
	error = cuda_reg_refused(&t, at, UNIT, &dmabuf, -ENOSPC);
	CHECK_EQ(error.reason, VPEER_REASON_BAR_FULL);
	cuda.fail("cuMemGetHandleForAddressRange", 801, 1);
	error = cuda_reg_refused(&t, at, UNIT, NULL, -EOPNOTSUPP);
	CHECK(strstr(error.message, "CUDA_ERROR_NOT_SUPPORTED"));
	CHECK(strstr(error.message, "peermem"));
	check_transfers(&t, at + 512, UNIT - 512);
	cuda_reg_end(&t);
}

#define THREADS	8
#define ROUNDS	150

static void *allocate_and_register(void *data)
{
	struct cuda_reg *t = data;

	cuda_use(t->ordinal);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		uint64_t at = cuda_alloc(UNIT);
		struct vpeer_mr *mr = cuda_reg_must(t, at, UNIT, NULL), *again;

		CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
		again = cuda_reg_must(t, at + 64, 64, NULL);
		CHECK_EQ(again, mr);
		CHECK_EQ(vpeer_dereg(again), 0);
		CHECK_EQ(vpeer_dereg(mr), 0);
		cuda_free(at);
	}
	return NULL;
}

TEST(threads, 120)
{
	pthread_t threads[THREADS];
	struct cuda_reg t;
	unsigned int before;

	cuda_reg_begin(&t, NULL);
	before = descriptors();
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, allocate_and_register, &t), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	CHECK_EQ(descriptors(), before);
	CHECK_EQ(cuda_reg_stats(&t).registered, THREADS * ROUNDS);
	cuda_reg_end(&t);
}

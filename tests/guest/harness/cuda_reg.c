// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>

#include "cuda_reg.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"
#include "sim.h"
#include "vrnic.h"

#define MEMORY	(8 * MIB)

static uint64_t seed = 4000;

void cuda_reg_open(struct cuda_reg *t)
{
	*t = (struct cuda_reg){ 0 };
	if (reg_has_models()) {
		sim_begin();
		vrnic_dmabuf_mode("dynamic");
	}
	reg_open_device(&t->r);
	t->plain = plain_memory(CUDA_PLAIN);
	t->plain_mr = rdma_reg(&t->r, t->plain, CUDA_PLAIN);
}

void cuda_reg_context(struct cuda_reg *t, const struct vpeer_context_options *options)
{
	struct vpeer_error error;

	if (vpeer_context_create(&t->context, t->r.pd, options, &error))
		test_fail(__FILE__, __LINE__, "no context: %s", error.message);
}

void cuda_reg_begin(struct cuda_reg *t, const struct vpeer_context_options *options)
{
	cuda_reg_open(t);
	cuda_load();
	t->ordinal = cuda_add_memory(MEMORY, &t->memory);
	cuda_use(t->ordinal);
	cuda_reg_context(t, options);
}

void cuda_reg_end(struct cuda_reg *t)
{
	struct vpeer_error error;

	if (vpeer_context_destroy(t->context, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_EQ(ibv_dereg_mr(t->plain_mr), 0);
	rdma_close(&t->r);
	munmap(t->plain, CUDA_PLAIN);
}

struct vpeer_mr *cuda_reg_must(struct cuda_reg *t, uint64_t at, size_t length,
			       const struct vpeer_reg_options *options)
{
	return reg_must(t->context, (void *)at, length, options);
}

struct vpeer_error cuda_reg_refused(struct cuda_reg *t, uint64_t at, size_t length,
				    const struct vpeer_reg_options *options, int err)
{
	unsigned int before = descriptors();
	struct vpeer_error error;
	struct vpeer_mr *mr;

	CHECK_EQ(vpeer_reg(t->context, (void *)at, length, options, &mr, &error), err);
	CHECK(!mr);
	CHECK_EQ(descriptors(), before);
	return error;
}

/* A range may consist of parts that lie anywhere. */
bool cuda_reg_holds(struct cuda_reg *t, uint64_t at, const void *bytes, size_t length)
{
	const char *expected = bytes;
	size_t part;

	for (; length; at += part, expected += part, length -= part) {
		uint64_t place = cuda.place(at);

		part = CUDA_UNIT - place % CUDA_UNIT;
		part = part < length ? part : length;
		CHECK(place != UINT64_MAX);
		if (t->gpu && vgpu_checksum(t->gpu, place, part) != vgpu_sum_of(expected, part))
			return false;
		if (!t->gpu && memcmp(t->memory + place, expected, part))
			return false;
	}
	return true;
}

void cuda_reg_check(struct cuda_reg *t, uint64_t at, uint32_t rkey, uint32_t size)
{
	pattern_fill(t->plain, size, ++seed);
	CHECK(!cuda_reg_holds(t, at, t->plain, size));
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, at, rkey, size), IBV_WC_SUCCESS);
	CHECK(cuda_reg_holds(t, at, t->plain, size));
	memset(t->plain, 0, size);
	CHECK_EQ(rdma_read(&t->r, t->plain_mr, at, rkey, size), IBV_WC_SUCCESS);
	CHECK(pattern_is(t->plain, size, seed));
}

void cuda_reg_check_denied(struct cuda_reg *t, uint64_t at, uint32_t rkey, uint32_t size)
{
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, at, rkey, size), IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&t->r);
}

struct vpeer_stats cuda_reg_stats(const struct cuda_reg *t)
{
	return reg_stats(t->context);
}

// SPDX-License-Identifier: GPL-2.0-only
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"
#include "sim.h"
#include "vrnic.h"

static uint64_t seed = 700;

void reg_window_make(struct reg *t)
{
	CHECK_OK(window_alloc_at(t->fd, REG_AT, REG_SIZE, NULL));
	t->window = window_map(t->fd, REG_AT, REG_SIZE);
}

int reg_window_free(int fd, uint64_t offset)
{
	struct vpeer_window_op arg = {
		.argsz = sizeof(arg),
		.offset = offset,
		.timeout_ms = 10000,
	};

	return ioctl(fd, VPEER_IOCTL_WINDOW_FREE, &arg);
}

void reg_window_drop(struct reg *t)
{
	CHECK_OK(munmap(t->window, REG_SIZE));
	CHECK_OK(reg_window_free(t->fd, REG_AT));
}

bool reg_has_models(void)
{
	const char *devices = getenv("VPEER_VRNIC_DEVICES");

	return devices && *devices;
}

void reg_open_device(struct rdma *r)
{
	if (reg_has_models())
		rdma_open_device(r, vrnic_device(0));
	else
		rdma_open(r);
}

static void begin_models(struct reg *t)
{
	sim_begin();
	vrnic_dmabuf_mode("dynamic");
	gpu_attach(0, 0);
	gpu_window_open(&t->gpu, 0, REG_AT, REG_SIZE);
	t->fd = t->gpu.fd;
	t->window = window_map(t->fd, REG_AT, REG_SIZE);
	reg_open_device(&t->r);
}

void reg_begin_without(struct reg *t)
{
	*t = (struct reg){ .imports = reg_has_models() };
	if (t->imports) {
		begin_models(t);
	} else {
		reg_open_device(&t->r);
		t->fd = aperture_open();
		reg_window_make(t);
	}
	t->plain = plain_memory(REG_PLAIN);
	t->plain_mr = rdma_reg(&t->r, t->plain, REG_PLAIN);
}

void reg_end_without(struct reg *t)
{
	CHECK_EQ(ibv_dereg_mr(t->plain_mr), 0);
	rdma_close(&t->r);
	munmap(t->plain, REG_PLAIN);
	munmap(t->window, REG_SIZE);
	if (!t->imports) {
		close(t->fd);
		return;
	}
	gpu_window_close(&t->gpu);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

static struct vpeer_context *create(struct reg *t, const struct vpeer_context_options *options)
{
	struct vpeer_context *context;
	struct vpeer_error error;

	if (vpeer_context_create(&context, t->r.pd, options, &error))
		test_fail(__FILE__, __LINE__, "no context: %s", error.message);
	return context;
}

void reg_begin(struct reg *t, const struct vpeer_context_options *options)
{
	reg_begin_without(t);
	t->context = create(t, options);
}

void reg_end(struct reg *t)
{
	struct vpeer_error error;

	if (vpeer_context_destroy(t->context, &error))
		test_fail(__FILE__, __LINE__, "%s", error.message);
	reg_end_without(t);
}

bool reg_owner_is(struct reg *t, uint64_t offset, const void *bytes, uint64_t size)
{
	if (t->imports)
		return gpu_holds(&t->gpu, REG_AT + offset, bytes, size);
	return owner_is(REG_AT + offset, bytes, size);
}

struct vpeer_mr *reg_must(struct vpeer_context *context, void *address, size_t length,
			  const struct vpeer_reg_options *options)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;

	if (vpeer_reg(context, address, length, options, &mr, &error))
		test_fail(__FILE__, __LINE__, "not registered: %s", error.message);
	CHECK_EQ(error.err, 0);
	return mr;
}

void reg_check_window(struct reg *t, uint64_t offset, uint32_t rkey, uint32_t size)
{
	uint64_t address = (uintptr_t)t->window + offset;

	pattern_fill(t->plain, size, ++seed);
	CHECK(!reg_owner_is(t, offset, t->plain, size));
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, address, rkey, size), IBV_WC_SUCCESS);
	CHECK(reg_owner_is(t, offset, t->plain, size));
	memset(t->plain, 0, size);
	CHECK_EQ(rdma_read(&t->r, t->plain_mr, address, rkey, size), IBV_WC_SUCCESS);
	CHECK(pattern_is(t->plain, size, seed));
}

void reg_check_plain(struct reg *t, char *address, uint32_t rkey, uint32_t size)
{
	pattern_fill(t->plain, size, ++seed);
	CHECK(!pattern_is(address, size, seed));
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, (uintptr_t)address, rkey, size), IBV_WC_SUCCESS);
	CHECK(pattern_is(address, size, seed));
	pattern_fill(address, size, ++seed);
	CHECK_EQ(rdma_read(&t->r, t->plain_mr, (uintptr_t)address, rkey, size), IBV_WC_SUCCESS);
	CHECK(pattern_is(t->plain, size, seed));
}

void reg_check_denied(struct reg *t, void *address, uint32_t rkey, uint32_t size)
{
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, (uintptr_t)address, rkey, size),
		 IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&t->r);
}

struct vpeer_stats reg_stats(const struct vpeer_context *context)
{
	struct vpeer_stats stats;

	vpeer_context_stats(context, &stats);
	return stats;
}

unsigned int reg_descriptors(void)
{
	return descriptors();
}

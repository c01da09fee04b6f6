// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of queues for mlx5 devices: by a libmlx5 for tests, which makes MRs of it on
 * the devices that there are, so that bytes tell where it is.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define OFF	(3 * 4096 + 64)
#define SIZE	8192

/* What the library for tests returns. */
struct umem {
	uint32_t id;
	struct ibv_mr *mr;
};

/* Before libibverbs brings the real one in. */
static void *load(void)
{
	char path[4096] = "", *slash;
	void *handle;

	CHECK_OK(readlink("/proc/self/exe", path, sizeof(path) - 64));
	slash = strrchr(path, '/');
	strcpy(slash, "/../../mlx5/build/libmlx5.so.1");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		test_fail(__FILE__, __LINE__, "no test library: %s", dlerror());
	return handle;
}

static void begin(struct reg *t)
{
	void *handle = load(), *use;
	void (*use_pd)(struct ibv_pd *pd);

	reg_begin_without(t);
	use = dlsym(handle, "test_mlx5_use");
	CHECK(use);
	memcpy(&use_pd, &use, sizeof(use));
	use_pd(t->r.pd);
}

static struct umem *must(struct reg *t, void *address, size_t length)
{
	unsigned int before = descriptors();
	struct vpeer_error error;
	void *umem;

	if (vpeer_umem_reg(t->r.context, address, length, RDMA_ACCESS, &umem, &error))
		test_fail(__FILE__, __LINE__, "%s: %s", error.who, error.message);
	CHECK_EQ(error.err, 0);
	CHECK_EQ(descriptors(), before);
	return umem;
}

static void drop(struct umem *umem)
{
	CHECK_EQ(ibv_dereg_mr(umem->mr), 0);
	free(umem);
}

/* By DMA-buf where the device imports them, and it is the right part of the right one. */
TEST(window, 60)
{
	struct vpeer_error error;
	struct umem *umem;
	struct reg t;
	void *none;

	begin(&t);
	if (!t.imports) {
		CHECK_EQ(vpeer_umem_reg(t.r.context, t.window, SIZE, RDMA_ACCESS, &none, &error),
			 -EOPNOTSUPP);
		CHECK(strstr(error.message, "mlx5dv_devx_umem_reg_ex()"));
		CHECK(!none);
		reg_end_without(&t);
		return;
	}
	umem = must(&t, t.window + OFF, SIZE);
	CHECK(!umem->mr->addr || (uintptr_t)umem->mr->addr < 4096);
	pattern_fill(t.plain, SIZE, 51);
	CHECK_EQ(rdma_write(&t.r, t.plain_mr, OFF % 4096, umem->mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(reg_owner_is(&t, OFF, t.plain, SIZE));
	reg_check_denied(&t, (void *)(OFF % 4096 + SIZE), umem->mr->rkey, 1);
	drop(umem);
	reg_end_without(&t);
}

TEST(host, 60)
{
	struct umem *umem;
	struct reg t;
	char *memory;

	begin(&t);
	memory = plain_memory(4 * 4096);
	umem = must(&t, memory + 64, SIZE);
	pattern_fill(t.plain, SIZE, 52);
	CHECK_EQ(rdma_write(&t.r, t.plain_mr, (uintptr_t)memory + 64, umem->mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(memory + 64, SIZE, 52));
	drop(umem);
	munmap(memory, 4 * 4096);
	reg_end_without(&t);
}

/* No device of the lab is mlx5, and the real libmlx5 says so. */
TEST(no_mlx5, 60)
{
	struct vpeer_error error;
	struct reg t;
	void *umem;

	reg_begin_without(&t);
	CHECK_EQ(vpeer_umem_reg(t.r.context, t.window, SIZE, RDMA_ACCESS, &umem, &error),
		 -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_NO_MLX5);
	CHECK(error.message[0] && !umem);
	CHECK_EQ(vpeer_umem_reg(t.r.context, t.window, 0, RDMA_ACCESS, &umem, &error), -EINVAL);
	reg_end_without(&t);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Ordinary memory, registered by the library. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"
#include "user.h"

#define SIZE	(64 * KIB)

TEST(write_and_read, 30)
{
	char *memory = plain_memory(SIZE);
	uint64_t start, length;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, memory + 100, SIZE - 200, NULL);
	CHECK_EQ(vpeer_mr_kind(mr), VPEER_MEMORY_HOST);
	CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_PAGES);
	vpeer_mr_range(mr, &start, &length);
	CHECK_EQ(start, (uintptr_t)memory + 100);
	CHECK_EQ(length, SIZE - 200);
	CHECK_EQ(vpeer_mr_check(mr, NULL), 0);
	reg_check_plain(&t, memory + 100, vpeer_mr_rkey(mr), SIZE - 200);
	CHECK_EQ(memory[99], 0);
	CHECK_EQ(memory[SIZE - 100], 0);
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
	munmap(memory, SIZE);
}

/* As the sender's side. */
TEST(by_lkey, 30)
{
	char *memory = plain_memory(SIZE);
	struct vpeer_mr *mr;
	struct ibv_mr local;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, memory, SIZE, NULL);
	local = *vpeer_mr_ibv(mr);
	CHECK_EQ(local.lkey, vpeer_mr_lkey(mr));
	pattern_fill(memory, SIZE, 5);
	CHECK_EQ(rdma_write(&t.r, &local, (uintptr_t)t.plain, t.plain_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(t.plain, SIZE, 5));
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
	munmap(memory, SIZE);
}

TEST(denied, 60)
{
	struct vpeer_reg_options read_only = {
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
	};
	char *memory = plain_memory(3 * SIZE), *middle = memory + SIZE;
	struct vpeer_mr *mr;
	uint32_t rkey;
	struct reg t;

	reg_begin(&t, NULL);
	mr = reg_must(t.context, middle, SIZE, NULL);
	rkey = vpeer_mr_rkey(mr);
	pattern_fill(t.plain, SIZE, 6);
	reg_check_denied(&t, middle, rkey ^ 1, 4096);
	reg_check_denied(&t, middle + SIZE - 4096, rkey, 8192);
	reg_check_denied(&t, middle - 4096, rkey, 4096);
	CHECK(all_zero(memory, 3 * SIZE));
	reg_check_plain(&t, middle, rkey, SIZE);
	memset(middle, 0, SIZE);
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_check_denied(&t, middle, rkey, 4096);
	mr = reg_must(t.context, middle, SIZE, &read_only);
	reg_check_denied(&t, middle, vpeer_mr_rkey(mr), 4096);
	CHECK(all_zero(memory, 3 * SIZE));
	CHECK_EQ(vpeer_dereg(mr), 0);
	reg_end(&t);
	munmap(memory, 3 * SIZE);
}

/* Nothing says when it is freed: each gets an MR, and it ends with the last dereg. */
TEST(not_kept, 30)
{
	char *memory = plain_memory(SIZE);
	struct vpeer_mr *first, *second;
	struct reg t;

	reg_begin(&t, NULL);
	first = reg_must(t.context, memory, SIZE, NULL);
	second = reg_must(t.context, memory, SIZE, NULL);
	CHECK(vpeer_mr_rkey(first) != vpeer_mr_rkey(second));
	CHECK_EQ(reg_stats(t.context).entries, 2);
	CHECK_EQ(reg_stats(t.context).bytes, 2 * SIZE);
	CHECK_EQ(vpeer_dereg(first), 0);
	CHECK_EQ(vpeer_dereg(second), 0);
	CHECK_EQ(reg_stats(t.context).registered, 2);
	CHECK_EQ(reg_stats(t.context).deregistered, 2);
	CHECK_EQ(reg_stats(t.context).hits, 0);
	CHECK_EQ(reg_stats(t.context).entries, 0);
	CHECK_EQ(reg_stats(t.context).routes[VPEER_ROUTE_PAGES], 2);
	reg_end(&t);
	munmap(memory, SIZE);
}

TEST(kept_by_promise, 30)
{
	struct vpeer_reg_options keep = { .flags = VPEER_REG_KEEP };
	char *memory = plain_memory(SIZE);
	struct vpeer_mr *first, *second;
	struct reg t;

	reg_begin(&t, NULL);
	first = reg_must(t.context, memory, SIZE, &keep);
	CHECK_EQ(vpeer_dereg(first), 0);
	second = reg_must(t.context, memory + 5, SIZE - 10, &keep);
	CHECK_EQ(second, first);
	CHECK_EQ(reg_stats(t.context).registered, 1);
	CHECK_EQ(reg_stats(t.context).hits, 1);
	reg_check_plain(&t, memory, vpeer_mr_rkey(second), SIZE);
	CHECK_EQ(vpeer_invalidate(t.context, memory + SIZE - 1, 1), 1);
	CHECK_EQ(vpeer_invalidate(t.context, memory, SIZE), 0);
	CHECK_EQ(reg_stats(t.context).deregistered, 0);
	reg_check_plain(&t, memory, vpeer_mr_rkey(second), SIZE);
	CHECK_EQ(vpeer_dereg(second), 0);
	CHECK_EQ(reg_stats(t.context).deregistered, 1);
	first = reg_must(t.context, memory, SIZE, &keep);
	CHECK_EQ(reg_stats(t.context).registered, 2);
	CHECK_EQ(vpeer_dereg(first), 0);
	reg_end(&t);
	munmap(memory, SIZE);
}

static void check_refused(struct reg *t, void *address, size_t length, uint32_t access, int err,
			  unsigned int reason)
{
	struct vpeer_reg_options options = { .access = access };
	struct vpeer_mr *mr = (void *)1;
	struct vpeer_error error;

	CHECK_EQ(vpeer_reg(t->context, address, length, &options, &mr, &error), -err);
	CHECK_EQ(error.err, err);
	if (error.reason != reason)
		test_fail(__FILE__, __LINE__, "reason %u: %s", error.reason, error.message);
	CHECK(error.message[0] && error.remedy[0] && error.who[0]);
	CHECK(!mr);
	CHECK_EQ(vpeer_reg(t->context, address, length, &options, &mr, NULL), -err);
}

TEST(refused, 30)
{
	struct vpeer_reg_options reads = { .access = IBV_ACCESS_REMOTE_READ };
	char *memory = plain_memory(4 * SIZE);
	/* So low that nothing is mapped there unless it is asked for. */
	char *low = (char *)0x10000000;
	struct reg t;

	reg_begin(&t, NULL);
	CHECK(mmap(low, SIZE, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == low);
	CHECK_OK(mprotect(memory + 2 * SIZE, SIZE, PROT_READ));
	check_refused(&t, memory, 0, 0, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(&t, (void *)-4096L, 8192, 0, EOVERFLOW, VPEER_REASON_BAD_ARGUMENT);
	check_refused(&t, low, 2 * SIZE, 0, EFAULT, VPEER_REASON_NOT_MAPPED);
	check_refused(&t, low + SIZE, 1, 0, EFAULT, VPEER_REASON_NOT_MAPPED);
	check_refused(&t, memory + 2 * SIZE, SIZE, 0, EACCES, VPEER_REASON_ACCESS);
	check_refused(&t, memory, SIZE, IBV_ACCESS_RELAXED_ORDERING, EINVAL,
		      VPEER_REASON_BAD_ARGUMENT);
	check_refused(&t, memory, SIZE, IBV_ACCESS_REMOTE_WRITE, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	CHECK_EQ(reg_stats(t.context).registered, 0);
	CHECK_EQ(reg_stats(t.context).failed, 14);
	/* What may be read can be registered for that. */
	CHECK_EQ(vpeer_dereg(reg_must(t.context, memory + 2 * SIZE, SIZE, &reads)), 0);
	reg_end(&t);
	munmap(memory, 4 * SIZE);
	munmap(low, SIZE);
}

/* Of which a device, or a kernel, may have the one or the other: what it has not is named. */
TEST(access_not_offered, 30)
{
	static const struct {
		uint32_t access;
		const char *words;
	} cases[] = {
		{ IBV_ACCESS_ON_DEMAND, "(on demand)" },
		{ IBV_ACCESS_MW_BIND, "(memory windows)" },
	};
	char *memory = plain_memory(SIZE);
	struct reg t;

	reg_begin(&t, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct vpeer_reg_options options = {
			.access = IBV_ACCESS_LOCAL_WRITE | cases[i].access,
		};
		struct vpeer_error error;
		struct vpeer_mr *mr;
		int err = vpeer_reg(t.context, memory, SIZE, &options, &mr, &error);

		if (!err) {
			CHECK_EQ(vpeer_dereg(mr), 0);
			continue;
		}
		printf("%s\n", error.message);
		CHECK_EQ(err, -EOPNOTSUPP);
		CHECK_EQ(error.reason, VPEER_REASON_ACCESS);
		CHECK_EQ(error.mender, VPEER_MENDER_PROGRAM);
		CHECK(strstr(error.message, cases[i].words));
	}
	reg_end(&t);
	munmap(memory, SIZE);
}

TEST(routes_forbidden, 30)
{
	struct vpeer_reg_options options = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	char *memory = plain_memory(SIZE);
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct reg t;

	reg_begin(&t, NULL);
	CHECK_EQ(vpeer_reg(t.context, memory, SIZE, &options, &mr, &error), -EPERM);
	CHECK_EQ(error.reason, VPEER_REASON_ROUTE_FORBIDDEN);
	CHECK(strstr(error.message, "pages"));
	reg_end(&t);
	munmap(memory, SIZE);
}

static void with_short_limit(void *unused)
{
	struct vpeer_reg_options options = { .access = IBV_ACCESS_REMOTE_READ };
	char *memory = plain_memory(MIB);
	struct rlimit limit = { 64 * KIB, 64 * KIB };
	struct vpeer_context *context;
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct rdma r;

	(void)unused;
	reg_open_device(&r);
	CHECK_EQ(vpeer_context_create(&context, r.pd, NULL, &error), 0);
	CHECK_OK(setrlimit(RLIMIT_MEMLOCK, &limit));
	become_member();
	CHECK_EQ(vpeer_reg(context, memory, MIB, &options, &mr, &error), -ENOMEM);
	if (error.reason != VPEER_REASON_MEMLOCK)
		test_fail(__FILE__, __LINE__, "reason %u: %s", error.reason, error.message);
	CHECK(strstr(error.message, "64 KiB"));
	CHECK(strstr(error.message, "1024 more"));
	CHECK(error.remedy[0]);
	CHECK_EQ(vpeer_reg(context, memory, 4096, &options, &mr, &error), 0);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(vpeer_context_destroy(context, NULL), 0);
	rdma_close(&r);
}

TEST(memlock, 30)
{
	test_in_child(with_short_limit, NULL);
}

/* Registers of a device: there is nothing to pin. */
TEST(not_pinnable, 30)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;
	char path[128];
	void *mapped;
	struct reg t;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource0", aperture_pci());
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK_OK((long)mapped);
	close(fd);
	reg_begin(&t, NULL);
	CHECK_EQ(vpeer_reg(t.context, mapped, 4096, NULL, &mr, &error), -EFAULT);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_PINNABLE);
	CHECK(strstr(error.message, "pages"));
	CHECK(error.remedy[0]);
	reg_end(&t);
	munmap(mapped, 4096);
}

TEST(many_descriptors, 60)
{
	char *memory = plain_memory(SIZE);
	unsigned int before;
	struct reg t;

	reg_begin(&t, NULL);
	before = reg_descriptors();
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(vpeer_dereg(reg_must(t.context, memory, 4096, NULL)), 0);
	CHECK_EQ(reg_descriptors(), before);
	reg_end(&t);
	munmap(memory, SIZE);
}

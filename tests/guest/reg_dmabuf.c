// SPDX-License-Identifier: GPL-2.0-only
/* DMA-bufs by descriptor, registered by the library. */
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"
#include "udmabuf.h"

#define SIZE	(64 * KIB)
#define IOVA	0x123456789000ULL
#define OFF	8192	/* of the registered bytes, in the DMA-buf */
#define START	4096	/* of the DMA-buf, in the window */

static void check_bytes(struct reg *t, uint64_t iova, uint64_t at, uint32_t rkey)
{
	pattern_fill(t->plain, SIZE, at);
	CHECK(!reg_owner_is(t, at, t->plain, SIZE));
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, iova, rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(reg_owner_is(t, at, t->plain, SIZE));
}

static void check_window(struct reg *t, struct vpeer_mr *mr)
{
	uint64_t start, length;

	CHECK_EQ(vpeer_mr_kind(mr), VPEER_MEMORY_DMABUF);
	CHECK_EQ(vpeer_mr_route(mr), t->imports ? VPEER_ROUTE_DMABUF : VPEER_ROUTE_PAGES);
	vpeer_mr_range(mr, &start, &length);
	CHECK_EQ(start, IOVA + 100);
	CHECK_EQ(length, SIZE);
	check_bytes(t, IOVA + 100, START + OFF + 100, vpeer_mr_rkey(mr));
	reg_check_denied(t, (void *)(IOVA + 99), vpeer_mr_rkey(mr), 8);
	reg_check_denied(t, (void *)(IOVA + 100 + SIZE - 7), vpeer_mr_rkey(mr), 8);
	CHECK_EQ(vpeer_dereg(mr), 0);
	CHECK_EQ(reg_stats(t->context).deregistered, 1);
}

/*
 * The descriptor is closed, and the program's own too; nothing is left of either. Without import there are the
 * pages of its mapping, which only newer kernels pin.
 */
TEST(window, 60)
{
	unsigned int before;
	struct vpeer_error error;
	struct vpeer_mr *mr;
	struct reg t;
	int fd, err;

	reg_begin(&t, NULL);
	before = reg_descriptors();
	fd = dmabuf_export(t.fd, REG_AT + START, GRANULE);
	err = vpeer_reg_dmabuf(t.context, fd, OFF + 100, SIZE, IOVA + 100, NULL, &mr, &error);
	close(fd);
	CHECK_EQ(reg_descriptors(), before);
	if (!err) {
		check_window(&t, mr);
	} else if (t.imports) {
		test_fail(__FILE__, __LINE__, "%s", error.message);
	} else {
		CHECK_EQ(err, -EOPNOTSUPP);
		CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
		CHECK(strstr(error.message, "; pages: "));
		CHECK(strstr(error.remedy, "vpeer_window_map()"));
		CHECK_EQ(error.mender, VPEER_MENDER_PROGRAM);
	}
	reg_end(&t);
}

static void check_memory(struct reg *t, struct vpeer_mr *mr, char *memory)
{
	pattern_fill(t->plain, SIZE, 71);
	CHECK_EQ(rdma_write(&t->r, t->plain_mr, IOVA, vpeer_mr_rkey(mr), SIZE), IBV_WC_SUCCESS);
	CHECK(pattern_is(memory + OFF, SIZE, 71));
	CHECK(all_zero(memory, OFF));
	CHECK_EQ(vpeer_dereg(mr), 0);
}

/* Of ordinary memory: by import, or by its pages where this kernel maps them as such. */
TEST(of_host_memory, 60)
{
	struct vpeer_reg_options pages = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) };
	struct vpeer_error error;
	struct vpeer_mr *mr;
	unsigned int before;
	void *memory;
	struct reg t;
	int fd;

	reg_begin(&t, NULL);
	before = reg_descriptors();
	fd = udmabuf_make(MIB, &memory);
	if (t.imports) {
		CHECK_EQ(vpeer_reg_dmabuf(t.context, fd, OFF, SIZE, IOVA, NULL, &mr, NULL), 0);
		CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_DMABUF);
		check_memory(&t, mr, memory);
		memset(memory, 0, MIB);
	}
	if (!vpeer_reg_dmabuf(t.context, fd, OFF, SIZE, IOVA, &pages, &mr, &error)) {
		CHECK_EQ(vpeer_mr_route(mr), VPEER_ROUTE_PAGES);
		close(fd);
		CHECK_EQ(reg_descriptors(), before);
		check_memory(&t, mr, memory);
	} else {
		CHECK_EQ(error.err, EFAULT);
		CHECK_EQ(error.reason, VPEER_REASON_NOT_PINNABLE);
		close(fd);
		CHECK_EQ(reg_descriptors(), before);
	}
	munmap(memory, MIB);
	reg_end(&t);
}

static void check_refused(struct reg *t, int fd, uint64_t offset, uint64_t size, uint64_t iova,
			  const struct vpeer_reg_options *options, int err)
{
	struct vpeer_mr *mr = (void *)1;
	struct vpeer_error error;

	CHECK_EQ(vpeer_reg_dmabuf(t->context, fd, offset, size, iova, options, &mr, &error), -err);
	CHECK_EQ(error.err, err);
	CHECK(error.message[0] && error.remedy[0]);
	CHECK(!mr);
}

TEST(refused, 60)
{
	struct vpeer_reg_options staged = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING) };
	struct vpeer_reg_options whole = { .flags = VPEER_REG_WHOLE };
	struct vpeer_reg_options peermem = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) };
	unsigned int before;
	struct reg t;
	int fd;

	reg_begin(&t, NULL);
	fd = dmabuf_export(t.fd, REG_AT, GRANULE);
	before = reg_descriptors();
	check_refused(&t, t.fd, 0, SIZE, IOVA, NULL, EBADF);
	check_refused(&t, -1, 0, SIZE, IOVA, NULL, EBADF);
	check_refused(&t, fd, GRANULE - SIZE + 1, SIZE, IOVA + 1, NULL, EINVAL);
	check_refused(&t, fd, UINT64_MAX - 1, SIZE, IOVA, NULL, EINVAL);
	check_refused(&t, fd, 0, 0, IOVA, NULL, EINVAL);
	check_refused(&t, fd, 1, 8, IOVA, NULL, EINVAL);
	check_refused(&t, fd, 0, SIZE, IOVA, &staged, EOPNOTSUPP);
	check_refused(&t, fd, 0, SIZE, IOVA, &whole, EINVAL);
	check_refused(&t, fd, 0, SIZE, IOVA, &peermem, EPERM);
	CHECK_EQ(window_revoke(t.fd, REG_AT, 0, NULL), 0);
	if (t.imports)
		check_refused(&t, fd, 0, SIZE, IOVA, NULL, ENODEV);
	CHECK_EQ(reg_descriptors(), before);
	close(fd);
	CHECK_EQ(vpeer_context_destroy(t.context, NULL), 0);
	munmap(t.window, REG_SIZE);
	CHECK_OK(reg_window_free(t.fd, REG_AT));
	reg_window_make(&t);
	reg_end_without(&t);
}

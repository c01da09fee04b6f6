// SPDX-License-Identifier: GPL-2.0-only
/* argsz: structures shorter and longer than the kernel's. */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "calls.h"
#include "harness.h"

static union {
	struct call_header header;
	unsigned char bytes[8192];
} arg;

/*
 * An unknown flag makes every call fail before it does anything, so that all
 * of them can be made with any argsz.
 */
static void prepare(uint32_t argsz)
{
	memset(&arg, 0, sizeof(arg));
	arg.header.argsz = argsz;
	arg.header.flags = 1U << 31;
	arg.header.reason = 0xdead;
}

static void each_call(void (*check)(int fd, const struct call *call))
{
	struct nodes nodes = nodes_open();

	for (size_t i = 0; i < call_count; i++)
		check(call_fd(&nodes, &calls[i]), &calls[i]);
	nodes_close(&nodes);
}

static void check_short(int fd, const struct call *call)
{
	uint32_t sizes[] = { 0, 1, 4, 8, 12, call->size - 8, call->size - 1 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		prepare(sizes[i]);
		CHECK_ERRNO(ioctl(fd, call->cmd, &arg), EINVAL);
	}
}

TEST(too_short, 10)
{
	each_call(check_short);
}

/* "reason is written back whenever argsz could be read", if it has a place. */
static void check_short_reason(int fd, const struct call *call)
{
	prepare(call->size - 4);
	CHECK_ERRNO(ioctl(fd, call->cmd, &arg), EINVAL);
	CHECK_EQ(arg.header.reason, VPEER_REASON_BAD_ARGUMENT);
}

TEST(too_short_tells_reason, 10)
{
	each_call(check_short_reason);
}

static void check_exact(int fd, const struct call *call)
{
	prepare(call->size);
	CHECK_ERRNO(ioctl(fd, call->cmd, &arg), EINVAL);
	CHECK_EQ(arg.header.reason, VPEER_REASON_BAD_ARGUMENT);
}

TEST(exact, 10)
{
	each_call(check_exact);
}

/* Reaches the flags check, so the zero tail was accepted. */
static void check_zero_tail(int fd, const struct call *call)
{
	uint32_t sizes[] = { call->size + 1, call->size + 8, 4096 };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		prepare(sizes[i]);
		CHECK_ERRNO(ioctl(fd, call->cmd, &arg), EINVAL);
		CHECK_EQ(arg.header.reason, VPEER_REASON_BAD_ARGUMENT);
	}
}

TEST(longer_with_zero_tail, 10)
{
	each_call(check_zero_tail);
}

static void check_dirty_tail(int fd, const struct call *call)
{
	uint32_t dirty[] = { call->size, call->size + 7, 4095 };

	for (size_t i = 0; i < ARRAY_SIZE(dirty); i++) {
		prepare(4096);
		arg.bytes[dirty[i]] = 1;
		CHECK_ERRNO(ioctl(fd, call->cmd, &arg), E2BIG);
	}
}

TEST(longer_with_dirty_tail, 10)
{
	each_call(check_dirty_tail);
}

static void check_huge(int fd, const struct call *call)
{
	uint32_t sizes[] = { 4097, 8192, 0x7fffffff, 0xffffffff };

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		prepare(sizes[i]);
		CHECK_ERRNO(ioctl(fd, call->cmd, &arg), E2BIG);
	}
}

TEST(huge, 10)
{
	each_call(check_huge);
}

/* The structure is whole, its promised tail is not there. */
static void check_tail_unmapped(int fd, const struct call *call)
{
	size_t page = 4096;
	char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct call_header *end;

	CHECK_OK((long)pages);
	CHECK_OK(munmap(pages + page, page));
	end = (struct call_header *)(pages + page - call->size);
	end->argsz = call->size + 8;
	CHECK_ERRNO(ioctl(fd, call->cmd, end), EFAULT);
	end->argsz = call->size;
	end->flags = 1U << 31;
	CHECK_ERRNO(ioctl(fd, call->cmd, end), EINVAL);
	munmap(pages, page);
}

TEST(tail_unmapped, 10)
{
	each_call(check_tail_unmapped);
}

/* Only the kernel's own structure is written back, never the tail. */
TEST(success_keeps_tail, 10)
{
	struct nodes nodes = nodes_open();

	prepare(256);
	arg.header.flags = 0;
	CHECK_OK(ioctl(nodes.control, VPEER_IOCTL_QUERY, &arg));
	CHECK_EQ(arg.header.argsz, 256);
	CHECK_EQ(arg.header.reason, VPEER_REASON_NONE);
	for (size_t i = sizeof(struct vpeer_query); i < 256; i++)
		CHECK_EQ(arg.bytes[i], 0);
	nodes_close(&nodes);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every call of both nodes, malformed in each of its fields: its errno and its
 * reason. What depends on more than the call itself is in the groups of windows,
 * attaching and DMA-bufs.
 */
#include <stdio.h>
#include <unistd.h>

#include "aperture.h"
#include "calls.h"
#include "dmabuf.h"
#include "harness.h"

union argument {
	struct call_header header;
	struct vpeer_query query;
	struct vpeer_attach attach;
	struct vpeer_detach detach;
	struct vpeer_aperture_info aperture_info;
	struct vpeer_window_alloc alloc;
	struct vpeer_window_op op;
	struct vpeer_window_info info;
	struct vpeer_dmabuf dmabuf;
	struct vpeer_event event;
	struct vpeer_path_report path;
};

struct refused {
	const char *what;
	unsigned long cmd;
	union argument arg;
	int error;
	uint32_t reason;
};

#define HUGE_OFFSETS(cmd, member)						\
	{ #cmd ": at 2^63", VPEER_IOCTL_##cmd, { .member.offset = 1ULL << 63 },	\
	  EINVAL, VPEER_REASON_BEYOND_END },					\
	{ #cmd ": at 2^32", VPEER_IOCTL_##cmd, { .member.offset = 1ULL << 32 },	\
	  EINVAL, VPEER_REASON_BEYOND_END },					\
	{ #cmd ": last byte", VPEER_IOCTL_##cmd, { .member.offset = UINT64_MAX }, \
	  EINVAL, VPEER_REASON_BEYOND_END },					\
	{ #cmd ": generation page", VPEER_IOCTL_##cmd,				\
	  { .member.offset = VPEER_MMAP_GENERATION }, EINVAL, VPEER_REASON_BEYOND_END }

#define BAD(cmd, why, field, value)						\
	{ #cmd ": " #field " " #value, VPEER_IOCTL_##cmd, { .field = value },	\
	  EINVAL, VPEER_REASON_##why }

#define FIXED(what, offset_, size_, why)					\
	{ "WINDOW_ALLOC: " what, VPEER_IOCTL_WINDOW_ALLOC,			\
	  { .alloc = { .flags = VPEER_ALLOC_FIXED, .offset = offset_, .size = size_ } }, \
	  EINVAL, VPEER_REASON_##why }

#define EVENT(what, flags_, fd_, error, why)					\
	{ "EVENT: " what, VPEER_IOCTL_EVENT,					\
	  { .event = { .flags = flags_, .fd = fd_ } }, error, VPEER_REASON_##why }

static const struct refused table[] = {
	BAD(QUERY, BAD_ARGUMENT, query.flags, 1),
	BAD(APERTURE_INFO, BAD_ARGUMENT, aperture_info.flags, 1),
	BAD(APERTURE_INFO, BAD_ARGUMENT, aperture_info.reserved, 1),

	BAD(WINDOW_ALLOC, BAD_ARGUMENT, alloc.size, 0),
	BAD(WINDOW_ALLOC, BEYOND_END, alloc.size, UINT64_MAX),
	BAD(WINDOW_ALLOC, BEYOND_END, alloc.size, 1ULL << 63),
	BAD(WINDOW_ALLOC, BEYOND_END, alloc.size, (1ULL << 32) + 1),
	BAD(WINDOW_ALLOC, BEYOND_END, alloc.size, -GRANULE),
	FIXED("size 0", 0, 0, BAD_ARGUMENT),
	FIXED("unaligned", 4096, GRANULE, BAD_ALIGNMENT),
	FIXED("unaligned at the end", UINT64_MAX, 1, BAD_ALIGNMENT),
	FIXED("wraps", -GRANULE, 2 * GRANULE, BEYOND_END),
	FIXED("at 2^32", 1ULL << 32, GRANULE, BEYOND_END),
	FIXED("at 2^63", 1ULL << 63, GRANULE, BEYOND_END),

	HUGE_OFFSETS(WINDOW_FREE, op),
	BAD(WINDOW_FREE, BAD_ARGUMENT, op.flags, VPEER_REVOKE_ALL),
	{ "WINDOW_FREE: no window", VPEER_IOCTL_WINDOW_FREE, { .op.offset = 0 },
	  ENOENT, VPEER_REASON_NOT_OWNER },
	HUGE_OFFSETS(WINDOW_REVOKE, op),
	BAD(WINDOW_REVOKE, BAD_ARGUMENT, op.flags, 2),
	{ "WINDOW_REVOKE: no window", VPEER_IOCTL_WINDOW_REVOKE, { .op.offset = GRANULE },
	  ENOENT, VPEER_REASON_NOT_OWNER },
	{ "WINDOW_REVOKE: all, at an offset", VPEER_IOCTL_WINDOW_REVOKE,
	  { .op = { .flags = VPEER_REVOKE_ALL, .offset = 1 } },
	  EINVAL, VPEER_REASON_BAD_ARGUMENT },

	HUGE_OFFSETS(WINDOW_INFO, info),
	BAD(WINDOW_INFO, BAD_ARGUMENT, info.flags, 2),
	BAD(WINDOW_INFO, BAD_ARGUMENT, info.reserved, 1),
	{ "WINDOW_INFO: no window", VPEER_IOCTL_WINDOW_INFO, { .info.offset = 0 },
	  ENOENT, VPEER_REASON_NOT_OWNER },
	{ "WINDOW_INFO: no next window", VPEER_IOCTL_WINDOW_INFO,
	  { .info.flags = VPEER_INFO_NEXT }, ENOENT, VPEER_REASON_NOT_OWNER },

	BAD(DMABUF, BAD_ARGUMENT, dmabuf.size, 0),
	BAD(DMABUF, BAD_ARGUMENT, dmabuf.flags, 1),
	BAD(DMABUF, BAD_ALIGNMENT, dmabuf.size, 1),
	BAD(DMABUF, BEYOND_END, dmabuf.size, -4096ULL),
	{ "DMABUF: no window", VPEER_IOCTL_DMABUF, { .dmabuf.size = 4096 },
	  ENOENT, VPEER_REASON_NOT_OWNER },
	BAD(EVENT, BAD_ARGUMENT, event.flags, 4),
	BAD(EVENT, BAD_ARGUMENT, event.flags, VPEER_EVENT_ADD | VPEER_EVENT_REMOVE),
	BAD(EVENT, BAD_ARGUMENT, event.fd, -2),
	EVENT("no such descriptor", 0, 1000000, EBADF, NOT_EVENTFD),
	EVENT("no such descriptor to add", VPEER_EVENT_ADD, 1000000, EBADF, NOT_EVENTFD),
	EVENT("no such descriptor to remove", VPEER_EVENT_REMOVE, 1000000, EBADF, NOT_EVENTFD),
	EVENT("none to add", VPEER_EVENT_ADD, -1, EINVAL, BAD_ARGUMENT),
	EVENT("none to remove", VPEER_EVENT_REMOVE, -1, EINVAL, BAD_ARGUMENT),

	BAD(PATH_REPORT, BAD_ARGUMENT, path.flags, 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.reserved[0], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.reserved[1], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.reserved2[0], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.reserved2[1], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.reserved3, 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.reserved4[0], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.aperture.reserved[0], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.aperture.reserved[1], 1ULL << 63),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.initiator.reserved[0], 1),
	BAD(PATH_REPORT, BAD_ARGUMENT, path.initiator.reserved[1], 1ULL << 63),
	{ "PATH_REPORT: no such segment", VPEER_IOCTL_PATH_REPORT, { .path.domain = UINT32_MAX },
	  ENODEV, VPEER_REASON_NO_DEVICE },
	{ "PATH_REPORT: no such bus", VPEER_IOCTL_PATH_REPORT, { .path.bus = 0xff },
	  ENODEV, VPEER_REASON_NO_DEVICE },
	{ "PATH_REPORT: no such device", VPEER_IOCTL_PATH_REPORT, { .path.devfn = 0xe9 },
	  ENODEV, VPEER_REASON_NO_DEVICE },
};

static const struct refused control_table[] = {
	BAD(QUERY, BAD_ARGUMENT, query.flags, 2),

	BAD(ATTACH, BAD_ARGUMENT, attach.flags, 8),
	BAD(ATTACH, BAD_ARGUMENT, attach.reserved, 1),
	BAD(ATTACH, BAD_ARGUMENT, attach.range_offset, GRANULE),
	BAD(ATTACH, BAD_ARGUMENT, attach.range_size, GRANULE),
	{ "ATTACH: no such segment", VPEER_IOCTL_ATTACH, { .attach.domain = UINT32_MAX },
	  ENODEV, VPEER_REASON_NO_DEVICE },
	{ "ATTACH: no such bus", VPEER_IOCTL_ATTACH, { .attach.bus = 0xff },
	  ENODEV, VPEER_REASON_NO_DEVICE },
	{ "ATTACH: no such device", VPEER_IOCTL_ATTACH,
	  { .attach = { .bus = 0xff, .devfn = 0xff } }, ENODEV, VPEER_REASON_NO_DEVICE },

	BAD(DETACH, BAD_ARGUMENT, detach.flags, 1),
	BAD(DETACH, BAD_ARGUMENT, detach.reserved[0], 1),
	BAD(DETACH, BAD_ARGUMENT, detach.reserved[5], 1),
	{ "DETACH: no such segment", VPEER_IOCTL_DETACH, { .detach.domain = UINT32_MAX },
	  ENODEV, VPEER_REASON_NO_DEVICE },
	{ "DETACH: no such device", VPEER_IOCTL_DETACH,
	  { .detach = { .bus = 0xff, .devfn = 0xff } }, ENODEV, VPEER_REASON_NO_DEVICE },
};

static size_t size_of(unsigned long cmd)
{
	for (size_t i = 0; i < call_count; i++)
		if (calls[i].cmd == cmd)
			return calls[i].size;
	test_fail(__FILE__, __LINE__, "call %#lx is in no table", cmd);
}

static void check_refused(int fd, const struct refused *refused)
{
	union argument arg = refused->arg;

	printf("%s\n", refused->what);
	arg.header.argsz = size_of(refused->cmd);
	arg.header.reason = 0xdead;
	CHECK_REFUSED(fd, refused->cmd, &arg.header, refused->error, refused->reason);
}

TEST(aperture_node, 20)
{
	unsigned int before;
	int fd = aperture_open();

	before = descriptors();
	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		check_refused(fd, &table[i]);
	CHECK_EQ(descriptors(), before);
	CHECK_EQ(aperture_stat("windows"), 0);
	close(fd);
}

TEST(control_node, 20)
{
	int fd = control_open();

	for (size_t i = 0; i < ARRAY_SIZE(control_table); i++)
		check_refused(fd, &control_table[i]);
	CHECK(pci_bound(aperture_pci()));
	close(fd);
}

static bool has_call(const struct refused *rows, size_t count, unsigned long cmd)
{
	for (size_t i = 0; i < count; i++)
		if (rows[i].cmd == cmd)
			return true;
	return false;
}

/* A call that is added to the interface is to be added here. */
TEST(every_call_is_there, 10)
{
	for (size_t i = 0; i < call_count; i++)
		if (!(calls[i].control ?
		      has_call(control_table, ARRAY_SIZE(control_table), calls[i].cmd) :
		      has_call(table, ARRAY_SIZE(table), calls[i].cmd)))
			test_fail(__FILE__, __LINE__, "no row for %s", calls[i].name);
}

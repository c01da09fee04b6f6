// SPDX-License-Identifier: GPL-2.0-only
/* DMA-bufs that the library makes of whatever memory a pointer points to. */
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/vpeer.h"
#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"

static int export(const void *address, size_t length, uint64_t offset)
{
	struct vpeer_export export;
	struct vpeer_error error;

	if (vpeer_export(address, length, &export, &error))
		test_fail(__FILE__, __LINE__, "export of %p: %s: %s", address, error.who,
			  error.message);
	CHECK_EQ(error.err, 0);
	CHECK_EQ(export.offset, offset);
	CHECK_EQ(export.length, length);
	return export.fd;
}

/* Whole pages around the range, and the right ones. */
TEST(window, 10)
{
	int fd = aperture_open(), dmabuf;
	uint64_t at = window_alloc(fd, 2 * GRANULE);
	char *mapped = window_map(fd, at, 2 * GRANULE), *through;
	unsigned int before = descriptors();

	dmabuf = export(mapped + GRANULE - 100, 200, 4096 - 100);
	CHECK_EQ(dmabuf_size(dmabuf), 8192);
	CHECK_EQ(descriptors(), before + 1);
	through = dmabuf_map(dmabuf, 0, 8192);
	pattern_fill(through, 8192, 31);
	CHECK(owner_is(at + GRANULE - 4096, through, 8192));
	munmap(through, 8192);
	close(dmabuf);

	dmabuf = export(mapped, 2 * GRANULE, 0);
	CHECK_EQ(dmabuf_size(dmabuf), 2 * GRANULE);
	close(dmabuf);
	dmabuf = export(mapped + 4096, 1, 0);
	CHECK_EQ(dmabuf_size(dmabuf), 4096);
	close(dmabuf);
	munmap(mapped, 2 * GRANULE);
	close(fd);
}

/* The mapping starts inside the window. */
TEST(part_of_a_window, 10)
{
	int fd = aperture_open(), dmabuf;
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, at + 12288);
	char *through;

	CHECK(mapped != MAP_FAILED);
	dmabuf = export(mapped + 4096 + 8, 4088, 8);
	CHECK_EQ(dmabuf_size(dmabuf), 4096);
	through = dmabuf_map(dmabuf, 0, 4096);
	pattern_fill(through, 4096, 32);
	CHECK(owner_is(at + 16384, through, 4096));
	CHECK(pattern_is(mapped + 4096, 4096, 32));
	munmap(through, 4096);
	munmap(mapped, 8192);
	close(dmabuf);
	close(fd);
}

static void check_refused(const void *address, size_t length, int err, unsigned int reason)
{
	struct vpeer_export export = { .fd = 77 };
	struct vpeer_error error = { 0 };
	unsigned int before = descriptors();

	CHECK_EQ(vpeer_export(address, length, &export, &error), -err);
	CHECK_EQ(error.reason, reason);
	CHECK(error.message[0]);
	CHECK_EQ(export.fd, -1);
	CHECK_EQ(descriptors(), before);
}

TEST(refused, 10)
{
	int fd = aperture_open();
	uint64_t at = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, at, GRANULE);
	char *plain = plain_memory(4096);

	check_refused(plain, 4096, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT);
	check_refused(mapped, 0, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(NULL, 1, EFAULT, VPEER_REASON_NOT_MAPPED);
	CHECK_OK(window_revoke(fd, at, 0, NULL));
	check_refused(mapped, 1, ENODEV, VPEER_REASON_REVOKED);
	munmap(mapped, GRANULE);
	close(fd);
}

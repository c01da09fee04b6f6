// SPDX-License-Identifier: GPL-2.0-only
/* Windows given back, and the look at them. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"

static void check_not_owner(int fd, uint64_t offset)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .offset = offset };

	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_FREE, &arg, ENOENT,
		      VPEER_REASON_NOT_OWNER);
	arg.reason = 0;
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg, ENOENT,
		      VPEER_REASON_NOT_OWNER);
}

TEST(free, 10)
{
	int fd = aperture_open();
	uint64_t offset = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, offset, GRANULE);

	mapped[0] = 1;
	CHECK_OK(window_free(fd, offset));
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(aperture_stat("bytes_free"), aperture_stat("size"));
	CHECK_EQ(aperture_stat("windows"), 0);
	close(fd);
}

TEST(free_twice, 10)
{
	int fd = aperture_open();
	uint64_t offset = window_alloc(fd, GRANULE);

	CHECK_OK(window_free(fd, offset));
	check_not_owner(fd, offset);
	close(fd);
}

TEST(free_never_owned, 10)
{
	int fd = aperture_open();

	check_not_owner(fd, 0);
	close(fd);
}

TEST(free_of_another, 10)
{
	int fd = aperture_open(), other = aperture_open();
	uint64_t offset = window_alloc(fd, GRANULE);
	char *mapped = window_map(fd, offset, GRANULE);

	mapped[5] = 42;
	check_not_owner(other, offset);
	CHECK_EQ(mapped[5], 42);
	CHECK_EQ(window_info(fd, offset).state, VPEER_WINDOW_ACTIVE);
	close(fd);
	close(other);
	munmap(mapped, GRANULE);
}

TEST(free_by_inner_offset, 10)
{
	int fd = aperture_open();
	uint64_t offset = window_alloc(fd, 2 * GRANULE);

	check_not_owner(fd, offset + 1);
	check_not_owner(fd, offset + GRANULE);
	CHECK_EQ(window_info(fd, offset).state, VPEER_WINDOW_ACTIVE);
	close(fd);
}

TEST(free_beyond_end, 10)
{
	uint64_t offsets[] = { aperture_stat("size"), UINT64_MAX, 1ULL << 63 };
	int fd = aperture_open();

	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		struct vpeer_window_op arg = { .argsz = sizeof(arg), .offset = offsets[i] };

		CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_FREE, &arg, EINVAL,
			      VPEER_REASON_BEYOND_END);
	}
	close(fd);
}

TEST(info, 10)
{
	int fd = aperture_open();
	uint64_t offset = window_alloc(fd, 3 * GRANULE);
	struct vpeer_window_info info = window_info(fd, offset + GRANULE + 12345);
	char *mapped;

	CHECK_EQ(info.reason, VPEER_REASON_NONE);
	CHECK_EQ(info.state, VPEER_WINDOW_ACTIVE);
	CHECK_EQ(info.offset, offset);
	CHECK_EQ(info.size, 3 * GRANULE);
	CHECK_EQ(info.pinned_bytes, 0);
	CHECK_EQ(info.mappings, 0);
	CHECK_EQ(info.implicit, 0);
	mapped = window_map(fd, offset, GRANULE);
	CHECK_EQ(window_info(fd, offset).mappings, 1);
	munmap(mapped, GRANULE);
	CHECK_EQ(window_info(fd, offset).mappings, 0);
	close(fd);
}

TEST(info_of_another, 10)
{
	int fd = aperture_open(), other = aperture_open();
	struct vpeer_window_info info = {
		.argsz = sizeof(info),
		.offset = window_alloc(fd, GRANULE),
	};

	CHECK_REFUSED(other, VPEER_IOCTL_WINDOW_INFO, &info, ENOENT,
		      VPEER_REASON_NOT_OWNER);
	info.offset = aperture_stat("size");
	CHECK_REFUSED(other, VPEER_IOCTL_WINDOW_INFO, &info, EINVAL,
		      VPEER_REASON_BEYOND_END);
	close(fd);
	close(other);
}

/* Which of several descriptors a window belongs to shows by any of its bytes. */
TEST(info_tells_the_owner, 10)
{
	static const uint64_t inside[] = { 2 * GRANULE, 3 * GRANULE + 12345, 4 * GRANULE - 1 };
	static const uint64_t beside[] = { 0, 2 * GRANULE - 1, 4 * GRANULE, 5 * GRANULE - 1 };
	int fd = aperture_open(), other = aperture_open(), twin = dup(fd);
	struct vpeer_window_info info = { .argsz = sizeof(info) };

	CHECK_OK(twin);
	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, 2 * GRANULE, NULL));
	CHECK_OK(window_alloc_at(other, 0, 2 * GRANULE, NULL));
	CHECK_OK(window_alloc_at(other, 4 * GRANULE, GRANULE, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(inside); i++) {
		info.offset = inside[i];
		CHECK_REFUSED(other, VPEER_IOCTL_WINDOW_INFO, &info, ENOENT,
			      VPEER_REASON_NOT_OWNER);
		CHECK_EQ(window_info(fd, inside[i]).offset, 2 * GRANULE);
		CHECK_EQ(window_info(twin, inside[i]).offset, 2 * GRANULE);
	}
	for (size_t i = 0; i < ARRAY_SIZE(beside); i++) {
		info.offset = beside[i];
		CHECK_REFUSED(twin, VPEER_IOCTL_WINDOW_INFO, &info, ENOENT,
			      VPEER_REASON_NOT_OWNER);
		CHECK_EQ(window_info(other, beside[i]).offset, i < 2 ? 0 : 4 * GRANULE);
	}
	close(fd);
	close(twin);
	close(other);
}

static int next(int fd, uint64_t offset, struct vpeer_window_info *info)
{
	*info = (struct vpeer_window_info){
		.argsz = sizeof(*info),
		.flags = VPEER_INFO_NEXT,
		.offset = offset,
	};
	return ioctl(fd, VPEER_IOCTL_WINDOW_INFO, info);
}

/* Enumerates one's own windows in order, and no one else's. */
TEST(info_next, 10)
{
	int fd = aperture_open(), other = aperture_open();
	struct vpeer_window_info info;

	CHECK_OK(window_alloc_at(fd, 6 * GRANULE, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, 2 * GRANULE, NULL));
	CHECK_OK(window_alloc_at(other, 4 * GRANULE, GRANULE, NULL));

	CHECK_OK(next(fd, 0, &info));
	CHECK_EQ(info.offset, 2 * GRANULE);
	CHECK_OK(next(fd, 3 * GRANULE, &info));
	CHECK_EQ(info.offset, 2 * GRANULE);
	CHECK_OK(next(fd, info.offset + info.size, &info));
	CHECK_EQ(info.offset, 6 * GRANULE);
	CHECK_ERRNO(next(fd, info.offset + info.size, &info), ENOENT);
	CHECK_EQ(info.reason, VPEER_REASON_NOT_OWNER);
	close(fd);
	close(other);
}

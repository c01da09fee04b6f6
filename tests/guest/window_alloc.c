// SPDX-License-Identifier: GPL-2.0-only
/* Explicit windows: sizes, places, limits. */
#include <unistd.h>

#include "aperture.h"
#include "harness.h"

static struct vpeer_window_alloc ask(uint64_t size)
{
	return (struct vpeer_window_alloc){
		.argsz = sizeof(struct vpeer_window_alloc),
		.size = size,
		.reason = 77,
	};
}

static void check_granted(uint64_t size, uint64_t granted)
{
	struct vpeer_window_alloc arg = ask(size);
	int fd = aperture_open();

	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg));
	CHECK_EQ(arg.reason, VPEER_REASON_NONE);
	CHECK_EQ(arg.size, granted);
	CHECK_EQ(arg.offset % GRANULE, 0);
	CHECK_EQ(aperture_stat("bytes_free"), aperture_stat("size") - granted);
	CHECK_EQ(aperture_stat("windows"), 1);
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 0);
}

TEST(rounded_up_to_granules, 10)
{
	check_granted(1, GRANULE);
	check_granted(4096, GRANULE);
	check_granted(GRANULE, GRANULE);
	check_granted(GRANULE + 1, 2 * GRANULE);
}

TEST(whole_aperture, 10)
{
	check_granted(aperture_stat("size"), aperture_stat("size"));
}

TEST(size_zero, 10)
{
	struct vpeer_window_alloc arg = ask(0);
	int fd = aperture_open();

	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, EINVAL,
		      VPEER_REASON_BAD_ARGUMENT);
	close(fd);
}

TEST(larger_than_aperture, 10)
{
	uint64_t sizes[] = {
		aperture_stat("size") + 1, aperture_stat("size") + GRANULE,
		INT64_MAX, UINT64_MAX - GRANULE, UINT64_MAX,
	};
	int fd = aperture_open();

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct vpeer_window_alloc arg = ask(sizes[i]);

		CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, EINVAL,
			      VPEER_REASON_BEYOND_END);
	}
	close(fd);
}

TEST(fixed_place, 10)
{
	struct vpeer_window_alloc arg = ask(GRANULE);
	int fd = aperture_open();

	arg.flags = VPEER_ALLOC_FIXED;
	arg.offset = 3 * GRANULE;
	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg));
	CHECK_EQ(arg.offset, 3 * GRANULE);
	close(fd);
}

TEST(last_granule, 10)
{
	int fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, aperture_stat("size") - GRANULE, GRANULE, NULL));
	close(fd);
}

static void check_place(uint64_t offset, uint64_t size, uint32_t expected)
{
	int fd = aperture_open();
	uint32_t reason;

	CHECK_ERRNO(window_alloc_at(fd, offset, size, &reason), EINVAL);
	CHECK_EQ(reason, expected);
	close(fd);
}

TEST(fixed_unaligned, 10)
{
	check_place(1, GRANULE, VPEER_REASON_BAD_ALIGNMENT);
	check_place(4096, GRANULE, VPEER_REASON_BAD_ALIGNMENT);
	check_place(GRANULE + GRANULE / 2, 1, VPEER_REASON_BAD_ALIGNMENT);
}

TEST(fixed_beyond_end, 10)
{
	uint64_t size = aperture_stat("size");

	check_place(size, GRANULE, VPEER_REASON_BEYOND_END);
	check_place(size - GRANULE, GRANULE + 1, VPEER_REASON_BEYOND_END);
	check_place(GRANULE, size, VPEER_REASON_BEYOND_END);
}

/* Sums near 2^64 and cut to 32 bits would land inside. */
TEST(fixed_overflow, 10)
{
	check_place(-GRANULE, GRANULE, VPEER_REASON_BEYOND_END);
	check_place(-GRANULE, 2 * GRANULE, VPEER_REASON_BEYOND_END);
	check_place(1ULL << 63, GRANULE, VPEER_REASON_BEYOND_END);
	check_place(1ULL << 53, GRANULE, VPEER_REASON_BEYOND_END);
	check_place(1ULL << 32, GRANULE, VPEER_REASON_BEYOND_END);
}

TEST(no_space, 10)
{
	uint64_t size = aperture_stat("size");
	struct vpeer_window_alloc arg = ask(1);
	int fd = aperture_open(), other = aperture_open();

	CHECK_OK(window_alloc_at(fd, 0, size, NULL));
	CHECK_REFUSED(other, VPEER_IOCTL_WINDOW_ALLOC, &arg, ENOSPC,
		      VPEER_REASON_NO_SPACE);
	close(fd);
	arg = ask(1);
	CHECK_OK(ioctl(other, VPEER_IOCTL_WINDOW_ALLOC, &arg));
	close(other);
}

/* Enough free granules, but not in one run. */
TEST(no_run_long_enough, 10)
{
	uint64_t size = aperture_stat("size");
	int fd = aperture_open();
	struct vpeer_window_alloc arg = ask(size / 2);

	CHECK_OK(window_alloc_at(fd, size / 2, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	CHECK(aperture_stat("bytes_free") > size / 2);
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, ENOSPC,
		      VPEER_REASON_NO_SPACE);
	arg = ask(size / 2 - 2 * GRANULE);
	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg));
	CHECK_EQ(arg.offset, 2 * GRANULE);
	close(fd);
}

TEST(owned_by_another, 10)
{
	int fd = aperture_open(), other = aperture_open();
	uint32_t reason;

	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, 2 * GRANULE, NULL));
	CHECK_ERRNO(window_alloc_at(other, GRANULE, 2 * GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_OWNED);
	CHECK_ERRNO(window_alloc_at(fd, 3 * GRANULE, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_OWNED);
	CHECK_OK(window_alloc_at(other, GRANULE, GRANULE, NULL));
	close(fd);
	close(other);
}

/* The last close of a duplicated descriptor ends the windows, not the first. */
TEST(ends_with_last_close, 10)
{
	int fd = aperture_open(), twin = dup(fd);

	window_alloc(fd, GRANULE);
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	close(twin);
	CHECK_EQ(aperture_stat("windows"), 0);
}

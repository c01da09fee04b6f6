// SPDX-License-Identifier: GPL-2.0-only
/* No one sees what the memory held before. */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "user.h"

TEST(first_touch_reads_zero, 20)
{
	char *bytes = plain_memory(GRANULE), *mapped;
	int fd;

	/* Left there by the device itself, before anyone's window. */
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	pattern_fill(bytes, GRANULE, 31);
	owner_write(7 * GRANULE, bytes, GRANULE);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));

	fd = aperture_open();
	mapped = window_map(fd, 7 * GRANULE, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	close(fd);
}

/* The administrator's word that the memory is clean spares the zeroing. */
TEST(clean_attach_keeps_bytes, 20)
{
	char *bytes = plain_memory(GRANULE), *mapped;
	int fd;

	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	pattern_fill(bytes, GRANULE, 32);
	owner_write(7 * GRANULE, bytes, GRANULE);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, VPEER_ATTACH_CLEAN, NULL));
	fd = aperture_open();
	mapped = window_map(fd, 7 * GRANULE, GRANULE);
	CHECK(pattern_is(mapped, GRANULE, 32));
	close(fd);
	munmap(mapped, GRANULE);

	/* But after a first owner it is dirty like any other. */
	fd = aperture_open();
	mapped = window_map(fd, 7 * GRANULE, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	close(fd);
	munmap(mapped, GRANULE);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static void leave_secret(void *unused)
{
	char *mapped = window_map(aperture_open(), 0, 2 * GRANULE);

	(void)unused;
	pattern_fill(mapped, 2 * GRANULE, 33);
	CHECK(owner_is(0, mapped, 2 * GRANULE));
}

static void look_for_secret(void *unused)
{
	char *mapped;

	(void)unused;
	become_member();
	mapped = window_map(aperture_open(), 0, 2 * GRANULE);
	CHECK(all_zero(mapped, 2 * GRANULE));
}

TEST(former_owner, 20)
{
	char *seen = plain_memory(2 * GRANULE);

	test_in_child(leave_secret, NULL);
	test_in_child(look_for_secret, NULL);
	owner_read(0, seen, 2 * GRANULE);
	CHECK(all_zero(seen, 2 * GRANULE));
}

/* By small pages and by write: zeroes before the new owner's bytes, not after. */
TEST(write_before_read, 20)
{
	int fd;
	char *mapped;

	test_in_child(leave_secret, NULL);
	fd = aperture_open();
	mapped = window_map(fd, 4096, 8192);
	mapped[10] = 10;
	CHECK_EQ(mapped[10], 10);
	mapped[10] = 0;
	CHECK(all_zero(mapped, 8192));
	close(fd);
}

/* A window freed and taken again by the same file is scrubbed as well. */
TEST(same_owner_again, 20)
{
	int fd = aperture_open();
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 34);
	munmap(mapped, GRANULE);
	mapped = window_map(fd, 0, GRANULE);
	CHECK(pattern_is(mapped, GRANULE, 34));
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	munmap(mapped, GRANULE);
	mapped = window_map(fd, 0, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	close(fd);
}

/* Only granules that are touched cost anything. */
TEST(one_granule_at_a_time, 20)
{
	uint64_t before;
	int fd;
	char *mapped;

	test_in_child(leave_secret, NULL);
	before = aperture_stat("bytes_scrubbed");
	fd = aperture_open();
	mapped = window_map(fd, 0, 2 * GRANULE);
	CHECK_EQ(aperture_stat("bytes_scrubbed"), before);
	mapped[0] = 1;
	CHECK_EQ(aperture_stat("bytes_scrubbed"), before + GRANULE);
	mapped[GRANULE] = 1;
	CHECK_EQ(aperture_stat("bytes_scrubbed"), before + 2 * GRANULE);
	close(fd);
}

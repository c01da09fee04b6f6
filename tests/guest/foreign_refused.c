// SPDX-License-Identifier: GPL-2.0-only
/* Ranges that must not become foreign apertures. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "neighbour.h"
#include "refusal.h"
#include "user.h"

#define AT	(8 * MIB)
#define SIZE	(2 * GRANULE)

/* The driver's word, through a mapping of its own, from elsewhere in the BAR. */
static void check_driver_works(void)
{
	int fd = neighbour_mapped(NEIGHBOUR_IOREMAP_WC, 0, 4096);
	uint64_t word = test_now_ms(), seen;

	CHECK_EQ(pwrite(fd, &word, sizeof(word), 64), sizeof(word));
	CHECK_EQ(pread(fd, &seen, sizeof(seen), 64), sizeof(seen));
	CHECK_EQ(seen, word);
	CHECK(owner_is(64, &word, sizeof(word)));
	close(fd);
}

static void refuse(uint64_t offset, uint64_t size, int error, uint32_t reason)
{
	char *before = memtype_list(), *after;

	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = NEIGHBOUR_BAR,
		.flags = VPEER_ATTACH_FOREIGN,
		.range_offset = offset, .range_size = size,
		.error = error, .reason = reason, .log_lines = 1,
	});
	after = memtype_list();
	CHECK(!strcmp(before, after));
	CHECK(neighbour_is_bound());
	free(before);
	free(after);
}

/* What was refused works once the obstacle is gone. */
static void check_accepted(uint64_t offset, uint64_t size)
{
	int fd = foreign_open(foreign_attach(offset, size));

	CHECK_OK(window_alloc_at(fd, 0, size, NULL));
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	check_driver_works();
}

static uint64_t bar_size(void)
{
	char path[128], text[2048], *line = text;
	unsigned long long start, end;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", aperture_pci());
	CHECK(sysfs_read(path, text, sizeof(text)));
	for (int i = 0; i < NEIGHBOUR_BAR; i++)
		line = strchr(line, '\n') + 1;
	CHECK_EQ(sscanf(line, "%llx %llx", &start, &end), 2);
	return end - start + 1;
}

TEST(no_driver, 20)
{
	neighbour_alone();
	neighbour_unbind();
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = NEIGHBOUR_BAR,
		.flags = VPEER_ATTACH_FOREIGN, .range_offset = AT, .range_size = SIZE,
		.error = ENODEV, .reason = VPEER_REASON_NO_DRIVER,
	});
	CHECK(!pci_bound(aperture_pci()));
	neighbour_bind();
	check_accepted(AT, SIZE);
}

TEST(owned_by_vpeer, 20)
{
	neighbour_alone();
	neighbour_unbind();
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = NEIGHBOUR_BAR,
		.flags = VPEER_ATTACH_FOREIGN, .range_offset = AT, .range_size = SIZE,
		.error = EEXIST, .reason = VPEER_REASON_ALREADY_ATTACHED,
	});
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	neighbour_bind();
	check_accepted(AT, SIZE);
}

/* And the other way round: a shared function cannot be owned. */
TEST(owning_what_is_shared, 20)
{
	neighbour_alone();
	foreign_attach(AT, SIZE);
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = VPEER_BAR_AUTO,
		.error = EBUSY, .reason = VPEER_REASON_DRIVER_BOUND,
	});
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	check_driver_works();
}

TEST(no_such_function, 10)
{
	neighbour_alone();
	check_refusal(&(struct refusal){
		.pci = "0000:ff:1f.7", .bar = NEIGHBOUR_BAR, .flags = VPEER_ATTACH_FOREIGN,
		.range_offset = AT, .range_size = SIZE,
		.error = ENODEV, .reason = VPEER_REASON_NO_DEVICE,
	});
}

/* The checks of owned BARs hold as well: BAR 0 has 256 bytes of registers. */
TEST(other_bars, 10)
{
	static const struct { uint8_t bar; int error; uint32_t reason; } bars[] = {
		{ 0, EMSGSIZE, VPEER_REASON_TOO_SMALL },
		{ 3, ENXIO, VPEER_REASON_NO_SUCH_BAR },
		{ 5, ENXIO, VPEER_REASON_NO_SUCH_BAR },
	};

	neighbour_alone();
	for (size_t i = 0; i < ARRAY_SIZE(bars); i++)
		check_refusal(&(struct refusal){
			.pci = aperture_pci(), .bar = bars[i].bar,
			.flags = VPEER_ATTACH_FOREIGN, .range_offset = AT, .range_size = SIZE,
			.error = bars[i].error, .reason = bars[i].reason, .log_lines = 1,
		});
}

TEST(not_aligned, 20)
{
	neighbour_alone();
	refuse(AT + 4096, SIZE, EINVAL, VPEER_REASON_BAD_ALIGNMENT);
	refuse(AT + 1, SIZE, EINVAL, VPEER_REASON_BAD_ALIGNMENT);
	refuse(AT, SIZE + 4096, EINVAL, VPEER_REASON_BAD_ALIGNMENT);
	refuse(AT, 4096, EINVAL, VPEER_REASON_BAD_ALIGNMENT);
	check_accepted(AT, GRANULE);
}

TEST(beyond_the_end, 20)
{
	uint64_t size = bar_size();

	neighbour_alone();
	refuse(size, GRANULE, EINVAL, VPEER_REASON_BEYOND_END);
	refuse(size - GRANULE, 2 * GRANULE, EINVAL, VPEER_REASON_BEYOND_END);
	refuse(0, size + GRANULE, EINVAL, VPEER_REASON_BEYOND_END);
	refuse(-GRANULE, 2 * GRANULE, EINVAL, VPEER_REASON_BEYOND_END);
	refuse(GRANULE, -GRANULE, EINVAL, VPEER_REASON_BEYOND_END);
	check_accepted(size - GRANULE, GRANULE);
}

static void refuse_quietly(uint32_t flags, uint64_t offset, uint64_t size)
{
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = NEIGHBOUR_BAR, .flags = flags,
		.range_offset = offset, .range_size = size,
		.error = EINVAL, .reason = VPEER_REASON_BAD_ARGUMENT,
	});
}

TEST(range_and_flag_belong_together, 10)
{
	neighbour_alone();
	refuse_quietly(0, AT, SIZE);
	refuse_quietly(0, 0, SIZE);
	refuse_quietly(0, AT, 0);
	refuse_quietly(VPEER_ATTACH_CLEAN, AT, SIZE);
	refuse_quietly(VPEER_ATTACH_FOREIGN | 1U << 3, AT, SIZE);
	refuse_quietly(VPEER_ATTACH_FOREIGN | 1U << 31, AT, SIZE);
	check_accepted(AT, SIZE);
}

TEST(empty_range, 10)
{
	uint32_t reason;

	neighbour_alone();
	CHECK_ERRNO(control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					 0, 0, &reason), EINVAL);
	CHECK_EQ(reason, VPEER_REASON_BAD_ARGUMENT);
	CHECK_ERRNO(control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					 AT, 0, &reason), EINVAL);
	CHECK_EQ(reason, VPEER_REASON_BAD_ARGUMENT);
	CHECK(!*aperture_node());
}

/* A member of the group may use windows, not share a BAR. */
static void attach_as_member(void *unused)
{
	uint32_t reason;

	(void)unused;
	become_member();
	CHECK_ERRNO(control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					 AT, SIZE, &reason), EPERM);
	CHECK_EQ(reason, VPEER_REASON_NOT_PERMITTED);
}

TEST(not_root, 20)
{
	neighbour_alone();
	test_in_child(attach_as_member, NULL);
	CHECK(!*aperture_node());
	check_accepted(AT, SIZE);
}

TEST(shared_already, 20)
{
	static const uint64_t ranges[][2] = {
		{ AT, SIZE }, { AT, GRANULE }, { AT + GRANULE, GRANULE },
		{ AT - GRANULE, 2 * GRANULE }, { AT + SIZE - GRANULE, 2 * GRANULE },
		{ 0, 2 * AT },
	};

	neighbour_alone();
	foreign_attach(AT, SIZE);
	for (size_t i = 0; i < ARRAY_SIZE(ranges); i++)
		refuse(ranges[i][0], ranges[i][1], EEXIST, VPEER_REASON_RANGE_SHARED);
	/* Neighbours that only touch are none. */
	foreign_attach(AT - GRANULE, GRANULE);
	foreign_attach(AT + SIZE, GRANULE);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	check_accepted(AT, SIZE);
}

TEST(driver_has_pages, 20)
{
	static const uint64_t places[][2] = {
		{ AT, SIZE }, { AT + GRANULE, GRANULE }, { AT - GRANULE, 2 * GRANULE },
		{ AT + SIZE - GRANULE, 2 * GRANULE }, { 0, 2 * AT },
	};

	neighbour_alone();
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		int fd = neighbour_mapped(NEIGHBOUR_PAGES, places[i][0], places[i][1]);

		refuse(AT, SIZE, EBUSY, VPEER_REASON_PAGES_EXIST);
		close(fd);
	}
	check_accepted(AT, SIZE);
}

/* Made after attach, before the first window. */
TEST(driver_makes_pages_later, 20)
{
	uint32_t reason;
	int fd, pages;

	neighbour_alone();
	fd = foreign_open(foreign_attach(AT, SIZE));
	pages = neighbour_mapped(NEIGHBOUR_PAGES, AT + GRANULE, GRANULE);
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_PAGES_EXIST);
	CHECK_EQ(aperture_stat("windows"), 0);
	close(pages);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* Two of the driver's mappings in the range whose types differ. */
TEST(several_memory_types, 20)
{
	int uncached, combining;

	neighbour_alone();
	uncached = neighbour_mapped(NEIGHBOUR_IOREMAP, AT, GRANULE);
	combining = neighbour_mapped(NEIGHBOUR_IOREMAP_WC, AT + GRANULE, GRANULE);
	refuse(AT, SIZE, EBUSY, VPEER_REASON_MEMORY_TYPE);
	close(combining);
	check_accepted(AT, SIZE);
	close(uncached);
	check_accepted(AT, SIZE);
}

TEST(mapped_write_back, 20)
{
	int fd;

	neighbour_alone();
	fd = neighbour_mapped(NEIGHBOUR_MEMREMAP_WB, AT + GRANULE, 4096);
	refuse(AT, SIZE, EBUSY, VPEER_REASON_MEMORY_TYPE);
	close(fd);
	check_accepted(AT, SIZE);
}

TEST(detach_of_nothing, 10)
{
	uint32_t reason;

	neighbour_alone();
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, &reason), ENODEV);
	CHECK_EQ(reason, VPEER_REASON_NOT_ATTACHED);
	CHECK(neighbour_is_bound());
}

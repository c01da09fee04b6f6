// SPDX-License-Identifier: GPL-2.0-only
/* Windows of a range whose BAR has a driver of its own. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "command.h"
#include "disk.h"
#include "harness.h"
#include "memory.h"
#include "neighbour.h"
#include "owned.h"
#include "path.h"
#include "rdma.h"

#define AT	(8 * MIB)
#define SIZE	(4 * GRANULE)

/* What is looked at outside: this much of the BAR's start, and its last granule. */
#define AROUND	(20 * MIB)

static struct vpeer_aperture_info info_of(int fd)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };

	CHECK_OK(ioctl(fd, VPEER_IOCTL_APERTURE_INFO, &info));
	return info;
}

static int attach(void)
{
	neighbour_alone();
	return foreign_open(foreign_attach(AT, SIZE));
}

static void detach(void)
{
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK(!*aperture_node());
	CHECK(neighbour_is_bound());
}

TEST(offsets_count_from_the_range, 20)
{
	int fd = attach();
	struct vpeer_aperture_info info = info_of(fd);
	char *bytes = plain_memory(GRANULE), *mapped;

	CHECK_EQ(info.kind, VPEER_APERTURE_FOREIGN);
	CHECK_EQ(info.bar, NEIGHBOUR_BAR);
	CHECK_EQ(info.bar_offset, AT);
	CHECK_EQ(info.size, SIZE);
	CHECK_EQ(info.bytes_free, SIZE);

	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	mapped = window_map(fd, GRANULE, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	pattern_fill(mapped, GRANULE, 91);
	pattern_fill(bytes, GRANULE, 91);
	CHECK(owner_is(AT + GRANULE, bytes, GRANULE));
	CHECK(!owner_is(GRANULE, bytes, GRANULE));

	pattern_fill(bytes, GRANULE, 92);
	owner_write(AT + GRANULE, bytes, GRANULE);
	CHECK(pattern_is(mapped, GRANULE, 92));
	close(fd);
	munmap(mapped, GRANULE);
	detach();
}

TEST(path_report, 20)
{
	int fd = attach();
	struct vpeer_path_report report = path_ask(fd, aperture_pci());

	CHECK_EQ(report.bar_offset, AT);
	CHECK_EQ(report.size, SIZE);
	CHECK(strcmp(report.aperture.driver, "vpeer"));
	path_check(&report, aperture_pci(), aperture_pci(), VPEER_REASON_NONE);
	close(fd);
	detach();
}

TEST(rdma_both_ways, 30)
{
	int fd = attach();
	char *mapped = window_map(fd, GRANULE, GRANULE);
	char *plain = plain_memory(64 * KIB), *expected = plain_memory(64 * KIB);
	struct ibv_mr *mr, *local;
	struct rdma r;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	local = rdma_reg(&r, plain, 64 * KIB);

	pattern_fill(plain, 64 * KIB, 93);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped + 4096, mr->rkey, 64 * KIB),
		 IBV_WC_SUCCESS);
	CHECK(owner_is(AT + GRANULE + 4096, plain, 64 * KIB));

	pattern_fill(expected, 64 * KIB, 94);
	owner_write(AT + GRANULE + 4096, expected, 64 * KIB);
	CHECK_EQ(rdma_read(&r, local, (uintptr_t)mapped + 4096, mr->rkey, 64 * KIB),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(plain, 64 * KIB, 94));

	/* The key reaches no further than the window. */
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped + GRANULE, mr->rkey, 64 * KIB),
		 IBV_WC_REM_ACCESS_ERR);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	close(fd);
	munmap(mapped, GRANULE);
	detach();
}

#define DISK_PLACE	(24 * MIB)
#define DISK_SIZE	(256 * KIB)

TEST(direct_io, 30)
{
	int fd = attach(), disk = disk_open("VPEER_ATS_DISK");
	char *mapped = window_map(fd, 2 * GRANULE, GRANULE), *plain = plain_memory(DISK_SIZE);

	pattern_fill(plain, DISK_SIZE, 95);
	CHECK_EQ(pwrite(disk, plain, DISK_SIZE, DISK_PLACE), DISK_SIZE);
	CHECK_EQ(pread(disk, mapped, DISK_SIZE, DISK_PLACE), DISK_SIZE);
	CHECK(owner_is(AT + 2 * GRANULE, plain, DISK_SIZE));

	pattern_fill(plain, DISK_SIZE, 96);
	owner_write(AT + 2 * GRANULE, plain, DISK_SIZE);
	CHECK_EQ(pwrite(disk, mapped, DISK_SIZE, DISK_PLACE), DISK_SIZE);
	memset(plain, 0, DISK_SIZE);
	CHECK_EQ(pread(disk, plain, DISK_SIZE, DISK_PLACE), DISK_SIZE);
	CHECK(pattern_is(plain, DISK_SIZE, 96));
	close(disk);
	close(fd);
	munmap(mapped, GRANULE);
	detach();
}

static void refuse_alloc(int fd, uint32_t flags, uint64_t offset, uint64_t size)
{
	struct vpeer_window_alloc arg = {
		.argsz = sizeof(arg), .flags = flags, .offset = offset, .size = size,
	};

	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, EPERM, VPEER_REASON_NOT_GRANTED);
}

static void refuse_map(int fd, uint64_t offset, uint64_t size)
{
	CHECK_ERRNO((long)mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset), EPERM);
}

/* Also where the BAR goes on. */
TEST(beyond_the_range, 20)
{
	int fd = attach();
	char *mapped;

	refuse_alloc(fd, VPEER_ALLOC_FIXED, SIZE, GRANULE);
	refuse_alloc(fd, VPEER_ALLOC_FIXED, SIZE - GRANULE, 2 * GRANULE);
	refuse_alloc(fd, VPEER_ALLOC_FIXED, 16 * SIZE, GRANULE);
	refuse_alloc(fd, 0, 0, SIZE + GRANULE);
	refuse_map(fd, SIZE, 4096);
	refuse_map(fd, SIZE - 4096, 8192);
	refuse_map(fd, 0, SIZE + 4096);
	refuse_map(fd, AT + SIZE, GRANULE);
	CHECK_EQ(aperture_stat("windows"), 0);

	CHECK_OK(window_alloc_at(fd, SIZE - GRANULE, GRANULE, NULL));
	mapped = window_map(fd, SIZE - 4096, 4096);
	mapped[4095] = 1;
	close(fd);
	munmap(mapped, 4096);
	detach();
}

static void leave_bytes(int fd)
{
	char *mapped = window_map(fd, 0, SIZE);

	pattern_fill(mapped, SIZE, 97);
	munmap(mapped, SIZE);
}

TEST(zeroed_for_the_next_owner, 30)
{
	char *bytes = plain_memory(SIZE), *mapped;
	int fd;

	/* The driver's own bytes are no one's business. */
	neighbour_alone();
	pattern_fill(bytes, SIZE, 98);
	owner_write(AT, bytes, SIZE);
	fd = attach();
	mapped = window_map(fd, 0, SIZE);
	CHECK(all_zero(mapped, SIZE));
	munmap(mapped, SIZE);
	close(fd);

	fd = aperture_open();
	leave_bytes(fd);
	close(fd);
	CHECK(owner_is(AT, (pattern_fill(bytes, SIZE, 97), bytes), SIZE));
	fd = aperture_open();
	mapped = window_map(fd, 0, SIZE);
	CHECK(all_zero(mapped, SIZE));
	close(fd);
	munmap(mapped, SIZE);
	detach();
}

/* Root's word that the range is clean. */
TEST(clean_range_keeps_bytes, 20)
{
	char *bytes = plain_memory(GRANULE), *mapped;
	int fd;

	neighbour_alone();
	pattern_fill(bytes, GRANULE, 99);
	owner_write(AT, bytes, GRANULE);
	CHECK_OK(control_attach_range(aperture_pci(), NEIGHBOUR_BAR,
				      VPEER_ATTACH_FOREIGN | VPEER_ATTACH_CLEAN, AT, SIZE, NULL));
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	CHECK(pattern_is(mapped, GRANULE, 99));
	close(fd);
	munmap(mapped, GRANULE);
	detach();
}

static void owner_file(char *path, size_t size)
{
	snprintf(path, size, "%s/%s-bar2", getenv("VPEER_OWNER_DIR") ?: "", aperture_pci());
}

/*
 * Memory that was never written is a hole of the backing file. What the file
 * system needs for itself is less than a granule.
 */
static uint64_t owner_blocks(void)
{
	char path[256];
	struct stat st;

	owner_file(path, sizeof(path));
	CHECK_OK(stat(path, &st));
	return st.st_blocks;
}

static uint64_t owner_size(void)
{
	char path[256];
	struct stat st;

	owner_file(path, sizeof(path));
	CHECK_OK(stat(path, &st));
	return st.st_size;
}

static void fill_outside(char *bytes)
{
	pattern_fill(bytes, AROUND, 101);
	owner_write(0, bytes, AROUND);
	owner_write(owner_size() - GRANULE, bytes, GRANULE);
}

static void check_outside(const char *bytes)
{
	CHECK(owner_is(0, bytes, AT));
	CHECK(owner_is(AT + SIZE, bytes + AT + SIZE, AROUND - AT - SIZE));
	CHECK(owner_is(owner_size() - GRANULE, bytes, GRANULE));
}

static void check_borders(const char *bytes, const char *moment)
{
	printf("%s\n", moment);
	CHECK(owner_is(AT - 64 * KIB, bytes + AT - 64 * KIB, 64 * KIB));
	CHECK(owner_is(AT + SIZE, bytes + AT + SIZE, 64 * KIB));
}

static void use_all(int fd)
{
	char *mapped = window_map(fd, 0, SIZE), *plain = plain_memory(64 * KIB);
	struct ibv_mr *mr, *local;
	struct rdma r;

	memset(mapped, 0xee, SIZE);
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, SIZE);
	local = rdma_reg(&r, plain, 64 * KIB);
	pattern_fill(plain, 64 * KIB, 102);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, 64 * KIB), IBV_WC_SUCCESS);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped + SIZE - 64 * KIB, mr->rkey, 64 * KIB),
		 IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	munmap(mapped, SIZE);
}

TEST(nothing_outside_changes, 60)
{
	char *bytes = plain_memory(AROUND);
	uint64_t blocks;
	int fd;

	neighbour_alone();
	fill_outside(bytes);
	blocks = owner_blocks();
	fd = attach();
	check_borders(bytes, "attach");
	CHECK_OK(window_alloc_at(fd, 0, SIZE, NULL));
	check_borders(bytes, "claim");
	use_all(fd);
	CHECK(!owner_is(AT, bytes + AT, 4096));
	CHECK(!owner_is(AT + SIZE - 4096, bytes + AT + SIZE - 4096, 4096));
	check_borders(bytes, "use");
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	check_borders(bytes, "revoke");
	close(fd);
	fd = aperture_open();
	leave_bytes(fd);
	close(fd);
	check_borders(bytes, "the next owner");
	detach();
	check_outside(bytes);
	CHECK(owner_blocks() < blocks + GRANULE / 512);
}

/* The driver goes on in the rest of the BAR. */
TEST(driver_goes_on, 30)
{
	int fd = attach(), low, high;
	char *bytes = plain_memory(64 * KIB), *seen = plain_memory(64 * KIB);
	char *mapped = window_map(fd, 0, SIZE);

	mapped[0] = 1;
	low = neighbour_mapped(NEIGHBOUR_IOREMAP_WC, AT - 64 * KIB, 64 * KIB);
	high = neighbour_mapped(NEIGHBOUR_IOREMAP_WC, AT + SIZE, 64 * KIB);
	pattern_fill(bytes, 64 * KIB, 103);
	CHECK_EQ(pwrite(low, bytes, 64 * KIB, 0), 64 * KIB);
	CHECK_EQ(pwrite(high, bytes, 64 * KIB, 0), 64 * KIB);
	CHECK_EQ(pread(high, seen, 64 * KIB, 0), 64 * KIB);
	CHECK(!memcmp(bytes, seen, 64 * KIB));
	CHECK(owner_is(AT - 64 * KIB, bytes, 64 * KIB));
	CHECK(owner_is(AT + SIZE, bytes, 64 * KIB));
	CHECK_EQ(mapped[0], 1);
	CHECK(all_zero(mapped + 8, SIZE - 8));
	close(low);
	close(high);
	close(fd);
	munmap(mapped, SIZE);
	detach();
}

TEST(two_ranges_of_one_bar, 30)
{
	int fds[2], numbers[2];
	uint64_t at[2] = { AT, AT + 2 * SIZE };
	char *mapped[2], *bytes = plain_memory(GRANULE);

	neighbour_alone();
	for (int i = 0; i < 2; i++) {
		numbers[i] = foreign_attach(at[i], SIZE);
		fds[i] = foreign_open(numbers[i]);
		CHECK_EQ(info_of(fds[i]).bar_offset, at[i]);
		mapped[i] = window_map(fds[i], 0, GRANULE);
		pattern_fill(mapped[i], GRANULE, 104 + i);
	}
	CHECK(numbers[0] != numbers[1]);
	for (int i = 0; i < 2; i++) {
		pattern_fill(bytes, GRANULE, 104 + i);
		CHECK(owner_is(at[i], bytes, GRANULE));
	}
	/* One's revocation is not the other's. */
	CHECK_OK(window_revoke(fds[0], 0, 0, NULL));
	CHECK_EQ(signal_of_read(mapped[0]), SIGBUS);
	CHECK_EQ(signal_of_read(mapped[1]), 0);

	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK(!*aperture_node());
	CHECK_EQ(signal_of_read(mapped[1]), SIGBUS);
	CHECK(neighbour_is_bound());
	for (int i = 0; i < 2; i++) {
		CHECK_ERRNO(window_alloc_at(fds[i], 0, GRANULE, NULL), ENODEV);
		munmap(mapped[i], GRANULE);
		close(fds[i]);
	}
}

static void udev_rule(const char *command)
{
	char line[512];

	snprintf(line, sizeof(line), command, getenv("VPEER_TOP") ?: "");
	CHECK_EQ(system(line), 0);
	CHECK_EQ(system("udevadm control --reload"), 0);
}

/* udev's link for what lies at a place of the BAR, "" for an owned one. */
static bool link_is(const char *place, const char *node)
{
	char path[128], target[64] = "";

	snprintf(path, sizeof(path), "/dev/vpeer/by-path/pci-%s-bar2%s", aperture_pci(), place);
	return readlink(path, target, sizeof(target) - 1) > 0 && !strcmp(basename(target), node);
}

TEST(links_of_two_ranges, 30)
{
	char nodes[2][32];

	udev_rule("install -D -m 644 -t /run/udev/rules.d '%s/tools/udev/60-vpeer.rules'");
	neighbour_alone();
	snprintf(nodes[0], sizeof(nodes[0]), "vpeer%d", foreign_attach(AT, SIZE));
	snprintf(nodes[1], sizeof(nodes[1]), "vpeer%d", foreign_attach(AT + 2 * SIZE, SIZE));
	CHECK_WITHIN(link_is("-at8388608", nodes[0]), 10000);
	CHECK_WITHIN(link_is("-at25165824", nodes[1]), 10000);
	CHECK(!link_is("", nodes[0]) && !link_is("", nodes[1]));
	detach();
	CHECK_WITHIN(!link_is("-at8388608", nodes[0]), 10000);

	own();
	CHECK_WITHIN(link_is("", aperture_node() + 5), 10000);
	udev_rule("rm /run/udev/rules.d/60-vpeer.rules");
	neighbour_alone();
}

static void power_control(const char *word)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/power/control", aperture_pci());
	CHECK(sysfs_write(path, word));
}

static bool power_is(const char *status)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/power/runtime_status",
		 aperture_pci());
	CHECK(sysfs_read(path, text, sizeof(text)));
	return !strncmp(text, status, strlen(status));
}

/* The driver lets an idle function sleep, but not while a range is shared. */
TEST(awake_while_shared, 60)
{
	uint32_t reason;
	int cached;

	neighbour_alone();
	power_control("auto");
	CHECK_WITHIN(power_is("suspended"), 10000);
	foreign_attach(AT, SIZE);
	CHECK(power_is("active"));
	foreign_attach(AT + SIZE, SIZE);
	test_sleep_ms(500);
	CHECK(power_is("active"));
	detach();
	CHECK_WITHIN(power_is("suspended"), 10000);

	cached = neighbour_mapped(NEIGHBOUR_MEMREMAP_WB, AT, 4096);
	CHECK_ERRNO(control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					 AT, SIZE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_MEMORY_TYPE);
	close(cached);
	CHECK_WITHIN(power_is("suspended"), 10000);

	foreign_attach(AT, SIZE);
	neighbour_unbind();
	neighbour_bind();
	CHECK_WITHIN(power_is("suspended"), 10000);
	power_control("on");
	CHECK(power_is("active"));
}

TEST(tool, 30)
{
	neighbour_alone();
	CHECK(!strstr(output_of(0, "vpeer list"), "foreign"));
	CHECK(strstr(output_of(0, "vpeer attach --range 8M:4M %s", aperture_pci()),
		     "BAR 2: 4 MiB at 0x800000 shared as /dev/vpeer"));
	CHECK(strstr(output_of(0, "vpeer list"), "foreign"));
	CHECK(strstr(output_of(1, "vpeer attach --range 8M:4M %s 2>&1", aperture_pci()),
		     aperture_pci()));
	output_of(0, "vpeer detach %s", aperture_pci());
	CHECK(!strstr(output_of(0, "vpeer list"), "foreign"));
	CHECK(neighbour_is_bound());
}

/* Who pins is named, by the node or the function; who has another range is not. */
static void check_holders(const char *command, const char *pinned, int other)
{
	const char *said = output_of(1, "vpeer %s %s 2>&1", command, aperture_pci());
	char holder[128];

	snprintf(holder, sizeof(holder),
		 "  holder: process %d (foreign_windows) mapped or registered memory of %s that",
		 (int)getpid(), pinned);
	CHECK(strstr(said, holder));
	snprintf(holder, sizeof(holder), "/dev/vpeer%d ", other);
	CHECK(!strstr(said, holder));
}

/* Windows and pins of each range are the function's: none is left out. */
TEST(tool_revokes_every_range, 60)
{
	int fds[2], numbers[2];
	char *mapped[2], path[32];
	struct ibv_mr *mr;
	struct rdma r;

	neighbour_alone();
	for (int i = 0; i < 2; i++) {
		numbers[i] = foreign_attach(AT + i * 2 * SIZE, SIZE);
		fds[i] = foreign_open(numbers[i]);
		mapped[i] = window_map(fds[i], 0, GRANULE);
		mapped[i][0] = 1;
	}
	rdma_open(&r);
	mr = rdma_reg(&r, mapped[1], GRANULE);
	module_parameter("revoke_wait_ms", 100);
	snprintf(path, sizeof(path), "/dev/vpeer%d", numbers[1]);
	check_holders("revoke", path, numbers[0]);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(signal_of_read(mapped[i]), SIGBUS);

	check_holders("detach", aperture_pci(), numbers[0]);
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	for (int i = 0; i < 2; i++) {
		munmap(mapped[i], GRANULE);
		close(fds[i]);
	}

	numbers[0] = foreign_attach(AT, SIZE);
	close(foreign_open(numbers[0]));
	close(foreign_open(foreign_attach(AT + 2 * SIZE, SIZE)));
	CHECK(strstr(output_of(0, "vpeer revoke %s", aperture_pci()), "0 windows revoked"));
	/* Nothing is known of one whose node is not there, as in a container's /dev. */
	snprintf(path, sizeof(path), "/dev/vpeer%d", numbers[0]);
	CHECK_OK(rename(path, "/dev/vpeer-away"));
	output_of(1, "vpeer revoke %s", aperture_pci());
	CHECK_OK(rename("/dev/vpeer-away", path));
	detach();
}

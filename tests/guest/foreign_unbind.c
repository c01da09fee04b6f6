// SPDX-License-Identifier: GPL-2.0-only
/* The driver beside which a range was shared goes, and comes back. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "holder.h"
#include "kmsg.h"
#include "memory.h"
#include "neighbour.h"

#define AT	(8 * MIB)
#define SIZE	(2 * GRANULE)
#define LAB	"/run/vpeer-lab/"
#define UNPLUG_SECONDS	30

/* A window in use, and what is seen of it. */
struct use {
	int fd;
	char *mapped;
	const volatile uint64_t *page;
	uint64_t generation;
	uint32_t slot;
};

static struct use use_begin(void)
{
	struct use u = { .fd = aperture_open() };

	u.page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, u.fd, VPEER_MMAP_GENERATION);
	CHECK_OK((long)u.page);
	CHECK_OK(window_alloc_at(u.fd, 0, GRANULE, NULL));
	u.mapped = window_map(u.fd, 0, GRANULE);
	u.mapped[0] = 1;
	u.slot = window_info(u.fd, 0).slot;
	u.generation = u.page[u.slot];
	return u;
}

static void check_revoked(struct use *u)
{
	uint32_t reason;

	CHECK_EQ(signal_of_read(u->mapped), SIGBUS);
	CHECK(u->page[u->slot] > u->generation);
	CHECK_ERRNO(window_alloc_at(u->fd, GRANULE, GRANULE, &reason), ENODEV);
	CHECK_EQ(reason, VPEER_REASON_GONE);
	CHECK(!*aperture_node());
	munmap(u->mapped, GRANULE);
	munmap((void *)u->page, 4096);
	close(u->fd);
}

static bool region_is(const char *name)
{
	char line[256], wanted[64];
	FILE *iomem = fopen("/proc/iomem", "r");
	bool found = false;

	CHECK(iomem);
	snprintf(wanted, sizeof(wanted), " : %s\n", name);
	while (fgets(line, sizeof(line), iomem))
		found |= !!strstr(line, wanted);
	fclose(iomem);
	return found;
}

/* A driver has the function as if nothing had been. */
static void check_driver_works(void)
{
	uint64_t word = test_now_ms();
	int fd;

	CHECK(neighbour_is_bound());
	CHECK(region_is("neighbour"));
	fd = neighbour_mapped(NEIGHBOUR_IOREMAP_WC, 0, 2 * AT);
	CHECK_EQ(pwrite(fd, &word, sizeof(word), AT + 64), sizeof(word));
	CHECK(owner_is(AT + 64, &word, sizeof(word)));
	close(fd);
}

TEST(unbind_by_sysfs, 30)
{
	char *list;
	struct use u;
	int mark;

	neighbour_alone();
	list = memtype_list();
	foreign_attach(AT, SIZE);
	u = use_begin();
	mark = kmsg_mark();
	neighbour_unbind();
	check_revoked(&u);
	CHECK_EQ(kmsg_count(mark, "vpeer: shared ranges revoked", NULL, 0), 1);
	close(mark);
	CHECK_EQ(quarantine_bytes(), 0);
	CHECK(!region_is("vpeer-quarantine"));
	neighbour_bind();
	CHECK(!*aperture_node());
	check_driver_works();
	CHECK(!strcmp(list, memtype_list()));
}

/* No aperture, nothing to tell. */
TEST(unbind_without_aperture, 20)
{
	int mark;

	neighbour_alone();
	mark = kmsg_mark();
	neighbour_unbind();
	CHECK_EQ(kmsg_count(mark, "vpeer", NULL, 0), 0);
	close(mark);
	neighbour_bind();
	check_driver_works();
}

TEST(driver_is_unloaded, 30)
{
	struct use u;

	neighbour_alone();
	foreign_attach(AT, SIZE);
	foreign_attach(AT + SIZE, SIZE);
	u = use_begin();
	CHECK_EQ(system("rmmod neighbour"), 0);
	check_revoked(&u);
	CHECK(!pci_bound(aperture_pci()));
	neighbour_bind();
	check_driver_works();
}

static void second_aperture(void)
{
	const char *all = getenv("VPEER_AP_ALL");

	if (!all || !strchr(all, ' '))
		test_skip("this guest has no second aperture");
	setenv("VPEER_AP_PCI", strchr(all, ' ') + 1, 1);
}

static void first_aperture(void)
{
	char *all = strdup(getenv("VPEER_AP_ALL"));

	CHECK(all);
	setenv("VPEER_AP_PCI", strsep(&all, " "), 1);
}

/* Ranges of two functions: one's driver goes. */
TEST(others_range_stays, 30)
{
	struct use other, u;

	second_aperture();
	neighbour_alone();
	foreign_attach(AT, SIZE);
	other = use_begin();
	first_aperture();
	neighbour_alone();
	foreign_attach(AT, SIZE);
	u = use_begin();
	neighbour_unbind();
	check_revoked(&u);

	second_aperture();
	CHECK_EQ(signal_of_write(other.mapped), 0);
	CHECK_EQ(window_info(other.fd, 0).state, VPEER_WINDOW_ACTIVE);
	CHECK_EQ(other.page[other.slot], other.generation);
	CHECK(owner_is(AT, other.mapped, 4096));
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	check_revoked(&other);
	check_driver_works();
	neighbour_unbind();
}

/*
 * The function leaves the bus through sysfs, and is found again. The kernel
 * finds no new place for the first one's BAR: the firmware put it where the
 * memory map says reserved.
 */
TEST(function_is_removed, 30)
{
	char path[128];
	struct use u;

	second_aperture();
	neighbour_alone();
	foreign_attach(AT, SIZE);
	u = use_begin();
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", aperture_pci());
	CHECK(sysfs_write(path, "1"));
	check_revoked(&u);
	CHECK_EQ(quarantine_bytes(), 0);
	CHECK(sysfs_write("/sys/bus/pci/rescan", "1"));
	neighbour_bind();
	check_driver_works();
	neighbour_unbind();
}

TEST(hot_unplug, 120)
{
	char command[128];
	struct use u;

	if (access(LAB "unplug", X_OK))
		test_skip("no lab that could unplug");
	second_aperture();
	neighbour_alone();
	foreign_attach(AT, SIZE);
	u = use_begin();
	snprintf(command, sizeof(command), LAB "unplug 1 %d", UNPLUG_SECONDS);
	CHECK_EQ(system(command), 0);
	check_revoked(&u);
	CHECK_EQ(quarantine_bytes(), 0);
	CHECK_EQ(system(LAB "replug 1 >/dev/null"), 0);
	neighbour_bind();
	check_driver_works();
	foreign_attach(AT, SIZE);
	u = use_begin();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	check_revoked(&u);
	neighbour_unbind();
}

static void check_held(void)
{
	uint32_t reason;

	CHECK(quarantine_bytes() > 0);
	CHECK(region_is("vpeer-quarantine"));
	CHECK(!neighbour_try_bind());
	CHECK(!neighbour_is_bound());
	CHECK(!pci_bound(aperture_pci()));
	CHECK_ERRNO(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
	CHECK(system("rmmod vpeer 2>/dev/null") != 0);
}

/* Once the last pin is gone; @list: the memory types from before. */
static void check_free_again(const char *list)
{
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	CHECK(!region_is("vpeer-quarantine"));
	neighbour_bind();
	check_driver_works();
	CHECK(!strcmp(list, memtype_list()));
	foreign_attach(AT, SIZE);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* The initiator goes on writing into memory that is nobody else's. */
TEST(pinned_while_unbound, 60)
{
	char *list;
	struct holder h;

	neighbour_alone();
	list = memtype_list();
	foreign_attach(AT, SIZE);
	holder_start(&h, 0, GRANULE, true);
	module_parameter("revoke_wait_ms", 100);
	neighbour_unbind();
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(quarantine_bytes(), SIZE);
	check_held();
	holder_release(&h);
	check_free_again(list);
}

TEST(pinned_and_killed, 60)
{
	char *list;
	struct holder h;

	neighbour_alone();
	list = memtype_list();
	foreign_attach(AT, SIZE);
	holder_start(&h, GRANULE, GRANULE, true);
	module_parameter("revoke_wait_ms", 100);
	CHECK_EQ(system("rmmod neighbour"), 0);
	module_parameter("revoke_wait_ms", 2000);
	check_held();
	holder_kill(&h);
	check_free_again(list);
}

/* The pin goes within the wait: no quarantine. */
TEST(pinned_for_a_moment, 60)
{
	struct holder h;
	pid_t pid;

	neighbour_alone();
	foreign_attach(AT, SIZE);
	holder_start(&h, 0, GRANULE, true);
	pid = test_fork();
	if (!pid) {
		test_sleep_ms(300);
		kill(h.pid, SIGKILL);
		_exit(0);
	}
	neighbour_unbind();
	CHECK_EQ(quarantine_bytes(), 0);
	test_join(pid);
	CHECK(neighbour_try_bind());
	check_driver_works();
}

/* Two ranges, each pinned by another: the region is held until both let go. */
TEST(two_pinned_ranges, 60)
{
	char *list;
	struct holder first, second;

	neighbour_alone();
	list = memtype_list();
	module_parameter("revoke_wait_ms", 100);
	foreign_attach(AT, SIZE);
	holder_start(&first, 0, GRANULE, false);
	aperture_choose(foreign_attach(AT + 2 * SIZE, SIZE));
	holder_start(&second, 0, GRANULE, false);
	aperture_choose(-1);
	neighbour_unbind();
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(quarantine_bytes(), 2 * SIZE);
	check_held();
	/* Not by its pipe, of which the second one has a copy. */
	holder_kill(&first);
	CHECK_WITHIN(quarantine_bytes() == SIZE, 10000);
	check_held();
	holder_release(&second);
	check_free_again(list);
}

/*
 * Detached while pinned, and the driver is still there: it keeps its region,
 * no range of the BAR can be shared, and once it goes its successor has to
 * wait.
 */
TEST(detached_while_pinned, 60)
{
	char *list;
	struct holder h;
	uint64_t pinned;
	uint32_t reason;

	neighbour_alone();
	list = memtype_list();
	foreign_attach(AT, SIZE);
	holder_start(&h, 0, GRANULE, true);
	module_parameter("revoke_wait_ms", 100);
	CHECK_ERRNO(control_detach(aperture_pci(), &pinned, &reason), EINPROGRESS);
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(reason, VPEER_REASON_PINNED);
	CHECK_EQ(pinned, GRANULE);
	CHECK(neighbour_is_bound());
	CHECK(region_is("neighbour"));
	CHECK_ERRNO(control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					 AT, SIZE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
	neighbour_unbind();
	check_held();
	holder_release(&h);
	check_free_again(list);
}

/* Another function's driver goes: nothing of its function is held. */
TEST(others_pin_stays, 60)
{
	struct holder h;

	second_aperture();
	neighbour_alone();
	foreign_attach(AT, SIZE);
	holder_start(&h, 0, GRANULE, true);
	module_parameter("revoke_wait_ms", 100);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	module_parameter("revoke_wait_ms", 2000);

	first_aperture();
	neighbour_alone();
	neighbour_unbind();
	CHECK(!region_is("vpeer-quarantine"));
	neighbour_bind();
	check_driver_works();

	second_aperture();
	CHECK_EQ(quarantine_bytes(), SIZE);
	holder_release(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	check_driver_works();
	neighbour_unbind();
}

/* The same, but the pin goes first: the driver never notices. */
TEST(drained_beside_the_driver, 60)
{
	struct holder h;

	neighbour_alone();
	foreign_attach(AT, SIZE);
	holder_start(&h, 0, GRANULE, true);
	module_parameter("revoke_wait_ms", 100);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	module_parameter("revoke_wait_ms", 2000);
	holder_kill(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	check_driver_works();
	foreign_attach(AT, SIZE);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* Nothing keeps a driver off that does not claim its regions. */
TEST(driver_that_claims_no_region, 60)
{
	struct holder h;

	neighbour_alone();
	neighbour_unbind();
	neighbour_requests(false);
	CHECK(neighbour_try_bind());
	foreign_attach(AT, SIZE);
	holder_start(&h, 0, GRANULE, false);
	module_parameter("revoke_wait_ms", 100);
	neighbour_unbind();
	module_parameter("revoke_wait_ms", 2000);
	CHECK(region_is("vpeer-quarantine"));
	CHECK(neighbour_try_bind());
	holder_release(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	CHECK(!region_is("vpeer-quarantine"));
	neighbour_unbind();
	neighbour_requests(true);
	neighbour_bind();
	check_driver_works();
}

TEST(vpeer_is_unloaded, 60)
{
	int fd;

	neighbour_alone();
	foreign_attach(AT, SIZE);
	foreign_attach(AT + SIZE, SIZE);
	fd = aperture_open();
	CHECK(system("rmmod vpeer 2>/dev/null") != 0);
	CHECK(*aperture_node());
	close(fd);
	CHECK_EQ(system("rmmod vpeer"), 0);
	CHECK(neighbour_is_bound());
	check_driver_works();
	CHECK_EQ(system("modprobe vpeer"), 0);
	CHECK(!*aperture_node());
	foreign_attach(AT, SIZE);
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, SIZE, NULL));
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

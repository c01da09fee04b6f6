// SPDX-License-Identifier: GPL-2.0-only
/* The root port above the function reports errors (AER). */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aer.h"
#include "aperture.h"
#include "apertures.h"
#include "harness.h"
#include "holder.h"
#include "kmsg.h"
#include "memory.h"
#include "neighbour.h"
#include "owned.h"

/* The link is reset: the same as a reset, until resume(). */
static void check_fatal_error(void)
{
	const volatile uint64_t *page;
	uint64_t generation;
	char *mapped;
	int fd, mark;

	fd = aperture_open();
	page = window_generations(fd);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 114);
	generation = page[window_info(fd, 0).slot];
	mark = kmsg_mark();
	aer_inject("port-ap0 SDN");
	CHECK_EQ(kmsg_within(mark, "AER: device recovery successful", 10000), 1);
	close(mark);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK(page[window_info(fd, 0).slot] > generation);
	check_status("ok");
	check_replaced(fd);
	munmap(mapped, GRANULE);
	munmap((void *)page, 4096);
	close(fd);
}

TEST(fatal_error, 60)
{
	own();
	check_fatal_error();
	check_fatal_error();
}

/* Registers are restored as well when an ordinary reset was before. */
TEST(fatal_error_after_a_reset, 60)
{
	own();
	aperture_reset("bus");
	check_fatal_error();
}

TEST(fatal_error_under_traffic, 60)
{
	struct holder h;
	int mark, fd;

	own();
	holder_start(&h, 0, GRANULE, true);
	mark = kmsg_mark();
	module_parameter("revoke_wait_ms", 200);
	aer_inject("port-ap0 SDN");
	CHECK_EQ(kmsg_within(mark, "AER: device recovery successful", 10000), 1);
	close(mark);
	module_parameter("revoke_wait_ms", 2000);
	check_status("ok");
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	holder_kill(&h);
	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 10000);
	fd = aperture_open();
	check_drained(fd);
	close(fd);
}

static void check_untouched(const char *error, const char *line)
{
	char *mapped;
	int fd, mark;

	own();
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 7;
	mark = kmsg_mark();
	aer_inject(error);
	CHECK_EQ(kmsg_within(mark, line, 10000), 1);
	close(mark);
	CHECK_EQ(signal_of_read(mapped), 0);
	CHECK_EQ(mapped[0], 7);
	check_status("ok");
	close(fd);
	munmap(mapped, GRANULE);
}

/* The function stays reachable: nothing is lost, nothing revoked. */
TEST(nonfatal_error, 60)
{
	check_untouched("port-ap0 COMP_TIME", "AER: device recovery successful");
}

TEST(corrected_error, 60)
{
	check_untouched("port-ap0 RCVR", "AER: .*Correct(ed|able) [Ee]rror");
}

/* Two functions below one port, of which vpeer has the first. */
struct slot {
	char own[16];
	char sibling[16];
};

static struct slot slot_make(void)
{
	struct slot slot;

	leaving_aperture();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	snprintf(slot.own, sizeof(slot.own), "%s", aperture_pci());
	unplug();
	snprintf(slot.sibling, sizeof(slot.sibling), "%s", replug_with_sibling());
	CHECK_OK(control_attach(slot.own, VPEER_BAR_AUTO, 0, NULL));
	return slot;
}

static void slot_end(const struct slot *slot)
{
	setenv("VPEER_AP_PCI", slot->own, 1);
	CHECK_OK(control_detach(slot->own, NULL, NULL));
	unplug();
	sibling_forget();
	replug();
}

/* The error left the function reachable, but its sibling's driver wants a reset. */
TEST(reset_for_a_sibling, 120)
{
	struct slot slot = slot_make();
	char *mapped;
	int fd, mark;

	setenv("VPEER_AP_PCI", slot.sibling, 1);
	neighbour_bind();
	setenv("VPEER_AP_PCI", slot.own, 1);
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 7;
	mark = kmsg_mark();
	aer_inject("port-ap1 COMP_TIME");
	CHECK_EQ(kmsg_within(mark, "AER: device recovery successful", 10000), 1);
	close(mark);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	check_status("ok");
	munmap(mapped, GRANULE);
	check_new_window(fd, GRANULE);
	close(fd);
	slot_end(&slot);
}

/* A sibling without a driver ends the recovery: vpeer is not told, but can be attached again. */
TEST(recovery_fails, 120)
{
	struct slot slot = slot_make();
	uint32_t reason;
	int fd, mark;

	fd = aperture_open();
	mark = kmsg_mark();
	aer_inject("port-ap1 SDN");
	CHECK_EQ(kmsg_within(mark, "AER: device recovery failed", 10000), 1);
	close(mark);
	check_status("asleep");
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, &reason), EAGAIN);
	CHECK_EQ(reason, VPEER_REASON_ASLEEP);
	close(fd);
	CHECK_OK(control_detach(slot.own, NULL, NULL));
	CHECK_OK(control_attach(slot.own, VPEER_BAR_AUTO, 0, NULL));
	check_status("ok");
	fd = aperture_open();
	check_new_window(fd, 0);
	close(fd);
	slot_end(&slot);
}

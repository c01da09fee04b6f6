// SPDX-License-Identifier: GPL-2.0-only
/* The root port above the function reports errors (AER). */
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
#include "owned.h"

#define LAB	"/run/vpeer-lab/"

static void inject(const char *error)
{
	char command[128];

	if (access(LAB "monitor", X_OK))
		test_skip("no monitor of the lab in this guest");
	snprintf(command, sizeof(command),
		 LAB "monitor 'pcie_aer_inject_error %s' | grep -q '^OK'", error);
	CHECK_EQ(system(command), 0);
}

static unsigned int lines_within(int mark, const char *pattern, unsigned int milliseconds)
{
	int64_t end = test_now_ms() + milliseconds;
	unsigned int lines;

	while (!(lines = kmsg_count(mark, pattern, NULL, 0)) && test_now_ms() < end)
		test_sleep_ms(20);
	return lines;
}

/* The link is reset: the same as a reset, until resume(). */
TEST(fatal_error, 60)
{
	const volatile uint64_t *page;
	uint64_t generation;
	char *mapped;
	int fd, mark;

	own();
	fd = aperture_open();
	page = window_generations(fd);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 114);
	generation = page[window_info(fd, 0).slot];
	mark = kmsg_mark();
	inject("port-ap0 SDN");
	CHECK_EQ(lines_within(mark, "AER: device recovery successful", 10000), 1);
	close(mark);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK(page[window_info(fd, 0).slot] > generation);
	check_status("ok");
	check_new_window(fd, GRANULE);
	CHECK_OK(window_free(fd, 0));
	check_new_window(fd, 0);
	munmap(mapped, GRANULE);
	munmap((void *)page, 4096);
	close(fd);
}

TEST(fatal_error_under_traffic, 60)
{
	struct holder h;
	int mark, fd;

	own();
	holder_start(&h, 0, GRANULE, true);
	mark = kmsg_mark();
	module_parameter("revoke_wait_ms", 200);
	inject("port-ap0 SDN");
	CHECK_EQ(lines_within(mark, "AER: device recovery successful", 10000), 1);
	close(mark);
	module_parameter("revoke_wait_ms", 2000);
	check_status("ok");
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	holder_kill(&h);
	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 10000);
	fd = aperture_open();
	CHECK_WITHIN(!window_alloc_at(fd, 0, GRANULE, NULL), 10000);
	CHECK_OK(window_free(fd, 0));
	check_new_window(fd, 0);
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
	inject(error);
	CHECK_EQ(lines_within(mark, line, 10000), 1);
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

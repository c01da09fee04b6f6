// SPDX-License-Identifier: GPL-2.0-only
/*
 * The guest restarts in the middle of everything; its devices are reset and
 * their memory keeps what was in it. tests/guest/run comes back to this group
 * afterwards.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "harness.h"
#include "holder.h"
#include "memory.h"

#define SIZE	(2 * GRANULE)

static bool second_boot(void)
{
	const char *boot = getenv("VPEER_LAB_BOOT");

	return boot && atoi(boot) > 1;
}

static void restart_under_traffic(void)
{
	struct holder h;

	holder_start(&h, 0, SIZE, true);
	CHECK(aperture_stat("bytes_pinned") > 0);
	CHECK_OK(system("/run/vpeer-lab/reboot"));
	sleep(30);
	test_fail(__FILE__, __LINE__, "the guest did not restart");
}

TEST(restart_under_traffic, 60)
{
	char *memory = plain_memory(SIZE);

	if (!second_boot())
		restart_under_traffic();
	/* Control: the memory did outlive the guest. */
	owner_read(0, memory, SIZE);
	CHECK(!all_zero(memory, SIZE));
	check_next_owner(0, SIZE);
}

// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aperture.h"
#include "fail.h"
#include "harness.h"

#define PARAMETERS	"/sys/module/vpeer/parameters/"

static void run(const char *command)
{
	if (system(command))
		test_fail(__FILE__, __LINE__, "failed: %s", command);
}

void fail_load(void)
{
	const char *top = getenv("VPEER_TOP");
	char command[512];

	if (!access(PARAMETERS "fail_nth", F_OK))
		return;
	if (!top)
		test_skip("no vpeer.ko whose allocations fail: VPEER_TOP is not set");
	if (!access(PARAMETERS, F_OK))
		run("rmmod vpeer");
	snprintf(command, sizeof(command), "insmod %s/tests/fail_alloc/build/vpeer.ko", top);
	run(command);
	CHECK_WITHIN(!access("/dev/vpeerctl", F_OK), 5000);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

void fail_arm(unsigned int nth, unsigned int times)
{
	module_parameter("fail_times", times);
	module_parameter("fail_nth", nth);
}

/* A parameter's line, without its end. */
static void parameter(const char *path, char *text, size_t size)
{
	CHECK(sysfs_read(path, text, size));
	text[strcspn(text, "\n")] = '\0';
}

bool fail_disarm(char *what, size_t size)
{
	module_parameter("fail_nth", 0);
	parameter(PARAMETERS "fail_hit", what, size);
	return *what;
}

void fail_live(char *text, size_t size)
{
	parameter(PARAMETERS "fail_live", text, size);
}

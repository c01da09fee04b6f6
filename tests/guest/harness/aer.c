// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aer.h"
#include "harness.h"

#define LAB	"/run/vpeer-lab/"

void aer_inject(const char *error)
{
	char command[128];

	if (access(LAB "monitor", X_OK))
		test_skip("no monitor of the lab in this guest");
	snprintf(command, sizeof(command),
		 LAB "monitor 'pcie_aer_inject_error %s' | grep -q '^OK'", error);
	CHECK_EQ(system(command), 0);
}

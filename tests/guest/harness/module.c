// SPDX-License-Identifier: GPL-2.0-only
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "module.h"

#define APERTURES	16

static char attached[APERTURES][16];
static size_t count;

void module_unload(void)
{
	glob_t found;

	count = 0;
	if (!glob("/sys/class/vpeer/*/device", 0, NULL, &found)) {
		for (size_t i = 0; i < found.gl_pathc && count < APERTURES; i++) {
			char path[4096] = "";
			ssize_t length = readlink(found.gl_pathv[i], path, sizeof(path) - 1);
			const char *name = strrchr(path, '/');

			CHECK_OK(length);
			CHECK(name);
			snprintf(attached[count++], sizeof(attached[0]), "%.15s", name + 1);
		}
		globfree(&found);
	}
	CHECK_EQ(system("rmmod vpeer"), 0);
}

void module_load(void)
{
	CHECK_EQ(system("modprobe vpeer"), 0);
	CHECK_WITHIN(!access("/dev/vpeerctl", F_OK), 5000);
	for (size_t i = 0; i < count; i++)
		if (!pci_bound(attached[i]))
			CHECK_OK(control_attach(attached[i], VPEER_BAR_AUTO, 0, NULL));
}

// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "vrnic.h"

#define DRIVER	"/sys/bus/pci/drivers/vrnic_ib/"

/* Until the next call. */
static const char *word_of(const char *variable, unsigned int number)
{
	static char text[512];
	const char *all = getenv(variable) ?: "";
	char *rest = text, *word;

	snprintf(text, sizeof(text), "%s", all);
	while ((word = strsep(&rest, " ")))
		if (*word && !number--)
			return word;
	test_skip("not so many vrnic: %s is '%s'", variable, all);
}

const char *vrnic_device(unsigned int number)
{
	return word_of("VPEER_VRNIC_DEVICES", number);
}

const char *vrnic_pci(unsigned int number)
{
	return word_of("VPEER_VRNIC_ALL", number);
}

void vrnic_dmabuf_mode(const char *mode)
{
	char path[160];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver/module/parameters/dmabuf_mode",
		 vrnic_pci(0));
	if (!sysfs_write(path, mode))
		test_fail(__FILE__, __LINE__, "vrnic takes no dmabuf_mode '%s'", mode);
}

static bool kernel_has(const char *function)
{
	char command[128];

	snprintf(command, sizeof(command), "grep -q ' %s\\b' /proc/kallsyms", function);
	return !system(command);
}

bool vrnic_can_revoke(void)
{
	static int can = -1;

	if (can < 0)
		can = kernel_has("ib_umem_dmabuf_get_pinned_revocable_and_lock");
	return can;
}

bool vrnic_is_told(const char *mode)
{
	return strcmp(mode, "pinned");
}

void vrnic_unbind(unsigned int number)
{
	CHECK(sysfs_write(DRIVER "unbind", vrnic_pci(number)));
}

bool vrnic_bind(unsigned int number)
{
	return sysfs_write(DRIVER "bind", vrnic_pci(number));
}

void vrnic_wait(unsigned int number)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s", vrnic_device(number));
	CHECK_WITHIN(!access(path, F_OK), 10000);
}

void vrnic_bind_again(unsigned int number)
{
	vrnic_unbind(number);
	CHECK(vrnic_bind(number));
	vrnic_wait(number);
}

void vrnic_segments(uint32_t bytes)
{
	char path[160], text[16];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver/module/parameters/max_segment",
		 vrnic_pci(0));
	snprintf(text, sizeof(text), "%u", bytes ? bytes : UINT32_MAX);
	CHECK(sysfs_write(path, text));
	vrnic_bind_again(0);
}

void vrnic_load(const char *module, const char *node)
{
	const char *modules = getenv("VPEER_VRNIC_MODULES");
	char command[512];

	if (!access(node, F_OK))
		return;
	if (!modules)
		test_skip("no %s.ko: VPEER_VRNIC_MODULES is not set", module);
	snprintf(command, sizeof(command), "insmod %s/%s.ko", modules, module);
	CHECK_EQ(system(command), 0);
	CHECK_WITHIN(!access(node, F_OK), 5000);
}

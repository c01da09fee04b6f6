// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <stdlib.h>

#include "aperture.h"
#include "harness.h"
#include "vrnic.h"

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
	if (!sysfs_write("/sys/module/vrnic/parameters/dmabuf_mode", mode))
		test_fail(__FILE__, __LINE__, "vrnic takes no dmabuf_mode '%s'", mode);
}

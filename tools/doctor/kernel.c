// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether this kernel can do what peer DMA needs, by its release and kind. */
#include <stdio.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

#define RELEASE(major, minor)	((major) << 16 | (minor))
#define DMABUF_MRS		RELEASE(5, 12)
#define MODULE_BUILDS		RELEASE(5, 17)

static unsigned int number_of(const char *release)
{
	unsigned int major, minor;

	if (sscanf(release, "%u.%u", &major, &minor) != 2 || major > 255)
		return 0;
	return RELEASE(major, minor & 0xffff);
}

/* Why vpeer.ko cannot be built for it, or NULL. */
static const char *refuses_module(struct findings *all, const struct site *site)
{
	char arch[64], preempt[16];

	if (!site_text(site, arch, sizeof(arch), "proc/sys/kernel/arch") &&
	    strcmp(arch, "x86_64")) {
		site_saw(all, site, "proc/sys/kernel/arch");
		return "vpeer.ko is for x86-64 only";
	}
	if (!site_text(site, preempt, sizeof(preempt), "sys/kernel/realtime") &&
	    preempt[0] == '1') {
		site_saw(all, site, "sys/kernel/realtime");
		return "vpeer.ko cannot be built for PREEMPT_RT, which has no huge pages";
	}
	if (number_of(site->release) < MODULE_BUILDS)
		return "vpeer.ko needs Linux 5.17";
	return NULL;
}

void check_kernel(struct findings *all, const struct site *site)
{
	char pci[VPEER_PCI_LEN];
	const char *why;

	finding_add(all, "kernel", "machine");
	site_saw(all, site, "proc/sys/kernel/osrelease");
	if (!number_of(site->release)) {
		finding_says(all, STATE_UNKNOWN, "the kernel does not tell its release");
		return;
	}
	why = refuses_module(all, site);
	if (!why || !site_needs_module(site, pci)) {
		finding_says(all, STATE_OK, "Linux %s%s", site->release,
			     number_of(site->release) < DMABUF_MRS ?
			     ": registers DMA-bufs only if that was backported" : "");
		return;
	}
	finding_says(all, STATE_FAIL, "Linux %s: %s, and no driver of %s exports its memory",
		     site->release, why, pci);
	finding_remedy(all, job_guest, "boot a kernel of 5.17 or later, x86-64, without "
		       "PREEMPT_RT, or bind a driver that exports DMA-bufs");
}

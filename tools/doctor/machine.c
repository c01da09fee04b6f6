// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the machine is, as far as the checks of functions and of the host tell machines apart. */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "device.h"
#include "guest.h"

struct kind {
	const char *name;
	enum vmm vmm;
};

/* Clouds come first: what the CPU says of them is that they are KVM. */
static const struct kind by_firmware[] = {
	{ "Amazon EC2", VMM_AMAZON }, { "Google Compute Engine", VMM_GOOGLE },
	{ "QEMU", VMM_KVM },	      { "KVM", VMM_KVM },
	{ "Cloud Hypervisor", VMM_KVM }, { "VMware", VMM_VMWARE },
	{ "Hyper-V", VMM_HYPERV },    { "Azure", VMM_HYPERV },
};

static const struct kind by_cpu[] = {
	{ "KVMKVMKVM", VMM_KVM },	{ "Linux KVM Hv", VMM_KVM },
	{ "TCGTCGTCGTCG", VMM_KVM },	{ "Microsoft Hv", VMM_HYPERV },
	{ "VMwareVMware", VMM_VMWARE },
};

static enum vmm look_up(const struct kind *kinds, size_t count, const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(kinds[i].name, name))
			return kinds[i].vmm;
	return VMM_OTHER;
}

enum vmm site_vmm(const struct site *site)
{
	const char *name = firmware_hypervisor(site);
	enum vmm firmware = name ? look_up(by_firmware, ARRAY_SIZE(by_firmware), name) : VMM_NONE;

	/* Amazon's machines of one's own have the same words in their tables. */
	if (firmware == VMM_AMAZON && site->hypervisor_err == -ENODATA)
		return VMM_NONE;
	if (firmware == VMM_AMAZON || firmware == VMM_GOOGLE || site->hypervisor_err)
		return firmware;
	return look_up(by_cpu, ARRAY_SIZE(by_cpu), site->hypervisor);
}

bool machine_is_guest(const struct site *site)
{
	return site->vmm != VMM_NONE;
}

bool machine_shows_functions(const struct site *site)
{
	return site->vmm == VMM_KVM;
}

size_t machine_nodes(const struct site *site)
{
	size_t count, nodes = 0;
	char **names;

	count = site_names(site, &names, "sys/devices/system/node");
	for (size_t i = 0; i < count; i++)
		nodes += !strncmp(names[i], "node", 4) && isdigit((unsigned char)names[i][4]);
	site_names_free(names, count);
	return nodes;
}

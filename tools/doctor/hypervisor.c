// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What this machine runs on, and whether that is hidden from drivers. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

static const struct {
	const char *vendor;	/* of CPUID leaf 0x40000000 */
	const char *name;
} hypervisors[] = {
	{ "KVMKVMKVM", "KVM" },		   { "Linux KVM Hv", "KVM with Hyper-V's interface" },
	{ "TCGTCGTCGTCG", "QEMU's TCG" },  { "Microsoft Hv", "Hyper-V" },
	{ "VMwareVMware", "VMware" },	   { "XenVMMXenVMM", "Xen" },
};

/* What firmware tables say of machines that are virtual. */
static const struct {
	const char *text;
	const char *name;
} products[] = {
	{ "QEMU", "QEMU" },
	{ "KVM", "KVM" },
	{ "Amazon EC2", "Amazon EC2" },
	{ "Google", "Google Compute Engine" },
	{ "VMware", "VMware" },
	{ "Virtual Machine", "Hyper-V" },
	{ "Cloud Hypervisor", "Cloud Hypervisor" },
};

static const char *name_of(const char *vendor)
{
	for (size_t i = 0; i < ARRAY_SIZE(hypervisors); i++)
		if (!strcmp(hypervisors[i].vendor, vendor))
			return hypervisors[i].name;
	return vendor;
}

const char *firmware_hypervisor(const struct site *site, const char **file)
{
	static const char *const files[] = { "sys_vendor", "product_name" };
	char text[128];

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		if (site_text(site, text, sizeof(text), "sys/class/dmi/id/%s", files[i]))
			continue;
		*file = files[i];
		for (size_t j = 0; j < ARRAY_SIZE(products); j++)
			if (strstr(text, products[j].text) && !strstr(text, "metal"))
				return products[j].name;
	}
	return NULL;
}

static void say_without_cpu(struct findings *all, const struct site *site)
{
	const char *file = "sys_vendor", *name = firmware_hypervisor(site, &file);

	site_saw(all, site, "sys/class/dmi/id/%s", file);
	if (!name) {
		finding_says(all, STATE_OK, "no hypervisor shows: this is no guest, or one that "
			     "nothing tells from a machine of its own");
		return;
	}
	if (site->hypervisor_err != -ENODATA) {
		finding_says(all, STATE_OK, "a guest of %s", name);
		return;
	}
	finding_says(all, STATE_WARN, "the firmware says %s, the CPU hides the hypervisor: "
		     "NVIDIA's driver honours no P2P clique then", name);
	finding_remedy(all, job_vm, "QEMU: -cpu without kvm=off and -hypervisor; libvirt: no "
		       "<kvm><hidden state='on'/></kvm>");
}

void check_hypervisor(struct findings *all, const struct site *site)
{
	finding_add(all, "hypervisor", "machine");
	finding_saw(all, site->hypervisor_err ? strerror(-site->hypervisor_err) :
						   site->hypervisor,
		    "CPUID leaf 0x40000000");
	if (site->hypervisor_err)
		say_without_cpu(all, site);
	else
		finding_says(all, STATE_OK, "a guest of %s", name_of(site->hypervisor));
}

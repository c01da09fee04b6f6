// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What this machine runs on, and whether that is hidden from drivers. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

#define OEM_ID_OFFSET	10	/* in an ACPI table */

static const struct {
	const char *vendor;	/* of CPUID leaf 0x40000000 */
	const char *name;
} hypervisors[] = {
	{ "KVMKVMKVM", "KVM" },		  { "Linux KVM Hv", "KVM with Hyper-V's interface" },
	{ "TCGTCGTCGTCG", "QEMU's TCG" }, { "Microsoft Hv", "Hyper-V" },
	{ "VMwareVMware", "VMware" },	  { "XenVMMXenVMM", "Xen" },
	{ "bhyve bhyve ", "bhyve" },	  { "ACRNACRNACRN", "ACRN" },
	{ "SRESRESRESRE", "Lockheed Martin's SRE" },
};

/* What firmware tables say of machines that are virtual. */
static const char shown_by_qemu[] =
	"QEMU: -cpu without kvm=off and -hypervisor; libvirt: no <kvm><hidden state='on'/></kvm>";

static const struct platform {
	const char *file;
	const char *text;
	const char *name;
	const char *shows;	/* what has it show itself; NULL: without, it is a machine */
} platforms[] = {
	{ "chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "Azure", NULL },
	{ "sys_vendor", "Amazon EC2", "Amazon EC2", NULL },
	{ "sys_vendor", "Google", "Google Compute Engine", NULL },
	{ "sys_vendor", "Cloud Hypervisor", "Cloud Hypervisor", "a current Cloud Hypervisor" },
	{ "sys_vendor", "VMware", "VMware",
	  "the virtual machine's settings without hypervisor.cpuid.v0 = \"FALSE\"" },
	{ "sys_vendor", "Xen", "Xen", NULL },
	{ "sys_vendor", "QEMU", "QEMU", shown_by_qemu },
	{ "product_name", "KVM", "KVM", shown_by_qemu },
	{ "product_name", "Virtual Machine", "Hyper-V", NULL },
};

/* ... and, for those who may read them, ACPI's. */
static const struct {
	const char *oem;
	const char *name;
} tables[] = {
	{ "FIRECK", "Firecracker" },
	{ "CLOUDH", "Cloud Hypervisor" },
};

static const char *name_of(const char *vendor)
{
	for (size_t i = 0; i < ARRAY_SIZE(hypervisors); i++)
		if (!strcmp(hypervisors[i].vendor, vendor))
			return hypervisors[i].name;
	return vendor[0] ? vendor : "a hypervisor without a name";
}

/* NULL where firmware's tables name none, or cannot be read. */
static const struct platform *by_firmware(const struct site *site)
{
	char text[128];

	for (size_t i = 0; i < ARRAY_SIZE(platforms); i++)
		if (!site_text(site, text, sizeof(text), "sys/class/dmi/id/%s",
			       platforms[i].file) &&
		    strstr(text, platforms[i].text))
			return &platforms[i];
	return NULL;
}

const char *firmware_hypervisor(const struct site *site)
{
	const struct platform *platform = by_firmware(site);

	return platform ? platform->name : NULL;
}

static const char *by_acpi(const struct site *site)
{
	char table[64] = "";

	if (site_text(site, table, sizeof(table), "sys/firmware/acpi/tables/DSDT"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
		if (!memcmp(table + OEM_ID_OFFSET, tables[i].oem, strlen(tables[i].oem)))
			return tables[i].name;
	return NULL;
}

/* Where no CPUID tells, as on arm64, clouds name their machines so. */
static bool is_metal(const struct site *site)
{
	char text[128];

	return site->hypervisor_err == -ENODATA ||
	       (!site_text(site, text, sizeof(text), "sys/class/dmi/id/product_name") &&
		strstr(text, "metal"));
}

static void say_without_cpu(struct findings *all, const struct site *site,
			    const struct platform *platform)
{
	bool hidden = platform && platform->shows && site->hypervisor_err == -ENODATA;

	if (!platform)
		finding_says(all, STATE_OK, "no hypervisor shows: this is no guest, or one that "
			     "nothing tells from a machine of its own");
	else if (hidden && site_has_nvidia(site))
		finding_says(all, STATE_WARN, "the firmware says %s, the CPU hides the hypervisor: "
			     "NVIDIA's driver honours no P2P clique then", platform->name);
	else if (hidden)
		finding_says(all, STATE_OK, "a guest of %s, which the CPU hides", platform->name);
	else if (is_metal(site))
		finding_says(all, STATE_OK, "%s without a hypervisor", platform->name);
	else
		finding_says(all, STATE_OK, "a guest of %s", platform->name);
	if (hidden && site_has_nvidia(site))
		finding_remedy(all, job_vm, "%s", platform->shows);
}

void check_hypervisor(struct findings *all, const struct site *site)
{
	const struct platform *platform = by_firmware(site);
	const char *acpi = by_acpi(site), *where = acpi;

	finding_add(all, "hypervisor", "machine");
	finding_saw(all, site->hypervisor_err ? strerror(-site->hypervisor_err) :
						site->hypervisor,
		    "CPUID leaf 0x40000000");
	if (platform || site->hypervisor_err)
		site_saw(all, site, "sys/class/dmi/id/%s",
			 platform ? platform->file : "sys_vendor");
	if (site->hypervisor_err) {
		say_without_cpu(all, site, platform);
		return;
	}
	if (!where && platform)
		where = platform->name;
	if (where && strcmp(where, name_of(site->hypervisor)))
		finding_says(all, STATE_OK, "a guest of %s (%s)", name_of(site->hypervisor), where);
	else
		finding_says(all, STATE_OK, "a guest of %s", name_of(site->hypervisor));
}

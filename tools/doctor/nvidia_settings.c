// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings of NVIDIA's driver that take peer DMA away, or pretend it. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "driver.h"

#define PARAMS	"proc/driver/nvidia/params"

/* By NAME: VALUE in the file, or NAME=VALUE in its RegistryDwords. */
static const struct setting {
	const char *name;
	const char *meaning;
	unsigned long bad;
	enum state state;
	bool registry;
	bool any_but;		/* all values but @bad are bad */
} settings[] = {
	{ "DmaRemapPeerMmio",
	  "peers get raw addresses of the BAR: where an IOMMU translates, their DMA is lost",
	  0, STATE_WARN, false, false },
	{ "GrdmaPciTopoCheckOverride",
	  "the driver refuses GPUDirect RDMA to all devices (errno 524)",
	  2, STATE_FAIL, false, false },
	{ "ForceP2P",
	  "P2P between GPUs is forced: CUDA says that GPUs reach one another, even where data goes "
	  "nowhere", 0, STATE_WARN, true, true },
	{ "RMForceStaticBar1",
	  "all GPU memory is mapped in BAR1 for good: there may be no room for other mappings",
	  1, STATE_WARN, true, false },
};

/* @text from the value on; NULL when the setting is not there. */
static const char *find_value(const char *text, const struct setting *setting)
{
	size_t length = strlen(setting->name);
	const char *at = text;

	while ((at = strstr(at, setting->name))) {
		bool begins = at == text || strchr(setting->registry ? "\";, " : "\n", at[-1]);

		at += length;
		if (begins && *at == (setting->registry ? '=' : ':'))
			return at + 1;
	}
	return NULL;
}

static bool is_bad(const char *text, const struct setting *setting, unsigned long *value)
{
	const char *at = find_value(text, setting);
	char *end;

	if (!at)
		return false;
	*value = strtoul(at, &end, 0);
	return end != at && (*value == setting->bad) != setting->any_but;
}

static bool judge(struct findings *all, const char *text, const struct setting *setting)
{
	unsigned long value;
	char shown[32];

	if (!is_bad(text, setting, &value))
		return false;
	finding_add(all, "nvidia-settings", "machine");
	if (setting->any_but)
		text_format(shown, sizeof(shown), "0x%lx", value);
	else
		text_format(shown, sizeof(shown), "%lu", value);
	finding_saw(all, shown, "/" PARAMS ": %s%s", setting->registry ? "RegistryDwords: " : "",
		    setting->name);
	finding_says(all, setting->state, "%s is %s: %s", setting->name, shown, setting->meaning);
	finding_remedy(all, job_guest, "take %s%s out of /etc/modprobe.d, make the initramfs anew, "
		       "and load nvidia again", setting->registry ? "" : "NVreg_", setting->name);
	return true;
}

void check_nvidia_settings(struct findings *all, const struct site *site)
{
	bool found = false;
	char text[16384];

	if (site_text(site, text, sizeof(text), PARAMS))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(settings); i++)
		found |= judge(all, text, &settings[i]);
	if (found)
		return;
	finding_add(all, "nvidia-settings", "machine");
	finding_saw(all, "none of those that are known to harm", "/" PARAMS);
	finding_says(all, STATE_OK, "no setting of NVIDIA's driver takes peer DMA away");
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Words of the kernel's command line that are in the way of peer DMA. */
#include <string.h>

#include "../util.h"
#include "guest.h"

static const struct word {
	const char *option;
	const char *value;	/* one of those that commas separate; NULL: without or with any */
	enum state state;
	const char *meaning;
} words[] = {
	{ "pci", "noats", STATE_WARN,
	  "Linux does not enable ATS: where it is Linux that does, peer requests go by the root "
	  "complex" },
	{ "pci", "nommconf", STATE_WARN,
	  "extended configuration space is out of reach: ATS, ACS and AER are not seen" },
	{ "pci", "nomsi", STATE_FAIL, "RDMA and GPU drivers need MSI-X" },
	{ "pci", "nobar", STATE_FAIL, "BARs that the firmware left without an address keep none" },
	{ "pci", "off", STATE_FAIL, "there is no PCI" },
	{ "nopat", NULL, STATE_WARN,
	  "without PAT nothing is write-combining: CPUs reach BARs uncached, many times slower" },
};

static void say_word(struct findings *all, enum state state, const char *word,
		     const char *meaning)
{
	finding_add(all, "kernel-command-line", "machine");
	finding_saw(all, word, "/proc/cmdline");
	finding_says(all, state, "%s: %s", word, meaning);
	finding_remedy(all, job_guest, "take %s out of GRUB_CMDLINE_LINUX in /etc/default/grub (or "
		       "the boot loader's entry), update-grub, reboot", word);
}

/* Whether "NAME=...,WORD,..." is there; all that have the name count. */
static bool lists(const struct site *site, const char *name, const char *word)
{
	char text[sizeof(site->cmdline)], *rest = text, *each, *part;
	size_t length = strlen(name);

	text_format(text, sizeof(text), "%s", site->cmdline);
	while ((each = strsep(&rest, " \t\n"))) {
		if (strncmp(each, name, length) || each[length] != '=')
			continue;
		each += length + 1;
		while ((part = strsep(&each, ",")))
			if (!strcmp(part, word))
				return true;
	}
	return false;
}

static bool stands(const struct site *site, const struct word *word)
{
	char value[64];

	return word->value ? lists(site, word->option, word->value) :
			     site_option(site, word->option, value, sizeof(value));
}

static size_t find_words(struct findings *all, const struct site *site)
{
	char text[64];
	size_t found = 0;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (!stands(site, &words[i]))
			continue;
		text_format(text, sizeof(text), "%s%s%s", words[i].option,
			    words[i].value ? "=" : "", words[i].value ? words[i].value : "");
		say_word(all, words[i].state, text, words[i].meaning);
		found++;
	}
	return found;
}

/* DMA of every initiator goes through an IOMMU of the guest. */
static bool translated(const struct site *site)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (site_is_initiator(site, function) &&
		    (!function->group.known || strncmp(function->group.type, "DMA", 3)))
			return false;
	}
	return true;
}

static size_t find_bouncing(struct findings *all, const struct site *site)
{
	if (!lists(site, "swiotlb", "force"))
		return 0;
	if (translated(site))
		say_word(all, STATE_WARN, "swiotlb=force", "DMA of a function that no IOMMU "
			 "translates is bounced; each initiator's is translated at present");
	else
		say_word(all, STATE_FAIL, "swiotlb=force", "all DMA is bounced through host "
			 "memory: a peer is never reached, and vpeer refuses");
	return 1;
}

/* Without one a driver's DMA cannot be cut off; a guest that was given none lacks nothing. */
static size_t find_iommu_off(struct findings *all, const struct site *site)
{
	static const char *const names[] = { "iommu", "intel_iommu", "amd_iommu" };
	char word[32];

	if (!site_has(site, "sys/firmware/acpi/tables/DMAR") &&
	    !site_has(site, "sys/firmware/acpi/tables/IVRS"))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!lists(site, names[i], "off"))
			continue;
		text_format(word, sizeof(word), "%s=off", names[i]);
		say_word(all, STATE_WARN, word, "the IOMMU that is there is not used: memory that "
			 "was taken back is not guarded against a device that uses it on");
		return 1;
	}
	return 0;
}

static size_t find_blocked(struct findings *all, const struct site *site)
{
	static const char *const drivers[] = {
		"nvidia", "amdgpu", "mlx5_core", "mlx5_ib", "ib_uverbs", "ib_core", "efa",
		"mana_ib", "irdma", "bnxt_re", "nvme",
	};
	char meaning[160], word[64], pci[VPEER_PCI_LEN];
	size_t found = 0;

	if (lists(site, "module_blacklist", "vpeer") ||
	    lists(site, "initcall_blacklist", "vpeer_init")) {
		say_word(all, site_needs_module(site, pci) ? STATE_FAIL : STATE_WARN,
			 lists(site, "module_blacklist", "vpeer") ? "module_blacklist=vpeer" :
								  "initcall_blacklist=vpeer_init",
			 "the kernel refuses to load vpeer.ko");
		found++;
	}
	if (!site_has_peers(site))
		return found;
	if (site_option(site, "nomodule", word, sizeof(word))) {
		say_word(all, STATE_FAIL, "nomodule", "the kernel loads no module, and so no "
			 "driver of RDMA devices and GPUs");
		found++;
	}
	for (size_t i = 0; i < ARRAY_SIZE(drivers); i++) {
		if (!lists(site, "module_blacklist", drivers[i]))
			continue;
		text_format(word, sizeof(word), "module_blacklist=%s", drivers[i]);
		text_format(meaning, sizeof(meaning), "the kernel refuses to load %s: its devices "
			    "have no driver", drivers[i]);
		say_word(all, STATE_FAIL, word, meaning);
		found++;
	}
	return found;
}

void check_command_line(struct findings *all, const struct site *site)
{
	size_t found;

	if (site->cmdline_err) {
		finding_add(all, "kernel-command-line", "machine");
		finding_saw(all, strerror(-site->cmdline_err), "/proc/cmdline");
		finding_says(all, STATE_UNKNOWN, "the kernel's command line cannot be read: is "
			     "/proc mounted?");
		return;
	}
	found = find_words(all, site);
	found += find_bouncing(all, site);
	found += find_iommu_off(all, site);
	found += find_blocked(all, site);
	if (found)
		return;
	finding_add(all, "kernel-command-line", "machine");
	site_saw(all, site, "proc/cmdline");
	finding_says(all, STATE_OK, "no word that is in the way of peer DMA");
}

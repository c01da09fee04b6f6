// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* vpeer.ko: loaded, or what is in the way of it. */
#include <errno.h>
#include <string.h>

#include "../module.h"
#include "../util.h"
#include "guest.h"

/* What is known of it. */
struct knowledge {
	bool needed;
	char pci[VPEER_PCI_LEN];	/* what needs it */
	struct site_module file;
	int file_err;
	struct module_facts facts;
};

static enum state bad(const struct knowledge *known)
{
	return known->needed ? STATE_FAIL : STATE_WARN;
}

/* In the words of a load that failed. */
static void say_refused(struct findings *all, struct knowledge *known, int err)
{
	struct vpeer_error error;

	vpeer_error_clear(&error);
	known->facts.err = err;
	known->facts.found = !known->file_err;
	module_diagnose(&known->facts, &error);
	finding_says(all, bad(known), "vpeer.ko is %s", error.message);
	finding_remedy(all, job_guest, "%s", error.remedy);
}

static void look_around(struct findings *all, const struct site *site, struct knowledge *known)
{
	struct module_facts *facts = &known->facts;
	char text[128];

	known->needed = site_needs_module(site, known->pci);
	known->file_err = site->place->calls->module_file(site->place->data, "vpeer",
							  &known->file);
	text_format(facts->release, sizeof(facts->release), "%s", site->release);
	text_format(facts->vermagic, sizeof(facts->vermagic), "%s", known->file.vermagic);
	facts->root = true;
	if (!site_text(site, text, sizeof(text), "sys/kernel/security/lockdown"))
		module_parse_lockdown(text, facts->lockdown, sizeof(facts->lockdown));
	if (!site_text(site, text, sizeof(text), "sys/module/module/parameters/sig_enforce"))
		facts->sig_enforce = text[0] == 'Y';
	finding_saw(all, known->file_err ? strerror(-known->file_err) : known->file.path,
		    "modprobe's vpeer");
}

/* "install vpeer COMMAND" or "blacklist vpeer"; the file that says so. */
static bool configured(const struct site *site, const char *keyword, char *file, size_t size)
{
	static const char *const places[] = { "etc/modprobe.d", "run/modprobe.d",
					      "usr/lib/modprobe.d", "lib/modprobe.d" };
	char text[4096], line[64], **names;
	bool found = false;

	text_format(line, sizeof(line), "%s vpeer", keyword);
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		size_t count = site_names(site, &names, "%s", places[i]);

		for (size_t j = 0; j < count && !found; j++) {
			const char *at;

			if (site_text(site, text, sizeof(text), "%s/%s", places[i], names[j]))
				continue;
			at = strstr(text, line);
			found = at && (at == text || at[-1] == '\n') &&
				strchr(" \t\n", at[strlen(line)]);
			text_format(file, size, "/%s/%s", places[i], names[j]);
		}
		site_names_free(names, count);
	}
	return found;
}

static bool built_elsewhere(const struct knowledge *known)
{
	const struct module_facts *facts = &known->facts;
	size_t length = strcspn(facts->vermagic, " ");

	return length && (strlen(facts->release) != length ||
			  strncmp(facts->vermagic, facts->release, length));
}

static bool must_be_signed(const struct knowledge *known)
{
	return known->facts.sig_enforce ||
	       (known->facts.lockdown[0] && strcmp(known->facts.lockdown, "none"));
}

static void say_unsigned(struct findings *all, const struct site *site, struct knowledge *known)
{
	finding_saw(all, "no signature", "%s", known->file.path);
	site_saw(all, site, known->facts.sig_enforce ? "sys/module/module/parameters/sig_enforce" :
						       "sys/kernel/security/lockdown");
	say_refused(all, known, EKEYREJECTED);
}

/* A module that is there, and not loaded. */
static void say_of_file(struct findings *all, const struct site *site, struct knowledge *known)
{
	uint64_t disabled;
	char file[256];

	if (built_elsewhere(known)) {
		finding_saw(all, known->file.vermagic, "vermagic of %s", known->file.path);
		say_refused(all, known, ENOEXEC);
	} else if (!known->file.signer[0] && must_be_signed(known)) {
		say_unsigned(all, site, known);
	} else if (!site_number(site, &disabled, "proc/sys/kernel/modules_disabled") && disabled) {
		site_saw(all, site, "proc/sys/kernel/modules_disabled");
		finding_says(all, bad(known), "vpeer.ko is there and not loaded, and the kernel "
			     "loads no more modules until the next boot");
		finding_remedy(all, job_guest, "name vpeer in /etc/modules-load.d/vpeer.conf, or "
			       "take kernel.modules_disabled out of /etc/sysctl.d, and reboot");
	} else if (configured(site, "install", file, sizeof(file))) {
		finding_saw(all, "install vpeer", "%s", file);
		finding_says(all, bad(known), "modprobe runs a command instead of loading "
			     "vpeer.ko");
		finding_remedy(all, job_guest, "take 'install vpeer' out of %s", file);
	} else if (configured(site, "blacklist", file, sizeof(file))) {
		finding_saw(all, "blacklist vpeer", "%s", file);
		finding_says(all, STATE_WARN, "vpeer.ko is not loaded at boot, since it is "
			     "blacklisted");
		finding_remedy(all, job_guest, "take 'blacklist vpeer' out of %s", file);
	} else {
		finding_says(all, STATE_OK, "vpeer.ko %s is there and not loaded: 'vpeer attach' "
			     "loads it", known->file.version);
	}
}

static void say_missing(struct findings *all, const struct site *site, struct knowledge *known)
{
	bool dkms = site_has(site, "var/lib/dkms/vpeer");

	if (dkms)
		finding_saw(all, "there", "/var/lib/dkms/vpeer");
	if (known->needed || dkms) {
		if (known->needed)
			finding_saw(all, "no driver exports its memory",
				    "/sys/bus/pci/devices/%s", known->pci);
		say_refused(all, known, ENOENT);
	} else if (site_has_peers(site)) {
		finding_says(all, STATE_OK, "not installed; not needed where each initiator "
			     "imports the DMA-bufs of the GPU's driver");
	} else {
		finding_says(all, STATE_OK, "not installed; there is nothing here that it would "
			     "serve");
	}
}

static void say_loaded(struct findings *all, const struct site *site)
{
	char version[64] = "";

	site_saw(all, site, "sys/module/vpeer/version");
	if (site_text(site, version, sizeof(version), "sys/module/vpeer/version")) {
		finding_says(all, STATE_OK, "vpeer.ko is loaded");
	} else if (strcmp(version, TOOL_VERSION)) {
		finding_says(all, STATE_WARN, "vpeer.ko %s is loaded, this is vpeer %s: they may "
			     "not know each other's reasons", version, TOOL_VERSION);
		finding_remedy(all, job_guest, "install the same version of vpeer-dkms and "
			       "vpeer-tools; then 'vpeer detach' all, 'modprobe -r vpeer', "
			       "'modprobe vpeer'");
	} else {
		finding_says(all, STATE_OK, "vpeer.ko %s is loaded", version);
	}
}

void check_module(struct findings *all, const struct site *site)
{
	struct knowledge known = { 0 };

	finding_add(all, "module", "vpeer");
	if (site_has(site, "sys/module/vpeer")) {
		say_loaded(all, site);
		return;
	}
	look_around(all, site, &known);
	if (known.file_err)
		say_missing(all, site, &known);
	else
		say_of_file(all, site, &known);
}

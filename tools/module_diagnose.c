// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "module.h"
#include "util.h"

#define MODULE	"module vpeer"

static bool other_kernel(const struct module_facts *facts)
{
	size_t length = strcspn(facts->vermagic, " ");

	return length && (strlen(facts->release) != length ||
			  strncmp(facts->vermagic, facts->release, length));
}

static bool locked_down(const struct module_facts *facts)
{
	return facts->lockdown[0] && strcmp(facts->lockdown, "none");
}

static int refuse_signature(const struct module_facts *facts, struct vpeer_error *error)
{
	const char *why = facts->sig_enforce   ? "module signatures are enforced" :
			  locked_down(facts) ? "kernel lockdown is on" :
					       "the kernel checks module signatures";

	return vpeer_fail(error, facts->err, VPEER_REASON_NONE, MODULE,
			  "sign it with kmodsign or the kernel's scripts/sign-file and enrol the "
			  "key by 'mokutil --import KEY.der' and a reboot; DKMS signs with "
			  "/var/lib/dkms/mok.key, so 'mokutil --import /var/lib/dkms/mok.pub'",
			  "not loaded: %s and the file is %s", why,
			  facts->err == EKEYREJECTED ? "unsigned or its signature is invalid" :
						       "not signed by an enrolled key");
}

static int refuse_kernel(const struct module_facts *facts, struct vpeer_error *error)
{
	char remedy[256];

	text_format(remedy, sizeof(remedy), "rebuild it by 'dkms autoinstall -k %s'",
		    facts->release);
	return vpeer_fail(error, facts->err, VPEER_REASON_NONE, MODULE, remedy,
			  "not loaded: the file was built for kernel %.*s, this is kernel %s",
			  (int)strcspn(facts->vermagic, " "), facts->vermagic, facts->release);
}

static int refuse_missing(const struct module_facts *facts, struct vpeer_error *error)
{
	char remedy[384];

	text_format(remedy, sizeof(remedy),
		    "install linux-headers-%s, then in the source 'make && make install-module', "
		    "or 'dkms install vpeer/%s -k %s'",
		    facts->release, TOOL_VERSION, facts->release);
	return vpeer_fail(error, ENOENT, VPEER_REASON_NONE, MODULE, remedy,
			  "not loaded: there is no vpeer.ko for kernel %s", facts->release);
}

static int refuse_symbols(const struct module_facts *facts, struct vpeer_error *error)
{
	return vpeer_fail(error, facts->err, VPEER_REASON_NONE, MODULE,
			  "rebuild it for this kernel; 'dmesg | grep vpeer' names the symbols",
			  "not loaded: the kernel lacks symbols it needs: %s",
			  facts->missing[0] ? facts->missing : "(not readable from the log)");
}

static int refuse_permission(const struct module_facts *facts, struct vpeer_error *error)
{
	if (!facts->root)
		return vpeer_fail(error, facts->err, VPEER_REASON_NONE, MODULE,
				  "run 'sudo modprobe vpeer', or this command as root",
				  "not loaded: only root may load a module");
	if (locked_down(facts))
		return refuse_signature(facts, error);
	return vpeer_fail(error, facts->err, VPEER_REASON_NONE, MODULE,
			  "load it outside of the container; see /proc/sys/kernel/modules_disabled",
			  "not loaded: this process may not load modules");
}

int module_diagnose(const struct module_facts *facts, struct vpeer_error *error)
{
	if (!facts->found)
		return refuse_missing(facts, error);
	switch (facts->err) {
	case ENOKEY:
	case EKEYREJECTED:
	case EKEYEXPIRED:
	case EKEYREVOKED:
		return refuse_signature(facts, error);
	case EPERM:
	case EACCES:
		return refuse_permission(facts, error);
	case ENOENT:
		return refuse_symbols(facts, error);
	}
	if (other_kernel(facts))
		return refuse_kernel(facts, error);
	if (facts->missing[0])
		return refuse_symbols(facts, error);
	return vpeer_fail(error, facts->err, VPEER_REASON_NONE, MODULE,
			  "'dmesg | grep vpeer' shows what the kernel said",
			  "not loaded: %s", strerror(facts->err));
}

void module_parse_lockdown(const char *text, char *word, size_t size)
{
	const char *start = strchr(text, '[');
	size_t length = start ? strcspn(start + 1, "]") : 0;

	text_format(word, size, "%.*s", (int)length, start ? start + 1 : "");
}

bool module_parse_unknown_symbol(const char *line, char *symbol, size_t size)
{
	static const char *const phrases[] = {
		"vpeer: Unknown symbol ",
		"vpeer: disagrees about version of symbol ",
	};

	for (size_t i = 0; i < ARRAY_SIZE(phrases); i++) {
		const char *found = strstr(line, phrases[i]);

		if (!found)
			continue;
		found += strlen(phrases[i]);
		text_format(symbol, size, "%.*s", (int)strcspn(found, " \n"), found);
		return symbol[0] != '\0';
	}
	return false;
}

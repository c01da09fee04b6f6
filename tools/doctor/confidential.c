// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Guests whose memory is encrypted: a device reaches only what is shared with the host. */
#include <string.h>

#include "../util.h"
#include "guest.h"

struct trace {
	char kind[32];
	char line[200];
};

static void look_at_line(void *data, const char *line)
{
	static const char said[] = "Memory Encryption Features active:";
	struct trace *trace = data;
	const char *at = strstr(line, said);

	if (!at || trace->kind[0])
		return;
	at += strlen(said);
	if (strstr(at, "SEV"))
		text_format(trace->kind, sizeof(trace->kind), "AMD SEV");
	else if (strstr(at, "TDX"))
		text_format(trace->kind, sizeof(trace->kind), "Intel TDX");
	text_format(trace->line, sizeof(trace->line), "%s", line);
}

/* The first "flags" of /proc/cpuinfo has this one. */
static bool has_flag(const struct site *site, const char *flag)
{
	char text[8192], *rest = text, *word;

	if (!site_line(site, text, sizeof(text), "flags", "proc/cpuinfo"))
		return false;
	while ((word = strsep(&rest, " ")))
		if (!strcmp(word, flag))
			return true;
	return false;
}

/* NULL for a guest like any other. Hosts that could start encrypted guests have "sev", too. */
static const char *kind_of(struct findings *all, const struct site *site, struct trace *trace)
{
	static const struct {
		const char *device, *kind;
	} devices[] = {
		{ "sev-guest", "AMD SEV-SNP" },
		{ "tdx_guest", "Intel TDX" },
		{ "arm-cca-guest", "Arm CCA" },
	};

	if (has_flag(site, "tdx_guest")) {
		finding_saw(all, "tdx_guest", "flags in /proc/cpuinfo");
		return "Intel TDX";
	}
	if (!site->hypervisor_err && (has_flag(site, "sev") || has_flag(site, "sev_snp"))) {
		finding_saw(all, has_flag(site, "sev_snp") ? "sev_snp" : "sev",
			    "flags in /proc/cpuinfo");
		return "AMD SEV";
	}
	for (size_t i = 0; i < ARRAY_SIZE(devices); i++) {
		if (!site_has(site, "sys/class/misc/%s", devices[i].device))
			continue;
		finding_saw(all, "there", "/sys/class/misc/%s", devices[i].device);
		return devices[i].kind;
	}
	site->place->calls->kernel_log(site->place->data, look_at_line, trace);
	if (!trace->kind[0])
		return NULL;
	finding_saw(all, trace->line, "kernel log");
	return trace->kind;
}

void check_confidential(struct findings *all, const struct site *site)
{
	struct trace trace = { 0 };
	const char *kind;

	finding_add(all, "confidential-guest", "machine");
	kind = kind_of(all, site, &trace);
	if (!kind) {
		finding_saw(all, "neither sev nor tdx_guest", "/proc/cpuinfo, /sys/class/misc");
		finding_says(all, STATE_OK, "no sign that guest memory is encrypted");
		return;
	}
	if (!site_has_peers(site)) {
		finding_says(all, STATE_OK, "guest memory is encrypted (%s)", kind);
		return;
	}
	finding_says(all, STATE_FAIL, "guest memory is encrypted (%s): devices reach shared bounce "
		     "buffers only, not one another, and vpeer refuses", kind);
	finding_remedy(all, job_vm, "start the guest without memory encryption; QEMU: no "
		       "confidential-guest-support; libvirt: no <launchSecurity>; in a cloud: an "
		       "instance type that is not confidential");
}

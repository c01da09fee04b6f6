// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Settings that a network PF holds for a VF. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "check.h"

static void begin(struct findings *all, const struct function *function, const char *name,
		  const char *value)
{
	finding_add(all, name, function->pci);
	finding_saw(all, value, "rtnetlink IFLA_VFINFO_LIST of %s, VF %ld", function->sriov.netdev,
		    function->sriov.vf);
}

static void check_trust(struct findings *all, const struct function *function)
{
	const struct vf_settings *settings = &function->sriov.settings;

	if (!settings->trust_known)
		return;
	begin(all, function, "vf-trust", settings->trust ? "trust on" : "trust off");
	if (settings->trust) {
		finding_says(all, STATE_OK, "the VF is trusted, as some drivers need it");
		return;
	}
	finding_says(all, STATE_WARN, "the VF is not trusted: the guest can neither change its "
		     "MAC address nor receive promiscuously, and some drivers withhold more");
	finding_remedy(all, job_host, "ip link set %s vf %ld trust on, if the guest may",
		       function->sriov.netdev, function->sriov.vf);
}

static void check_spoof(struct findings *all, const struct function *function)
{
	const struct vf_settings *settings = &function->sriov.settings;

	if (!settings->spoof_check_known)
		return;
	begin(all, function, "vf-spoof-check", settings->spoof_check ? "spoofchk on" :
								       "spoofchk off");
	if (settings->spoof_check) {
		finding_says(all, STATE_OK, "frames with another source address than the VF's are "
			     "dropped");
		return;
	}
	finding_says(all, STATE_WARN, "source addresses are not checked: the guest can send as "
		     "another");
	finding_remedy(all, job_host, "ip link set %s vf %ld spoofchk on, unless the guest bridges "
		       "others", function->sriov.netdev, function->sriov.vf);
}

static void check_rate(struct findings *all, const struct function *function)
{
	const struct vf_settings *settings = &function->sriov.settings;
	char text[64];

	text_format(text, sizeof(text), "max_tx_rate %u, min_tx_rate %u", settings->max_tx_rate,
		    settings->min_tx_rate);
	begin(all, function, "vf-rate", text);
	if (!settings->max_tx_rate) {
		finding_says(all, STATE_OK, "sending is not limited");
		return;
	}
	finding_says(all, STATE_WARN, "sending is limited to %u Mbit/s", settings->max_tx_rate);
	finding_remedy(all, job_host, "ip link set %s vf %ld max_tx_rate 0, unless it is meant",
		       function->sriov.netdev, function->sriov.vf);
}

static void check_link_state(struct findings *all, const struct function *function)
{
	const struct vf_settings *settings = &function->sriov.settings;

	if (!settings->link_state_known)
		return;
	begin(all, function, "vf-link-state", settings->link_state);
	if (strcmp(settings->link_state, "disable")) {
		finding_says(all, STATE_OK, "the VF's link state is %s", settings->link_state);
		return;
	}
	finding_says(all, STATE_FAIL, "the VF's link is disabled by its PF");
	finding_remedy(all, job_host, "ip link set %s vf %ld state auto", function->sriov.netdev,
		       function->sriov.vf);
}

void check_vf(struct findings *all, const struct host *host, const struct function *function)
{
	const struct sriov *sriov = &function->sriov;

	(void)host;
	if (!sriov->netdev[0])
		return;
	if (!sriov->settings_err) {
		check_trust(all, function);
		check_spoof(all, function);
		check_rate(all, function);
		check_link_state(all, function);
		return;
	}
	begin(all, function, "vf-settings", "");
	if (sriov->settings_err == -ENODATA)
		finding_says(all, STATE_UNKNOWN, "the driver of %s tells nothing of this VF",
			     sriov->netdev);
	else
		finding_says(all, STATE_UNKNOWN, "rtnetlink: %s", strerror(-sriov->settings_err));
}

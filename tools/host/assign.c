// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which functions can be given to a guest, and why not. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

static int refuse(struct vpeer_error *error, int err, const struct function *function,
		  const char *remedy, const char *message)
{
	return vpeer_fail(error, err, VPEER_REASON_NONE, function->pci, remedy,
			  "cannot be given to a guest: %s", message);
}

static bool is_given(const struct host *host, const char *pci)
{
	for (size_t i = 0; i < host->function_count; i++)
		if (!strcmp(host->functions[i].pci, pci))
			return true;
	return false;
}

/* A bridge in the group cannot be given along, and VFIO minds its driver. */
static int may_bridge(const struct host *host, const struct function *function, const char *bridge,
		      struct vpeer_error *error)
{
	char driver[64], text[192], remedy[192];

	pci_driver(host->place->sysfs, bridge, driver, sizeof(driver));
	if (driver_lets_go(driver))
		return 0;
	text_format(text, sizeof(text), "it shares IOMMU group %u with the bridge %s, which the "
		    "host uses by %s", function->group.number, bridge, driver);
	text_format(remedy, sizeof(remedy), "'echo %s > /sys/bus/pci/drivers/%s/unbind', if the "
		    "host can do without; or use another slot", bridge, driver);
	return refuse(error, EBUSY, function, remedy, text);
}

static int may_group(const struct host *host, const struct function *function,
		     struct vpeer_error *error)
{
	const struct group *group = &function->group;
	char text[160];
	int err;

	if (!group->known)
		return refuse(error, ENODEV, function,
			      "switch the IOMMU on (VT-d or AMD-Vi in the firmware setup, "
			      "intel_iommu=on); 'vpeer host check' tells more",
			      "it is in no IOMMU group");
	for (size_t i = 0; i < group->count; i++) {
		const char *pci = group->members[i];

		if (is_given(host, pci))
			continue;
		if (pci_is_bridge(host->place->sysfs, pci)) {
			err = may_bridge(host, function, pci, error);
			if (err)
				return err;
			continue;
		}
		text_format(text, sizeof(text), "it shares IOMMU group %u with %s, which is not "
			    "among those given", group->number, pci);
		return refuse(error, EBUSY, function, "name that one too, or have the ports "
			      "above isolate them: 'vpeer host check' shows ACS", text);
	}
	return 0;
}

static int may_driver(const struct function *function, const struct guest_wish *wish,
		      struct vpeer_error *error)
{
	char text[128], remedy[128];

	if (function->vfio || wish->managed)
		return 0;
	text_format(text, sizeof(text), "%s%s", function->driver[0] ? "it is bound to " :
		    "no driver is bound, it must be vfio-pci", function->driver);
	text_format(remedy, sizeof(remedy), "'driverctl set-override %s vfio-pci', or for libvirt "
		    "--managed", function->pci);
	return refuse(error, EBUSY, function, remedy, text);
}

static int may_bars(const struct function *function, struct vpeer_error *error)
{
	char text[96];

	if (function->bars_err)
		return refuse(error, -function->bars_err, function, "run as root",
			      "its BARs cannot be read");
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		if (!function->bars[i].unassigned)
			continue;
		text_format(text, sizeof(text), "BAR %u has no address", i);
		return refuse(error, ENOSPC, function,
			      "switch 'Above 4G decoding' on in the firmware setup, or boot with "
			      "pci=realloc", text);
	}
	return 0;
}

static int may(const struct host *host, const struct function *function,
	       const struct guest_wish *wish, struct vpeer_error *error)
{
	int err;

	if (function->sriov.numvfs > 0)
		return refuse(error, EBUSY, function, "give its VFs, or remove them first: "
			      "'echo 0 > sriov_numvfs'", "it is a PF that has VFs");
	err = may_bars(function, error);
	if (!err)
		err = may_group(host, function, error);
	return err ? err : may_driver(function, wish, error);
}

static int no_iommufd(const struct host *host, struct vpeer_error *error)
{
	switch (host->vfio.iommufd_module) {
	case ANSWER_NO:
		return vpeer_fail(error, ENODEV, VPEER_REASON_NONE, "/dev/iommu",
				  "leave --iommufd out: type1 maps BARs; see vpeer-host(7)",
				  "Linux %s was built without iommufd (CONFIG_IOMMUFD)",
				  host->release);
	case ANSWER_YES:
		return vpeer_fail(error, ENODEV, VPEER_REASON_NONE, "/dev/iommu",
				  "'modprobe iommufd', or leave --iommufd out",
				  "iommufd is not loaded");
	case ANSWER_UNKNOWN:
		break;
	}
	return vpeer_fail(error, ENODEV, VPEER_REASON_NONE, "/dev/iommu",
			  "leave --iommufd out, or load iommufd if the kernel was built with it",
			  "iommufd is not there");
}

static int may_iommufd(const struct host *host, struct vpeer_error *error)
{
	if (!host->vfio.iommufd)
		return no_iommufd(host, error);
	if (!host_iommufd_maps_bars(host))
		return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NONE, "/dev/iommu",
				  "leave --iommufd out: type1 maps BARs; or run Linux 6.19 or later",
				  "iommufd of Linux %s does not map BARs: peers would not be reached",
				  host->release);
	return 0;
}

int host_add_named(struct host *host, const char *pci, struct vpeer_error *error)
{
	int err = host_add(host, pci);

	if (err)
		return vpeer_fail(error, -err, VPEER_REASON_NONE, pci,
				  "'lspci -D' lists what is there",
				  "there is no such PCI function: %s", strerror(-err));
	if (function_is_bridge(&host->functions[host->function_count - 1]))
		return vpeer_fail(error, EINVAL, VPEER_REASON_NONE, pci,
				  "name the endpoints behind it; their bridges are looked at too",
				  "cannot be given to a guest: it is a bridge");
	return 0;
}

int guest_may(const struct host *host, const struct guest_wish *wish,
	      struct vpeer_error *error)
{
	int err = wish->iommufd ? may_iommufd(host, error) : 0;

	for (size_t i = 0; !err && i < host->function_count; i++)
		err = may(host, &host->functions[i], wish, error);
	return err;
}

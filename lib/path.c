// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>

#include "internal.h"

static const char what[] = "cannot tell about the path";

/* The module is older than the call. */
static int fail_no_report(struct vpeer_error *error, const char *who)
{
	vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NONE, who,
		   "install the library and module of one release, then reload the module",
		   "%s: this module makes no path reports", what);
	if (error)
		error->mender = VPEER_MENDER_GUEST;
	return -EOPNOTSUPP;
}

int vpeer_path_report(struct vpeer_aperture *aperture, const struct vpeer_pci_address *initiator,
		      struct vpeer_path_report *report, struct vpeer_error *error)
{
	char pci[VPEER_PCI_LEN];
	int err;

	report->domain = initiator->domain;
	report->bus = initiator->bus;
	report->devfn = initiator->devfn;
	err = vpeer_ioctl(aperture->fd, VPEER_IOCTL_PATH_REPORT, report, aperture->who, what,
			  error);
	if (err == -ENOTTY)
		return fail_no_report(error, aperture->who);
	if (err && report->reason == VPEER_REASON_NO_DEVICE)
		return vpeer_fail_reason(error, -err, VPEER_REASON_NO_DEVICE,
					 vpeer_pci_format(initiator, pci), what);
	return err;
}

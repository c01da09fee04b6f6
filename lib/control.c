// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int vpeer_control_open(struct vpeer_control **control, struct vpeer_error *error)
{
	struct vpeer_control *opened = calloc(1, sizeof(*opened));
	struct vpeer_query query;
	int err;

	*control = NULL;
	if (!opened)
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, VPEER_CONTROL_NODE, "",
				  "out of memory");
	opened->fd = open(VPEER_CONTROL_NODE, O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (opened->fd < 0)
		err = vpeer_fail_open(error, errno, VPEER_CONTROL_NODE);
	else
		err = vpeer_handshake(opened->fd, VPEER_CONTROL_NODE, &query, error);
	if (err) {
		vpeer_control_close(opened);
		return err;
	}
	*control = opened;
	return 0;
}

void vpeer_control_close(struct vpeer_control *control)
{
	if (!control)
		return;
	if (control->fd >= 0)
		close(control->fd);
	free(control);
}

int vpeer_control_query(struct vpeer_control *control, struct vpeer_query *query,
			struct vpeer_error *error)
{
	return vpeer_ioctl(control->fd, VPEER_IOCTL_QUERY, query, VPEER_CONTROL_NODE,
			   "cannot query the module", error);
}

static bool concerns_bar(unsigned int reason)
{
	switch (reason) {
	case VPEER_REASON_NO_SUCH_BAR:
	case VPEER_REASON_NOT_MEMORY:
	case VPEER_REASON_UNASSIGNED:
	case VPEER_REASON_TOO_SMALL:
	case VPEER_REASON_NO_PAGES:
	case VPEER_REASON_MSIX_BAR:
	case VPEER_REASON_NOT_PREFETCHABLE:
	case VPEER_REASON_REGION_BUSY:
	case VPEER_REASON_QUARANTINED:
	case VPEER_REASON_BUS_ADDRESS:
	case VPEER_REASON_ADDRESS_RANGE:
		return true;
	}
	return false;
}

void vpeer_name_bar(const char *pci, unsigned int bar, struct vpeer_error *error)
{
	if (!concerns_bar(error->reason))
		return;
	if (bar != VPEER_BAR_AUTO)
		snprintf(error->who, sizeof(error->who), "%s BAR %u", pci, bar);
	else if (error->reason != VPEER_REASON_NO_SUCH_BAR)
		snprintf(error->who, sizeof(error->who), "%s, largest prefetchable BAR", pci);
	else
		vpeer_fail(error, error->err, error->reason, pci,
			   "name a memory BAR with --bar N, and --force if it is known to be "
			   "memory, not registers; lspci -v shows the BARs",
			   "cannot attach: the function has no prefetchable memory BAR");
}

static int attach(struct vpeer_control *control, const struct vpeer_pci_address *address,
		  unsigned int bar, struct vpeer_attach *attach, unsigned int *index,
		  struct vpeer_error *error)
{
	char who[VPEER_PCI_LEN];
	int err;

	attach->argsz = sizeof(*attach);
	attach->domain = address->domain;
	attach->bus = address->bus;
	attach->devfn = address->devfn;
	attach->bar = (uint8_t)bar;
	vpeer_pci_format(address, who);
	if (bar > 5 && bar != VPEER_BAR_AUTO)
		return vpeer_fail(error, EINVAL, VPEER_REASON_NO_SUCH_BAR, who,
				  "name a BAR from 0 to 5", "a function has no BAR %u", bar);
	err = vpeer_ioctl(control->fd, VPEER_IOCTL_ATTACH, attach, who, "cannot attach", error);
	if (!err && index)
		*index = attach->index;
	if (err && error)
		vpeer_name_bar(who, bar, error);
	return err;
}

int vpeer_attach(struct vpeer_control *control, const struct vpeer_pci_address *address,
		 unsigned int bar, unsigned int flags, unsigned int *index,
		 struct vpeer_error *error)
{
	struct vpeer_attach arg = { .flags = flags };

	return attach(control, address, bar, &arg, index, error);
}

int vpeer_attach_range(struct vpeer_control *control, const struct vpeer_pci_address *address,
		       unsigned int bar, unsigned int flags, uint64_t offset, uint64_t size,
		       unsigned int *index, struct vpeer_error *error)
{
	struct vpeer_attach arg = {
		.flags = flags | VPEER_ATTACH_FOREIGN,
		.range_offset = offset,
		.range_size = size,
	};

	return attach(control, address, bar, &arg, index, error);
}

int vpeer_detach(struct vpeer_control *control, const struct vpeer_pci_address *address,
		 uint64_t *pinned_bytes, struct vpeer_error *error)
{
	struct vpeer_detach detach = {
		.argsz = sizeof(detach),
		.domain = address->domain,
		.bus = address->bus,
		.devfn = address->devfn,
	};
	char who[VPEER_PCI_LEN];
	int err;

	vpeer_pci_format(address, who);
	err = vpeer_ioctl(control->fd, VPEER_IOCTL_DETACH, &detach, who, "detach", error);
	if (pinned_bytes)
		*pinned_bytes = detach.pinned_bytes;
	return err;
}

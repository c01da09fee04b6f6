// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>

#include "apertures.h"
#include "holders.h"
#include "util.h"

static int quarantined(const struct vpeer_pci_address *address, const struct vpeer_entry *entries,
		       size_t count, uint64_t pinned)
{
	char pci[VPEER_PCI_LEN], bytes[BYTES_LEN];

	vpeer_pci_format(address, pci);
	format_bytes(pinned, bytes);
	fprintf(stderr, "vpeer: %s: detached, but %s (%llu bytes) stay pinned by DMA and "
			"quarantined\n", pci, bytes, (unsigned long long)pinned);
	holders_print_quarantined(address, entries, count);
	return EXIT_FAIL;
}

static int detach(const struct vpeer_pci_address *address, uint64_t *pinned,
		  struct vpeer_error *error)
{
	struct vpeer_control *control;
	int err = vpeer_control_open(&control, error);

	if (err)
		return err;
	err = vpeer_detach(control, address, pinned, error);
	vpeer_control_close(control);
	return err;
}

static int detach_and_tell(const struct vpeer_pci_address *address)
{
	struct vpeer_entry *entries;
	char pci[VPEER_PCI_LEN];
	struct vpeer_error error;
	uint64_t pinned = 0;
	int err, status = EXIT_PASS;
	size_t count, picked;

	/* Nodes are known only as long as they are there. */
	apertures_of(address, &entries, &count, NULL);
	err = detach(address, &pinned, &error);
	vpeer_pci_format(address, pci);
	if (err == -EINPROGRESS) {
		picked = apertures_pick_pinned(entries, count);
		status = quarantined(address, entries, picked ? picked : count, pinned);
	} else if (err) {
		report_error(&error);
		status = EXIT_FAIL;
	} else {
		printf("%s detached\n", pci);
	}
	vpeer_list_free(entries);
	return status;
}

static int run_detach(int argc, char **argv)
{
	static const struct option options[] = { { 0 } };
	struct vpeer_pci_address address;
	int code;

	opterr = 0;
	code = getopt_long(argc, argv, ":", options, NULL);
	if (code != -1)
		return option_error(&command_detach, code, argv);
	if (pci_operand(&command_detach, argc, argv, &address))
		return EXIT_USAGE;
	return detach_and_tell(&address);
}

const struct command command_detach = {
	.name = "detach",
	.summary = "revoke every window of a function's apertures and end them",
	.usage = "PCI",
	.options = "  PCI     the function, like 0000:01:00.0\n"
		   "  --help  this text\n",
	.manual = "vpeer-detach",
	.run = run_detach,
};

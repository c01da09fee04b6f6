// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>

#include "holders.h"
#include "util.h"

static int quarantined(const char *pci, const char *node, uint64_t pinned)
{
	char bytes[BYTES_LEN];

	fprintf(stderr, "vpeer: %s: detached, but %s (%llu bytes) stay pinned by DMA and "
			"quarantined\n", pci, format_bytes(pinned, bytes),
		(unsigned long long)pinned);
	holders_print(node);
	fputs("  remedy: end these processes, or let them deregister the memory; 'vpeer list' "
	      "shows when it is gone\n", stderr);
	return EXIT_FAIL;
}

static int run_detach(int argc, char **argv)
{
	static const struct option options[] = { { 0 } };
	struct vpeer_pci_address address;
	struct vpeer_control *control;
	char pci[VPEER_PCI_LEN], node[32];
	struct vpeer_error error;
	uint64_t pinned = 0;
	int code, err;

	opterr = 0;
	code = getopt_long(argc, argv, ":", options, NULL);
	if (code != -1)
		return option_error(&command_detach, code, argv);
	if (pci_operand(&command_detach, argc, argv, &address))
		return EXIT_USAGE;
	holders_node(&address, node, sizeof(node));
	err = vpeer_control_open(&control, &error);
	if (!err) {
		err = vpeer_detach(control, &address, &pinned, &error);
		vpeer_control_close(control);
	}
	vpeer_pci_format(&address, pci);
	if (err == -EINPROGRESS)
		return quarantined(pci, node, pinned);
	if (err) {
		report_error(&error);
		return EXIT_FAIL;
	}
	printf("%s detached\n", pci);
	return EXIT_PASS;
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

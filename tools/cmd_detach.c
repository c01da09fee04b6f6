// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "holders.h"
#include "util.h"

static void node_of(const struct vpeer_pci_address *address, char *node, size_t size)
{
	struct vpeer_entry *entries;
	size_t count;

	node[0] = '\0';
	if (vpeer_list(&entries, &count, NULL))
		return;
	for (size_t i = 0; i < count; i++)
		if (!memcmp(&entries[i].pci, address, sizeof(*address)))
			text_format(node, size, "%s", entries[i].node);
	vpeer_list_free(entries);
}

static void print_holders(const char *node)
{
	struct holder *holders;
	size_t count, hidden;
	int err = node[0] ? holders_find("/proc", node, &holders, &count, &hidden) : -ENOENT;

	if (err) {
		fprintf(stderr, "  holders: unknown (%s)\n", strerror(-err));
		return;
	}
	for (size_t i = 0; i < count; i++)
		fprintf(stderr, "  holder: process %d (%s) has %s open or mapped\n",
			(int)holders[i].pid, holders[i].command, node);
	if (!count)
		fprintf(stderr, "  holders: no process has %s open or mapped any more; the pins "
				"belong to memory registrations alone\n", node);
	if (hidden)
		fprintf(stderr, "  %zu processes could not be looked into: run as root\n", hidden);
	free(holders);
}

static int quarantined(const char *pci, const char *node, uint64_t pinned)
{
	char bytes[BYTES_LEN];

	fprintf(stderr, "vpeer: %s: detached, but %s (%llu bytes) stay pinned by DMA and "
			"quarantined\n", pci, format_bytes(pinned, bytes),
		(unsigned long long)pinned);
	print_holders(node);
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
	node_of(&address, node, sizeof(node));
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

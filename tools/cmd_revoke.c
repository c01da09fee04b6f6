// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>

#include "holders.h"
#include "util.h"

/* The module bounds the wait by its own revoke_wait_ms. */
#define REVOKE_TIMEOUT_MS	60000

/* @windows: how many there were. */
static int revoke(const char *pci, unsigned int *windows, uint64_t *pinned,
		  struct vpeer_error *error)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	struct vpeer_aperture *aperture;
	int err = vpeer_open(&aperture, pci, error);

	if (err)
		return err;
	err = vpeer_aperture_info(aperture, &info, error);
	if (!err)
		err = vpeer_revoke_all(aperture, REVOKE_TIMEOUT_MS, pinned, error);
	vpeer_close(aperture);
	*windows = info.windows;
	return err;
}

static int fail(const struct vpeer_pci_address *address, uint64_t pinned,
		struct vpeer_error *error)
{
	char node[32], bytes[BYTES_LEN];

	if (error->err == EACCES) /* the group opens the node, and is refused then */
		text_format(error->remedy, sizeof(error->remedy), "%s",
			    vpeer_reason_remedy(VPEER_REASON_NOT_PERMITTED));
	if (error->err != EINPROGRESS) {
		report_error(error);
		return EXIT_FAIL;
	}
	fprintf(stderr, "vpeer: %s: revoked, but %s (%llu bytes) stay pinned by DMA\n", error->who,
		format_bytes(pinned, bytes), (unsigned long long)pinned);
	holders_node(address, node, sizeof(node));
	holders_print(node);
	fputs("  remedy: end these processes, or let them deregister the memory; 'vpeer list' "
	      "shows when it is gone\n", stderr);
	return EXIT_FAIL;
}

static int run_revoke(int argc, char **argv)
{
	static const struct option options[] = { { 0 } };
	char pci[VPEER_PCI_LEN];
	struct vpeer_pci_address address;
	struct vpeer_error error;
	unsigned int windows = 0;
	uint64_t pinned = 0;
	int code, err;

	opterr = 0;
	code = getopt_long(argc, argv, ":", options, NULL);
	if (code != -1)
		return option_error(&command_revoke, code, argv);
	if (pci_operand(&command_revoke, argc, argv, &address))
		return EXIT_USAGE;
	err = revoke(vpeer_pci_format(&address, pci), &windows, &pinned, &error);
	if (err)
		return fail(&address, pinned, &error);
	printf("%s: %u window%s revoked\n", pci, windows, windows == 1 ? "" : "s");
	return EXIT_PASS;
}

const struct command command_revoke = {
	.name = "revoke",
	.summary = "end all access to the windows of an aperture",
	.usage = "PCI",
	.options = "  PCI     the function, like 0000:01:00.0\n"
		   "  --help  this text\n",
	.manual = "vpeer-revoke",
	.run = run_revoke,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>

#include "apertures.h"
#include "holders.h"
#include "util.h"

/* The module bounds the wait by its own revoke_wait_ms. */
#define REVOKE_TIMEOUT_MS	60000

struct outcome {
	unsigned int windows;		/* that there were */
	uint64_t pinned;
	struct vpeer_error error;	/* of the first failure but pins */
	bool failed;
};

static int revoke(const char *node, struct outcome *outcome, uint64_t *pinned,
		  struct vpeer_error *error)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	struct vpeer_aperture *aperture;
	int err = vpeer_open(&aperture, node, error);

	if (err)
		return err;
	err = vpeer_aperture_info(aperture, &info, error);
	if (!err)
		err = vpeer_revoke_all(aperture, REVOKE_TIMEOUT_MS, pinned, error);
	vpeer_close(aperture);
	outcome->windows += info.windows;
	return err;
}

/* One that cannot be revoked does not keep the others. */
static void revoke_each(const struct vpeer_entry *entries, size_t count, struct outcome *outcome)
{
	for (size_t i = 0; i < count; i++) {
		struct vpeer_error error;
		uint64_t pinned = 0;
		int err = revoke(entries[i].node, outcome, &pinned, &error);

		if (err == -EINPROGRESS) {
			outcome->pinned += pinned;
		} else if (err && !outcome->failed) {
			outcome->error = error;
			outcome->failed = true;
		}
	}
}

static void tell_pinned(const char *pci, const struct vpeer_entry *entries, size_t count,
			uint64_t pinned)
{
	char bytes[BYTES_LEN];

	fprintf(stderr, "vpeer: %s: revoked, but %s (%llu bytes) stay pinned by DMA\n", pci,
		format_bytes(pinned, bytes), (unsigned long long)pinned);
	holders_print(entries, count);
	fputs("  remedy: end these processes, or let them deregister the memory; 'vpeer list' "
	      "shows when it is gone\n", stderr);
}

static void tell_failed(struct vpeer_error *error)
{
	if (error->err == EACCES) /* the group opens the node, and is refused then */
		text_format(error->remedy, sizeof(error->remedy), "%s",
			    vpeer_reason_remedy(VPEER_REASON_NOT_PERMITTED));
	report_error(error);
}

static int revoke_and_tell(const struct vpeer_pci_address *address)
{
	struct outcome outcome = { 0 };
	struct vpeer_entry *entries;
	char pci[VPEER_PCI_LEN];
	size_t count;

	outcome.failed = apertures_of(address, &entries, &count, &outcome.error);
	revoke_each(entries, count, &outcome);
	vpeer_pci_format(address, pci);
	if (outcome.pinned)
		tell_pinned(pci, entries, count, outcome.pinned);
	if (outcome.failed)
		tell_failed(&outcome.error);
	vpeer_list_free(entries);
	if (outcome.pinned || outcome.failed)
		return EXIT_FAIL;
	printf("%s: %u window%s revoked\n", pci, outcome.windows,
	       outcome.windows == 1 ? "" : "s");
	return EXIT_PASS;
}

static int run_revoke(int argc, char **argv)
{
	static const struct option options[] = { { 0 } };
	struct vpeer_pci_address address;
	int code;

	opterr = 0;
	code = getopt_long(argc, argv, ":", options, NULL);
	if (code != -1)
		return option_error(&command_revoke, code, argv);
	if (pci_operand(&command_revoke, argc, argv, &address))
		return EXIT_USAGE;
	return revoke_and_tell(&address);
}

const struct command command_revoke = {
	.name = "revoke",
	.summary = "end all access to the windows of a function's apertures",
	.usage = "PCI",
	.options = "  PCI     the function, like 0000:01:00.0\n"
		   "  --help  this text\n",
	.manual = "vpeer-revoke",
	.run = run_revoke,
};

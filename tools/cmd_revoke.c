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

static bool is_of(const struct vpeer_aperture_info *info, const struct vpeer_entry *entry)
{
	return info->domain == entry->pci.domain && info->bus == entry->pci.bus &&
	       info->devfn == entry->pci.devfn;
}

/* A node that cannot be opened says nothing: this machine's /dev may lack it. */
static bool has_gone(const struct vpeer_entry *entry)
{
	struct vpeer_entry *entries;
	size_t count;
	int err = apertures_of(&entry->pci, &entries, &count, NULL);
	bool gone = !err || err == -ENOENT;

	for (size_t i = 0; i < count; i++)
		gone &= entries[i].index != entry->index;
	vpeer_list_free(entries);
	return gone;
}

/* -ENODEV when the aperture has gone: its node may be another function's by now. */
static int revoke(const struct vpeer_entry *entry, uint32_t timeout_ms, unsigned int *windows,
		  uint64_t *pinned, struct vpeer_error *error)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	struct vpeer_aperture *aperture;
	int err = vpeer_open(&aperture, entry->node, error);

	*windows = 0;
	*pinned = 0;
	if (err)
		return has_gone(entry) ? -ENODEV : err;
	err = vpeer_aperture_info(aperture, &info, error);
	if (!err && !is_of(&info, entry))
		err = -ENODEV;
	if (!err)
		err = vpeer_revoke_all(aperture, timeout_ms, pinned, error);
	vpeer_close(aperture);
	*windows = info.windows;
	return err;
}

/*
 * Several first without waiting, so that no access to one outlasts the wait for
 * another; one that cannot be revoked does not keep the others. Entries end up
 * with the bytes that stay pinned.
 */
static void revoke_each(struct vpeer_entry *entries, size_t count, struct outcome *outcome)
{
	struct vpeer_error error;
	unsigned int windows;
	uint64_t pinned;

	for (size_t i = 0; count > 1 && i < count; i++) {
		revoke(&entries[i], 0, &windows, &pinned, &error);
		outcome->windows += windows;
	}
	for (size_t i = 0; i < count; i++) {
		int err = revoke(&entries[i], REVOKE_TIMEOUT_MS, &windows, &pinned, &error);

		if (count == 1)
			outcome->windows = windows;
		entries[i].bytes_pinned = err == -EINPROGRESS ? pinned : 0;
		outcome->pinned += entries[i].bytes_pinned;
		if (err && err != -EINPROGRESS && err != -ENODEV && !outcome->failed) {
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
		tell_pinned(pci, entries, apertures_pick_pinned(entries, count), outcome.pinned);
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

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that hold an aperture's memory, or may. */
#ifndef HOLDERS_H
#define HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../lib/vpeer.h"

struct holder {
	pid_t pid;
	bool sure;	/* the module says so */
	char command[64];
	char use[96];	/* what of the memory's it has */
};

struct holders {
	struct holder *items;
	size_t count;
	size_t hidden;	/* processes that may not be looked into */
	bool outside;	/* there are some in other PID name spaces */
};

/*
 * True when @path, as /proc shows it for a descriptor or mapping, is @node,
 * unlinked or not.
 */
bool holder_path_matches(const char *path, const char *node);

/*
 * All add to the list, each process once, and return 0 or a negative errno.
 * @proc and @debugfs are where these are mounted.
 *
 * Those that have @node open or mapped:
 */
int holders_of_node(struct holders *found, const char *proc, const char *node);

/* Those that have a DMA-buf of vpeer open, of whatever aperture: */
int holders_of_dmabufs(struct holders *found, const char *proc);

/* Those the module knows to have used revoked windows that are still held: */
int holders_of_windows(struct holders *found, const char *proc, const char *debugfs,
		       const struct vpeer_entry *entry);

/* The same of ranges in quarantine: */
int holders_of_quarantine(struct holders *found, const char *proc, const char *debugfs,
			  const struct vpeer_pci_address *address);

void holders_free(struct holders *found);

/*
 * Tell on stderr who holds memory of revoked windows of @entries, or of the
 * function's ranges in quarantine, a line for each, and what ends their pins.
 * @entries may be none.
 */
void holders_print(const struct vpeer_entry *entries, size_t count);
void holders_print_quarantined(const struct vpeer_pci_address *pci,
			       const struct vpeer_entry *entries, size_t count);

#endif /* HOLDERS_H */

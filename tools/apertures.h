/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The apertures of a function, of which a shared one can have several. */
#ifndef APERTURES_H
#define APERTURES_H

#include "../lib/vpeer.h"

/*
 * As vpeer_list(), but those of @address only, and -ENOENT without one. The
 * caller frees the list with vpeer_list_free(), also after an error.
 */
int apertures_of(const struct vpeer_pci_address *address, struct vpeer_entry **entries,
		 size_t *count, struct vpeer_error *error);

/* Drops the other functions' from the list; returns how many are left. */
size_t apertures_pick(const struct vpeer_pci_address *address, struct vpeer_entry *entries,
		      size_t count);

/* Keeps those that initiators hold pinned; returns how many. */
size_t apertures_pick_pinned(struct vpeer_entry *entries, size_t count);

struct dmabufs {
	uint64_t count;
	uint64_t bytes_mapped;	/* by importers, those that let go when told included */
};

/*
 * What there is of each entry. Entries that are no more are dropped; *count is
 * how many are left. The caller frees the array. 0 or a negative errno.
 */
int apertures_dmabufs(const char *sysfs, struct vpeer_entry *entries, size_t *count,
		      struct dmabufs **dmabufs);

#endif /* APERTURES_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Open files of nodes /dev/vpeerN that own windows. A mapping does not tell
 * which open file it is of, so that is found among the process's descriptors,
 * and used through a duplicate: programs close theirs when they like.
 */
#ifndef VPEER_OWNER_H
#define VPEER_OWNER_H

#include "finder.h"

struct vpeer_owner {
	struct vpeer_owner *next;
	struct vpeer_finder *finder;
	unsigned int users;		/* memory that was found through it */
	int fd;
	dev_t device;			/* of the node, as fstat() and mappings have it */
	ino_t inode;
	const uint64_t *generations;	/* NULL when the module has no such page */
	size_t generations_length;
	bool gone;			/* no more aperture when it was found */
	bool tells;			/* of every end of a window, munmap() too, by eventfd */
	const char *mute;		/* else: why it does not, or NULL where no one is to be told */
	struct vpeer_aperture_info info;
	char who[128];			/* PCI address and BAR */
};

/* Whether a path of a mapping names a node, as far as can be told without its descriptor. */
enum vpeer_node {
	VPEER_NODE_NO,
	VPEER_NODE_YES,
	VPEER_NODE_GONE,	/* the name of one, but nothing there to look at */
};

enum vpeer_node vpeer_node_look(const struct vpeer_mapping *mapping,
				struct vpeer_pci_address *device, bool *device_known);

/*
 * The owner of the window at @mapping's byte @offset, with a use for the caller,
 * and what the window is. 0; -ENOENT when no descriptor of the process is of an
 * open file that has one there; -ENODEV with @info of a window that was revoked;
 * or another errno.
 */
int vpeer_owner_find(struct vpeer_finder *finder, const struct vpeer_mapping *mapping,
		     uint64_t offset, struct vpeer_owner **owner, struct vpeer_window_info *info,
		     struct vpeer_error *error);

void vpeer_owner_hold(struct vpeer_owner *owner);
void vpeer_owner_drop(struct vpeer_owner *owner);

/* Ends what has no users. */
void vpeer_owners_trim(struct vpeer_finder *finder);

/* In a child of fork(). */
void vpeer_owners_abandon(struct vpeer_finder *finder);

#endif /* VPEER_OWNER_H */

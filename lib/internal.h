/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the library's files share; not installed, not exported. */
#ifndef VPEER_INTERNAL_H
#define VPEER_INTERNAL_H

#include <stdbool.h>

#include "vpeer.h"

#define VPEER_CONTROL_NODE	"/dev/vpeerctl"

struct vpeer_control {
	int fd;
};

struct vpeer_aperture {
	int fd;
	const uint64_t *generations;	/* NULL when the module has no such page */
	size_t generations_length;
	uint64_t size;
	uint64_t granule;
	char who[128];
};

struct vpeer_window {
	struct vpeer_aperture *aperture;
	uint64_t offset;
	uint64_t size;
	uint32_t slot;
};

/* Fills @error (may be NULL) and returns -err. */
int vpeer_fail(struct vpeer_error *error, int err, unsigned int reason, const char *who,
	       const char *remedy, const char *format, ...)
	__attribute__((format(printf, 6, 7)));

/* The same with the words of @reason after @what. */
int vpeer_fail_reason(struct vpeer_error *error, int err, unsigned int reason, const char *who,
		      const char *what);

/* Says who can mend it where that is not as usual for the reason; returns @result. */
int vpeer_mended_by(struct vpeer_error *error, unsigned int mender, int result);

/* -ENOMEM of an allocation by the library. */
int vpeer_fail_memory(struct vpeer_error *error, const char *who, const char *what);

/* The refusal of a call that takes a descriptor: if there is none left, that is the reason, not @remedy. */
int vpeer_fail_files(struct vpeer_error *error, int err, const char *who, const char *remedy,
		     const char *what);

/* The refusal of open(@path), in words. */
int vpeer_fail_open(struct vpeer_error *error, int err, const char *path);

/* -ENOENT: the function at @address has no aperture, or is not there at all. */
int vpeer_fail_unattached(struct vpeer_error *error, const struct vpeer_pci_address *address);

/*
 * Names in @error the BAR that its reason is about, if it is about a BAR; @bar
 * as in struct vpeer_attach.
 */
void vpeer_name_bar(const char *pci, unsigned int bar, struct vpeer_error *error);

/* The refusal of mmap() on an aperture, in words. */
int vpeer_fail_mmap(struct vpeer_error *error, int err, const char *who);

void vpeer_error_clear(struct vpeer_error *error);

/*
 * One ioctl on a node. @argument starts with argsz, flags, reason, as every
 * structure of the interface does; @what names the call in messages.
 */
int vpeer_ioctl(int fd, unsigned long request, void *argument, const char *who,
		const char *what, struct vpeer_error *error);

/* QUERY, and the check that both sides speak the same version. */
int vpeer_handshake(int fd, const char *who, struct vpeer_query *query,
		    struct vpeer_error *error);

/* vpeer_list() on the sysfs tree mounted at @sysfs. */
int vpeer_list_at(const char *sysfs, struct vpeer_entry **entries, size_t *count,
		  struct vpeer_error *error);

#endif /* VPEER_INTERNAL_H */

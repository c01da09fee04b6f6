/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A function's cache of address translations, one for each 4 KiB page that it used. As hardware does, it goes
 * on using what it has until it is told to drop it.
 */
#ifndef SIM_TRANSLATIONS_H
#define SIM_TRANSLATIONS_H

#include <stdbool.h>
#include <stdint.h>

#define TRANSLATION_PAGE	4096u
#define TRANSLATIONS		8192	/* of a function */
#define TRANSLATION_WAYS	4	/* so many pages can want the same place */
#define TRANSLATION_SETS	(TRANSLATIONS / TRANSLATION_WAYS)

struct backing;
struct map_entry;

struct translation {
	uint64_t page;		/* IOVA / TRANSLATION_PAGE */
	bool valid, readable, writable, peer;
	bool stale;		/* was to be dropped and is not ("atc-stale") */
	uint8_t *bytes;		/* NULL: reached by messages */
	struct backing *backing;
};

struct translation_set {
	struct translation ways[TRANSLATION_WAYS];
	unsigned int next;	/* to be replaced */
};

struct translations {
	struct translation_set sets[TRANSLATION_SETS];
	uint64_t hits, misses, drops;
	unsigned int count;
};

struct translations *translations_new(void);
void translations_free(struct translations *translations);

/* NULL: not there. A stale one is given only if STALE, else dropped. */
const struct translation *translations_find(struct translations *translations, uint64_t iova,
					    bool stale);

/* Takes the page of IOVA from the map's entry, if that holds all of it. */
void translations_fill(struct translations *translations, uint64_t iova,
		       const struct map_entry *entry);

/*
 * Drops those in the range; with KEEP they become stale instead. That is possible only for what the server
 * has mapped: a page that is reached by messages is QEMU's to translate, each time anew.
 */
void translations_drop(struct translations *translations, uint64_t iova, uint64_t last, bool keep);
void translations_clear(struct translations *translations);

#endif

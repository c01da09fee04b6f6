/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The test bed of a child: a window, host memory of the same size, and the
 * view of the window's memory from its owner's side.
 *
 * A case uses the same offset and length on both sides. GUARD bytes before
 * and after hold poison and must keep it.
 */
#ifndef BED_H
#define BED_H

#include "pair.h"
#include "pattern.h"

#define GUARD	4096U

enum side { SIDE_WINDOW, SIDE_HOST };

struct bed {
	const struct pair *pair;
	const struct channel *channel;
	struct vpeer_aperture *aperture;
	struct vpeer_window *window;
	uint8_t *mapped;	/* the window */
	uint8_t *host;
	uint8_t *look;		/* copy of a side, to compare */
	uint8_t *expected;	/* bytes a case expects */
	size_t length;		/* of window and host memory */
	uint64_t seed;		/* changes with every case */
	int view;		/* descriptor of the owner's side, -1 without */
};

/*
 * Sets up for transfers of @largest bytes. False after a failure, which the
 * channel then knows; end it in both cases.
 */
bool bed_begin(struct bed *bed, const struct pair *pair, const struct settings *settings,
	       const struct channel *channel, uint64_t largest);
void bed_end(struct bed *bed);

/* Poisons both sides around and inside the range. */
void bed_poison(struct bed *bed, uint64_t offset, size_t length);

/* Puts bytes into a side. The window's stores are ordered before what follows. */
void bed_store(struct bed *bed, enum side side, uint64_t offset, const void *bytes,
	       size_t length);

/*
 * Compares a side: bed->expected inside, its poison around. False with
 * @record's outcome, text and remedy set.
 */
bool bed_check(struct bed *bed, enum side side, uint64_t offset, size_t length,
	       struct record *record);

/* The range and its guards still hold poison. */
bool bed_check_poison(struct bed *bed, enum side side, uint64_t offset, size_t length,
		      struct record *record);

/* Bytes initiators hold pinned of the window; false when it cannot be read. */
bool bed_pinned(const struct bed *bed, uint64_t *pinned);

/* Marks @record as failed. */
void record_fail(struct record *record, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Evidence of bounce buffers and IOMMU mappings since @before. */
void bed_collect(const struct bed *bed, const struct swiotlb_state *before,
		 struct evidence *evidence);

/* Revokes the window and checks that the CPU is shut out: sends its records. */
bool bed_revoke(struct bed *bed);

#endif /* BED_H */

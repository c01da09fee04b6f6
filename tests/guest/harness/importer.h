/* SPDX-License-Identifier: GPL-2.0-only */
/* Importers of dma-bufs, as drivers of different makes, for functions of the lab. */
#ifndef HARNESS_IMPORTER_H
#define HARNESS_IMPORTER_H

#include <stdbool.h>
#include <stdint.h>

#include "../../hca/importer.h"

/*
 * A descriptor of an importer for a PCI function. Loads the module if need be.
 * @limits tells what of the function changes until it is closed, may be NULL.
 */
int importer_open(const char *pci, enum importer_mode mode, const struct importer_setup *limits);

/* This kernel tells importers that pin. */
bool importer_can_revoke(const char *pci);

/* 0 or -errno. */
int importer_attach(int importer, int dmabuf);
int importer_do(int importer, unsigned long command);

/* Attaches, maps, both must succeed. */
void importer_take(int importer, int dmabuf);

void importer_slow(int importer, bool slow);
void importer_fence(int importer, enum importer_usage usage);

struct importer_state importer_state(int importer);
void importer_check_state(int importer, uint32_t notified, bool mapped, bool pinned);

struct importer_list {
	struct importer_segments head;
	struct importer_segment *segments;
};

/* Of the mapping; the caller frees the segments. */
struct importer_list importer_list(int importer);

/* Entries without pages, in one piece for the function; returns the first address. */
uint64_t importer_check_pieces(const struct importer_list *list, uint64_t size);

/* No segment is longer, none crosses a multiple of @boundary; 0 for no limit. */
void importer_check_limits(const struct importer_list *list, uint32_t max_segment,
			   uint64_t boundary);

/* The mapping leads to where it should, in every page. */
void importer_check_place(int importer, uint64_t physical);

/* The number of places looked at that lead elsewhere. */
struct importer_check importer_places(int importer, uint64_t physical, uint64_t step);

/* Where an address leads, 0 for nowhere. */
uint64_t importer_resolve(int importer, uint64_t address);

#endif /* HARNESS_IMPORTER_H */

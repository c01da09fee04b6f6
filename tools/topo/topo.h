/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which memory is how far from which initiator. */
#ifndef TOPO_H
#define TOPO_H

#include <stdio.h>

#include "../../lib/topology.h"
#include "../doctor/site.h"

struct json_object;

/* A row: a BAR, or the range of one that an aperture covers. */
struct topo_memory {
	const struct function *function;
	unsigned int bar;
	uint64_t size;
	uint64_t bar_offset;
	char node[32];			/* of the aperture, empty without one */
	struct vpeer_place place;
	enum presence clique;
	unsigned int clique_id;
};

/* A column. */
struct topo_initiator {
	char name[64];			/* mlx5_0, nvme0 */
	bool rdma;			/* else a storage controller */
	bool soft;			/* RDMA in software, on that function's network device */
	const struct function *function;	/* NULL where it is on none */
	struct vpeer_place place;
};

/* Of the selftest, the better ones first. */
enum measure {
	MEASURE_PASS,
	MEASURE_UNPROVEN,
	MEASURE_BOUNCED,
	MEASURE_FAIL,
	MEASURE_TIMEOUT,
};

struct topo_pair {
	unsigned int distance;		/* enum vpeer_distance */
	char bridge[VPEER_PCI_LEN];	/* nearest one above both, empty for none */
	size_t bridge_number;		/* in struct topo */
	bool measured;
	enum measure verdict;		/* the worst, of several */
	bool window;			/* bytes were compared through the BAR only */
	char *cause;			/* empty for PASS; NULL unless measured */
};

struct topo {
	const struct site *site;
	struct topo_memory *memory;
	size_t memory_count;
	struct topo_initiator *initiators;
	size_t initiator_count;
	struct topo_pair *pairs;	/* row by row */
	char (*bridges)[VPEER_PCI_LEN];	/* that pairs have, as they come */
	size_t bridge_count;
	const char *report;		/* of the selftest, NULL without one */
	size_t reported, strange;	/* pairs in it, and those of devices that are not here */
};

void topo_read(struct topo *topo, const struct site *site);
void topo_free(struct topo *topo);

static inline struct topo_pair *topo_pair(const struct topo *topo, size_t row, size_t column)
{
	return &topo->pairs[row * topo->initiator_count + column];
}

/* A controller's own memory is a GPU's, not an NVMe's CMB. */
bool topo_is_gpu(const struct function *function);

/*
 * Takes verdicts from a document of "vpeer selftest --json". 0 or a negative
 * errno, with the error filled.
 */
int topo_measured(struct topo *topo, const char *path, struct vpeer_error *error);

/* "PASS", or "not measured". */
const char *topo_verdict(const struct topo_pair *pair);

/* As the selftest has it, empty unless measured. */
const char *topo_grade(const struct topo_pair *pair);
const char *measure_name(enum measure measure);

/* "m0", "i12" */
#define TOPO_ID_LEN	16
char *topo_id(char kind, size_t index, char text[TOPO_ID_LEN]);

/* Tables for people; @list: a line for each pair, however many. */
void topo_print(const struct topo *topo, bool list, FILE *file);

/* The document of --json; vpeer-topo(1) describes it. */
struct json_object *topo_document(const struct topo *topo);

/* For cells: a distance's short word, a bridge's letter, a verdict's mark. */
#define TOPO_CELL_LEN	32
char *topo_cell(const struct topo_pair *pair, char text[TOPO_CELL_LEN]);
const char *topo_code(unsigned int distance);
char topo_mark(enum measure verdict);

#define TOPO_LETTERS_LEN	8
char *topo_letters(size_t number, char text[TOPO_LETTERS_LEN]);

bool topo_uses_distance(const struct topo *topo, unsigned int distance);
bool topo_uses_verdict(const struct topo *topo, enum measure verdict);

void topo_svg(const struct topo *topo, FILE *file);

#endif /* TOPO_H */

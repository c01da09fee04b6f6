/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A machine of sites/ or topologies/, and what "vpeer topo" makes of it. */
#ifndef TOPO_FIXTURE_H
#define TOPO_FIXTURE_H

#include "fixture.h"
#include "site_file.h"
#include "topo/topofile.h"

#define TOPOLOGIES "topologies"

struct topo_fixture {
	void *root;
	struct made_site *made;
	struct site site;
	struct topo topo;
};

void topo_begin(struct topo_fixture *fixture, const char *directory, const char *name);
void topo_end(struct topo_fixture *fixture);

/* Reads the machine's files again, after a test changed them. */
void topo_again(struct topo_fixture *fixture);

/*
 * A report of the selftest: @verdict is asked for each pair of GPU memory and RDMA
 * device, and NULL leaves the pair out; "PASS window" is of that grade. Returns what
 * topo_measured() does.
 */
typedef const char *topo_judge(size_t row, size_t column);
int topo_measure(struct topo_fixture *fixture, topo_judge *verdict);

/* The topology file for NCCL; NULL where it is refused. The caller frees it. */
char *topo_file(const struct topo_fixture *fixture);

/* What an output function writes. The caller frees it. */
char *topo_output(const struct topo *topo, void (*write)(const struct topo *topo, FILE *file));

#endif /* TOPO_FIXTURE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A guest for chosen functions: what it needs, as QEMU or libvirt is told. */
#ifndef HOST_GUEST_H
#define HOST_GUEST_H

#include <stdio.h>

#include "../../lib/internal.h"
#include "facts.h"

#define MOST_CELLS	8

/* What the command line asks for. */
struct guest_wish {
	uint64_t memory;
	unsigned int cpus;
	bool guest_iommu;
	bool switches;
	bool iommufd;
	bool managed;		/* libvirt unbinds and binds drivers itself */
	bool fragment;		/* the devices' elements only */
	const char *whole;	/* an option of which these know nothing, or NULL */
	bool lines;		/* an argument a line */
	bool seabios;
	const char *name;
	const char *kernel, *initrd, *append;	/* NULL when absent */
	char **extra;
	size_t extra_count;
};

/* A NUMA node of the guest. */
struct cell {
	int node;		/* of the host, NO_NODE: any */
	char cpulist[256];	/* of that node, empty when unknown */
	uint64_t memory;
	unsigned int first_cpu, cpus;
	uint64_t page;		/* size of huge pages, 0 for none */
};

struct guest {
	const struct guest_wish *wish;
	const struct host *host;
	struct cell cells[MOST_CELLS];
	size_t cell_count;
	bool expanders;		/* a host bridge for each cell */
	unsigned int phys_bits;	/* limit of the guest's addresses, 0 for none */
	unsigned int aw_bits;	/* of its own IOMMU */
	uint64_t window;	/* 64-bit MMIO, bytes */
};

/* 0, or a negative errno with @error filled: the first that cannot be given. */
int guest_may(const struct host *host, const struct guest_wish *wish,
	      struct vpeer_error *error);

int guest_plan(struct guest *guest, const struct host *host, const struct guest_wish *wish,
	       struct vpeer_error *error);

/* What the guest lacks, though it is laid out all the same. */
void guest_warn(const struct guest *guest, FILE *file);

/* Cell of a function's node. */
size_t guest_cell(const struct guest *guest, const struct function *function);

void guest_print_qemu(const struct guest *guest, FILE *file);
void guest_print_xml(const struct guest *guest, FILE *file);

#endif /* HOST_GUEST_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* PCI functions of a machine that a site file describes, and their files in sysfs. */
#ifndef SITE_TREE_H
#define SITE_TREE_H

#include <stddef.h>

#include "config_space.h"

#define MOST_FUNCTIONS	256

struct tree_bar {
	unsigned long long size;	/* 0 for none */
	unsigned long long start;	/* 0: unassigned */
	bool registers;			/* 32-bit, not prefetchable */
	bool narrow;			/* 32-bit, prefetchable */
};

struct tree_function {
	char pci[16];
	char below[16];		/* a bridge; empty: on the root bus */
	char root[16];		/* host bridge, pci0000:00 unless said */
	char driver[32];
	char physfn[16];
	char net[32], ib[32];	/* devices of it */
	char group[32];		/* "12:DMA-FQ" */
	int node;
	char speed[32], max_speed[32], width[8], max_width[8];
	struct tree_bar bars[6];
	struct config_space space;
	size_t config_bytes;	/* readable */
	bool silent;		/* all of them are ones */
	unsigned int mask;	/* bits of its DMA mask */
};

struct tree {
	struct tree_function functions[MOST_FUNCTIONS];
	size_t count;
};

/* A line of words such as "0000:03:00.0 class=0x030200 driver=nvidia": adds it, or changes it. */
void tree_take(struct tree *tree, const char *words);
void tree_drop(struct tree *tree, const char *pci);

void tree_make(const struct tree *tree, const char *root);

#endif /* SITE_TREE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Whether a topology file for NCCL is well, and of this machine. */
#ifndef TOPO_TOPOFILE_H
#define TOPO_TOPOFILE_H

#include <libxml/tree.h>

#include "../finding.h"
#include "nccl.h"

#define TOPOFILE_MOST_BYTES	(1 << 20)

struct topofile {
	const char *path;
	const struct topo *topo;
	struct findings *all;
	struct nccl_cpu cpu;
	xmlDoc *document;
	bool strange;	/* most of its functions are not here: it is another machine's */
};

/*
 * Adds what it finds. 0, or a negative errno if the file cannot be read.
 */
int topofile_read(const struct topo *topo, const char *path, struct findings *all);

/* As topofile_read(), of what a file holds. */
void topofile_check(const struct topo *topo, const char *path, const char *text, size_t length,
		    struct findings *all);

/* The parts. */
void topofile_reader(struct topofile *file, const char *text, size_t length);
bool topofile_form(struct topofile *file, const xmlNode *root);
void topofile_functions(struct topofile *file, const xmlNode *root);
void topofile_cpus(struct topofile *file, const xmlNode *root);
void topofile_devices(struct topofile *file, const xmlNode *root);
void topofile_missing(struct topofile *file, const xmlNode *root);

/* Begins a finding of an element, with attribute @key - NULL for none - as evidence. */
void topofile_add(struct topofile *file, const xmlNode *node, const char *name, const char *key);

/* The element's name as NCCL reads it, with the prefix of a namespace. */
bool topofile_is(const xmlNode *node, const char *name);

/* Next element in the order of the file, below @top. */
const xmlNode *topofile_next(const xmlNode *top, const xmlNode *node);

/* False where there is no such attribute; longer values are cut. */
#define TOPOFILE_VALUE_LEN	512
bool topofile_value(const xmlNode *node, const char *key, char value[TOPOFILE_VALUE_LEN]);

/* A decimal or 0x hexadecimal number. */
bool topofile_number(const char *text, long *number);

/* A <pci> that is no bridge: a GPU or a NIC, by class or by what is in it. */
bool topofile_is_end(const xmlNode *node);

bool topofile_has(const xmlNode *node, const char *child);

/* Of this machine: the function that a <pci> of a GPU or NIC means. NULL for none. */
const struct function *topofile_function(const struct topofile *file, const xmlNode *node);

void topofile_print(const struct findings *all, FILE *file);
struct json_object *topofile_document(const char *path, const struct findings *all);

#endif /* TOPO_TOPOFILE_H */

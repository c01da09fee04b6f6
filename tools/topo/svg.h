/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Parts of the drawing: the tree of PCI with NUMA nodes, and below it the matrix. */
#ifndef TOPO_SVG_H
#define TOPO_SVG_H

#include "topo.h"

#define SVG_MARGIN	16
#define SVG_CHAR	7	/* width of a character, more or less */

/* A host bridge, a bridge, or a function at the end. */
struct svg_box {
	const char *name;
	const struct function *function;	/* NULL of a host bridge */
	size_t depth;
	size_t parent;				/* its own number, of a host bridge */
	size_t first, last;			/* rows of the functions below it */
	bool leaf;
};

struct svg_tree {
	const struct topo *topo;
	struct svg_box *boxes;	/* each after its parent */
	size_t count;
	size_t leaves;
	size_t depth;		/* of the deepest */
};

void svg_tree_make(struct svg_tree *tree, const struct topo *topo);
void svg_tree_free(struct svg_tree *tree);

/* What a function at the end is, for people: "m0 memory 128 GiB nvidia clique 0". */
#define SVG_LABEL_LEN	512
char *svg_label(const struct svg_tree *tree, const struct svg_box *box, char text[SVG_LABEL_LEN]);

/* NUMA node of what is below a host bridge, NO_NODE where it is unknown or of several. */
int svg_host_node(const struct svg_tree *tree, const struct svg_box *host);

unsigned int svg_tree_width(const struct svg_tree *tree);
unsigned int svg_tree_height(const struct svg_tree *tree);
void svg_tree_draw(const struct svg_tree *tree, unsigned int top, FILE *file);

unsigned int svg_matrix_width(const struct topo *topo);
unsigned int svg_matrix_height(const struct topo *topo);
void svg_matrix_draw(const struct topo *topo, unsigned int top, FILE *file);

/* Text of an element: escaped, "?" for what is no UTF-8 or no character of XML. */
void svg_escape(const char *text, FILE *file);

/* @style: attributes, may be empty. */
void svg_text(FILE *file, unsigned int x, unsigned int y, const char *style, const char *format,
	      ...) __attribute__((format(printf, 5, 6)));
void svg_rect(FILE *file, unsigned int x, unsigned int y, unsigned int width, unsigned int height,
	      const char *style);

#endif /* TOPO_SVG_H */

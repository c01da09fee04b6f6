// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Draws the tree: from the left on host bridges, bridges, functions; NUMA nodes behind them. */
#include <string.h>

#include "../util.h"
#include "svg.h"

#define ROW		26
#define BOX		20
#define BOX_WIDTH	112
#define COLUMN		144
#define HEADER		22	/* above each host bridge */
#define STRIPE		8

#define STYLE_HOST	"rx=\"3\" fill=\"#e8e8e8\" stroke=\"#808080\""
#define STYLE_BRIDGE	"rx=\"3\" fill=\"#ffffff\" stroke=\"#808080\""
#define STYLE_MEMORY	"rx=\"3\" fill=\"#d5ecd4\" stroke=\"#2e7d32\""
#define STYLE_INITIATOR	"rx=\"3\" fill=\"#d6e6f7\" stroke=\"#1a5fb4\""


/* Host bridges from the first one to that of a row. */
static unsigned int headers(const struct svg_tree *tree, size_t row)
{
	unsigned int count = 0;

	for (size_t i = 0; i < tree->count; i++)
		count += !tree->boxes[i].depth && tree->boxes[i].first <= row;
	return count;
}

static unsigned int row_y(const struct svg_tree *tree, size_t row, unsigned int top)
{
	return top + headers(tree, row) * HEADER + (unsigned int)row * ROW;
}

/* Its middle, halfway between the first and the last below it. */
static unsigned int box_y(const struct svg_tree *tree, const struct svg_box *box, unsigned int top)
{
	return (row_y(tree, box->first, top) + row_y(tree, box->last, top) + ROW) / 2;
}

/* Functions at the end stand below one another. */
static unsigned int box_x(const struct svg_tree *tree, const struct svg_box *box)
{
	size_t column = box->leaf ? tree->depth : box->depth;

	return SVG_MARGIN + STRIPE + (unsigned int)column * COLUMN;
}

static bool is_memory(const struct topo *topo, const struct function *function)
{
	for (size_t i = 0; i < topo->memory_count; i++)
		if (topo->memory[i].function == function)
			return true;
	return false;
}

static const char *style_of(const struct svg_tree *tree, const struct svg_box *box)
{
	if (!box->depth)
		return STYLE_HOST;
	if (!box->leaf)
		return STYLE_BRIDGE;
	return is_memory(tree->topo, box->function) ? STYLE_MEMORY : STYLE_INITIATOR;
}

static void draw_link(const struct svg_tree *tree, const struct svg_box *box, unsigned int top,
		      FILE *file)
{
	const struct svg_box *parent = &tree->boxes[box->parent];
	unsigned int from = box_x(tree, parent) + BOX_WIDTH;

	fprintf(file, "<path d=\"M%u %uH%uV%uH%u\" fill=\"none\" stroke=\"#808080\"/>\n", from,
		box_y(tree, parent, top), from + (COLUMN - BOX_WIDTH) / 2, box_y(tree, box, top),
		box_x(tree, box));
}

static void draw_box(const struct svg_tree *tree, const struct svg_box *box, unsigned int top,
		     FILE *file)
{
	unsigned int x = box_x(tree, box), y = box_y(tree, box, top);
	char label[SVG_LABEL_LEN];

	svg_rect(file, x, y - BOX / 2, BOX_WIDTH, BOX, style_of(tree, box));
	svg_text(file, x + BOX_WIDTH / 2, y + 4, "text-anchor=\"middle\"", "%s", box->name);
	if (box->leaf)
		svg_text(file, x + BOX_WIDTH + 8, y + 4, "", "%s", svg_label(tree, box, label));
}

/* Behind all that is below a host bridge. */
static void draw_node(const struct svg_tree *tree, const struct svg_box *host, unsigned int top,
		      unsigned int width, FILE *file)
{
	static const char *const fills[] = { "fill=\"#fdf6e3\"", "fill=\"#eef3fa\"",
					     "fill=\"#f4eef8\"", "fill=\"#eef6ee\"" };
	static const char *const stripes[] = { "fill=\"#d9a441\"", "fill=\"#5a8ac6\"",
					       "fill=\"#9a6bb5\"", "fill=\"#6aa86a\"" };
	unsigned int from = row_y(tree, host->first, top) - HEADER + 4;
	unsigned int height = row_y(tree, host->last, top) + ROW - from;
	int node = svg_host_node(tree, host);
	size_t colour = (size_t)node % ARRAY_SIZE(fills);

	svg_rect(file, SVG_MARGIN, from, width - 2 * SVG_MARGIN, height,
		 node < 0 ? "fill=\"#f5f5f5\"" : fills[colour]);
	svg_rect(file, SVG_MARGIN, from, STRIPE / 2, height,
		 node < 0 ? "fill=\"#b0b0b0\"" : stripes[colour]);
	if (node < 0)
		svg_text(file, SVG_MARGIN + STRIPE, from + 13, "fill=\"#555555\"",
			 "NUMA node unknown, or several");
	else
		svg_text(file, SVG_MARGIN + STRIPE, from + 13, "fill=\"#555555\"", "NUMA node %d",
			 node);
}

unsigned int svg_tree_width(const struct svg_tree *tree)
{
	char label[SVG_LABEL_LEN];
	size_t longest = 0;

	for (size_t i = 0; i < tree->count; i++) {
		size_t length = !tree->boxes[i].leaf ?
					0 : strlen(svg_label(tree, &tree->boxes[i], label));

		longest = length > longest ? length : longest;
	}
	return 2 * SVG_MARGIN + STRIPE + (unsigned int)tree->depth * COLUMN + BOX_WIDTH + 8 +
	       (unsigned int)longest * SVG_CHAR;
}

unsigned int svg_tree_height(const struct svg_tree *tree)
{
	return tree->leaves ? row_y(tree, tree->leaves - 1, 0) + ROW + SVG_MARGIN : ROW;
}

void svg_tree_draw(const struct svg_tree *tree, unsigned int top, FILE *file)
{
	unsigned int width = svg_tree_width(tree);

	if (!tree->count)
		svg_text(file, SVG_MARGIN, top + ROW / 2, "",
			 "no GPU, no accelerator, no aperture, no RDMA or NVMe device");
	for (size_t i = 0; i < tree->count; i++)
		if (!tree->boxes[i].depth)
			draw_node(tree, &tree->boxes[i], top, width, file);
	for (size_t i = 0; i < tree->count; i++)
		if (tree->boxes[i].depth)
			draw_link(tree, &tree->boxes[i], top, file);
	for (size_t i = 0; i < tree->count; i++)
		draw_box(tree, &tree->boxes[i], top, file);
}

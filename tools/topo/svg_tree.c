// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which boxes the tree has, from which functions are memory or initiators. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "svg.h"

/* Host bridge, bridges from there on, function. */
static int by_path(const void *left, const void *right)
{
	const struct function *a = *(const struct function *const *)left;
	const struct function *b = *(const struct function *const *)right;
	int order = strcmp(a->root, b->root);

	for (size_t i = 0; !order && (i < a->bridge_count || i < b->bridge_count); i++)
		order = strcmp(i < a->bridge_count ? a->bridges[i] : a->pci,
			       i < b->bridge_count ? b->bridges[i] : b->pci);
	return order ? order : strcmp(a->pci, b->pci);
}

static size_t add_function(const struct function **list, size_t count,
			   const struct function *function)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == function)
			return count;
	list[count] = function;
	return count + 1;
}

static size_t functions_of(const struct topo *topo, const struct function **list)
{
	size_t count = 0;

	for (size_t i = 0; i < topo->memory_count; i++)
		count = add_function(list, count, topo->memory[i].function);
	for (size_t i = 0; i < topo->initiator_count; i++)
		if (topo->initiators[i].function)
			count = add_function(list, count, topo->initiators[i].function);
	if (count)
		qsort(list, count, sizeof(*list), by_path);
	return count;
}

static size_t add_box(struct svg_tree *tree, const char *name, size_t depth, size_t parent)
{
	struct svg_box *box;

	tree->boxes = xrealloc(tree->boxes, tree->count + 1, sizeof(*box));
	box = &tree->boxes[tree->count];
	*box = (struct svg_box){
		.name = name,
		.depth = depth,
		.parent = parent,
		.first = tree->leaves,
		.last = tree->leaves,
		.function = depth ? site_function(tree->topo->site, name) : NULL,
	};
	if (depth > tree->depth)
		tree->depth = depth;
	return tree->count++;
}

/* The box of that name below @parent, if it is the last one there. */
static size_t descend(struct svg_tree *tree, const char *name, size_t depth, size_t parent)
{
	for (size_t i = tree->count; i--;) {
		struct svg_box *box = &tree->boxes[i];

		if (box->depth != depth || (depth && box->parent != parent))
			continue;
		if (strcmp(box->name, name) || box->leaf)
			break;
		box->last = tree->leaves;
		return i;
	}
	return add_box(tree, name, depth, depth ? parent : tree->count);
}

static void add_leaf(struct svg_tree *tree, const struct function *function)
{
	size_t at = descend(tree, function->root, 0, 0);

	for (size_t i = 0; i < function->bridge_count; i++)
		at = descend(tree, function->bridges[i], i + 1, at);
	at = add_box(tree, function->pci, function->bridge_count + 1, at);
	tree->boxes[at].leaf = true;
	tree->leaves++;
}

int svg_host_node(const struct svg_tree *tree, const struct svg_box *host)
{
	int node = NO_NODE;

	for (size_t i = 0; i < tree->count; i++) {
		const struct svg_box *box = &tree->boxes[i];

		if (!box->leaf || box->first < host->first || box->first > host->last)
			continue;
		if (node != NO_NODE && node != box->function->numa_node)
			return NO_NODE;
		node = box->function->numa_node;
		if (node == NO_NODE)
			return NO_NODE;
	}
	return node;
}

void svg_tree_make(struct svg_tree *tree, const struct topo *topo)
{
	const struct function **list = xrealloc(NULL, topo->memory_count + topo->initiator_count,
						sizeof(*list));
	size_t count = functions_of(topo, list);

	*tree = (struct svg_tree){ .topo = topo };
	for (size_t i = 0; i < count; i++)
		add_leaf(tree, list[i]);
	free(list);
}

void svg_tree_free(struct svg_tree *tree)
{
	free(tree->boxes);
}

static void append(char *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void append(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;

	va_start(args, format);
	if (vsnprintf(text + used, SVG_LABEL_LEN - used, format, args) < 0)
		text[used] = '\0';
	va_end(args);
}

static void append_memory(const struct topo *topo, const struct function *function, char *text)
{
	char id[TOPO_ID_LEN], bytes[BYTES_LEN];
	bool any = false;

	for (size_t i = 0; i < topo->memory_count; i++) {
		const struct topo_memory *row = &topo->memory[i];

		if (row->function != function)
			continue;
		append(text, "%s%s %s", any ? ", " : "", topo_id('m', i, id),
		       topo_is_gpu(function) ? "GPU" : "memory");
		if (row->size)
			append(text, " BAR %u %s", row->bar, format_bytes(row->size, bytes));
		if (row->clique == PRESENT)
			append(text, " clique %u", row->clique_id);
		any = true;
	}
}

static void append_initiators(const struct topo *topo, const struct function *function, char *text)
{
	char id[TOPO_ID_LEN];

	for (size_t i = 0; i < topo->initiator_count; i++)
		if (topo->initiators[i].function == function)
			append(text, "%s%s %s", *text ? ", " : "", topo_id('i', i, id),
			       topo->initiators[i].name);
}

char *svg_label(const struct svg_tree *tree, const struct svg_box *box, char text[SVG_LABEL_LEN])
{
	const struct function *function = box->function;

	text[0] = '\0';
	append_memory(tree->topo, function, text);
	append_initiators(tree->topo, function, text);
	if (function->sriov.physfn[0])
		append(text, ", VF of %s", function->sriov.physfn);
	append(text, ", %s:%s", function->vendor, function->device);
	append(text, ", %s", function->driver[0] ? function->driver : "no driver");
	if (function->numa_node == NO_NODE)
		append(text, ", node unknown");
	else
		append(text, ", node %d", function->numa_node);
	return text;
}

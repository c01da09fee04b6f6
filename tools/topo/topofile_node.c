// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Elements and attributes of a file that is checked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "topofile.h"

/* That names it for people. */
static const char *const naming[] = { "busid", "numaid", "name", "target", "dev" };

static void describe(const xmlNode *node, char *text, size_t size)
{
	char value[TOPOFILE_VALUE_LEN];

	for (size_t i = 0; i < ARRAY_SIZE(naming); i++) {
		if (!topofile_value(node, naming[i], value))
			continue;
		text_format(text, size, "%s %s", node->name, value);
		return;
	}
	text_format(text, size, "%s", node->name);
}

void topofile_add(struct topofile *file, const xmlNode *node, const char *name, const char *key)
{
	char object[TOPOFILE_VALUE_LEN + 64], saw[TOPOFILE_VALUE_LEN + 64];
	char value[TOPOFILE_VALUE_LEN];

	describe(node, object, sizeof(object));
	finding_add(file->all, name, object);
	if (key && topofile_value(node, key, value))
		text_format(saw, sizeof(saw), "%s=\"%s\"", key, value);
	else if (key)
		text_format(saw, sizeof(saw), "no %s", key);
	else
		text_format(saw, sizeof(saw), "<%s>", node->name);
	finding_saw(file->all, saw, "%s:%ld", file->path, xmlGetLineNo(node));
}

bool topofile_is(const xmlNode *node, const char *name)
{
	if (node->type != XML_ELEMENT_NODE || strcmp((const char *)node->name, name))
		return false;
	return !node->ns || !node->ns->prefix;
}

static const xmlNode *element(const xmlNode *node)
{
	while (node && node->type != XML_ELEMENT_NODE)
		node = node->next;
	return node;
}

const xmlNode *topofile_next(const xmlNode *top, const xmlNode *node)
{
	const xmlNode *next = element(node->children);

	while (!next && node != top) {
		next = element(node->next);
		node = node->parent;
	}
	return next;
}

bool topofile_value(const xmlNode *node, const char *key, char value[TOPOFILE_VALUE_LEN])
{
	const xmlAttr *at;

	for (at = node->properties; at; at = at->next) {
		size_t used = 0;

		if (strcmp((const char *)at->name, key) || (at->ns && at->ns->prefix))
			continue;
		value[0] = '\0';
		for (const xmlNode *part = at->children; part; part = part->next) {
			if (part->type != XML_TEXT_NODE || used >= TOPOFILE_VALUE_LEN)
				continue;
			text_format(value + used, TOPOFILE_VALUE_LEN - used, "%s",
				    (const char *)part->content);
			used = strlen(value);
		}
		return true;
	}
	return false;
}

bool topofile_number(const char *text, long *number)
{
	char *end;

	errno = 0;
	*number = strtol(text, &end, 0);
	return *text && !*end && !errno && *text != ' ';
}

bool topofile_has(const xmlNode *node, const char *child)
{
	for (const xmlNode *at = node->children; at; at = at->next)
		if (topofile_is(at, child))
			return true;
	return false;
}

bool topofile_is_end(const xmlNode *node)
{
	char class[TOPOFILE_VALUE_LEN];

	if (!topofile_is(node, "pci") || topofile_has(node, "pci"))
		return false;
	if (topofile_has(node, "gpu") || topofile_has(node, "nic"))
		return true;
	if (!topofile_value(node, "class", class))
		return true;
	return !strncmp(class, "0x03", 4) || !strncmp(class, "0x02", 4) ||
	       !strncmp(class, "0x12", 4);
}

static bool has_device(const struct topo *topo, const struct function *function)
{
	size_t at = 0;

	return nccl_device(topo, function, &at);
}

const struct function *topofile_function(const struct topofile *file, const xmlNode *node)
{
	const struct topo *topo = file->topo;
	const struct function *function;
	char pci[TOPOFILE_VALUE_LEN], key[VPEER_PCI_LEN];

	if (!topofile_value(node, "busid", pci))
		return NULL;
	function = site_function(topo->site, pci);
	if (function && (topo_is_gpu(function) || has_device(topo, function)))
		return function;
	for (size_t i = 0; i < topo->initiator_count; i++) {
		const struct topo_initiator *device = &topo->initiators[i];

		if (!device->rdma || device->soft || !device->function)
			continue;
		nccl_key(device->function->pci, key);
		if (!strcmp(key, pci))
			return device->function;
	}
	return function;
}

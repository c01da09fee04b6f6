// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Which elements stand where, and which attributes they have and need. */
#include <string.h>

#include "../util.h"
#include "topofile.h"

/* What NCCL adds at least: <gpu> and an <nvlink>, or <nic> and <net>. */
#define ADDED	2

/* Lists of words between blanks. */
static const struct form {
	const char *name;
	const char *parents;
	const char *attributes;
} forms[] = {
	{ "system", "", "version name" },
	{ "cpu", "system",
	  "numaid affinity affinity_offset arch vendor familyid modelid host_hash" },
	{ "pci", "cpu pci",
	  "busid class link_speed link_width vendor device subsystem_vendor subsystem_device" },
	{ "gpu", "pci", "dev sm rank gdr mlopart gcn arch" },
	{ "nvlink", "gpu", "target count tclass" },
	{ "xgmi", "gpu", "target count tclass" },
	{ "c2c", "gpu", "bw count" },
	{ "pcilink", "pci", "target" },
	{ "nic", "pci cpu", "" },
	{ "net", "nic",
	  "name dev latency speed port guid maxconn maxConn gdr coll net keep rail plane" },
	{ "gin", "nic",
	  "name dev latency speed port guid maxconn maxConn gdr coll net keep rail plane" },
	{ "rma", "nic",
	  "name dev latency speed port guid maxconn maxConn gdr coll net keep rail plane" },
};

static bool has_word(const char *words, const char *word)
{
	size_t length = strlen(word);

	for (const char *at = words; *at; at += strspn(at, " ")) {
		size_t here = strcspn(at, " ");

		if (here == length && !memcmp(at, word, length))
			return true;
		at += here;
	}
	return false;
}

static const struct form *form_of(const xmlNode *node)
{
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++)
		if (topofile_is(node, forms[i].name))
			return &forms[i];
	return NULL;
}

static bool is_left_out(struct topofile *file, const xmlNode *node)
{
	const struct form *form = form_of(node);
	bool root = node->parent->type != XML_ELEMENT_NODE;
	const char *parent = root ? "" : (const char *)node->parent->name;

	if (form && (root || has_word(form->parents, parent)))
		return false;
	topofile_add(file, node, "element", NULL);
	if (form)
		finding_says(file->all, STATE_FAIL,
			     "<%s> stands in <%s>: NCCL leaves it out, with all that is in it",
			     form->name, parent);
	else
		finding_says(file->all, STATE_FAIL,
			     "NCCL knows no <%s>: it is left out, with all that is in it",
			     node->name);
	if (form)
		finding_remedy(file->all, job_user, "put it into <%.*s>",
			       (int)strcspn(form->parents, " "), form->parents);
	else
		finding_remedy(file->all, job_user, "take it out");
	return true;
}

static void check_attributes(struct topofile *file, const xmlNode *node)
{
	const struct form *form = form_of(node);
	const xmlAttr *at;

	for (at = node->properties; at; at = at->next) {
		if (has_word(form->attributes, (const char *)at->name))
			continue;
		topofile_add(file, node, "attribute", (const char *)at->name);
		finding_says(file->all, STATE_WARN, "NCCL does not know the attribute '%s' of "
			     "<%s>", at->name, form->name);
		finding_remedy(file->all, job_user, "take it out, or mend its name");
	}
}

static void need(struct topofile *file, const xmlNode *node, const char *key, const char *why)
{
	char value[TOPOFILE_VALUE_LEN];

	if (topofile_value(node, key, value))
		return;
	topofile_add(file, node, "attribute", key);
	finding_says(file->all, STATE_FAIL, "<%s> has no %s%s", node->name, key, why);
	finding_remedy(file->all, job_user, "add it; 'vpeer topo --nccl-xml' writes all that is "
		       "needed");
}

/*
 * Whether NCCL comes by and fills in what lacks: on its way up from each GPU, and from
 * each NIC whose devices the file does not name. What holds neither it takes out.
 */
static bool is_filled(const xmlNode *node)
{
	bool named = false;

	for (const xmlNode *at = node; at; at = topofile_next(node, at)) {
		if (!topofile_is_end(at))
			continue;
		if (!topofile_has(at, "nic"))
			return true;
		named = true;
	}
	return !named;
}

static void check_pci(struct topofile *file, const xmlNode *node)
{
	static const char unfilled[] = ", and NCCL does not fill it in here: it fails";
	const struct site *site = file->topo->site;
	char busid[TOPOFILE_VALUE_LEN];

	need(file, node, "busid", ": NCCL fails");
	if (!topofile_value(node, "busid", busid))
		return;
	if (!site_function(site, busid))
		need(file, node, "class", ", and sysfs has no such function to take it from");
	else if (!is_filled(node))
		need(file, node, "class", unfilled);
	if (is_filled(node))
		return;
	need(file, node, "link_speed", unfilled);
	need(file, node, "link_width", unfilled);
}

static void check_cpu(struct topofile *file, const xmlNode *node)
{
	char vendor[TOPOFILE_VALUE_LEN], family[TOPOFILE_VALUE_LEN];

	need(file, node, "numaid", ": NCCL fails");
	if (!is_filled(node))
		need(file, node, "arch", ", and NCCL does not fill it in here: it fails");
	if (!topofile_value(node, "vendor", vendor) || !topofile_value(node, "familyid", family))
		return;
	if (strcmp(vendor, "AuthenticAMD"))
		need(file, node, "modelid", ", but a familyid: NCCL fills in neither, and fails");
}

static void check_needs(struct topofile *file, const xmlNode *node)
{
	if (topofile_is(node, "pci"))
		check_pci(file, node);
	else if (topofile_is(node, "cpu"))
		check_cpu(file, node);
	else if (topofile_is(node, "net") || topofile_is(node, "gin") || topofile_is(node, "rma"))
		need(file, node, "name", ": NCCL finds no device for it");
	else if (topofile_is(node, "nvlink") || topofile_is(node, "xgmi"))
		need(file, node, "count", ": NCCL fails");
	else if (topofile_is(node, "pcilink"))
		need(file, node, "target", ": NCCL fails");
	else if (topofile_is(node, "c2c"))
		need(file, node, "bw", ": NCCL fails");
}

/* What must be a number, and is read as 0 otherwise. */
static void check_numbers(struct topofile *file, const xmlNode *node)
{
	static const char numbers[] = "numaid familyid modelid dev sm rank gdr count bw speed port "
				      "maxconn coll";
	char value[TOPOFILE_VALUE_LEN];
	const xmlAttr *at;
	long number;

	for (at = node->properties; at; at = at->next) {
		if (!has_word(numbers, (const char *)at->name) ||
		    !topofile_value(node, (const char *)at->name, value) ||
		    topofile_number(value, &number))
			continue;
		topofile_add(file, node, "attribute", (const char *)at->name);
		finding_says(file->all, STATE_FAIL, "%s is no number: NCCL reads %ld", at->name,
			     number);
		finding_remedy(file->all, job_user, "give a decimal number");
	}
}

/* False where there are so many that nothing else is worth saying. */
static bool check_count(struct topofile *file, const xmlNode *root)
{
	size_t count = 0, added = 0;

	for (const xmlNode *at = root; at; at = topofile_next(root, at)) {
		count += form_of(at) != NULL;
		if (topofile_is_end(at) && !topofile_has(at, "gpu") && !topofile_has(at, "nic"))
			added += ADDED;
	}
	if (count + added < NCCL_MOST_NODES)
		return true;
	topofile_add(file, root, "size", NULL);
	finding_says(file->all, STATE_FAIL,
		     "%zu elements, and %zu or more that NCCL adds: it takes fewer than %d", count,
		     added, NCCL_MOST_NODES);
	finding_remedy(file->all, job_user, "leave out bridges that hold a single function");
	return count < 4 * NCCL_MOST_NODES;
}

/* The one that follows what is below @node. */
static const xmlNode *skip(const xmlNode *top, const xmlNode *node)
{
	while (node != top) {
		for (const xmlNode *next = node->next; next; next = next->next)
			if (next->type == XML_ELEMENT_NODE)
				return next;
		node = node->parent;
	}
	return NULL;
}

bool topofile_form(struct topofile *file, const xmlNode *root)
{
	const xmlNode *at = root;

	if (!check_count(file, root))
		return false;
	while (at) {
		if (is_left_out(file, at)) {
			at = skip(root, at);
			continue;
		}
		check_attributes(file, at);
		check_needs(file, at);
		check_numbers(file, at);
		at = topofile_next(root, at);
	}
	return true;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* <pci> elements: addresses, classes, links, NUMA nodes; and whether they are of this machine. */
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"
#include "topofile.h"

#define CLASS_BRIDGE	"0x0604"
#define REMEDY_WRITE	"take what 'vpeer topo --nccl-xml' writes on this machine"

/* As NCCL writes the addresses that it looks for. */
static bool is_busid(const char *text)
{
	struct vpeer_pci_address address;
	char again[VPEER_PCI_LEN];

	return !vpeer_pci_parse(text, &address) &&
	       !strcmp(vpeer_pci_format(&address, again), text);
}

static bool check_address(struct topofile *file, const xmlNode *node)
{
	char busid[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "busid", busid))
		return false;
	if (is_busid(busid))
		return true;
	topofile_add(file, node, "busid", "busid");
	finding_says(file->all, STATE_FAIL, "it is no address such as 0000:3b:00.0: NCCL "
		     "compares letter by letter, so it finds nothing by it");
	finding_remedy(file->all, job_user, "write domain, bus, device and function in lower-case "
		       "hexadecimal, as 'lspci -D' does");
	return false;
}

static void check_duplicate(struct topofile *file, const xmlNode *root, const xmlNode *node)
{
	char busid[TOPOFILE_VALUE_LEN], other[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "busid", busid))
		return;
	for (const xmlNode *at = root; at != node; at = topofile_next(root, at)) {
		if (!topofile_is(at, "pci") || !topofile_value(at, "busid", other) ||
		    strcmp(busid, other))
			continue;
		topofile_add(file, node, "duplicate", "busid");
		finding_saw(file->all, other, "%s:%ld", file->path, xmlGetLineNo(at));
		finding_says(file->all, STATE_FAIL,
			     "%s stands in line %ld already: NCCL takes the first, and this one "
			     "is lost", busid, xmlGetLineNo(at));
		finding_remedy(file->all, job_user, "keep the right one of them");
		return;
	}
}

/* Both as "0x030200": of the same base class. */
static bool same_base(const char *text, uint32_t class)
{
	uint64_t number;

	return !vpeer_parse_u64(text, &number) && number >> 16 == class >> 16;
}

static void check_class(struct topofile *file, const xmlNode *node, const struct function *function)
{
	char class[TOPOFILE_VALUE_LEN], here[16];

	if (!topofile_value(node, "class", class) || same_base(class, function->class))
		return;
	text_format(here, sizeof(here), "0x%06x", function->class);
	topofile_add(file, node, "class", "class");
	finding_saw(file->all, here, "/sys/bus/pci/devices/%s/class", function->pci);
	finding_says(file->all, STATE_FAIL, "the file says class %s, and %s is of class %s here: "
		     "another device has this address", class, function->pci, here);
	finding_remedy(file->all, job_user, REMEDY_WRITE);
}

/* A <gpu> or <nic> in what is none. */
static void check_kind(struct topofile *file, const xmlNode *node, const struct function *function)
{
	size_t at = 0;
	const char *wrong = NULL;

	if (topofile_has(node, "gpu") && !topo_is_gpu(function))
		wrong = "<gpu>, but this function is no GPU";
	else if (topofile_has(node, "nic") && !nccl_device(file->topo, function, &at))
		wrong = "<nic>, but this function has no RDMA device";
	if (!wrong)
		return;
	topofile_add(file, node, "class", "busid");
	finding_says(file->all, STATE_FAIL, "the file has a %s", wrong);
	finding_remedy(file->all, job_user, REMEDY_WRITE);
}

static void say_unknown(struct topofile *file, const xmlNode *node)
{
	topofile_add(file, node, "function", "busid");
	finding_says(file->all, STATE_FAIL, "this machine has no such function");
	finding_remedy(file->all, job_user, REMEDY_WRITE "; the hypervisor decides which address "
		       "a device has in the guest");
}

/* NCCL looks for a NIC by its bus alone. */
static void check_key(struct topofile *file, const xmlNode *node, const struct function *function)
{
	char key[VPEER_PCI_LEN], busid[TOPOFILE_VALUE_LEN];
	const struct topo_initiator *device;
	size_t at = 0;

	device = nccl_device(file->topo, function, &at);
	if (topo_is_gpu(function) || !device || topofile_has(node, "nic"))
		return;
	nccl_key(function->pci, key);
	if (!topofile_value(node, "busid", busid) || !strcmp(busid, key))
		return;
	topofile_add(file, node, "key", "busid");
	finding_says(file->all, STATE_FAIL,
		     "NCCL looks for %s at %s, since it takes all functions of a bus for one NIC, "
		     "and does not find it here", device->name, key);
	finding_remedy(file->all, job_user, "name it: <nic><net name=\"%s\"/></nic> in this <pci>",
		       device->name);
}

static long node_of_cpu(const xmlNode *node)
{
	char text[TOPOFILE_VALUE_LEN];
	long number;

	while (node && !topofile_is(node, "cpu"))
		node = node->parent;
	if (!node || !topofile_value(node, "numaid", text) || !topofile_number(text, &number))
		return NO_NODE;
	return number;
}

static void check_node(struct topofile *file, const xmlNode *node, const struct function *function)
{
	long said = node_of_cpu(node);
	char here[16];

	if (said == NO_NODE || function->numa_node == NO_NODE || said == function->numa_node)
		return;
	text_format(here, sizeof(here), "%d", function->numa_node);
	topofile_add(file, node, "numa", "busid");
	finding_saw(file->all, here, "/sys/bus/pci/devices/%s/numa_node", function->pci);
	finding_says(file->all, STATE_FAIL, "it stands under NUMA node %ld, and sysfs has it at "
		     "node %d: NCCL puts threads and buffers on the wrong one", said,
		     function->numa_node);
	finding_remedy(file->all, job_user, "move it to <cpu numaid=\"%d\">",
		       function->numa_node);
}

static void check_speed(struct topofile *file, const xmlNode *node)
{
	char speed[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "link_speed", speed) || !*speed || nccl_speed(speed))
		return;
	topofile_add(file, node, "link", "link_speed");
	finding_says(file->all, STATE_FAIL, "NCCL does not know this speed, and takes 8 GT/s");
	finding_remedy(file->all, job_user, "write it as sysfs does: \"32.0 GT/s PCIe\"");
}

static void check_width(struct topofile *file, const xmlNode *node)
{
	static const long widths[] = { 0, 1, 2, 4, 8, 12, 16, 32 };
	char width[TOPOFILE_VALUE_LEN];
	long number;

	if (!topofile_value(node, "link_width", width) || !*width)
		return;
	if (topofile_number(width, &number))
		for (size_t i = 0; i < ARRAY_SIZE(widths); i++)
			if (number == widths[i])
				return;
	topofile_add(file, node, "link", "link_width");
	finding_says(file->all, STATE_FAIL, "no link of PCI Express is so wide");
	finding_remedy(file->all, job_user, "write 1, 2, 4, 8, 16 or 32");
}

static void check_link(struct topofile *file, const xmlNode *node, const struct function *function)
{
	struct nccl_link here = nccl_link(function);
	char speed[TOPOFILE_VALUE_LEN], width[TOPOFILE_VALUE_LEN];
	long lanes;

	if (!here.width || !topofile_value(node, "link_speed", speed) ||
	    !topofile_value(node, "link_width", width) || !nccl_speed(speed) ||
	    !topofile_number(width, &lanes) || lanes <= 0)
		return;
	if (nccl_speed(speed) * (double)lanes <= nccl_speed(here.speed) * here.width)
		return;
	topofile_add(file, node, "link", "link_speed");
	finding_saw(file->all, here.speed, "/sys/bus/pci/devices/%s/max_link_speed",
		    function->pci);
	finding_says(file->all, STATE_WARN, "the file says %s x%ld, which is more than the %s x%u "
		     "that the link can", speed, lanes, here.speed, here.width);
	finding_remedy(file->all, job_user, "write what sysfs has");
}

static void check_end(struct topofile *file, const xmlNode *node)
{
	const struct function *function = topofile_function(file, node);
	size_t before = file->all->count;

	if (!function) {
		say_unknown(file, node);
		return;
	}
	check_class(file, node, function);
	check_kind(file, node, function);
	check_key(file, node, function);
	check_node(file, node, function);
	check_link(file, node, function);
	if (file->all->count > before)
		return;
	topofile_add(file, node, "function", "busid");
	finding_says(file->all, STATE_OK, "%s of this machine",
		     topo_is_gpu(function) ? "a GPU" : "a NIC");
}

/* A bridge that is not here is one that only the file has: what flat VMs need. */
static void check_bridge(struct topofile *file, const xmlNode *node)
{
	const struct site *site = file->topo->site;
	const struct function *function;
	char busid[TOPOFILE_VALUE_LEN], class[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "busid", busid))
		return;
	function = site_function(site, busid);
	if (function) {
		check_class(file, node, function);
		return;
	}
	if (!topofile_value(node, "class", class) || !strncmp(class, CLASS_BRIDGE, 6))
		return;
	topofile_add(file, node, "class", "class");
	finding_says(file->all, STATE_FAIL, "it has functions below it, and is no bridge by its "
		     "class: NCCL may leave them out");
	finding_remedy(file->all, job_user, "give it class=\"0x060400\"");
}

static bool is_strange(struct topofile *file, const xmlNode *root, size_t *unknown, size_t *ends)
{
	*unknown = *ends = 0;
	for (const xmlNode *at = root; at; at = topofile_next(root, at)) {
		if (!topofile_is_end(at))
			continue;
		++*ends;
		*unknown += !topofile_function(file, at);
	}
	return *ends > 1 && *unknown * 2 > *ends;
}

static void say_strange(struct topofile *file, const xmlNode *root, size_t unknown, size_t ends)
{
	file->strange = true;
	topofile_add(file, root, "machine", NULL);
	finding_says(file->all, STATE_FAIL, "the file is another machine's: %zu of its %zu "
		     "functions are not here", unknown, ends);
	finding_remedy(file->all, job_user, REMEDY_WRITE);
}

void topofile_functions(struct topofile *file, const xmlNode *root)
{
	size_t unknown, ends;

	if (is_strange(file, root, &unknown, &ends))
		say_strange(file, root, unknown, ends);
	for (const xmlNode *at = root; at; at = topofile_next(root, at)) {
		if (!topofile_is(at, "pci") || !check_address(file, at))
			continue;
		check_duplicate(file, root, at);
		check_speed(file, at);
		check_width(file, at);
		if (file->strange)
			continue;
		if (topofile_is_end(at))
			check_end(file, at);
		else
			check_bridge(file, at);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is in the functions: RDMA devices and GPUs; and what of this machine the file lacks. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "topofile.h"

#define REMEDY_WRITE	"take what 'vpeer topo --nccl-xml' writes on this machine"
#define NVSWITCH	"fffffff:ffff:ff"	/* NCCL's target of links that a VM does not see */

static const struct topo_initiator *device_named(const struct topofile *file, const char *name)
{
	for (size_t i = 0; i < file->topo->initiator_count; i++)
		if (file->topo->initiators[i].rdma &&
		    !strcmp(file->topo->initiators[i].name, name))
			return &file->topo->initiators[i];
	return NULL;
}

/* A network device's, as NCCL's sockets have. */
static bool is_interface(const struct topofile *file, const char *name)
{
	return !strchr(name, '/') && *name != '.' &&
	       site_has(file->topo->site, "sys/class/net/%s", name);
}

static bool is_of(const struct topo_initiator *device, const char *busid)
{
	char key[VPEER_PCI_LEN];

	if (!device->function)
		return false;
	nccl_key(device->function->pci, key);
	return !strcmp(device->function->pci, busid) || !strcmp(key, busid);
}

static void check_place(struct topofile *file, const xmlNode *node,
			const struct topo_initiator *device)
{
	const xmlNode *function = node->parent->parent;
	char busid[TOPOFILE_VALUE_LEN];

	if (!topofile_is(function, "pci") || !topofile_value(function, "busid", busid) ||
	    is_of(device, busid))
		return;
	topofile_add(file, node, "net", "name");
	finding_saw(file->all, device->function ? device->function->pci : "none",
		    "/sys/class/infiniband/%s/device", device->name);
	finding_says(file->all, STATE_FAIL, "%s is a device of %s here, and not of %s: NCCL "
		     "believes the file", device->name,
		     device->function ? device->function->pci : "no function", busid);
	finding_remedy(file->all, job_user, "move it into the <pci> of its function");
}

/* Hexadecimal digits alone: "a088:c203:0055:0c0e" of sysfs is 0xa088c20300550c0e. */
static bool read_guid(const struct topofile *file, const char *device, uint64_t *guid)
{
	char text[64], digits[17];
	size_t used = 0;

	if (strchr(device, '/') ||
	    site_text(file->topo->site, text, sizeof(text),
		      "sys/class/infiniband/%s/sys_image_guid", device))
		return false;
	for (const char *at = text; *at; at++) {
		if (*at == ':')
			continue;
		if (used == sizeof(digits) - 1 || !strchr("0123456789abcdefABCDEF", *at))
			return false;
		digits[used++] = *at;
	}
	digits[used] = '\0';
	*guid = strtoull(digits, NULL, 16);
	return used == sizeof(digits) - 1 && *guid;
}

/* NCCL has it as it comes from the network, and so turned round on most machines. */
static void check_guid(struct topofile *file, const xmlNode *node,
		       const struct topo_initiator *device)
{
	char text[TOPOFILE_VALUE_LEN], here_text[32];
	uint64_t said, here;

	if (!topofile_value(node, "guid", text) || !read_guid(file, device->name, &here))
		return;
	said = strtoull(text, NULL, 0);
	if (said == here || said == __builtin_bswap64(here))
		return;
	text_format(here_text, sizeof(here_text), "0x%llx",
		    (unsigned long long)__builtin_bswap64(here));
	topofile_add(file, node, "guid", "guid");
	site_saw(file->all, file->topo->site, "sys/class/infiniband/%s/sys_image_guid",
		 device->name);
	finding_says(file->all, STATE_FAIL, "%s has another GUID: the file is of other hardware, "
		     "and NCCL believes it when it pairs ports", device->name);
	finding_remedy(file->all, job_user, "guid=\"%s\", or leave it out: NCCL fills it in",
		       here_text);
}

static void check_net(struct topofile *file, const xmlNode *node)
{
	const struct topo_initiator *device;
	char name[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "name", name))
		return;
	device = device_named(file, name);
	if (device) {
		check_place(file, node, device);
		check_guid(file, node, device);
		return;
	}
	if (is_interface(file, name))
		return;
	topofile_add(file, node, "net", "name");
	finding_says(file->all, STATE_FAIL, "this machine has no RDMA or network device %s: NCCL "
		     "leaves it out", name);
	finding_remedy(file->all, job_user, "name one that 'rdma link' shows");
}

static void check_target(struct topofile *file, const xmlNode *node)
{
	char target[TOPOFILE_VALUE_LEN], class[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "target", target) || !strcmp(target, NVSWITCH) ||
	    site_function(file->topo->site, target))
		return;
	/* A switch need not show in a VM. */
	if (!topofile_value(node, "tclass", class) || strncmp(class, "0x03", 4))
		return;
	topofile_add(file, node, "nvlink", "target");
	finding_says(file->all, STATE_FAIL, "this machine has no GPU %s", target);
	finding_remedy(file->all, job_user, "leave the links out: NCCL fills them in");
}

static void check_dev(struct topofile *file, const xmlNode *root, const xmlNode *node)
{
	char dev[TOPOFILE_VALUE_LEN], other[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "dev", dev))
		return;
	for (const xmlNode *at = root; at != node; at = topofile_next(root, at)) {
		if (!topofile_is(at, "gpu") || !topofile_value(at, "dev", other) ||
		    strcmp(dev, other))
			continue;
		topofile_add(file, node, "duplicate", "dev");
		finding_says(file->all, STATE_FAIL, "the GPU in line %ld has dev %s already",
			     xmlGetLineNo(at), dev);
		finding_remedy(file->all, job_user, "leave dev out: NCCL fills it in");
		return;
	}
}

void topofile_devices(struct topofile *file, const xmlNode *root)
{
	if (file->strange)
		return;
	for (const xmlNode *at = root; at; at = topofile_next(root, at)) {
		if (topofile_is(at, "net") || topofile_is(at, "gin") || topofile_is(at, "rma"))
			check_net(file, at);
		else if (topofile_is(at, "nvlink") || topofile_is(at, "xgmi"))
			check_target(file, at);
		else if (topofile_is(at, "gpu"))
			check_dev(file, root, at);
	}
}

static bool is_in_file(const xmlNode *root, const struct function *function)
{
	char busid[TOPOFILE_VALUE_LEN], key[VPEER_PCI_LEN];

	nccl_key(function->pci, key);
	for (const xmlNode *at = root; at; at = topofile_next(root, at)) {
		if (!topofile_is(at, "pci") || !topofile_value(at, "busid", busid))
			continue;
		if (!strcmp(busid, function->pci) ||
		    (!topo_is_gpu(function) && !strcmp(busid, key)))
			return true;
	}
	return false;
}

static void link_layer(const struct topofile *file, const char *device, char layer[32])
{
	if (site_text(file->topo->site, layer, 32, "sys/class/infiniband/%s/ports/1/link_layer",
		      device))
		layer[0] = '\0';
}

/* A NIC whose like the file names none of: of storage or management, it may be. */
static bool is_of_its_own(const struct topofile *file, const xmlNode *root,
			  const struct topo_initiator *device)
{
	const struct topo *topo = file->topo;
	char layer[32], other[32];
	bool any = false;

	link_layer(file, device->name, layer);
	for (size_t i = 0; i < topo->initiator_count; i++) {
		const struct topo_initiator *like = &topo->initiators[i];

		if (!like->rdma || like->soft || !like->function ||
		    !is_in_file(root, like->function))
			continue;
		link_layer(file, like->name, other);
		if (!strcmp(layer, other))
			return false;
		any = true;
	}
	return any;
}

static void say_missing(struct topofile *file, const xmlNode *root, const struct function *function,
			enum state state, const char *what)
{
	topofile_add(file, root, "missing", NULL);
	finding_saw(file->all, function->pci, "/sys/bus/pci/devices");
	finding_says(file->all, state, "%s %s of this machine is not in the file: NCCL places it "
		     "by sysfs, so near nothing in a flat VM", what, function->pci);
	finding_remedy(file->all, job_user, REMEDY_WRITE);
}

void topofile_missing(struct topofile *file, const xmlNode *root)
{
	const struct topo *topo = file->topo;
	const struct function *last = NULL;

	for (size_t i = 0; !file->strange && i < topo->memory_count; i++) {
		const struct function *function = topo->memory[i].function;

		if (function != last && topo_is_gpu(function) &&
		    !is_in_file(root, function))
			say_missing(file, root, function, STATE_FAIL, "GPU");
		last = function;
	}
	for (size_t i = 0; !file->strange && i < topo->initiator_count; i++) {
		const struct topo_initiator *device = &topo->initiators[i];

		if (!device->rdma || device->soft || !device->function ||
		    is_in_file(root, device->function))
			continue;
		say_missing(file, root, device->function,
			    is_of_its_own(file, root, device) ? STATE_WARN : STATE_FAIL,
			    device->name);
	}
}

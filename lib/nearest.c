// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "sysfs.h"
#include "topology.h"

#define CLASS_DISPLAY		0x03
#define CLASS_ACCELERATOR	0x12

/* Flags in the "resource" file: IORESOURCE_MEM, _PREFETCH and _MEM_64. */
#define MEMORY_BAR	(0x200ULL | 0x2000ULL | 0x100000ULL)

/* Smaller ones are registers, or the frame buffers of management controllers. */
#define LEAST_BAR	(64ULL << 20)

struct list {
	const char *sysfs;
	struct vpeer_pair_info *pairs;
	size_t count;
};

static int add(struct list *list, const struct vpeer_pci_address *memory, const char *device,
	       struct vpeer_error *error)
{
	struct vpeer_pair_info *grown = realloc(list->pairs, (list->count + 1) * sizeof(*grown));
	int err;

	if (!grown)
		return vpeer_fail_reason(error, ENOMEM, VPEER_REASON_NO_MEMORY, device,
					 "cannot tell what is near");
	list->pairs = grown;
	err = vpeer_pair_read(list->sysfs, memory, device, &grown[list->count], error);
	if (!err)
		list->count++;
	return err;
}

static unsigned int rank(const struct vpeer_pair_info *pair)
{
	return pair->distance == VPEER_DISTANCE_UNKNOWN ? UINT_MAX : pair->distance;
}

static int by_distance(const void *left, const void *right, void *sysfs)
{
	const struct vpeer_pair_info *a = left, *b = right;
	unsigned int from = rank(a), to = rank(b);
	int order;

	if (from == to) {
		from = vpeer_node_distance(sysfs, a->memory_node, a->device_node);
		to = vpeer_node_distance(sysfs, b->memory_node, b->device_node);
	}
	order = (from > to) - (from < to);
	if (!order)
		order = vpeer_pci_compare(&a->memory, &b->memory);
	if (!order)
		order = vpeer_pci_compare(&a->device, &b->device);
	return order ? order : strcmp(a->device_name, b->device_name);
}

static int finish(struct list *list, int err, struct vpeer_pair_info **pairs, size_t *count)
{
	if (err) {
		vpeer_pairs_free(list->pairs);
		return err;
	}
	if (list->count)
		qsort_r(list->pairs, list->count, sizeof(*list->pairs), by_distance,
			(void *)list->sysfs);
	*pairs = list->pairs;
	*count = list->count;
	return 0;
}

/* Calls @each for the names in a directory; one that is not there has none. */
static int for_each(struct list *list, const char *directory, const void *argument,
		    int (*each)(struct list *list, const char *name, const void *argument,
				struct vpeer_error *error),
		    struct vpeer_error *error)
{
	char path[PATH_MAX];
	struct dirent *item;
	int err = 0;
	DIR *stream;

	if (snprintf(path, sizeof(path), "%s/%s", list->sysfs, directory) >= PATH_MAX)
		return vpeer_fail(error, ENAMETOOLONG, VPEER_REASON_NONE, directory, "",
				  "cannot read: %s", strerror(ENAMETOOLONG));
	stream = opendir(path);
	if (!stream && errno == ENOENT)
		return 0;
	if (!stream)
		return vpeer_fail(error, errno, VPEER_REASON_NONE, path, "", "cannot read: %s",
				  strerror(errno));
	while (!err && (item = readdir(stream)))
		if (item->d_name[0] != '.')
			err = each(list, item->d_name, argument, error);
	closedir(stream);
	return err;
}

/* A device that goes meanwhile is left out; memory that goes is told at the end. */
static int add_device(struct list *list, const char *name, const void *memory,
		      struct vpeer_error *error)
{
	int err = add(list, memory, name, error);

	return err == -ENODEV ? 0 : err;
}

int vpeer_nearest_devices_at(const char *sysfs, const struct vpeer_pci_address *memory,
			     struct vpeer_pair_info **pairs, size_t *count,
			     struct vpeer_error *error)
{
	struct list list = { .sysfs = sysfs };
	char pci[VPEER_PCI_LEN];
	int err;

	*pairs = NULL;
	*count = 0;
	err = for_each(&list, "class/infiniband", memory, add_device, error);
	vpeer_pci_format(memory, pci);
	if (!err && !vpeer_sysfs_exists("%s/bus/pci/devices/%s", sysfs, pci))
		err = vpeer_fail_reason(error, ENODEV, VPEER_REASON_NO_DEVICE, pci,
					"cannot tell what is near");
	if (!err)
		vpeer_error_clear(error);
	return finish(&list, err, pairs, count);
}

static bool has_memory_bar(const char *resource)
{
	unsigned long long start, end, flags;
	int used;

	while (sscanf(resource, "%llx %llx %llx%n", &start, &end, &flags, &used) == 3) {
		if ((flags & MEMORY_BAR) == MEMORY_BAR && end > start &&
		    end - start >= LEAST_BAR - 1)
			return true;
		resource += used;
	}
	return false;
}

static bool is_gpu(const char *sysfs, const char *name)
{
	char resource[4096];
	uint64_t class;

	if (vpeer_sysfs_u64(&class, "%s/bus/pci/devices/%s/class", sysfs, name) ||
	    (class >> 16 != CLASS_DISPLAY && class >> 16 != CLASS_ACCELERATOR))
		return false;
	return !vpeer_sysfs_read(resource, sizeof(resource), "%s/bus/pci/devices/%s/resource",
				 sysfs, name) &&
	       has_memory_bar(resource);
}

static bool has(const struct list *list, const struct vpeer_pci_address *memory)
{
	for (size_t i = 0; i < list->count; i++)
		if (!vpeer_pci_compare(&list->pairs[i].memory, memory))
			return true;
	return false;
}

static int add_memory(struct list *list, const struct vpeer_pci_address *memory,
		      const char *device, struct vpeer_error *error)
{
	int err = has(list, memory) ? 0 : add(list, memory, device, error);

	/* The memory is gone; the caller looks for the device. */
	return err == -ENODEV ? 0 : err;
}

static int add_gpu(struct list *list, const char *name, const void *device,
		   struct vpeer_error *error)
{
	struct vpeer_pci_address pci;

	if (!vpeer_sysfs_is_pci(name, &pci) || !is_gpu(list->sysfs, name))
		return 0;
	return add_memory(list, &pci, device, error);
}

static int add_apertures(struct list *list, const char *device, struct vpeer_error *error)
{
	struct vpeer_entry *entries;
	size_t count;
	int err = vpeer_list_at(list->sysfs, &entries, &count, error);

	if (err)
		return err;
	for (size_t i = 0; !err && i < count; i++)
		err = add_memory(list, &entries[i].pci, device, error);
	vpeer_list_free(entries);
	return err;
}

int vpeer_nearest_memory_at(const char *sysfs, const char *device,
			    struct vpeer_pair_info **pairs, size_t *count,
			    struct vpeer_error *error)
{
	struct list list = { .sysfs = sysfs };
	struct vpeer_pci_address pci;
	int err;

	*pairs = NULL;
	*count = 0;
	err = add_apertures(&list, device, error);
	if (!err)
		err = for_each(&list, "bus/pci/devices", device, add_gpu, error);
	if (!err && vpeer_rdma_function(sysfs, device, &pci) == -ENODEV)
		err = vpeer_fail_reason(error, ENODEV, VPEER_REASON_NO_RDMA_DEVICE, device,
					"cannot tell what is near");
	if (!err)
		vpeer_error_clear(error);
	return finish(&list, err, pairs, count);
}

int vpeer_nearest_devices(const struct vpeer_pci_address *memory, struct vpeer_pair_info **pairs,
			  size_t *count, struct vpeer_error *error)
{
	return vpeer_nearest_devices_at("/sys", memory, pairs, count, error);
}

int vpeer_nearest_memory(const char *device, struct vpeer_pair_info **pairs, size_t *count,
			 struct vpeer_error *error)
{
	return vpeer_nearest_memory_at("/sys", device, pairs, count, error);
}

void vpeer_pairs_free(struct vpeer_pair_info *pairs)
{
	free(pairs);
}

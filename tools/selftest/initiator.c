// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "initiator.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../lib/sysfs.h"
#include "../pcidev.h"
#include "../util.h"

#define SECTOR	512

/* Place of VIRTIO_F_ACCESS_PLATFORM in a virtio device's "features" file. */
#define VIRTIO_ACCESS_PLATFORM	33

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

void initiator_read_iommu(const char *sysfs, struct initiator *initiator)
{
	initiator->domain[0] = '\0';
	if (initiator->pci[0] &&
	    vpeer_sysfs_read(initiator->domain, sizeof(initiator->domain),
			     "%s/bus/pci/devices/%s/iommu_group/type", sysfs, initiator->pci))
		initiator->domain[0] = '\0';
	initiator->translating = has_prefix(initiator->domain, "DMA");
}

static void add(struct initiator_list *list, const struct initiator *initiator)
{
	list->items = xrealloc(list->items, list->count + 1, sizeof(*list->items));
	list->items[list->count++] = *initiator;
}

static int by_name(const void *left, const void *right)
{
	const struct initiator *a = left, *b = right;

	return a->kind != b->kind ? (int)a->kind - (int)b->kind : strcmp(a->name, b->name);
}

static int for_each(const char *directory, struct initiator_list *list, const char *sysfs,
		    const char *dev,
		    bool (*probe)(const char *, const char *, const char *, struct initiator *))
{
	struct initiator initiator;
	struct dirent *item;
	DIR *stream = opendir(directory);

	if (!stream)
		return errno == ENOENT ? 0 : -errno;
	while ((item = readdir(stream))) {
		if (item->d_name[0] == '.' || !probe(sysfs, dev, item->d_name, &initiator))
			continue;
		add(list, &initiator);
	}
	closedir(stream);
	if (list->count)
		qsort(list->items, list->count, sizeof(*list->items), by_name);
	return 0;
}

/* rxe and siw name the network device they run on; hardware has no such file. */
static bool is_soft(const char *sysfs, const char *name)
{
	return vpeer_sysfs_exists("%s/class/infiniband/%s/parent", sysfs, name) ||
	       has_prefix(name, "rxe") || has_prefix(name, "siw");
}

static void read_netdev(const char *sysfs, struct initiator *initiator)
{
	char path[PATH_MAX];

	if (vpeer_sysfs_read(initiator->netdev, sizeof(initiator->netdev),
			     "%s/class/infiniband/%s/parent", sysfs, initiator->name)) {
		initiator->netdev[0] = '\0';
		return;
	}
	text_format(path, sizeof(path), "%s/class/net/%s/device", sysfs, initiator->netdev);
	if (pci_of_path(path, initiator->netdev_pci))
		initiator->netdev_pci[0] = '\0';
}

static bool probe_rdma(const char *sysfs, const char *dev, const char *name,
		       struct initiator *initiator)
{
	char path[PATH_MAX];

	(void)dev;
	*initiator = (struct initiator){ .kind = INITIATOR_RDMA };
	text_format(initiator->name, sizeof(initiator->name), "%s", name);
	initiator->soft = is_soft(sysfs, name);
	text_format(path, sizeof(path), "%s/class/infiniband/%s/device", sysfs, name);
	if (initiator->soft)
		read_netdev(sysfs, initiator);
	else if (pci_of_path(path, initiator->pci))
		initiator->pci[0] = '\0';
	initiator_read_iommu(sysfs, initiator);
	return true;
}

int initiators_find_rdma(const char *sysfs, struct initiator_list *list)
{
	char path[PATH_MAX];

	text_format(path, sizeof(path), "%s/class/infiniband", sysfs);
	return for_each(path, list, sysfs, NULL, probe_rdma);
}

/*
 * A multipath NVMe disk hangs off its subsystem. With one controller it is
 * clear which function does the DMA; with several it is not, and the address
 * stays empty. -ENOENT when no controller is on PCI.
 */
static int pci_of_subsystem(const char *sysfs, const char *name, char pci[VPEER_PCI_LEN])
{
	char path[PATH_MAX], found[VPEER_PCI_LEN];
	struct dirent *item;
	DIR *directory;
	int paths = 0;

	text_format(path, sizeof(path), "%s/block/%s/device", sysfs, name);
	directory = opendir(path);
	if (!directory)
		return -errno;
	while ((item = readdir(directory))) {
		if (!has_prefix(item->d_name, "nvme") || strchr(item->d_name + 4, 'n'))
			continue;
		text_format(path, sizeof(path), "%s/block/%s/device/%s", sysfs, name,
			    item->d_name);
		if (!pci_of_path(path, found)) {
			strcpy(pci, found);
			paths++;
		}
	}
	closedir(directory);
	if (paths != 1)
		pci[0] = '\0';
	return paths ? 0 : -ENOENT;
}

/* Virtio without ACCESS_PLATFORM passes guest addresses around the IOMMU. */
static bool virtio_bypasses(const char *sysfs, const char *name)
{
	char features[128];

	return has_prefix(name, "vd") &&
	       !vpeer_sysfs_read(features, sizeof(features), "%s/block/%s/device/features", sysfs,
				 name) &&
	       strlen(features) > VIRTIO_ACCESS_PLATFORM &&
	       features[VIRTIO_ACCESS_PLATFORM] == '0';
}

static bool claimed(const char *dev, const char *name)
{
	char path[PATH_MAX];
	int fd;

	text_format(path, sizeof(path), "%s/%s", dev, name);
	fd = open(path, O_RDONLY | O_EXCL | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return errno == EBUSY || errno == ENOMEDIUM;
	close(fd);
	return false;
}

static bool read_number(const char *sysfs, const char *name, dev_t *number)
{
	unsigned int major, minor;
	char text[32];

	if (vpeer_sysfs_read(text, sizeof(text), "%s/block/%s/dev", sysfs, name) ||
	    sscanf(text, "%u:%u", &major, &minor) != 2)
		return false;
	*number = makedev(major, minor);
	return true;
}

static bool probe_block(const char *sysfs, const char *dev, const char *name,
			struct initiator *initiator)
{
	char path[PATH_MAX];
	uint64_t sectors, block, hidden;

	*initiator = (struct initiator){ .kind = INITIATOR_BLOCK };
	if (!vpeer_sysfs_u64(&hidden, "%s/block/%s/hidden", sysfs, name) && hidden)
		return false; /* one path of a multipath disk: it has no node */
	text_format(initiator->name, sizeof(initiator->name), "%s", name);
	text_format(path, sizeof(path), "%s/block/%s", sysfs, name);
	if (pci_of_path(path, initiator->pci) &&
	    (!has_prefix(name, "nvme") || pci_of_subsystem(sysfs, name, initiator->pci)))
		return false;
	if (!read_number(sysfs, name, &initiator->number) ||
	    vpeer_sysfs_u64(&sectors, "%s/block/%s/size", sysfs, name) || !sectors ||
	    vpeer_sysfs_u64(&block, "%s/block/%s/queue/logical_block_size", sysfs, name) ||
	    block < SECTOR || block > 65536)
		return false;
	initiator->size = sectors * SECTOR;
	initiator->block = (uint32_t)block;
	initiator->in_use = claimed(dev, name);
	initiator_read_iommu(sysfs, initiator);
	if (virtio_bypasses(sysfs, name))
		initiator->translating = false;
	return true;
}

int initiators_find_block(const char *sysfs, const char *dev, struct initiator_list *list)
{
	char path[PATH_MAX];

	text_format(path, sizeof(path), "%s/block", sysfs);
	return for_each(path, list, sysfs, dev, probe_block);
}

struct initiator *initiator_by_name(const struct initiator_list *list, enum initiator_kind kind,
				    const char *name)
{
	for (size_t i = 0; i < list->count; i++)
		if (list->items[i].kind == kind && !strcmp(list->items[i].name, name))
			return &list->items[i];
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "vfio.h"

/* Of Linux 6.19; the headers are older. */
#ifndef VFIO_DEVICE_FEATURE_DMA_BUF
#define VFIO_DEVICE_FEATURE_DMA_BUF	11

struct vfio_region_dma_range {
	uint64_t offset;
	uint64_t length;
};

struct vfio_device_feature_dma_buf {
	uint32_t region_index;
	uint32_t open_flags;
	uint32_t flags;
	uint32_t nr_ranges;
	struct vfio_region_dma_range dma_ranges[];
};
#endif

static void device_file(const char *pci, const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", pci, file);
	CHECK(sysfs_write(path, text));
}

/* The guest's machine has no interrupt remapping; these cases use no interrupts. */
static void bind(const char *pci)
{
	if (system("modprobe vfio_iommu_type1 allow_unsafe_interrupts=1 && modprobe vfio-pci"))
		test_skip("this kernel has no vfio-pci");
	device_file(pci, "driver_override", "vfio-pci");
	if (!pci_bound(pci))
		CHECK(sysfs_write("/sys/bus/pci/drivers/vfio-pci/bind", pci));
}

static int open_group(const char *pci)
{
	char path[128], link[256] = "", name[300];
	int group;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/iommu_group", pci);
	if (readlink(path, link, sizeof(link) - 1) < 0)
		test_skip("%s is behind no IOMMU", pci);
	snprintf(name, sizeof(name), "/dev/vfio%s", strrchr(link, '/'));
	group = open(name, O_RDWR | O_CLOEXEC);
	CHECK_OK(group);
	return group;
}

static uint64_t region(struct vfio *v, unsigned int index)
{
	struct vfio_region_info info = { .argsz = sizeof(info), .index = index };

	CHECK_OK(ioctl(v->device, VFIO_DEVICE_GET_REGION_INFO, &info));
	return info.offset;
}

static void command(struct vfio *v, uint16_t clear, uint16_t set)
{
	uint64_t at = region(v, VFIO_PCI_CONFIG_REGION_INDEX) + PCI_COMMAND;
	uint16_t command;

	CHECK_EQ(pread(v->device, &command, 2, at), 2);
	command = (command & ~clear) | set;
	CHECK_EQ(pwrite(v->device, &command, 2, at), 2);
}

void vfio_open(struct vfio *v, const char *pci)
{
	snprintf(v->pci, sizeof(v->pci), "%s", pci);
	bind(pci);
	v->group = open_group(pci);
	v->container = open("/dev/vfio/vfio", O_RDWR | O_CLOEXEC);
	CHECK_OK(v->container);
	CHECK_OK(ioctl(v->group, VFIO_GROUP_SET_CONTAINER, &v->container));
	CHECK_OK(ioctl(v->container, VFIO_SET_IOMMU, VFIO_TYPE1v2_IOMMU));
	v->device = ioctl(v->group, VFIO_GROUP_GET_DEVICE_FD, pci);
	CHECK_OK(v->device);
	v->bar0 = region(v, VFIO_PCI_BAR0_REGION_INDEX);
	command(v, 0, PCI_COMMAND_MASTER | PCI_COMMAND_MEMORY);
}

void vfio_close(struct vfio *v)
{
	close(v->device);
	close(v->group);
	close(v->container);
	CHECK(sysfs_write("/sys/bus/pci/drivers/vfio-pci/unbind", v->pci));
	device_file(v->pci, "driver_override", "\n");
}

int vfio_map(struct vfio *v, const void *addr, uint64_t iova, uint64_t size)
{
	struct vfio_iommu_type1_dma_map map = {
		.argsz = sizeof(map),
		.flags = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE,
		.vaddr = (uintptr_t)addr,
		.iova = iova,
		.size = size,
	};

	return ioctl(v->container, VFIO_IOMMU_MAP_DMA, &map);
}

int vfio_unmap(struct vfio *v, uint64_t iova, uint64_t size)
{
	struct vfio_iommu_type1_dma_unmap unmap = {
		.argsz = sizeof(unmap),
		.iova = iova,
		.size = size,
	};

	return ioctl(v->container, VFIO_IOMMU_UNMAP_DMA, &unmap);
}

uint64_t vfio_read(struct vfio *v, uint64_t reg, unsigned int size)
{
	uint64_t value = 0;

	CHECK_EQ(pread(v->device, &value, size, v->bar0 + reg), size);
	return value;
}

void vfio_write(struct vfio *v, uint64_t reg, uint64_t value, unsigned int size)
{
	CHECK_EQ(pwrite(v->device, &value, size, v->bar0 + reg), size);
}

void *vfio_map_bar(struct vfio *v, unsigned int bar, uint64_t size)
{
	void *mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, v->device,
			    region(v, VFIO_PCI_BAR0_REGION_INDEX + bar));

	CHECK_OK((long)mapped);
	return mapped;
}

void vfio_memory(struct vfio *v, bool on)
{
	command(v, on ? 0 : PCI_COMMAND_MEMORY, on ? PCI_COMMAND_MEMORY : 0);
}

void vfio_reset(struct vfio *v)
{
	CHECK_OK(ioctl(v->device, VFIO_DEVICE_RESET));
}

int vfio_dmabuf(struct vfio *v, unsigned int bar, uint64_t offset, uint64_t size)
{
	struct {
		struct vfio_device_feature feature;
		struct vfio_device_feature_dma_buf dmabuf;
		struct vfio_region_dma_range range;
	} arg = {
		.feature = {
			.argsz = sizeof(arg),
			.flags = VFIO_DEVICE_FEATURE_GET | VFIO_DEVICE_FEATURE_DMA_BUF,
		},
		.dmabuf = {
			.region_index = VFIO_PCI_BAR0_REGION_INDEX + bar,
			.open_flags = O_RDWR | O_CLOEXEC,
			.nr_ranges = 1,
		},
		.range = { offset, size },
	};

	return ioctl(v->device, VFIO_DEVICE_FEATURE, &arg);
}

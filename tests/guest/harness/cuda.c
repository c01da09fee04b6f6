// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "cuda.h"
#include "dmabuf.h"
#include "harness.h"

#define EXTENTS	64

struct cuda_calls cuda;

struct place {
	const char *symbol;
	size_t offset;
};

#define PLACE(symbol, name, result, arguments) { #symbol, offsetof(struct cuda_calls, name) },

static const struct place places[] = { CUDA_CALLS(PLACE) };

void cuda_load(void)
{
	char path[4096] = "", *slash;
	void *handle, *function;

	/* From tests/guest/build/NAME. */
	CHECK_OK(readlink("/proc/self/exe", path, sizeof(path) - 64));
	slash = strrchr(path, '/');
	strcpy(slash, "/../../cuda/build/libcuda.so.1");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		test_fail(__FILE__, __LINE__, "no test driver: %s", dlerror());
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		function = dlsym(handle, places[i].symbol);
		CHECK(function);
		memcpy((char *)&cuda + places[i].offset, &function, sizeof(function));
	}
	CHECK_EQ(cuda.init(0), 0);
}

/* The PCI function that a device is, in name. */
static void name_device(struct test_cuda_device *device, const char *pci)
{
	snprintf(device->pci, sizeof(device->pci), "%s", pci);
	device->gdr = 1;
	device->dmabuf = 1;
}

static int export_udmabuf(void *context, const struct test_cuda_extent *extents, size_t count)
{
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;
	struct {
		struct udmabuf_create_list list;
		struct udmabuf_create_item items[EXTENTS];
	} create = { .list = { .flags = UDMABUF_FLAGS_CLOEXEC, .count = (uint32_t)count } };

	if (device < 0)
		return -errno;
	for (size_t i = 0; i < count; i++)
		create.items[i] = (struct udmabuf_create_item){
			.memfd = (uint32_t)(intptr_t)context,
			.offset = extents[i].offset,
			.size = extents[i].length,
		};
	fd = ioctl(device, UDMABUF_CREATE_LIST, &create);
	fd = fd < 0 ? -errno : fd;
	close(device);
	return fd;
}

struct test_cuda_device cuda_udmabuf_device(uint64_t size, char **memory)
{
	struct test_cuda_device device = { .size = size, .export = export_udmabuf };
	int memfd = memfd_create("gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (access("/dev/udmabuf", F_OK))
		test_skip("this kernel has no udmabuf");
	CHECK_OK(memfd);
	CHECK_OK(ftruncate(memfd, (off_t)size));
	CHECK_OK(fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	device.memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	CHECK_OK((long)device.memory);
	device.context = (void *)(intptr_t)memfd;
	*memory = device.memory;
	name_device(&device, "0000:00:00.0");
	return device;
}

int cuda_add(const struct test_cuda_device *device)
{
	return cuda.add_device(device);
}

int cuda_add_udmabuf(uint64_t size, char **memory)
{
	struct test_cuda_device device = cuda_udmabuf_device(size, memory);

	return cuda_add(&device);
}

static int export_window(void *context, const struct test_cuda_extent *extents, size_t count)
{
	int fd;

	if (count != 1)
		return -EOPNOTSUPP;
	fd = dmabuf_try((int)(intptr_t)context, extents[0].offset, extents[0].length, NULL);
	return fd < 0 ? -errno : fd;
}

int cuda_add_window(uint64_t size, char **memory)
{
	struct test_cuda_device device = { .size = size, .export = export_window };
	int fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 0, size, NULL));
	device.memory = window_map(fd, 0, size);
	device.context = (void *)(intptr_t)fd;
	*memory = device.memory;
	name_device(&device, aperture_pci());
	return cuda_add(&device);
}

static int export_vfio(void *context, const struct test_cuda_extent *extents, size_t count)
{
	int fd;

	if (count != 1)
		return -EOPNOTSUPP;
	fd = vfio_dmabuf(context, 2, extents[0].offset, extents[0].length);
	return fd < 0 ? -errno : fd;
}

int cuda_add_vfio(struct vfio *v, uint64_t size)
{
	struct test_cuda_device device = {
		.size = size,
		.memory = vfio_map_bar(v, 2, size),
		.export = export_vfio,
		.context = v,
	};

	name_device(&device, v->pci);
	return cuda_add(&device);
}

void cuda_use(int ordinal)
{
	void *context;

	CHECK_EQ(cuda.primary_retain(&context, ordinal), 0);
	CHECK_EQ(cuda.push(context), 0);
}

uint64_t cuda_alloc(uint64_t size)
{
	uint64_t at;

	CHECK_EQ(cuda.mem_alloc(&at, size), 0);
	return at;
}

void cuda_free(uint64_t at)
{
	CHECK_EQ(cuda.mem_free(at), 0);
}

void cuda_map(uint64_t at, uint64_t size, int ordinal, bool gdr)
{
	const struct cuda_properties wanted = {
		.type = 1,
		.location_type = 1,
		.location = ordinal,
		.gdr = gdr,
	};
	void *handle;

	CHECK_EQ(cuda.create(&handle, size, &wanted, 0), 0);
	CHECK_EQ(cuda.map(at, size, 0, handle, 0), 0);
	/* The mapping keeps it. */
	CHECK_EQ(cuda.release(handle), 0);
}

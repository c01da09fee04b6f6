// SPDX-License-Identifier: GPL-2.0-only
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "aperture.h"
#include "cuda.h"
#include "dmabuf.h"
#include "harness.h"

struct cuda_calls cuda;

/* Windows that are devices' memory. */
static struct window {
	int fd;
	uint64_t at;
} windows[4];
static size_t window_count;

void cuda_load(void)
{
	char path[4096] = "", *slash;
	const char *missing;
	void *handle;

	/* From tests/guest/build/NAME. */
	CHECK_OK(readlink("/proc/self/exe", path, sizeof(path) - 64));
	slash = strrchr(path, '/');
	strcpy(slash, "/../../cuda/build/libcuda.so.1");
	handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		test_fail(__FILE__, __LINE__, "no test driver: %s", dlerror());
	missing = cuda_calls_find(&cuda, handle, true);
	if (missing)
		test_fail(__FILE__, __LINE__, "the test driver has no %s()", missing);
	CHECK_EQ(cuda.init(0), 0);
}

/* The PCI function that a device is, in name. */
static void name_device(struct test_cuda_device *device, const char *pci)
{
	snprintf(device->pci, sizeof(device->pci), "%s", pci);
	device->gdr = 1;
	device->dmabuf = 1;
}

bool cuda_scatters(void)
{
	return !access("/dev/udmabuf", F_OK);
}

static int export_window(void *context, const struct test_cuda_extent *extents, size_t count)
{
	struct window *w = context;
	int fd;

	if (count != 1)
		return -EOPNOTSUPP;
	fd = dmabuf_try(w->fd, w->at + extents[0].offset, extents[0].length, NULL);
	return fd < 0 ? -errno : fd;
}

static struct test_cuda_device window_device(uint64_t size, char **memory)
{
	struct test_cuda_device device = { .size = size, .export = export_window };
	struct window *w = &windows[window_count++];

	CHECK(window_count <= ARRAY_SIZE(windows));
	w->fd = aperture_open();
	w->at = window_alloc(w->fd, size);
	device.memory = window_map(w->fd, w->at, size);
	device.context = w;
	*memory = device.memory;
	name_device(&device, aperture_pci());
	return device;
}

struct test_cuda_device cuda_memory_device(uint64_t size, char **memory)
{
	struct test_cuda_device device;

	if (!cuda_scatters())
		return window_device(size, memory);
	CHECK_EQ(cuda.memory(size, &device), 0);
	*memory = device.memory;
	return device;
}

int cuda_add(const struct test_cuda_device *device)
{
	return cuda.add_device(device);
}

int cuda_add_memory(uint64_t size, char **memory)
{
	struct test_cuda_device device = cuda_memory_device(size, memory);

	return cuda_add(&device);
}

int cuda_add_window(uint64_t size, char **memory)
{
	struct test_cuda_device device = window_device(size, memory);

	return cuda_add(&device);
}

void cuda_close_windows(void)
{
	while (window_count)
		close(windows[--window_count].fd);
}

static int export_vfio(void *context, const struct test_cuda_extent *extents, size_t count)
{
	int fd;

	if (count != 1)
		return -EOPNOTSUPP;
	fd = vfio_dmabuf(context, 2, extents[0].offset, extents[0].length);
	return fd < 0 ? -errno : fd;
}

int cuda_add_vfio(struct vfio *v, uint64_t size, char **memory)
{
	struct test_cuda_device device = {
		.size = size,
		.memory = vfio_map_bar(v, 2, size),
		.export = export_vfio,
		.context = v,
	};

	*memory = device.memory;
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
	unsigned long long handle;

	CHECK_EQ(cuda.create(&handle, size, &wanted, 0), 0);
	CHECK_EQ(cuda.map(at, size, 0, handle, 0), 0);
	/* The mapping keeps it. */
	CHECK_EQ(cuda.release(handle), 0);
}

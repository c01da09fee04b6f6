// SPDX-License-Identifier: GPL-2.0-only
/* A device for programs that know nothing of tests: VPEER_TEST_CUDA is its size in bytes. */
#include <errno.h>
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"

#define EXTENTS	64

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

EXPORTED int test_cuda_memory(uint64_t size, struct test_cuda_device *device)
{
	int memfd = memfd_create("gpu", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	*device = (struct test_cuda_device){
		.pci = "0000:00:00.0",
		.size = size,
		.export = export_udmabuf,
		.context = (void *)(intptr_t)memfd,
		.gdr = 1,
		.dmabuf = 1,
	};
	if (memfd < 0 || ftruncate(memfd, (off_t)size) ||
	    fcntl(memfd, F_ADD_SEALS, F_SEAL_SHRINK))
		return -errno;
	device->memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, memfd, 0);
	return device->memory == MAP_FAILED ? -errno : 0;
}

__attribute__((constructor)) static void begin(void)
{
	const char *size = getenv("VPEER_TEST_CUDA");
	struct test_cuda_device device;

	if (!size)
		return;
	if (test_cuda_memory(strtoull(size, NULL, 0), &device))
		abort();
	test_cuda_add_device(&device);
}

// SPDX-License-Identifier: GPL-2.0-only
#include <drm/drm.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "vgem.h"

#define PAGE	4096
#define NODES	64	/* of one kind that Linux has at most */

static bool is_vgem(int fd)
{
	char name[32] = "";
	struct drm_version version = { .name = name, .name_len = sizeof(name) - 1 };

	return !ioctl(fd, DRM_IOCTL_VERSION, &version) && !strcmp(name, "vgem");
}

static int open_vgem(void)
{
	char path[32];
	int fd;

	for (int number = 0; number < NODES; number++) {
		snprintf(path, sizeof(path), "/dev/dri/card%d", number);
		fd = open(path, O_RDWR | O_CLOEXEC);
		if (fd >= 0 && is_vgem(fd))
			return fd;
		if (fd >= 0)
			close(fd);
	}
	test_fail(__FILE__, __LINE__, "vgem is loaded and has no node in /dev/dri");
}

static void *map(int fd, uint32_t handle, uint64_t size)
{
	struct drm_mode_map_dumb arg = { .handle = handle };
	void *memory;

	CHECK_OK(ioctl(fd, DRM_IOCTL_MODE_MAP_DUMB, &arg));
	memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, arg.offset);
	CHECK_OK((long)memory);
	return memory;
}

int vgem_make(uint32_t pages, void **memory)
{
	struct drm_mode_create_dumb create = { .width = PAGE / 4, .height = pages, .bpp = 32 };
	struct drm_prime_handle prime = { .flags = DRM_CLOEXEC | DRM_RDWR };
	int fd;

	if (system("modprobe vgem"))
		test_skip("this kernel has no vgem");
	fd = open_vgem();
	CHECK_OK(ioctl(fd, DRM_IOCTL_MODE_CREATE_DUMB, &create));
	CHECK_EQ(create.size, (uint64_t)pages * PAGE);
	*memory = map(fd, create.handle, create.size);
	prime.handle = create.handle;
	CHECK_OK(ioctl(fd, DRM_IOCTL_PRIME_HANDLE_TO_FD, &prime));
	close(fd);
	return prime.fd;
}

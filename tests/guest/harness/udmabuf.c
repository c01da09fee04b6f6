// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "udmabuf.h"

int udmabuf_make(size_t size, void **memory)
{
	struct udmabuf_create create = { .flags = UDMABUF_FLAGS_CLOEXEC, .size = size };
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd;

	if (device < 0)
		test_skip("this kernel has no udmabuf");
	create.memfd = memfd_create("udmabuf", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK_OK((int)create.memfd);
	CHECK_OK(ftruncate(create.memfd, size));
	CHECK_OK(fcntl(create.memfd, F_ADD_SEALS, F_SEAL_SHRINK));
	*memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, create.memfd, 0);
	CHECK_OK((long)*memory);
	fd = ioctl(device, UDMABUF_CREATE, &create);
	CHECK_OK(fd);
	close(create.memfd);
	close(device);
	return fd;
}

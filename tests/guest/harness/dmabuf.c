// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"

int dmabuf_try(int fd, uint64_t offset, uint64_t size, uint32_t *reason)
{
	struct vpeer_dmabuf arg = {
		.argsz = sizeof(arg),
		.fd = -77,
		.offset = offset,
		.size = size,
	};
	int ret = ioctl(fd, VPEER_IOCTL_DMABUF, &arg);

	if (reason)
		*reason = arg.reason;
	return ret ? ret : arg.fd;
}

int dmabuf_export(int fd, uint64_t offset, uint64_t size)
{
	uint32_t reason;
	int dmabuf = dmabuf_try(fd, offset, size, &reason);

	CHECK_OK(dmabuf);
	CHECK_EQ(reason, VPEER_REASON_NONE);
	return dmabuf;
}

uint64_t dmabuf_size(int dmabuf)
{
	off_t size = lseek(dmabuf, 0, SEEK_END);

	CHECK_OK(size);
	CHECK_EQ(lseek(dmabuf, 0, SEEK_SET), 0);
	return size;
}

void *dmabuf_map(int dmabuf, uint64_t offset, uint64_t size)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, offset);

	CHECK_OK((long)addr);
	return addr;
}

int dmabuf_sync(int dmabuf, uint64_t flags)
{
	struct dma_buf_sync sync = { .flags = flags };

	return ioctl(dmabuf, DMA_BUF_IOCTL_SYNC, &sync);
}

void dmabuf_check_dead(int dmabuf)
{
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, dmabuf, 0), ENODEV);
	CHECK_ERRNO(dmabuf_sync(dmabuf, DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW), ENODEV);
}

/* opendir() itself gets the lowest number that is free. Reserved ones below have no entry. */
unsigned int descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	unsigned int count;
	int lowest;

	CHECK(dir);
	lowest = dirfd(dir);
	count = lowest;
	while ((entry = readdir(dir)))
		count += atoi(entry->d_name) > lowest;
	closedir(dir);
	return count;
}

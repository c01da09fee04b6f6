// SPDX-License-Identifier: GPL-2.0-only
/* Calls as a 32-bit program makes them: by the 32-bit system call table. */
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "witness.h"

#define IOCTL_32	54

/* As ioctl(2); @arg must lie below 4 GiB. */
static int ioctl_32(int fd, unsigned int cmd, void *arg)
{
	long ret = IOCTL_32;

	asm volatile("int $0x80"
		     : "+a" (ret)
		     : "b" (fd), "c" (cmd), "d" (arg)
		     : "memory", "r8", "r9", "r10", "r11");
	if (ret >= 0)
		return ret;
	errno = -ret;
	return -1;
}

static void *low_memory(void)
{
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	CHECK_OK((long)page);
	return page;
}

TEST(query, 10)
{
	struct vpeer_query *query = low_memory();
	int fd = control_open();

	query->argsz = sizeof(*query);
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_QUERY, query));
	CHECK_EQ(query->api_version, VPEER_API_VERSION);
	CHECK_EQ(query->granule, GRANULE);
	close(fd);
}

TEST(window, 10)
{
	struct vpeer_window_alloc *alloc = low_memory();
	struct vpeer_window_info *info = low_memory();
	struct vpeer_window_op *op = low_memory();
	int fd = aperture_open();

	alloc->argsz = sizeof(*alloc);
	alloc->flags = VPEER_ALLOC_FIXED;
	alloc->offset = 3 * GRANULE;
	alloc->size = 1;
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_WINDOW_ALLOC, alloc));
	CHECK_EQ(alloc->size, GRANULE);
	info->argsz = sizeof(*info);
	info->offset = 3 * GRANULE + 5;
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_WINDOW_INFO, info));
	CHECK_EQ(info->offset, 3 * GRANULE);
	op->argsz = sizeof(*op);
	op->offset = 3 * GRANULE;
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_WINDOW_FREE, op));
	CHECK_ERRNO(ioctl_32(fd, VPEER_IOCTL_WINDOW_FREE, op), ENOENT);
	CHECK_EQ(op->reason, VPEER_REASON_NOT_OWNER);
	close(fd);
}

TEST(dmabuf_and_event, 10)
{
	struct vpeer_dmabuf *dmabuf = low_memory();
	struct vpeer_event *event = low_memory();
	int fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	dmabuf->argsz = sizeof(*dmabuf);
	dmabuf->offset = GRANULE + 4096;
	dmabuf->size = 8192;
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_DMABUF, dmabuf));
	CHECK_EQ(dmabuf_size(dmabuf->fd), 8192);
	close(dmabuf->fd);
	dmabuf->offset = 0;
	CHECK_ERRNO(ioctl_32(fd, VPEER_IOCTL_DMABUF, dmabuf), ENOENT);
	CHECK_EQ(dmabuf->reason, VPEER_REASON_NOT_OWNER);
	event->argsz = sizeof(*event);
	event->fd = event_make();
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_EVENT, event));
	CHECK_OK(window_revoke(fd, GRANULE, 0, NULL));
	CHECK_EQ(event_count(event->fd), 1);
	close(event->fd);
	close(fd);
}

TEST(path_report, 10)
{
	struct vpeer_path_report *report = low_memory();
	int fd = aperture_open();

	report->argsz = sizeof(*report);
	report->devfn = 0xe9;
	CHECK_ERRNO(ioctl_32(fd, VPEER_IOCTL_PATH_REPORT, report), ENODEV);
	CHECK_EQ(report->reason, VPEER_REASON_NO_DEVICE);
	report->devfn = 0;
	CHECK_OK(ioctl_32(fd, VPEER_IOCTL_PATH_REPORT, report));
	CHECK_EQ(report->size, aperture_stat("size"));
	CHECK_EQ(report->initiator.vendor,
		 sysfs_u64("/sys/bus/pci/devices/0000:00:00.0", "vendor"));
	close(fd);
}

TEST(unknown_call, 10)
{
	int fd = aperture_open();

	CHECK_ERRNO(ioctl_32(fd, VPEER_IOCTL_ATTACH, low_memory()), ENOTTY);
	close(fd);
}

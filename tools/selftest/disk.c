// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "disk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define PIECE		(1U << 20)
#define SECTOR		512
#define BUSY_TRIES	10
#define BUSY_WAIT_US	20000
#define NAME_A_DISK	"name a whole disk, as lsblk shows it"

static int refuse_partition(const char *sysfs, const char *path, dev_t number,
			    struct vpeer_error *error)
{
	char link[PATH_MAX], place[PATH_MAX], remedy[384];
	uint64_t start = 0;
	char *slash;

	text_format(link, sizeof(link), "%s/dev/block/%u:%u", sysfs, major(number), minor(number));
	slash = realpath(link, place) ? strrchr(place, '/') : NULL;
	if (!slash || vpeer_sysfs_u64(&start, "%.4000s/start", link))
		return vpeer_fail(error, ENOTBLK, VPEER_REASON_NONE, path, NAME_A_DISK,
				  "it is a partition");
	*slash = '\0';
	slash = strrchr(place, '/');
	start *= SECTOR;
	text_format(remedy, sizeof(remedy),
		    "name the disk; for a scratch range, add %" PRIu64 " to the offset", start);
	return vpeer_fail(error, ENOTBLK, VPEER_REASON_NONE, path, remedy,
			  "it is a partition of the disk /dev/%s, from byte %" PRIu64 " on",
			  slash + 1, start);
}

static int resolve_number(const char *sysfs, const char *path, dev_t number, char *name,
			  size_t size, struct vpeer_error *error)
{
	char link[64];

	text_format(link, sizeof(link), "dev/block/%u:%u", major(number), minor(number));
	if (vpeer_sysfs_exists("%s/%s/partition", sysfs, link))
		return refuse_partition(sysfs, path, number, error);
	if (vpeer_sysfs_link(name, size, "%s/%s", sysfs, link) ||
	    !vpeer_sysfs_exists("%s/block/%s", sysfs, name))
		return vpeer_fail(error, ENODEV, VPEER_REASON_NONE, path, NAME_A_DISK,
				  "there is no disk with its device number %u:%u", major(number),
				  minor(number));
	return 0;
}

int disk_resolve(const char *sysfs, const char *text, char *name, size_t size,
		 struct vpeer_error *error)
{
	char path[PATH_MAX];
	struct stat status;

	vpeer_error_clear(error);
	text_format(path, sizeof(path), "%s%s", strchr(text, '/') ? "" : "/dev/", text);
	if (stat(path, &status))
		return vpeer_fail(error, errno, VPEER_REASON_NONE, path, NAME_A_DISK,
				  "there is no such disk: %s", strerror(errno));
	if (!S_ISBLK(status.st_mode))
		return vpeer_fail(error, ENOTBLK, VPEER_REASON_NONE, path, NAME_A_DISK,
				  "it is no block device");
	return resolve_number(sysfs, path, status.st_rdev, name, size, error);
}

/* Another selftest that looks whether a disk is in use claims it for a moment. */
static int open_patiently(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	for (int tries = 1; fd < 0 && errno == EBUSY && tries < BUSY_TRIES; tries++) {
		usleep(BUSY_WAIT_US);
		fd = open(path, flags | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

static int refuse_open(int err, const char *path, struct vpeer_error *error)
{
	if (err == -EBUSY)
		return vpeer_fail(error, EBUSY, VPEER_REASON_NONE, path,
				  "unmount it, or wait for the other selftest to end",
				  "the disk is busy: mounted, part of a RAID or volume, or the "
				  "scratch disk of another selftest");
	return vpeer_fail(error, -err, VPEER_REASON_NONE, path,
			  err == -EACCES || err == -EPERM ? "run as root" :
							    "see the kernel log",
			  "cannot open: %s", strerror(-err));
}

static bool is_node_of(int fd, const struct initiator *disk)
{
	struct stat status;

	return !fstat(fd, &status) && S_ISBLK(status.st_mode) && status.st_rdev == disk->number;
}

int disk_open(const char *dev, const struct initiator *disk, int flags,
	      struct vpeer_error *error)
{
	char path[PATH_MAX];
	int fd;

	vpeer_error_clear(error);
	text_format(path, sizeof(path), "%s/%s", dev, disk->name);
	fd = open_patiently(path, flags);
	if (fd < 0)
		return refuse_open(fd, path, error);
	if (is_node_of(fd, disk))
		return fd;
	close(fd);
	return vpeer_fail(error, ENODEV, VPEER_REASON_NONE, path,
			  "remove it and let 'udevadm trigger' make it again",
			  "the node is not that of the disk with device number %u:%u",
			  major(disk->number), minor(disk->number));
}

int disk_read(int fd, void *buffer, size_t length, uint64_t offset)
{
	char *next = buffer;

	while (length) {
		ssize_t got = pread(fd, next, length < PIECE ? length : PIECE, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		next += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

int disk_write(int fd, const void *buffer, size_t length, uint64_t offset)
{
	const char *next = buffer;

	while (length) {
		ssize_t put = pwrite(fd, next, length < PIECE ? length : PIECE, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -ENOSPC;
		next += put;
		offset += (uint64_t)put;
		length -= (size_t)put;
	}
	return 0;
}

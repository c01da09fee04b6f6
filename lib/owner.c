// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "owner.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sysfs.h"

#define TELLS	(VPEER_FEATURE_UNMAP_GENERATIONS | VPEER_FEATURE_MORE_EVENTS)

static int window_at(int fd, uint64_t offset, struct vpeer_window_info *info)
{
	*info = (struct vpeer_window_info){ .argsz = sizeof(*info), .offset = offset };
	return ioctl(fd, VPEER_IOCTL_WINDOW_INFO, info) ? -errno : 0;
}

static int map_generations(struct vpeer_owner *owner)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t length = (VPEER_MAX_WINDOWS * sizeof(uint64_t) + page - 1) / page * page;
	void *address = mmap(NULL, length, PROT_READ, MAP_SHARED, owner->fd,
			     (off_t)owner->info.generation_offset);

	if (address == MAP_FAILED)
		return -errno;
	owner->generations = address;
	owner->generations_length = length;
	return 0;
}

static int event(const struct vpeer_owner *owner, uint32_t flags)
{
	struct vpeer_event event = {
		.argsz = sizeof(event),
		.flags = flags,
		.fd = owner->finder->eventfd,
	};

	return ioctl(owner->fd, VPEER_IOCTL_EVENT, &event) ? -errno : 0;
}

static void ask_to_tell(struct vpeer_owner *owner, uint64_t features)
{
	int err = 0;

	if ((features & TELLS) != TELLS)
		owner->mute = "the module is of an older release, which does not tell of munmap()";
	else
		err = event(owner, VPEER_EVENT_ADD);
	if (err == -ENOSPC)
		owner->mute = "the open file of the window has no room for another eventfd: share "
			      "contexts, or open the node once more";
	else if (err)
		owner->mute = "the module does not tell of the window's end";
	owner->tells = !owner->mute;
}

static void name_owner(struct vpeer_owner *owner)
{
	struct vpeer_pci_address pci = {
		.domain = owner->info.domain,
		.bus = owner->info.bus,
		.devfn = owner->info.devfn,
	};
	char text[VPEER_PCI_LEN];

	snprintf(owner->who, sizeof(owner->who), "%s BAR %u", vpeer_pci_format(&pci, text),
		 owner->info.bar);
}

/* Also of an aperture that is gone: the caller sees that its window is revoked. */
static int set_up(struct vpeer_owner *owner, struct vpeer_error *error)
{
	struct vpeer_query query;
	int err = vpeer_handshake(owner->fd, "a node of vpeer", &query, error);

	if (err)
		return err;
	owner->info.argsz = sizeof(owner->info);
	owner->gone = ioctl(owner->fd, VPEER_IOCTL_APERTURE_INFO, &owner->info) != 0;
	if (owner->gone && errno != ENODEV)
		return vpeer_fail(error, errno, VPEER_REASON_NONE, "a node of vpeer", "",
				  "cannot read the aperture's state: %s", strerror(errno));
	name_owner(owner);
	if (!(query.features & VPEER_FEATURE_GENERATIONS))
		return 0;
	err = map_generations(owner);
	if (err)
		return vpeer_fail_mmap(error, -err, owner->who);
	if (owner->finder->eventfd >= 0)
		ask_to_tell(owner, query.features);
	return 0;
}

static void give_up(struct vpeer_owner *owner)
{
	if (owner->tells)
		event(owner, VPEER_EVENT_REMOVE);
	if (owner->generations)
		munmap((void *)owner->generations, owner->generations_length);
	close(owner->fd);
	free(owner);
}

/* Takes @fd over. */
static int add(struct vpeer_finder *finder, int fd, const struct stat *status,
	       struct vpeer_owner **owner, struct vpeer_error *error)
{
	struct vpeer_owner *added = calloc(1, sizeof(*added));
	int err;

	if (!added) {
		close(fd);
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, "a node of vpeer", "",
				  "out of memory");
	}
	added->finder = finder;
	added->fd = fd;
	added->device = status->st_dev;
	added->inode = status->st_ino;
	err = set_up(added, error);
	if (err) {
		give_up(added);
		return err;
	}
	added->next = finder->owners;
	finder->owners = added;
	*owner = added;
	return 0;
}

/*
 * Looks at one descriptor of the process, through a duplicate: another thread may
 * close the number and get another file by it at any time.
 */
static int try_descriptor(struct vpeer_finder *finder, int number,
			  const struct vpeer_mapping *mapping, uint64_t offset,
			  struct vpeer_owner **owner, struct vpeer_window_info *info,
			  struct vpeer_error *error)
{
	struct stat status;
	int fd;

	if (fstat(number, &status) || !S_ISCHR(status.st_mode) ||
	    status.st_dev != mapping->device || status.st_ino != mapping->inode)
		return -ENOENT;
	fd = fcntl(number, F_DUPFD_CLOEXEC, 3);
	if (fd < 0)
		return errno == EBADF ? -ENOENT :
		       vpeer_fail(error, errno, VPEER_REASON_TOO_MANY_FILES, mapping->path,
				  vpeer_reason_remedy(VPEER_REASON_TOO_MANY_FILES),
				  "cannot keep the node open: %s", strerror(errno));
	if (fstat(fd, &status) || !S_ISCHR(status.st_mode) || status.st_dev != mapping->device ||
	    status.st_ino != mapping->inode || window_at(fd, offset, info)) {
		close(fd);
		return -ENOENT;
	}
	if (info->state != VPEER_WINDOW_ACTIVE) {
		close(fd);
		return -ENODEV;
	}
	return add(finder, fd, &status, owner, error);
}

static bool is_known(const struct vpeer_finder *finder, int number)
{
	const struct vpeer_owner *owner;

	for (owner = finder->owners; owner; owner = owner->next)
		if (owner->fd == number)
			return true;
	return false;
}

static int scan_descriptors(struct vpeer_finder *finder, const struct vpeer_mapping *mapping,
			    uint64_t offset, struct vpeer_owner **owner,
			    struct vpeer_window_info *info, struct vpeer_error *error)
{
	struct vpeer_window_info found = { 0 };
	const struct dirent *entry;
	uint64_t number;
	int err = -ENOENT, one;
	DIR *directory = opendir("/proc/self/fd");

	if (!directory)
		return vpeer_fail_files(error, errno, "/proc/self/fd", "mount /proc",
					"cannot look through the process's descriptors");
	while ((entry = readdir(directory))) {
		if (vpeer_parse_u64(entry->d_name, &number) || number > INT32_MAX ||
		    (int)number == dirfd(directory) || is_known(finder, (int)number))
			continue;
		one = try_descriptor(finder, (int)number, mapping, offset, owner, &found, error);
		if (one != -ENOENT) {
			err = one;
			*info = found;
		}
		/* Another open file may have a window in place of one that was revoked. */
		if (one != -ENOENT && one != -ENODEV)
			break;
	}
	closedir(directory);
	return err;
}

static int find_known(struct vpeer_finder *finder, const struct vpeer_mapping *mapping,
		      uint64_t offset, struct vpeer_owner **owner, struct vpeer_window_info *info)
{
	struct vpeer_owner *known;
	int err = -ENOENT;

	for (known = finder->owners; known; known = known->next) {
		struct vpeer_window_info found;

		if (known->device != mapping->device || known->inode != mapping->inode ||
		    window_at(known->fd, offset, &found))
			continue;
		*owner = known;
		*info = found;
		err = found.state == VPEER_WINDOW_ACTIVE ? 0 : -ENODEV;
		if (!err)
			break;
	}
	return err;
}

int vpeer_owner_find(struct vpeer_finder *finder, const struct vpeer_mapping *mapping,
		     uint64_t offset, struct vpeer_owner **owner, struct vpeer_window_info *info,
		     struct vpeer_error *error)
{
	int err, scanned;

	pthread_mutex_lock(&finder->lock);
	err = find_known(finder, mapping, offset, owner, info);
	if (err) {
		scanned = scan_descriptors(finder, mapping, offset, owner, info, error);
		err = scanned == -ENOENT ? err : scanned;
	}
	if (!err)
		(*owner)->users++;
	pthread_mutex_unlock(&finder->lock);
	return err;
}

void vpeer_owner_hold(struct vpeer_owner *owner)
{
	pthread_mutex_lock(&owner->finder->lock);
	owner->users++;
	pthread_mutex_unlock(&owner->finder->lock);
}

static void trim_locked(struct vpeer_finder *finder, bool idle)
{
	struct vpeer_owner **link = &finder->owners, *owner;

	while ((owner = *link)) {
		if (owner->users || (owner->tells && !idle)) {
			link = &owner->next;
			continue;
		}
		*link = owner->next;
		give_up(owner);
	}
}

/*
 * One that is told of unmapping stays for the next registration: that is when
 * vpeer_owners_trim() is called, so it does not keep a window its program has left.
 */
void vpeer_owner_drop(struct vpeer_owner *owner)
{
	struct vpeer_finder *finder = owner->finder;

	pthread_mutex_lock(&finder->lock);
	owner->users--;
	trim_locked(finder, false);
	pthread_mutex_unlock(&finder->lock);
}

void vpeer_owners_trim(struct vpeer_finder *finder)
{
	pthread_mutex_lock(&finder->lock);
	trim_locked(finder, true);
	pthread_mutex_unlock(&finder->lock);
}

/*
 * Descriptors stay as they are: the child may have closed them all and have
 * others by their numbers, and the eventfd is the parent's.
 */
void vpeer_owners_abandon(struct vpeer_finder *finder)
{
	struct vpeer_owner *owner;

	while ((owner = finder->owners)) {
		finder->owners = owner->next;
		free(owner);
	}
}

/* The function that a node's device is of. */
static bool find_device(dev_t node, struct vpeer_pci_address *device)
{
	char name[64];

	return !vpeer_sysfs_link(name, sizeof(name), "/sys/dev/char/%u:%u/device", major(node),
				 minor(node)) &&
	       !vpeer_pci_parse(name, device);
}

static bool has_name_of_node(const char *path)
{
	const char *name = strrchr(path, '/');

	return name && !strncmp(name, "/vpeer", 6);
}

enum vpeer_node vpeer_node_look(const struct vpeer_mapping *mapping,
				struct vpeer_pci_address *device, bool *device_known)
{
	struct stat status;
	char class[64];

	*device_known = false;
	if (!mapping->inode || mapping->path[0] != '/')
		return VPEER_NODE_NO;
	/* Other files have been put in its place, or there is none: the name is all there is. */
	if (stat(mapping->path, &status) || status.st_ino != mapping->inode ||
	    status.st_dev != mapping->device)
		return has_name_of_node(mapping->path) ? VPEER_NODE_GONE : VPEER_NODE_NO;
	if (!S_ISCHR(status.st_mode))
		return VPEER_NODE_NO;
	if (vpeer_sysfs_link(class, sizeof(class), "/sys/dev/char/%u:%u/subsystem",
			     major(status.st_rdev), minor(status.st_rdev)))
		return has_name_of_node(mapping->path) ? VPEER_NODE_GONE : VPEER_NODE_NO;
	if (strcmp(class, "vpeer") != 0)
		return VPEER_NODE_NO;
	*device_known = find_device(status.st_rdev, device);
	return VPEER_NODE_YES;
}

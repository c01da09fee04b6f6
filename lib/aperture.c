// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "internal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sysfs.h"

static int node_by_index(uint64_t index, char *node, size_t size, const char *name,
			 struct vpeer_error *error)
{
	if (index > UINT32_MAX)
		return vpeer_mended_by(error, VPEER_MENDER_PROGRAM,
				       vpeer_fail(error, EINVAL, VPEER_REASON_NONE, name,
						  "use an index that 'vpeer list' shows",
						  "the index of an aperture is too large"));
	snprintf(node, size, "/dev/vpeer%u", (unsigned int)index);
	return 0;
}

static int node_by_address(const struct vpeer_pci_address *address, char *node, size_t size,
			   struct vpeer_error *error)
{
	struct vpeer_entry *entries;
	size_t count, i;
	int err = vpeer_list(&entries, &count, error);

	if (err)
		return err;
	for (i = 0; i < count; i++)
		if (!memcmp(&entries[i].pci, address, sizeof(*address)))
			break;
	if (i < count)
		snprintf(node, size, "%s", entries[i].node);
	vpeer_list_free(entries);
	if (i < count)
		return 0;
	return vpeer_fail_unattached(error, address);
}

static int fail_name(const char *name, struct vpeer_error *error)
{
	vpeer_fail(error, EINVAL, VPEER_REASON_NONE, name ? name : "aperture",
		   "name it by PCI address (0000:01:00.0), as vpeer0, by index (0) or by the path "
		   "of its node (/dev/vpeer0)", "%s",
		   name ? "this names no aperture" : "cannot open: the name is NULL");
	return vpeer_mended_by(error, VPEER_MENDER_PROGRAM, -EINVAL);
}

static int fail_long(struct vpeer_error *error)
{
	vpeer_fail(error, ENAMETOOLONG, VPEER_REASON_NONE, "aperture", "name it as /dev/vpeerN",
		   "the path of the node is too long");
	return vpeer_mended_by(error, VPEER_MENDER_PROGRAM, -ENAMETOOLONG);
}

static int find_node(const char *name, char *node, size_t size, struct vpeer_error *error)
{
	struct vpeer_pci_address address;
	uint64_t index;

	if (name && strchr(name, '/')) {
		if (strlen(name) >= size)
			return fail_long(error);
		strcpy(node, name);
		return 0;
	}
	if (name && (!vpeer_parse_u64(name, &index) ||
		     (!strncmp(name, "vpeer", 5) && !vpeer_parse_u64(name + 5, &index))))
		return node_by_index(index, node, size, name, error);
	if (name && !vpeer_pci_parse(name, &address))
		return node_by_address(&address, node, size, error);
	return fail_name(name, error);
}

static int open_node(const char *node, struct vpeer_error *error)
{
	struct stat status;
	int fd = open(node, O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	int err;

	if (fd < 0)
		return vpeer_fail_open(error, errno, node);
	if (!fstat(fd, &status) && S_ISCHR(status.st_mode) && !fcntl(fd, F_SETFL, O_RDWR))
		return fd;
	err = vpeer_mended_by(error, VPEER_MENDER_PROGRAM,
			      vpeer_fail(error, ENOTTY, VPEER_REASON_NONE, node,
					 "name a node /dev/vpeerN", "this is no character device"));
	close(fd);
	return err;
}

static int map_generations(struct vpeer_aperture *aperture, uint64_t offset,
			   struct vpeer_error *error)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t length = (VPEER_MAX_WINDOWS * sizeof(uint64_t) + page - 1) / page * page;
	void *address = mmap(NULL, length, PROT_READ, MAP_SHARED, aperture->fd, (off_t)offset);

	if (address == MAP_FAILED)
		return vpeer_fail_mmap(error, errno, aperture->who);
	aperture->generations = address;
	aperture->generations_length = length;
	return 0;
}

static int set_up(struct vpeer_aperture *aperture, const char *node, struct vpeer_error *error)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };
	struct vpeer_pci_address pci = { 0 };
	struct vpeer_query query;
	int err;

	snprintf(aperture->who, sizeof(aperture->who), "%.127s", node);
	err = vpeer_handshake(aperture->fd, node, &query, error);
	if (err)
		return err;
	err = vpeer_aperture_info(aperture, &info, error);
	if (err)
		return err;
	aperture->size = info.size;
	aperture->granule = info.granule;
	pci.domain = info.domain;
	pci.bus = info.bus;
	pci.devfn = info.devfn;
	vpeer_pci_format(&pci, aperture->who);
	if (query.features & VPEER_FEATURE_GENERATIONS)
		return map_generations(aperture, info.generation_offset, error);
	return 0;
}

int vpeer_open(struct vpeer_aperture **aperture, const char *name, struct vpeer_error *error)
{
	struct vpeer_aperture *opened;
	char node[PATH_MAX];
	int err;

	*aperture = NULL;
	err = find_node(name, node, sizeof(node), error);
	if (err)
		return err;
	opened = calloc(1, sizeof(*opened));
	if (!opened)
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, node, "", "out of memory");
	opened->fd = open_node(node, error);
	err = opened->fd < 0 ? opened->fd : set_up(opened, node, error);
	if (err) {
		vpeer_close(opened);
		return err;
	}
	*aperture = opened;
	return 0;
}

void vpeer_close(struct vpeer_aperture *aperture)
{
	if (!aperture)
		return;
	if (aperture->generations)
		munmap((void *)aperture->generations, aperture->generations_length);
	if (aperture->fd >= 0)
		close(aperture->fd);
	free(aperture);
}

int vpeer_fd(const struct vpeer_aperture *aperture)
{
	return aperture->fd;
}

int vpeer_query(struct vpeer_aperture *aperture, struct vpeer_query *query,
		struct vpeer_error *error)
{
	return vpeer_ioctl(aperture->fd, VPEER_IOCTL_QUERY, query, aperture->who,
			   "cannot query the module", error);
}

int vpeer_aperture_info(struct vpeer_aperture *aperture, struct vpeer_aperture_info *info,
			struct vpeer_error *error)
{
	return vpeer_ioctl(aperture->fd, VPEER_IOCTL_APERTURE_INFO, info, aperture->who,
			   "cannot read the aperture's state", error);
}

int vpeer_revoke_all(struct vpeer_aperture *aperture, unsigned int timeout_ms,
		     uint64_t *pinned_bytes, struct vpeer_error *error)
{
	struct vpeer_window_op op = {
		.argsz = sizeof(op),
		.flags = VPEER_REVOKE_ALL,
		.timeout_ms = timeout_ms,
	};
	int err = vpeer_ioctl(aperture->fd, VPEER_IOCTL_WINDOW_REVOKE, &op, aperture->who,
			      "revoke of all windows", error);

	if (pinned_bytes)
		*pinned_bytes = op.pinned_bytes;
	return err;
}

static int event_call(struct vpeer_aperture *aperture, uint32_t flags, int eventfd, int least,
		      struct vpeer_error *error)
{
	static const char what[] = "cannot be told of revocations";
	struct vpeer_event event = { .argsz = sizeof(event), .flags = flags, .fd = eventfd };

	if (eventfd < least)
		return vpeer_fail(error, EINVAL, VPEER_REASON_NOT_EVENTFD, aperture->who,
				  vpeer_reason_remedy(VPEER_REASON_NOT_EVENTFD),
				  "%s: %d is no descriptor", what, eventfd);
	return vpeer_ioctl(aperture->fd, VPEER_IOCTL_EVENT, &event, aperture->who, what, error);
}

int vpeer_event_fd(struct vpeer_aperture *aperture, int eventfd, struct vpeer_error *error)
{
	return event_call(aperture, 0, eventfd, -1, error);
}

int vpeer_event_add(struct vpeer_aperture *aperture, int eventfd, struct vpeer_error *error)
{
	return event_call(aperture, VPEER_EVENT_ADD, eventfd, 0, error);
}

int vpeer_event_remove(struct vpeer_aperture *aperture, int eventfd, struct vpeer_error *error)
{
	return event_call(aperture, VPEER_EVENT_REMOVE, eventfd, 0, error);
}

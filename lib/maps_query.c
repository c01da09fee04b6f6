// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Mappings asked for one by one, which Linux 6.11 and newer can: what that costs does
 * not grow with what else the process has mapped.
 */
#include "maps_scan.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sysmacros.h>

/* struct procmap_query of <linux/fs.h>; headers may be older. */
struct query {
	uint64_t size;
	uint64_t flags;
	uint64_t address;
	uint64_t start;
	uint64_t end;
	uint64_t mapping_flags;
	uint64_t page_size;
	uint64_t offset;
	uint64_t inode;
	uint32_t major;
	uint32_t minor;
	uint32_t name_size;
	uint32_t build_id_size;
	uint64_t name;
	uint64_t build_id;
};

#define QUERY		_IOWR('f', 17, struct query)
#define READABLE	0x01
#define WRITABLE	0x02
#define SHARED		0x08

struct asking {
	int fd;
	char name[PATH_MAX];
};

/* The mapping that covers an address, without its path, which is in @asking. */
static int ask(struct asking *asking, uint64_t address, struct vpeer_mapping *mapping)
{
	struct query query = {
		.size = sizeof(query),
		.address = address,
		.name_size = sizeof(asking->name),
		.name = (uintptr_t)asking->name,
	};

	asking->name[0] = '\0';
	if (ioctl(asking->fd, QUERY, &query))
		return errno ? -errno : -EIO;
	if (!query.name_size)
		asking->name[0] = '\0';
	*mapping = (struct vpeer_mapping){
		.start = query.start,
		.end = query.end,
		.offset = query.offset,
		.device = makedev(query.major, query.minor),
		.inode = query.inode,
		.readable = query.mapping_flags & READABLE,
		.writable = query.mapping_flags & WRITABLE,
		.shared = query.mapping_flags & SHARED,
	};
	return 0;
}

/* Where the run of a file's mappings begins that @start is in. */
static int find_first(struct asking *asking, uint64_t start, uint64_t *first)
{
	struct vpeer_mapping mapping = { 0 }, before;
	int err = ask(asking, start, &mapping);

	if (err)
		return err;
	while (mapping.inode && mapping.start && !ask(asking, mapping.start - 1, &before) &&
	       vpeer_mapping_follows(&before, &mapping))
		mapping = before;
	*first = mapping.start;
	return 0;
}

int vpeer_maps_query(int fd, uint64_t start, uint64_t length, struct vpeer_maps *maps)
{
	struct vpeer_maps_scan scan = vpeer_maps_begin(start, length, maps);
	struct asking *asking = malloc(sizeof(*asking));
	struct vpeer_mapping mapping = { 0 };
	uint64_t at = start;
	int err;

	if (!asking)
		return -ENOMEM;
	asking->fd = fd;
	err = find_first(asking, start, &at);
	while (!err) {
		err = ask(asking, at, &mapping);
		if (err) {
			err = scan.done ? 0 : err;
			break;
		}
		err = vpeer_maps_take(&scan, &mapping, asking->name);
		if (err <= 0)
			break;
		at = mapping.end;
		err = 0;
	}
	free(asking);
	if (err)
		vpeer_maps_free(maps);
	return err;
}

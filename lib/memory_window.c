// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Mapped windows of /dev/vpeerN. */
#include "memory.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "finder.h"
#include "maps.h"
#include "owner.h"

/*
 * Do reads of the mapping reach the window? They end for good when the window does,
 * so this tells the mapping of a window from what is left of an earlier one at the
 * same offset. The call reads 8 bytes before it refuses its first argument.
 */
static bool is_alive(uint64_t address)
{
	return syscall(SYS_rt_sigprocmask, ~0, address, NULL, 8L) != -1 || errno != EFAULT;
}

static int fail_ended(struct vpeer_error *error, const char *who, uint32_t cause)
{
	bool gone = cause == VPEER_CAUSE_DETACHED || cause == VPEER_CAUSE_UNPLUGGED;

	return vpeer_fail_reason(error, ENODEV, gone ? VPEER_REASON_GONE : VPEER_REASON_REVOKED,
				 who, "cannot use the memory");
}

static int fail_mixed(struct vpeer_error *error, const struct vpeer_memory *memory,
		      const char *what)
{
	return vpeer_fail(error, EINVAL, VPEER_REASON_MIXED_MEMORY, memory->who,
			  vpeer_reason_remedy(VPEER_REASON_MIXED_MEMORY),
			  "the range of %llu bytes at %#llx leaves %s",
			  (unsigned long long)memory->length, (unsigned long long)memory->start,
			  what);
}

/* Mappings @from to @to of @maps: what of the window may be used together. */
struct run {
	size_t from;
	size_t to;
};

static bool are_alike(const struct vpeer_mapping *before, const struct vpeer_mapping *after)
{
	return vpeer_mapping_follows(before, after) && before->writable == after->writable &&
	       before->readable == after->readable;
}

static int check_one(const struct vpeer_maps *maps, const struct vpeer_memory *memory,
		     struct vpeer_error *error)
{
	const struct vpeer_mapping *all = maps->mappings;
	size_t i;

	for (i = maps->first; i < maps->last; i++)
		if (!vpeer_mapping_follows(&all[i], &all[i + 1]))
			return fail_mixed(error, memory, "the window's mapping");
	return 0;
}

/* As far as mappings are alike, alive, and in [@low, @high) of the aperture. */
static struct run find_run(const struct vpeer_maps *maps, uint64_t low, uint64_t high)
{
	const struct vpeer_mapping *all = maps->mappings;
	struct run run = { maps->first, maps->last };

	while (run.from > 0 && all[run.from].offset > low &&
	       are_alike(&all[run.from - 1], &all[run.from]) && is_alive(all[run.from - 1].start))
		run.from--;
	while (run.to + 1 < maps->count && all[run.to + 1].offset < high &&
	       are_alike(&all[run.to], &all[run.to + 1]) && is_alive(all[run.to + 1].start))
		run.to++;
	return run;
}

static int check_access(const struct vpeer_maps *maps, struct vpeer_memory *memory,
			struct vpeer_error *error)
{
	size_t i;

	memory->writable = true;
	for (i = maps->first; i <= maps->last; i++) {
		const struct vpeer_mapping *mapping = &maps->mappings[i];

		if (!mapping->readable)
			return vpeer_fail(error, EACCES, VPEER_REASON_ACCESS, memory->who,
					  "map the window with PROT_READ",
					  "the mapping at %#llx permits no access",
					  (unsigned long long)mapping->start);
		if (!is_alive(mapping->start))
			return fail_ended(error, memory->who, VPEER_CAUSE_NONE);
		memory->writable &= mapping->writable;
	}
	return 0;
}

/* @run without what is outside of [@low, @high) of the aperture. */
static void set_base(const struct vpeer_maps *maps, const struct run *run, uint64_t low,
		     uint64_t high, struct vpeer_memory *memory)
{
	const struct vpeer_mapping *from = &maps->mappings[run->from];
	const struct vpeer_mapping *to = &maps->mappings[run->to];
	uint64_t first = from->offset, end = to->offset + (to->end - to->start);

	if (first < low)
		first = low;
	if (end > high)
		end = high;
	memory->base = from->start + (first - from->offset);
	memory->base_length = end - first;
	memory->window.offset = first;
}

/* What mappings tell; @low and @high: the window, in the aperture. */
static int describe(const struct vpeer_maps *maps, uint64_t low, uint64_t high,
		    struct vpeer_memory *memory, struct vpeer_error *error)
{
	const struct vpeer_mapping *at = &maps->mappings[maps->first];
	uint64_t offset = at->offset + (memory->start - at->start);
	struct run run;
	int err;

	if (offset < low || offset >= high)
		return -EAGAIN;
	if (memory->length > high - offset)
		return fail_mixed(error, memory, "the window it starts in");
	err = check_one(maps, memory, error);
	if (!err)
		err = check_access(maps, memory, error);
	if (err)
		return err;
	run = find_run(maps, low, high);
	set_base(maps, &run, low, high, memory);
	return 0;
}

/* A window whose open file no descriptor is left of. */
static int describe_unowned(const struct vpeer_maps *maps, struct vpeer_memory *memory,
			    struct vpeer_error *error)
{
	char pci[VPEER_PCI_LEN];
	int err;

	snprintf(memory->who, sizeof(memory->who), "%.31s, mapping of %.80s",
		 memory->device_known ? vpeer_pci_format(&memory->device, pci) : "a BAR",
		 maps->mappings[maps->first].path);
	err = describe(maps, 0, VPEER_MMAP_GENERATION, memory, error);
	return err ? err : 1;
}

static void take_owner(struct vpeer_memory *memory, struct vpeer_owner *owner,
		       const struct vpeer_window_info *info)
{
	memory->window.owner = owner;
	memory->exportable = true;
	memory->uncached = "the module keeps no generations";
	memory->device = (struct vpeer_pci_address){
		.domain = owner->info.domain,
		.bus = owner->info.bus,
		.devfn = owner->info.devfn,
	};
	memory->device_known = true;
	snprintf(memory->who, sizeof(memory->who), "%s", owner->who);
	memory->aperture_id = (uint64_t)owner->device << 32 | (uint32_t)owner->inode;
	memory->aperture_size = owner->info.size;
	if (!owner->generations || info->slot >= VPEER_MAX_WINDOWS)
		return;
	memory->word = &owner->generations[info->slot];
	memory->seen = info->generation;
	memory->cacheable = owner->tells;
	memory->uncached = owner->mute;
}

/*
 * The generation was read with the window's state, so what mappings there are is
 * looked at once more, after it.
 */
static int describe_owned(struct vpeer_memory *memory, const struct vpeer_mapping *seen,
			  const struct vpeer_window_info *info, struct vpeer_error *error)
{
	const struct vpeer_mapping *at;
	struct vpeer_maps maps;
	uint64_t hole;
	int err = vpeer_maps_read(memory->start, memory->length, &maps, &hole);

	if (err)
		return -EAGAIN;
	at = &maps.mappings[maps.first];
	if (at->device != seen->device || at->inode != seen->inode)
		err = -EAGAIN;
	else
		err = describe(&maps, info->offset, info->offset + info->size, memory, error);
	vpeer_maps_free(&maps);
	return err;
}

static int identify(struct vpeer_finder *finder, const struct vpeer_maps *maps,
		    struct vpeer_memory *memory, struct vpeer_error *error)
{
	const struct vpeer_mapping *at = &maps->mappings[maps->first];
	uint64_t offset = at->offset + (memory->start - at->start);
	struct vpeer_window_info info;
	struct vpeer_owner *owner;
	enum vpeer_node node;
	int err;

	node = vpeer_node_look(at, &memory->device, &memory->device_known);
	if (node == VPEER_NODE_NO || offset >= VPEER_MMAP_GENERATION)
		return 0;
	memory->ops = &vpeer_memory_window;
	memory->kind = VPEER_MEMORY_WINDOW;
	memory->uncached = "the process has no descriptor left of the window's open file";
	snprintf(memory->window.node, sizeof(memory->window.node), "%.63s", at->path);
	err = vpeer_owner_find(finder, at, offset, &owner, &info, error);
	if (err == -ENOENT)
		return node == VPEER_NODE_GONE ? 0 : describe_unowned(maps, memory, error);
	if (err == -ENODEV)
		return fail_ended(error, at->path, info.cause);
	if (err)
		return err;
	take_owner(memory, owner, &info);
	err = describe_owned(memory, at, &info, error);
	if (err)
		vpeer_owner_drop(owner);
	return err ? err : 1;
}

static int fail_unowned(const struct vpeer_memory *memory, struct vpeer_error *error)
{
	vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT, memory->who,
		   "keep a descriptor of the node open while its memory is used",
		   "cannot export a window: the process has no descriptor left of the open file "
		   "that the window belongs to");
	return vpeer_mended_by(error, VPEER_MENDER_PROGRAM, -EOPNOTSUPP);
}

static int export(struct vpeer_memory *memory, uint64_t start, uint64_t length,
		  unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t first = memory->window.offset + (start - memory->base);
	struct vpeer_dmabuf dmabuf = { .argsz = sizeof(dmabuf) };
	int err;

	if (flags)
		return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT, memory->who, "",
				  "windows have one type of mapping");
	if (!memory->window.owner)
		return fail_unowned(memory, error);
	*offset = first % page;
	dmabuf.offset = first - *offset;
	dmabuf.size = (length + *offset + page - 1) / page * page;
	err = vpeer_ioctl(memory->window.owner->fd, VPEER_IOCTL_DMABUF, &dmabuf, memory->who,
			  "cannot export a window", error);
	if (!err)
		*fd = dmabuf.fd;
	return err;
}

static int share(struct vpeer_memory *memory)
{
	if (memory->window.owner)
		vpeer_owner_hold(memory->window.owner);
	return 0;
}

static void release(struct vpeer_memory *memory)
{
	if (memory->window.owner)
		vpeer_owner_drop(memory->window.owner);
}

/* Windows have pages for every route; EFAULT is for mappings that have ended. */
static unsigned int explain(const struct vpeer_memory *memory, unsigned int route, int err)
{
	if (route != VPEER_ROUTE_PAGES || err != EFAULT)
		return VPEER_REASON_NONE;
	return memory->writable ? VPEER_REASON_REVOKED : VPEER_REASON_ACCESS;
}

const struct vpeer_memory_ops vpeer_memory_window = {
	.name = "window",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) | VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) |
		  VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
	.identify = identify,
	.export = export,
	.explain = explain,
	.share = share,
	.release = release,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* DMA-bufs of whatever exporter: by descriptor, or mapped. */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "maps.h"
#include "memory_kinds.h"
#include "sysfs.h"

/* f_type of statfs() on a DMA-buf: "DMAB". */
#define DMABUF_MAGIC	0x444d4142

bool vpeer_mapping_is_dmabuf(const struct vpeer_mapping *mapping)
{
	struct stat status;

	if (!mapping->inode || strncmp(mapping->path, "/dmabuf:", 8) != 0)
		return false;
	/* A file may be called so. */
	return stat(mapping->path, &status) || status.st_dev != mapping->device ||
	       status.st_ino != mapping->inode;
}

static int identify(struct vpeer_finder *finder, const struct vpeer_maps *maps,
		    struct vpeer_memory *memory, struct vpeer_error *error)
{
	const struct vpeer_mapping *at = &maps->mappings[maps->first];
	const struct vpeer_mapping *to = &maps->mappings[maps->last];
	size_t i;

	(void)finder;
	if (!vpeer_mapping_is_dmabuf(at))
		return 0;
	memory->ops = &vpeer_memory_dmabuf;
	memory->kind = VPEER_MEMORY_DMABUF;
	snprintf(memory->who, sizeof(memory->who), "a DMA-buf mapped at %#llx",
		 (unsigned long long)at->start);
	memory->writable = true;
	for (i = maps->first; i <= maps->last; i++) {
		memory->writable &= maps->mappings[i].writable;
		if (i > maps->first &&
		    !vpeer_mapping_follows(&maps->mappings[i - 1], &maps->mappings[i]))
			return vpeer_fail(error, EINVAL, VPEER_REASON_MIXED_MEMORY, memory->who,
					  vpeer_reason_remedy(VPEER_REASON_MIXED_MEMORY),
					  "the range of %llu bytes at %#llx leaves the mapping",
					  (unsigned long long)memory->length,
					  (unsigned long long)memory->start);
	}
	memory->base = at->start;
	memory->base_length = to->end - at->start;
	memory->dmabuf.fd = -1;
	memory->dmabuf.offset = at->offset + (memory->start - at->start);
	snprintf(memory->dmabuf.name, sizeof(memory->dmabuf.name), "%.63s", at->path + 8);
	return 1;
}

/* Who exported it, if /proc tells. */
static void read_exporter(int fd, char *name, size_t size)
{
	char text[1024], *line;

	name[0] = '\0';
	if (vpeer_sysfs_read(text, sizeof(text), "/proc/self/fdinfo/%d", fd))
		return;
	line = strstr(text, "exp_name:");
	if (!line)
		return;
	line += strlen("exp_name:");
	line += strspn(line, " \t");
	snprintf(name, size, "%.*s", (int)strcspn(line, "\n"), line);
}

static int fail_no_dmabuf(struct vpeer_error *error, int fd)
{
	char who[32];

	snprintf(who, sizeof(who), "descriptor %d", fd);
	return vpeer_mended_by(error, VPEER_MENDER_PROGRAM,
			       vpeer_fail(error, EBADF, VPEER_REASON_NONE, who,
					  "pass the descriptor that the memory's driver exported",
					  "this is no descriptor of a DMA-buf"));
}

static int check_range(const struct vpeer_memory *memory, uint64_t offset,
		       struct vpeer_error *error)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (offset > memory->dmabuf.size || memory->length > memory->dmabuf.size - offset)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BEYOND_END, memory->who,
				  "ask for a range inside it",
				  "offset %llu and length %llu leave the DMA-buf of %llu bytes",
				  (unsigned long long)offset, (unsigned long long)memory->length,
				  (unsigned long long)memory->dmabuf.size);
	if ((memory->start ^ offset) % page)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ALIGNMENT, memory->who,
				  "choose an address that has the offset's place in a page",
				  "address %#llx and offset %#llx differ in their place in a page",
				  (unsigned long long)memory->start, (unsigned long long)offset);
	return 0;
}

int vpeer_memory_from_dmabuf(int fd, uint64_t offset, uint64_t length, uint64_t iova,
			     struct vpeer_memory *memory, struct vpeer_error *error)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	struct statfs status;
	off_t size;
	int err;

	*memory = (struct vpeer_memory){
		.ops = &vpeer_memory_dmabuf,
		.kind = VPEER_MEMORY_DMABUF,
		.start = iova,
		.length = length,
		.base = iova,
		.base_length = length,
		.writable = true,
		.exportable = true,
		.dmabuf = { .fd = own, .offset = offset },
	};
	if (own < 0 && errno != EBADF)
		return vpeer_fail(error, errno, VPEER_REASON_TOO_MANY_FILES, "DMA-buf",
				  vpeer_reason_remedy(VPEER_REASON_TOO_MANY_FILES),
				  "cannot keep the DMA-buf open: %s", strerror(errno));
	if (own < 0)
		return fail_no_dmabuf(error, fd);
	/* In another file lseek() would move the caller's place. */
	size = fstatfs(own, &status) || status.f_type != DMABUF_MAGIC ? -1 :
									 lseek(own, 0, SEEK_END);
	if (size < 0) {
		close(own);
		return fail_no_dmabuf(error, fd);
	}
	memory->dmabuf.size = (uint64_t)size;
	read_exporter(own, memory->dmabuf.name, sizeof(memory->dmabuf.name));
	snprintf(memory->who, sizeof(memory->who), "a DMA-buf of %s",
		 memory->dmabuf.name[0] ? memory->dmabuf.name : "an unknown exporter");
	err = check_range(memory, offset, error);
	if (err)
		close(own);
	return err;
}

static int export(struct vpeer_memory *memory, uint64_t start, uint64_t length,
		  unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error)
{
	(void)length;
	if (flags)
		return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT, memory->who, "",
				  "a DMA-buf is as its exporter made it");
	if (memory->dmabuf.fd < 0)
		return vpeer_mended_by(error, VPEER_MENDER_PROGRAM,
				       vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT,
						  memory->who,
						  "use the descriptor of the DMA-buf instead of "
						  "its mapping",
						  "a mapping does not lead back to its DMA-buf"));
	*fd = fcntl(memory->dmabuf.fd, F_DUPFD_CLOEXEC, 3);
	if (*fd < 0)
		return vpeer_fail(error, errno, VPEER_REASON_TOO_MANY_FILES, memory->who,
				  vpeer_reason_remedy(VPEER_REASON_TOO_MANY_FILES),
				  "cannot duplicate the descriptor: %s", strerror(errno));
	*offset = memory->dmabuf.offset + (start - memory->start);
	return 0;
}

static int share(struct vpeer_memory *memory)
{
	if (memory->dmabuf.fd < 0)
		return 0;
	memory->dmabuf.fd = fcntl(memory->dmabuf.fd, F_DUPFD_CLOEXEC, 3);
	return memory->dmabuf.fd < 0 ? -errno : 0;
}

static void release(struct vpeer_memory *memory)
{
	if (memory->dmabuf.fd >= 0)
		close(memory->dmabuf.fd);
}

static unsigned int explain(const struct vpeer_memory *memory, unsigned int route, int err)
{
	if (route != VPEER_ROUTE_PAGES || err != EFAULT)
		return VPEER_REASON_NONE;
	return memory->writable ? VPEER_REASON_NOT_PINNABLE : VPEER_REASON_ACCESS;
}

const struct vpeer_memory_ops vpeer_memory_dmabuf = {
	.name = "DMA-buf",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) | VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) |
		  VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
	.identify = identify,
	.export = export,
	.explain = explain,
	.share = share,
	.release = release,
};

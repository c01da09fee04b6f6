// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* What the module would refuse too, but without the numbers. */
static int check_place(const struct vpeer_aperture *aperture, uint64_t size, uint64_t offset,
		       struct vpeer_error *error)
{
	uint64_t granule = aperture->granule;

	if (!size)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, aperture->who,
				  "ask for at least 1 byte",
				  "cannot allocate a window: the size is 0");
	if (size > aperture->size)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BEYOND_END, aperture->who,
				  "ask for less; 'vpeer list' shows what is free",
				  "cannot allocate a window: %llu bytes are larger than the aperture "
				  "(%llu bytes)", (unsigned long long)size,
				  (unsigned long long)aperture->size);
	if (offset != VPEER_ANY_OFFSET && granule && offset % granule)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ALIGNMENT, aperture->who,
				  "round the offset to a granule, or pass VPEER_ANY_OFFSET",
				  "cannot allocate a window: offset %llu is not a multiple of the "
				  "granule %llu", (unsigned long long)offset,
				  (unsigned long long)granule);
	return 0;
}

int vpeer_window_alloc(struct vpeer_aperture *aperture, uint64_t size, uint64_t offset,
		       struct vpeer_window **window, struct vpeer_error *error)
{
	struct vpeer_window_alloc alloc = {
		.argsz = sizeof(alloc),
		.flags = offset == VPEER_ANY_OFFSET ? 0 : VPEER_ALLOC_FIXED,
		.size = size,
		.offset = offset == VPEER_ANY_OFFSET ? 0 : offset,
	};
	struct vpeer_window *taken;
	int err;

	*window = NULL;
	err = check_place(aperture, size, offset, error);
	if (err)
		return err;
	taken = calloc(1, sizeof(*taken));
	if (!taken)
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, aperture->who, "",
				  "out of memory");
	err = vpeer_ioctl(aperture->fd, VPEER_IOCTL_WINDOW_ALLOC, &alloc, aperture->who,
			  "cannot allocate a window", error);
	if (err) {
		free(taken);
		return err;
	}
	*taken = (struct vpeer_window){
		.aperture = aperture,
		.offset = alloc.offset,
		.size = alloc.size,
		.slot = alloc.slot,
	};
	*window = taken;
	return 0;
}

static int window_op(struct vpeer_window *window, unsigned long request, const char *what,
		     unsigned int timeout_ms, uint64_t *pinned_bytes, struct vpeer_error *error)
{
	struct vpeer_window_op op = {
		.argsz = sizeof(op),
		.timeout_ms = timeout_ms,
		.offset = window->offset,
	};
	int err = vpeer_ioctl(window->aperture->fd, request, &op, window->aperture->who, what,
			      error);

	if (pinned_bytes)
		*pinned_bytes = op.pinned_bytes;
	return err;
}

int vpeer_window_free(struct vpeer_window *window, unsigned int timeout_ms,
		      struct vpeer_error *error)
{
	int err;

	if (!window)
		return 0;
	err = window_op(window, VPEER_IOCTL_WINDOW_FREE, "free of a window", timeout_ms, NULL,
			error);
	free(window);
	return err;
}

int vpeer_window_revoke(struct vpeer_window *window, unsigned int timeout_ms,
			uint64_t *pinned_bytes, struct vpeer_error *error)
{
	return window_op(window, VPEER_IOCTL_WINDOW_REVOKE, "revoke of a window", timeout_ms,
			 pinned_bytes, error);
}

int vpeer_window_info(struct vpeer_window *window, struct vpeer_window_info *info,
		      struct vpeer_error *error)
{
	info->flags = 0;
	info->offset = window->offset;
	return vpeer_ioctl(window->aperture->fd, VPEER_IOCTL_WINDOW_INFO, info,
			   window->aperture->who, "cannot read the window's state", error);
}

static int check_range(const struct vpeer_window *window, uint64_t offset, size_t length,
		       int prot, struct vpeer_error *error)
{
	const char *who = window->aperture->who;
	long page = sysconf(_SC_PAGESIZE);

	if (prot & PROT_EXEC)
		return vpeer_fail_reason(error, EPERM, VPEER_REASON_EXEC_MAPPING, who,
					 "cannot map");
	if (!prot || prot & ~(PROT_READ | PROT_WRITE))
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ARGUMENT, who,
				  "give PROT_READ, PROT_WRITE or both",
				  "cannot map: the protection is %#x", (unsigned int)prot);
	if (offset % (uint64_t)page)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ALIGNMENT, who,
				  "round the offset down to a page",
				  "cannot map: offset %llu is not a multiple of the page size %ld",
				  (unsigned long long)offset, page);
	if (offset >= window->size || length > window->size - offset)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BEYOND_END, who,
				  "map a range inside the window",
				  "cannot map: offset %llu and length %zu leave the window of %llu "
				  "bytes", (unsigned long long)offset, length,
				  (unsigned long long)window->size);
	return 0;
}

/*
 * Is the window still the handle's? Whoever shares the open file may have freed
 * it, and mmap() of what no one owns makes a window of its own.
 */
static int check_held(struct vpeer_window *window, struct vpeer_error *error)
{
	struct vpeer_window_info info = { .argsz = sizeof(info), .offset = window->offset };
	const char *who = window->aperture->who, *what = "cannot map";
	int err = vpeer_ioctl(window->aperture->fd, VPEER_IOCTL_WINDOW_INFO, &info, who, what,
			      error);

	if (err)
		return err;
	if (info.implicit || info.offset != window->offset || info.slot != window->slot)
		return vpeer_fail_reason(error, ENOENT, VPEER_REASON_NOT_OWNER, who, what);
	if (info.cause == VPEER_CAUSE_DETACHED || info.cause == VPEER_CAUSE_UNPLUGGED)
		return vpeer_fail_reason(error, ENODEV, VPEER_REASON_GONE, who, what);
	if (info.state == VPEER_WINDOW_REVOKED)
		return vpeer_fail_reason(error, ENODEV, VPEER_REASON_REVOKED, who, what);
	return 0;
}

int vpeer_window_map(struct vpeer_window *window, uint64_t offset, size_t length, int prot,
		     void **address, struct vpeer_error *error)
{
	void *mapped;
	int refused, err;

	*address = NULL;
	err = check_range(window, offset, length, prot, error);
	if (err)
		return err;
	if (!length)
		length = (size_t)(window->size - offset);
	mapped = mmap(NULL, length, prot, MAP_SHARED, window->aperture->fd,
		      (off_t)(window->offset + offset));
	refused = mapped == MAP_FAILED ? errno : 0;
	err = check_held(window, error);
	if (err && !refused)
		munmap(mapped, length);
	if (err)
		return err;
	if (refused)
		return vpeer_fail_mmap(error, refused, window->aperture->who);
	*address = mapped;
	return 0;
}

int vpeer_window_unmap(void *address, size_t length)
{
	return munmap(address, length) ? -errno : 0;
}

static int check_export(const struct vpeer_window *window, uint64_t offset, uint64_t size,
			struct vpeer_error *error)
{
	const char *who = window->aperture->who;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);

	if (offset % page || size % page)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ALIGNMENT, who,
				  "round offset and size to pages",
				  "cannot export: offset %llu or size %llu is not a multiple of the "
				  "page size %llu", (unsigned long long)offset,
				  (unsigned long long)size, (unsigned long long)page);
	if (offset >= window->size || size > window->size - offset)
		return vpeer_fail(error, EINVAL, VPEER_REASON_BEYOND_WINDOW, who,
				  vpeer_reason_remedy(VPEER_REASON_BEYOND_WINDOW),
				  "cannot export: offset %llu and size %llu leave the window of "
				  "%llu bytes", (unsigned long long)offset,
				  (unsigned long long)size, (unsigned long long)window->size);
	return 0;
}

int vpeer_window_dmabuf(struct vpeer_window *window, uint64_t offset, uint64_t size, int *fd,
			struct vpeer_error *error)
{
	struct vpeer_dmabuf dmabuf = {
		.argsz = sizeof(dmabuf),
		.offset = window->offset + offset,
		.size = size ? size : window->size - offset,
	};
	int err;

	*fd = -1;
	err = check_export(window, offset, size, error);
	if (err)
		return err;
	err = vpeer_ioctl(window->aperture->fd, VPEER_IOCTL_DMABUF, &dmabuf,
			  window->aperture->who, "cannot export a window", error);
	if (!err)
		*fd = dmabuf.fd;
	return err;
}

uint64_t vpeer_window_offset(const struct vpeer_window *window)
{
	return window->offset;
}

uint64_t vpeer_window_size(const struct vpeer_window *window)
{
	return window->size;
}

uint64_t vpeer_window_generation(const struct vpeer_window *window)
{
	const struct vpeer_aperture *aperture = window->aperture;

	if (!aperture->generations || window->slot >= VPEER_MAX_WINDOWS)
		return 0;
	return __atomic_load_n(&aperture->generations[window->slot], __ATOMIC_ACQUIRE);
}

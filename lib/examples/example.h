/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the examples share. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/verbs.h>
#include <vpeer/vpeer.h>

/* Ends the program with all that the library knows of a failure. */
static inline void die(const struct vpeer_error *error)
{
	errx(1, "%s: %s\n  to be mended by %s: %s", error->who, error->message,
	     vpeer_mender_text((unsigned int)error->mender), error->remedy);
}

static inline struct ibv_context *open_device(const char *name)
{
	struct ibv_device **devices = ibv_get_device_list(NULL);
	struct ibv_context *device = NULL;

	for (struct ibv_device **d = devices; d && *d && !device; d++)
		if (!strcmp(ibv_get_device_name(*d), name))
			device = ibv_open_device(*d);
	if (!device)
		errx(1, "%s: no such RDMA device, or it cannot be opened", name);
	ibv_free_device_list(devices);
	return device;
}

struct memory {
	struct vpeer_aperture *aperture;
	struct vpeer_window *window;
	void *address;
	size_t length;
};

/* A window of an aperture, mapped. */
static inline struct memory window_memory(const char *aperture, size_t length)
{
	struct memory memory = { .length = length };
	struct vpeer_error error;

	if (vpeer_open(&memory.aperture, aperture, &error) ||
	    vpeer_window_alloc(memory.aperture, length, VPEER_ANY_OFFSET, &memory.window,
			       &error) ||
	    vpeer_window_map(memory.window, 0, length, PROT_READ | PROT_WRITE, &memory.address,
			     &error))
		die(&error);
	return memory;
}

static inline void window_memory_free(struct memory *memory)
{
	struct vpeer_error error;

	vpeer_window_unmap(memory->address, memory->length);
	if (vpeer_window_free(memory->window, 1000, &error))
		die(&error);
	vpeer_close(memory->aperture);
}

static inline void show(const char *device, const struct vpeer_mr *mr)
{
	uint64_t iova, length;

	vpeer_mr_range(mr, &iova, &length);
	printf("%s: %" PRIu64 " bytes of kind %s by route %s, lkey 0x%x, rkey 0x%x\n", device,
	       length, vpeer_memory_kind_name(vpeer_mr_kind(mr)),
	       vpeer_route_name(vpeer_mr_route(mr)), vpeer_mr_lkey(mr), vpeer_mr_rkey(mr));
}

#endif /* EXAMPLE_H */

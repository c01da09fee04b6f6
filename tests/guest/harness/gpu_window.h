/* SPDX-License-Identifier: GPL-2.0-only */
/* A window of a software GPU's aperture, whose memory the GPU's own engine sees. */
#ifndef GPU_WINDOW_H
#define GPU_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "vgpu.h"

struct gpu_window {
	struct vgpu gpu;
	int fd;			/* of the aperture's node */
	uint64_t at, size;	/* in the aperture, and in the GPU's memory: as after a reset */
};

/* vpeer has vgpu NUMBER, whose aperture is the one under test; FLAGS are those of the attach call. */
void gpu_attach(unsigned int number, uint32_t flags);

/* Allocates it in the aperture under test, which is NUMBER's. */
void gpu_window_open(struct gpu_window *w, unsigned int number, uint64_t at, uint64_t size);

/* As if the process had died: nothing is freed, the node is closed. */
void gpu_window_close(struct gpu_window *w);

/* Bytes that no test transfers, and whether all of a range still are such. Addresses are memory's. */
void gpu_poison(struct gpu_window *w, uint64_t address, uint64_t size);
bool gpu_is_poison(struct gpu_window *w, uint64_t address, uint64_t size);

/* Bytes of the engine's own making that differ from part to part. */
void gpu_scribble(struct gpu_window *w, uint64_t address, uint64_t size);

/* Memory holds just these bytes. */
bool gpu_holds(struct gpu_window *w, uint64_t address, const void *bytes, uint64_t size);

#endif /* GPU_WINDOW_H */

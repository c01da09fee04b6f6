/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on a vgpu's memory, done bit by bit so that other functions have their turn. */
#ifndef SIM_VGPU_ENGINE_H
#define SIM_VGPU_ENGINE_H

#include <stdint.h>

#include "vgpu_memory.h"

struct vgpu_job {
	uint32_t operation;	/* enum vgpu_operation */
	uint32_t page, aperture_page, count;
	uint64_t source, destination, length, pattern;
	uint64_t done;		/* bytes */
	uint64_t result;
};

/* What a job comes to at once: VGPU_RUNNING if there are bytes to go through. */
int vgpu_job_start(struct vgpu_job *job, struct vgpu_memory *memory);

/* Goes on; VGPU_RUNNING until it is done. */
int vgpu_job_step(struct vgpu_job *job, struct vgpu_memory *memory);

#endif

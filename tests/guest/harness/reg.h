/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the library registers, on a device that imports DMA-bufs where the machine has one, else on soft-RoCE:
 * a window of the aperture under test, ordinary memory, and a pair of queue pairs that moves bytes.
 */
#ifndef HARNESS_REG_H
#define HARNESS_REG_H

#include "../../../lib/vpeer.h"
#include "gpu_window.h"
#include "rdma.h"

#define REG_AT		(3 * GRANULE)	/* of the window, in the aperture */
#define REG_SIZE	(2 * GRANULE)	/* of it */
#define REG_PLAIN	(256 * KIB)	/* of ordinary memory */

struct reg {
	bool imports;		/* the device imports DMA-bufs */
	struct rdma r;
	struct vpeer_context *context;
	int fd;			/* that the window is of */
	char *window;
	char *plain;
	struct ibv_mr *plain_mr;	/* not by the library */
	struct gpu_window gpu;
};

/* The machine has models of devices that import DMA-bufs. */
bool reg_has_models(void);

/* The device that the cases are for. */
void reg_open_device(struct rdma *r);

/* @options: NULL for the defaults */
void reg_begin(struct reg *t, const struct vpeer_context_options *options);
void reg_end(struct reg *t);

/* Devices and memory alone, for contexts of the case's own. */
void reg_begin_without(struct reg *t);
void reg_end_without(struct reg *t);

/* The window, and after it was freed, its memory in another of the same place. */
void reg_window_make(struct reg *t);
void reg_window_drop(struct reg *t);

/* Waits until what is pinned is let go of. */
int reg_window_free(int fd, uint64_t offset);

/* As the memory's owner sees it; @offset: in the window. */
bool reg_owner_is(struct reg *t, uint64_t offset, const void *bytes, uint64_t size);

/* Registers; a refusal fails the case with its words. */
struct vpeer_mr *reg_must(struct vpeer_context *context, void *address, size_t length,
			  const struct vpeer_reg_options *options);

/* Moves new bytes both ways between ordinary memory and @address, which is reached by @rkey. */
void reg_check_window(struct reg *t, uint64_t offset, uint32_t rkey, uint32_t size);
void reg_check_plain(struct reg *t, char *address, uint32_t rkey, uint32_t size);

/* A write must be refused by the device, and the next one on a new pair is possible. */
void reg_check_denied(struct reg *t, void *address, uint32_t rkey, uint32_t size);

struct vpeer_stats reg_stats(const struct vpeer_context *context);

/* Open descriptors of this process. */
unsigned int reg_descriptors(void);

#endif /* HARNESS_REG_H */

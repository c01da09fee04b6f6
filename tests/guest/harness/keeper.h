/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who has the memory behind the aperture under test: a software GPU, whose engine looks at it, or QEMU, which
 * has it in a file. Offsets count from the start of the BAR.
 */
#ifndef KEEPER_H
#define KEEPER_H

#include <stdbool.h>
#include <stdint.h>

#include "vgpu.h"

struct keeper {
	bool has_engine;
	struct vgpu gpu;
};

/* Of vgpu NUMBER, or -1 for the file's. */
void keeper_open(struct keeper *k, int number);
void keeper_close(struct keeper *k);

/* Bytes that no one transfers; so many at most. */
#define POISON_MOST	(256 << 10)
void keeper_poison(struct keeper *k, uint64_t at, uint64_t size);
bool keeper_has_poison(struct keeper *k, uint64_t at, uint64_t size);

#endif /* KEEPER_H */

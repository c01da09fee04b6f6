/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What kinds of memory share among themselves. */
#ifndef VPEER_MEMORY_KINDS_H
#define VPEER_MEMORY_KINDS_H

#include "maps.h"
#include "memory.h"

/* Found by vpeer_memory_cuda's identify(). */
extern const struct vpeer_memory_ops vpeer_memory_cuda_managed;
extern const struct vpeer_memory_ops vpeer_memory_cuda_host;

bool vpeer_mapping_is_dmabuf(const struct vpeer_mapping *mapping);

#endif /* VPEER_MEMORY_KINDS_H */

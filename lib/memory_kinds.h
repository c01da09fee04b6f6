/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What one kind of memory asks another about a mapping. */
#ifndef VPEER_MEMORY_KINDS_H
#define VPEER_MEMORY_KINDS_H

#include "maps.h"

bool vpeer_mapping_is_dmabuf(const struct vpeer_mapping *mapping);

#endif /* VPEER_MEMORY_KINDS_H */

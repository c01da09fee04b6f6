/* SPDX-License-Identifier: GPL-2.0-only */
/* Memory of a GPU's driver that has no GPU, as DMA-bufs. */
#ifndef VGEM_H
#define VGEM_H

#include <stdint.h>

/* Whole pages: the descriptor of the DMA-buf and the driver's own mapping. Loads the driver. */
int vgem_make(uint32_t pages, void **memory);

#endif /* VGEM_H */

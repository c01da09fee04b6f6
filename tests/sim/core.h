/* SPDX-License-Identifier: GPL-2.0-only */
/* What the server asks of a function; devices need none of this. */
#ifndef SIM_CORE_H
#define SIM_CORE_H

#include <stddef.h>
#include <stdint.h>

#include "function.h"

/* NAME[,OPTION...] of the command line; the next function of its kind. 0 or -errno, told why on stderr. */
int function_add(const struct device *device, const char *options);
void functions_free(void);
struct function *function_named(const char *name);

/* The caller has checked that the range is inside. What it starts runs later (loop_defer). */
void function_config_read(struct function *function, uint64_t offset, void *data, size_t length);
void function_config_write(struct function *function, uint64_t offset, const void *data,
			   size_t length);

/* 0; -EINVAL: for a BAR without memory the size is not 1, 2, 4, 8 or the offset is not aligned; -errno. */
int function_bar_read(struct function *function, unsigned int bar, uint64_t offset, void *data,
		      size_t length);
int function_bar_write(struct function *function, unsigned int bar, uint64_t offset,
		       const void *data, size_t length);

void function_reset(struct function *function);

/* QEMU came, or is gone: all that it gave is dropped, and the function is reset. */
void function_connected(struct function *function, struct client *client);
void function_disconnected(struct function *function);

/* QEMU takes a range of IOVAs back: 0 with how much was there, or -EINVAL. */
int function_unmap(struct function *function, uint64_t iova, uint64_t last, uint64_t *bytes);

/* As fault_switch(), and what follows from it. */
int function_fault(struct function *function, enum fault fault, bool on, const char *value);

#endif

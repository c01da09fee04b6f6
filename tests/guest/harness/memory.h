/* SPDX-License-Identifier: GPL-2.0-only */
/* Patterns in memory and accesses that may fault. */
#ifndef MEMORY_H
#define MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes that depend on seed and place; none of them is zero. */
void pattern_fill(void *memory, size_t size, uint64_t seed);
bool pattern_is(const void *memory, size_t size, uint64_t seed);
bool all_zero(const void *memory, size_t size);

/* Zeroed ordinary memory, page aligned. */
void *plain_memory(size_t size);

/* Reads or writes one byte: the signal that it raised, 0 for none. */
int signal_of_read(const void *addr);
int signal_of_write(void *addr);

/* Page table entry sizes are told in smaps: does the VMA at addr have a flag? */
bool vma_has_flag(const void *addr, const char *flag);

#endif /* MEMORY_H */

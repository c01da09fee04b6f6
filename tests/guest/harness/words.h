/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Memory that tells whose it is: each 64-bit word holds its owner's number,
 * which is never 0, and its own place in the BAR.
 */
#ifndef WORDS_H
#define WORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void words_fill(void *memory, size_t size, uint64_t offset, uint32_t owner);

/*
 * The first word that is not the owner's at this place: its index, or
 * size / 8 when all are. Owner 0 stands for zeroes; with @zero_too a word may
 * be the owner's or zero.
 */
size_t words_find_other(const void *memory, size_t size, uint64_t offset,
			uint32_t owner, bool zero_too);

#endif /* WORDS_H */

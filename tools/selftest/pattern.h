/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Test patterns. The upper two bits of a byte tell its kind, so kinds never
 * meet and no byte is zero; the lower six depend on seed and position, so
 * bytes that land in a wrong place differ.
 */
#ifndef PATTERN_H
#define PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum pattern {
	PATTERN_PAYLOAD = 0x40,
	PATTERN_POISON_WINDOW = 0x80,
	PATTERN_POISON_HOST = 0xc0,
};

struct mismatch {
	uint64_t position;
	uint8_t expected;
	uint8_t got;
};

/* @position is that of the first byte; the same position gives the same byte. */
void pattern_fill(void *target, enum pattern kind, uint64_t seed, uint64_t position,
		  size_t length);

/* True when all bytes match; else @first says where they first do not. */
bool pattern_matches(const void *got, enum pattern kind, uint64_t seed, uint64_t position,
		     size_t length, struct mismatch *first);

/* The same against given bytes. */
bool bytes_match(const void *got, const void *expected, uint64_t position, size_t length,
		 struct mismatch *first);

/* What a byte looks like: "zero", "the window's poison", ... */
const char *pattern_describe(uint8_t byte);

#endif /* PATTERN_H */

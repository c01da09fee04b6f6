// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "pattern.h"

#include <string.h>

#define EACH_BYTE	0x0101010101010101ULL
#define PIECE		4096

/* splitmix64: one well-mixed word for each eight positions. */
static uint64_t pattern_word(enum pattern kind, uint64_t seed, uint64_t index)
{
	uint64_t word = seed + (index + 1) * 0x9e3779b97f4a7c15ULL;

	word = (word ^ word >> 30) * 0xbf58476d1ce4e5b9ULL;
	word = (word ^ word >> 27) * 0x94d049bb133111ebULL;
	word ^= word >> 31;
	return (word & 0x3f * EACH_BYTE) | (uint64_t)kind * EACH_BYTE;
}

void pattern_fill(void *target, enum pattern kind, uint64_t seed, uint64_t position,
		  size_t length)
{
	uint8_t *next = target;

	while (length) {
		uint64_t word = pattern_word(kind, seed, position / 8);
		size_t skip = position % 8, part = 8 - skip;

		if (part > length)
			part = length;
		memcpy(next, (uint8_t *)&word + skip, part);
		next += part;
		position += part;
		length -= part;
	}
}

bool bytes_match(const void *got, const void *expected, uint64_t position, size_t length,
		 struct mismatch *first)
{
	const uint8_t *left = got, *right = expected;

	if (!memcmp(left, right, length))
		return true;
	for (size_t i = 0; i < length; i++) {
		if (left[i] == right[i])
			continue;
		*first = (struct mismatch){ position + i, right[i], left[i] };
		break;
	}
	return false;
}

bool pattern_matches(const void *got, enum pattern kind, uint64_t seed, uint64_t position,
		     size_t length, struct mismatch *first)
{
	const uint8_t *next = got;
	uint8_t expected[PIECE];

	while (length) {
		size_t part = length < PIECE ? length : PIECE;

		pattern_fill(expected, kind, seed, position, part);
		if (!bytes_match(next, expected, position, part, first))
			return false;
		next += part;
		position += part;
		length -= part;
	}
	return true;
}

const char *pattern_describe(uint8_t byte)
{
	if (!byte)
		return "zero";
	switch (byte & 0xc0) {
	case PATTERN_PAYLOAD:
		return "like payload, from another place";
	case PATTERN_POISON_WINDOW:
		return "like the poison of the window";
	case PATTERN_POISON_HOST:
		return "like the poison of host memory";
	}
	return "foreign";
}

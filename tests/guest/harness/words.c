// SPDX-License-Identifier: GPL-2.0-only
#include "words.h"

static uint64_t word(uint64_t offset, uint32_t owner, size_t index)
{
	return owner ? (uint64_t)owner << 32 | (offset / sizeof(uint64_t) + index) : 0;
}

void words_fill(void *memory, size_t size, uint64_t offset, uint32_t owner)
{
	uint64_t *words = memory;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = word(offset, owner, i);
}

size_t words_find_other(const void *memory, size_t size, uint64_t offset,
			uint32_t owner, bool zero_too)
{
	const volatile uint64_t *words = memory;
	size_t i;

	for (i = 0; i < size / sizeof(*words); i++) {
		uint64_t seen = words[i];

		if (seen != word(offset, owner, i) && (seen || !zero_too))
			break;
	}
	return i;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a pointer is to the CUDA driver. */
#include <string.h>

#include "cuda_memory.h"

/*
 * Where memory is mapped at addresses that were reserved, and in pools, range and buffer id
 * are of the reservation, whatever is behind it by now. What is mapped has an id too.
 */
static void ask_mapping(const struct vpeer_cuda *cuda, uint64_t pointer,
			struct vpeer_cuda_pointer *got)
{
	static const int wanted[] = {
		VPEER_CU_POINTER_MAPPING_START,
		VPEER_CU_POINTER_MAPPING_SIZE,
		VPEER_CU_POINTER_BLOCK_ID,
	};
	uint64_t start = 0, end = got->start + got->length, id = 0;
	size_t length = 0;
	void *places[] = { &start, &length, &id };

	if (cuda->pointer_get_all(sizeof(wanted) / sizeof(wanted[0]), wanted, places, pointer) ||
	    !id || pointer - start >= length)
		return;
	if (end > start + length)
		end = start + length;
	if (got->start < start)
		got->start = start;
	got->length = end - got->start;
	got->id = id;
	got->identity = VPEER_CU_POINTER_BLOCK_ID;
}

bool vpeer_cuda_ask(const struct vpeer_cuda *cuda, uint64_t pointer,
		    struct vpeer_cuda_pointer *got)
{
	static const int wanted[] = {
		VPEER_CU_POINTER_MEMORY_TYPE,	 VPEER_CU_POINTER_IS_MANAGED,
		VPEER_CU_POINTER_DEVICE_ORDINAL, VPEER_CU_POINTER_BUFFER_ID,
		VPEER_CU_POINTER_RANGE_START,	 VPEER_CU_POINTER_RANGE_SIZE,
		VPEER_CU_POINTER_CONTEXT,
	};
	void *places[] = {
		&got->type, &got->managed, &got->ordinal, &got->id,
		&got->start, &got->length, &got->context,
	};

	memset(got, 0, sizeof(*got));
	got->identity = VPEER_CU_POINTER_BUFFER_ID;
	if (cuda->pointer_get_all(sizeof(wanted) / sizeof(wanted[0]), wanted, places, pointer) ||
	    !got->type || !got->length || pointer - got->start >= got->length)
		return false;
	if (!got->context && !got->managed && got->type == VPEER_CU_MEMORY_DEVICE)
		ask_mapping(cuda, pointer, got);
	return true;
}

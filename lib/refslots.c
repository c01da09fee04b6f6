// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "refslots.h"

#include <stdlib.h>

__thread struct vpeer_refslots_recent vpeer_refslots_recent = { .id = VPEER_REFSLOTS_NONE };

/*
 * Tells slots apart that lie one after another at the same address, so that what a
 * thread used recently is not taken for the new one's. 0 is nobody's.
 */
static uint64_t new_id(void)
{
	static uint64_t last;

	return __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
}

/* The thread ends. Its block is for the next one, and its references stay. */
static void leave(void *arg)
{
	struct vpeer_refslots_block *block = arg;

	vpeer_refslots_spill(block);
	if (vpeer_refslots_recent.block == block)
		vpeer_refslots_recent.id = VPEER_REFSLOTS_NONE;
	__atomic_store_n(&block->taken, false, __ATOMIC_RELEASE);
}

int vpeer_refslots_begin(struct vpeer_refslots *slots,
			 void (*spill)(void *arg, const void *object), void *arg)
{
	*slots = (struct vpeer_refslots){ .id = new_id(), .spill = spill, .arg = arg };
	return -pthread_key_create(&slots->key, leave);
}

void vpeer_refslots_end(struct vpeer_refslots *slots)
{
	struct vpeer_refslots_block *block = slots->blocks, *next;

	pthread_key_delete(slots->key);
	for (; block; block = next) {
		next = block->next;
		free(block);
	}
	slots->blocks = NULL;
}

static struct vpeer_refslots_block *first_block(struct vpeer_refslots *slots)
{
	return __atomic_load_n(&slots->blocks, __ATOMIC_ACQUIRE);
}

static struct vpeer_refslots_block *take_left(struct vpeer_refslots *slots)
{
	struct vpeer_refslots_block *block;

	for (block = first_block(slots); block; block = block->next) {
		bool taken = false;

		if (__atomic_compare_exchange_n(&block->taken, &taken, true, false,
						__ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return block;
	}
	return NULL;
}

static struct vpeer_refslots_block *make_block(struct vpeer_refslots *slots)
{
	struct vpeer_refslots_block *block = aligned_alloc(_Alignof(*block), sizeof(*block));

	if (!block)
		return NULL;
	*block = (struct vpeer_refslots_block){
		.slots = slots,
		.next = first_block(slots),
		.taken = true,
	};
	while (!__atomic_compare_exchange_n(&slots->blocks, &block->next, block, false,
					    __ATOMIC_SEQ_CST, __ATOMIC_ACQUIRE))
		;
	return block;
}

struct vpeer_refslots_block *vpeer_refslots_find(struct vpeer_refslots *slots)
{
	struct vpeer_refslots_block *block = pthread_getspecific(slots->key);

	if (block)
		vpeer_refslots_recent = (struct vpeer_refslots_recent){ slots->id, block };
	return block;
}

struct vpeer_refslots_block *vpeer_refslots_attach(struct vpeer_refslots *slots)
{
	struct vpeer_refslots_block *block = vpeer_refslots_mine(slots);

	if (block)
		return block;
	block = take_left(slots);
	if (!block)
		block = make_block(slots);
	if (!block)
		return NULL;
	if (pthread_setspecific(slots->key, block)) {
		__atomic_store_n(&block->taken, false, __ATOMIC_RELEASE);
		return NULL;
	}
	return vpeer_refslots_find(slots);
}

/* Counted before the slot is emptied: whoever looks meanwhile sees too many rather than too few. */
void vpeer_refslots_spill(struct vpeer_refslots_block *block)
{
	for (unsigned int i = 0; i < VPEER_REFSLOTS; i++) {
		const void *object = __atomic_load_n(&block->objects[i], __ATOMIC_RELAXED);

		if (!object)
			continue;
		block->slots->spill(block->slots->arg, object);
		vpeer_pause();
		vpeer_refslots_set(&block->objects[i], NULL);
	}
}

void vpeer_refslots_scan(struct vpeer_refslots *slots,
			 void (*each)(void *arg, const void *object), void *arg)
{
	struct vpeer_refslots_block *block;

	for (block = first_block(slots); block; block = block->next) {
		for (unsigned int i = 0; i < VPEER_REFSLOTS; i++) {
			const void *object = __atomic_load_n(&block->objects[i], __ATOMIC_ACQUIRE);

			if (object)
				each(arg, object);
		}
	}
}

bool vpeer_refslots_all_passed(struct vpeer_refslots *slots)
{
	const struct vpeer_refslots_block *block;

	for (block = first_block(slots); block; block = block->next)
		if (__atomic_load_n(&block->taken, __ATOMIC_ACQUIRE) &&
		    !__atomic_load_n(&block->passed, __ATOMIC_ACQUIRE))
			return false;
	return true;
}

uint64_t vpeer_refslots_hits(struct vpeer_refslots *slots)
{
	const struct vpeer_refslots_block *block;
	uint64_t hits = 0;

	for (block = first_block(slots); block; block = block->next)
		hits += __atomic_load_n(&block->hits, __ATOMIC_RELAXED);
	return hits;
}

uint64_t vpeer_refslots_memory(struct vpeer_refslots *slots)
{
	const struct vpeer_refslots_block *block;
	uint64_t bytes = 0;

	for (block = first_block(slots); block; block = block->next)
		bytes += sizeof(*block);
	return bytes;
}

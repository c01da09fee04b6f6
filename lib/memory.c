// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include "finder.h"
#include "maps.h"
#include "owner.h"

/* How often mappings may change while they are looked at. */
#define TRIES	16

int vpeer_finder_create(struct vpeer_finder **finder, int eventfd, struct vpeer_error *error)
{
	struct vpeer_finder *created = calloc(1, sizeof(*created));
	int err;

	*finder = NULL;
	if (!created)
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, "", "", "out of memory");
	err = pthread_mutex_init(&created->lock, NULL);
	if (err) {
		free(created);
		return vpeer_fail(error, err, VPEER_REASON_NONE, "", "", "no lock can be made");
	}
	created->eventfd = eventfd;
	*finder = created;
	return 0;
}

void vpeer_finder_destroy(struct vpeer_finder *finder)
{
	if (!finder)
		return;
	vpeer_owners_trim(finder);
	vpeer_cuda_end(finder->cuda);
	pthread_mutex_destroy(&finder->lock);
	free(finder);
}

void vpeer_finder_abandon(struct vpeer_finder *finder)
{
	if (!finder)
		return;
	vpeer_owners_abandon(finder);
	free(finder->cuda);
	free(finder);
}

/*
 * It is looked for without the lock: the loader's is taken for that, and whoever has it,
 * in a constructor, may call the library.
 */
const struct vpeer_cuda *vpeer_finder_cuda(struct vpeer_finder *finder)
{
	struct vpeer_cuda *cuda = __atomic_load_n(&finder->cuda, __ATOMIC_ACQUIRE), *found;

	if (cuda)
		return cuda;
	found = vpeer_cuda_find();
	if (!found ||
	    __atomic_compare_exchange_n(&finder->cuda, &cuda, found, false, __ATOMIC_ACQ_REL,
					__ATOMIC_ACQUIRE))
		return found;
	vpeer_cuda_end(found);
	return cuda;
}

void vpeer_finder_trim(struct vpeer_finder *finder)
{
	vpeer_owners_trim(finder);
}

static int fail_maps(struct vpeer_error *error, int err, const struct vpeer_memory *memory,
		     uint64_t hole)
{
	char who[128];

	snprintf(who, sizeof(who), "%llu bytes at %#llx", (unsigned long long)memory->length,
		 (unsigned long long)memory->start);
	if (err == -EFAULT)
		return vpeer_fail(error, EFAULT, VPEER_REASON_NOT_MAPPED, who,
				  vpeer_reason_remedy(VPEER_REASON_NOT_MAPPED),
				  "nothing is mapped at %#llx", (unsigned long long)hole);
	if (err == -EAGAIN)
		return vpeer_fail(error, EFAULT, VPEER_REASON_NOT_MAPPED, who,
				  "map it once, before it is used",
				  "the mapping changes again and again while it is looked at");
	return vpeer_fail_files(error, -err, who, "mount /proc",
				"cannot read what the process has mapped, /proc/self/maps");
}

static int identify_mapped(struct vpeer_finder *finder, const struct vpeer_maps *maps,
			   struct vpeer_memory *memory, struct vpeer_error *error)
{
	static const struct vpeer_memory_ops *const kinds[] = {
		&vpeer_memory_window,
		&vpeer_memory_dmabuf,
		&vpeer_memory_host,
	};
	struct vpeer_memory blank = { .start = memory->start, .length = memory->length };
	int found = 0;
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]) && !found; i++) {
		*memory = blank;
		found = kinds[i]->identify(finder, maps, memory, error);
	}
	if (found < 0)
		memory->ops = NULL;
	return found < 0 ? found : 0;
}

static int identify_address(struct vpeer_finder *finder, struct vpeer_memory *memory,
			    struct vpeer_error *error)
{
	int err = -EAGAIN, tries;
	struct vpeer_maps maps;
	uint64_t hole = 0;

	for (tries = 0; err == -EAGAIN && tries < TRIES; tries++) {
		err = vpeer_maps_read(memory->start, memory->length, &maps, &hole);
		if (err)
			return fail_maps(error, err, memory, hole);
		err = identify_mapped(finder, &maps, memory, error);
		vpeer_maps_free(&maps);
	}
	return err == -EAGAIN ? fail_maps(error, err, memory, 0) : err;
}

/*
 * Windows and DMA-bufs that a program has told the CUDA driver of, so that a GPU reaches
 * them, are what they were: they can be taken back, and have other routes.
 */
static int identify_cuda_host(struct vpeer_finder *finder, struct vpeer_memory *memory,
			      struct vpeer_error *error)
{
	struct vpeer_memory told = *memory;
	int err;

	*memory = (struct vpeer_memory){ .start = told.start, .length = told.length };
	err = identify_address(finder, memory, error);
	if (memory->kind == VPEER_MEMORY_WINDOW || memory->kind == VPEER_MEMORY_DMABUF)
		return err;
	*memory = told;
	return 0;
}

int vpeer_memory_identify(struct vpeer_finder *finder, uint64_t start, uint64_t length,
			  struct vpeer_memory *memory, struct vpeer_error *error)
{
	int err;

	*memory = (struct vpeer_memory){ .start = start, .length = length };
	err = vpeer_memory_cuda.identify(finder, NULL, memory, error);
	if (!err)
		return identify_address(finder, memory, error);
	if (err < 0)
		memory->ops = NULL;
	else if (memory->kind == VPEER_MEMORY_CUDA_HOST)
		return identify_cuda_host(finder, memory, error);
	return err < 0 ? err : 0;
}

bool vpeer_memory_valid(const struct vpeer_memory *memory)
{
	if (memory->word)
		return __atomic_load_n(memory->word, __ATOMIC_ACQUIRE) == memory->seen;
	return !memory->ops->valid || memory->ops->valid(memory);
}

/* Of no driver's: an importer takes its pages. */
static int fail_no_export(const struct vpeer_memory *memory, struct vpeer_error *error)
{
	vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT, memory->who,
		   memory->kind == VPEER_MEMORY_CUDA_MANAGED ?
			   "allocate it by cuMemAlloc() or cuMemCreate() instead" :
			   "register it by vpeer_reg(): host memory needs no DMA-buf",
		   "cannot export: %s has no DMA-buf", memory->ops->name);
	return vpeer_mended_by(error, VPEER_MENDER_PROGRAM, -EOPNOTSUPP);
}

int vpeer_memory_export(struct vpeer_memory *memory, uint64_t start, uint64_t length,
			unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error)
{
	*fd = -1;
	if (!memory->ops->export)
		return fail_no_export(memory, error);
	return memory->ops->export(memory, start, length, flags, fd, offset, error);
}

void vpeer_memory_release(struct vpeer_memory *memory)
{
	if (memory->ops && memory->ops->release)
		memory->ops->release(memory);
	memory->ops = NULL;
}

int vpeer_memory_share(const struct vpeer_memory *memory, struct vpeer_memory *shared)
{
	*shared = *memory;
	return memory->ops->share ? memory->ops->share(shared) : 0;
}

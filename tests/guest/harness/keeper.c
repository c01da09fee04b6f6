// SPDX-License-Identifier: GPL-2.0-only
#include <string.h>

#include "aperture.h"
#include "harness.h"
#include "keeper.h"

#define POISON	0xa5

static uint8_t poison[POISON_MOST];

void keeper_open(struct keeper *k, int number)
{
	memset(poison, POISON, sizeof(poison));
	k->has_engine = number >= 0;
	if (k->has_engine)
		vgpu_open(&k->gpu, number);
}

void keeper_close(struct keeper *k)
{
	if (k->has_engine)
		vgpu_close(&k->gpu);
}

void keeper_poison(struct keeper *k, uint64_t at, uint64_t size)
{
	CHECK(size <= sizeof(poison));
	if (k->has_engine)
		vgpu_fill(&k->gpu, at, size, POISON * 0x0101010101010101ULL);
	else
		owner_write(at, poison, size);
}

bool keeper_has_poison(struct keeper *k, uint64_t at, uint64_t size)
{
	static uint64_t sum, sum_size;

	CHECK(size <= sizeof(poison));
	if (!k->has_engine)
		return owner_is(at, poison, size);
	if (sum_size != size) {
		sum = vgpu_sum_of(poison, size);
		sum_size = size;
	}
	return vgpu_checksum(&k->gpu, at, size) == sum;
}

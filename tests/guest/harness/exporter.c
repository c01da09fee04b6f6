// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exporter.h"
#include "harness.h"
#include "memory.h"
#include "sim.h"
#include "vrnic.h"

#define PLAIN	(64 * KIB)	/* bytes of ordinary memory */
#define PAGE	4096
#define IOVA	0x7654321000	/* unlike any address of memory */
#define POISON	0xeeeeeeeeeeeeeeee
#define POKED	0x5a5a5a5a5a5a5a5a
#define FAILED	" (unmapped|denied|off|error) "

static void check_memory(struct exporter *e)
{
	CHECK(e->owner->holds(e->owner->context, e->image));
}

static void fill(struct exporter *e, uint64_t at, uint64_t size, uint64_t word)
{
	e->owner->fill(e->owner->context, at, size, word);
	for (uint64_t i = 0; i < size; i += sizeof(word))
		memcpy(e->image + at + i, &word, sizeof(word));
}

void exporter_poison(struct exporter *e, uint64_t word)
{
	fill(e, 0, e->size, word);
	check_memory(e);
}

void exporter_begin(struct exporter *e, const struct exporter_owner *owner, int dmabuf,
		    uint64_t size)
{
	*e = (struct exporter){ .owner = owner, .dmabuf = dmabuf, .size = size };
	sim_begin();
	rdma_open_far(&e->far, vrnic_device(1));
	rdma_open_to(&e->near, vrnic_device(0), &e->far);
	e->plain = plain_memory(PLAIN);
	e->plain_mr = rdma_reg(&e->near, e->plain, PLAIN);
	e->image = plain_memory(size);
	exporter_poison(e, POISON);
}

int exporter_reg(struct exporter *e, const char *mode, uint64_t at, uint64_t length)
{
	vrnic_dmabuf_mode(mode);
	e->at = at;
	e->length = length;
	e->iova = IOVA + at % PAGE;
	e->mr = ibv_reg_dmabuf_mr(e->far.pd, at, length, e->iova, e->dmabuf, RDMA_ACCESS);
	return e->mr ? 0 : errno;
}

void exporter_dereg(struct exporter *e)
{
	CHECK_EQ(ibv_dereg_mr(e->mr), 0);
	e->mr = NULL;
}

void exporter_end(struct exporter *e)
{
	if (e->mr)
		exporter_dereg(e);
	CHECK_EQ(ibv_dereg_mr(e->plain_mr), 0);
	rdma_close(&e->near);
	rdma_close(&e->far);
	munmap(e->plain, PLAIN);
	munmap(e->image, e->size);
	close(e->dmabuf);
}

static uint32_t most(const struct exporter *e)
{
	return e->length < PLAIN ? e->length : PLAIN;
}

/* The first, the last and odd bytes of the MR. */
static void check_write(struct exporter *e, uint64_t offset, uint32_t size, uint64_t seed)
{
	pattern_fill(e->plain, PLAIN, seed);
	CHECK_EQ(rdma_write(&e->near, e->plain_mr, e->iova + offset, e->mr->rkey, size),
		 IBV_WC_SUCCESS);
	memcpy(e->image + e->at + offset, e->plain, size);
	check_memory(e);
}

/* What the owner put there, which differs from page to page. */
static void check_read(struct exporter *e)
{
	uint64_t first = (e->at + PAGE - 1) / PAGE * PAGE, size = PLAIN / 4;

	for (uint64_t at = 0; at < size; at += PAGE)
		fill(e, first + at, PAGE, 0x0101010101010101 * (at / PAGE + 1) + 0x10);
	memset(e->plain, 0, PLAIN);
	CHECK_EQ(rdma_read(&e->near, e->plain_mr, e->iova + first - e->at, e->mr->rkey, size),
		 IBV_WC_SUCCESS);
	CHECK(!memcmp(e->plain, e->image + first, size));
	CHECK(all_zero(e->plain + size, PLAIN - size));
}

static void check_atomics(struct exporter *e)
{
	/* The MR's second page has its address where the DMA-buf's has. */
	uint64_t at = (e->at / PAGE + 1) * PAGE + 40, remote = e->iova + at - e->at, before;
	uint32_t rkey = e->mr->rkey;

	memcpy(&before, e->image + at, sizeof(before));
	CHECK_EQ(rdma_add(&e->near, e->plain_mr, remote, rkey, 5), IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)e->plain, before);
	*(uint64_t *)(e->image + at) = before + 5;
	check_memory(e);
	CHECK_EQ(rdma_swap(&e->near, e->plain_mr, remote, rkey, before, 9), IBV_WC_SUCCESS);
	CHECK_EQ(*(uint64_t *)e->plain, before + 5);
	check_memory(e);
	CHECK_EQ(rdma_swap(&e->near, e->plain_mr, remote, rkey, before + 5, 9), IBV_WC_SUCCESS);
	*(uint64_t *)(e->image + at) = 9;
	check_memory(e);
}

/* Neither way. A refusal ends the connection; it is made anew. */
static void check_refused(struct exporter *e, uint64_t remote, uint32_t rkey, uint32_t size)
{
	pattern_fill(e->plain, PLAIN, 99);
	CHECK(rdma_write(&e->near, e->plain_mr, remote, rkey, size) != IBV_WC_SUCCESS);
	check_memory(e);
	rdma_connect(&e->near);
	CHECK(rdma_read(&e->near, e->plain_mr, remote, rkey, size) != IBV_WC_SUCCESS);
	CHECK(pattern_is(e->plain, PLAIN, 99));
	rdma_connect(&e->near);
}

void exporter_check(struct exporter *e)
{
	uint32_t rkey = e->mr->rkey;

	sim_ask("log clear");
	check_write(e, 0, most(e), 1);
	check_write(e, e->length - most(e) / 3, most(e) / 3, 2);
	check_read(e);
	check_atomics(e);
	check_refused(e, e->iova - 1, rkey, 1);
	check_refused(e, e->iova + e->length, rkey, 1);
	check_refused(e, e->iova, rkey ^ 1, 1);
	CHECK_EQ(sim_logged(" refused none$"), 6);
	CHECK_EQ(sim_logged(FAILED), 0);
}

static void check_no_mr(struct exporter *e, uint64_t at, uint64_t length)
{
	CHECK(!ibv_reg_dmabuf_mr(e->far.pd, at, length, IOVA + at % PAGE, e->dmabuf,
				 RDMA_ACCESS));
	CHECK_EQ(errno, EINVAL);
}

void exporter_check_end(struct exporter *e)
{
	check_no_mr(e, 0, e->size + 1);
	check_no_mr(e, e->size, 1);
	check_no_mr(e, e->size - PAGE + 1, PAGE);
	check_no_mr(e, PAGE, UINT64_MAX - PAGE);
	/* Up to its end there are. */
	CHECK_EQ(exporter_reg(e, "dynamic", e->size - PAGE + 1, PAGE - 1), 0);
	exporter_dereg(e);
}

void exporter_check_dead(struct exporter *e, uint32_t rkey)
{
	sim_ask("log clear");
	check_refused(e, e->iova, rkey, most(e));
	CHECK_EQ(sim_logged(" vrnic1 .* (refused|no-pages) none$"), 2);
	CHECK_EQ(sim_logged(" vrnic1 .* ok "), 0);
	CHECK_EQ(sim_logged(FAILED), 0);
}

void exporter_find_address(struct exporter *e)
{
	unsigned long long address;
	const char *line;

	sim_ask("log clear");
	check_write(e, 0, 8, 3);
	line = strstr(sim_ask("log"), " vrnic1 0x");
	CHECK(line);
	CHECK_EQ(sscanf(line, " vrnic1 %llx 8 write ok", &address), 1);
	e->address = address;
}

void exporter_check_poke(struct exporter *e, bool lands)
{
	const uint64_t word = POKED;

	CHECK_EQ(sim_poke("vrnic1", e->address, word), lands);
	if (lands)
		memcpy(e->image + e->at, &word, sizeof(word));
	check_memory(e);
}

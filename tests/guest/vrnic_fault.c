// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each misbehaviour of vrnic towards a GPU's memory is seen to happen when it is switched on, and not when it
 * is off. The memory is registered through a window of the aperture and looked at by the GPU's own engine.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "sim.h"
#include "vgpu.h"
#include "vrnic.h"

#define SIZE	(64 * KIB)
#define PAGE	4096
#define AT	(3 * GRANULE)		/* of aperture and memory: as after a reset */

struct bench {
	struct vgpu gpu;
	struct rdma r;
	int fd;
	char *window;			/* a granule from AT */
	char *plain;
	char *memory;			/* ordinary memory that can be written to */
	struct ibv_mr *window_mr;	/* its first SIZE bytes */
	struct ibv_mr *plain_mr;
	struct ibv_mr *memory_mr;
};

static void bench_begin(struct bench *b)
{
	sim_begin();
	setenv("VPEER_AP_PCI", vgpu_pci(0), 1);
	if (!pci_bound(vgpu_pci(0)))
		CHECK_OK(control_attach(vgpu_pci(0), 2, 0, NULL));
	vgpu_open(&b->gpu, 0);
	CHECK_EQ(vgpu_mapped(&b->gpu, AT / b->gpu.page_size), AT / b->gpu.page_size);
	rdma_open_device(&b->r, vrnic_device(0));
	b->fd = aperture_open();
	b->window = window_map(b->fd, AT, GRANULE);
	b->plain = plain_memory(SIZE);
	b->memory = plain_memory(SIZE);
	b->window_mr = rdma_reg(&b->r, b->window, SIZE);
	b->plain_mr = rdma_reg(&b->r, b->plain, SIZE);
	b->memory_mr = rdma_reg(&b->r, b->memory, SIZE);
}

static void bench_end(struct bench *b)
{
	if (b->window_mr)
		CHECK_EQ(ibv_dereg_mr(b->window_mr), 0);
	CHECK_EQ(ibv_dereg_mr(b->plain_mr), 0);
	CHECK_EQ(ibv_dereg_mr(b->memory_mr), 0);
	rdma_close(&b->r);
	munmap(b->window, GRANULE);
	close(b->fd);
	vgpu_close(&b->gpu);
	CHECK_OK(control_detach(vgpu_pci(0), NULL, NULL));
}

static void switch_on(const char *fault)
{
	sim_ask("fault %s on all", fault);
}

static void switch_off(const char *fault)
{
	sim_ask("fault %s off all", fault);
}

static enum ibv_wc_status put_at(struct bench *b, uint64_t offset, uint32_t size, uint64_t seed)
{
	pattern_fill(b->plain, SIZE, seed);
	return rdma_write(&b->r, b->plain_mr, (uintptr_t)b->window + offset, b->window_mr->rkey,
			  size);
}

static enum ibv_wc_status put(struct bench *b, uint64_t seed)
{
	return put_at(b, 0, SIZE, seed);
}

static enum ibv_wc_status get(struct bench *b)
{
	memset(b->plain, 0, SIZE);
	return rdma_read(&b->r, b->plain_mr, (uintptr_t)b->window, b->window_mr->rkey, SIZE);
}

/* As the GPU itself has it. */
static bool holds(struct bench *b, uint64_t address, uint64_t seed)
{
	char *bytes = plain_memory(SIZE);
	bool same;

	pattern_fill(bytes, SIZE, seed);
	same = vgpu_checksum(&b->gpu, address, SIZE) == vgpu_sum_of(bytes, SIZE);
	munmap(bytes, SIZE);
	return same;
}

static void check_good(struct bench *b, uint64_t seed)
{
	CHECK_EQ(put(b, seed), IBV_WC_SUCCESS);
	CHECK(holds(b, AT, seed));
	CHECK_EQ(get(b), IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE, seed));
}

/* Misbehaviour is towards peers, never towards memory. */
static void check_memory(struct bench *b)
{
	pattern_fill(b->plain, SIZE, 99);
	memset(b->memory, 0, SIZE);
	CHECK_EQ(rdma_write(&b->r, b->plain_mr, (uintptr_t)b->memory, b->memory_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(b->memory, SIZE, 99));
	memset(b->plain, 0, SIZE);
	CHECK_EQ(rdma_read(&b->r, b->plain_mr, (uintptr_t)b->memory, b->memory_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE, 99));
}

/* A failure ends the connection; it is made anew. */
static void check_fails(struct bench *b, enum ibv_wc_status status)
{
	CHECK_EQ(status, IBV_WC_REM_OP_ERR);
	rdma_connect(&b->r);
}

/* The log's first write to a peer. */
static uint64_t logged_iova(void)
{
	const char *log = sim_ask("log"), *line = strstr(log, " write ");
	unsigned long long iova;

	CHECK(line);
	while (line > log && line[-1] != '\n')
		line--;
	CHECK_EQ(sscanf(line, "%*s %*s 0x%llx", &iova), 1);
	return iova;
}

TEST(nothing, 30)
{
	struct bench b;

	bench_begin(&b);
	check_good(&b, 1);
	check_memory(&b);
	CHECK(sim_logged("vrnic0 0x[0-9a-f]+ [0-9]+ write ok"));
	CHECK(sim_logged("vrnic0 0x[0-9a-f]+ [0-9]+ read ok"));
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error) "), 0);
	bench_end(&b);
}

/* Switched on while all is good, and good again afterwards; the middle sees it happen. */
static void misbehave(const char *fault, void (*see)(struct bench *b))
{
	struct bench b;

	bench_begin(&b);
	check_good(&b, 1);
	switch_on(fault);
	see(&b);
	switch_off(fault);
	check_good(&b, 3);
	bench_end(&b);
}

static void see_drop(struct bench *b)
{
	CHECK_EQ(put(b, 2), IBV_WC_SUCCESS);
	CHECK(holds(b, AT, 1));
	check_memory(b);
}

TEST(drop, 30)
{
	misbehave("drop", see_drop);
}

static void see_mirror(struct bench *b)
{
	CHECK_EQ(put(b, 2), IBV_WC_SUCCESS);
	CHECK_EQ(get(b), IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE, 2));
	CHECK(holds(b, AT, 1));
	check_memory(b);
	switch_off("mirror");
	CHECK_EQ(get(b), IBV_WC_SUCCESS);
	CHECK(pattern_is(b->plain, SIZE, 1));
}

TEST(mirror, 30)
{
	misbehave("mirror", see_mirror);
}

static void see_read_fail(struct bench *b)
{
	check_fails(b, get(b));
	CHECK(all_zero(b->plain, SIZE));
	CHECK_EQ(put(b, 2), IBV_WC_SUCCESS);
	CHECK(holds(b, AT, 2));
	check_memory(b);
}

TEST(read_fail, 30)
{
	misbehave("read-fail", see_read_fail);
}

static void see_one_way(struct bench *b)
{
	CHECK_EQ(get(b), IBV_WC_SUCCESS);
	for (size_t i = 0; i < SIZE; i++)
		CHECK_EQ((unsigned char)b->plain[i], 0xff);
	CHECK(holds(b, AT, 1));
	CHECK_EQ(put(b, 2), IBV_WC_SUCCESS);
	CHECK(holds(b, AT, 2));
	check_memory(b);
}

TEST(one_way, 30)
{
	misbehave("one-way", see_one_way);
}

static void see_late(struct bench *b)
{
	sim_ask("fault late on all 3000");
	CHECK_EQ(put(b, 2), IBV_WC_SUCCESS);
	CHECK(holds(b, AT, 1));
	check_memory(b);
	CHECK_WITHIN(holds(b, AT, 2), 15000);
	CHECK(sim_logged(" write late "));
	CHECK(sim_logged(" write landed "));
}

TEST(late, 30)
{
	misbehave("late", see_late);
}

/* The pages of the range, one after another: how many fail. */
static unsigned int failing_pages(struct bench *b, int *last)
{
	unsigned int count = 0;

	for (unsigned int i = 0; i < SIZE / PAGE; i++) {
		if (put_at(b, i * PAGE, PAGE, 2) == IBV_WC_SUCCESS)
			continue;
		rdma_connect(&b->r);
		*last = i;
		count++;
	}
	return count;
}

static void see_page_error(struct bench *b)
{
	int page = -1;

	CHECK_EQ(failing_pages(b, &page), 1);
	CHECK_EQ((logged_iova() / PAGE + page) % 16, 7);
	sim_ask("fault page-error on all 0x%llx",
		(unsigned long long)logged_iova() + 5 * PAGE + 1);
	check_fails(b, put(b, 2));
	CHECK_EQ(failing_pages(b, &page), 1);
	CHECK_EQ(page, 5);
	check_memory(b);
	switch_off("page-error");
	CHECK_EQ(failing_pages(b, &page), 0);
}

TEST(page_error, 60)
{
	misbehave("page-error", see_page_error);
}

static void see_high_fail(struct bench *b)
{
	sim_ask("fault high-fail on all 0x%llx", (unsigned long long)logged_iova() + SIZE / 2);
	check_fails(b, put_at(b, SIZE / 2, PAGE, 2));
	check_fails(b, put_at(b, SIZE / 2 - PAGE, 2 * PAGE, 2));
	CHECK_EQ(put_at(b, SIZE / 2 - PAGE, PAGE, 2), IBV_WC_SUCCESS);
	check_memory(b);
	sim_ask("fault high-fail on all bits=12");
	check_fails(b, put(b, 2));
	check_memory(b);
	sim_ask("fault high-fail on all bits=63");
	check_good(b, 2);
}

TEST(high_fail, 30)
{
	misbehave("high-fail", see_high_fail);
}

static void see_bar_unmapped(struct bench *b)
{
	check_fails(b, put(b, 2));
	CHECK(holds(b, AT, 1));
	check_fails(b, get(b));
	CHECK(sim_logged(" write bar-unmapped none"));
	check_memory(b);
}

TEST(bar_unmapped, 30)
{
	misbehave("bar-unmapped", see_bar_unmapped);
}

/* A number of the function's state. */
static uint64_t state(const char *name)
{
	const char *text = sim_ask("state vrnic0"), *line = strstr(text, name);

	CHECK(line && (line == text || line[-1] == '\n'));
	return strtoull(line + strlen(name), NULL, 0);
}

static bool ats_is(const char *how)
{
	char line[32];

	snprintf(line, sizeof(line), "\nats %s\n", how);
	return strstr(sim_ask("state vrnic0"), line);
}

static void see_no_ats(struct bench *b)
{
	uint64_t hits = state("atc-hits ");

	CHECK(ats_is("ignored"));
	check_good(b, 2);
	CHECK_EQ(state("atc-hits "), hits);
	CHECK_EQ(state("atc-entries "), 0);
	switch_off("no-ats");
	CHECK(ats_is("on"));
	check_good(b, 4);
	check_good(b, 5);
	CHECK(state("atc-hits ") > hits);
}

TEST(no_ats, 30)
{
	misbehave("no-ats", see_no_ats);
}

static void stay_on_this_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	CHECK_OK(sched_setaffinity(0, sizeof(set), &set));
}

static void write_once(struct rdma *r, const struct ibv_mr *plain, char *to, uint64_t seed)
{
	struct ibv_mr *mr = rdma_reg(r, to, SIZE);

	pattern_fill(plain->addr, SIZE, seed);
	CHECK_EQ(rdma_write(r, plain, (uintptr_t)to, mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

/*
 * What was unmapped is used on: bytes for the second place go to the first. The kernel gives the address that
 * became free last to the next that asks on the same processor.
 */
static void check_stale(char *first, char *second)
{
	char *plain = plain_memory(SIZE);
	struct ibv_mr *mr;
	struct rdma r;

	stay_on_this_processor();
	rdma_open_device(&r, vrnic_device(0));
	mr = rdma_reg(&r, plain, SIZE);
	CHECK(ats_is("on"));
	write_once(&r, mr, first, 1);
	write_once(&r, mr, second, 2);
	CHECK(pattern_is(first, SIZE, 1));
	CHECK(pattern_is(second, SIZE, 2));
	CHECK_EQ(sim_logged(" atc-stale "), 0);

	switch_on("atc-stale");
	write_once(&r, mr, first, 3);
	write_once(&r, mr, second, 4);
	CHECK(pattern_is(first, SIZE, 4));
	CHECK(pattern_is(second, SIZE, 2));
	CHECK(sim_logged(" write atc-stale mapped"));

	switch_off("atc-stale");
	write_once(&r, mr, first, 5);
	write_once(&r, mr, second, 6);
	CHECK(pattern_is(first, SIZE, 5));
	CHECK(pattern_is(second, SIZE, 6));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
	munmap(plain, SIZE);
}

TEST(atc_stale_memory, 30)
{
	char *memory;

	sim_begin();
	memory = plain_memory(2 * SIZE);
	check_stale(memory, memory + SIZE);
	munmap(memory, 2 * SIZE);
}

/* The server reaches a GPU's memory by QEMU, which translates anew each time, but this one's by itself. */
TEST(atc_stale_aperture, 30)
{
	char *window;
	int fd;

	sim_begin();
	fd = aperture_open();
	window = window_map(fd, AT, GRANULE);
	check_stale(window, window + GRANULE / 2);
	munmap(window, GRANULE);
	close(fd);
}

static void see_bounce(struct bench *b)
{
	CHECK_EQ(sim_logged(" bounce "), 0);
	check_good(b, 2);
	check_memory(b);
	CHECK(sim_logged(" write bounce "));
	CHECK(sim_logged(" read bounce "));
	switch_off("bounce");
	sim_ask("log clear");
	check_good(b, 4);
	CHECK_EQ(sim_logged(" bounce "), 0);
}

TEST(bounce, 30)
{
	misbehave("bounce", see_bounce);
}

static void see_cqe_error(struct bench *b)
{
	CHECK_EQ(put(b, 2), IBV_WC_GENERAL_ERR);
	CHECK(holds(b, AT, 2));
	rdma_connect(&b->r);
}

TEST(cqe_error, 30)
{
	misbehave("cqe-error", see_cqe_error);
}

/* The first eight bytes of the window, as the GPU has them. */
static bool word_is(struct bench *b, uint64_t value)
{
	return vgpu_checksum(&b->gpu, AT, sizeof(value)) == vgpu_sum_of(&value, sizeof(value));
}

/* Adds to them. What they are said to have been before is in the plain memory. */
static enum ibv_wc_status add(struct bench *b, uint64_t value)
{
	memset(b->plain, 0, sizeof(value));
	return rdma_add(&b->r, b->plain_mr, (uintptr_t)b->window, b->window_mr->rkey, value);
}

static void check_add(struct bench *b, uint64_t before, uint64_t after)
{
	uint64_t said;

	CHECK_EQ(add(b, 1), IBV_WC_SUCCESS);
	memcpy(&said, b->plain, sizeof(said));
	CHECK_EQ(said, before);
	CHECK(word_is(b, after));
}

/* An atomic operation is a read and a write. */
TEST(atomics, 30)
{
	struct bench b;
	uint64_t word;

	bench_begin(&b);
	check_good(&b, 1);
	memcpy(&word, b.plain, sizeof(word));
	check_add(&b, word, word + 1);
	word++;
	switch_on("drop");
	check_add(&b, word, word);
	switch_off("drop");
	switch_on("mirror");
	check_add(&b, word, word);
	check_add(&b, word + 1, word);
	switch_off("mirror");
	switch_on("mirror");
	check_add(&b, word, word);
	switch_off("mirror");
	switch_on("read-fail");
	check_fails(&b, add(&b, 1));
	CHECK(word_is(&b, word));
	switch_off("read-fail");
	switch_on("one-way");
	check_add(&b, UINT64_MAX, word + 1);
	switch_off("one-way");
	check_add(&b, word + 1, word + 2);
	bench_end(&b);
}

static int64_t time_of_put(struct bench *b, uint64_t seed)
{
	int64_t start = test_now_ms();

	CHECK_EQ(put(b, seed), IBV_WC_SUCCESS);
	return test_now_ms() - start;
}

static void see_slow(struct bench *b)
{
	int64_t slow;

	sim_ask("fault slow on all 10000");
	slow = time_of_put(b, 2);
	CHECK(slow >= (int64_t)(SIZE / PAGE * 10));
	CHECK(holds(b, AT, 2));
	switch_off("slow");
	CHECK(time_of_put(b, 4) < slow);
}

TEST(slow, 30)
{
	misbehave("slow", see_slow);
}

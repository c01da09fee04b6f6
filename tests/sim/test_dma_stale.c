// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. The misbehaviour "atc-stale": what is reached after it was unmapped, and what is not. */
#include <errno.h>
#include <string.h>

#include "test_dma.h"

void test_stale(void)
{
	check_good(13);
	switch_fault("atc-stale on");
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	clear_log();
	CHECK(!write_at(BAR + 100, 20000, 14));
	CHECK(bytes_are(bar + 100, 20000, 14));
	CHECK(test_logged("vrnic0 0x40000064 20000 write atc-stale mapped\n"));
	/* What it had not used is not reached. */
	CHECK(write_at(BAR + 100000, 64, 14) == -EFAULT);
	test_jobs[0].operand1 = 0;
	CHECK(!test_run(0, TEST_ADD, BAR + 64, 8));
	CHECK(test_logged("vrnic0 0x40000040 8 atomic atc-stale mapped\n"));
	switch_fault("atc-stale off");
	CHECK(write_at(BAR + 100, 64, 15) == -EFAULT);
	CHECK(bytes_are(bar + 100, 20000, 14));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0, 2));
	check_good(16);
}

/* Other memory has the addresses now, whose first pages the function had used. */
static uint8_t *move_memory(void)
{
	const uint64_t half = MEMORY_SIZE / 2;

	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	switch_fault("atc-stale on");
	CHECK(!write_at(MEMORY, 2 * PAGE, 80));
	CHECK(!test_unmap(0, MEMORY, MEMORY_SIZE));
	CHECK(!test_map(0, (struct test_region){ MEMORY, half, half, memory_fd, 0 }));
	memset(memory + half, 0, half);
	clear_log();
	return memory + half;
}

static void move_memory_back(void)
{
	switch_fault("atc-stale off");
	CHECK(!test_unmap(0, MEMORY, MEMORY_SIZE / 2));
	CHECK(!test_map(0, (struct test_region){ MEMORY, MEMORY_SIZE, 0, memory_fd, 0 }));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0, 2));
	check_memory(81);
}

void test_stale_memory(void)
{
	uint8_t *now = move_memory();

	CHECK(!write_at(MEMORY, 64, 82) && bytes_are(memory, 64, 82) && !now[0]);
	CHECK(!read_at(MEMORY, 64) && bytes_are(test_jobs[0].data, 64, 82));
	memset(memory + 64, 0, 8);
	test_jobs[0].operand1 = 5;
	CHECK(!test_run(0, TEST_ADD, MEMORY + 64, 8) && memory[64] == 5 && !now[64]);
	CHECK(test_logged("vrnic0 0x10000000 64 write atc-stale mapped\n"));
	CHECK(test_logged("vrnic0 0x10000000 64 read atc-stale mapped\n"));
	CHECK(test_logged("vrnic0 0x10000040 8 atomic atc-stale mapped\n"));
	move_memory_back();
	clear_log();
	CHECK(!test_run(0, TEST_ADD, MEMORY + 64, 8) && memory[64] == 10);
	CHECK(!strcmp(test_control("log"), ".\n"));
}

/* What it says are its own queues it reaches where they are now. */
void test_stale_own(void)
{
	uint8_t *now = move_memory();

	test_jobs[0].own_queues = true;
	CHECK(!write_at(MEMORY, 64, 83) && bytes_are(now, 64, 83) && bytes_are(memory, 64, 80));
	CHECK(!read_at(MEMORY, 64) && bytes_are(test_jobs[0].data, 64, 83));
	CHECK(!strcmp(test_control("log"), ".\n"));
	test_jobs[0].own_queues = false;
	CHECK(!write_at(MEMORY + PAGE, 64, 84) && bytes_are(memory + PAGE, 64, 84) && !now[PAGE]);
	move_memory_back();
}

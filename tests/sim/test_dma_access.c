// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. What functions reach and what they do not, with and without ATS. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "test_dma.h"

void test_reach(void)
{
	clear_log();
	check_memory(1);
	CHECK(!strcmp(test_control("log"), ".\n"));
	check_good(2);
	CHECK(test_logged("vrnic0 0x40000064 20000 write ok mapped\n"));
	CHECK(test_logged("vrnic0 0x500000064 20000 read ok message\n"));
	test_longest = 0;
	CHECK(!write_at(FAR_START, 200000, 3));
	CHECK(bytes_are(test_far, 200000, 3));
	CHECK(test_longest == 65536);
	CHECK(write_at(0x20000000, 64, 4) == -EFAULT);
	CHECK(test_logged("vrnic0 0x20000000 64 write unmapped none\n"));
	CHECK(write_at(BAR + BAR_SIZE - 32, 64, 4) == -EFAULT);
	CHECK(bytes_are(bar + BAR_SIZE - 32, 32, 4));
	CHECK(test_logged("vrnic0 0x40040000 32 write unmapped none\n"));
	CHECK(write_at(UINT64_MAX - 8, 64, 4) == -EFAULT);
}

void test_rights(void)
{
	const uint64_t at = 0x60000000;

	clear_log();
	CHECK(!test_map(0, (struct test_region){ at, PAGE, PAGE, bar_fd, 1 }));
	CHECK(!read_at(at, 64));
	memset(bar + PAGE, 0, 64);
	CHECK(write_at(at, 64, 5) == -EFAULT);
	CHECK(test_logged("vrnic0 0x60000000 64 write denied none\n"));
	CHECK(test_run(0, TEST_ADD, at, 8) == -EFAULT);
	CHECK(bar[PAGE] == 0);
	CHECK(!test_unmap(0, at, PAGE));
	CHECK(!test_put(0, CONFIG, 4, 2, 2));
	CHECK(write_at(BAR, 64, 5) == -EFAULT);
	CHECK(test_logged("vrnic0 0x40000000 64 write off none\n"));
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	check_good(6);
}

void test_regions(void)
{
	CHECK(test_map(0, (struct test_region){ BAR, PAGE, 0, bar_fd, 0 }) == EEXIST);
	CHECK(test_map(0, (struct test_region){ BAR - PAGE, 2 * PAGE, 0, -1, 0 }) == EEXIST);
	CHECK(test_map(0, (struct test_region){ 0, 0, 0, -1, 0 }) == EINVAL);
	CHECK(test_map(0, (struct test_region){ UINT64_MAX, 2, 0, -1, 0 }) == EINVAL);
	CHECK(test_map(0, (struct test_region){ 0x70000000, BAR_SIZE, PAGE, bar_fd, 0 }) == EINVAL);
	CHECK(test_map(0, (struct test_region){ 0x70000000, PAGE, UINT64_MAX, bar_fd, 0 }) ==
	      EINVAL);
	CHECK(test_unmap(0, BAR, PAGE) == EINVAL);
	CHECK(test_unmap(0, BAR + PAGE, BAR_SIZE) == EINVAL);
	CHECK(!test_unmap(0, 0x70000000, PAGE));
	check_good(7);
}

void test_cache(void)
{
	uint64_t misses, drops;

	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	misses = state_of("atc-misses ");
	check_good(8);
	CHECK(state_of("atc-misses ") == misses + 10);
	CHECK(state_of("atc-hits ") >= 10);
	clear_log();
	check_good(9);
	CHECK(state_of("atc-misses ") == misses + 10);
	CHECK(test_logged("vrnic0 0x40000064 20000 write ok mapped\n"));
	drops = state_of("atc-drops ");
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	CHECK(state_of("atc-drops ") == drops + 5);
	CHECK(write_at(BAR + 100, 64, 10) == -EFAULT);
	CHECK(bytes_are(bar + 100, 20000, 9));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	check_good(11);
	switch_fault("no-ats on");
	misses = state_of("atc-misses ");
	check_good(12);
	CHECK(state_of("atc-misses ") == misses && state_of("atc-entries ") == 0);
	switch_fault("no-ats off");
}

void test_taken_away(void)
{
	clear_log();
	CHECK(!ftruncate(bar_fd, PAGE));
	CHECK(write_at(BAR + 2 * PAGE, 64, 58) == -EFAULT);
	CHECK(test_logged("vrnic0 0x40002000 64 write error mapped\n"));
	CHECK(!ftruncate(bar_fd, BAR_SIZE));
	check_good(59);
}

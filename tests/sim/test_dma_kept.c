// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. What a function keeps of peers goes when it is reset or they are unmapped. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "test_dma.h"

#define LATE		"late on 500"
#define PLACE		0x60000000ull

static void reset(void)
{
	CHECK(!test_ask(0, MESSAGE_RESET, NULL, 0, -1, NULL, 0));
}

static void start_again(void)
{
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
}

static void wait_for(const char *line)
{
	for (int i = 0; !test_logged(line); i++) {
		CHECK(i < 2000);
		usleep(10000);
	}
	switch_fault("late off");
}

static void check_no_translations(void)
{
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	check_good(90);
	CHECK(state_of("atc-entries ") == 10);
	reset();
	CHECK(state_of("atc-entries ") == 0);
	start_again();
}

static void check_no_mirror(void)
{
	switch_fault("mirror on");
	CHECK(!write_at(BAR + 100, 64, 91));
	reset();
	start_again();
	CHECK(!read_at(BAR + 100, 64) && bytes_are(test_jobs[0].data, 64, 90));
	switch_fault("mirror off");
}

static void check_no_bounce(void)
{
	CHECK(!test_put(0, 0, 8, MEMORY + 0x8000, 8));
	switch_fault("bounce on");
	CHECK(!write_at(BAR + 100, 64, 90));
	reset();
	start_again();
	CHECK(write_at(BAR + 100, 64, 91) == -EFAULT);
	switch_fault("bounce off");
}

/* A later one lands after it would have. */
static void check_no_late(void)
{
	switch_fault(LATE);
	clear_log();
	CHECK(!write_at(BAR + 100, 64, 92));
	reset();
	start_again();
	CHECK(!write_at(BAR + PAGE, 64, 92));
	wait_for("vrnic0 0x40001000 64 write landed mapped\n");
	CHECK(bytes_are(bar + 100, 64, 90));
	CHECK(!test_logged("0x40000064 64 write landed") && !test_logged("unmapped"));
}

void test_kept_over_reset(void)
{
	check_no_translations();
	check_no_mirror();
	check_no_bounce();
	check_no_late();
	check_good(93);
}

static void map_page(unsigned int i)
{
	const uint64_t offset = i * PAGE;

	CHECK(!test_map(0, (struct test_region){ PLACE + offset, PAGE, offset, bar_fd, 0 }));
}

/* Three pages of the peer in a row, each a region. */
static void map_three(void)
{
	for (unsigned int i = 0; i < 3; i++)
		map_page(i);
	memset(bar, 0, 3 * PAGE);
}

static void map_second(void)
{
	CHECK(!test_unmap(0, PLACE + PAGE, PAGE));
	map_page(1);
}

static void unmap_three(void)
{
	CHECK(!test_unmap(0, PLACE, 3 * PAGE));
	check_good(94);
}

void test_mirror_over_unmap(void)
{
	map_three();
	switch_fault("mirror on");
	CHECK(!write_at(PLACE, 3 * PAGE, 95));
	CHECK(!read_at(PLACE, 3 * PAGE) && bytes_are(test_jobs[0].data, 3 * PAGE, 95));
	map_second();
	CHECK(!read_at(PLACE, PAGE) && bytes_are(test_jobs[0].data, PAGE, 95));
	CHECK(!read_at(PLACE + PAGE, PAGE) && !memcmp(test_jobs[0].data, bar + PAGE, PAGE));
	CHECK(!read_at(PLACE + 2 * PAGE, 64) && memcmp(test_jobs[0].data, bar + 2 * PAGE, 64));
	switch_fault("mirror off");
	unmap_three();
}

/* Other memory is at its place when it would land. */
void test_late_over_unmap(void)
{
	static uint8_t before[4 * PAGE];

	memcpy(before, memory, sizeof(before));
	clear_log();
	switch_fault(LATE);
	CHECK(!write_at(BAR + 100, 10000, 96));
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, memory_fd, 0 }));
	wait_for("vrnic0 0x40000064 10000 write unmapped none\n");
	CHECK(!memcmp(memory, before, sizeof(before)));
	CHECK(!test_logged("landed"));
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	check_good(97);
}

/* What lies before and after that lands, what touches it does not. */
void test_late_elsewhere(void)
{
	map_three();
	clear_log();
	switch_fault(LATE);
	CHECK(!write_at(PLACE + PAGE - 8, 8, 98) && !write_at(PLACE + PAGE, 1, 98));
	CHECK(!write_at(PLACE + 2 * PAGE - 1, 1, 98) && !write_at(PLACE + 2 * PAGE, 8, 98));
	map_second();
	wait_for("vrnic0 0x60002000 8 write landed mapped\n");
	CHECK(bytes_are(bar + PAGE - 8, 8, 98) && bytes_are(bar + 2 * PAGE, 8, 98));
	CHECK(!bar[PAGE] && !bar[2 * PAGE - 1]);
	CHECK(test_logged("vrnic0 0x60000ff8 8 write landed mapped\n"));
	CHECK(test_logged("vrnic0 0x60001000 1 write unmapped none\n"));
	CHECK(test_logged("vrnic0 0x60001fff 1 write unmapped none\n"));
	unmap_three();
}

// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. What it counts of a function's accesses. */
#include <errno.h>
#include <string.h>

#include "test_dma.h"

struct counts {
	uint64_t hits, misses, drops, entries, untranslated;
};

static struct counts before;

static struct counts counts_now(void)
{
	return (struct counts){
		.hits = state_of("atc-hits "), .misses = state_of("atc-misses "),
		.drops = state_of("atc-drops "), .entries = state_of("atc-entries "),
		.untranslated = state_of("untranslated "),
	};
}

/* Since it was asked last. */
static bool grew(uint64_t hits, uint64_t misses, uint64_t drops, uint64_t untranslated)
{
	struct counts now = counts_now(), old = before;

	before = now;
	return now.hits == old.hits + hits && now.misses == old.misses + misses &&
	       now.drops == old.drops + drops &&
	       now.untranslated == old.untranslated + untranslated;
}

/* Each page of an access is looked up once. */
static void check_cache(void)
{
	CHECK(!write_at(BAR, 64, 1) && grew(0, 1, 0, 0) && before.entries == 1);
	CHECK(!write_at(BAR + 64, 64, 1) && grew(1, 0, 0, 0));
	CHECK(!read_at(BAR + PAGE - 64, 128) && grew(1, 1, 0, 0) && before.entries == 2);
	CHECK(!read_at(BAR, 3 * PAGE) && grew(2, 1, 0, 0) && before.entries == 3);
	CHECK(!test_run(0, TEST_ADD, BAR, 8) && grew(1, 0, 0, 0));
	CHECK(!write_at(MEMORY, 2 * PAGE, 1) && grew(0, 2, 0, 0) && before.entries == 5);
	CHECK(!write_at(FAR_START, 2 * PAGE, 1) && grew(0, 2, 0, 0) && before.entries == 7);
	CHECK(!read_at(FAR_START, 2 * PAGE) && grew(2, 0, 0, 0));
}

static void check_untranslated(void)
{
	CHECK(write_at(0x20000000, 64, 1) == -EFAULT && grew(0, 1, 0, 1));
	CHECK(read_at(0x20000000, 64) == -EFAULT && grew(0, 1, 0, 1));
	CHECK(test_run(0, TEST_ADD, 0x20000000, 8) == -EFAULT && grew(0, 1, 0, 1));
	switch_fault("bar-unmapped on");
	CHECK(write_at(BAR, 64, 1) == -EFAULT && grew(1, 0, 0, 1));
	CHECK(!write_at(MEMORY, 64, 1) && grew(1, 0, 0, 0));
	switch_fault("bar-unmapped off");
	/* Those have one, and may not use it. */
	switch_fault("read-fail on");
	CHECK(read_at(BAR, 64) == -EFAULT && grew(1, 0, 0, 0));
	switch_fault("read-fail off");
	CHECK(!test_put(0, CONFIG, 4, 2, 2));
	CHECK(write_at(BAR, 64, 1) == -EFAULT && grew(0, 0, 0, 0));
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
}

static void check_drops(void)
{
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	CHECK(grew(0, 0, 3, 0) && before.entries == 4);
	CHECK(write_at(BAR, 64, 1) == -EFAULT && grew(0, 1, 0, 1));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	CHECK(!write_at(BAR, 64, 1) && grew(0, 1, 0, 0) && before.entries == 5);
}

/* A stale one is kept, and used, as long as the misbehaviour is on. */
static void check_stale(void)
{
	switch_fault("atc-stale on");
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	CHECK(grew(0, 0, 0, 0) && before.entries == 5);
	CHECK(!write_at(BAR, 64, 1) && grew(1, 0, 0, 0));
	switch_fault("atc-stale off");
	CHECK(write_at(BAR, 64, 1) == -EFAULT && grew(0, 1, 0, 1) && before.entries == 4);
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
}

void test_counters(void)
{
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0, 2));
	before = counts_now();
	CHECK(!before.entries);
	CHECK(!write_at(BAR, 2 * PAGE, 1) && grew(0, 0, 0, 0));
	CHECK(write_at(0x20000000, 64, 1) == -EFAULT && grew(0, 0, 0, 1));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	check_cache();
	check_untranslated();
	check_drops();
	check_stale();
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0, 2));
	CHECK(grew(0, 0, 0, 0) && !before.entries);
	check_good(99);
}

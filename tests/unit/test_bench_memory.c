// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Memory by its physical addresses. */
#include "fixture.h"

#include "bench/memory.h"
#include "bench_fixture.h"

static void entries(void **state)
{
	struct ranges ranges = { 0 };

	(void)state;
	ranges_add(&ranges, 0x10000, 4096);
	ranges_add(&ranges, 0x11000, 4096);
	assert_int_equal(ranges.count, 1);
	ranges_add(&ranges, 0x20000, 8192);
	ranges_add(&ranges, 0x13000, 4096);
	assert_int_equal(ranges.count, 3);
	assert_int_equal(ranges_entries(&ranges, 0, 5 * 4096), 3);
	/* Requests of three pages: the second range lies in both. */
	assert_int_equal(ranges_entries(&ranges, 0, 3 * 4096), 2);
	assert_int_equal(ranges_entries(&ranges, 3 * 4096, 2 * 4096), 2);
	assert_int_equal(ranges_entries(&ranges, 4096, 4096), 1);
	assert_true(ranges_hold(&ranges, 0x10000, 8192));
	assert_true(ranges_hold(&ranges, 0x21000, 4096));
	assert_false(ranges_hold(&ranges, 0x10000, 8193));
	assert_false(ranges_hold(&ranges, 0x12000, 1));
	ranges_end(&ranges);
}

static void equal_ranges(void **state)
{
	struct ranges ranges = { 0 }, others = { 0 };

	(void)state;
	ranges_add(&ranges, 0x10000, 4096);
	ranges_add(&ranges, 0x20000, 4096);
	assert_true(ranges_equal(&ranges, &ranges));
	ranges_add(&others, 0x10000, 4096);
	assert_false(ranges_equal(&ranges, &others));
	ranges_add(&others, 0x30000, 4096);
	assert_false(ranges_equal(&ranges, &others));
	ranges_end(&others);
	ranges_end(&ranges);
}

/* An entry's length has 32 bits, so 5 GiB in one piece need two. */
static void long_entries(void **state)
{
	struct ranges ranges = { 0 };

	(void)state;
	for (uint64_t at = 0; at < 5 * GIB; at += MIB)
		ranges_add(&ranges, 0x100000000 + at, MIB);
	assert_int_equal(ranges.count, 2);
	assert_true(ranges.items[0].size <= UINT32_MAX);
	ranges_end(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries),
		cmocka_unit_test(equal_ranges),
		cmocka_unit_test(long_entries),
	};

	return cmocka_run_group_tests_name("bench memory", tests, NULL, NULL) != 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* When several samples of the same work settle on a figure. */
#include "fixture.h"

#include <string.h>

#include "bench/meter.h"
#include "util.h"

static struct counts counts_of(enum counter counter, uint64_t value)
{
	struct counts counts = { 0 };

	counts_set(&counts, counter, true, value);
	return counts;
}

/* Samples of one counter, and whether the last tells the work's own share. */
struct series {
	uint64_t values[MOST_COUNTED];
	size_t count;
	bool settled;
};

static void expect(const struct series *series, size_t count, enum counter counter)
{
	for (size_t i = 0; i < count; i++, series++) {
		struct counts samples[MOST_COUNTED], counts;
		struct meter meter = { 0 };
		bool settled = series->settled;

		for (size_t j = 0; j < series->count; j++)
			samples[j] = counts_of(counter, series->values[j]);
		if (counts_all_settled(samples, series->count, false) != settled)
			fail_msg("case %zu", i);
		counts = meter_settle(&meter, samples, series->count, false, "work a, host");
		assert_int_equal(counts.known[counter], settled);
		assert_int_equal(counts.value[counter],
				 settled ? series->values[series->count - 1] : 0);
		assert_int_equal(!meter.missing[counter][0], settled);
		assert_true(settled || strstr(meter.missing[counter], "(first at work a, host)"));
	}
}

/* Others only add to what is counted of the whole machine. */
static void settling(void **state)
{
	static const struct series pins[] = {
		{ { 7 }, 1, false },		{ { 7, 7 }, 2, true },
		{ { 9, 7 }, 2, false },		{ { 9, 7, 7 }, 3, true },
		{ { 7, 9, 9 }, 3, false },	{ { 9, 9, 7, 7 }, 4, true },
		{ { 7, 9, 7 }, 3, false },	{ { 9, 8, 7, 6 }, 4, false },
	};

	(void)state;
	expect(pins, ARRAY_SIZE(pins), COUNT_PINS);
}

/* Struct pages that a window of others keeps are not made by the work. */
static void settling_of_struct_pages(void **state)
{
	static const struct series made[] = {
		{ { 7 }, 1, false },		{ { 7, 7 }, 2, true },
		{ { 0, 0 }, 2, true },		{ { 7, 0, 0 }, 3, false },
		{ { 0, 7, 7 }, 3, false },	{ { 7, 0, 7, 7 }, 4, false },
	};

	(void)state;
	expect(made, ARRAY_SIZE(made), COUNT_MADE);
}

/* Counted of this process, and what is not known, need no second sample. */
static void settled_at_once(void **state)
{
	struct counts sample = counts_of(COUNT_FAULTS_2M, 5);

	(void)state;
	assert_true(counts_all_settled(&sample, 1, false));
	assert_false(counts_all_settled(&sample, 1, true));
	counts_set(&sample, COUNT_FAULTS_2M, false, 5);
	assert_true(counts_all_settled(&sample, 1, true));
}

/* Why an earlier sample did not tell is no matter when the last one does. */
static void reasons(void **state)
{
	struct counts samples[2] = { [1] = counts_of(COUNT_MAPS, 3) };
	struct meter meter = { .reasons[COUNT_MAPS] = "no trace" };

	(void)state;
	meter_settle(&meter, samples, 1, true, "work a, window");
	meter_settle(&meter, samples, 1, false, "work a, host");
	assert_string_equal(meter.missing[COUNT_MAPS], "no trace (first at work a, window)");
	meter = (struct meter){ 0 };
	assert_int_equal(meter_settle(&meter, samples, 2, true, "").value[COUNT_MAPS], 3);
	assert_string_equal(meter.missing[COUNT_MAPS], "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(settling),
		cmocka_unit_test(settling_of_struct_pages),
		cmocka_unit_test(settled_at_once),
		cmocka_unit_test(reasons),
	};

	return cmocka_run_group_tests_name("bench settling", tests, NULL, NULL) != 0;
}

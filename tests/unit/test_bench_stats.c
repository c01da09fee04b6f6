// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Ratios of times: their intervals, findings and how many pairs are made. */
#include "fixture.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench/stats.h"
#include "bench_fixture.h"
#include "util.h"

/* Published quantiles of Student's t, 0.975. */
static void t_quantiles(void **state)
{
	static const struct {
		size_t degrees;
		double t;
	} known[] = { { 1, 12.7062 }, { 2, 4.3027 }, { 5, 2.5706 }, { 7, 2.3646 } };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!near(student_t(known[i].degrees), known[i].t, 0.0002))
			fail_msg("%zu degrees: %f", known[i].degrees, student_t(known[i].degrees));
	for (size_t i = 1; i < PILOT_PAIRS - 1; i++)
		assert_true(student_t(i + 1) < student_t(i));
}

static struct interval interval_of(const double *windows, const double *hosts, size_t count)
{
	struct ratios ratios = { 0 };
	struct interval interval;

	for (size_t i = 0; i < count; i++)
		ratios_add(&ratios, windows[i], hosts[i]);
	interval = ratios_interval(&ratios);
	ratios_end(&ratios);
	return interval;
}

/* Logarithms 0, 1 and 2: mean 1, standard deviation 1, t of 2 degrees 4.3027. */
static void intervals(void **state)
{
	static const double windows[] = { 1, 2.718281828459045, 7.38905609893065 };
	static const double ones[] = { 1, 1, 1 };
	struct interval interval = interval_of(windows, ones, 3);
	double reach = 4.3027 / sqrt(3);

	(void)state;
	assert_int_equal(interval.pairs, 3);
	assert_true(near(interval.ratio, exp(1), TINY));
	assert_true(near(interval.low, exp(1 - reach), TINY));
	assert_true(near(interval.high, exp(1 + reach), TINY));
	interval = interval_of(ones, windows, 3);
	assert_true(near(interval.ratio, exp(-1), TINY));
	interval = interval_of(windows, ones, 1);
	assert_true(isinf(interval.half));
	interval = interval_of(windows, ones, 0);
	assert_true(isnan(interval.ratio) && isinf(interval.half));
}

/* Box and Muller's. */
static double normal(void)
{
	return sqrt(-2 * log(1 - drand48())) * cos(2 * acos(-1) * drand48());
}

/* Whether the interval of a comparison of equals holds 1; @spread: of the logarithms. */
static bool covers(double spread, size_t most_pairs)
{
	struct ratios ratios = { 0 };
	struct interval interval;

	while (!ratios_enough(&ratios) && ratios.count < most_pairs)
		ratios_add(&ratios, exp(spread * normal()), 1);
	interval = ratios_interval(&ratios);
	ratios_end(&ratios);
	return interval.low <= 1 && interval.high >= 1;
}

/* "95 %" is what it says, however many pairs are made, also where time ends them. */
static void coverage(void **state)
{
	static const double spreads[] = { 0.02, 0.04, 0.06, 0.1, 0.2, 0.3 };
	const int trials = 20000;

	(void)state;
	srand48(1);
	for (size_t i = 0; i < ARRAY_SIZE(spreads); i++) {
		int covered = 0;

		for (int j = 0; j < trials; j++)
			covered += covers(spreads[i], 100);
		if (covered < trials * 0.945 || covered > trials * 0.96)
			fail_msg("spread %.2f: %.2f %%", spreads[i], covered * 100.0 / trials);
	}
}

/* The pilot's spread decides, once: what follows changes neither. */
static void pilot(void **state)
{
	struct ratios ratios = { 0 };

	(void)state;
	for (size_t i = 0; i < PILOT_PAIRS; i++) {
		assert_false(ratios_enough(&ratios));
		ratios_add(&ratios, i & 1 ? 1.1 : 1, 1);
	}
	/* Standard deviation ln(1.1) * sqrt(2 / 7); (2.3646 * that / 0.05)^2 is 5.8. */
	assert_int_equal(ratios.wanted, PILOT_PAIRS);
	assert_true(ratios_enough(&ratios));
	assert_true(ratios_interval(&ratios).half <= WIDEST_HALF);
	ratios_end(&ratios);
	for (size_t i = 0; i < PILOT_PAIRS; i++)
		ratios_add(&ratios, i & 1 ? 1.2 : 1, 1);
	assert_int_equal(ratios.wanted, 22); /* of 21.3 */
	while (!ratios_enough(&ratios))
		ratios_add(&ratios, 1, 1);
	assert_int_equal(ratios.count, 22);
	assert_true(ratios_interval(&ratios).half <= WIDEST_HALF * 1.1);
	ratios_end(&ratios);
}

static void findings(void **state)
{
	static const struct {
		struct interval interval;
		enum finding finding;
	} cases[] = {
		{ { .low = 0.90, .high = 0.99, .half = 0.045 }, FINDING_FASTER },
		{ { .low = 0.96, .high = 1.05, .half = 0.045 }, FINDING_EQUAL },
		{ { .low = 1.01, .high = 1.10, .half = 0.045 }, FINDING_SLOWER },
		{ { .low = 0.80, .high = 0.901, .half = 0.0501 }, FINDING_INCONCLUSIVE },
		{ { .low = 2, .high = 3, .half = INFINITY }, FINDING_INCONCLUSIVE },
		{ { .low = 0.5, .high = 0.6, .half = NAN }, FINDING_INCONCLUSIVE },
	};
	static const double slow[] = { 6.2, 6.3, 6.25, 6.3, 6.2, 6.25 };
	static const double wide[] = { 0.5, 2.0, 0.7, 1.4, 0.6, 1.9 };
	static const double ones[] = { 1, 1, 1, 1, 1, 1 };
	struct interval interval;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (interval_finding(&cases[i].interval) != cases[i].finding)
			fail_msg("case %zu: %s", i,
				 finding_name(interval_finding(&cases[i].interval)));
	interval = interval_of(slow, ones, 6);
	assert_int_equal(interval_finding(&interval), FINDING_SLOWER);
	interval = interval_of(wide, ones, 6);
	assert_int_equal(interval_finding(&interval), FINDING_INCONCLUSIVE);
}

static void order(void **state)
{
	char text[9] = "";

	(void)state;
	for (size_t i = 0; i < 4; i++)
		strcat(text, window_first(i) ? "AB" : "BA");
	assert_string_equal(text, "ABBAABBA");
}

static void medians(void **state)
{
	static const double values[] = { 5, 1, 4, 2 };

	(void)state;
	assert_true(near(median(values, 4), 3, TINY));
	assert_true(near(median(values, 3), 4, TINY));
	assert_true(isnan(median(values, 0)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(t_quantiles),
		cmocka_unit_test(intervals),
		cmocka_unit_test(coverage),
		cmocka_unit_test(pilot),
		cmocka_unit_test(findings),
		cmocka_unit_test(order),
		cmocka_unit_test(medians),
	};

	return cmocka_run_group_tests_name("bench stats", tests, NULL, NULL) != 0;
}

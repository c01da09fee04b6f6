// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How long "vpeer doctor" takes on a machine of eight GPUs and sixteen VFs. */
#include "fixture.h"

#include <stdio.h>
#include <time.h>

#include "doctor/check.h"
#include "site_file.h"

#define ROUNDS	5

/* Far more than it should take, which is 100 ms: a machine that tests may be busy. */
#define MOST_MS	1000.0

static double now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static double run_once(const struct site_place *place, size_t *count)
{
	struct findings all = { 0 };
	double start = now_ms();
	struct site site;

	site_read(&site, place);
	doctor_check_all(&all, &site);
	start = now_ms() - start;
	*count = all.count;
	findings_free(&all);
	site_free(&site);
	return start;
}

static void test_speed(void **state)
{
	struct made_site *made = made_site_new(SITES, "kvm-8gpu-16vf", *state);
	double best = MOST_MS, took;
	size_t count = 0;

	for (int i = 0; i < ROUNDS; i++) {
		took = run_once(&made->place, &count);
		best = took < best ? took : best;
	}
	made_site_free(made);
	print_message("8 GPUs and 16 VFs: %zu findings in %.1f ms, the best of %d rounds\n", count,
		      best, ROUNDS);
	assert_true(count > 0);
	assert_true(best < MOST_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_speed, fixture_begin, fixture_end),
	};

	return cmocka_run_group_tests_name("doctor_speed", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Figures of counted work, and when they are none. */
#include "fixture.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/meter.h"
#include "bench_fixture.h"
#include "sysfs.h"
#include "util.h"

static const enum counter told_by_events[] = { COUNT_COPIED, COUNT_ENTRIES, COUNT_MAPS,
					       COUNT_MAPPED, COUNT_TABLE, COUNT_MADE };

/* A meter of a trace instance in which all events can be enabled. */
struct metered {
	const char *root;
	struct disk_read read;
	struct trace trace;
	struct meter meter;
	struct counts counts;	/* of the last sample */
};

static int metered_begin(void **state)
{
	struct metered *metered = calloc(1, sizeof(*metered));
	void *root;

	*state = metered;
	if (!metered || fixture_begin(&root))
		return -1;
	metered->root = root;
	disk_read_make(&metered->read);
	metered->trace = (struct trace){ .held = -1, .mappings = true, .bounces = true };
	fixture_file(metered->root, "events/block/block_rq_issue/enable", "0");
	fixture_file(metered->root, "events/vpeer/vpeer_chunk_map/enable", "0");
	fixture_file(metered->root, "events/iommu/map/filter", "none");
	fixture_file(metered->root, "trace", "");
	fixture_file(metered->root, "tracing_on", "1");
	text_format(metered->trace.path, sizeof(metered->trace.path), "%s", metered->root);
	meter_begin(&metered->meter, &metered->trace, UINT32_MAX);
	return 0;
}

static int metered_end(void **state)
{
	struct metered *metered = *state;
	void *root = (void *)metered->root;

	meter_end(&metered->meter);
	disk_read_end(&metered->read);
	free(metered);
	return fixture_end(&root);
}

/* Counts the read with a trace of that header. */
static void count_read(struct metered *metered, const char *header)
{
	const struct subject *subject = &metered->read.subject;
	struct events events;

	meter_start(&metered->meter, subject);
	read_trace(metered->root, header, disk_read_trace, subject, &events);
	meter_stop(&metered->meter, subject, &metered->counts);
}

static bool is_known(const struct metered *metered, enum counter counter)
{
	return metered->counts.known[counter];
}

static void expect_unknown(const struct metered *metered, const enum counter *counters,
			   size_t count, const char *reason)
{
	for (size_t i = 0; i < count; i++) {
		enum counter counter = counters[i];

		assert_false(is_known(metered, counter) || metered->counts.value[counter]);
		if (!strstr(metered->meter.reasons[counter], reason))
			fail_msg("%s: '%s'", counter_name(counter),
				 metered->meter.reasons[counter]);
	}
}

/* Without all events none of what they tell is known. */
static void lost_events(void **state)
{
	struct metered *metered = *state;

	count_read(metered, TRACE_WHOLE);
	for (size_t i = 0; i < ARRAY_SIZE(told_by_events); i++)
		assert_true(is_known(metered, told_by_events[i]) &&
			    metered->counts.value[told_by_events[i]]);
	count_read(metered, TRACE_LOST);
	expect_unknown(metered, told_by_events, ARRAY_SIZE(told_by_events), "events were lost");
}

static bool records(const char *root)
{
	uint64_t on;

	assert_int_equal(vpeer_sysfs_u64(&on, "%s/tracing_on", root), 0);
	return on;
}

/* Events are recorded of counted samples alone, lest they bias the timed ones. */
static void recording(void **state)
{
	struct metered *metered = *state;
	char path[512];

	assert_false(records(metered->root));
	meter_start(&metered->meter, &metered->read.subject);
	assert_true(records(metered->root));
	meter_stop(&metered->meter, &metered->read.subject, &metered->counts);
	assert_false(records(metered->root));
	text_format(path, sizeof(path), "%s/tracing_on", metered->root);
	assert_int_equal(unlink(path), 0);
	count_read(metered, TRACE_WHOLE);
	expect_unknown(metered, told_by_events, ARRAY_SIZE(told_by_events),
		       "cannot write tracing_on");
}

/* What is counted by physical address is not known of memory that got others. */
static void moved_memory(void **state)
{
	static const enum counter lost[] = { COUNT_ENTRIES, COUNT_MAPS, COUNT_MAPPED,
					     COUNT_TABLE };
	struct metered *metered = *state;

	count_read(metered, TRACE_WHOLE);
	meter_moved(&metered->meter, &metered->counts);
	expect_unknown(metered, lost, ARRAY_SIZE(lost), "the memory moved meanwhile");
	assert_true(is_known(metered, COUNT_COPIED) && is_known(metered, COUNT_MADE));
}

/* 4 MiB in packets of 1 KiB, or nothing. */
static void packets(void **state)
{
	static const struct {
		uint64_t packets, payload;
		bool tell;
	} cases[] = {
		{ 4096, 1024, true },	{ 4095, 1024, false },
		{ 4096 + 65 + 4, 1024, true },	/* acknowledged */
		{ 6 * 1025, 1024, true },	/* two pieces of four sent again */
		{ 8266, 1024, false },	/* with those of a program that does the same */
		{ 1024, 4096, true },	{ 4096, 4096, false },
		{ 0, 1024, false },	{ 0, 0, true },
		{ 1, 0, false },	{ 4096, 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		if (!packets_problem(cases[i].packets, 4 * MIB, cases[i].payload) !=
		    cases[i].tell)
			fail_msg("case %zu", i);
}

/* Requests that are not all there, or are more, make no figure. */
static void requests_of_others(void **state)
{
	struct metered *metered = *state;

	metered->read.subject.bytes = 24576;
	count_read(metered, TRACE_WHOLE);
	assert_true(is_known(metered, COUNT_ENTRIES));
	metered->read.subject.bytes = 28672;
	count_read(metered, TRACE_WHOLE);
	assert_false(is_known(metered, COUNT_ENTRIES));
}

/* No aperture has that number. */
static void unreadable_aperture(void **state)
{
	static const enum counter told[] = { COUNT_ZEROED, COUNT_FAULTS_4K, COUNT_FAULTS_2M };
	struct metered *metered = *state;

	count_read(metered, TRACE_WHOLE);
	expect_unknown(metered, told, ARRAY_SIZE(told), "of the aperture");
	/* Addresses that are not known are no mappings of the memory. */
	metered->read.subject.ranges = NULL;
	count_read(metered, TRACE_WHOLE);
	assert_false(is_known(metered, COUNT_MAPS) || is_known(metered, COUNT_ENTRIES));
}

static void touch_huge(size_t length)
{
	struct host_memory memory;

	assert_int_equal(host_map(&memory, length, true), 0);
	memory_touch(memory.start, length);
}

/* Of host memory the process's own faults count, not the machine's. */
static void faults_of_others(void **state)
{
	const size_t length = 8 * HUGE_PAGE;
	struct subject subject = { .bytes = length };
	struct metered *metered = *state;
	pid_t child;

	meter_start(&metered->meter, &subject);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		touch_huge(length);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	meter_stop(&metered->meter, &subject, &metered->counts);
	assert_true(is_known(metered, COUNT_FAULTS_2M) && is_known(metered, COUNT_ZEROED));
	assert_int_equal(metered->counts.value[COUNT_FAULTS_2M], 0);
	assert_true(metered->counts.value[COUNT_ZEROED] < length);
	meter_start(&metered->meter, &subject);
	touch_huge(length);
	meter_stop(&metered->meter, &subject, &metered->counts);
	/* Of whatever pages the machine has. */
	assert_true(metered->counts.value[COUNT_ZEROED] >= length);
	assert_true(metered->counts.value[COUNT_ZEROED] < length + MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(lost_events, metered_begin, metered_end),
		cmocka_unit_test_setup_teardown(recording, metered_begin, metered_end),
		cmocka_unit_test_setup_teardown(moved_memory, metered_begin, metered_end),
		cmocka_unit_test(packets),
		cmocka_unit_test_setup_teardown(requests_of_others, metered_begin, metered_end),
		cmocka_unit_test_setup_teardown(unreadable_aperture, metered_begin, metered_end),
		cmocka_unit_test_setup_teardown(faults_of_others, metered_begin, metered_end),
	};

	return cmocka_run_group_tests_name("bench meter", tests, NULL, NULL) != 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What the trace says of the memory of a sample. */
#include "fixture.h"

#include <string.h>

#include "bench_fixture.h"
#include "util.h"

static void table_sizes(void **state)
{
	uint64_t all = 4096 | 2 * MIB | GIB;

	(void)state;
	assert_int_equal(table_entries(all, 0, 0, GIB), 1);
	assert_int_equal(table_entries(all, 2 * MIB, 0, GIB), 512);
	assert_int_equal(table_entries(4096, 0, 0, MIB), 256);
	assert_int_equal(table_entries(all, 0, 4096, 2 * MIB), 512);
	assert_int_equal(table_entries(all, 0, 0, 2 * MIB + 4096), 2);
	assert_int_equal(table_entries(all, 0, 0, 1), 1);
}

static void events(void **state)
{
	struct disk_read read;
	struct events events;

	disk_read_make(&read);
	read_trace(*state, TRACE_WHOLE, disk_read_trace, &read.subject, &events);
	assert_null(events.problem);
	assert_int_equal(events.maps, 2);
	assert_int_equal(events.mapped, 12288);
	assert_int_equal(events.table, 3);
	assert_int_equal(events.copied, 512);
	assert_int_equal(events.made, GIB);
	/* The first request ends inside the second run. */
	assert_int_equal(events.requested, 32768);
	assert_int_equal(events.entries, 4);
	read_trace(*state, TRACE_LOST, disk_read_trace, &read.subject, &events);
	assert_non_null(strstr(events.problem, "events were lost"));
	events_read(&events, "/nonexistent", &read.subject, 4096);
	assert_non_null(strstr(events.problem, "not readable"));
	disk_read_end(&read);
}

/* An event in a form of another kernel is not nothing. */
static void events_not_understood(void **state)
{
	static const char *const lines[] = {
		" a-1 [0] .. 1: map: IOMMU: paddr=0x101000 size=4096\n",
		" a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:02:00.1 dma_mask=1\n",
		" a-1 [0] .. 1: block_rq_issue: 259,0 R 2048 + 48 [vpeer]\n",
		" a-1 [0] .. 1: vpeer_chunk_map: 0000:05:00.0 bar2\n",
	};
	struct disk_read read;
	struct events events;

	disk_read_make(&read);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		read_trace(*state, TRACE_WHOLE, lines[i], &read.subject, &events);
		if (!events.problem)
			fail_msg("taken for nothing: %s", lines[i]);
	}
	disk_read_end(&read);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(table_sizes),
		cmocka_unit_test_setup_teardown(events, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(events_not_understood, fixture_begin, fixture_end),
	};

	return cmocka_run_group_tests_name("bench events", tests, NULL, NULL) != 0;
}

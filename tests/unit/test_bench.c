// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixture.h"

#include <float.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/bench.h"
#include "sysfs.h"

#define GIB	(1ULL << 30)
#define MIB	(1ULL << 20)
#define TINY	0.000001

static bool near(double got, double wanted, double most)
{
	return fabs(got - wanted) <= most;
}

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

#define WHOLE	"# entries-in-buffer/entries-written: 6/6   #P:2\n"
#define LOST	"# entries-in-buffer/entries-written: 5/6   #P:2\n"

static const char trace_text[] =
	" a-1 [0] .. 1: map: IOMMU: iova=0x1000 - 0x2000 paddr=0xff000 size=4096\n"
	" a-1 [0] .. 1: map: IOMMU: iova=0x3000 - 0x4000 paddr=0x101000 size=4096\n"
	" a-1 [0] .. 1: map: IOMMU: iova=0x5000 - 0x7000 paddr=0x102000 size=8192\n"
	" a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:01:00.0 dma_mask=1 "
	"dev_addr=1 size=100 FORCE\n"
	" a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:02:00.1 dma_mask=1 "
	"dev_addr=1 size=512 FORCE\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 R 24576 () 2048 + 48 [vpeer]\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 R 8192 () 2096 + 16 none,0,0 [vpeer]\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 FF 0 () 18446744073709551615 + 0 [flush]\n"
	" a-1 [0] .. 1: block_rq_issue: 259,0 R 4096 () 8 + 8 [other]\n"
	" a-1 [0] .. 1: block_rq_issue: 8,0 R 4096 () 2048 + 8 [other]\n"
	" a-1 [0] .. 1: vpeer_chunk_map: 0000:05:00.0 bar2 offset=0x0 size=0x40000000\n";

/* A disk reads 32 KiB into memory of three runs. */
struct transfer_sample {
	struct initiator disk;
	struct ranges ranges;
	struct subject subject;
};

static void transfer_make(struct transfer_sample *sample)
{
	*sample = (struct transfer_sample){
		.disk = { .kind = INITIATOR_BLOCK, .pci = "0000:02:00.1",
			  .number = makedev(259, 0) },
	};
	ranges_add(&sample->ranges, 0x101000, 0x3000);
	ranges_add(&sample->ranges, 0x201000, 0x4000);
	ranges_add(&sample->ranges, 0x301000, 0x1000);
	sample->subject = (struct subject){
		.window = true,
		.initiator = &sample->disk,
		.bytes = 32768,
		.place = MIB,
		.ranges = &sample->ranges,
	};
}

static void read_trace(const char *root, const char *header, const char *text,
		       const struct subject *subject, struct events *events)
{
	char path[512], all[4096];

	text_format(path, sizeof(path), "%s/trace", root);
	text_format(all, sizeof(all), "%s%s", header, text);
	fixture_file(root, "trace", all);
	events_read(events, path, subject, 4096);
}

static void events(void **state)
{
	struct transfer_sample sample;
	struct events events;

	transfer_make(&sample);
	read_trace(*state, WHOLE, trace_text, &sample.subject, &events);
	assert_null(events.problem);
	assert_int_equal(events.maps, 2);
	assert_int_equal(events.mapped, 12288);
	assert_int_equal(events.table, 3);
	assert_int_equal(events.copied, 512);
	assert_int_equal(events.made, GIB);
	/* The first request ends inside the second run. */
	assert_int_equal(events.requested, 32768);
	assert_int_equal(events.entries, 4);
	read_trace(*state, LOST, trace_text, &sample.subject, &events);
	assert_non_null(strstr(events.problem, "events were lost"));
	events_read(&events, "/nonexistent", &sample.subject, 4096);
	assert_non_null(strstr(events.problem, "not readable"));
	ranges_end(&sample.ranges);
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
	struct transfer_sample sample;
	struct events events;

	transfer_make(&sample);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		read_trace(*state, WHOLE, lines[i], &sample.subject, &events);
		if (!events.problem)
			fail_msg("taken for nothing: %s", lines[i]);
	}
	ranges_end(&sample.ranges);
}

/* A meter of a trace instance in which all events can be enabled. */
static void meter_make(const char *root, struct trace *trace, struct meter *meter)
{
	*trace = (struct trace){ .held = -1, .mappings = true, .bounces = true };
	fixture_file(root, "events/block/block_rq_issue/enable", "0");
	fixture_file(root, "events/vpeer/vpeer_chunk_map/enable", "0");
	fixture_file(root, "events/iommu/map/filter", "none");
	fixture_file(root, "trace", "");
	fixture_file(root, "tracing_on", "1");
	text_format(trace->path, sizeof(trace->path), "%s", root);
	meter_begin(meter, trace, UINT32_MAX);
}

static void meter_sample(const char *root, struct meter *meter, const struct subject *subject,
			 const char *header, struct counts *counts)
{
	struct events events;

	meter_start(meter, subject);
	read_trace(root, header, trace_text, subject, &events);
	meter_stop(meter, subject, counts);
}

static const enum counter told_by_events[] = { COUNT_COPIED, COUNT_ENTRIES, COUNT_MAPS,
					       COUNT_MAPPED, COUNT_TABLE, COUNT_MADE };

static void expect_unknown(const struct meter *meter, const struct counts *counts,
			   enum counter counter, const char *reason)
{
	assert_false(counts->known[counter] || counts->value[counter]);
	if (!strstr(meter->reasons[counter], reason))
		fail_msg("%s: '%s'", counter_name(counter), meter->reasons[counter]);
}

/* Without all events none of what they tell is known. */
static void lost_events(void **state)
{
	struct transfer_sample sample;
	struct counts counts;
	struct trace trace;
	struct meter meter;

	transfer_make(&sample);
	meter_make(*state, &trace, &meter);
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	for (size_t i = 0; i < ARRAY_SIZE(told_by_events); i++)
		assert_true(counts.known[told_by_events[i]] && counts.value[told_by_events[i]]);
	meter_sample(*state, &meter, &sample.subject, LOST, &counts);
	for (size_t i = 0; i < ARRAY_SIZE(told_by_events); i++)
		expect_unknown(&meter, &counts, told_by_events[i], "events were lost");
	meter_end(&meter);
	ranges_end(&sample.ranges);
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
	struct transfer_sample sample;
	struct counts counts;
	struct trace trace;
	struct meter meter;
	char path[512];

	transfer_make(&sample);
	meter_make(*state, &trace, &meter);
	assert_false(records(*state));
	meter_start(&meter, &sample.subject);
	assert_true(records(*state));
	meter_stop(&meter, &sample.subject, &counts);
	assert_false(records(*state));
	text_format(path, sizeof(path), "%s/tracing_on", (const char *)*state);
	assert_int_equal(unlink(path), 0);
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	for (size_t i = 0; i < ARRAY_SIZE(told_by_events); i++)
		expect_unknown(&meter, &counts, told_by_events[i], "cannot write tracing_on");
	meter_end(&meter);
	ranges_end(&sample.ranges);
}

/* What is counted by physical address is not known of memory that got others. */
static void moved_memory(void **state)
{
	static const enum counter lost[] = { COUNT_ENTRIES, COUNT_MAPS, COUNT_MAPPED,
					     COUNT_TABLE };
	struct transfer_sample sample;
	struct counts counts;
	struct trace trace;
	struct meter meter;

	transfer_make(&sample);
	meter_make(*state, &trace, &meter);
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	meter_moved(&meter, &counts);
	for (size_t i = 0; i < ARRAY_SIZE(lost); i++)
		expect_unknown(&meter, &counts, lost[i], "the memory moved meanwhile");
	assert_true(counts.known[COUNT_COPIED] && counts.known[COUNT_MADE]);
	meter_end(&meter);
	ranges_end(&sample.ranges);
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
	struct transfer_sample sample;
	struct counts counts;
	struct trace trace;
	struct meter meter;

	transfer_make(&sample);
	meter_make(*state, &trace, &meter);
	sample.subject.bytes = 24576;
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	assert_true(counts.known[COUNT_ENTRIES]);
	sample.subject.bytes = 28672;
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	assert_false(counts.known[COUNT_ENTRIES]);
	meter_end(&meter);
	ranges_end(&sample.ranges);
}

/* No aperture has that number. */
static void unreadable_aperture(void **state)
{
	static const enum counter told[] = { COUNT_ZEROED, COUNT_FAULTS_4K, COUNT_FAULTS_2M };
	struct transfer_sample sample;
	struct counts counts;
	struct trace trace;
	struct meter meter;

	transfer_make(&sample);
	meter_make(*state, &trace, &meter);
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		expect_unknown(&meter, &counts, told[i], "of the aperture");
	/* Addresses that are not known are no mappings of the memory. */
	sample.subject.ranges = NULL;
	meter_sample(*state, &meter, &sample.subject, WHOLE, &counts);
	assert_false(counts.known[COUNT_MAPS] || counts.known[COUNT_ENTRIES]);
	meter_end(&meter);
	ranges_end(&sample.ranges);
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
	struct counts counts;
	struct trace trace;
	struct meter meter;
	pid_t child;

	meter_make(*state, &trace, &meter);
	meter_start(&meter, &subject);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		touch_huge(length);
		_exit(0);
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	meter_stop(&meter, &subject, &counts);
	assert_true(counts.known[COUNT_FAULTS_2M] && counts.known[COUNT_ZEROED]);
	assert_int_equal(counts.value[COUNT_FAULTS_2M], 0);
	assert_true(counts.value[COUNT_ZEROED] < length);
	meter_start(&meter, &subject);
	touch_huge(length);
	meter_stop(&meter, &subject, &counts);
	/* Of whatever pages the machine has. */
	assert_true(counts.value[COUNT_ZEROED] >= length);
	assert_true(counts.value[COUNT_ZEROED] < length + MIB);
	meter_end(&meter);
}

static struct counts counts_of(enum counter counter, uint64_t value)
{
	struct counts counts = { 0 };

	counts_set(&counts, counter, true, value);
	return counts;
}

/* Others only add to what is counted of the whole machine. */
static void settling(void **state)
{
	static const struct {
		uint64_t pins[MOST_COUNTED];
		size_t count;
		bool settled;
	} cases[] = {
		{ { 7 }, 1, false },		{ { 7, 7 }, 2, true },
		{ { 9, 7 }, 2, false },		{ { 9, 7, 7 }, 3, true },
		{ { 7, 9, 9 }, 3, false },	{ { 9, 9, 7, 7 }, 4, true },
		{ { 7, 9, 7 }, 3, false },	{ { 9, 8, 7, 6 }, 4, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct counts samples[MOST_COUNTED], counts;
		struct meter meter = { 0 };

		for (size_t j = 0; j < cases[i].count; j++)
			samples[j] = counts_of(COUNT_PINS, cases[i].pins[j]);
		if (counts_all_settled(samples, cases[i].count, false) != cases[i].settled)
			fail_msg("case %zu", i);
		counts = meter_settle(&meter, samples, cases[i].count, false, "work a, host");
		assert_int_equal(counts.known[COUNT_PINS], cases[i].settled);
		assert_int_equal(counts.value[COUNT_PINS], 7 * cases[i].settled);
		assert_int_equal(!meter.missing[COUNT_PINS][0], cases[i].settled);
		assert_true(cases[i].settled ||
			    strstr(meter.missing[COUNT_PINS], "(first at work a, host)"));
	}
}

/* Struct pages that a window of others keeps are not made by the work. */
static void settling_of_struct_pages(void **state)
{
	static const struct {
		uint64_t made[MOST_COUNTED];
		size_t count;
		bool settled;
	} cases[] = {
		{ { 7 }, 1, false },		{ { 7, 7 }, 2, true },
		{ { 0, 0 }, 2, true },		{ { 7, 0, 0 }, 3, false },
		{ { 0, 7, 7 }, 3, false },	{ { 7, 0, 7, 7 }, 4, false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct counts samples[MOST_COUNTED];

		for (size_t j = 0; j < cases[i].count; j++)
			samples[j] = counts_of(COUNT_MADE, cases[i].made[j]);
		if (counts_all_settled(samples, cases[i].count, false) != cases[i].settled)
			fail_msg("case %zu", i);
	}
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

static bool lists(const struct machine *machine, const char *what)
{
	struct bench bench = { .machine = *machine };
	struct unmeasured list[MOST_UNMEASURED];
	size_t count = bench_unmeasured(&bench, list);

	assert_true(count <= MOST_UNMEASURED);
	for (size_t i = 0; i < count; i++)
		if (!strcmp(list[i].what, what))
			return list[i].why[0];
	return false;
}

/* What runs underneath decides, not an option. */
static void machines(void **state)
{
	struct machine machine = { 0 };

	(void)state;
	machine_judge(&machine, "TCGTCGTCGTCG");
	assert_true(machine.emulated && machine.virtualised);
	assert_true(lists(&machine, "effect of write-combining and caches"));
	machine_judge(&machine, "KVMKVMKVM");
	assert_true(!machine.emulated && machine.virtualised);
	assert_false(lists(&machine, "effect of write-combining and caches"));
	assert_true(lists(&machine, "cost of VM exits"));
	machine_judge(&machine, "");
	assert_string_equal(machine.hypervisor, "none");
	assert_false(machine.emulated || machine.virtualised);
}

/* A bench as a run leaves it: one good comparison, one that failed. */
struct sample {
	struct vpeer_entry entry;
	struct initiator device;
	double windows[2], hosts[2];
	struct comparison items[2];
	struct bench bench;
};

static void sample_make(struct sample *sample)
{
	*sample = (struct sample){
		.entry = { .pci = { .bus = 5 }, .bar = 2, .size = 2 * GIB,
			   .memory_type = "write-combining" },
		.device = { .kind = INITIATOR_RDMA, .name = "a<b>&\"c", .soft = true },
		.windows = { 1.0, 1.1 },
		.hosts = { 2.0, 2.2 },
	};
	sample->items[0] = (struct comparison){
		.operation = &operation_register,
		.initiator = &sample->device,
		.bytes = GIB / 2,
		.counts[WINDOW] = {
			.value = { [COUNT_PINS] = 131072 },
			.known = { [COUNT_PINS] = true },
		},
		.seconds = { sample->windows, sample->hosts },
		.samples = 2,
		.interval = { .pairs = 2, .ratio = 0.5, .low = 0.49, .high = 0.51, .half = 0.01 },
	};
	sample->items[1] = (struct comparison){
		.operation = &operation_touch,
		.bytes = GIB,
		.failed = true,
		.error = { .message = "no memory" },
	};
	sample->bench = (struct bench){
		.settings = { .huge = true },
		.entry = &sample->entry,
		.items = sample->items,
		.count = 2,
	};
	text_format(sample->bench.meter.missing[COUNT_INSTRUCTIONS], REASON_LEN, "no counter");
	machine_judge(&sample->bench.machine, "TCGTCGTCGTCG");
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value = NULL;

	if (!json_object_object_get_ex(object, key, &value))
		fail_msg("the document has no '%s'", key);
	return value;
}

static double number(struct json_object *object, const char *key)
{
	return json_object_get_double(member(object, key));
}

/* What vpeer-bench(1) says of the document, on its text as it is printed. */
static void document(void **state)
{
	struct json_object *printed, *parsed, *array, *item, *time;
	struct sample sample;

	(void)state;
	sample_make(&sample);
	printed = bench_document(&sample.bench);
	parsed = json_tokener_parse(json_object_to_json_string(printed));
	assert_non_null(parsed);
	assert_true(near(number(parsed, "format"), 1, 0));
	assert_true(near(number(parsed, "pilot_pairs"), PILOT_PAIRS, 0));
	assert_string_equal(json_object_get_string(member(parsed, "host_memory")), "thp");
	assert_string_equal(json_object_get_string(member(member(parsed, "machine"),
							  "hypervisor")), "TCGTCGTCGTCG");
	assert_string_equal(json_object_get_string(member(member(parsed, "aperture"), "pci")),
			    "0000:05:00.0");
	assert_string_equal(json_object_get_string(member(member(parsed, "not_counted"),
							  "instructions")), "no counter");
	member(member(parsed, "unmeasured"), "PCIe bandwidth");
	array = member(parsed, "comparisons");
	assert_int_equal(json_object_array_length(array), 2);
	item = json_object_array_get_idx(array, 0);
	assert_true(near(number(item, "bytes"), GIB / 2, 0));
	assert_true(near(number(member(item, "window"), "pages_pinned"), 131072, 0));
	for (enum counter i = 0; i < COUNTERS; i++) {
		member(member(parsed, "sources"), counter_name(i));
		assert_true((i == COUNT_PINS) ==
			    (member(member(item, "window"), counter_name(i)) != NULL));
	}
	time = member(item, "time");
	assert_true(near(number(time, "ratio"), 0.5, TINY));
	assert_string_equal(json_object_get_string(member(time, "window_is")), "faster");
	assert_int_equal(json_object_array_length(member(time, "host_seconds")), 2);
	item = json_object_array_get_idx(array, 1);
	assert_string_equal(json_object_get_string(member(item, "error")), "no memory");
	json_object_put(parsed);
	json_object_put(printed);
	assert_true(near(per_gib(&sample.items[0], WINDOW, COUNT_PINS), 262144, TINY));
}

/* JSON has no infinity: an interval of one pair. */
static void document_without_interval(void **state)
{
	struct json_object *printed, *parsed, *time;
	struct sample sample;

	(void)state;
	sample_make(&sample);
	sample.items[0].interval = (struct interval){ .pairs = 1, .ratio = 0.5, .high = INFINITY,
						      .half = INFINITY };
	printed = bench_document(&sample.bench);
	parsed = json_tokener_parse(json_object_to_json_string(printed));
	assert_non_null(parsed);
	time = member(json_object_array_get_idx(member(parsed, "comparisons"), 0), "time");
	assert_null(member(time, "high"));
	assert_string_equal(json_object_get_string(member(time, "window_is")), "inconclusive");
	json_object_put(parsed);
	json_object_put(printed);
}

/*
 * A small check of well-formedness: elements are closed in their order, and
 * text and attributes hold no bare '<', '&' or '"'.
 */
static const char *skip_tag(const char *text, int *depth)
{
	const char *end = strchr(text, '>');
	size_t quotes = 0;

	assert_non_null(end);
	for (const char *at = text; at < end; at++) {
		quotes += *at == '"';
		assert_true(at == text || *at != '<');
	}
	assert_int_equal(quotes % 2, 0);
	if (text[1] == '/')
		--*depth;
	else if (text[1] != '?' && end[-1] != '/')
		++*depth;
	assert_true(*depth >= 0);
	return end + 1;
}

static bool is_entity(const char *text)
{
	return !strncmp(text, "&lt;", 4) || !strncmp(text, "&gt;", 4) ||
	       !strncmp(text, "&amp;", 5) || !strncmp(text, "&quot;", 6);
}

static void check_xml(const char *text)
{
	int depth = 0;

	while (*text) {
		if (*text == '<') {
			text = skip_tag(text, &depth);
		} else {
			if (*text == '&')
				assert_true(is_entity(text));
			assert_true(*text != '>' && (depth || strchr("\n", *text)));
			text++;
		}
	}
	assert_int_equal(depth, 0);
}

static char *chart_of(const struct bench *bench)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	assert_int_equal(bench_chart(bench, file), 0);
	fclose(file);
	return text;
}

static size_t occurrences(const char *text, const char *what)
{
	size_t count = 0;

	while ((text = strstr(text, what))) {
		count++;
		text += strlen(what);
	}
	return count;
}

static void chart(void **state)
{
	struct sample sample;
	char *text;

	(void)state;
	sample_make(&sample);
	text = chart_of(&sample.bench);
	check_xml(text);
	assert_non_null(strstr(text, "xmlns=\"http://www.w3.org/2000/svg\""));
	assert_non_null(strstr(text, ">register a&lt;b&gt;&amp;&quot;c</text>"));
	assert_non_null(strstr(text, ">1.0</text>"));
	assert_non_null(strstr(text, ">0.500 (0.490-0.510) faster</text>"));
	assert_int_equal(occurrences(text, "<circle"), 1);
	free(text);
	sample.items[0].interval.low = DBL_MIN;
	sample.items[0].interval.high = DBL_MAX;
	text = chart_of(&sample.bench);
	check_xml(text);
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "=\"inf"));
	free(text);
	sample.bench.count = 0;
	text = chart_of(&sample.bench);
	check_xml(text);
	assert_int_equal(occurrences(text, "<circle"), 0);
	free(text);
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
		cmocka_unit_test(entries),
		cmocka_unit_test(equal_ranges),
		cmocka_unit_test(long_entries),
		cmocka_unit_test(table_sizes),
		cmocka_unit_test_setup_teardown(events, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(events_not_understood, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(lost_events, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(recording, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(moved_memory, fixture_begin, fixture_end),
		cmocka_unit_test(packets),
		cmocka_unit_test_setup_teardown(requests_of_others, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(unreadable_aperture, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(faults_of_others, fixture_begin, fixture_end),
		cmocka_unit_test(settling),
		cmocka_unit_test(settling_of_struct_pages),
		cmocka_unit_test(settled_at_once),
		cmocka_unit_test(reasons),
		cmocka_unit_test(machines),
		cmocka_unit_test(document),
		cmocka_unit_test(document_without_interval),
		cmocka_unit_test(chart),
	};

	return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}

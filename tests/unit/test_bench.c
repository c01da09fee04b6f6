// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixture.h"

#include <float.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

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
	} known[] = { { 1, 12.7062 }, { 2, 4.3027 }, { 5, 2.5706 }, { 20, 2.0860 },
		      { 21, 2.0796 }, { 30, 2.0423 }, { 60, 2.0003 }, { 120, 1.9799 } };

	(void)state;
	assert_true(isinf(student_t(0)));
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!near(student_t(known[i].degrees), known[i].t, 0.0002))
			fail_msg("%zu degrees: %f", known[i].degrees, student_t(known[i].degrees));
	for (size_t i = 1; i < 300; i++)
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
	assert_int_equal(meter_entries(&ranges, 5 * 4096), 3);
	/* Requests of three pages: the second range lies in both. */
	assert_int_equal(meter_entries(&ranges, 3 * 4096), 4);
	assert_int_equal(meter_entries(&ranges, 4096), 5);
	assert_true(ranges_hold(&ranges, 0x10000, 8192));
	assert_true(ranges_hold(&ranges, 0x21000, 4096));
	assert_false(ranges_hold(&ranges, 0x10000, 8193));
	assert_false(ranges_hold(&ranges, 0x12000, 1));
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

static void table_entries(void **state)
{
	uint64_t all = 4096 | 2 * MIB | GIB;

	(void)state;
	assert_int_equal(meter_table_entries(all, 0, 0, GIB), 1);
	assert_int_equal(meter_table_entries(all, 2 * MIB, 0, GIB), 512);
	assert_int_equal(meter_table_entries(4096, 0, 0, MIB), 256);
	assert_int_equal(meter_table_entries(all, 0, 4096, 2 * MIB), 512);
	assert_int_equal(meter_table_entries(all, 0, 0, 2 * MIB + 4096), 2);
	assert_int_equal(meter_table_entries(all, 0, 0, 1), 1);
}

static void events(void **state)
{
	struct initiator disk = { .kind = INITIATOR_BLOCK, .pci = "0000:02:00.1" };
	struct ranges ranges = { 0 };
	struct subject subject = { .window = true, .initiator = &disk, .ranges = &ranges };
	struct counts counts = { 0 };
	char path[512];

	text_format(path, sizeof(path), "%s/trace", (char *)*state);
	fixture_file(*state, "trace",
		     "# entries-in-buffer/entries-written: 6/6   #P:2\n"
		     " a-1 [0] .. 1: map: IOMMU: iova=0x1000 - 0x2000 paddr=0xff000 size=4096\n"
		     " a-1 [0] .. 1: map: IOMMU: iova=0x3000 - 0x4000 paddr=0x101000 size=4096\n"
		     " a-1 [0] .. 1: map: IOMMU: iova=0x5000 - 0x7000 paddr=0x102000 size=8192\n"
		     " a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:01:00.0 dma_mask=1 "
		     "dev_addr=1 size=100 FORCE\n"
		     " a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:02:00.1 dma_mask=1 "
		     "dev_addr=1 size=512 FORCE\n"
		     " a-1 [0] .. 1: vpeer_chunk_map: 0000:05:00.0 bar2 offset=0x0 "
		     "size=0x40000000\n");
	ranges_add(&ranges, 0x100000, 0x100000);
	assert_true(meter_read_events(path, &subject, 4096, &counts));
	assert_int_equal(counts.value[COUNT_MAPS], 2);
	assert_int_equal(counts.value[COUNT_MAPPED], 12288);
	assert_int_equal(counts.value[COUNT_TABLE], 3);
	assert_int_equal(counts.value[COUNT_COPIED], 512);
	assert_int_equal(counts.value[COUNT_MADE], GIB);
	fixture_file(*state, "trace", "# entries-in-buffer/entries-written: 5/6   #P:2\n");
	assert_false(meter_read_events(path, &subject, 4096, &counts));
	assert_false(meter_read_events("/nonexistent", &subject, 4096, &counts));
	ranges_end(&ranges);
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
	text_format(sample->bench.meter.missing[COUNT_INSTRUCTIONS], 256, "no counter");
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
		cmocka_unit_test(findings),
		cmocka_unit_test(order),
		cmocka_unit_test(medians),
		cmocka_unit_test(entries),
		cmocka_unit_test(long_entries),
		cmocka_unit_test(table_entries),
		cmocka_unit_test_setup_teardown(events, fixture_begin, fixture_end),
		cmocka_unit_test(machines),
		cmocka_unit_test(document),
		cmocka_unit_test(document_without_interval),
		cmocka_unit_test(chart),
	};

	return cmocka_run_group_tests_name("bench", tests, NULL, NULL);
}

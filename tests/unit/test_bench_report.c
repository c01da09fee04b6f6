// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is printed of a run: the JSON document, the chart, what this machine cannot show. */
#include "fixture.h"

#include <float.h>
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench_fixture.h"
#include "util.h"

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

/* The document as a reader gets it, from its text as it is printed. */
static struct json_object *document_of(const struct bench *bench)
{
	struct json_object *printed = bench_document(bench), *parsed;

	parsed = json_tokener_parse(json_object_to_json_string(printed));
	assert_non_null(parsed);
	json_object_put(printed);
	return parsed;
}

/* What vpeer-bench(1) says of the document. */
static void document(void **state)
{
	struct json_object *parsed, *array, *item, *time;
	struct sample sample;

	(void)state;
	sample_make(&sample);
	parsed = document_of(&sample.bench);
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
	assert_true(near(per_gib(&sample.items[0], WINDOW, COUNT_PINS), 262144, TINY));
}

/* JSON has no infinity: an interval of one pair. */
static void document_without_interval(void **state)
{
	struct json_object *parsed, *time;
	struct sample sample;

	(void)state;
	sample_make(&sample);
	sample.items[0].interval = (struct interval){ .pairs = 1, .ratio = 0.5, .high = INFINITY,
						      .half = INFINITY };
	parsed = document_of(&sample.bench);
	time = member(json_object_array_get_idx(member(parsed, "comparisons"), 0), "time");
	assert_null(member(time, "high"));
	assert_string_equal(json_object_get_string(member(time, "window_is")), "inconclusive");
	json_object_put(parsed);
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

static char *errors_of(const struct bench *bench)
{
	char *text = NULL;
	size_t length;
	FILE *file = open_memstream(&text, &length);

	assert_non_null(file);
	bench_print_errors(bench, file);
	fclose(file);
	return text;
}

/* What ended several is told once, with their names. */
static void errors_alike(void **state)
{
	struct sample sample;
	char first[128], second[128], wanted[512];
	char *text;

	(void)state;
	sample_make(&sample);
	assert_true(sample.bench.count >= 2);
	for (size_t i = 0; i < sample.bench.count; i++)
		sample.items[i].failed = false;
	text = errors_of(&sample.bench);
	assert_string_equal(text, "");
	free(text);
	for (size_t i = 0; i < 2; i++) {
		sample.items[i].failed = true;
		vpeer_fail(&sample.items[i].error, EOPNOTSUPP, VPEER_REASON_TRAPPED, "0000:01:00.0",
			   "map it", "trapped");
	}
	comparison_label(&sample.items[0], first, sizeof(first));
	comparison_label(&sample.items[1], second, sizeof(second));
	text_format(wanted, sizeof(wanted),
		    "vpeer: %s, %s: not measured: 0000:01:00.0: trapped\n  remedy: map it\n", first,
		    second);
	text = errors_of(&sample.bench);
	assert_string_equal(text, wanted);
	free(text);
	strcpy(sample.items[1].error.message, "gone");
	text = errors_of(&sample.bench);
	assert_int_equal(occurrences(text, "not measured"), 2);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machines),
		cmocka_unit_test(document),
		cmocka_unit_test(document_without_interval),
		cmocka_unit_test(chart),
		cmocka_unit_test(errors_alike),
	};

	return cmocka_run_group_tests_name("bench report", tests, NULL, NULL) != 0;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <json-c/json.h>
#include <string.h>

#include "../table.h"
#include "pair.h"
#include "scratch.h"

#define PLACE_LEN	96

/* Where the device sits: its PCI function, or the network device it runs on. */
static const char *initiator_place(const struct initiator *initiator, char text[PLACE_LEN])
{
	if (initiator->pci[0])
		return initiator->pci;
	if (initiator->netdev_pci[0])
		text_format(text, PLACE_LEN, "on %s %s", initiator->netdev, initiator->netdev_pci);
	else if (initiator->netdev[0])
		text_format(text, PLACE_LEN, "on %s, no PCI function", initiator->netdev);
	else
		text_format(text, PLACE_LEN, "no PCI function");
	return text;
}

static void add_row(struct table *table, const struct pair *pair)
{
	const struct result *result = &pair->result;
	char aperture[APERTURE_LEN], place[PLACE_LEN], text[128];

	table_cell(table, "%s", pair_aperture(pair, aperture));
	table_cell(table, "%s (%s)", pair->initiator->name,
		   initiator_place(pair->initiator, place));
	for (enum op op = 0; op < OP_COUNT; op++)
		table_cell(table, "%s", result_mark(result, op));
	table_cell(table, "%llu", (unsigned long long)result->bytes);
	table_cell(table, "%s", result->bytes ? grade_name(result->grade) : "none");
	evidence_summary(&result->evidence, text, sizeof(text));
	table_cell(table, "%s", text);
	table_cell(table, "%s", verdict_name(result->verdict));
}

static void print_table(const struct pair *pairs, size_t count)
{
	static const char *const titles[] = { "APERTURE", "INITIATOR", "WRITE", "READ",
					      "SEND",	  "ATOMIC",    "BYTES", "GRADE",
					      "EVIDENCE", "VERDICT" };
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < count; i++)
		add_row(&table, &pairs[i]);
	table_print(&table, stdout);
	table_end(&table);
}

static void print_cause(const struct pair *pair)
{
	char aperture[APERTURE_LEN], place[PLACE_LEN];

	printf("\n%s: %s, %s (%s): %s\n", verdict_name(pair->result.verdict),
	       pair_aperture(pair, aperture), pair->initiator->name,
	       initiator_place(pair->initiator, place), pair->result.cause);
	if (pair->result.remedy[0])
		printf("  remedy: %s\n", pair->result.remedy);
}

/* One line for each operation of a pair that had untested cases, if the cause does not tell it. */
static void print_skipped(const struct pair *pair)
{
	const struct result *result = &pair->result;
	bool said[OP_COUNT] = { false };

	for (size_t i = 0; i < result->count; i++) {
		const struct record *record = &result->records[i];

		if (record->kind != RECORD_CASE || record->outcome != OUTCOME_SKIPPED ||
		    said[record->op] || !strcmp(record->text, result->cause))
			continue;
		said[record->op] = true;
		printf("%s: %s not tested: %s\n", pair->initiator->name, op_name(record->op),
		       record->text);
	}
}

static void print_evidence(const struct evidence *evidence)
{
	const struct {
		const char *name;
		enum fact fact;
		const char *text;
	} lines[] = {
		{ "pins", evidence->pins, evidence->pins_text },
		{ "mapping", evidence->mapping, evidence->mapping_text },
		{ "no bounce", evidence->clean, evidence->clean_text },
	};

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
		if (lines[i].text[0])
			printf("  evidence %s: %s: %s\n", lines[i].name, fact_name(lines[i].fact),
			       lines[i].text);
}

static void print_records(const struct pair *pair)
{
	char bytes[BYTES_LEN];

	printf("\n%s:\n", pair->initiator->name);
	for (size_t i = 0; i < pair->result.count; i++) {
		const struct record *record = &pair->result.records[i];

		if (record->kind == RECORD_CASE)
			printf("  %-10s %s %s, %s at 0x%llx%s%s\n", outcome_name(record->outcome),
			       record->name, format_bytes(record->size, bytes),
			       direction_name(record->direction),
			       (unsigned long long)record->offset, record->text[0] ? ": " : "",
			       record->text);
		else if (record->kind == RECORD_CONTROL)
			printf("  %-10s control: %s%s%s\n", outcome_name(record->outcome),
			       record->name, record->text[0] ? ": " : "", record->text);
	}
	print_evidence(&pair->result.evidence);
}

void report_text(const struct pair *pairs, size_t count, const struct settings *settings)
{
	size_t passed = 0;

	print_table(pairs, count);
	for (size_t i = 0; i < count; i++) {
		passed += pairs[i].result.verdict == VERDICT_PASS;
		if (pairs[i].result.verdict != VERDICT_PASS)
			print_cause(&pairs[i]);
		if (settings->verbose)
			print_records(&pairs[i]);
	}
	putchar('\n');
	for (size_t i = 0; i < count; i++)
		print_skipped(&pairs[i]);
	printf("%zu of %zu pairs pass (seed %llu)\n", passed, count,
	       (unsigned long long)settings->seed);
}

static void add_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_object_new_string(text));
}

static void add_number(struct json_object *object, const char *key, uint64_t number)
{
	json_object_object_add(object, key, json_object_new_uint64(number));
}

static struct json_object *json_record(const struct record *record)
{
	struct json_object *item = json_object_new_object();

	add_text(item, "name", record->name);
	if (record->kind == RECORD_CASE) {
		add_text(item, "op", op_name(record->op));
		add_text(item, "direction",
			 record->direction == TO_WINDOW ? "to_window" : "from_window");
		add_number(item, "size", record->size);
		add_number(item, "offset", record->offset);
		add_number(item, "bytes_verified", record->bytes);
	}
	add_text(item, "outcome",
		 record->outcome == OUTCOME_SKIPPED ? "skipped" : outcome_name(record->outcome));
	add_text(item, "text", record->text);
	add_text(item, "remedy", record->remedy);
	return item;
}

static struct json_object *json_records(const struct result *result, enum record_kind kind)
{
	struct json_object *array = json_object_new_array();

	for (size_t i = 0; i < result->count; i++)
		if (result->records[i].kind == kind)
			json_object_array_add(array, json_record(&result->records[i]));
	return array;
}

/* How many cases and controls had each outcome. */
static struct json_object *json_counts(const struct result *result)
{
	struct json_object *item = json_object_new_object();
	uint64_t counts[] = { [OUTCOME_PASS] = 0, [OUTCOME_FAIL] = 0, [OUTCOME_SKIPPED] = 0 };

	for (size_t i = 0; i < result->count; i++)
		if (result->records[i].kind == RECORD_CASE ||
		    result->records[i].kind == RECORD_CONTROL)
			counts[result->records[i].outcome]++;
	add_number(item, "passed", counts[OUTCOME_PASS]);
	add_number(item, "failed", counts[OUTCOME_FAIL]);
	add_number(item, "skipped", counts[OUTCOME_SKIPPED]);
	return item;
}

static struct json_object *json_fact(enum fact fact, const char *text)
{
	struct json_object *item = json_object_new_object();

	add_text(item, "seen", fact_name(fact));
	add_text(item, "text", text);
	return item;
}

static struct json_object *json_evidence(const struct evidence *evidence)
{
	struct json_object *item = json_object_new_object();
	char text[128];

	evidence_summary(evidence, text, sizeof(text));
	add_text(item, "summary", text);
	json_object_object_add(item, "software_device", json_object_new_boolean(evidence->soft));
	json_object_object_add(item, "translating_iommu",
			       json_object_new_boolean(evidence->translating));
	add_number(item, "bounces", evidence->bounces);
	json_object_object_add(item, "pins", json_fact(evidence->pins, evidence->pins_text));
	json_object_object_add(item, "mapping",
			       json_fact(evidence->mapping, evidence->mapping_text));
	json_object_object_add(item, "no_bounce",
			       json_fact(evidence->clean, evidence->clean_text));
	return item;
}

static struct json_object *json_aperture(const struct vpeer_entry *aperture)
{
	struct json_object *item = json_object_new_object();
	char pci[VPEER_PCI_LEN];

	add_text(item, "pci", vpeer_pci_format(&aperture->pci, pci));
	add_number(item, "bar", aperture->bar);
	add_number(item, "bar_offset", aperture->bar_offset);
	add_number(item, "size", aperture->size);
	add_text(item, "node", aperture->node);
	return item;
}

static struct json_object *json_initiator(const struct initiator *initiator)
{
	struct json_object *item = json_object_new_object();

	add_text(item, "name", initiator->name);
	add_text(item, "kind", initiator->kind == INITIATOR_RDMA ? "rdma" : "block");
	json_object_object_add(item, "pci", initiator->pci[0] ?
			       json_object_new_string(initiator->pci) : NULL);
	add_text(item, "netdev", initiator->netdev);
	add_text(item, "netdev_pci", initiator->netdev_pci);
	add_text(item, "iommu_domain", initiator->domain);
	return item;
}

static struct json_object *json_pair(const struct pair *pair)
{
	struct json_object *item = json_object_new_object();
	const struct result *result = &pair->result;

	json_object_object_add(item, "aperture", json_aperture(pair->aperture));
	json_object_object_add(item, "initiator", json_initiator(pair->initiator));
	add_text(item, "route", "pages");
	add_text(item, "verdict", verdict_name(result->verdict));
	add_text(item, "grade", result->bytes ? grade_name(result->grade) : "none");
	add_number(item, "bytes_verified", result->bytes);
	json_object_object_add(item, "counts", json_counts(result));
	add_text(item, "cause", result->cause);
	add_text(item, "remedy", result->remedy);
	json_object_object_add(item, "evidence", json_evidence(&result->evidence));
	json_object_object_add(item, "cases", json_records(result, RECORD_CASE));
	json_object_object_add(item, "controls", json_records(result, RECORD_CONTROL));
	return item;
}

struct json_object *report_document(const struct pair *pairs, size_t count,
				    const struct settings *settings)
{
	struct json_object *document = json_object_new_object();
	struct json_object *array = json_object_new_array();
	size_t passed = 0;

	add_number(document, "schema_version", 1);
	add_text(document, "tool_version", TOOL_VERSION);
	add_number(document, "seed", settings->seed);
	json_object_object_add(document, "accept_window",
			       json_object_new_boolean(settings->accept_window));
	for (size_t i = 0; i < count; i++) {
		json_object_array_add(array, json_pair(&pairs[i]));
		passed += pairs[i].result.verdict == VERDICT_PASS;
	}
	json_object_object_add(document, "pairs", array);
	add_number(document, "pairs_passed", passed);
	add_number(document, "pairs_total", count);
	return document;
}

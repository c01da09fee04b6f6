// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "verdict.h"

#include <string.h>

#include "../util.h"

const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = { "PASS", "UNPROVEN", "BOUNCED", "FAIL", "TIMEOUT" };

	return names[verdict];
}

const char *grade_name(enum grade grade)
{
	static const char *const names[] = { "none", "window", "owner" };

	return names[grade];
}

/* What a proof lacks. */
struct gap {
	enum fact fact;
	const char *text;	/* NULL when it lacks nothing */
	const char *remedy;	/* when the fact is that it is not so */
};

static struct gap find_gap(const struct evidence *evidence)
{
	bool mapping_proves = evidence->translating && evidence->mapping == FACT_YES;

	if (evidence->block && mapping_proves)
		return (struct gap){ FACT_YES, NULL, NULL };
	if (evidence->translating && !evidence->soft && !mapping_proves)
		return (struct gap){ evidence->mapping, evidence->mapping_text,
				     "the bytes took another way than the IOMMU's: do not rely on "
				     "this pair; see the kernel log" };
	if (!evidence->soft && evidence->clean != FACT_YES)
		return (struct gap){ evidence->clean, evidence->clean_text, "" };
	if (evidence->pins == FACT_YES)
		return (struct gap){ FACT_YES, NULL, NULL };
	return (struct gap){ evidence->pins, evidence->pins_text,
			     "the driver holds other pages than the BAR's: do not rely on this "
			     "pair" };
}

static const char *gap_remedy(const struct evidence *evidence, const struct gap *gap)
{
	if (gap->fact == FACT_NO)
		return gap->remedy;
	if (evidence->block && gap->text == evidence->pins_text)
		return "boot with a translating IOMMU, whose mappings prove it, or make the I/O "
		       "longer: --sizes 16M";
	return "run as root, with tracefs at /sys/kernel/tracing and debugfs at "
	       "/sys/kernel/debug mounted";
}

static bool some_proof(const struct evidence *evidence)
{
	return evidence->pins == FACT_YES || evidence->mapping == FACT_YES ||
	       evidence->clean == FACT_YES;
}

void evidence_summary(const struct evidence *evidence, char *text, size_t size)
{
	struct gap gap = find_gap(evidence);

	if (evidence->clean == FACT_NO)
		text_format(text, size, "bounced %llu times",
			    (unsigned long long)evidence->bounces);
	else if (gap.text)
		text_format(text, size, "%s", some_proof(evidence) ? "incomplete" : "none");
	else if (evidence->soft)
		text_format(text, size, "BAR pages pinned, CPU copies");
	else
		text_format(text, size, "%s%s%s", evidence->pins == FACT_YES ? "pins" : "",
			    evidence->mapping == FACT_YES ?
				    (evidence->pins == FACT_YES ? "+iommu" : "iommu") : "",
			    evidence->clean == FACT_YES ? "+no bounce" : "");
}

static void conclude(struct result *result, enum verdict verdict, const char *cause,
		     const char *remedy)
{
	result->verdict = verdict;
	text_format(result->cause, sizeof(result->cause), "%s", cause);
	text_format(result->remedy, sizeof(result->remedy), "%s", remedy);
}

static const struct record *first_failure(const struct result *result)
{
	for (size_t i = 0; i < result->count; i++) {
		const struct record *record = &result->records[i];

		if (record->kind == RECORD_FAILED ||
		    ((record->kind == RECORD_CASE || record->kind == RECORD_CONTROL) &&
		     record->outcome == OUTCOME_FAIL))
			return record;
	}
	return NULL;
}

static void fail_by_record(struct result *result, const struct record *record)
{
	char bytes[BYTES_LEN], cause[640];

	if (record->kind == RECORD_CASE)
		text_format(cause, sizeof(cause), "%s %s, %s: %s", record->name,
			    format_bytes(record->size, bytes), direction_name(record->direction),
			    record->text);
	else if (record->kind == RECORD_CONTROL)
		text_format(cause, sizeof(cause), "control '%s': %s", record->name, record->text);
	else
		text_format(cause, sizeof(cause), "%s", record->text);
	conclude(result, VERDICT_FAIL, cause, record->remedy);
}

static void decide_bounced(struct result *result, const char *command_line)
{
	bool forced = strstr(command_line, "swiotlb=force") != NULL;
	char cause[640];

	text_format(cause, sizeof(cause), "DMA went through bounce buffers in host memory: %s%s",
		    result->evidence.clean_text,
		    forced ? "; swiotlb=force is on the kernel command line" : "");
	conclude(result, VERDICT_BOUNCED, cause,
		 forced ? "remove swiotlb=force from the kernel command line and reboot" :
			  "check that the device's DMA mask reaches the BAR, that it is not marked "
			  "untrusted, and that the guest's memory is not encrypted");
}

static size_t passed_cases(const struct result *result)
{
	size_t passed = 0;

	for (size_t i = 0; i < result->count; i++)
		passed += result->records[i].kind == RECORD_CASE &&
			  result->records[i].outcome == OUTCOME_PASS;
	return passed;
}

static void decide_untested(struct result *result)
{
	for (size_t i = 0; i < result->count; i++) {
		if (result->records[i].kind != RECORD_CASE)
			continue;
		conclude(result, VERDICT_UNPROVEN, result->records[i].text,
			 result->records[i].remedy);
		return;
	}
	conclude(result, VERDICT_UNPROVEN, "nothing was transferred", "");
}

static void decide_timeout(struct result *result)
{
	const struct record *last = NULL;
	char cause[640];

	for (size_t i = 0; i < result->count; i++)
		if (result->records[i].kind == RECORD_STARTED)
			last = &result->records[i];
	text_format(cause, sizeof(cause), "no end before the deadline, in: %s%s%s",
		    last ? last->name : "setting up", result->cause[0] ? "; " : "", result->cause);
	conclude(result, VERDICT_TIMEOUT, cause,
		 "see the kernel log for IOMMU or device errors; a slow machine needs --timeout");
}

void result_decide(struct result *result, bool accept_window, const char *command_line)
{
	const struct record *failure = first_failure(result);
	struct gap gap = find_gap(&result->evidence);
	char cause[640];

	if (result->timed_out) {
		decide_timeout(result);
	} else if (failure) {
		fail_by_record(result, failure);
	} else if (!result->finished) {
		text_format(cause, sizeof(cause), "%s",
			    result->cause[0] ? result->cause : "the test process ended early");
		conclude(result, VERDICT_FAIL, cause, "see the kernel log");
	} else if (result->evidence.clean == FACT_NO) {
		decide_bounced(result, command_line);
	} else if (!passed_cases(result)) {
		decide_untested(result);
	} else if (gap.text) {
		text_format(cause, sizeof(cause), "bytes correct, directness unproven: %s",
			    gap.text);
		conclude(result, VERDICT_UNPROVEN, cause, gap_remedy(&result->evidence, &gap));
	} else if (result->grade != GRADE_OWNER && !accept_window) {
		conclude(result, VERDICT_UNPROVEN,
			 "bytes were compared through the BAR only, not from the owner's side",
			 "give --owner-view PATH, or --accept window if that is enough");
	} else {
		conclude(result, VERDICT_PASS, "", "");
	}
}

const char *result_mark(const struct result *result, enum op op)
{
	size_t passed = 0, failed = 0, skipped = 0;

	for (size_t i = 0; i < result->count; i++) {
		const struct record *record = &result->records[i];

		if (record->kind != RECORD_CASE || record->op != op)
			continue;
		passed += record->outcome == OUTCOME_PASS;
		failed += record->outcome == OUTCOME_FAIL;
		skipped += record->outcome == OUTCOME_SKIPPED;
	}
	if (failed)
		return "FAIL";
	if (passed)
		return skipped ? "partly" : "ok";
	return skipped ? "not tested" : "-";
}

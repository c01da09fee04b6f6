// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* https://prometheus.io/docs/instrumenting/exposition_formats/, text-based format */
#include <inttypes.h>

#include "../util.h"
#include "metrics.h"

static void print_head(FILE *file, const char *prefix, const char *name, enum metric_kind kind,
		       const char *help)
{
	fprintf(file, "# HELP %s%s %s\n# TYPE %s%s %s\n", prefix, name, help, prefix, name,
		kind == METRIC_COUNTER ? "counter" : "gauge");
}

/* In a value these three are escaped. */
static void print_value(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '\n') {
			fputs("\\n", file);
			continue;
		}
		if (*text == '\\' || *text == '"')
			fputc('\\', file);
		fputc(*text, file);
	}
}

static void print_labels(FILE *file, const struct vpeer_entry *entry)
{
	char pci[VPEER_PCI_LEN];

	fprintf(file, "{pci=\"%s\",bar=\"%u\",node=\"", vpeer_pci_format(&entry->pci, pci),
		entry->bar);
	print_value(file, entry->node);
	fputs("\"", file);
}

static void print_metric(FILE *file, const struct readings *readings, size_t number)
{
	bool begun = false;

	for (size_t i = 0; i < readings->count; i++) {
		const struct sample *sample = &readings->items[i].samples[number];

		if (!sample->known)
			continue;
		if (!begun)
			print_head(file, "vpeer_aperture_", metrics[number].name,
				   metrics[number].kind, metrics[number].help);
		begun = true;
		fprintf(file, "vpeer_aperture_%s", metrics[number].name);
		print_labels(file, &readings->items[i].entry);
		if (metrics[number].unit == UNIT_NANOSECONDS)
			fprintf(file, "} %.9f\n", (double)sample->value / 1e9);
		else
			fprintf(file, "} %" PRIu64 "\n", sample->value);
	}
}

static void print_info(FILE *file, const struct readings *readings)
{
	if (readings->count)
		print_head(file, "vpeer_", "aperture_info", METRIC_GAUGE,
			   "Kind and status of an aperture; always 1.");
	for (size_t i = 0; i < readings->count; i++) {
		fputs("vpeer_aperture_info", file);
		print_labels(file, &readings->items[i].entry);
		fputs(",kind=\"", file);
		print_value(file, readings->items[i].entry.kind);
		fputs("\",memory_type=\"", file);
		print_value(file, readings->items[i].entry.memory_type);
		fputs("\",status=\"", file);
		print_value(file, readings->items[i].entry.status);
		fputs("\"} 1\n", file);
	}
}

static void print_ranges(FILE *file, const struct readings *readings, const char *name,
			 const char *help, bool pinned)
{
	char pci[VPEER_PCI_LEN];

	if (readings->range_count)
		print_head(file, "vpeer_", name, METRIC_GAUGE, help);
	for (size_t i = 0; i < readings->range_count; i++) {
		const struct quarantine *range = &readings->ranges[i];

		fprintf(file, "vpeer_%s{pci=\"%s\",bar=\"%u\",address=\"0x%" PRIx64 "\"} %" PRIu64
			"\n", name, vpeer_pci_format(&range->pci, pci), range->bar, range->start,
			pinned ? range->pinned : range->size);
	}
}

static void print_module(FILE *file, const struct readings *readings)
{
	print_head(file, "vpeer_", "module_loaded", METRIC_GAUGE, "Whether vpeer.ko is loaded.");
	fputs("vpeer_module_loaded", file);
	if (readings->version[0]) {
		fputs("{version=\"", file);
		print_value(file, readings->version);
		fputs("\"}", file);
	}
	fprintf(file, " %d\n", readings->version[0] != '\0');
}

void readings_prometheus(const struct readings *readings, FILE *file)
{
	print_module(file, readings);
	print_info(file, readings);
	for (size_t i = 0; i < METRICS; i++)
		print_metric(file, readings, i);
	print_ranges(file, readings, "quarantined_bytes",
		     "Size of a BAR range whose DMA pins outlasted its aperture.", false);
	print_ranges(file, readings, "quarantined_pinned_bytes",
		     "What of such a range is still pinned.", true);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <inttypes.h>

#include "../util.h"
#include "metrics.h"

static void print_one(const struct reading *reading, FILE *file)
{
	const struct vpeer_entry *entry = &reading->entry;
	char pci[VPEER_PCI_LEN], bytes[BYTES_LEN];

	fprintf(file, "%s BAR %u (%s, %s, %s)\n", vpeer_pci_format(&entry->pci, pci), entry->bar,
		entry->node, entry->kind, entry->status);
	for (size_t i = 0; i < METRICS; i++) {
		const struct sample *sample = &reading->samples[i];

		fprintf(file, "  %-20s  ", metrics[i].file);
		if (!sample->known)
			fputs("-\n", file);
		else if (metrics[i].unit == UNIT_BYTES)
			fprintf(file, "%s\n", format_bytes(sample->value, bytes));
		else
			fprintf(file, "%" PRIu64 "\n", sample->value);
	}
}

static void print_range(const struct quarantine *range, FILE *file)
{
	char pci[VPEER_PCI_LEN], size[BYTES_LEN], pinned[BYTES_LEN];

	fprintf(file, "%s BAR %u at 0x%" PRIx64 ": %s quarantined, %s of it pinned\n",
		vpeer_pci_format(&range->pci, pci), range->bar, range->start,
		format_bytes(range->size, size), format_bytes(range->pinned, pinned));
}

void readings_print(const struct readings *readings, FILE *file)
{
	for (size_t i = 0; i < readings->count; i++)
		print_one(&readings->items[i], file);
	for (size_t i = 0; i < readings->range_count; i++)
		print_range(&readings->ranges[i], file);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <math.h>
#include <string.h>

#include "../table.h"
#include "bench.h"

static bool counts_bytes(enum counter counter)
{
	return counter == COUNT_COPIED || counter == COUNT_ZEROED || counter == COUNT_MAPPED ||
	       counter == COUNT_MADE;
}

static void count_cell(struct table *table, const struct comparison *item, enum side side,
		       enum counter counter)
{
	double value = per_gib(item, side, counter);

	if (!item->counts[side].known[counter])
		table_cell(table, "-");
	else if (counts_bytes(counter) && value > 0)
		table_cell(table, "%.*f MiB", value < 10 << 20 ? 3 : 0, value / (1 << 20));
	else
		table_cell(table, "%.0f", value);
}

static void print_counts(const struct bench *bench)
{
	const char *titles[3 + COUNTERS] = { "WORK PER GiB", "INITIATOR", "MEMORY" };
	struct table table;

	for (enum counter i = 0; i < COUNTERS; i++)
		titles[3 + i] = counter_title(i);
	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < bench->count; i++) {
		const struct comparison *item = &bench->items[i];

		for (enum side side = WINDOW; !item->failed && side <= HOST; side++) {
			table_cell(&table, "%s", item->operation->name);
			table_cell(&table, "%s", item->initiator ? item->initiator->name : "CPU");
			table_cell(&table, "%s", side_name(side));
			for (enum counter j = 0; j < COUNTERS; j++)
				count_cell(&table, item, side, j);
		}
	}
	table_print(&table, stdout);
	table_end(&table);
}

static void print_interval(struct table *table, const struct comparison *item)
{
	const struct interval *interval = &item->interval;
	double medians[2];

	for (enum side side = WINDOW; side <= HOST; side++)
		medians[side] = median(item->seconds[side], item->samples) * 1e3;
	table_cell(table, "%.3f", interval->ratio);
	if (isinf(interval->half))
		table_cell(table, "-");
	else
		table_cell(table, "%.3f-%.3f", interval->low, interval->high);
	table_cell(table, "%zu", interval->pairs);
	table_cell(table, "%s", finding_name(interval_finding(interval)));
	table_cell(table, "%.3f ms", medians[WINDOW]);
	table_cell(table, "%.3f ms", medians[HOST]);
}

static void print_times(const struct bench *bench)
{
	static const char *const titles[] = { "TIME", "INITIATOR", "BYTES", "WINDOW/HOST",
					      "95% INTERVAL", "PAIRS", "WINDOW IS",
					      "WINDOW (MEDIAN)", "HOST (MEDIAN)" };
	char bytes[BYTES_LEN];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < bench->count; i++) {
		const struct comparison *item = &bench->items[i];

		if (item->failed)
			continue;
		table_cell(&table, "%s", item->operation->name);
		table_cell(&table, "%s", item->initiator ? item->initiator->name : "CPU");
		table_cell(&table, "%s", format_bytes(item->bytes, bytes));
		print_interval(&table, item);
	}
	table_print(&table, stdout);
	table_end(&table);
}

static void print_missing(const struct bench *bench)
{
	for (enum counter i = 0; i < COUNTERS; i++)
		if (bench->meter.missing[i][0])
			printf("not counted here: %s: %s\n", counter_title(i),
			       bench->meter.missing[i]);
}

static void print_unmeasured(const struct bench *bench)
{
	struct unmeasured list[MOST_UNMEASURED];
	size_t count = bench_unmeasured(bench, list);

	for (size_t i = 0; i < count; i++)
		printf("unmeasured here: %s: %s\n", list[i].what, list[i].why);
}

void bench_print(const struct bench *bench)
{
	char pci[VPEER_PCI_LEN];

	printf("kernel %s, hypervisor %s, aperture %s BAR %u, host memory of %s\n\n",
	       bench->machine.release, bench->machine.hypervisor,
	       vpeer_pci_format(&bench->entry->pci, pci), bench->entry->bar,
	       bench->settings.huge ? "transparent huge pages" : "4 KiB pages");
	print_counts(bench);
	putchar('\n');
	print_times(bench);
	putchar('\n');
	print_missing(bench);
	print_unmeasured(bench);
}

static bool failed_alike(const struct comparison *a, const struct comparison *b)
{
	return a->failed && b->failed && !strcmp(a->error.who, b->error.who) &&
	       !strcmp(a->error.message, b->error.message) &&
	       !strcmp(a->error.remedy, b->error.remedy);
}

/* The first of those that failed alike. */
static bool is_first(const struct bench *bench, size_t index)
{
	for (size_t i = 0; i < index; i++)
		if (failed_alike(&bench->items[i], &bench->items[index]))
			return false;
	return bench->items[index].failed;
}

void bench_print_errors(const struct bench *bench, FILE *file)
{
	char label[128];

	for (size_t i = 0; i < bench->count; i++) {
		const struct comparison *item = &bench->items[i];

		if (!is_first(bench, i))
			continue;
		fputs("vpeer: ", file);
		for (size_t j = i; j < bench->count; j++) {
			if (!failed_alike(item, &bench->items[j]))
				continue;
			comparison_label(&bench->items[j], label, sizeof(label));
			fprintf(file, "%s%s", j == i ? "" : ", ", label);
		}
		fprintf(file, ": not measured: %s: %s\n", item->error.who, item->error.message);
		if (item->error.remedy[0])
			fprintf(file, "  remedy: %s\n", item->error.remedy);
	}
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "apertures.h"
#include "pcidev.h"
#include "quarantine.h"
#include "table.h"
#include "util.h"

struct inventory {
	struct vpeer_entry *entries;
	struct dmabufs *dmabufs;	/* of each entry */
	struct candidate *candidates;
	struct quarantine *ranges;
	size_t entry_count;
	size_t candidate_count;
	size_t range_count;
};

static int collect_error(const char *path, int err)
{
	struct vpeer_error error;

	vpeer_fail(&error, -err, VPEER_REASON_NONE, path, "", "cannot read: %s", strerror(-err));
	report_error(&error);
	return EXIT_FAIL;
}

static int collect(struct inventory *all, bool candidates)
{
	struct vpeer_error error;
	int err;

	if (vpeer_list(&all->entries, &all->entry_count, &error)) {
		report_error(&error);
		return EXIT_FAIL;
	}
	err = apertures_dmabufs("/sys", all->entries, &all->entry_count, &all->dmabufs);
	if (err)
		return collect_error("/sys/class/vpeer", err);
	err = quarantine_read("/sys", &all->ranges, &all->range_count);
	if (err)
		return collect_error("/sys/class/misc/vpeerctl/quarantine", err);
	if (candidates)
		err = pci_candidates("/sys", &all->candidates, &all->candidate_count);
	return err ? collect_error("/sys/bus/pci/devices", err) : EXIT_PASS;
}

static void release(struct inventory *all)
{
	vpeer_list_free(all->entries);
	free(all->dmabufs);
	free(all->candidates);
	free(all->ranges);
}

static void print_apertures(const struct inventory *all)
{
	static const char *const titles[] = { "PCI",     "BAR",      "KIND",   "SIZE",
					      "MEMORY",  "FREE",     "PINNED", "WINDOWS",
					      "DMABUFS", "IMPORTED", "NODE",   "STATUS" };
	char pci[VPEER_PCI_LEN], bytes[BYTES_LEN];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < all->entry_count; i++) {
		const struct vpeer_entry *entry = &all->entries[i];

		table_cell(&table, "%s", vpeer_pci_format(&entry->pci, pci));
		table_cell(&table, "%u", entry->bar);
		table_cell(&table, "%s", entry->kind);
		table_cell(&table, "%s", format_bytes(entry->size, bytes));
		table_cell(&table, "%s", entry->memory_type);
		table_cell(&table, "%s", format_bytes(entry->bytes_free, bytes));
		table_cell(&table, "%s", format_bytes(entry->bytes_pinned, bytes));
		table_cell(&table, "%llu", (unsigned long long)entry->windows);
		table_cell(&table, "%llu", (unsigned long long)all->dmabufs[i].count);
		table_cell(&table, "%s", format_bytes(all->dmabufs[i].bytes_mapped, bytes));
		table_cell(&table, "%s", entry->node);
		table_cell(&table, "%s", entry->status);
	}
	table_print(&table, stdout);
	table_end(&table);
}

static void print_candidates(const struct inventory *all)
{
	static const char *const titles[] = { "CANDIDATE", "BAR", "SIZE", "DRIVER" };
	char pci[VPEER_PCI_LEN], bytes[BYTES_LEN];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < all->candidate_count; i++) {
		table_cell(&table, "%s", vpeer_pci_format(&all->candidates[i].pci, pci));
		table_cell(&table, "%u", all->candidates[i].bar);
		table_cell(&table, "%s", format_bytes(all->candidates[i].size, bytes));
		table_cell(&table, "%s", all->candidates[i].driver);
	}
	table_print(&table, stdout);
	table_end(&table);
}

static void print_ranges(const struct inventory *all)
{
	static const char *const titles[] = { "QUARANTINED", "BAR", "ADDRESS", "SIZE", "PINNED" };
	char pci[VPEER_PCI_LEN], bytes[BYTES_LEN];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < all->range_count; i++) {
		table_cell(&table, "%s", vpeer_pci_format(&all->ranges[i].pci, pci));
		table_cell(&table, "%u", all->ranges[i].bar);
		table_cell(&table, "0x%llx", (unsigned long long)all->ranges[i].start);
		table_cell(&table, "%s", format_bytes(all->ranges[i].size, bytes));
		table_cell(&table, "%s", format_bytes(all->ranges[i].pinned, bytes));
	}
	table_print(&table, stdout);
	table_end(&table);
}

static void print_text(const struct inventory *all, bool candidates)
{
	if (all->entry_count)
		print_apertures(all);
	else
		printf("no aperture is attached%s\n",
		       candidates ? "" : " ('vpeer list --all' shows candidates)");
	if (candidates && all->candidate_count)
		print_candidates(all);
	else if (candidates)
		printf("no candidate: no %sfunction has a prefetchable BAR of 2 MiB or more\n",
		       all->entry_count ? "other " : "");
	if (all->range_count)
		print_ranges(all);
}

static struct json_object *json_place(const struct vpeer_pci_address *pci, unsigned int bar,
				      uint64_t size)
{
	struct json_object *item = json_object_new_object();
	char text[VPEER_PCI_LEN];

	json_object_object_add(item, "pci", json_object_new_string(vpeer_pci_format(pci, text)));
	json_object_object_add(item, "bar", json_object_new_int64(bar));
	json_object_object_add(item, "size", json_object_new_uint64(size));
	return item;
}

static struct json_object *json_aperture(const struct vpeer_entry *entry,
					 const struct dmabufs *dmabufs)
{
	struct json_object *item = json_place(&entry->pci, entry->bar, entry->size);

	json_object_object_add(item, "node", json_object_new_string(entry->node));
	json_object_object_add(item, "kind", json_object_new_string(entry->kind));
	json_object_object_add(item, "bar_offset", json_object_new_uint64(entry->bar_offset));
	json_object_object_add(item, "memory_type", json_object_new_string(entry->memory_type));
	json_object_object_add(item, "status", json_object_new_string(entry->status));
	json_object_object_add(item, "granule", json_object_new_uint64(entry->granule));
	json_object_object_add(item, "bytes_free", json_object_new_uint64(entry->bytes_free));
	json_object_object_add(item, "bytes_pinned", json_object_new_uint64(entry->bytes_pinned));
	json_object_object_add(item, "windows", json_object_new_uint64(entry->windows));
	json_object_object_add(item, "mappings", json_object_new_uint64(entry->mappings));
	json_object_object_add(item, "dmabufs", json_object_new_uint64(dmabufs->count));
	json_object_object_add(item, "dmabuf_bytes_mapped",
			       json_object_new_uint64(dmabufs->bytes_mapped));
	return item;
}

static int print_json(const struct inventory *all, bool candidates)
{
	struct json_object *document = json_object_new_object();
	struct json_object *array = json_object_new_array(), *item;

	json_object_object_add(document, "schema_version", json_object_new_int(1));
	for (size_t i = 0; i < all->entry_count; i++)
		json_object_array_add(array, json_aperture(&all->entries[i], &all->dmabufs[i]));
	json_object_object_add(document, "apertures", array);
	array = json_object_new_array();
	for (size_t i = 0; i < all->range_count; i++) {
		item = json_place(&all->ranges[i].pci, all->ranges[i].bar, all->ranges[i].size);
		json_object_object_add(item, "address",
				       json_object_new_uint64(all->ranges[i].start));
		json_object_object_add(item, "bytes_pinned",
				       json_object_new_uint64(all->ranges[i].pinned));
		json_object_array_add(array, item);
	}
	json_object_object_add(document, "quarantine", array);
	if (!candidates)
		return json_finish(document);
	array = json_object_new_array();
	for (size_t i = 0; i < all->candidate_count; i++) {
		item = json_place(&all->candidates[i].pci, all->candidates[i].bar,
				  all->candidates[i].size);
		json_object_object_add(item, "driver",
				       json_object_new_string(all->candidates[i].driver));
		json_object_array_add(array, item);
	}
	json_object_object_add(document, "candidates", array);
	return json_finish(document);
}

static int run_list(int argc, char **argv)
{
	static const struct option options[] = {
		{ "all", no_argument, NULL, 'a' },
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	bool candidates = false, json = false;
	struct inventory all = { 0 };
	int code, status;

	opterr = 0;
	while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (code == 'a')
			candidates = true;
		else if (code == 'j')
			json = true;
		else
			return option_error(&command_list, code, argv);
	}
	if (optind < argc)
		return usage_error(&command_list, "unexpected argument '%s'", argv[optind]);
	status = collect(&all, candidates);
	if (!status && json)
		status = print_json(&all, candidates);
	else if (!status)
		print_text(&all, candidates);
	release(&all);
	return status;
}

const struct command command_list = {
	.name = "list",
	.summary = "show apertures, candidates and quarantined ranges",
	.usage = "[--all] [--json]",
	.options = "  --all   also the functions that could be attached\n"
		   "  --json  one JSON document instead of tables\n"
		   "  --help  this text\n",
	.manual = "vpeer",
	.run = run_list,
};

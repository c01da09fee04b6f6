// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "../table.h"
#include "../util.h"
#include "topo.h"

/* More pairs than this make a matrix, so many columns wide. */
#define MOST_LINES	12
#define BLOCK		8

static const char *or_unknown(int node, char text[16])
{
	text_format(text, 16, node < 0 ? "?" : "%d", node);
	return text;
}

static const char *clique_text(const struct topo_memory *row, char text[32])
{
	if (row->clique == NOT_READ)
		return "needs root";
	if (row->clique == ABSENT)
		return "-";
	text_format(text, 32, "%u", row->clique_id);
	return text;
}

static void print_memory(const struct topo *topo, FILE *file)
{
	static const char *const titles[] = { "MEMORY", "PCI",	"BAR",	  "SIZE",
					      "DRIVER", "NODE", "CLIQUE", "APERTURE" };
	char id[TOPO_ID_LEN], bytes[BYTES_LEN], node[16], clique[32];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < topo->memory_count; i++) {
		const struct topo_memory *row = &topo->memory[i];

		table_cell(&table, "%s", topo_id('m', i, id));
		table_cell(&table, "%s", row->function->pci);
		if (row->size) {
			table_cell(&table, "%u", row->bar);
			table_cell(&table, "%s", format_bytes(row->size, bytes));
		} else {
			table_cell(&table, "-");
			table_cell(&table, "-");
		}
		table_cell(&table, "%s", row->function->driver);
		table_cell(&table, "%s", or_unknown(row->place.node, node));
		table_cell(&table, "%s", clique_text(row, clique));
		table_cell(&table, "%s", row->node);
	}
	table_print(&table, file);
	table_end(&table);
}

static void print_initiators(const struct topo *topo, FILE *file)
{
	static const char *const titles[] = { "INITIATOR", "NAME", "PCI", "KIND", "DRIVER",
					      "NODE" };
	char id[TOPO_ID_LEN], node[16];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t i = 0; i < topo->initiator_count; i++) {
		const struct topo_initiator *column = &topo->initiators[i];
		const struct function *function = column->function;

		table_cell(&table, "%s", topo_id('i', i, id));
		table_cell(&table, "%s", column->name);
		table_cell(&table, "%s", function ? function->pci : "");
		table_cell(&table, "%s%s", column->rdma ? "rdma" : "nvme",
			   function && function->sriov.physfn[0] ? ", VF" : "");
		table_cell(&table, "%s", function ? function->driver : "");
		table_cell(&table, "%s", or_unknown(column->place.node, node));
	}
	table_print(&table, file);
	table_end(&table);
}

static const char *weakness(const struct topo_pair *pair)
{
	return pair->verdict == MEASURE_PASS && pair->window ? " (window)" : "";
}

static void print_list(const struct topo *topo, FILE *file)
{
	static const char *const titles[] = { "MEMORY", "INITIATOR", "DISTANCE", "BRIDGE", "NODES",
					      "MEASURED" };
	char m[TOPO_ID_LEN], i[TOPO_ID_LEN], from[16], to[16];
	struct table table;

	table_begin(&table, ARRAY_SIZE(titles), titles);
	for (size_t row = 0; row < topo->memory_count; row++) {
		for (size_t column = 0; column < topo->initiator_count; column++) {
			const struct topo_pair *pair = topo_pair(topo, row, column);
			const struct topo_initiator *initiator = &topo->initiators[column];

			table_cell(&table, "%s %s", topo_id('m', row, m),
				   topo->memory[row].function->pci);
			table_cell(&table, "%s %s", topo_id('i', column, i), initiator->name);
			table_cell(&table, "%s", vpeer_distance_name(pair->distance));
			table_cell(&table, "%s", pair->bridge);
			table_cell(&table, "%s to %s",
				   or_unknown(topo->memory[row].place.node, from),
				   or_unknown(initiator->place.node, to));
			table_cell(&table, "%s%s", topo_verdict(pair), weakness(pair));
		}
	}
	table_print(&table, file);
	table_end(&table);
}

static void print_block(const struct topo *topo, size_t first, size_t last, FILE *file)
{
	char ids[BLOCK + 1][TOPO_ID_LEN] = { "" }, id[TOPO_ID_LEN], cell[TOPO_CELL_LEN];
	const char *titles[BLOCK + 1] = { ids[0] };
	struct table table;

	text_format(ids[0], sizeof(ids[0]), "     ");
	for (size_t i = first; i < last; i++)
		titles[i - first + 1] = topo_id('i', i, ids[i - first + 1]);
	table_begin(&table, last - first + 1, titles);
	for (size_t row = 0; row < topo->memory_count; row++) {
		table_cell(&table, "%s", topo_id('m', row, id));
		for (size_t i = first; i < last; i++)
			table_cell(&table, "%s", topo_cell(topo_pair(topo, row, i), cell));
	}
	table_print(&table, file);
	table_end(&table);
	fputc('\n', file);
}

static void print_bridges(const struct topo *topo, FILE *file)
{
	char letters[TOPO_LETTERS_LEN];

	if (!topo->bridge_count)
		return;
	fputs("bridges:", file);
	for (size_t i = 0; i < topo->bridge_count; i++)
		fprintf(file, " %s=%s", topo_letters(i, letters), topo->bridges[i]);
	fputc('\n', file);
}

static void print_legend(const struct topo *topo, FILE *file)
{
	fputs("distances:", file);
	for (unsigned int i = VPEER_DISTANCE_UNKNOWN; i <= VPEER_DISTANCE_FAR; i++)
		if (topo_uses_distance(topo, i))
			fprintf(file, " %s=%s", topo_code(i), vpeer_distance_name(i));
	fputc('\n', file);
	print_bridges(topo, file);
	if (!topo->report)
		return;
	fputs("measured:", file);
	for (enum measure i = MEASURE_PASS; i <= MEASURE_TIMEOUT; i++)
		if (topo_uses_verdict(topo, i))
			fprintf(file, " %c=%s", topo_mark(i), measure_name(i));
	fputs("\nno mark: not measured\n", file);
}

static void print_report(const struct topo *topo, FILE *file)
{
	if (!topo->report)
		fputs("not measured; 'vpeer selftest --json >FILE' compares bytes, "
		      "'vpeer topo --measured FILE' shows what came out\n", file);
	else if (topo->strange)
		fprintf(file, "%s: %zu of its %zu pairs are of devices that are not here\n",
			topo->report, topo->strange, topo->reported);
}

void topo_print(const struct topo *topo, bool list, FILE *file)
{
	size_t pairs = topo->memory_count * topo->initiator_count;

	if (topo->memory_count)
		print_memory(topo, file);
	else
		fputs("no memory: no GPU, no accelerator, no aperture\n", file);
	fputc('\n', file);
	if (topo->initiator_count)
		print_initiators(topo, file);
	else
		fputs("no initiator: no RDMA device, no NVMe controller\n", file);
	if (!pairs)
		return;
	fputc('\n', file);
	if (list || pairs <= MOST_LINES) {
		print_list(topo, file);
	} else {
		for (size_t i = 0; i < topo->initiator_count; i += BLOCK)
			print_block(topo, i, i + BLOCK < topo->initiator_count ? i + BLOCK :
				    topo->initiator_count, file);
		print_legend(topo, file);
	}
	print_report(topo, file);
}

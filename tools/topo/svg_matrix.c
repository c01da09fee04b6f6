// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Draws the matrix: a row for each memory, a column for each initiator, and what the cells mean. */
#include <string.h>

#include "../util.h"
#include "svg.h"

#define LABEL	150
#define CELL	58
#define ROW	22
#define HEADER	40
#define LINE	18

static const char *fill_of(unsigned int distance)
{
	static const char *const fills[] = {
		[VPEER_DISTANCE_UNKNOWN] = "#e0e0e0",
		[VPEER_DISTANCE_SAME_FUNCTION] = "#7fbf7b",
		[VPEER_DISTANCE_SAME_DEVICE] = "#7fbf7b",
		[VPEER_DISTANCE_SAME_SWITCH] = "#a6dba0",
		[VPEER_DISTANCE_SAME_ROOT_PORT] = "#c8e8c3",
		[VPEER_DISTANCE_SAME_BRIDGE] = "#fdf0b3",
		[VPEER_DISTANCE_SAME_NODE] = "#fdd9a0",
		[VPEER_DISTANCE_FAR] = "#f4b6a0",
	};

	return distance < ARRAY_SIZE(fills) ? fills[distance] : fills[0];
}

static const char *stroke_of(const struct topo_pair *pair)
{
	if (!pair->measured)
		return "#ffffff";
	return pair->verdict == MEASURE_PASS	 ? "#1b7a1b" :
	       pair->verdict == MEASURE_UNPROVEN ? "#8a6d00" :
						   "#b00020";
}

static bool has_matrix(const struct topo *topo)
{
	return topo->memory_count && topo->initiator_count;
}

static void draw_cell(const struct topo *topo, size_t row, size_t column, unsigned int top,
		      FILE *file)
{
	const struct topo_pair *pair = topo_pair(topo, row, column);
	unsigned int x = SVG_MARGIN + LABEL + (unsigned int)column * CELL;
	unsigned int y = top + HEADER + (unsigned int)row * ROW;
	char style[96], cell[TOPO_CELL_LEN];

	text_format(style, sizeof(style), "fill=\"%s\" stroke=\"%s\" stroke-width=\"2\"",
		    fill_of(pair->distance), stroke_of(pair));
	fputs("<g><title>", file);
	svg_escape(topo->memory[row].function->pci, file);
	fputs(" and ", file);
	svg_escape(topo->initiators[column].name, file);
	fprintf(file, ": %s, %s</title>\n", vpeer_distance_name(pair->distance),
		topo_verdict(pair));
	svg_rect(file, x + 1, y + 1, CELL - 2, ROW - 2, style);
	svg_text(file, x + CELL / 2, y + ROW / 2 + 4, "text-anchor=\"middle\"", "%s",
		 topo_cell(pair, cell));
	fputs("</g>\n", file);
}

static void draw_rows(const struct topo *topo, unsigned int top, FILE *file)
{
	char id[TOPO_ID_LEN];

	for (size_t i = 0; i < topo->initiator_count; i++)
		svg_text(file, SVG_MARGIN + LABEL + (unsigned int)i * CELL + CELL / 2,
			 top + HEADER - 6, "text-anchor=\"middle\"", "%s", topo_id('i', i, id));
	for (size_t row = 0; row < topo->memory_count; row++) {
		svg_text(file, SVG_MARGIN, top + HEADER + (unsigned int)row * ROW + ROW / 2 + 4,
			 "", "%s  %s", topo_id('m', row, id), topo->memory[row].function->pci);
		for (size_t i = 0; i < topo->initiator_count; i++)
			draw_cell(topo, row, i, top, file);
	}
}

/* One line for distances, one for verdicts, one for each bridge that cells name. */
static unsigned int legend_lines(const struct topo *topo)
{
	return 2 + (unsigned int)topo->bridge_count;
}

static void draw_distances(const struct topo *topo, unsigned int y, FILE *file)
{
	unsigned int x = SVG_MARGIN;
	char style[32];

	for (unsigned int i = VPEER_DISTANCE_UNKNOWN; i <= VPEER_DISTANCE_FAR; i++) {
		const char *code = topo_code(i), *name = vpeer_distance_name(i);

		if (!topo_uses_distance(topo, i))
			continue;
		text_format(style, sizeof(style), "fill=\"%s\"", fill_of(i));
		svg_rect(file, x, y - 11, 14, 14, style);
		svg_text(file, x + 18, y, "", "%s %s", code, strcmp(code, name) ? name : "");
		x += 150;
	}
}

static void draw_verdicts(const struct topo *topo, unsigned int y, FILE *file)
{
	unsigned int x = SVG_MARGIN;

	if (!topo->report) {
		svg_text(file, x, y, "", "not measured: 'vpeer selftest' compares bytes");
		return;
	}
	for (enum measure i = MEASURE_PASS; i <= MEASURE_TIMEOUT; i++) {
		if (!topo_uses_verdict(topo, i))
			continue;
		svg_text(file, x, y, "", "%c %s", topo_mark(i), measure_name(i));
		x += 100;
	}
	svg_text(file, x, y, "", "no mark: not measured");
}

static void draw_bridges(const struct topo *topo, unsigned int y, FILE *file)
{
	char letters[TOPO_LETTERS_LEN];

	for (size_t i = 0; i < topo->bridge_count; i++)
		svg_text(file, SVG_MARGIN, y + (unsigned int)i * LINE, "",
			 ":%s nearest common bridge %s", topo_letters(i, letters),
			 topo->bridges[i]);
}

unsigned int svg_matrix_width(const struct topo *topo)
{
	return 2 * SVG_MARGIN + LABEL + (unsigned int)topo->initiator_count * CELL;
}

unsigned int svg_matrix_height(const struct topo *topo)
{
	if (!has_matrix(topo))
		return 0;
	return HEADER + (unsigned int)topo->memory_count * ROW + LINE +
	       legend_lines(topo) * LINE;
}

void svg_matrix_draw(const struct topo *topo, unsigned int top, FILE *file)
{
	unsigned int below = top + HEADER + (unsigned int)topo->memory_count * ROW + LINE + 8;

	if (!has_matrix(topo))
		return;
	svg_text(file, SVG_MARGIN, top + 14, "font-weight=\"bold\"", "Distances");
	draw_rows(topo, top, file);
	draw_distances(topo, below, file);
	draw_verdicts(topo, below + LINE, file);
	draw_bridges(topo, below + 2 * LINE, file);
}

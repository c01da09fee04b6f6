// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* One SVG chart: a line for each comparison, its ratio and interval. */
#include <errno.h>
#include <math.h>

#include "bench.h"

#define WIDTH	900
#define LEFT	220
#define RIGHT	230
#define TOP	64
#define ROW	28
#define FOOT	52

/* Powers of two that a chart has on a side, and how many have room for a text. */
#define MOST_STEPS	20
#define MOST_TICKS	9

/* Ends of the axis, as powers of two. */
struct axis {
	int low;
	int high;
};

static void put_escaped(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", file);
		else if (*text == '>')
			fputs("&gt;", file);
		else if (*text == '&')
			fputs("&amp;", file);
		else if (*text == '"')
			fputs("&quot;", file);
		else if ((unsigned char)*text >= ' ')
			fputc(*text, file);
	}
}

static bool drawn(const struct comparison *item)
{
	return !item->failed && isfinite(item->interval.half);
}

static struct axis pick_axis(const struct bench *bench)
{
	struct axis axis = { -1, 1 };

	for (size_t i = 0; i < bench->count; i++) {
		if (!drawn(&bench->items[i]))
			continue;
		while (ldexp(1, axis.low) > bench->items[i].interval.low && axis.low > -MOST_STEPS)
			axis.low--;
		while (ldexp(1, axis.high) < bench->items[i].interval.high &&
		       axis.high < MOST_STEPS)
			axis.high++;
	}
	return axis;
}

static double place(const struct axis *axis, double ratio)
{
	double part = (log2(ratio) - axis->low) / (axis->high - axis->low);

	return LEFT + fmin(fmax(part, 0), 1) * (WIDTH - LEFT - RIGHT);
}

static void draw_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
	put_escaped(file, text);
	fputs("</text>\n", file);
}

static void draw_line(FILE *file, double x1, double y1, double x2, double y2, const char *style)
{
	fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2,
		y2, style);
}

static void draw_axis(FILE *file, const struct axis *axis, double bottom)
{
	int stride = 1 + (axis->high - axis->low) / MOST_TICKS;
	char text[32];

	for (int power = axis->low; power <= axis->high; power++) {
		double x = place(axis, ldexp(1, power));

		if (power % stride)
			continue;
		draw_line(file, x, TOP - 8, x, bottom,
			  !power ? "stroke=\"#b00020\" stroke-width=\"2\"" :
				"stroke=\"#d0d0d0\" stroke-width=\"1\"");
		text_format(text, sizeof(text), power ? "%.3g" : "%.1f", ldexp(1, power));
		draw_text(file, x, bottom + 18, "middle", text);
	}
	draw_text(file, place(axis, 1), bottom + 38, "middle",
		  "time of the window / time of host memory (logarithmic)");
}

static void draw_row(FILE *file, const struct axis *axis, const struct comparison *item, double y)
{
	const struct interval *interval = &item->interval;
	enum finding finding = interval_finding(interval);
	const char *colour = finding == FINDING_INCONCLUSIVE ? "#808080" : "#1a5fb4";
	char text[160], style[64];

	comparison_label(item, text, sizeof(text));
	draw_text(file, LEFT - 12, y + 4, "end", text);
	text_format(style, sizeof(style), "stroke=\"%s\" stroke-width=\"3\"", colour);
	draw_line(file, place(axis, interval->low), y, place(axis, interval->high), y, style);
	fprintf(file, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" fill=\"%s\"/>\n",
		place(axis, interval->ratio), y, colour);
	text_format(text, sizeof(text), "%.3f (%.3f-%.3f) %s", interval->ratio, interval->low,
		    interval->high, finding_name(finding));
	draw_text(file, WIDTH - RIGHT + 12, y + 4, "start", text);
}

static void draw_title(FILE *file, const struct bench *bench)
{
	char pci[VPEER_PCI_LEN], text[320];

	text_format(text, sizeof(text), "vpeer bench: aperture %s BAR %u, kernel %s, hypervisor %s",
		    vpeer_pci_format(&bench->entry->pci, pci), bench->entry->bar,
		    bench->machine.release, bench->machine.hypervisor);
	draw_text(file, 12, 22, "start", text);
	draw_text(file, 12, 40, "start",
		  "95 % intervals of paired ratios; left of the red line the window is faster; grey: "
		  "inconclusive");
}

int bench_chart(const struct bench *bench, FILE *file)
{
	struct axis axis = pick_axis(bench);
	size_t rows = 0;
	double bottom;

	for (size_t i = 0; i < bench->count; i++)
		rows += drawn(&bench->items[i]);
	bottom = TOP + (double)rows * ROW;
	fprintf(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" "
		"viewBox=\"0 0 %d %.0f\" font-family=\"sans-serif\" font-size=\"13\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		WIDTH, bottom + FOOT, WIDTH, bottom + FOOT);
	draw_title(file, bench);
	draw_axis(file, &axis, bottom);
	rows = 0;
	for (size_t i = 0; i < bench->count; i++)
		if (drawn(&bench->items[i]))
			draw_row(file, &axis, &bench->items[i], TOP + ((double)rows++ + 0.5) * ROW);
	fputs("</svg>\n", file);
	return ferror(file) ? -EIO : 0;
}

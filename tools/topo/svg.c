// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "svg.h"

#include <errno.h>
#include <stdarg.h>

#include "../util.h"

#define TITLE	44

void svg_escape(const char *text, FILE *file)
{
	while (*text) {
		size_t length = utf8_length(text);

		if (*text == '<')
			fputs("&lt;", file);
		else if (*text == '>')
			fputs("&gt;", file);
		else if (*text == '&')
			fputs("&amp;", file);
		else if (*text == '"')
			fputs("&quot;", file);
		else if (!length || (unsigned char)*text < ' ' || *text == 0x7f)
			fputc('?', file);
		else
			fwrite(text, 1, length, file);
		text += length ? length : 1;
	}
}

void svg_text(FILE *file, unsigned int x, unsigned int y, const char *style, const char *format,
	      ...)
{
	char text[SVG_LABEL_LEN];
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	va_end(args);
	fprintf(file, "<text x=\"%u\" y=\"%u\"%s%s>", x, y, *style ? " " : "", style);
	svg_escape(text, file);
	fputs("</text>\n", file);
}

void svg_rect(FILE *file, unsigned int x, unsigned int y, unsigned int width, unsigned int height,
	      const char *style)
{
	fprintf(file, "<rect x=\"%u\" y=\"%u\" width=\"%u\" height=\"%u\" %s/>\n", x, y, width,
		height, style);
}

static void draw_title(const struct topo *topo, FILE *file)
{
	const struct site *site = topo->site;

	svg_text(file, SVG_MARGIN, 24, "font-size=\"15\" font-weight=\"bold\"",
		 "Memory and initiators of PCI");
	svg_text(file, SVG_MARGIN, 41, "fill=\"#555555\"",
		 "kernel %s, hypervisor %s; whether peer DMA works: %s",
		 site->release[0] ? site->release : "unknown",
		 site->hypervisor[0]		    ? site->hypervisor :
		 site->hypervisor_err == -ENODATA ? "none seen" :
						      "unknown",
		 topo->report ? "as measured" : "not measured");
}

static unsigned int larger(unsigned int a, unsigned int b)
{
	return a > b ? a : b;
}

void topo_svg(const struct topo *topo, FILE *file)
{
	unsigned int width, height, below;
	struct svg_tree tree;

	svg_tree_make(&tree, topo);
	below = TITLE + svg_tree_height(&tree);
	width = larger(larger(svg_tree_width(&tree), svg_matrix_width(topo)), 620);
	height = below + svg_matrix_height(topo) + SVG_MARGIN;
	fprintf(file, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" "
		"viewBox=\"0 0 %u %u\" font-family=\"sans-serif\" font-size=\"12\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
		width, height, width, height);
	draw_title(topo, file);
	svg_tree_draw(&tree, TITLE, file);
	svg_matrix_draw(topo, below, file);
	fputs("</svg>\n", file);
	svg_tree_free(&tree);
}

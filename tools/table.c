// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

static void append(struct table *table, const char *text)
{
	table->cells = xrealloc(table->cells, table->used + 1, sizeof(*table->cells));
	table->cells[table->used++] = xstrdup(*text ? text : "-");
}

void table_begin(struct table *table, size_t columns, const char *const *titles)
{
	*table = (struct table){ .columns = columns };
	for (size_t i = 0; i < columns; i++)
		append(table, titles[i]);
}

void table_cell(struct table *table, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	va_end(args);
	append(table, text);
}

static int column_width(const struct table *table, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < table->used; i += table->columns)
		if (strlen(table->cells[i]) > width)
			width = strlen(table->cells[i]);
	return (int)width;
}

void table_print(const struct table *table, FILE *file)
{
	for (size_t i = 0; i < table->used; i++) {
		size_t column = i % table->columns;

		if (column + 1 == table->columns || i + 1 == table->used)
			fprintf(file, "%s\n", table->cells[i]);
		else
			fprintf(file, "%-*s  ", column_width(table, column), table->cells[i]);
	}
}

void table_end(struct table *table)
{
	for (size_t i = 0; i < table->used; i++)
		free(table->cells[i]);
	free(table->cells);
	*table = (struct table){ 0 };
}

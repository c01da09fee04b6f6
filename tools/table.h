/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Text tables: aligned columns, two spaces apart. */
#ifndef TABLE_H
#define TABLE_H

#include <stddef.h>
#include <stdio.h>

struct table {
	size_t columns;
	size_t used;	/* cells, row by row; the first row holds the titles */
	char **cells;
};

void table_begin(struct table *table, size_t columns, const char *const *titles);

/* The next cell, left to right, row by row; an empty text shows as "-". */
void table_cell(struct table *table, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

void table_print(const struct table *table, FILE *file);
void table_end(struct table *table);

#endif /* TABLE_H */

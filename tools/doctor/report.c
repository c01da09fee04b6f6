// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "../util.h"
#include "check.h"

static void print_one(const struct finding *finding, FILE *file)
{
	fprintf(file, "  %-7s  %s  %s: %s\n", state_name(finding->state), finding->object,
		finding->name, finding->meaning);
	if (finding->state == STATE_OK)
		return;
	for (size_t i = 0; i < finding->count; i++)
		fprintf(file, "           seen: %s in %s\n",
			finding->evidence[i].value[0] ? finding->evidence[i].value : "nothing",
			finding->evidence[i].file);
	if (finding->remedy[0])
		fprintf(file, "           remedy (%s): %s\n", finding->job, finding->remedy);
}

void doctor_print(const struct findings *all, bool all_of_them, FILE *file)
{
	const char *group = "";

	for (size_t i = 0; i < all->count; i++) {
		const struct finding *finding = &all->items[i];

		if (finding->state == STATE_OK && !all_of_them)
			continue;
		if (strcmp(group, finding->group))
			fprintf(file, "%s%s:\n", *group ? "\n" : "", finding->group);
		group = finding->group;
		print_one(finding, file);
	}
	fprintf(file, "%s%zu ok, %zu warn, %zu fail, %zu unknown\n", *group ? "\n" : "",
		findings_of(all, STATE_OK), findings_of(all, STATE_WARN),
		findings_of(all, STATE_FAIL), findings_of(all, STATE_UNKNOWN));
	fputs("whether peer DMA works: not measured; 'vpeer selftest' compares bytes\n", file);
}

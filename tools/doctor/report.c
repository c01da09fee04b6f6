// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <string.h>

#include "check.h"

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
		finding_print(finding, "  ", file);
	}
	fputs(*group ? "\n" : "", file);
	findings_print_counts(all, file);
	fputs("whether peer DMA works: not measured; 'vpeer selftest' compares bytes\n", file);
}

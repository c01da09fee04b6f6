// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Options that name apertures, initiators and scratch ranges. */
#include <errno.h>

#include "plan.h"

int wish_name(const struct command *command, struct names *names, const char *option,
	      const char *name)
{
	if (names->count == MAX_NAMES)
		return usage_error(command, "too many options %s", option);
	names->items[names->count++] = name;
	return EXIT_PASS;
}

int wish_aperture(const struct command *command, struct wishes *wishes, const char *name)
{
	struct vpeer_pci_address pci;

	if (name[0] != '/' && vpeer_pci_parse(name, &pci))
		return usage_error(command, "'%s' is no PCI address like 0000:01:00.0", name);
	return wish_name(command, &wishes->apertures, "--aperture", name);
}

int wish_scratch(const struct command *command, struct wishes *wishes, const char *text)
{
	char most[BYTES_LEN];
	int err;

	if (wishes->scratch_count == MAX_NAMES)
		return usage_error(command, "too many options --scratch");
	err = scratch_parse(text, &wishes->scratch[wishes->scratch_count]);
	if (err == -EFBIG)
		return usage_error(command, "scratch range '%s' is over %s", text,
				   format_bytes(SCRATCH_MAX, most));
	if (err)
		return usage_error(command, "'%s' is no range DEV:OFFSET:LENGTH", text);
	wishes->scratch_count++;
	return EXIT_PASS;
}

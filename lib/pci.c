// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vpeer.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

/* Reads @min to @max hexadecimal digits followed by @end. */
static int hex_field(const char **cursor, int min, int max, char end, unsigned long *value)
{
	const char *text = *cursor;
	int digits = 0;

	*value = 0;
	while (isxdigit((unsigned char)text[digits]) && digits < max) {
		int c = tolower((unsigned char)text[digits++]);

		*value = *value << 4 | (unsigned long)(isdigit(c) ? c - '0' : c - 'a' + 10);
	}
	if (digits < min || text[digits] != end)
		return -EINVAL;
	*cursor = text + digits + (end != '\0');
	return 0;
}

int vpeer_pci_parse(const char *text, struct vpeer_pci_address *address)
{
	unsigned long domain = 0, bus, device, function;
	const char *rest = text;

	if (!text)
		return -EINVAL;
	if (hex_field(&rest, 4, 8, ':', &domain)) {
		domain = 0;
		rest = text;
	}
	if (hex_field(&rest, 1, 2, ':', &bus) || hex_field(&rest, 1, 2, '.', &device) ||
	    hex_field(&rest, 1, 1, '\0', &function) || device > 0x1f || function > 7)
		return -EINVAL;
	*address = (struct vpeer_pci_address){
		.domain = (uint32_t)domain,
		.bus = (uint8_t)bus,
		.devfn = (uint8_t)(device << 3 | function),
	};
	return 0;
}

char *vpeer_pci_format(const struct vpeer_pci_address *address, char text[VPEER_PCI_LEN])
{
	snprintf(text, VPEER_PCI_LEN, "%04x:%02x:%02x.%x", address->domain, address->bus,
		 address->devfn >> 3, address->devfn & 7);
	return text;
}

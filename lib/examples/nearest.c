// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Shows the RDMA devices, the nearest to a function with memory first.
 * usage: nearest PCI-ADDRESS
 */
#include "example.h"

int main(int argc, char **argv)
{
	struct vpeer_pci_address memory;
	struct vpeer_pair_info *pairs;
	char function[VPEER_PCI_LEN];
	struct vpeer_error error;
	size_t count;

	if (argc != 2 || vpeer_pci_parse(argv[1], &memory))
		errx(2, "usage: nearest PCI-ADDRESS");
	if (vpeer_nearest_devices(&memory, &pairs, &count, &error))
		die(&error);
	for (size_t i = 0; i < count; i++)
		printf("%s %s %s\n", pairs[i].device_name,
		       pairs[i].device_known ? vpeer_pci_format(&pairs[i].device, function) : "-",
		       vpeer_distance_name(pairs[i].distance));
	vpeer_pairs_free(pairs);
	return 0;
}

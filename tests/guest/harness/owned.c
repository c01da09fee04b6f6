// SPDX-License-Identifier: GPL-2.0-only
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "neighbour.h"
#include "owned.h"

void own_with(uint32_t flags)
{
	if (neighbour_is_bound())
		neighbour_unbind();
	else if (pci_bound(aperture_pci()))
		CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, flags, NULL));
}

void own(void)
{
	if (neighbour_is_bound() || !pci_bound(aperture_pci()))
		own_with(0);
}

const volatile uint64_t *window_generations(int fd)
{
	void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, VPEER_MMAP_GENERATION);

	CHECK_OK((long)page);
	return page;
}

void check_new_window(int fd, uint64_t offset)
{
	uint64_t in_bar = offset + aperture_stat("bar_offset");
	char *mapped;

	CHECK_OK(window_alloc_at(fd, offset, GRANULE, NULL));
	mapped = window_map(fd, offset, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	mapped[5] = 5;
	CHECK(owner_is(in_bar, mapped, 4096));
	CHECK_OK(window_free(fd, offset));
	CHECK_OK(munmap(mapped, GRANULE));
}

void check_replaced(int fd)
{
	check_new_window(fd, GRANULE);
	CHECK_OK(window_free(fd, 0));
	check_new_window(fd, 0);
}

void check_drained(int fd)
{
	CHECK_WITHIN(!window_alloc_at(fd, 0, GRANULE, NULL), 10000);
	CHECK_OK(window_free(fd, 0));
	check_new_window(fd, 0);
}

void check_status(const char *expected)
{
	char path[128], status[32];

	snprintf(path, sizeof(path), "/sys/class/vpeer/%s/status", aperture_node() + 5);
	CHECK(sysfs_read(path, status, sizeof(status)));
	status[strcspn(status, "\n")] = '\0';
	CHECK(!strcmp(status, expected));
}

// SPDX-License-Identifier: GPL-2.0-only
/* No way around the module: the BAR's other doors are shut while it is attached. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"

#define PAGE	4096

static uint64_t bar_start(void)
{
	char path[128], text[1024], *line = text;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", aperture_pci());
	CHECK(sysfs_read(path, text, sizeof(text)));
	for (int bar = 0; bar < 2; bar++)
		line = strchr(line, '\n') + 1;
	return strtoull(line, NULL, 16);
}

static void *map_resource(const char *suffix)
{
	char path[128];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource2%s", aperture_pci(),
		 suffix);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return mapped;
}

static void with_window(void (*run)(void))
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);

	pattern_fill(mapped, PAGE, 191);
	run();
	CHECK(pattern_is(mapped, PAGE, 191));
	munmap(mapped, GRANULE);
	close(fd);
	run();
}

static void check_resource_shut(void)
{
	CHECK_ERRNO((long)map_resource(""), EINVAL);
	CHECK_ERRNO((long)map_resource("_wc"), EINVAL);
}

/* Once detached, the administrator's door to the BAR opens again. */
TEST(resource_file, 20)
{
	char *mapped, bytes[PAGE];

	with_window(check_resource_shut);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	mapped = map_resource("");
	CHECK_OK((long)mapped);
	pattern_fill(bytes, PAGE, 192);
	memcpy(mapped, bytes, PAGE);
	CHECK(owner_is(0, bytes, PAGE));
	munmap(mapped, PAGE);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	with_window(check_resource_shut);
}

static void check_memory_shut(void)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	char byte;

	CHECK_OK(fd);
	CHECK_ERRNO((long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, bar_start()), EPERM);
	CHECK(pread(fd, &byte, 1, bar_start()) != 1);
	close(fd);
}

TEST(physical_memory, 20)
{
	char *mapped, bytes[PAGE];
	int fd;

	with_window(check_memory_shut);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	mapped = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, bar_start());
	CHECK_OK((long)mapped);
	pattern_fill(bytes, PAGE, 193);
	memcpy(mapped, bytes, PAGE);
	CHECK(owner_is(0, bytes, PAGE));
	munmap(mapped, PAGE);
	close(fd);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

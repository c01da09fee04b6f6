// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "neighbour.h"

#define DRIVER		"/sys/bus/pci/drivers/neighbour/"
#define PARAMETERS	"/sys/module/neighbour/parameters/"

static void load(void)
{
	const char *top = getenv("VPEER_TOP");
	char command[512];

	if (!access(DRIVER, F_OK))
		return;
	if (!top)
		test_skip("no neighbour.ko: VPEER_TOP is not set");
	snprintf(command, sizeof(command), "insmod %s/tests/neighbour/neighbour.ko", top);
	CHECK_EQ(system(command), 0);
}

static void set_override(const char *driver)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override",
		 aperture_pci());
	CHECK(sysfs_write(path, driver));
}

bool neighbour_is_bound(void)
{
	char path[128];

	snprintf(path, sizeof(path), DRIVER "%s", aperture_pci());
	return !access(path, F_OK);
}

bool neighbour_try_bind(void)
{
	load();
	set_override("neighbour");
	return sysfs_write(DRIVER "bind", aperture_pci());
}

void neighbour_bind(void)
{
	/* Loading may bind it to what an earlier bind named. */
	load();
	if (neighbour_is_bound())
		return;
	if (pci_bound(aperture_pci()))
		CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK(neighbour_try_bind());
}

void neighbour_alone(void)
{
	neighbour_requests(true);
	neighbour_bind();
	if (*aperture_node())
		CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK(!*aperture_node());
}

void neighbour_unbind(void)
{
	CHECK(sysfs_write(DRIVER "unbind", aperture_pci()));
	CHECK(!pci_bound(aperture_pci()));
	set_override("\n");
}

void neighbour_requests(bool yes)
{
	load();
	CHECK(sysfs_write(PARAMETERS "request", yes ? "Y" : "N"));
}

int neighbour_open(void)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/dev/neighbour-%s", aperture_pci());
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}

int neighbour_map(int fd, enum neighbour_kind kind, uint64_t offset, uint64_t size)
{
	struct neighbour_map arg = { .offset = offset, .size = size, .kind = kind };

	return ioctl(fd, NEIGHBOUR_MAP, &arg);
}

int neighbour_mapped(enum neighbour_kind kind, uint64_t offset, uint64_t size)
{
	int fd = neighbour_open();

	CHECK_OK(neighbour_map(fd, kind, offset, size));
	return fd;
}

int neighbour_type(int fd, enum neighbour_side side, uint64_t place, uint32_t *type)
{
	struct neighbour_type arg = { .place = place, .side = side };
	int ret = ioctl(fd, NEIGHBOUR_TYPE, &arg);

	*type = arg.type;
	return ret;
}

int foreign_attach(uint64_t offset, uint64_t size)
{
	int number = control_attach_range(aperture_pci(), NEIGHBOUR_BAR,
					  VPEER_ATTACH_FOREIGN, offset, size, NULL);

	CHECK_OK(number);
	return number;
}

int foreign_open(int number)
{
	char node[32];
	int fd;

	snprintf(node, sizeof(node), "/dev/vpeer%d", number);
	fd = open(node, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}

char *memtype_list(void)
{
	size_t room = 64 * KIB, used = 0;
	char *text = malloc(room);
	ssize_t len;
	int fd;

	CHECK(text);
	fd = open("/sys/kernel/debug/x86/pat_memtype_list", O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	while ((len = read(fd, text + used, room - 1 - used)) > 0)
		used += len;
	CHECK_OK(len);
	CHECK(used < room - 1);
	close(fd);
	text[used] = '\0';
	return text;
}

struct neighbour_events neighbour_events(void)
{
	struct neighbour_events events;
	int fd = neighbour_open();

	CHECK_OK(ioctl(fd, NEIGHBOUR_EVENTS, &events));
	close(fd);
	return events;
}

const char *neighbour_type_name(uint32_t type)
{
	switch (type) {
	case NEIGHBOUR_TYPE_UC:
		return "uncached";
	case NEIGHBOUR_TYPE_UC_MINUS:
		return "uncached-minus";
	case NEIGHBOUR_TYPE_WC:
		return "write-combining";
	case NEIGHBOUR_TYPE_WB:
		return "write-back";
	default:
		return "another type";
	}
}

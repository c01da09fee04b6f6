// SPDX-License-Identifier: GPL-2.0-only
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "harness.h"
#include "memory.h"
#include "monitor.h"

#define LAB		"/run/vpeer-lab/"
#define STEP_SECONDS	30

void step(const char *format, ...)
{
	int64_t start = test_now_ms();
	va_list arguments;
	char command[512];
	int status;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	status = system(command);
	if (status)
		test_fail(__FILE__, __LINE__, "status %#x of: %s", status, command);
	if (test_now_ms() - start > STEP_SECONDS * 1000)
		test_fail(__FILE__, __LINE__, "longer than %d s: %s", STEP_SECONDS,
			  command);
}

/* Where the memory's owner sees it, tests/lab/guest/owner-links. */
static void owner_link(char *path, size_t size)
{
	snprintf(path, size, LAB "owner/%s-bar2", aperture_pci());
}

void unplug(void)
{
	char device[16], link[128];

	snprintf(device, sizeof(device), "ap%d", LEAVING);
	monitor_remove(device, STEP_SECONDS);
	CHECK(!*aperture_node());
	owner_link(link, sizeof(link));
	unlink(link);
}

/* QEMU does not take the old memory object for a second device. */
static void add_emulated(const char *size, const char *place)
{
	char backing[512];

	snprintf(backing, sizeof(backing), "%s", lab_setting("lab_backing"));
	monitor_order("object_del mem-ap%d", LEAVING);
	monitor_order("object_add memory-backend-file,id=mem-ap%d,share=on,size=%s,"
		      "mem-path=%s/ap%d", LEAVING, size, backing, LEAVING);
	monitor_order("device_add ivshmem-plain,id=ap%d,memdev=mem-ap%d,bus=port-ap%d%s",
		      LEAVING, LEAVING, LEAVING, place);
}

static void add_passed(void)
{
	char name[16];

	snprintf(name, sizeof(name), "ap%d", LEAVING);
	monitor_order("device_add vfio-pci,id=%s,host=%s,bus=port-%s", name,
		      lab_passed(name), name);
}

static void wait_for_function(void)
{
	char path[256], backing[512];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override", aperture_pci());
	CHECK_WITHIN(!access(path, F_OK), STEP_SECONDS * 1000);
	snprintf(backing, sizeof(backing), LAB "backing/ap%d", LEAVING);
	owner_link(path, sizeof(path));
	unlink(path);
	CHECK_OK(symlink(backing, path));
}

void replug(void)
{
	char size[32];

	snprintf(size, sizeof(size), "%s", lab_setting("lab_bar_size"));
	if (lab_passthrough())
		add_passed();
	else
		add_emulated(size, "");
	wait_for_function();
}

/* The slot is found populated once function 0 is there. */
const char *replug_with_sibling(void)
{
	static char sibling[16];
	char path[64];

	monitor_order("object_add memory-backend-ram,id=mem-sibling,size=4M");
	monitor_order("device_add ivshmem-plain,id=sibling,memdev=mem-sibling,bus=port-ap%d,"
		      "multifunction=on,addr=0x0.0x1", LEAVING);
	add_emulated("64M", ",multifunction=on,addr=0x0.0x0");
	wait_for_function();
	snprintf(sibling, sizeof(sibling), "%.11s1", aperture_pci());
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", sibling);
	CHECK_WITHIN(!access(path, F_OK), STEP_SECONDS * 1000);
	return sibling;
}

void sibling_forget(void)
{
	monitor_order("object_del mem-sibling");
}

static void write_attribute(const char *path)
{
	int64_t start = test_now_ms();

	if (!sysfs_write(path, "1"))
		test_fail(__FILE__, __LINE__, "cannot write to %s", path);
	if (test_now_ms() - start > STEP_SECONDS * 1000)
		test_fail(__FILE__, __LINE__, "longer than %d s: %s", STEP_SECONDS, path);
}

void sysfs_remove(void)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", aperture_pci());
	write_attribute(path);
	CHECK(access(path, F_OK));
}

void sysfs_rescan(void)
{
	char path[128];

	write_attribute("/sys/bus/pci/rescan");
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", aperture_pci());
	CHECK_OK(access(path, F_OK));
}

uint64_t bar_start(void)
{
	char path[128], text[2048], *rest = text;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", aperture_pci());
	CHECK(sysfs_read(path, text, sizeof(text)));
	strsep(&rest, "\n");
	strsep(&rest, "\n");
	return strtoull(rest, NULL, 16);
}

void check_held_back(void)
{
	char path[128], text[64];
	uint32_t reason;

	CHECK(quarantine_bytes() > 0);
	CHECK_EQ(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, &reason), -1);
	CHECK(reason == VPEER_REASON_QUARANTINED || reason == VPEER_REASON_UNASSIGNED);
	CHECK(!pci_bound(aperture_pci()));
	CHECK(!*aperture_node());
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override",
		 aperture_pci());
	CHECK(sysfs_read(path, text, sizeof(text)));
	CHECK(!strcmp(text, "vpeer-quarantine\n"));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s", aperture_pci());
	CHECK_EQ(sysfs_u64(path, "enable"), 0);
}

void attach_again(void)
{
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	if (!bar_start()) {
		sysfs_remove();
		sysfs_rescan();
	}
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

void leaving_aperture(void)
{
	const char *all = getenv("VPEER_AP_ALL");

	monitor_need();
	if (!all || !strchr(all, ' '))
		test_skip("this guest has no second aperture");
	setenv("VPEER_AP_PCI", strchr(all, ' ') + 1, 1);
	/* A case before may have failed without it. */
	if (!pci_bound(aperture_pci()))
		attach_again();
}

void check_next_owner(uint64_t offset, uint64_t size)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, offset, size);

	CHECK(all_zero(mapped, size));
	mapped[0] = 1;
	CHECK(owner_is(offset, mapped, 4096));
	munmap(mapped, size);
	close(fd);
}

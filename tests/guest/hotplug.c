// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device leaves the machine, the bus or its driver, and comes back. Needs
 * the lab's monitor. VPEER_TEST_ROUNDS sets the rounds (20).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "dmabuf.h"
#include "harness.h"
#include "holder.h"
#include "kmsg.h"
#include "memory.h"
#include "monitor.h"
#include "refusal.h"
#include "witness.h"

#define SIZE	(2 * GRANULE)

static void device_path(char *path, size_t size, const char *attribute)
{
	snprintf(path, size, "/sys/bus/pci/devices/%s%s", aperture_pci(), attribute);
}

TEST(unused, 120)
{
	leaving_aperture();
	unplug();
	CHECK_EQ(quarantine_bytes(), 0);
	replug();
	attach_again();
	check_next_owner(0, SIZE);
}

TEST(mapped, 120)
{
	char *mapped;
	int fd;

	leaving_aperture();
	fd = aperture_open();
	mapped = window_map(fd, 0, SIZE);
	mapped[0] = 1;
	unplug();
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, NULL), ENODEV);
	CHECK_EQ(quarantine_bytes(), 0);
	munmap(mapped, SIZE);
	close(fd);
	replug();
	attach_again();
	check_next_owner(0, SIZE);
}

static void check_witness(void (*leave)(void), void (*come_back)(void), uint32_t cause)
{
	struct witness w;

	leaving_aperture();
	witness_start(&w, 0);
	leave();
	witness_check_revoked(&w, cause);
	CHECK_EQ(quarantine_bytes(), 0);
	come_back();
	attach_again();
	dmabuf_check_dead(w.dmabuf);
	witness_end(&w);
	check_next_owner(0, SIZE);
}

/* The kernel is asked first, so that the function still answers. */
TEST(exported_and_unplugged, 120)
{
	check_witness(unplug, replug, VPEER_CAUSE_DETACHED);
}

TEST(exported_and_removed, 60)
{
	check_witness(sysfs_remove, sysfs_rescan, VPEER_CAUSE_DETACHED);
}

/* Secondary and subordinate bus of the port above. */
static void port_buses(unsigned char buses[2], bool write)
{
	char path[128];
	int fd;

	device_path(path, sizeof(path), "/../config");
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	CHECK_EQ(write ? pwrite(fd, buses, 2, 0x19) : pread(fd, buses, 2, 0x19), 2);
	close(fd);
}

static unsigned char buses[2];

/* No longer behind the port: configuration reads answer with ones. */
static void stop_answering(void)
{
	unsigned char none[2] = { 0, 0 };

	port_buses(buses, false);
	port_buses(none, true);
	CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", aperture_pci()));
}

static void answer_again(void)
{
	port_buses(buses, true);
	sysfs_remove();
	sysfs_rescan();
}

TEST(exported_and_out_of_reach, 60)
{
	check_witness(stop_answering, answer_again, VPEER_CAUSE_UNPLUGGED);
}

static void unplug_under_traffic(bool by_kill)
{
	struct holder h;

	holder_start(&h, 0, SIZE, true);
	unplug();
	CHECK(quarantine_bytes() > 0);
	if (by_kill)
		holder_kill(&h);
	else
		holder_release(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	replug();
	attach_again();
	check_next_owner(0, SIZE);
}

TEST(registered_under_traffic, 1200)
{
	const char *text = getenv("VPEER_TEST_ROUNDS");
	unsigned int rounds = text ? strtoul(text, NULL, 10) : 20;

	leaving_aperture();
	module_parameter("revoke_wait_ms", 200);
	for (unsigned int i = 0; i < rounds; i++)
		unplug_under_traffic(i % 2);
	module_parameter("revoke_wait_ms", 2000);
}

/*
 * A new device in the slot while the old one's memory is still pinned: no
 * driver may have it, and nothing of it be touched, until the last pin is
 * gone.
 */
static void check_return_while_pinned(void (*leave)(void), void (*come_back)(void))
{
	struct holder h;

	leaving_aperture();
	module_parameter("revoke_wait_ms", 200);
	holder_start(&h, 0, SIZE, true);
	leave();
	CHECK(quarantine_bytes() > 0);
	come_back();
	check_held_back();
	holder_kill(&h);
	attach_again();
	module_parameter("revoke_wait_ms", 2000);
	check_next_owner(0, SIZE);
}

TEST(replugged_while_pinned, 180)
{
	check_return_while_pinned(unplug, replug);
}

TEST(removed_and_found_while_pinned, 60)
{
	check_return_while_pinned(sysfs_remove, sysfs_rescan);
}

/* The root port above leaves with it. */
static void remove_bridge(void)
{
	char path[512], bridge[512];

	device_path(path, sizeof(path), "/..");
	CHECK(realpath(path, bridge));
	CHECK(!strcmp(strrchr(bridge, ':') - 2, "00:11.0"));
	step("echo 1 >%s/remove", bridge);
	CHECK(access(bridge, F_OK));
	CHECK(!*aperture_node());
}

TEST(bridge_removed_and_found_while_pinned, 60)
{
	check_return_while_pinned(remove_bridge, sysfs_rescan);
}

/* The administrator's way, without a press of the button. */
TEST(slot_powered_off_and_on, 60)
{
	struct holder h;

	leaving_aperture();
	module_parameter("revoke_wait_ms", 200);
	holder_start(&h, 0, SIZE, true);
	step("echo 0 >/sys/bus/pci/slots/17/power");
	CHECK(!*aperture_node());
	CHECK(quarantine_bytes() > 0);
	holder_kill(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	/* QEMU takes the device out of a slot without power. */
	replug();
	attach_again();
	module_parameter("revoke_wait_ms", 2000);
	check_next_owner(0, SIZE);
}

static void reset_bus(void)
{
	char path[512], methods[128];

	device_path(path, sizeof(path), "/reset_method");
	CHECK(sysfs_read(path, methods, sizeof(methods)));
	CHECK(strstr(methods, "bus"));
	CHECK(sysfs_write(path, "bus"));
	device_path(path, sizeof(path), "/reset");
	step("echo 1 >%s", path);
}

/* Windows end before the reset; the aperture serves new ones after it. */
TEST(bus_reset, 60)
{
	char *mapped;
	int fd;

	leaving_aperture();
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, SIZE, NULL));
	mapped = window_map(fd, 0, SIZE);
	memset(mapped, 7, SIZE);
	reset_bus();
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_REVOKED);
	munmap(mapped, SIZE);
	CHECK_OK(window_free(fd, 0));
	mapped = window_map(fd, 0, SIZE);
	CHECK(all_zero(mapped, SIZE));
	munmap(mapped, SIZE);
	close(fd);
	check_next_owner(0, SIZE);
}

/* Memory that initiators hold is no one else's after the reset either. */
TEST(bus_reset_under_traffic, 60)
{
	int mark, fd;
	struct holder h;

	leaving_aperture();
	module_parameter("revoke_wait_ms", 200);
	holder_start(&h, 0, SIZE, true);
	mark = kmsg_mark();
	reset_bus();
	CHECK_EQ(kmsg_count(mark, "reset while initiators hold", NULL, 0), 1);
	close(mark);
	fd = aperture_open();
	CHECK_ERRNO(window_alloc_at(fd, 0, SIZE, NULL), EBUSY);
	check_next_owner(SIZE, SIZE);
	holder_kill(&h);
	CHECK_WITHIN(!window_alloc_at(fd, 0, SIZE, NULL), 5000);
	close(fd);
	module_parameter("revoke_wait_ms", 2000);
	check_next_owner(0, SIZE);
}

static void check_refused_as_unassigned(uint32_t flags)
{
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = 2, .flags = flags,
		.error = EADDRNOTAVAIL, .reason = VPEER_REASON_UNASSIGNED, .log_lines = 1,
	});
}

/* A BAR larger than any hole of the address space. */
TEST(unassigned_bar, 180)
{
	char path[128];

	leaving_aperture();
	unplug();
	monitor_order("object_add memory-backend-ram,id=huge,size=1T,reserve=off");
	monitor_order("device_add ivshmem-plain,id=huge,memdev=huge,bus=port-ap%d", LEAVING);
	device_path(path, sizeof(path), "/resource");
	CHECK_WITHIN(!access(path, F_OK), 10000);
	/* The kernel tries several bridge windows before it gives up. */
	test_sleep_ms(500);
	need_function(aperture_pci());
	check_refused_as_unassigned(0);
	check_refused_as_unassigned(VPEER_ATTACH_FORCE);
	monitor_remove("huge", 30);
	monitor_order("object_del huge");
	replug();
	attach_again();
	check_next_owner(0, SIZE);
}

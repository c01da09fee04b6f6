// SPDX-License-Identifier: GPL-2.0-only
/*
 * The device leaves the machine and comes back. Needs the lab's monitor; every
 * step must be done within 30 s. VPEER_TEST_ROUNDS sets the rounds (20).
 */
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "holder.h"
#include "memory.h"
#include "refusal.h"

#define LAB		"/run/vpeer-lab/"
#define STEP_SECONDS	30
#define SIZE		(2 * GRANULE)

/* Aperture number 1 is the one that may leave. */
#define NUMBER		1

static void need_lab(void)
{
	const char *all = getenv("VPEER_AP_ALL");

	if (access(LAB "monitor", X_OK))
		test_skip("no monitor of the lab in this guest");
	if (!all || !strchr(all, ' '))
		test_skip("this guest has no second aperture");
	setenv("VPEER_AP_PCI", strchr(all, ' ') + 1, 1);
}

__attribute__((format(printf, 1, 2)))
static void run(const char *format, ...)
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

static void unplug(void)
{
	run(LAB "unplug %d %d", NUMBER, STEP_SECONDS);
	CHECK_WITHIN(access("/dev/vpeer1", F_OK), 5000);
}

static void replug(void)
{
	run(LAB "replug %d >/dev/null", NUMBER);
}

static void attach(void)
{
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static void check_next_owner(void)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, SIZE);

	CHECK(all_zero(mapped, SIZE));
	mapped[0] = 1;
	CHECK(owner_is(0, mapped, 4096));
	munmap(mapped, SIZE);
	close(fd);
}

TEST(unused, 120)
{
	need_lab();
	unplug();
	CHECK_EQ(quarantine_bytes(), 0);
	replug();
	attach();
	check_next_owner();
}

TEST(mapped, 120)
{
	char *mapped;
	int fd;

	need_lab();
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
	attach();
	check_next_owner();
}

TEST(registered_under_traffic, 1200)
{
	const char *text = getenv("VPEER_TEST_ROUNDS");
	unsigned int rounds = text ? strtoul(text, NULL, 10) : 20;

	need_lab();
	module_parameter("revoke_wait_ms", 200);
	for (unsigned int i = 0; i < rounds; i++) {
		struct holder h;

		holder_start(&h, 0, SIZE, true);
		unplug();
		CHECK(quarantine_bytes() > 0);
		if (i % 2)
			holder_release(&h);
		else
			holder_kill(&h);
		CHECK_WITHIN(!quarantine_bytes(), 10000);
		replug();
		attach();
		check_next_owner();
	}
	module_parameter("revoke_wait_ms", 2000);
}

/* The new function's BAR may have the old one's address, or none. */
static void check_held_back(void)
{
	char path[128], override[64];
	uint32_t reason;

	CHECK_EQ(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, &reason), -1);
	CHECK(reason == VPEER_REASON_QUARANTINED || reason == VPEER_REASON_UNASSIGNED);
	CHECK(!pci_bound(aperture_pci()));
	CHECK(!*aperture_node());
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override",
		 aperture_pci());
	CHECK(sysfs_read(path, override, sizeof(override)));
	CHECK(!strcmp(override, "vpeer-quarantine\n"));
}

/*
 * A new device in the slot while the old one's memory is still pinned: no
 * driver may have it, and nothing of it be touched, until the last pin is
 * gone.
 */
TEST(replugged_while_pinned, 180)
{
	struct holder h;

	need_lab();
	module_parameter("revoke_wait_ms", 200);
	holder_start(&h, 0, SIZE, true);
	unplug();
	CHECK(quarantine_bytes() > 0);
	replug();
	check_held_back();
	holder_kill(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	unplug();
	replug();
	attach();
	module_parameter("revoke_wait_ms", 2000);
	check_next_owner();
}

/* A BAR larger than any hole of the address space. */
TEST(unassigned_bar, 180)
{
	need_lab();
	unplug();
	run(LAB "monitor 'object_add memory-backend-ram,id=huge,size=1T,reserve=off'");
	run(LAB "monitor 'device_add ivshmem-plain,id=huge,memdev=huge,bus=port-ap%d'",
	    NUMBER);
	test_sleep_ms(3000);
	need_function(aperture_pci());
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = 2,
		.error = EADDRNOTAVAIL, .reason = VPEER_REASON_UNASSIGNED, .log_lines = 1,
	});
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = 2, .flags = VPEER_ATTACH_FORCE,
		.error = EADDRNOTAVAIL, .reason = VPEER_REASON_UNASSIGNED, .log_lines = 1,
	});
	run(LAB "monitor 'device_del huge'");
	test_sleep_ms(3000);
	run(LAB "monitor 'object_del huge'");
	replug();
	attach();
	check_next_owner();
}

// SPDX-License-Identifier: GPL-2.0-only
/* Reset, bus error and sleep with live DMA-bufs: their causes, and life afterwards. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aer.h"
#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "kmsg.h"
#include "memory.h"
#include "neighbour.h"
#include "owned.h"
#include "witness.h"

#define AT	(8 * MIB)
#define SIZE	(2 * GRANULE)

/* Through the bridge above: the only way that the lab's function offers. */
static void reset(void)
{
	aperture_reset("bus");
}

static void bus_error(void)
{
	int mark = kmsg_mark();

	aer_inject("port-ap0 SDN");
	CHECK_EQ(kmsg_within(mark, "AER: device recovery successful", 10000), 1);
	close(mark);
}

/* As far as the freezing of processes. */
static void suspend(void)
{
	if (access("/sys/power/pm_test", W_OK))
		test_skip("this kernel cannot test suspend");
	CHECK(sysfs_write("/sys/power/pm_test", "freezer"));
	CHECK(sysfs_write("/sys/module/suspend/parameters/pm_test_delay", "0"));
	CHECK(sysfs_write("/sys/power/state", "mem"));
	CHECK(sysfs_write("/sys/power/pm_test", "none"));
}

/* The old DMA-buf stays dead, also where a new window and DMA-buf take its place. */
static void check_cause(void (*happen)(void), uint32_t cause)
{
	struct witness w, next;

	witness_start(&w, 0);
	witness_check_untouched(&w);
	happen();
	witness_check_revoked(&w, cause);
	check_status("ok");
	witness_start(&next, GRANULE);
	CHECK(all_zero(next.exported + 4096, GRANULE - 8192));
	witness_check_untouched(&next);
	witness_end(&next);
	CHECK_OK(window_free(w.fd, 0));
	witness_start(&next, 0);
	dmabuf_check_dead(w.dmabuf);
	witness_check_untouched(&next);
	witness_end(&next);
	witness_end(&w);
}

TEST(reset, 30)
{
	own();
	check_cause(reset, VPEER_CAUSE_RESET);
}

TEST(bus_error, 60)
{
	own();
	check_cause(bus_error, VPEER_CAUSE_BUS_ERROR);
}

TEST(suspend, 30)
{
	own();
	check_cause(suspend, VPEER_CAUSE_SUSPEND);
}

TEST(suspend_of_a_shared_range, 30)
{
	neighbour_alone();
	foreign_attach(AT, SIZE);
	check_cause(suspend, VPEER_CAUSE_SUSPEND);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	own();
}

/* The driver goes, and what it shared with it. */
TEST(driver_of_a_shared_range, 30)
{
	struct witness w;

	neighbour_alone();
	foreign_attach(AT, SIZE);
	witness_start(&w, 0);
	neighbour_unbind();
	witness_check_revoked(&w, VPEER_CAUSE_DETACHED);
	witness_end(&w);
	own();
}

/* Offsets of a shared range end where it does. */
TEST(bounds_of_a_shared_range, 30)
{
	char bytes[4096];
	uint32_t reason;
	int fd, dmabuf;

	neighbour_alone();
	fd = foreign_open(foreign_attach(AT, SIZE));
	CHECK_OK(window_alloc_at(fd, 0, SIZE, NULL));
	dmabuf = dmabuf_export(fd, SIZE - 4096, 4096);
	pattern_fill(dmabuf_map(dmabuf, 0, 4096), 4096, 331);
	owner_read(AT + SIZE - 4096, bytes, 4096);
	CHECK(pattern_is(bytes, 4096, 331));
	CHECK_ERRNO(dmabuf_try(fd, SIZE, 4096, &reason), EPERM);
	CHECK_EQ(reason, VPEER_REASON_NOT_GRANTED);
	CHECK_ERRNO(dmabuf_try(fd, SIZE - 4096, 8192, &reason), EPERM);
	CHECK_EQ(reason, VPEER_REASON_NOT_GRANTED);
	close(dmabuf);
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	own();
}

/* Asleep there is nothing to export, whatever windows there were. */
TEST(asleep, 30)
{
	uint32_t reason;
	int fd, snapshot;

	own();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	snapshot = open("/dev/snapshot", O_RDONLY | O_CLOEXEC);
	CHECK_OK(snapshot);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	fd = aperture_open();
	CHECK_ERRNO(dmabuf_try(fd, 0, 4096, &reason), EAGAIN);
	CHECK_EQ(reason, VPEER_REASON_ASLEEP);
	close(snapshot);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	close(dmabuf_export(fd, 0, 4096));
	close(fd);
}

struct maker {
	int fd;
	volatile int stop;
	unsigned int made;
};

/* Exports and maps until told to stop, whatever happens to the function. */
static void *make_without_end(void *data)
{
	struct maker *maker = data;

	while (!maker->stop) {
		int dmabuf = dmabuf_try(maker->fd, 0, SIZE, NULL);
		char *mapped;

		if (dmabuf < 0) {
			CHECK(errno == EAGAIN || errno == ENODEV || errno == ENOENT);
			window_free(maker->fd, 0);
			window_alloc_at(maker->fd, 0, SIZE, NULL);
			continue;
		}
		mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf, 0);
		if (mapped != MAP_FAILED) {
			signal_of_write(mapped + GRANULE);
			munmap(mapped, SIZE);
			maker->made++;
		}
		close(dmabuf);
	}
	return NULL;
}

TEST(reset_while_exporting, 60)
{
	struct maker maker = { 0 };
	pthread_t thread;
	char *mapped;

	own();
	maker.fd = aperture_open();
	CHECK_EQ(pthread_create(&thread, NULL, make_without_end, &maker), 0);
	for (int i = 0; i < 20; i++) {
		unsigned int before = maker.made;

		CHECK_WITHIN(maker.made > before, 10000);
		test_sleep_ms(i);
		reset();
	}
	maker.stop = 1;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	close(maker.fd);
	CHECK_WITHIN(aperture_all_free(), 5000);
	maker.fd = aperture_open();
	mapped = window_map(maker.fd, 0, SIZE);
	CHECK(all_zero(mapped, SIZE));
	munmap(mapped, SIZE);
	close(maker.fd);
}

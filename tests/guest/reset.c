// SPDX-License-Identifier: GPL-2.0-only
/*
 * The function is reset. Memory may be lost: windows are revoked before, and
 * the node works on afterwards.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "holder.h"
#include "kmsg.h"
#include "memory.h"
#include "neighbour.h"
#include "owned.h"
#include "rdma.h"

#define SIZE	(4 * GRANULE)

/* Through the bridge above: the only way that the lab's function offers. */
static void reset(void)
{
	aperture_reset("bus");
}

TEST(idle, 20)
{
	char node[64];
	int fd;

	own();
	snprintf(node, sizeof(node), "%s", aperture_node());
	reset();
	CHECK(!strcmp(node, aperture_node()));
	check_status("ok");
	fd = aperture_open();
	check_new_window(fd, 0);
	close(fd);
}

/* Old windows stay their owner's, revoked, until freed. */
TEST(mapped, 20)
{
	const volatile uint64_t *page;
	uint64_t generation;
	int fd, other;
	char *mapped;

	own();
	fd = aperture_open();
	other = aperture_open();
	page = window_generations(fd);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 111);
	generation = page[window_info(fd, 0).slot];

	reset();
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK(page[window_info(fd, 0).slot] > generation);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_REVOKED);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0), ENODEV);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, NULL), EBUSY);
	check_new_window(fd, GRANULE);
	check_new_window(other, 2 * GRANULE);
	CHECK_OK(window_free(fd, 0));
	check_new_window(other, 0);
	munmap(mapped, GRANULE);
	munmap((void *)page, 4096);
	close(fd);
	close(other);
}

/* Claimed by mmap() alone. */
TEST(implicit_window, 20)
{
	char *mapped;
	int fd;

	own();
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	reset();
	CHECK_EQ(signal_of_write(mapped), SIGBUS);
	munmap(mapped, GRANULE);
	mapped = window_map(fd, 0, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	close(fd);
	munmap(mapped, GRANULE);
}

/* The reset does not wait for ever for initiators, and tells what they hold. */
TEST(registered_under_traffic, 60)
{
	struct holder h;
	int mark, fd;

	own();
	holder_start(&h, 0, GRANULE, true);
	mark = kmsg_mark();
	module_parameter("revoke_wait_ms", 200);
	reset();
	module_parameter("revoke_wait_ms", 2000);
	CHECK_EQ(kmsg_count(mark, "reset while initiators hold 2097152 bytes", NULL, 0), 1);
	close(mark);
	CHECK_EQ(quarantine_bytes(), 0);
	fd = aperture_open();
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, NULL), EBUSY);
	check_new_window(fd, GRANULE);
	holder_kill(&h);
	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 10000);
	check_drained(fd);
	close(fd);
}

/* No pins, no line. */
TEST(pins_gone_before, 60)
{
	struct holder h;
	int mark;

	own();
	holder_start(&h, 0, GRANULE, true);
	holder_release(&h);
	mark = kmsg_mark();
	reset();
	CHECK_EQ(kmsg_count(mark, "reset while initiators hold", NULL, 0), 0);
	close(mark);
}

/* A registration made before the reset, and one made after it. */
TEST(rdma_afterwards, 60)
{
	char *plain = plain_memory(64 * KIB), *mapped;
	struct ibv_mr *mr, *local;
	struct rdma r;
	int fd;

	own();
	rdma_open(&r);
	local = rdma_reg(&r, plain, 64 * KIB);
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	mr = rdma_reg(&r, mapped, GRANULE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	reset();
	CHECK(!ibv_reg_mr(r.pd, mapped, GRANULE, RDMA_ACCESS));
	CHECK_EQ(errno, EFAULT);
	munmap(mapped, GRANULE);

	mapped = window_map(fd, 0, GRANULE);
	mr = rdma_reg(&r, mapped, GRANULE);
	pattern_fill(plain, 64 * KIB, 112);
	CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped, mr->rkey, 64 * KIB), IBV_WC_SUCCESS);
	CHECK(owner_is(0, plain, 64 * KIB));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	close(fd);
	munmap(mapped, GRANULE);
}

static void *reset_thread(void *unused)
{
	(void)unused;
	reset();
	return NULL;
}

static void check_asleep(int fd)
{
	struct vpeer_window_alloc arg = { .argsz = sizeof(arg), .size = GRANULE };

	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg, EAGAIN, VPEER_REASON_ASLEEP);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 3 * GRANULE), EAGAIN);
}

/* Pins make the reset wait, which is long enough to look. */
TEST(calls_meanwhile, 60)
{
	struct holder h;
	pthread_t thread;
	int fd;

	own();
	holder_start(&h, 0, GRANULE, false);
	fd = aperture_open();
	check_new_window(fd, 3 * GRANULE);
	CHECK_EQ(pthread_create(&thread, NULL, reset_thread, NULL), 0);
	test_sleep_ms(500);
	check_status("asleep");
	check_asleep(fd);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	check_status("ok");
	check_new_window(fd, 3 * GRANULE);
	close(fd);
	holder_release(&h);
}

/*
 * Granules that were known to be clean hold whatever the reset left. Without
 * one, a clean granule is shown as it is.
 */
TEST(clean_no_longer, 30)
{
	char *bytes = plain_memory(GRANULE), *mapped;
	int fd;

	own_with(VPEER_ATTACH_CLEAN);
	pattern_fill(bytes, GRANULE, 113);
	owner_write(0, bytes, GRANULE);
	owner_write(GRANULE, bytes, GRANULE);
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	CHECK(pattern_is(mapped, GRANULE, 113));
	munmap(mapped, GRANULE);
	reset();
	mapped = window_map(fd, GRANULE, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	munmap(mapped, GRANULE);
	close(fd);
	own_with(0);
}

/* Claims, touches and gives up windows until told to stop. */
static void scrub_without_end(int fd, const volatile int *stop)
{
	while (!*stop) {
		char *mapped = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (mapped == MAP_FAILED) {
			CHECK(errno == EAGAIN || errno == EBUSY || errno == ENODEV);
			continue;
		}
		for (uint64_t at = 0; at < SIZE; at += GRANULE)
			signal_of_write(mapped + at + 4096);
		munmap(mapped, SIZE);
	}
}

TEST(during_scrub, 60)
{
	int *stop = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t scrubbed;
	char *mapped;
	pid_t pid;
	int fd;

	own();
	fd = aperture_open();
	scrubbed = aperture_stat("bytes_scrubbed");
	pid = test_fork();
	if (!pid) {
		scrub_without_end(fd, stop);
		_exit(0);
	}
	for (int i = 0; i < 20; i++) {
		test_sleep_ms(7 * i);
		reset();
	}
	CHECK(aperture_stat("bytes_scrubbed") > scrubbed);
	*stop = 1;
	test_join(pid);
	mapped = window_map(fd, 0, SIZE);
	CHECK(all_zero(mapped, SIZE));
	close(fd);
	munmap(mapped, SIZE);
}

/* vpeer sees nothing of it: the driver does. */
TEST(shared_range_is_left_alone, 30)
{
	struct neighbour_events events;
	char *mapped;
	int fd;

	neighbour_alone();
	events = neighbour_events();
	fd = foreign_open(foreign_attach(8 * MIB, SIZE));
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	reset();
	CHECK_EQ(neighbour_events().reset_prepare, events.reset_prepare + 1);
	CHECK_EQ(neighbour_events().reset_done, events.reset_done + 1);
	CHECK_EQ(signal_of_read(mapped), 0);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_ACTIVE);
	munmap(mapped, GRANULE);
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	own();
}

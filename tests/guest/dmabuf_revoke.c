// SPDX-License-Identifier: GPL-2.0-only
/* Windows taken away from under their DMA-bufs: access ends, and the owner learns why. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "passing.h"
#include "witness.h"

#define PAGE	4096ULL

static void check_refused_from_now_on(const struct witness *w, uint32_t why)
{
	struct vpeer_dmabuf arg = {
		.argsz = sizeof(arg),
		.offset = w->offset,
		.size = PAGE,
	};

	CHECK_REFUSED(w->fd, VPEER_IOCTL_DMABUF, &arg, ENODEV, why);
}

TEST(by_the_owner, 20)
{
	struct witness w, other;

	witness_start(&w, 0);
	witness_start(&other, GRANULE);
	witness_check_untouched(&w);
	CHECK_OK(window_revoke(w.fd, 0, 0, NULL));
	witness_check_revoked(&w, VPEER_CAUSE_OWNER);
	check_refused_from_now_on(&w, VPEER_REASON_REVOKED);
	witness_check_untouched(&other);
	witness_end(&w);
	witness_end(&other);
}

/* Of one open file, one window's, and every DMA-buf of that. */
TEST(other_windows_of_the_file, 20)
{
	int fd = aperture_open(), kept, first, second;
	char *safe, *ends[2];

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	first = dmabuf_export(fd, 0, GRANULE);
	second = dmabuf_export(fd, PAGE, PAGE);
	kept = dmabuf_export(fd, GRANULE, GRANULE);
	ends[0] = dmabuf_map(first, 0, GRANULE);
	ends[1] = dmabuf_map(second, 0, PAGE);
	safe = dmabuf_map(kept, 0, GRANULE);
	pattern_fill(safe, GRANULE, 321);
	CHECK_EQ(signal_of_write(ends[0]), 0);
	CHECK_EQ(signal_of_write(ends[1]), 0);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		CHECK_EQ(signal_of_read(ends[i]), SIGBUS);
	dmabuf_check_dead(first);
	dmabuf_check_dead(second);
	CHECK(pattern_is(safe, GRANULE, 321));
	CHECK_OK((long)mmap(NULL, PAGE, PROT_READ, MAP_SHARED, kept, 0));
	close(dmabuf_export(fd, GRANULE, PAGE));
	close(first);
	close(second);
	close(kept);
	close(fd);
}

TEST(every_window, 20)
{
	struct vpeer_window_op all = { .argsz = sizeof(all), .flags = VPEER_REVOKE_ALL };
	struct witness w, other;
	int root = aperture_open();

	witness_start(&w, 0);
	witness_start(&other, 4 * GRANULE);
	CHECK_OK(ioctl(root, VPEER_IOCTL_WINDOW_REVOKE, &all));
	CHECK_EQ(all.pinned_bytes, 0);
	witness_check_revoked(&w, VPEER_CAUSE_ADMIN);
	witness_check_revoked(&other, VPEER_CAUSE_ADMIN);
	check_refused_from_now_on(&w, VPEER_REASON_REVOKED);
	CHECK_OK(window_alloc_at(w.fd, 8 * GRANULE, GRANULE, NULL));
	close(dmabuf_export(w.fd, 8 * GRANULE, GRANULE));
	witness_end(&w);
	witness_end(&other);
	close(root);
}

/* What was revoked stays so, for its first cause. */
TEST(twice, 20)
{
	struct vpeer_window_op all = { .argsz = sizeof(all), .flags = VPEER_REVOKE_ALL };
	struct witness w;

	witness_start(&w, 0);
	CHECK_OK(window_revoke(w.fd, 0, 0, NULL));
	witness_check_revoked(&w, VPEER_CAUSE_OWNER);
	CHECK_OK(window_revoke(w.fd, 0, 0, NULL));
	CHECK_OK(ioctl(w.fd, VPEER_IOCTL_WINDOW_REVOKE, &all));
	CHECK_EQ(event_count(w.event), 0);
	CHECK_EQ(window_info(w.fd, 0).cause, VPEER_CAUSE_OWNER);
	witness_end(&w);
}

static void attach(void)
{
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static void check_module_stays(void)
{
	CHECK(system("rmmod vpeer 2>/dev/null"));
	CHECK_OK(access("/sys/module/vpeer", F_OK));
}

/* The module itself can go, once the last DMA-buf has gone. */
static void check_module_leaves(void)
{
	CHECK_EQ(system("rmmod vpeer"), 0);
	CHECK_EQ(system("modprobe vpeer"), 0);
	CHECK_WITHIN(!access("/dev/vpeerctl", F_OK), 5000);
	if (!pci_bound(aperture_pci()))
		attach();
}

static void check_gone(const struct witness *w)
{
	witness_check_revoked(w, VPEER_CAUSE_DETACHED);
	check_refused_from_now_on(w, VPEER_REASON_GONE);
	CHECK_EQ(quarantine_bytes(), 0);
	CHECK(!*aperture_node());
	check_module_stays();
}

TEST(detach, 30)
{
	struct witness w;
	uint64_t pinned = 77;

	witness_start(&w, 0);
	CHECK_OK(control_detach(aperture_pci(), &pinned, NULL));
	CHECK_EQ(pinned, 0);
	check_gone(&w);
	witness_end(&w);
	check_module_leaves();
}

TEST(unbind, 30)
{
	struct witness w;

	witness_start(&w, 0);
	CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", aperture_pci()));
	check_gone(&w);
	witness_end(&w);
	attach();
}

/* The DMA-buf alone keeps the module: neither node nor mapping is open. */
TEST(module_stays_for_a_dmabuf, 30)
{
	struct witness w;

	witness_start(&w, 0);
	munmap(w.mapped, GRANULE);
	munmap(w.exported, GRANULE);
	munmap((void *)((uintptr_t)w.place & ~(PAGE - 1)), PAGE);
	close(w.fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	dmabuf_check_dead(w.dmabuf);
	CHECK_EQ(event_count(w.event), 1);
	check_module_stays();
	close(w.dmabuf);
	close(w.event);
	check_module_leaves();
}

/* The next aperture in the same BAR has nothing to do with the old one's DMA-bufs. */
TEST(attached_again, 30)
{
	struct witness w, next;

	witness_start(&w, 0);
	pattern_fill(w.exported, GRANULE, 322);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	attach();
	CHECK_EQ(aperture_stat("dmabufs"), 0);
	witness_start(&next, 0);
	CHECK(all_zero(next.exported + PAGE, GRANULE - 2 * PAGE));
	witness_check_revoked(&w, VPEER_CAUSE_DETACHED);
	witness_check_untouched(&next);
	witness_end(&w);
	witness_check_untouched(&next);
	witness_end(&next);
}

/* In another process, which has the DMA-buf only and is in the middle of it. */
TEST(detach_under_use, 30)
{
	int hand[2], fd = aperture_open(), dmabuf;
	char byte;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	pid = test_fork();
	if (!pid) {
		char *mapped;
		int taken;

		close(fd);
		taken = receive_fd(hand[1]);
		mapped = dmabuf_map(taken, 0, GRANULE);
		CHECK_EQ(send(hand[1], "", 1, 0), 1);
		for (uint64_t at = 0; !signal_of_write(mapped + at % GRANULE); at += 64)
			;
		dmabuf_check_dead(taken);
		CHECK_EQ(signal_of_read(mapped), SIGBUS);
		_exit(0);
	}
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	send_fd(hand[0], dmabuf);
	close(dmabuf);
	close(fd);
	CHECK_EQ(recv(hand[0], &byte, 1, 0), 1);
	test_sleep_ms(100);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	test_join(pid);
	attach();
}

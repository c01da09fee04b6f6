// SPDX-License-Identifier: GPL-2.0-only
/*
 * What importers of different makes hear of a revocation, what becomes of
 * their mappings, and what the exporter says of it.
 */
#include <linux/dma-buf.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "exported.h"
#include "harness.h"
#include "importer.h"
#include "memory.h"
#include "mover.h"
#include "vrnic.h"

#define SIZE	(4 * MIB)
#define SHORT	200	/* ms that a revocation waits in vain */

/* An export, and who has it mapped. */
struct bench {
	struct exported e;
	int importer;
	uint64_t address;	/* the first of the mapping */
};

static int import(const struct bench *b, enum importer_mode mode)
{
	int importer = importer_open(vrnic_pci(0), mode, NULL);

	importer_take(importer, b->e.fd);
	importer_check_state(importer, 0, true,
			     mode == IMPORTER_PINNED || mode == IMPORTER_REVOCABLE);
	return importer;
}

static void begin(struct bench *b, enum importer_mode mode)
{
	struct importer_list list;

	exported_begin(&b->e, SIZE);
	b->importer = import(b, mode);
	list = importer_list(b->importer);
	b->address = list.segments[0].address;
	free(list.segments);
}

static void end(struct bench *b)
{
	close(b->importer);
	exported_end(&b->e);
}

static void check_revoke(const struct bench *b, unsigned int timeout_ms, uint64_t held)
{
	uint64_t pinned = 77;

	CHECK_ERRNO(window_revoke(b->e.owner, b->e.window, timeout_ms, &pinned),
		    held ? EINPROGRESS : 0);
	CHECK_EQ(pinned, held);
}

/* Behind a translating IOMMU its addresses lead nowhere; elsewhere they always lead to the BAR. */
static void check_unmapped(const struct bench *b)
{
	uint64_t last = b->address + SIZE - 1;

	if (!importer_state(b->importer).translated)
		return;
	CHECK_EQ(importer_resolve(b->importer, b->address), 0);
	CHECK_EQ(importer_resolve(b->importer, last), 0);
}

static void check_mapped(const struct bench *b)
{
	importer_check_place(b->importer, b->e.physical);
	CHECK_EQ(importer_resolve(b->importer, b->address), b->e.physical);
}

/* Nobody gets a revoked window again, and it costs nothing more. */
static void check_dead(const struct bench *b)
{
	int other = importer_open(vrnic_pci(1), IMPORTER_DYNAMIC, NULL);

	CHECK_EQ(importer_do(b->importer, IMPORTER_MAP), -ENODEV);
	CHECK_EQ(importer_attach(other, b->e.fd), -ENODEV);
	close(other);
	CHECK_EQ(aperture_stat("dmabuf_maps"), 0);
	CHECK_EQ(aperture_stat("dmabuf_bytes_mapped"), 0);
	CHECK_EQ(window_info(b->e.owner, b->e.window).mapped_bytes, 0);
	CHECK_OK(window_free(b->e.owner, b->e.window));
	CHECK(aperture_all_free());
}

static void check_told(enum importer_mode mode)
{
	struct bench b;

	begin(&b, mode);
	check_mapped(&b);
	check_revoke(&b, 1000, 0);
	importer_check_state(b.importer, 1, false, false);
	check_unmapped(&b);
	check_dead(&b);
	importer_check_state(b.importer, 1, false, false);
	end(&b);
}

TEST(dynamic, 30)
{
	check_told(IMPORTER_DYNAMIC);
}

TEST(revocable, 30)
{
	if (importer_can_revoke(vrnic_pci(0)))
		check_told(IMPORTER_REVOCABLE);
}

/* Whoever has another window hears nothing. */
TEST(neighbours_are_not_told, 30)
{
	struct exported other;
	struct bench b;
	int importer;

	begin(&b, IMPORTER_DYNAMIC);
	exported_make(&other, b.e.window + SIZE, SIZE, 0, SIZE);
	importer = importer_open(vrnic_pci(1), IMPORTER_DYNAMIC, NULL);
	importer_take(importer, other.fd);
	check_revoke(&b, 1000, 0);
	importer_check_state(b.importer, 1, false, false);
	importer_check_state(importer, 0, true, false);
	importer_check_place(importer, other.physical);
	CHECK_OK(window_revoke(other.owner, other.window, 1000, NULL));
	importer_check_state(importer, 1, false, false);
	close(importer);
	close(other.fd);
	close(other.owner);
	end(&b);
}

/* Nothing is mapped, nothing is to be said. */
TEST(attached_only, 30)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	check_revoke(&b, 1000, 0);
	importer_check_state(b.importer, 0, false, false);
	check_dead(&b);
	end(&b);
}

static void check_not_told(const struct bench *b, uint64_t size)
{
	importer_check_state(b->importer, 0, true, true);
	CHECK_EQ(window_info(b->e.owner, b->e.window).pinned_bytes, size);
	importer_check_place(b->importer, b->e.physical);
}

/* Freed, it stays out of use while someone has it. */
static void check_draining(const struct bench *b)
{
	uint32_t reason;

	CHECK_ERRNO(window_free(b->e.owner, b->e.window), EINPROGRESS);
	CHECK_ERRNO(window_alloc_at(b->e.owner, b->e.window, SIZE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_DRAINING);
}

static void check_drained(const struct bench *b)
{
	CHECK_WITHIN(!window_alloc_at(b->e.owner, b->e.window, SIZE, NULL), 5000);
}

TEST(pinned, 30)
{
	struct bench b;

	begin(&b, IMPORTER_PINNED);
	check_not_told(&b, SIZE);
	check_revoke(&b, SHORT, SIZE);
	check_not_told(&b, SIZE);
	check_revoke(&b, 0, SIZE);
	check_draining(&b);
	importer_check_place(b.importer, b.e.physical);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	CHECK_EQ(importer_do(b.importer, IMPORTER_MAP), -ENODEV);
	check_drained(&b);
	end(&b);
}

/* Of a window that no one revokes. */
TEST(pinned_comes_and_goes, 30)
{
	struct bench b;

	begin(&b, IMPORTER_PINNED);
	for (int round = 0; round < 3; round++) {
		check_not_told(&b, SIZE);
		CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
		CHECK_EQ(window_info(b.e.owner, b.e.window).pinned_bytes, 0);
		CHECK_EQ(importer_do(b.importer, IMPORTER_MAP), 0);
	}
	end(&b);
}

/* What is held is what was exported, not the window. */
TEST(pinned_part, 30)
{
	struct bench b;

	exported_attach();
	exported_make(&b.e, 4 * MIB, SIZE, GRANULE - 4096, 3 * 4096);
	b.importer = import(&b, IMPORTER_PINNED);
	check_not_told(&b, 3 * 4096);
	check_revoke(&b, SHORT, 3 * 4096);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	check_revoke(&b, 0, 0);
	end(&b);
}

/* Within the wait. */
TEST(pinned_lets_go, 30)
{
	struct bench b;
	pid_t pid;

	begin(&b, IMPORTER_PINNED);
	pid = test_fork();
	if (!pid) {
		test_sleep_ms(300);
		CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
		_exit(0);
	}
	check_revoke(&b, 2000, 0);
	test_join(pid);
	importer_check_state(b.importer, 0, false, false);
	check_dead(&b);
	end(&b);
}

/* Told, and unmaps only later. */
TEST(slow, 30)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_slow(b.importer, true);
	check_revoke(&b, SHORT, SIZE);
	importer_check_state(b.importer, 1, true, false);
	check_mapped(&b);
	CHECK_EQ(window_info(b.e.owner, b.e.window).mapped_bytes, SIZE);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	check_revoke(&b, 0, 0);
	check_unmapped(&b);
	check_dead(&b);
	end(&b);
}

static void check_fenced(enum importer_usage usage)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_fence(b.importer, usage);
	check_revoke(&b, SHORT, SIZE);
	/* It has unmapped, and is still at it. */
	importer_check_state(b.importer, 1, false, false);
	check_revoke(&b, 0, SIZE);
	CHECK_EQ(importer_do(b.importer, IMPORTER_SIGNAL), 0);
	check_revoke(&b, 0, 0);
	check_dead(&b);
	end(&b);
}

TEST(fence_of_reading, 30)
{
	check_fenced(IMPORTER_READS);
}

TEST(fence_of_anything, 30)
{
	check_fenced(IMPORTER_BOOKKEEPS);
}

TEST(fence_outlasts_the_window, 30)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_fence(b.importer, IMPORTER_BOOKKEEPS);
	check_draining(&b);
	importer_check_state(b.importer, 1, false, false);
	CHECK_EQ(importer_do(b.importer, IMPORTER_SIGNAL), 0);
	check_drained(&b);
	end(&b);
}

TEST(fence_signalled_within_the_wait, 30)
{
	struct bench b;
	pid_t pid;

	begin(&b, IMPORTER_DYNAMIC);
	importer_fence(b.importer, IMPORTER_BOOKKEEPS);
	pid = test_fork();
	if (!pid) {
		test_sleep_ms(300);
		CHECK_EQ(importer_do(b.importer, IMPORTER_SIGNAL), 0);
		_exit(0);
	}
	check_revoke(&b, 2000, 0);
	test_join(pid);
	end(&b);
}

/* By who has the descriptors and no more. */
static void pass_fence(int from, int to)
{
	struct dma_buf_export_sync_file out = { .flags = DMA_BUF_SYNC_RW };
	struct dma_buf_import_sync_file in = { .flags = DMA_BUF_SYNC_RW };

	CHECK_EQ(ioctl(from, DMA_BUF_IOCTL_EXPORT_SYNC_FILE, &out), 0);
	in.fd = out.fd;
	CHECK_EQ(ioctl(to, DMA_BUF_IOCTL_IMPORT_SYNC_FILE, &in), 0);
	close(out.fd);
}

/* Of a window of its own, whose importer is busy. */
static void begin_busy(struct bench *busy)
{
	begin(busy, IMPORTER_DYNAMIC);
	importer_fence(busy->importer, IMPORTER_READS);
}

/* Beside another. */
static void begin_beside(struct bench *b, const struct bench *other)
{
	exported_make(&b->e, other->e.window + SIZE, SIZE, 0, SIZE);
	b->importer = import(b, IMPORTER_DYNAMIC);
}

static void close_all(struct bench *b)
{
	close(b->importer);
	close(b->e.fd);
	close(b->e.owner);
}

/* Without a mapping they are no one's DMA: neither before a revocation nor after it. */
TEST(fences_of_a_stranger, 30)
{
	struct bench b, busy;

	begin_busy(&busy);
	begin_beside(&b, &busy);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	pass_fence(busy.e.fd, b.e.fd);
	check_revoke(&b, 0, 0);
	close_all(&b);

	begin_beside(&b, &busy);
	check_revoke(&b, 0, 0);
	pass_fence(busy.e.fd, b.e.fd);
	check_revoke(&b, 0, 0);
	close_all(&b);
	CHECK_EQ(importer_do(busy.importer, IMPORTER_SIGNAL), 0);
	end(&busy);
}

/* The negative control: with a mapping they count. */
TEST(fence_of_a_stranger_beside_a_mapping, 30)
{
	struct bench b, busy;

	begin_busy(&busy);
	begin_beside(&b, &busy);
	pass_fence(busy.e.fd, b.e.fd);
	check_revoke(&b, 0, SIZE);
	CHECK_EQ(importer_do(busy.importer, IMPORTER_SIGNAL), 0);
	check_revoke(&b, 0, 0);
	close_all(&b);
	end(&busy);
}

/* Told, it starts something more before it lets go. */
TEST(fence_at_the_end, 30)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_slow(b.importer, true);
	check_revoke(&b, 0, SIZE);
	importer_fence(b.importer, IMPORTER_BOOKKEEPS);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	check_revoke(&b, 0, SIZE);
	CHECK_EQ(importer_do(b.importer, IMPORTER_SIGNAL), 0);
	check_revoke(&b, 0, 0);
	end(&b);
}

/* Of one window: each hears once, and the one that keeps it counts. */
TEST(of_different_makes, 30)
{
	struct bench b;
	int dynamic, pinned;

	begin(&b, IMPORTER_DYNAMIC);
	dynamic = importer_open(vrnic_pci(1), IMPORTER_DYNAMIC, NULL);
	importer_take(dynamic, b.e.fd);
	pinned = import(&b, IMPORTER_PINNED);
	CHECK_EQ(window_info(b.e.owner, b.e.window).mapped_bytes, 3 * SIZE);
	CHECK_EQ(window_info(b.e.owner, b.e.window).pinned_bytes, SIZE);
	check_revoke(&b, SHORT, SIZE);
	importer_check_state(b.importer, 1, false, false);
	importer_check_state(dynamic, 1, false, false);
	importer_check_state(pinned, 0, true, true);
	importer_check_place(pinned, b.e.physical);
	close(pinned);
	check_revoke(&b, 0, 0);
	close(dynamic);
	check_dead(&b);
	end(&b);
}

/* The owner's descriptors are closed: that revokes nothing. */
TEST(close_tells_no_one, 30)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	close(b.e.owner);
	close(b.e.fd);
	test_sleep_ms(100);
	importer_check_state(b.importer, 0, true, false);
	check_mapped(&b);
	CHECK(!aperture_all_free());
	close(b.importer);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* The aperture goes. */
TEST(detach_and_dynamic, 30)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	importer_check_state(b.importer, 1, false, false);
	check_unmapped(&b);
	CHECK_EQ(importer_do(b.importer, IMPORTER_MAP), -ENODEV);
	CHECK_EQ(quarantine_bytes(), 0);
	close_all(&b);
}

static void check_zero_for_next(const struct bench *b)
{
	int fd = aperture_open();
	char *mapped;

	CHECK_OK(window_alloc_at(fd, b->e.window, SIZE, NULL));
	mapped = window_map(fd, b->e.window, SIZE);
	CHECK(all_zero(mapped, SIZE));
	munmap(mapped, SIZE);
	close(fd);
}

static void attach_when_left(void)
{
	CHECK_WITHIN(!quarantine_bytes(), 5000);
	CHECK_OK(control_attach(aperture_pci(), 2, 0, NULL));
}

/* Of its one line, which ends with the bytes pinned. */
static uint64_t quarantine_pinned(void)
{
	char text[1024], *last;

	CHECK(sysfs_read("/sys/class/misc/vpeerctl/quarantine", text, sizeof(text)));
	last = strrchr(text, ' ');
	CHECK(last && !strncmp(text, aperture_pci(), strlen(aperture_pci())));
	return strtoull(last, NULL, 10);
}

/* What is mapped then is neither scrubbed nor given to others until it is unmapped. */
TEST(detach_and_pinned, 60)
{
	uint64_t pinned = 77;
	uint32_t reason;
	struct bench b;
	char *mapped;

	begin(&b, IMPORTER_PINNED);
	mapped = window_map(b.e.owner, b.e.window, SIZE);
	pattern_fill(mapped, 4096, 1);
	CHECK_ERRNO(control_detach(aperture_pci(), &pinned, &reason), EINPROGRESS);
	CHECK_EQ(reason, VPEER_REASON_PINNED);
	CHECK_EQ(pinned, SIZE);
	importer_check_state(b.importer, 0, true, true);
	check_mapped(&b);
	CHECK_EQ(quarantine_pinned(), SIZE);
	CHECK_ERRNO(control_attach(aperture_pci(), 2, 0, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
	munmap(mapped, SIZE);
	close(b.e.fd);
	close(b.e.owner);
	CHECK_EQ(quarantine_pinned(), SIZE);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	attach_when_left();
	check_zero_for_next(&b);
	CHECK_EQ(importer_do(b.importer, IMPORTER_MAP), -ENODEV);
	close(b.importer);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

TEST(detach_and_slow, 60)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_slow(b.importer, true);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	importer_check_state(b.importer, 1, true, false);
	check_mapped(&b);
	close_all(&b);
	attach_when_left();
	check_zero_for_next(&b);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

static void check_fenced_in_quarantine(struct bench *b)
{
	uint32_t reason;

	CHECK_ERRNO(control_attach(aperture_pci(), 2, 0, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
	CHECK_EQ(quarantine_pinned(), SIZE);
	CHECK_EQ(importer_do(b->importer, IMPORTER_SIGNAL), 0);
	/* With every descriptor open. */
	attach_when_left();
	check_zero_for_next(b);
	close_all(b);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* What an importer is still at stays out of use, too. */
TEST(detach_and_fence, 60)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_fence(b.importer, IMPORTER_BOOKKEEPS);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	importer_check_state(b.importer, 1, false, false);
	check_fenced_in_quarantine(&b);
}

/* So does what it begins in quarantine, before it lets go. */
TEST(detach_and_fence_at_the_end, 60)
{
	struct bench b;

	begin(&b, IMPORTER_DYNAMIC);
	importer_slow(b.importer, true);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	importer_fence(b.importer, IMPORTER_BOOKKEEPS);
	CHECK_EQ(importer_do(b.importer, IMPORTER_UNMAP), 0);
	test_sleep_ms(1500);	/* three looks of the quarantine's */
	check_fenced_in_quarantine(&b);
}

/* DMA-bufs of three windows, two of them of the first; an importer each. */
#define SEVERAL	4

struct several {
	struct exported e[SEVERAL];
	int importers[SEVERAL];
};

static void several_begin(struct several *s)
{
	uint64_t behind;

	exported_begin(&s->e[0], SIZE);
	behind = s->e[0].window + SIZE;
	s->e[1] = s->e[0];
	s->e[1].fd = dmabuf_export(s->e[1].owner, s->e[1].offset, s->e[1].size);
	exported_make(&s->e[2], behind, GRANULE, 0, GRANULE);
	exported_make(&s->e[3], behind + GRANULE, GRANULE, 4096, 4096);
	for (unsigned int i = 0; i < SEVERAL; i++) {
		s->importers[i] = importer_open(vrnic_pci(i % 2), IMPORTER_DYNAMIC, NULL);
		importer_take(s->importers[i], s->e[i].fd);
	}
}

/* Of so many, the first ones: once, and they are out; the others are as they were. */
static void check_several(const struct several *s, unsigned int told)
{
	for (unsigned int i = 0; i < SEVERAL; i++) {
		importer_check_state(s->importers[i], i < told, i >= told, false);
		if (i >= told)
			importer_check_place(s->importers[i], s->e[i].physical);
	}
	CHECK_EQ(aperture_stat("dmabuf_maps"), SEVERAL - told);
}

/* No one is told again. */
static void several_end(struct several *s)
{
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_EQ(quarantine_bytes(), 0);
	for (unsigned int i = 0; i < SEVERAL; i++) {
		importer_check_state(s->importers[i], 1, false, false);
		close(s->importers[i]);
		close(s->e[i].fd);
		if (i != 1)
			close(s->e[i].owner);
	}
}

TEST(every_one_of_a_window, 30)
{
	struct several s;

	several_begin(&s);
	CHECK_OK(window_revoke(s.e[0].owner, s.e[0].window, 1000, NULL));
	check_several(&s, 2);
	several_end(&s);
}

TEST(every_one_of_a_freed_window, 30)
{
	struct several s;

	several_begin(&s);
	CHECK_OK(window_free(s.e[0].owner, s.e[0].window));
	check_several(&s, 2);
	several_end(&s);
}

TEST(every_one_of_all_windows, 30)
{
	struct vpeer_window_op all = { .argsz = sizeof(all), .flags = VPEER_REVOKE_ALL };
	struct several s;

	several_begin(&s);
	CHECK_OK(ioctl(s.e[0].owner, VPEER_IOCTL_WINDOW_REVOKE, &all));
	check_several(&s, SEVERAL);
	several_end(&s);
}

TEST(every_one_at_detach, 30)
{
	struct several s;

	several_begin(&s);
	check_several(&s, 0);
	several_end(&s);
}

/* Revoked while someone maps and unmaps as fast as it can: afterwards there is no mapping. */
TEST(mapping_while_it_goes, 120)
{
	const enum importer_mode modes[] = { IMPORTER_DYNAMIC, IMPORTER_PINNED };

	for (unsigned int round = 0; round < 20; round++) {
		struct bench b;
		pid_t pid;
		int ret;

		begin(&b, modes[round % 2]);
		pid = test_fork();
		if (!pid) {
			do
				importer_do(b.importer, IMPORTER_UNMAP);
			while (!(ret = importer_do(b.importer, IMPORTER_MAP)));
			CHECK_EQ(ret, -ENODEV);
			_exit(0);
		}
		test_sleep_ms(round);
		check_revoke(&b, 2000, 0);
		test_join(pid);
		check_unmapped(&b);
		check_dead(&b);
		end(&b);
	}
}

/* The importers themselves, with an exporter of ordinary memory. */
static void check_mover(enum importer_mode mode, bool slow, int expected, unsigned int notified)
{
	int importer = importer_open(vrnic_pci(0), mode, NULL);
	struct mover m;

	mover_make(&m, 64 * KIB);
	importer_take(importer, m.fd);
	importer_slow(importer, slow);
	CHECK_EQ(mover_do(&m, MOVER_REVOKE), expected);
	CHECK_EQ(importer_state(importer).notified, notified);
	CHECK_EQ(importer_state(importer).mapped, !!expected);
	CHECK_EQ(mover_do(&m, MOVER_MAPPED), !!expected);
	CHECK_EQ(importer_do(importer, IMPORTER_UNMAP), 0);
	CHECK_EQ(mover_do(&m, MOVER_REVOKE), 0);
	CHECK_EQ(importer_do(importer, IMPORTER_MAP), -ENODEV);
	CHECK_EQ(mover_do(&m, MOVER_RESTORE), 0);
	CHECK_EQ(importer_do(importer, IMPORTER_MAP), 0);
	close(importer);
	CHECK_EQ(mover_do(&m, MOVER_MAPPED), 0);
	mover_close(&m);
}

TEST(of_ordinary_memory, 30)
{
	bool can_revoke = importer_can_revoke(vrnic_pci(0));

	check_mover(IMPORTER_DYNAMIC, false, 0, 1);
	check_mover(IMPORTER_NO_PEER, false, 0, 1);
	check_mover(IMPORTER_DYNAMIC, true, -EBUSY, 1);
	/* Before Linux 7.1 it has to have the callback. */
	check_mover(IMPORTER_PINNED, false, -EBUSY, can_revoke ? 0 : 1);
	if (can_revoke)
		check_mover(IMPORTER_REVOCABLE, false, 0, 1);
}

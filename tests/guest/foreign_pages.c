// SPDX-License-Identifier: GPL-2.0-only
/* The driver beside which a range was shared makes struct pages of its own there. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "kmsg.h"
#include "memory.h"
#include "neighbour.h"
#include "rdma.h"

#define AT	(8 * MIB)
#define SIZE	(2 * GRANULE)

/* A window of which there cannot be pages, until the caller closes @pages. */
static char *window_without_pages(int *fd, int *pages)
{
	neighbour_alone();
	*fd = foreign_open(foreign_attach(AT, SIZE));
	*pages = neighbour_mapped(NEIGHBOUR_PAGES, AT + GRANULE, GRANULE);
	return window_map(*fd, 0, GRANULE);
}

static void end(int fd, char *mapped)
{
	munmap(mapped, GRANULE);
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* It ends with a signal, and works once the driver lets go. */
TEST(touch_while_pages_exist, 20)
{
	int fd, pages, mark = kmsg_mark();
	char *mapped = window_without_pages(&fd, &pages);

	CHECK_EQ(signal_of_write(mapped), SIGBUS);
	CHECK(kmsg_count(mark, "BAR 2: no struct pages for offset 0x0: error -16", NULL, 0) > 0);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	close(pages);
	CHECK_EQ(signal_of_write(mapped), 0);
	CHECK(owner_is(AT, mapped, 4096));
	close(mark);
	end(fd, mapped);
}

TEST(register_while_pages_exist, 20)
{
	int fd, pages;
	char *mapped = window_without_pages(&fd, &pages);
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	CHECK(!ibv_reg_mr(r.pd, mapped, GRANULE, IBV_ACCESS_LOCAL_WRITE));
	CHECK_EQ(errno, EFAULT);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
	close(pages);
	mr = rdma_reg(&r, mapped, GRANULE);
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
	end(fd, mapped);
}

/* Chunks of which the first ones can be made, which takes a while, and the last cannot. */
#define BIG		(4096 * MIB)
#define TRIES		5
#define LINGER_MS	4000	/* until chunks that no one uses are dropped */

struct race {
	int fd;
	volatile bool over;
	char *mapped;
	int signal;
};

/* Maps a window, by guessing its offset, while it is being made. */
static void *map_meanwhile(void *context)
{
	struct race *race = context;
	struct vpeer_window_info info;

	do {
		if (race->over)
			return NULL;
		info = (struct vpeer_window_info){ .argsz = sizeof(info) };
	} while (ioctl(race->fd, VPEER_IOCTL_WINDOW_INFO, &info));
	race->mapped = window_map(race->fd, 0, GRANULE);
	race->signal = signal_of_write(race->mapped);
	return NULL;
}

static void race_once(struct race *race)
{
	uint32_t reason;
	pthread_t thread;

	*race = (struct race){ .fd = aperture_open(), .signal = SIGBUS };
	CHECK_EQ(pthread_create(&thread, NULL, map_meanwhile, race), 0);
	CHECK_ERRNO(window_alloc_at(race->fd, 0, BIG, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_PAGES_EXIST);
	race->over = true;
	CHECK_EQ(pthread_join(thread, NULL), 0);
}

/* Did it map the window that failed, and not make one of its own afterwards? */
static bool race_won(const struct race *race)
{
	return !race->signal && !aperture_stat("windows");
}

static void race_end(struct race *race)
{
	if (race->mapped)
		munmap(race->mapped, GRANULE);
	close(race->fd);
}

/* What was mapped of it meanwhile is not there when the next owner comes. */
TEST(failed_alloc_leaves_no_mapping, 60)
{
	unsigned int tries = 0;
	struct race race;
	int pages, other;
	char *mapped;

	neighbour_alone();
	foreign_attach(0, BIG);
	pages = neighbour_mapped(NEIGHBOUR_PAGES, BIG - GRANULE, GRANULE);
	for (race_once(&race); !race_won(&race); race_once(&race)) {
		printf("signal %d\n", race.signal);
		CHECK(++tries < TRIES);
		race_end(&race);
		test_sleep_ms(LINGER_MS);
	}

	CHECK_EQ(signal_of_read(race.mapped), SIGBUS);
	other = aperture_open();
	CHECK_OK(window_alloc_at(other, 0, GRANULE, NULL));
	mapped = window_map(other, 0, GRANULE);
	pattern_fill(mapped, GRANULE, 131);
	CHECK_EQ(signal_of_read(race.mapped), SIGBUS);
	munmap(mapped, GRANULE);
	close(other);
	race_end(&race);
	close(pages);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

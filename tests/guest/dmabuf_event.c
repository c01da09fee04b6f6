// SPDX-License-Identifier: GPL-2.0-only
/* Events of revocations, by eventfd. */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "listener.h"
#include "memory.h"
#include "owned.h"
#include "rdma.h"
#include "witness.h"

static struct vpeer_window_op revoke_all = {
	.argsz = sizeof(revoke_all),
	.flags = VPEER_REVOKE_ALL,
};

/* A window in use, revoked by its owner: the count that this makes. */
static uint64_t count_of_a_revoke(int fd, int event)
{
	uint64_t offset = window_alloc(fd, GRANULE);

	CHECK_EQ(signal_of_write(window_map(fd, offset, GRANULE)), 0);
	CHECK_EQ(event_count(event), 0);
	CHECK_OK(window_revoke(fd, offset, 0, NULL));
	CHECK_OK(window_free(fd, offset));
	return event_count(event);
}

/* By pages alone: neither DMA-bufs nor importers are needed. */
TEST(each_revocation, 20)
{
	int fd = aperture_open(), event = event_make();

	CHECK_OK(event_ask(fd, event, NULL));
	for (int i = 0; i < 5; i++)
		CHECK_EQ(count_of_a_revoke(fd, event), 1);
	close(fd);
	close(event);
}

TEST(none_asked_for, 20)
{
	int fd = aperture_open(), event = event_make();

	CHECK_EQ(count_of_a_revoke(fd, event), 0);
	close(fd);
	close(event);
}

/* What ends of itself was not taken away. */
TEST(not_by_claims_and_ends, 20)
{
	int fd = aperture_open(), event = event_make();
	char *mapped;

	CHECK_OK(event_ask(fd, event, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	munmap(mapped, GRANULE);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	close(dmabuf_export(fd, 0, GRANULE));
	CHECK_ERRNO(window_revoke(fd, GRANULE, 0, NULL), ENOENT);
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_EQ(event_count(event), 0);
	close(fd);
	CHECK_EQ(event_count(event), 0);
	close(event);
}

TEST(implicit_window, 20)
{
	int fd = aperture_open(), event = event_make();
	char *mapped = window_map(fd, 0, GRANULE);

	mapped[0] = 1;
	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_REVOKE, &revoke_all));
	CHECK_EQ(event_count(event), 1);
	CHECK_EQ(window_info(fd, 0).cause, VPEER_CAUSE_ADMIN);
	munmap(mapped, GRANULE);
	close(fd);
	close(event);
}

TEST(own_events_only, 20)
{
	int fd = aperture_open(), other = aperture_open();
	int event = event_make(), theirs = event_make();

	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(event_ask(other, theirs, NULL));
	CHECK_OK(window_alloc_at(other, 8 * GRANULE, GRANULE, NULL));
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	CHECK_EQ(event_count(theirs), 0);
	CHECK_OK(window_revoke(other, 8 * GRANULE, 0, NULL));
	CHECK_EQ(event_count(event), 0);
	CHECK_EQ(event_count(theirs), 1);
	close(fd);
	close(other);
	close(event);
	close(theirs);
}

/* A file without windows has nothing to be told of. */
TEST(bystander, 20)
{
	int fd = aperture_open(), other = aperture_open(), event = event_make();

	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(window_alloc_at(other, 0, GRANULE, NULL));
	CHECK_OK(ioctl(other, VPEER_IOCTL_WINDOW_REVOKE, &revoke_all));
	CHECK_EQ(event_count(event), 0);
	close(other);
	close(fd);
	close(event);
}

TEST(one_eventfd_of_two_files, 20)
{
	int fd = aperture_open(), other = aperture_open(), event = event_make();

	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(event_ask(other, event, NULL));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(other, GRANULE, GRANULE, NULL));
	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_REVOKE, &revoke_all));
	CHECK_EQ(event_count(event), 2);
	close(fd);
	close(other);
	close(event);
}

TEST(replaced, 20)
{
	int fd = aperture_open(), first = event_make(), second = event_make();

	CHECK_OK(event_ask(fd, first, NULL));
	CHECK_OK(event_ask(fd, second, NULL));
	CHECK_EQ(count_of_a_revoke(fd, second), 1);
	CHECK_EQ(event_count(first), 0);
	CHECK_OK(event_ask(fd, first, NULL));
	CHECK_OK(event_ask(fd, first, NULL));
	CHECK_EQ(count_of_a_revoke(fd, first), 1);
	CHECK_EQ(event_count(second), 0);
	close(fd);
	close(first);
	close(second);
}

TEST(cleared, 20)
{
	int fd = aperture_open(), event = event_make();

	CHECK_OK(event_ask(fd, -1, NULL));
	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(event_ask(fd, -1, NULL));
	CHECK_EQ(count_of_a_revoke(fd, event), 0);
	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	close(fd);
	close(event);
}

/* Its descriptor is the program's to close. */
TEST(closed_by_the_program, 20)
{
	int fd = aperture_open(), event = event_make(), twin = dup(event), lost = event_make();

	CHECK_OK(twin);
	CHECK_OK(event_ask(fd, event, NULL));
	close(event);
	CHECK_EQ(count_of_a_revoke(fd, twin), 1);
	CHECK_OK(event_ask(fd, lost, NULL));
	close(lost);
	CHECK_EQ(count_of_a_revoke(fd, twin), 0);
	close(fd);
	close(twin);
}

/* A counter that cannot grow must not hold a revocation up. */
TEST(full_counter, 20)
{
	int fd = aperture_open(), event = eventfd(0, EFD_CLOEXEC);
	uint64_t full = UINT64_MAX - 1;

	CHECK_OK(event);
	CHECK_EQ(write(event, &full, sizeof(full)), sizeof(full));
	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK(event_count(event) >= full);
	close(fd);
	close(event);
}

TEST(semaphore_and_epoll, 20)
{
	int fd = aperture_open(), event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE);
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ready = { .events = EPOLLIN };

	CHECK_OK(event);
	CHECK_OK(epoll);
	CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, event, &ready));
	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_EQ(epoll_wait(epoll, &ready, 1, 0), 0);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_EQ(epoll_wait(epoll, &ready, 1, 5000), 1);
	CHECK_EQ(event_count(event), 1);
	CHECK_EQ(event_count(event), 0);
	close(epoll);
	close(fd);
	close(event);
}

/* Each child of fork() has the same open file and may hear of it. */
TEST(heard_in_a_child, 20)
{
	int fd = aperture_open(), event = event_make();
	pid_t pid;

	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	pid = test_fork();
	if (!pid) {
		struct pollfd wait = { .fd = event, .events = POLLIN };

		CHECK_EQ(poll(&wait, 1, 10000), 1);
		CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_REVOKED);
		_exit(0);
	}
	test_sleep_ms(50);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	test_join(pid);
	close(fd);
	close(event);
}

TEST(generation_changed_before, 30)
{
	int fd = aperture_open(), event = event_make(), epoll = event_crowd(event);
	const volatile uint64_t *page = window_generations(fd);

	CHECK_OK(event_ask(fd, event, NULL));
	for (int round = 0; round < 20; round++) {
		uint64_t offset = window_alloc(fd, GRANULE);
		const volatile uint64_t *generation = &page[window_info(fd, offset).slot];
		uint64_t before = *generation;
		struct listener l;

		listener_start(&l, event, generation);
		CHECK_OK(window_revoke(fd, offset, 0, NULL));
		CHECK(listener_end(&l) > before);
		CHECK_EQ(event_count(event), 1);
		CHECK_OK(window_free(fd, offset));
	}
	munmap((void *)page, 4096);
	close(epoll);
	close(fd);
	close(event);
}

struct pinned_revoke {
	int fd;
	int ret;
	int error;
};

static void *revoke_pinned(void *data)
{
	struct pinned_revoke *r = data;

	r->ret = window_revoke(r->fd, 0, 1500, NULL);
	r->error = errno;
	return NULL;
}

/* Who holds the pins has to be told to let them go: before they are waited for. */
TEST(comes_before_the_wait, 30)
{
	int fd = aperture_open(), event = event_make();
	char *mapped = window_map(fd, 0, GRANULE);
	struct pollfd wait = { .fd = event, .events = POLLIN };
	struct pinned_revoke revoke = { .fd = fd };
	pthread_t thread;
	struct ibv_mr *mr;
	struct rdma r;

	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_EQ(pthread_create(&thread, NULL, revoke_pinned, &revoke), 0);
	CHECK_EQ(poll(&wait, 1, 1000), 1);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_REVOKED);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_ERRNO(revoke.ret, 0);
	rdma_close(&r);
	munmap(mapped, GRANULE);
	close(fd);
	close(event);
}

/* A gone aperture has told all there is; a file without windows was told nothing. */
TEST(aperture_gone, 20)
{
	int fd = aperture_open(), idle = aperture_open();
	int event = event_make(), none = event_make();

	CHECK_OK(event_ask(fd, event, NULL));
	CHECK_OK(event_ask(idle, none, NULL));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, 4 * GRANULE, GRANULE, NULL));
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK(event_count(event) > 0);
	CHECK_EQ(event_count(none), 0);
	CHECK_EQ(window_info(fd, 0).cause, VPEER_CAUSE_DETACHED);
	CHECK_EQ(window_info(fd, 4 * GRANULE).cause, VPEER_CAUSE_DETACHED);
	close(fd);
	close(idle);
	CHECK_EQ(event_count(event), 0);
	close(event);
	close(none);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

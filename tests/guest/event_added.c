// SPDX-License-Identifier: GPL-2.0-only
/* Eventfds that are added beside the program's own, and told of every change of a generation. */
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "listener.h"
#include "memory.h"
#include "owned.h"
#include "passing.h"
#include "witness.h"

#define PAGE	4096

static int add(int fd, int event)
{
	return event_call(fd, event, VPEER_EVENT_ADD, NULL);
}

static int drop(int fd, int event)
{
	return event_call(fd, event, VPEER_EVENT_REMOVE, NULL);
}

static void check_refused(int fd, int event, uint32_t flags, int error, uint32_t why)
{
	uint32_t reason;

	CHECK_ERRNO(event_call(fd, event, flags, &reason), error);
	CHECK_EQ(reason, why);
}

/* What a revocation makes of an eventfd's count. */
static uint64_t count_of_a_revoke(int fd, int event)
{
	uint64_t offset = window_alloc(fd, GRANULE), count;

	event_count(event);
	CHECK_OK(window_revoke(fd, offset, 0, NULL));
	count = event_count(event);
	CHECK_OK(window_free(fd, offset));
	event_count(event);
	return count;
}

TEST(revoked_unmapped_freed, 20)
{
	int fd = aperture_open(), own = event_make(), event = event_make();
	char *mapped;

	CHECK_OK(event_ask(fd, own, NULL));
	CHECK_OK(add(fd, event));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	CHECK_OK(mprotect(mapped + PAGE, PAGE, PROT_READ));
	CHECK_EQ(event_count(event), 0);
	CHECK_OK(munmap(mapped, PAGE));
	CHECK_EQ(event_count(event), 1);
	CHECK_OK(munmap(mapped, PAGE));
	CHECK_EQ(event_count(event), 0);
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK(event_count(event) >= 1);
	CHECK_OK(window_free(fd, 0));
	CHECK(event_count(event) >= 1);
	CHECK_EQ(event_count(own), 0);
	CHECK_OK(window_revoke(fd, GRANULE, 0, NULL));
	CHECK_EQ(event_count(event), 1);
	CHECK_EQ(event_count(own), 1);
	close(fd);
	CHECK(event_count(event) >= 1);
	CHECK_EQ(event_count(own), 0);
	close(own);
	close(event);
}

TEST(implicit_window, 20)
{
	int fd = aperture_open(), event = event_make();
	char *mapped = window_map(fd, 0, GRANULE);

	CHECK_OK(add(fd, event));
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK_EQ(event_count(event), 1);
	CHECK(aperture_all_free());
	close(fd);
	close(event);
}

/* Each of as many as there may be, and no more; another open file has its own. */
TEST(limit, 20)
{
	int fd = aperture_open(), other = aperture_open(), events[VPEER_MAX_EVENTFDS + 1];

	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		events[i] = event_make();
	for (size_t i = 0; i < VPEER_MAX_EVENTFDS; i++)
		CHECK_OK(add(fd, events[i]));
	check_refused(fd, events[VPEER_MAX_EVENTFDS], VPEER_EVENT_ADD, ENOSPC,
		      VPEER_REASON_TOO_MANY_EVENTFDS);
	check_refused(fd, events[0], VPEER_EVENT_ADD, EEXIST, VPEER_REASON_EVENTFD_ADDED);
	CHECK_OK(add(other, events[VPEER_MAX_EVENTFDS]));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	for (size_t i = 0; i < VPEER_MAX_EVENTFDS; i++)
		CHECK_EQ(event_count(events[i]), 1);
	CHECK_EQ(event_count(events[VPEER_MAX_EVENTFDS]), 0);

	/* One goes, another one comes. */
	CHECK_OK(drop(fd, events[7]));
	CHECK_OK(add(fd, events[VPEER_MAX_EVENTFDS]));
	CHECK_OK(window_free(fd, 0));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		CHECK_EQ(!event_count(events[i]), i == 7);
		close(events[i]);
	}
	close(fd);
	close(other);
}

TEST(removed, 20)
{
	int fd = aperture_open(), event = event_make(), stays = event_make();

	CHECK_OK(add(fd, event));
	CHECK_OK(add(fd, stays));
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	CHECK_OK(drop(fd, event));
	CHECK_EQ(count_of_a_revoke(fd, event), 0);
	CHECK_EQ(count_of_a_revoke(fd, stays), 1);
	check_refused(fd, event, VPEER_EVENT_REMOVE, ENOENT, VPEER_REASON_EVENTFD_NOT_ADDED);
	CHECK_OK(add(fd, event));
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	close(fd);
	close(event);
	close(stays);
}

/* By whichever of its descriptors. */
TEST(same_eventfd, 20)
{
	int fd = aperture_open(), event = event_make(), twin = dup(event);

	CHECK_OK(twin);
	CHECK_OK(add(fd, event));
	check_refused(fd, event, VPEER_EVENT_ADD, EEXIST, VPEER_REASON_EVENTFD_ADDED);
	check_refused(fd, twin, VPEER_EVENT_ADD, EEXIST, VPEER_REASON_EVENTFD_ADDED);
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	CHECK_OK(drop(fd, twin));
	CHECK_EQ(count_of_a_revoke(fd, event), 0);
	close(fd);
	close(event);
	close(twin);
}

/* The program's own neither comes nor goes with those that are added. */
TEST(beside_the_programs_own, 20)
{
	int fd = aperture_open(), own = event_make(), event = event_make();

	CHECK_OK(add(fd, event));
	CHECK_OK(event_ask(fd, own, NULL));
	CHECK_EQ(count_of_a_revoke(fd, own), 1);
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	check_refused(fd, own, VPEER_EVENT_REMOVE, ENOENT, VPEER_REASON_EVENTFD_NOT_ADDED);
	CHECK_OK(event_ask(fd, -1, NULL));
	CHECK_EQ(count_of_a_revoke(fd, own), 0);
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	CHECK_OK(drop(fd, event));
	CHECK_OK(event_ask(fd, own, NULL));
	CHECK_EQ(count_of_a_revoke(fd, own), 1);

	/* One that is both is told as both. */
	CHECK_OK(add(fd, own));
	CHECK_EQ(count_of_a_revoke(fd, own), 2);
	close(fd);
	close(own);
	close(event);
}

TEST(refused, 20)
{
	int fd = aperture_open(), event = event_make();

	check_refused(fd, event, VPEER_EVENT_ADD | VPEER_EVENT_REMOVE, EINVAL,
		      VPEER_REASON_BAD_ARGUMENT);
	check_refused(fd, event, VPEER_EVENT_ADD | 4, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(fd, -1, VPEER_EVENT_ADD, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(fd, -1, VPEER_EVENT_REMOVE, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(fd, fd, VPEER_EVENT_ADD, EBADF, VPEER_REASON_NOT_EVENTFD);
	check_refused(fd, fd, VPEER_EVENT_REMOVE, EBADF, VPEER_REASON_NOT_EVENTFD);
	check_refused(fd, event, VPEER_EVENT_REMOVE, ENOENT, VPEER_REASON_EVENTFD_NOT_ADDED);
	CHECK_EQ(count_of_a_revoke(fd, event), 0);
	close(fd);
	close(event);
}

/* Its descriptor is the library's to close; the place goes with the open file. */
TEST(closed_by_the_library, 20)
{
	int fd = aperture_open(), event = event_make();

	for (size_t i = 0; i < VPEER_MAX_EVENTFDS; i++) {
		int lost = event_make();

		CHECK_OK(add(fd, lost));
		close(lost);
	}
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_free(fd, 0));
	check_refused(fd, event, VPEER_EVENT_ADD, ENOSPC, VPEER_REASON_TOO_MANY_EVENTFDS);
	close(fd);
	fd = aperture_open();
	CHECK_OK(add(fd, event));
	CHECK_EQ(count_of_a_revoke(fd, event), 1);
	close(fd);
	close(event);
}

/* The processes that share an open file have one each; one of them frees and unmaps. */
TEST(child_of_fork, 20)
{
	int fd = aperture_open(), event = event_make();
	char *mapped;
	pid_t pid;

	CHECK_OK(add(fd, event));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	pid = test_fork();
	if (!pid) {
		int its_own = event_make();

		CHECK_OK(add(fd, its_own));
		CHECK_OK(munmap(mapped, GRANULE));
		CHECK_EQ(event_count(its_own), 1);
		CHECK_OK(window_free(fd, 0));
		CHECK(event_count(its_own) >= 1);
		_exit(0);
	}
	test_join(pid);
	CHECK(event_count(event) >= 2);
	close(fd);
	close(event);
}

TEST(passed_on, 20)
{
	int ends[2], fd = aperture_open(), event = event_make();
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends));
	pid = test_fork();
	if (!pid) {
		struct pollfd wait = { .fd = event_make(), .events = POLLIN };
		char byte = 0;

		close(fd);
		CHECK_OK(add(receive_fd(ends[1]), wait.fd));
		CHECK_EQ(write(ends[1], &byte, 1), 1);
		CHECK_EQ(poll(&wait, 1, 10000), 1);
		_exit(0);
	}
	CHECK_OK(add(fd, event));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	send_fd(ends[0], fd);
	CHECK_EQ(read(ends[0], &(char){ 0 }, 1), 1);
	CHECK_EQ(event_count(event), 0);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_EQ(event_count(event), 1);
	test_join(pid);
	close(fd);
	close(event);
}

/* A counter that cannot grow must hold neither munmap() nor the others up. */
TEST(full_counter, 20)
{
	int fd = aperture_open(), full = eventfd(0, EFD_CLOEXEC), event = event_make();
	uint64_t most = UINT64_MAX - 1;
	char *mapped;

	CHECK_OK(full);
	CHECK_EQ(write(full, &most, sizeof(most)), sizeof(most));
	CHECK_OK(add(fd, full));
	CHECK_OK(add(fd, event));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	CHECK_OK(munmap(mapped, PAGE));
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK_EQ(event_count(event), 2);
	close(fd);
	close(full);
	close(event);
}

TEST(of_a_reader, 20)
{
	int reader = open(aperture_node(), O_RDONLY | O_CLOEXEC), event = event_make();
	void *mapped = mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, reader, 0);

	CHECK_OK(reader);
	CHECK_OK((long)mapped);
	CHECK_OK(add(reader, event));
	CHECK_OK(munmap(mapped, PAGE));
	CHECK_EQ(event_count(event), 1);
	munmap(mapped, GRANULE);
	close(reader);
	close(event);
}

TEST(generation_changed_before, 30)
{
	int fd = aperture_open(), event = event_make(), epoll = event_crowd(event);
	const volatile uint64_t *page = window_generations(fd);
	uint64_t offset = window_alloc(fd, GRANULE);
	const volatile uint64_t *generation = &page[window_info(fd, offset).slot];

	CHECK_OK(add(fd, event));
	for (int round = 0; round < 20; round++) {
		char *mapped = window_map(fd, offset, GRANULE);
		uint64_t before = *generation;
		struct listener l;

		listener_start(&l, event, generation);
		CHECK_OK(munmap(mapped, GRANULE));
		CHECK(listener_end(&l) > before);
		CHECK_EQ(event_count(event), 1);
	}
	munmap((void *)page, PAGE);
	close(epoll);
	close(fd);
	close(event);
}

TEST(aperture_gone, 20)
{
	int fd = aperture_open(), event = event_make(), late = event_make();

	CHECK_OK(add(fd, event));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK(event_count(event) >= 1);
	check_refused(fd, late, VPEER_EVENT_ADD, ENODEV, VPEER_REASON_GONE);
	check_refused(fd, late, VPEER_EVENT_REMOVE, ENOENT, VPEER_REASON_EVENTFD_NOT_ADDED);
	CHECK_OK(drop(fd, event));
	close(fd);
	CHECK_EQ(event_count(event), 0);
	CHECK_EQ(event_count(late), 0);
	close(event);
	close(late);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

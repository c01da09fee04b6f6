// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "owned.h"
#include "witness.h"

#define CROWD	5000

int event_make(void)
{
	int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	CHECK_OK(event);
	return event;
}

uint64_t event_count(int event)
{
	uint64_t count;

	if (read(event, &count, sizeof(count)) == sizeof(count))
		return count;
	CHECK_EQ(errno, EAGAIN);
	return 0;
}

int event_crowd(int event)
{
	struct rlimit limit = { CROWD + 100, CROWD + 100 };
	struct epoll_event ready = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);

	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	CHECK_OK(epoll);
	for (int i = 0; i < CROWD; i++) {
		int twin = fcntl(event, F_DUPFD_CLOEXEC, 0);

		CHECK_OK(twin);
		CHECK_OK(epoll_ctl(epoll, EPOLL_CTL_ADD, twin, &ready));
	}
	return epoll;
}

int event_call(int fd, int event, uint32_t flags, uint32_t *reason)
{
	struct vpeer_event arg = { .argsz = sizeof(arg), .flags = flags, .fd = event };
	int ret = ioctl(fd, VPEER_IOCTL_EVENT, &arg);

	if (reason)
		*reason = arg.reason;
	return ret;
}

int event_ask(int fd, int event, uint32_t *reason)
{
	return event_call(fd, event, 0, reason);
}

void witness_start(struct witness *w, uint64_t offset)
{
	w->fd = aperture_open();
	w->offset = offset;
	CHECK_OK(window_alloc_at(w->fd, offset, GRANULE, NULL));
	w->mapped = window_map(w->fd, offset, GRANULE);
	w->dmabuf = dmabuf_export(w->fd, offset, GRANULE);
	w->exported = dmabuf_map(w->dmabuf, 0, GRANULE);
	w->mapped[0] = 1;
	w->exported[GRANULE - 1] = 2;
	w->place = &window_generations(w->fd)[window_info(w->fd, offset).slot];
	w->generation = *w->place;
	w->event = event_make();
	CHECK_OK(event_ask(w->fd, w->event, NULL));
}

void witness_check_untouched(const struct witness *w)
{
	struct vpeer_window_info info = window_info(w->fd, w->offset);

	CHECK_EQ(event_count(w->event), 0);
	CHECK_EQ(*w->place, w->generation);
	CHECK_EQ(w->exported[0], 1);
	CHECK_EQ(w->mapped[GRANULE - 1], 2);
	CHECK_EQ(info.state, VPEER_WINDOW_ACTIVE);
	CHECK_EQ(info.cause, VPEER_CAUSE_NONE);
	CHECK_EQ(info.dmabufs, 1);
	CHECK_EQ(info.mappings, 2);
}

void witness_check_revoked(const struct witness *w, uint32_t cause)
{
	struct pollfd wait = { .fd = w->event, .events = POLLIN };
	struct vpeer_window_info info;

	CHECK_EQ(poll(&wait, 1, 10000), 1);
	CHECK(*w->place > w->generation);
	CHECK_EQ(signal_of_read(w->mapped), SIGBUS);
	CHECK_EQ(signal_of_write(w->mapped + GRANULE - 4096), SIGBUS);
	CHECK_EQ(signal_of_read(w->exported), SIGBUS);
	CHECK_EQ(signal_of_write(w->exported + GRANULE - 4096), SIGBUS);
	dmabuf_check_dead(w->dmabuf);
	info = window_info(w->fd, w->offset);
	CHECK_EQ(info.offset, w->offset);
	CHECK_EQ(info.size, GRANULE);
	CHECK_EQ(info.state, VPEER_WINDOW_REVOKED);
	CHECK_EQ(info.cause, cause);
	CHECK_EQ(info.generation, *w->place);
	CHECK_EQ(info.pinned_bytes, 0);
	CHECK_EQ(info.dmabufs, 1);
	test_sleep_ms(50);
	CHECK_EQ(event_count(w->event), 1);
}

void witness_end(struct witness *w)
{
	munmap(w->exported, GRANULE);
	munmap(w->mapped, GRANULE);
	munmap((void *)((uintptr_t)w->place & ~4095UL), 4096);
	close(w->dmabuf);
	close(w->event);
	close(w->fd);
}

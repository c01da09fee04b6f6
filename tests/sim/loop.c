// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "loop.h"

/* How much work runs before descriptors are looked at again. */
#define WORK_AT_ONCE	64

struct source {
	int fd;
	short events;
	bool urgent;
	loop_ready ready;
	void *arg;
	uint64_t number;	/* tells it from a later one with the same descriptor */
};

struct work {
	loop_work run;
	void *arg;
	struct work *next;
};

struct timer {
	uint64_t number, due;
	loop_work run;
	void *arg;
	struct timer *next;
};

static struct source *sources;
static size_t source_count, source_room;
static struct pollfd *polled;
static uint64_t *polled_number;
static size_t polled_room;
static struct work *first_work, **work_end = &first_work;
static struct timer *timers;	/* the next one first */
static uint64_t last_number;
static bool works, stopped;

uint64_t loop_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static struct source *source_of(int fd)
{
	for (size_t i = 0; i < source_count; i++)
		if (sources[i].fd == fd)
			return &sources[i];
	return NULL;
}

static struct source *source_numbered(uint64_t number)
{
	for (size_t i = 0; i < source_count; i++)
		if (sources[i].number == number)
			return &sources[i];
	return NULL;
}

int loop_add(int fd, short events, loop_ready ready, void *arg)
{
	if (source_count == source_room) {
		size_t room = source_room ? 2 * source_room : 16;
		struct source *larger = realloc(sources, room * sizeof(*larger));

		if (!larger)
			return -ENOMEM;
		sources = larger;
		source_room = room;
	}
	sources[source_count++] = (struct source){
		.fd = fd, .events = events, .ready = ready, .arg = arg, .number = ++last_number,
	};
	return 0;
}

void loop_change(int fd, short events)
{
	struct source *source = source_of(fd);

	if (source)
		source->events = events;
}

void loop_urgent(int fd)
{
	struct source *source = source_of(fd);

	if (source)
		source->urgent = true;
}

void loop_remove(int fd)
{
	struct source *source = source_of(fd);

	if (source)
		*source = sources[--source_count];
}

int loop_defer(loop_work run, void *arg)
{
	struct work *work = malloc(sizeof(*work));

	if (!work)
		return -ENOMEM;
	*work = (struct work){ .run = run, .arg = arg };
	*work_end = work;
	work_end = &work->next;
	return 0;
}

uint64_t loop_timer(uint64_t microseconds, loop_work run, void *arg)
{
	struct timer *timer = malloc(sizeof(*timer)), **at = &timers;

	if (!timer)
		return 0;
	*timer = (struct timer){
		.number = ++last_number, .due = loop_now() + microseconds, .run = run, .arg = arg,
	};
	while (*at && (*at)->due <= timer->due)
		at = &(*at)->next;
	timer->next = *at;
	*at = timer;
	return timer->number;
}

static void drop_timer(struct timer **at)
{
	struct timer *timer = *at;

	*at = timer->next;
	free(timer);
}

void loop_cancel(uint64_t number)
{
	for (struct timer **at = &timers; *at; at = &(*at)->next)
		if ((*at)->number == number) {
			drop_timer(at);
			return;
		}
}

void loop_forget(void *arg)
{
	struct work **at = &first_work;

	for (struct timer **timer = &timers; *timer;) {
		if ((*timer)->arg == arg)
			drop_timer(timer);
		else
			timer = &(*timer)->next;
	}
	while (*at) {
		struct work *work = *at;

		if (work->arg == arg) {
			*at = work->next;
			free(work);
		} else {
			at = &work->next;
		}
	}
	work_end = at;
}

bool loop_works(void)
{
	return works;
}

static void run(loop_work work, void *arg)
{
	works = true;
	work(arg);
	works = false;
}

static void run_timers(void)
{
	uint64_t now = loop_now();

	while (timers && timers->due <= now && !stopped) {
		struct timer due = *timers;

		drop_timer(&timers);
		run(due.run, due.arg);
	}
}

static void run_work(void)
{
	for (unsigned int i = 0; i < WORK_AT_ONCE && first_work && !stopped; i++) {
		struct work *work = first_work;
		struct work this = *work;

		first_work = work->next;
		if (!first_work)
			work_end = &first_work;
		free(work);
		run(this.run, this.arg);
	}
}

static int grow_polled(void)
{
	struct pollfd *fds;
	uint64_t *numbers;

	if (polled_room >= source_count)
		return 0;
	fds = realloc(polled, source_room * sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	polled = fds;
	numbers = realloc(polled_number, source_room * sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	polled_number = numbers;
	polled_room = source_room;
	return 0;
}

static size_t fill_polled(bool urgent)
{
	size_t count = 0;

	for (size_t i = 0; i < source_count; i++) {
		if (urgent && !sources[i].urgent)
			continue;
		polled[count] = (struct pollfd){ .fd = sources[i].fd, .events = sources[i].events };
		polled_number[count++] = sources[i].number;
	}
	return count;
}

/* microseconds: UINT64_MAX for no end */
static int poll_sources(bool urgent, uint64_t microseconds)
{
	struct timespec time = { .tv_sec = (time_t)(microseconds / 1000000),
				 .tv_nsec = (long)(microseconds % 1000000 * 1000) };
	size_t count;
	int error = grow_polled();

	if (error)
		return error;
	count = fill_polled(urgent);
	if (ppoll(polled, count, microseconds == UINT64_MAX ? NULL : &time, NULL) < 0)
		return errno == EINTR ? 0 : -errno;
	for (size_t i = 0; i < count; i++) {
		struct source *source = source_numbered(polled_number[i]);

		if (source && polled[i].revents)
			source->ready(source->fd, polled[i].revents, source->arg);
	}
	return 0;
}

static uint64_t time_to_wait(void)
{
	uint64_t now = loop_now();

	if (first_work)
		return 0;
	if (!timers)
		return UINT64_MAX;
	return timers->due > now ? timers->due - now : 0;
}

int loop_run(void)
{
	while (!stopped) {
		int error = poll_sources(false, time_to_wait());

		if (error)
			return error;
		run_timers();
		run_work();
	}
	return 0;
}

void loop_stop(void)
{
	stopped = true;
}

int loop_serve(bool (*done)(void *arg), void *arg, uint64_t microseconds)
{
	uint64_t end = loop_now() + microseconds;

	while (!done || !done(arg)) {
		uint64_t now = loop_now();
		int error;

		if (stopped)
			return -EINTR;
		if (now >= end)
			return -ETIMEDOUT;
		error = poll_sources(true, end - now);
		if (error)
			return error;
	}
	return 0;
}

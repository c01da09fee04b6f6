// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "work.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FREE_WAIT_MS	5000

/* The module keeps unused struct pages for 2 s, in case a program is run again. */
#define PAGES_KEPT_SECONDS	2.5

double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

const char *side_name(enum side side)
{
	return side == WINDOW ? "window" : "host";
}

void work_start(struct work *work)
{
	if (work->counting)
		meter_start(work->counting->meter, &work->counting->subject);
	work->started = now();
}

double work_stop(struct work *work)
{
	double seconds = now() - work->started;

	if (work->counting)
		meter_stop(work->counting->meter, &work->counting->subject,
			   &work->counting->counts);
	return seconds;
}

static int no_memory(int err, uint64_t bytes, struct vpeer_error *error)
{
	char text[BYTES_LEN];

	return vpeer_fail(error, -err, VPEER_REASON_NONE, "host memory",
			  "free memory, or name a smaller --size",
			  "cannot map %s: %s", format_bytes(bytes, text), strerror(-err));
}

int work_open_aperture(struct work *work, struct vpeer_error *error)
{
	return vpeer_open(&work->aperture, work->entry->node, error);
}

static int open_window(struct work *work, void **mapped, struct vpeer_error *error)
{
	int err = vpeer_window_alloc(work->aperture, work->bytes, VPEER_ANY_OFFSET,
				     &work->window, error);

	return err ? err : vpeer_window_map(work->window, 0, 0, PROT_READ | PROT_WRITE, mapped,
					    error);
}

static void close_window(struct work *work, void *mapped)
{
	if (mapped)
		vpeer_window_unmap(mapped, (size_t)vpeer_window_size(work->window));
	vpeer_window_free(work->window, FREE_WAIT_MS, NULL);
	work->window = NULL;
	work->idle_since = now();
}

int work_take(struct work *work, struct vpeer_error *error)
{
	void *mapped = NULL;
	int err = work_open_aperture(work, error);

	if (!err)
		err = open_window(work, &mapped, error);
	if (err)
		return err;
	work->memory[WINDOW] = mapped;
	err = host_map(&work->host, work->bytes, work->huge);
	if (err)
		return no_memory(err, work->bytes, error);
	work->memory[HOST] = work->host.start;
	for (enum side side = WINDOW; side <= HOST; side++) {
		memory_touch(work->memory[side], work->bytes);
		if (ranges_read(&work->ranges[side], work->memory[side], work->bytes))
			ranges_end(&work->ranges[side]);
	}
	return 0;
}

void work_end(struct work *work)
{
	for (enum side side = WINDOW; side <= HOST; side++) {
		if (work->mr[side])
			ibv_dereg_mr(work->mr[side]);
		ranges_end(&work->ranges[side]);
	}
	if (work->local_mr)
		ibv_dereg_mr(work->local_mr);
	if (work->initiator && work->initiator->kind == INITIATOR_RDMA)
		rdma_close(&work->rdma);
	if (work->disk >= 0)
		close(work->disk);
	close_window(work, work->memory[WINDOW]);
	host_unmap(&work->host);
	host_unmap(&work->local);
	vpeer_close(work->aperture);
}

/* A claim then has to make the struct pages, as a program's first one does. */
static void wait_for_idle_pages(const struct work *work)
{
	double left = work->idle_since + PAGES_KEPT_SECONDS - now();

	if (left > 0)
		usleep((useconds_t)(left * 1e6));
}

static int touch_window(struct work *work, double *seconds, struct vpeer_error *error)
{
	void *mapped = NULL;
	int err;

	wait_for_idle_pages(work);
	work_start(work);
	err = open_window(work, &mapped, error);
	if (!err)
		memory_touch(mapped, work->bytes);
	*seconds = work_stop(work);
	close_window(work, mapped);
	return err;
}

static int touch_host(struct work *work, double *seconds, struct vpeer_error *error)
{
	int err;

	work_start(work);
	err = host_map(&work->host, work->bytes, work->huge);
	if (!err)
		memory_touch(work->host.start, work->bytes);
	*seconds = work_stop(work);
	host_unmap(&work->host);
	return err ? no_memory(err, work->bytes, error) : 0;
}

static int touch(struct work *work, enum side side, double *seconds, struct vpeer_error *error)
{
	return side == WINDOW ? touch_window(work, seconds, error) :
				touch_host(work, seconds, error);
}

const struct operation operation_touch = {
	.name = "first touch",
	.begin = work_open_aperture,
	.run = touch,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "../selftest/disk.h"
#include "work.h"

static int broken(const struct work *work, const char *what, int err, struct vpeer_error *error)
{
	return vpeer_fail(error, -err, VPEER_REASON_NONE, work->initiator->name,
			  "see the kernel log", "%s at byte %llu: %s", what,
			  (unsigned long long)work->place, strerror(-err));
}

static int read_side(struct work *work, enum side side)
{
	return disk_read(work->disk, work->memory[side], work->bytes, work->place);
}

static int begin_read(struct work *work, struct vpeer_error *error)
{
	work->disk = disk_open("/dev", work->initiator, O_RDONLY | O_DIRECT, error);
	return work->disk < 0 ? work->disk : work_take(work, error);
}

/* What is written is what lies there, so that no end of the program changes the disk. */
static int begin_write(struct work *work, struct vpeer_error *error)
{
	const struct scratch *scratch = work->initiator->scratch;
	int err;

	work->disk = dup(scratch->fd);
	if (work->disk < 0)
		return broken(work, "cannot use the scratch range", -errno, error);
	work->place = scratch->offset;
	err = work_take(work, error);
	for (enum side side = WINDOW; !err && side <= HOST; side++) {
		err = read_side(work, side);
		if (err)
			return broken(work, "cannot read", err, error);
	}
	return err;
}

static int run_read(struct work *work, enum side side, double *seconds, struct vpeer_error *error)
{
	int err;

	work_start(work);
	err = read_side(work, side);
	*seconds = work_stop(work);
	return err ? broken(work, "cannot read", err, error) : 0;
}

static int run_write(struct work *work, enum side side, double *seconds,
		     struct vpeer_error *error)
{
	int err;

	work_start(work);
	err = disk_write(work->disk, work->memory[side], work->bytes, work->place);
	*seconds = work_stop(work);
	return err ? broken(work, "cannot write", err, error) : 0;
}

const struct operation operation_disk_read = {
	.name = "disk read", .begin = begin_read, .run = run_read,
};

const struct operation operation_disk_write = {
	.name = "disk write", .begin = begin_write, .run = run_write,
};

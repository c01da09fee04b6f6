// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include "mover.h"
#include "vrnic.h"

void mover_make(struct mover *m, uint32_t size)
{
	vrnic_load("mover", MOVER_PATH);
	m->file = open(MOVER_PATH, O_RDWR | O_CLOEXEC);
	CHECK(m->file >= 0);
	m->fd = ioctl(m->file, MOVER_EXPORT, &size);
	CHECK(m->fd >= 0);
}

void mover_close(struct mover *m)
{
	close(m->fd);
	close(m->file);
}

int mover_do(const struct mover *m, unsigned long command)
{
	int ret = ioctl(m->file, command);

	return ret < 0 ? -errno : ret;
}

/* A page at most is moved by each call. */
void mover_read(const struct mover *m, void *to, uint64_t at, uint32_t size)
{
	uint32_t done;
	ssize_t got;

	for (done = 0; done < size; done += got) {
		got = pread(m->file, (char *)to + done, size - done, at + done);
		CHECK(got > 0);
	}
}

void mover_write(const struct mover *m, const void *from, uint64_t at, uint32_t size)
{
	uint32_t done;
	ssize_t got;

	for (done = 0; done < size; done += got) {
		got = pwrite(m->file, (const char *)from + done, size - done, at + done);
		CHECK(got > 0);
	}
}

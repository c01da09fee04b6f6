// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../util.h"
#include "disk.h"

int scratch_parse(const char *text, struct scratch *scratch)
{
	char copy[320], *length, *offset;
	int err;

	*scratch = (struct scratch){ .fd = -1 };
	if (strlen(text) >= sizeof(copy))
		return -EINVAL;
	strcpy(copy, text);
	length = strrchr(copy, ':');
	if (!length)
		return -EINVAL;
	*length++ = '\0';
	offset = strrchr(copy, ':');
	if (!offset || offset == copy)
		return -EINVAL;
	*offset++ = '\0';
	if (strlen(copy) >= sizeof(scratch->device))
		return -EINVAL;
	err = parse_size(offset, &scratch->offset);
	if (!err)
		err = parse_size(length, &scratch->length);
	if (err)
		return err;
	if (!scratch->length)
		return -EINVAL;
	if (scratch->length > SCRATCH_MAX)
		return -EFBIG;
	if (scratch->offset > INT64_MAX - scratch->length)
		return -ERANGE;
	strcpy(scratch->device, copy);
	return 0;
}

static void *take_buffer(size_t length)
{
	void *buffer = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			    0);

	return buffer == MAP_FAILED ? NULL : buffer;
}

static int fail(struct vpeer_error *error, int err, const struct scratch *scratch,
		const char *what)
{
	return vpeer_fail(error, -err, VPEER_REASON_NONE, scratch->device,
			  "see the kernel log",
			  "%s the scratch range at %llu of %llu bytes: %s", what,
			  (unsigned long long)scratch->offset, (unsigned long long)scratch->length,
			  strerror(-err));
}

int scratch_check(const struct scratch *scratch, const struct initiator *disk,
		  struct vpeer_error *error)
{
	char remedy[384];

	if (scratch->offset % disk->block == 0 && scratch->length % disk->block == 0)
		return 0;
	text_format(remedy, sizeof(remedy), "use multiples of %u for offset and length",
		    disk->block);
	return vpeer_fail(error, EINVAL, VPEER_REASON_NONE, scratch->device, remedy,
			  "the scratch range at %llu of %llu bytes is not whole logical blocks of "
			  "%u bytes", (unsigned long long)scratch->offset,
			  (unsigned long long)scratch->length, disk->block);
}

int scratch_open(struct scratch *scratch, const struct initiator *disk,
		 struct vpeer_error *error)
{
	text_format(scratch->device, sizeof(scratch->device), "/dev/%s", disk->name);
	scratch->fd = disk_open("/dev", disk, O_RDWR | O_DIRECT | O_EXCL, error);
	return scratch->fd < 0 ? scratch->fd : 0;
}

void scratch_close(struct scratch *scratch)
{
	if (scratch->fd >= 0)
		close(scratch->fd);
	scratch->fd = -1;
}

int scratch_save(struct scratch *scratch, struct vpeer_error *error)
{
	int err;

	scratch->saved = take_buffer(scratch->length);
	err = scratch->saved ? disk_read(scratch->fd, scratch->saved, scratch->length,
					 scratch->offset) : -ENOMEM;
	if (!err)
		return 0;
	if (scratch->saved)
		munmap(scratch->saved, scratch->length);
	scratch->saved = NULL;
	return fail(error, err, scratch, "cannot save");
}

static int write_back(const struct scratch *scratch, void *again)
{
	int err = disk_write(scratch->fd, scratch->saved, scratch->length, scratch->offset);

	if (!err && fsync(scratch->fd))
		err = -errno;
	if (!err)
		err = disk_read(scratch->fd, again, scratch->length, scratch->offset);
	if (!err && memcmp(again, scratch->saved, scratch->length))
		err = -EIO;
	return err;
}

int scratch_restore(struct scratch *scratch, struct vpeer_error *error)
{
	void *again = take_buffer(scratch->length);
	int err = again ? write_back(scratch, again) : -ENOMEM;

	if (again)
		munmap(again, scratch->length);
	munmap(scratch->saved, scratch->length);
	scratch->saved = NULL;
	return err ? fail(error, err, scratch, "cannot restore") : 0;
}

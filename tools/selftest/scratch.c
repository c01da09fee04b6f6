// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../util.h"

#define PIECE	(1U << 20)

int scratch_parse(const char *text, struct scratch *scratch)
{
	char copy[320], *length, *offset;
	int err;

	*scratch = (struct scratch){ 0 };
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

int disk_read(int fd, void *buffer, size_t length, uint64_t offset)
{
	char *next = buffer;

	while (length) {
		ssize_t got = pread(fd, next, length < PIECE ? length : PIECE, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? -errno : -ENODATA;
		next += got;
		offset += (uint64_t)got;
		length -= (size_t)got;
	}
	return 0;
}

int disk_write(int fd, const void *buffer, size_t length, uint64_t offset)
{
	const char *next = buffer;

	while (length) {
		ssize_t put = pwrite(fd, next, length < PIECE ? length : PIECE, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put <= 0)
			return put ? -errno : -ENOSPC;
		next += put;
		offset += (uint64_t)put;
		length -= (size_t)put;
	}
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
			  err == -EBUSY ? "unmount it; a scratch range must not be in use" :
			  err == -EINVAL ? "use multiples of the logical block size" : "",
			  "%s the scratch range at %llu of %llu bytes: %s", what,
			  (unsigned long long)scratch->offset, (unsigned long long)scratch->length,
			  strerror(-err));
}

int scratch_save(struct scratch *scratch, struct vpeer_error *error)
{
	int fd = open(scratch->device, O_RDWR | O_DIRECT | O_EXCL | O_CLOEXEC);
	int err;

	if (fd < 0)
		return fail(error, -errno, scratch, "cannot open");
	scratch->saved = take_buffer(scratch->length);
	err = scratch->saved ? disk_read(fd, scratch->saved, scratch->length, scratch->offset) :
			       -ENOMEM;
	close(fd);
	if (!err)
		return 0;
	if (scratch->saved)
		munmap(scratch->saved, scratch->length);
	scratch->saved = NULL;
	return fail(error, err, scratch, "cannot save");
}

static int write_back(const struct scratch *scratch, void *again)
{
	int fd = open(scratch->device, O_RDWR | O_DIRECT | O_CLOEXEC);
	int err;

	if (fd < 0)
		return -errno;
	err = disk_write(fd, scratch->saved, scratch->length, scratch->offset);
	if (!err && fsync(fd))
		err = -errno;
	if (!err)
		err = disk_read(fd, again, scratch->length, scratch->offset);
	close(fd);
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

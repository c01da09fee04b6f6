// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The reader of /proc/PID/maps, on text of all kinds, and on this process. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cmocka.h>

#include "maps.h"

static int scan(const char *text, uint64_t start, uint64_t length, struct vpeer_maps *maps,
		uint64_t *hole)
{
	int fd = memfd_create("maps", MFD_CLOEXEC), err;
	size_t size = strlen(text);

	*hole = 0;
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	err = vpeer_maps_scan(fd, start, length, maps, hole);
	close(fd);
	if (err)
		assert_null(maps->mappings);
	return err;
}

static const char program[] =
	"00400000-00401000 r--p 00000000 08:02 173521                             /usr/bin/program\n"
	"00401000-00403000 r-xp 00001000 08:02 173521                             /usr/bin/program\n"
	"00e03000-00e24000 rw-p 00000000 00:00 0                                  [heap]\n"
	"7f0000000000-7f0000200000 rw-s 00400000 00:05 661                        /dev/vpeer0\n"
	"7f0000200000-7f0000400000 r--s 00600000 00:05 661                        /dev/vpeer0\n"
	"7f0000400000-7f0000600000 rw-s 00600000 00:05 661                        /dev/vpeer0\n"
	"7f0000600000-7f0000700000 rw-s 00800000 00:05 662                        /dev/vpeer1\n"
	"7f0000800000-7f0000801000 rw-p 00000000 00:00 0 \n"
	"7f0000801000-7f0000802000 ---p 00000000 00:00 0 \n"
	"7ffc1c2d5000-7ffc1c2f6000 rw-p 00000000 00:00 0                          [stack]\n"
	"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]\n";

static void test_one_mapping(void **state)
{
	const struct vpeer_mapping *mapping;
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	assert_int_equal(scan(program, 0xe03004, 8, &maps, &hole), 0);
	assert_int_equal(maps.count, 1);
	mapping = &maps.mappings[maps.first];
	assert_int_equal(mapping->start, 0xe03000);
	assert_int_equal(mapping->end, 0xe24000);
	assert_int_equal(mapping->offset, 0);
	assert_int_equal(mapping->inode, 0);
	assert_true(mapping->readable && mapping->writable && !mapping->shared);
	assert_string_equal(mapping->path, "[heap]");
	vpeer_maps_free(&maps);
	assert_null(maps.mappings);
}

/* What goes on before and behind in the file comes along, and only that. */
static void test_neighbours(void **state)
{
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	assert_int_equal(scan(program, 0x7f0000200010, 1, &maps, &hole), 0);
	assert_int_equal(maps.count, 2);
	assert_int_equal(maps.first, 1);
	assert_int_equal(maps.last, 1);
	assert_int_equal(maps.mappings[0].start, 0x7f0000000000);
	assert_int_equal(maps.mappings[1].device, makedev(0, 5));
	assert_int_equal(maps.mappings[1].inode, 661);
	assert_int_equal(maps.mappings[1].offset, 0x600000);
	assert_true(maps.mappings[1].readable && !maps.mappings[1].writable);
	assert_true(maps.mappings[1].shared);
	vpeer_maps_free(&maps);

	assert_int_equal(scan(program, 0x7f0000000010, 1, &maps, &hole), 0);
	assert_int_equal(maps.count, 2);
	assert_int_equal(maps.first, 0);
	assert_int_equal(maps.last, 0);
	vpeer_maps_free(&maps);

	/* The same part again, and then another file. */
	assert_int_equal(scan(program, 0x7f0000400000, 0x200000, &maps, &hole), 0);
	assert_int_equal(maps.count, 1);
	vpeer_maps_free(&maps);

	/* Anonymous memory has none. */
	assert_int_equal(scan(program, 0x7f0000801000, 1, &maps, &hole), 0);
	assert_int_equal(maps.count, 1);
	assert_false(maps.mappings[0].readable);
	assert_string_equal(maps.mappings[0].path, "");
	vpeer_maps_free(&maps);
}

static void test_several(void **state)
{
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	assert_int_equal(scan(program, 0x7f00001fffff, 0x400002, &maps, &hole), 0);
	assert_int_equal(maps.count, 4);
	assert_int_equal(maps.first, 0);
	assert_int_equal(maps.last, 3);
	assert_true(vpeer_mapping_follows(&maps.mappings[0], &maps.mappings[1]));
	assert_false(vpeer_mapping_follows(&maps.mappings[1], &maps.mappings[2]));
	assert_false(vpeer_mapping_follows(&maps.mappings[2], &maps.mappings[3]));
	vpeer_maps_free(&maps);

	assert_int_equal(scan(program, 0x7f0000800000, 0x2000, &maps, &hole), 0);
	assert_int_equal(maps.count, 2);
	assert_false(vpeer_mapping_follows(&maps.mappings[0], &maps.mappings[1]));
	vpeer_maps_free(&maps);
}

static void test_holes(void **state)
{
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	assert_int_equal(scan(program, 0, 1, &maps, &hole), -EFAULT);
	assert_int_equal(hole, 0);
	assert_int_equal(scan(program, 0x402fff, 2, &maps, &hole), -EFAULT);
	assert_int_equal(hole, 0x403000);
	assert_int_equal(scan(program, 0x7f0000600000, 0x200001, &maps, &hole), -EFAULT);
	assert_int_equal(hole, 0x7f0000700000);
	assert_int_equal(scan(program, 0x7f0000802000, 1, &maps, &hole), -EFAULT);
	assert_int_equal(hole, 0x7f0000802000);
	assert_int_equal(scan(program, 0xffffffffff600fff, 2, &maps, &hole), -EFAULT);
	assert_int_equal(hole, 0xffffffffff601000);
	assert_int_equal(scan("", 4096, 1, &maps, &hole), -EFAULT);
	assert_int_equal(hole, 4096);
}

static void test_highest(void **state)
{
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	assert_int_equal(scan(program, 0xffffffffff600000, 0x1000, &maps, &hole), 0);
	assert_string_equal(maps.mappings[0].path, "[vsyscall]");
	vpeer_maps_free(&maps);
}

static void test_paths(void **state)
{
	static const char text[] =
		"1000-2000 rw-s 00000000 fd:1f 18446744073709551615  /tmp/a b\\012c (deleted)\n"
		"2000-3000 rw-s 00000000 00:0d 77 /dmabuf:\n"
		"3000-4000 rw-s ffff0000 103:100002 78\n"
		"4000-5000 rw-s 00000000 00:01 79      /no newline";
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	assert_int_equal(scan(text, 0x1000, 0x4000, &maps, &hole), 0);
	assert_int_equal(maps.count, 4);
	assert_string_equal(maps.mappings[0].path, "/tmp/a b\\012c (deleted)");
	assert_int_equal(maps.mappings[0].device, makedev(0xfd, 0x1f));
	assert_int_equal(maps.mappings[0].inode, UINT64_MAX);
	assert_string_equal(maps.mappings[1].path, "/dmabuf:");
	assert_string_equal(maps.mappings[2].path, "");
	assert_int_equal(maps.mappings[2].device, makedev(0x103, 0x100002));
	assert_string_equal(maps.mappings[3].path, "/no newline");
	vpeer_maps_free(&maps);
}

/* Lines longer than what is read at a time, before, in and behind the range. */
static void test_long_paths(void **state)
{
	size_t length = 100000, used;
	char *text = malloc(4 * length);
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	used = (size_t)sprintf(text, "1000-2000 r--p 0 0:1 5 /");
	memset(text + used, 'x', length);
	used += length;
	used += (size_t)sprintf(text + used, "\n2000-3000 rw-p 0 0:1 6 /short\n");
	used += (size_t)sprintf(text + used, "3000-4000 r--p 0 0:1 7 /");
	memset(text + used, 'y', length);
	used += length;
	sprintf(text + used, "\n4000-5000 r--p 0 0:1 8 /last\n");

	assert_int_equal(scan(text, 0x2000, 1, &maps, &hole), 0);
	assert_string_equal(maps.mappings[maps.first].path, "/short");
	vpeer_maps_free(&maps);
	assert_int_equal(scan(text, 0x3000, 0x1001, &maps, &hole), 0);
	assert_int_equal(maps.count, 2);
	assert_int_equal(maps.mappings[0].inode, 7);
	assert_true(strspn(maps.mappings[0].path + 1, "y") > 10000);
	assert_string_equal(maps.mappings[1].path, "/last");
	vpeer_maps_free(&maps);
	free(text);
}

/* Many mappings: every line is read whole, wherever the reads cut it. */
static void test_many(void **state)
{
	const unsigned int count = 20000;
	char *text = malloc(count * 100), *end = text;
	struct vpeer_maps maps;
	unsigned int i;
	uint64_t hole;

	(void)state;
	for (i = 1; i <= count; i++)
		end += sprintf(end, "%x000-%x000 rw-p 00000000 00:05 %u  /file number %u\n", i,
			       i + 1, i, i);
	assert_int_equal(scan(text, 0x1000, (uint64_t)count << 12, &maps, &hole), 0);
	assert_int_equal(maps.count, count);
	for (i = 0; i < count; i++) {
		char path[64];

		sprintf(path, "/file number %u", i + 1);
		assert_string_equal(maps.mappings[i].path, path);
		assert_int_equal(maps.mappings[i].inode, i + 1);
	}
	vpeer_maps_free(&maps);
	assert_int_equal(scan(text, 0x1000, ((uint64_t)count << 12) + 1, &maps, &hole), -EFAULT);
	free(text);
}

static void test_no_maps(void **state)
{
	static const char *const texts[] = {
		"hello\n",
		"1000\n",
		"1000-2000\n",
		"1000-2000 rw-p\n",
		"1000-2000 rw 00000000 00:00 0\n",
		"1000-2000 rw-p 00000000 00:00\n",
		"1000-2000 rw-p 00000000 0000 0\n",
		"1000-2000 rw-p 00000000 00:00 x\n",
		"2000-1000 rw-p 00000000 00:00 0\n",
		"-1000 rw-p 00000000 00:00 0\n",
		"fffffffffffffffff-1 rw-p 00000000 00:00 0\n",
		"1000-2000 rw-p 00000000 00:00 0\n1000-3000 rw-p 00000000 00:00 0\n",
	};
	struct vpeer_maps maps;
	uint64_t hole;

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		assert_int_equal(scan(texts[i], 0x1000, 0x2000, &maps, &hole), -EIO);
	assert_int_equal(vpeer_maps_scan(-1, 0x1000, 1, &maps, &hole), -EBADF);
}

/* This process, as the kernel has it. */
static void test_self(void **state)
{
	int fd = memfd_create("seen", MFD_CLOEXEC);
	struct vpeer_maps maps;
	struct stat status;
	uint64_t hole = 0;
	char *mapped;

	(void)state;
	assert_int_equal(ftruncate(fd, 0x4000), 0);
	assert_int_equal(fstat(fd, &status), 0);
	mapped = mmap(NULL, 0x4000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_true(mapped != MAP_FAILED);
	assert_int_equal(mprotect(mapped + 0x1000, 0x1000, PROT_READ), 0);
	assert_int_equal(munmap(mapped + 0x3000, 0x1000), 0);

	assert_int_equal(vpeer_maps_read((uintptr_t)mapped + 0x1000, 0x1000, &maps, &hole), 0);
	assert_int_equal(maps.count, 3);
	assert_int_equal(maps.first, 1);
	assert_int_equal(maps.mappings[1].device, status.st_dev);
	assert_int_equal(maps.mappings[1].inode, status.st_ino);
	assert_int_equal(maps.mappings[1].offset, 0x1000);
	assert_false(maps.mappings[1].writable);
	assert_true(maps.mappings[2].writable);
	assert_non_null(strstr(maps.mappings[1].path, "memfd:seen"));
	vpeer_maps_free(&maps);

	assert_int_equal(vpeer_maps_read((uintptr_t)mapped, 0x3001, &maps, &hole), -EFAULT);
	assert_int_equal(hole, (uintptr_t)mapped + 0x3000);
	munmap(mapped, 0x3000);
	close(fd);
}

static void check_same(const struct vpeer_maps *one, const struct vpeer_maps *other)
{
	assert_int_equal(one->count, other->count);
	assert_int_equal(one->first, other->first);
	assert_int_equal(one->last, other->last);
	for (size_t i = 0; i < one->count; i++) {
		const struct vpeer_mapping *a = &one->mappings[i], *b = &other->mappings[i];

		assert_int_equal(a->start, b->start);
		assert_int_equal(a->end, b->end);
		assert_int_equal(a->offset, b->offset);
		assert_int_equal(a->device, b->device);
		assert_int_equal(a->inode, b->inode);
		assert_int_equal(a->readable, b->readable);
		assert_int_equal(a->writable, b->writable);
		assert_int_equal(a->shared, b->shared);
		assert_string_equal(a->path, b->path);
	}
}

/* Asked for one by one, mappings are what the text has. */
static void check_query(int fd, uint64_t start, uint64_t length)
{
	struct vpeer_maps queried, read;
	uint64_t hole = 0;
	int err;

	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	err = vpeer_maps_scan(fd, start, length, &read, &hole);
	assert_int_equal(vpeer_maps_query(fd, start, length, &queried), err ? -ENOENT : 0);
	if (err)
		return;
	check_same(&queried, &read);
	vpeer_maps_free(&queried);
	vpeer_maps_free(&read);
}

static void test_query(void **state)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), file = memfd_create("a b", 0);
	struct vpeer_maps maps;
	char *mapped;
	bool can;

	(void)state;
	assert_int_equal(ftruncate(file, 0x6000), 0);
	mapped = mmap(NULL, 0x6000, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	assert_true(mapped != MAP_FAILED);
	/* Kernels before 6.11 say that they cannot. */
	can = vpeer_maps_query(fd, (uintptr_t)mapped, 1, &maps) != -ENOTTY;
	vpeer_maps_free(&maps);
	assert_int_equal(mprotect(mapped + 0x1000, 0x1000, PROT_READ), 0);
	assert_int_equal(mprotect(mapped + 0x3000, 0x1000, PROT_NONE), 0);
	assert_int_equal(munmap(mapped + 0x5000, 0x1000), 0);
	for (uint64_t at = 0; can && at < 0x5000; at += 0x800)
		for (uint64_t length = 1; length <= 0x6000; length += 0x7ff)
			check_query(fd, (uintptr_t)mapped + at, length);
	if (can) {
		check_query(fd, (uintptr_t)&maps, sizeof(maps));
		check_query(fd, (uintptr_t)"constant", 1);
		check_query(fd, 0, 1);
	}
	munmap(mapped, 0x5000);
	close(file);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_mapping),
		cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_holes),
		cmocka_unit_test(test_highest),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_long_paths),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_no_maps),
		cmocka_unit_test(test_self),
		cmocka_unit_test(test_query),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What memory is, where neither module nor GPU is needed; guests have the rest. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory.h"

static void check_refused(const void *address, size_t length, int err, unsigned int reason)
{
	struct vpeer_memory_info info;
	struct vpeer_export export;
	struct vpeer_error error;

	memset(&error, 0, sizeof(error));
	assert_int_equal(vpeer_query_memory(address, length, &info, &error), -err);
	assert_int_equal(error.err, err);
	assert_int_equal(error.reason, reason);
	assert_true(error.who[0] && error.message[0]);
	assert_int_equal(info.kind, VPEER_MEMORY_UNKNOWN);
	assert_int_equal(vpeer_query_memory(address, length, &info, NULL), -err);
	assert_int_equal(vpeer_export(address, length, &export, &error), -err);
	assert_int_equal(error.reason, reason);
	assert_int_equal(export.fd, -1);
}

static void test_host(void **state)
{
	struct vpeer_memory_info info;
	struct vpeer_export export;
	struct vpeer_error error;
	char *memory;

	(void)state;
	memory = mmap(NULL, 0x4000, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(memory != MAP_FAILED);
	assert_int_equal(vpeer_query_memory(memory + 1, 0x3000, &info, &error), 0);
	assert_int_equal(error.err, 0);
	assert_int_equal(info.kind, VPEER_MEMORY_HOST);
	assert_true(info.base <= (uintptr_t)memory);
	assert_true(info.base + info.length >= (uintptr_t)memory + 0x4000);
	assert_false(info.exportable || info.device_known || info.identity || info.node[0]);
	assert_int_equal(vpeer_export(memory, 1, &export, &error), -EOPNOTSUPP);
	assert_int_equal(error.reason, VPEER_REASON_NO_DMABUF_EXPORT);
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	assert_non_null(strstr(error.message, "host memory has no DMA-buf"));
	assert_non_null(strstr(error.remedy, "vpeer_reg()"));

	munmap(memory + 0x1000, 0x1000);
	check_refused(memory, 0x4000, EFAULT, VPEER_REASON_NOT_MAPPED);
	assert_int_equal(vpeer_query_memory(memory, 0x1000, &info, &error), 0);
	munmap(memory, 0x4000);
}

static void test_ranges(void **state)
{
	char here = 0;

	(void)state;
	check_refused(&here, 0, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	check_refused(&here, SIZE_MAX, EOVERFLOW, VPEER_REASON_BAD_ARGUMENT);
	check_refused(NULL, 1, EFAULT, VPEER_REASON_NOT_MAPPED);
	/* The last byte that there is. */
	check_refused((void *)UINTPTR_MAX, 1, EFAULT, VPEER_REASON_NOT_MAPPED);
	check_refused((void *)UINTPTR_MAX, 2, EOVERFLOW, VPEER_REASON_BAD_ARGUMENT);
}

/* A name tells nothing. */
static void test_names(void **state)
{
	static const char *const names[] = { "vpeer0", "dmabuf:vpeer" };
	struct vpeer_memory_info info;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char directory[] = "/tmp/vpeer-XXXXXX", path[64];
		char *memory;
		FILE *file;

		assert_non_null(mkdtemp(directory));
		snprintf(path, sizeof(path), "%s/%s", directory, names[i]);
		file = fopen(path, "w+");
		assert_non_null(file);
		assert_int_equal(ftruncate(fileno(file), 4096), 0);
		memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
		assert_true(memory != MAP_FAILED);
		fclose(file);
		assert_int_equal(vpeer_query_memory(memory, 4096, &info, NULL), 0);
		assert_int_equal(info.kind, VPEER_MEMORY_HOST);
		assert_int_equal(unlink(path), 0);
		assert_int_equal(vpeer_query_memory(memory, 4096, &info, NULL), 0);
		assert_int_equal(info.kind, VPEER_MEMORY_HOST);
		munmap(memory, 4096);
		rmdir(directory);
	}
}

static void test_writable(void **state)
{
	static const struct {
		int prot;
		bool writable;
		unsigned int reason;
	} cases[] = {
		{ PROT_READ, false, VPEER_REASON_ACCESS },
		{ PROT_READ | PROT_WRITE, true, VPEER_REASON_NOT_PINNABLE },
		{ PROT_NONE, false, VPEER_REASON_ACCESS },
	};
	struct vpeer_finder *finder;
	struct vpeer_memory memory;

	(void)state;
	assert_int_equal(vpeer_finder_create(&finder, -1, NULL), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

		assert_true(mapped != MAP_FAILED);
		assert_int_equal(mprotect(mapped + 4096, 4096, cases[i].prot), 0);
		assert_int_equal(vpeer_memory_identify(finder, (uintptr_t)mapped + 4000, 200,
						       &memory, NULL), 0);
		assert_int_equal(memory.writable, cases[i].writable);
		assert_false(memory.cacheable);
		assert_true(vpeer_memory_valid(&memory));
		assert_int_equal(memory.ops->explain(&memory, VPEER_ROUTE_PAGES, EFAULT),
				 cases[i].reason);
		assert_int_equal(memory.ops->explain(&memory, VPEER_ROUTE_PAGES, ENOMEM), 0);
		assert_int_equal(memory.ops->explain(&memory, VPEER_ROUTE_PAGES, EOPNOTSUPP), 0);
		vpeer_memory_release(&memory);
		munmap(mapped, 8192);
	}
	vpeer_finder_destroy(finder);
}

static void test_no_dmabuf(void **state)
{
	int fd = memfd_create("plain", MFD_CLOEXEC);
	const int others[] = { fd, -1, 9999 };
	struct vpeer_memory memory;
	struct vpeer_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		assert_int_equal(vpeer_memory_from_dmabuf(others[i], 0, 1, 0, &memory, &error),
				 -EBADF);
		assert_non_null(strstr(error.message, "DMA-buf"));
		assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	}
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_writable),
		cmocka_unit_test(test_no_dmabuf),
	};

	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}

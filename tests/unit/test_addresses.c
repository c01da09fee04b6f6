// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Calls that take an address and read nothing there can be built with memory that is not
 * initialized. With -DREADERS they are others, of which the compiler cannot know that.
 */
#include <setjmp.h>
#include "fixture.h"

#include <errno.h>
#include <stdlib.h>

#include "context.h"

#ifdef READERS
int reader_query(const void *address, size_t length, struct vpeer_memory_info *info,
		 struct vpeer_error *error);
int reader_export(const void *address, size_t length, struct vpeer_export *dmabuf,
		  struct vpeer_error *error);
int reader_invalidate(struct vpeer_context *context, const void *address, size_t length);
#define QUERY		reader_query
#define EXPORT		reader_export
#define INVALIDATE	reader_invalidate
#else
#define QUERY		vpeer_query_memory
#define EXPORT		vpeer_export
#define INVALIDATE	vpeer_invalidate
#endif

static void queried(void **state)
{
	struct vpeer_memory_info info;
	char bytes[4096];

	(void)state;
	assert_int_equal(QUERY(bytes, sizeof(bytes), &info, NULL), 0);
	assert_int_equal(info.kind, VPEER_MEMORY_HOST);
}

static void exported(void **state)
{
	struct vpeer_export dmabuf;
	struct vpeer_error error;
	char bytes[4096];

	(void)state;
	assert_int_equal(EXPORT(bytes, sizeof(bytes), &dmabuf, &error), -EOPNOTSUPP);
	assert_int_equal(error.reason, VPEER_REASON_NO_DMABUF_EXPORT);
}

static void invalidated(void **state)
{
	const uint32_t alive = 1;
	struct vpeer_context context = { .alive = &alive };
	char bytes[4096];

	(void)state;
	assert_int_equal(INVALIDATE(&context, bytes, sizeof(bytes)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(queried),
		cmocka_unit_test(exported),
		cmocka_unit_test(invalidated),
	};

	return cmocka_run_group_tests_name("addresses", tests, NULL, NULL);
}

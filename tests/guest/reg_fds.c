// SPDX-License-Identifier: GPL-2.0-only
/*
 * Registrations under a limit of 256 descriptors: none is left behind, whether they succeed or not.
 * VPEER_TEST_REGISTRATIONS sets how many (1000).
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define LIMIT	256
#define SIZE	(16 * KIB)
#define FILES	20

static void begin(struct reg *t)
{
	struct rlimit limit;

	CHECK_OK(getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = LIMIT;
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	reg_begin(t, NULL);
}

static unsigned int registrations(void)
{
	const char *text = getenv("VPEER_TEST_REGISTRATIONS");

	return text ? strtoul(text, NULL, 10) : 1000;
}

static void map_again(struct reg *t)
{
	CHECK_OK(munmap(t->window, REG_SIZE));
	t->window = window_map(t->fd, REG_AT, REG_SIZE);
}

static struct vpeer_mr *reg_dmabuf(struct vpeer_context *context, int dmabuf)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;

	if (vpeer_reg_dmabuf(context, dmabuf, 4096, SIZE, 4096, NULL, &mr, &error))
		test_fail(__FILE__, __LINE__, "not registered: %s", error.message);
	return mr;
}

static void check_no_import(struct vpeer_context *context, int dmabuf)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;

	CHECK_EQ(vpeer_reg_dmabuf(context, dmabuf, 4096, SIZE, 4096, NULL, &mr, &error),
		 -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
}

/* Each makes one MR. */
static struct vpeer_mr *register_once(struct reg *t, int dmabuf, unsigned int number)
{
	const struct vpeer_reg_options alone = { .flags = VPEER_REG_NO_CACHE };

	switch (number % 5) {
	case 0:
		vpeer_context_trim(t->context, 0);
		return reg_must(t->context, t->window, SIZE, NULL);
	case 1:
		if (!t->imports)
			check_no_import(t->context, dmabuf);
		return reg_must(t->context, t->window, SIZE, &alone);
	case 2:
		return t->imports ? reg_dmabuf(t->context, dmabuf) :
				    reg_must(t->context, t->plain, SIZE, &alone);
	case 3:
		return reg_must(t->context, t->plain, SIZE, NULL);
	default:
		map_again(t);
		return reg_must(t->context, t->window, SIZE, NULL);
	}
}

TEST(many_registrations, 3000)
{
	unsigned int count = registrations(), before;
	struct vpeer_stats stats;
	struct reg t;
	int dmabuf;

	begin(&t);
	dmabuf = dmabuf_export(t.fd, REG_AT, REG_SIZE);
	before = reg_descriptors();
	for (unsigned int i = 0; i < count; i++) {
		CHECK_EQ(vpeer_dereg(register_once(&t, dmabuf, i)), 0);
		/* One more of the window's file, as long as that is used. */
		if (i % 100 == 99)
			CHECK(reg_descriptors() <= before + 1);
	}
	CHECK_OK(munmap(t.window, REG_SIZE));
	CHECK_WITHIN(reg_descriptors() == before, 2000);
	stats = reg_stats(t.context);
	CHECK(stats.registered >= count);
	CHECK_EQ(stats.deregistered, stats.registered);
	CHECK_EQ(stats.entries, 0);
	CHECK_EQ(stats.failed, t.imports ? 0 : count / 5);
	t.window = window_map(t.fd, REG_AT, REG_SIZE);
	close(dmabuf);
	reg_end(&t);
}

/* Each is open once more as long as it is in use. */
TEST(many_open_files, 60)
{
	struct vpeer_mr *mrs[FILES];
	char *windows[FILES];
	unsigned int before;
	int fds[FILES];
	struct reg t;

	begin(&t);
	before = reg_descriptors();
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < FILES; i++) {
			fds[i] = aperture_open();
			windows[i] = window_map(fds[i], (8 + i) * GRANULE, GRANULE);
			mrs[i] = reg_must(t.context, windows[i], SIZE, NULL);
		}
		CHECK_EQ(reg_descriptors(), before + 2 * FILES);
		for (int i = 0; i < FILES; i++) {
			CHECK_EQ(vpeer_dereg(mrs[i]), 0);
			close(fds[i]);
			CHECK_OK(munmap(windows[i], GRANULE));
		}
		CHECK_WITHIN(reg_descriptors() == before, 2000);
		CHECK_WITHIN(aperture_stat("windows") == 1, 2000);
	}
	reg_end(&t);
}

static void check_failed(int result, int err, const struct vpeer_error *error)
{
	if (result != -err)
		test_fail(__FILE__, __LINE__, "expected %d, got %d: %s", -err, result,
			  result ? error->message : "");
	CHECK(error->message[0]);
}

struct failing {
	struct reg *t;
	int file;
	int closed;
	int dmabuf;
	char *read_only;
	char *revoked;
};

static void fail_in_each_way(struct failing *f)
{
	const struct vpeer_reg_options peer = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM) };
	struct vpeer_range ranges[] = {
		{ f->t->window, SIZE }, { f->t->plain, SIZE }, { f->read_only, SIZE },
	};
	struct vpeer_context *context = f->t->context, *rails[] = { context, context };
	int fd = f->dmabuf;
	struct vpeer_mr *mr, *mrs[ARRAY_SIZE(ranges)];
	struct vpeer_error e;

	check_failed(vpeer_reg_dmabuf(context, -1, 0, SIZE, 0, NULL, &mr, &e), EBADF, &e);
	check_failed(vpeer_reg_dmabuf(context, f->closed, 0, SIZE, 0, NULL, &mr, &e), EBADF, &e);
	check_failed(vpeer_reg_dmabuf(context, f->file, 0, SIZE, 0, NULL, &mr, &e), EBADF, &e);
	check_failed(vpeer_reg_dmabuf(context, fd, REG_SIZE, SIZE, 0, NULL, &mr, &e), EINVAL, &e);
	check_failed(vpeer_reg_dmabuf(context, fd, 1, SIZE, 0, NULL, &mr, &e), EINVAL, &e);
	check_failed(vpeer_reg_dmabuf(context, fd, 0, SIZE, 0, &peer, &mr, &e), EPERM, &e);
	check_failed(vpeer_reg(context, f->revoked, SIZE, NULL, &mr, &e), ENODEV, &e);
	check_failed(vpeer_reg(context, f->read_only, SIZE, NULL, &mr, &e), EACCES, &e);
	check_failed(vpeer_reg(context, f->t->window, SIZE, &peer, &mr, &e), EPERM, &e);
	check_failed(vpeer_reg(context, f->t->window + GRANULE - 1, 2, NULL, &mr, &e), EFAULT, &e);
	check_failed(vpeer_reg_rails(rails, 2, f->read_only, SIZE, NULL, mrs, &e), EACCES, &e);
	check_failed(vpeer_reg_batch(context, ranges, ARRAY_SIZE(ranges), NULL, mrs, &e), EACCES,
		     &e);
}

/* With nothing mapped behind it. */
static char *map_alone(int fd, uint64_t offset, int prot)
{
	char *space = mmap(NULL, 2 * GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_OK((long)space);
	CHECK(mmap(space, GRANULE, prot, MAP_SHARED | MAP_FIXED, fd, offset) == space);
	CHECK_OK(munmap(space + GRANULE, GRANULE));
	return space;
}

TEST(failures, 120)
{
	unsigned int before;
	struct reg t;
	struct failing f = { .t = &t };

	begin(&t);
	f.file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	f.closed = 200;
	f.dmabuf = dmabuf_export(t.fd, REG_AT, REG_SIZE);
	f.read_only = map_alone(t.fd, REG_AT, PROT_READ);
	CHECK_OK(munmap(t.window, REG_SIZE));
	t.window = map_alone(t.fd, REG_AT, PROT_READ | PROT_WRITE);
	CHECK_OK(window_alloc_at(t.fd, 8 * GRANULE, GRANULE, NULL));
	f.revoked = window_map(t.fd, 8 * GRANULE, GRANULE);
	CHECK_OK(window_revoke(t.fd, 8 * GRANULE, 0, NULL));
	before = reg_descriptors();
	for (int i = 0; i < 50; i++) {
		fail_in_each_way(&f);
		CHECK(reg_descriptors() <= before + 1);
	}
	CHECK_EQ(vpeer_dereg(reg_must(t.context, t.window, SIZE, NULL)), 0);
	CHECK_OK(munmap(t.window, GRANULE));
	CHECK_WITHIN(reg_descriptors() == before, 2000);
	CHECK_EQ(reg_stats(t.context).registered, reg_stats(t.context).deregistered);
	CHECK(reg_stats(t.context).failed >= 50 * 12);
	t.window = window_map(t.fd, REG_AT, REG_SIZE);
	munmap(f.read_only, GRANULE);
	munmap(f.revoked, GRANULE);
	close(f.file);
	close(f.dmabuf);
	reg_end(&t);
}

/* All but so many descriptors are in use. */
static unsigned int fill(int *fds, unsigned int spare)
{
	unsigned int count = 0;
	int fd;

	while ((fd = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0)
		fds[count++] = fd;
	CHECK_EQ(errno, EMFILE);
	while (spare--)
		close(fds[--count]);
	return count;
}

static int try_context(struct reg *t, int dmabuf, struct vpeer_error *error)
{
	struct vpeer_context *context;
	int err = vpeer_context_create(&context, t->r.pd, NULL, error);

	(void)dmabuf;
	return err ?: vpeer_context_destroy(context, NULL);
}

static int try_memory(struct reg *t, void *memory, struct vpeer_error *error)
{
	struct vpeer_mr *mr;
	int err = vpeer_reg(t->context, memory, SIZE, NULL, &mr, error);

	return err ?: vpeer_dereg(mr);
}

static int try_window(struct reg *t, int dmabuf, struct vpeer_error *error)
{
	(void)dmabuf;
	return try_memory(t, t->window, error);
}

static int try_plain(struct reg *t, int dmabuf, struct vpeer_error *error)
{
	(void)dmabuf;
	return try_memory(t, t->plain, error);
}

static int try_dmabuf(struct reg *t, int dmabuf, struct vpeer_error *error)
{
	struct vpeer_mr *mr;
	int err = vpeer_reg_dmabuf(t->context, dmabuf, 0, SIZE, 0, NULL, &mr, error);

	return err ?: vpeer_dereg(mr);
}

static int try_export(struct reg *t, int dmabuf, struct vpeer_error *error)
{
	struct vpeer_export export;
	int err = vpeer_export(t->window, SIZE, &export, error);

	(void)dmabuf;
	if (!err)
		close(export.fd);
	return err;
}

/* Nothing is known yet of window and file. */
static void forget(struct reg *t)
{
	unsigned int before = reg_descriptors();

	map_again(t);
	vpeer_context_reclaim(t->context);
	CHECK(reg_descriptors() <= before);
}

typedef int try_call(struct reg *t, int dmabuf, struct vpeer_error *error);

static void check_scarce(struct reg *t, try_call *try, const char *name)
{
	int dmabuf = dmabuf_export(t->fd, REG_AT, REG_SIZE), fds[LIMIT], err;
	struct vpeer_error error;
	unsigned int count, spare;

	for (spare = 0, err = -EMFILE; err; spare++) {
		unsigned int before;

		forget(t);
		before = reg_descriptors();
		count = fill(fds, spare);
		err = try(t, dmabuf, &error);
		while (count--)
			close(fds[count]);
		if (err && (err != -EMFILE || error.reason != VPEER_REASON_TOO_MANY_FILES))
			test_fail(__FILE__, __LINE__, "%s, %u left: %d, reason %u: %s", name,
				  spare, err, error.reason, error.message);
		CHECK(!err || error.remedy[0]);
		forget(t);
		CHECK_EQ(reg_descriptors(), before);
	}
	printf("%s: %u descriptors are enough\n", name, spare - 1);
	CHECK(spare > 1 && spare < 10);
	close(dmabuf);
}

TEST(none_left, 60)
{
	struct reg t;

	begin(&t);
	check_scarce(&t, try_plain, "ordinary memory");
	check_scarce(&t, try_window, "window");
	if (t.imports)
		check_scarce(&t, try_dmabuf, "DMA-buf");
	check_scarce(&t, try_export, "export");
	check_scarce(&t, try_context, "context");
	reg_end(&t);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Malformed and impossible VPEER_IOCTL_DMABUF and VPEER_IOCTL_EVENT. */
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "witness.h"

#define PAGE	4096ULL

/*
 * The table's aperture: windows of the file under test at [1, 3), [3, 4), and
 * revoked at [6, 7), in granules; one of another file at [4, 5); end at size.
 */
static int fd, other;

static void set_up(void)
{
	fd = aperture_open();
	other = aperture_open();
	CHECK_OK(window_alloc_at(fd, GRANULE, 2 * GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, 3 * GRANULE, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, 6 * GRANULE, GRANULE, NULL));
	CHECK_OK(window_revoke(fd, 6 * GRANULE, 0, NULL));
	CHECK_OK(window_alloc_at(other, 4 * GRANULE, GRANULE, NULL));
}

struct refused {
	const char *what;
	uint32_t flags;
	uint64_t offset;
	uint64_t size;
	int error;
	uint32_t reason;
};

#define INVALID(what, flags, offset, size, why) \
	{ what, flags, offset, size, EINVAL, VPEER_REASON_##why }

static void check_table(const struct refused *table, size_t count)
{
	unsigned int before = descriptors();

	for (size_t i = 0; i < count; i++) {
		struct vpeer_dmabuf arg = {
			.argsz = sizeof(arg),
			.flags = table[i].flags,
			.fd = STDOUT_FILENO,
			.offset = table[i].offset,
			.size = table[i].size,
		};

		printf("%s\n", table[i].what);
		CHECK_REFUSED(fd, VPEER_IOCTL_DMABUF, &arg, table[i].error, table[i].reason);
		CHECK_EQ(descriptors(), before);
	}
	CHECK_EQ(aperture_stat("dmabufs"), 0);
	for (size_t i = 0; i < 8; i++)
		if (i == 1 || i == 3)
			close(dmabuf_export(fd, i * GRANULE, GRANULE));
}

TEST(argument, 20)
{
	static const struct refused table[] = {
		INVALID("a flag", 1, GRANULE, PAGE, BAD_ARGUMENT),
		INVALID("the last flag", 1U << 31, GRANULE, PAGE, BAD_ARGUMENT),
		INVALID("every flag", UINT32_MAX, GRANULE, PAGE, BAD_ARGUMENT),
		INVALID("size 0", 0, GRANULE, 0, BAD_ARGUMENT),
		INVALID("size 0, unaligned", 0, GRANULE + 1, 0, BAD_ARGUMENT),
		INVALID("size 0, no window there", 0, 0, 0, BAD_ARGUMENT),
		INVALID("offset + 1", 0, GRANULE + 1, PAGE, BAD_ALIGNMENT),
		INVALID("offset - 1", 0, 2 * GRANULE - 1, PAGE, BAD_ALIGNMENT),
		INVALID("offset of half a page", 0, GRANULE + 2048, PAGE, BAD_ALIGNMENT),
		INVALID("size 1", 0, GRANULE, 1, BAD_ALIGNMENT),
		INVALID("size of a page - 1", 0, GRANULE, PAGE - 1, BAD_ALIGNMENT),
		INVALID("size of a page + 1", 0, GRANULE, PAGE + 1, BAD_ALIGNMENT),
		INVALID("last offset", 0, UINT64_MAX, PAGE, BAD_ALIGNMENT),
		INVALID("largest size", 0, GRANULE, UINT64_MAX, BAD_ALIGNMENT),
		INVALID("both", 0, UINT64_MAX, UINT64_MAX, BAD_ALIGNMENT),
	};

	set_up();
	check_table(table, ARRAY_SIZE(table));
}

/* Sums near 2^64, and what is left of places when cut to 32 bits, lie inside. */
TEST(range, 20)
{
	uint64_t end = aperture_stat("size");
	const struct refused table[] = {
		INVALID("behind the end", 0, end, PAGE, BEYOND_END),
		INVALID("over the end", 0, end - PAGE, 2 * PAGE, BEYOND_END),
		INVALID("larger than all", 0, GRANULE, end + PAGE, BEYOND_END),
		INVALID("as large as all", 0, GRANULE, end, BEYOND_END),
		INVALID("wraps to the window", 0, GRANULE, -PAGE, BEYOND_END),
		INVALID("wraps to 0", 0, GRANULE, -GRANULE, BEYOND_END),
		INVALID("wraps to the window's end", 0, -GRANULE, 4 * GRANULE, BEYOND_END),
		INVALID("last page", 0, -PAGE, PAGE, BEYOND_END),
		INVALID("last page and more", 0, -PAGE, GRANULE + 2 * PAGE, BEYOND_END),
		INVALID("window + 2^32", 0, (1ULL << 32) + GRANULE, PAGE, BEYOND_END),
		INVALID("window + 2^63", 0, (1ULL << 63) + GRANULE, PAGE, BEYOND_END),
		INVALID("page + 2^32", 0, GRANULE, (1ULL << 32) + PAGE, BEYOND_END),
		INVALID("page + 2^44", 0, GRANULE, (1ULL << 44) + PAGE, BEYOND_END),
		INVALID("page + 2^63", 0, GRANULE, (1ULL << 63) + PAGE, BEYOND_END),
		INVALID("2^63", 0, 1ULL << 63, 1ULL << 63, BEYOND_END),
		INVALID("generation page", 0, VPEER_MMAP_GENERATION, PAGE, BEYOND_END),
	};

	set_up();
	check_table(table, ARRAY_SIZE(table));
}

#define AT(what, offset, size, error, why) \
	{ what, 0, offset, size, error, VPEER_REASON_##why }

TEST(window, 20)
{
	uint64_t end = aperture_stat("size");
	const struct refused table[] = {
		AT("before the window", GRANULE - PAGE, PAGE, ENOENT, NOT_OWNER),
		AT("begins before the window", GRANULE - PAGE, 2 * PAGE, ENOENT, NOT_OWNER),
		AT("no one's", 5 * GRANULE, PAGE, ENOENT, NOT_OWNER),
		AT("last page of the aperture", end - PAGE, PAGE, ENOENT, NOT_OWNER),
		AT("another file's", 4 * GRANULE, GRANULE, ENOENT, NOT_OWNER),
		AT("one page too much", GRANULE, 2 * GRANULE + PAGE, EINVAL, BEYOND_WINDOW),
		AT("from its last page on", 3 * GRANULE - PAGE, 2 * PAGE, EINVAL, BEYOND_WINDOW),
		AT("two windows", GRANULE, 3 * GRANULE, EINVAL, BEYOND_WINDOW),
		AT("into another file's", 3 * GRANULE, 2 * GRANULE, EINVAL, BEYOND_WINDOW),
		AT("to the aperture's end", GRANULE, end - GRANULE, EINVAL, BEYOND_WINDOW),
		AT("revoked", 6 * GRANULE, GRANULE, ENODEV, REVOKED),
		AT("revoked, inside", 7 * GRANULE - PAGE, PAGE, ENODEV, REVOKED),
		AT("revoked, and too long", 6 * GRANULE, 2 * GRANULE, ENODEV, REVOKED),
	};

	set_up();
	check_table(table, ARRAY_SIZE(table));
}

/* What a freed window leaves behind is no one's. */
TEST(freed_window, 20)
{
	uint32_t reason;

	set_up();
	CHECK_OK(window_free(fd, GRANULE));
	CHECK_OK(window_free(fd, 6 * GRANULE));
	CHECK_ERRNO(dmabuf_try(fd, GRANULE, PAGE, &reason), ENOENT);
	CHECK_EQ(reason, VPEER_REASON_NOT_OWNER);
	CHECK_ERRNO(dmabuf_try(fd, 6 * GRANULE, PAGE, &reason), ENOENT);
	CHECK_EQ(reason, VPEER_REASON_NOT_OWNER);
}

/* Importers may write to what they were given. */
TEST(node_open_for_reading, 20)
{
	int reader = open(aperture_node(), O_RDONLY | O_CLOEXEC);
	void *mapped = mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, reader, 0);
	unsigned int before = descriptors();
	uint32_t reason;

	CHECK_OK(reader);
	CHECK_OK((long)mapped);
	CHECK_ERRNO(dmabuf_try(reader, 0, PAGE, &reason), EACCES);
	CHECK_EQ(reason, VPEER_REASON_READ_ONLY);
	CHECK_ERRNO(dmabuf_try(reader, GRANULE, PAGE, &reason), EACCES);
	CHECK_EQ(reason, VPEER_REASON_READ_ONLY);
	CHECK_EQ(descriptors(), before);
	munmap(mapped, GRANULE);
	close(reader);
}

/* And may read it. */
TEST(node_open_for_writing, 20)
{
	int writer = open(aperture_node(), O_WRONLY | O_CLOEXEC);
	unsigned int before = descriptors();
	uint32_t reason;

	CHECK_OK(writer);
	CHECK_OK(window_alloc_at(writer, 0, GRANULE, NULL));
	CHECK_ERRNO(dmabuf_try(writer, 0, PAGE, &reason), EACCES);
	CHECK_EQ(reason, VPEER_REASON_READ_ONLY);
	CHECK_EQ(descriptors(), before);
	close(writer);
}

TEST(aperture_gone, 20)
{
	uint32_t reason;

	set_up();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	for (uint64_t at = 0; at < 7; at++) {
		CHECK_ERRNO(dmabuf_try(fd, at * GRANULE, PAGE, &reason), ENODEV);
		CHECK_EQ(reason, VPEER_REASON_GONE);
	}
	close(fd);
	close(other);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

/* A page that can be read but not written, with the call's argument in it. */
static struct vpeer_dmabuf *read_only_call(char *page, size_t at)
{
	struct vpeer_dmabuf *arg = (struct vpeer_dmabuf *)(page + at);

	arg->argsz = sizeof(*arg);
	arg->offset = GRANULE;
	arg->size = PAGE;
	return arg;
}

/* A DMA-buf whose descriptor cannot be told is not made, or at once gone again. */
TEST(result_cannot_be_told, 20)
{
	char *pages = plain_memory(2 * PAGE);
	size_t places[] = { 0, PAGE - 12, PAGE - 16, PAGE - sizeof(struct vpeer_dmabuf) + 4 };
	unsigned int before;

	set_up();
	before = descriptors();
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		struct vpeer_dmabuf *arg = read_only_call(pages, places[i]);

		CHECK_OK(mprotect(places[i] ? pages + PAGE : pages, PAGE, PROT_READ));
		CHECK_ERRNO(ioctl(fd, VPEER_IOCTL_DMABUF, arg), EFAULT);
		CHECK_OK(mprotect(pages, 2 * PAGE, PROT_READ | PROT_WRITE));
		CHECK_EQ(descriptors(), before);
		CHECK_EQ(window_info(fd, GRANULE).dmabufs, 0);
		CHECK_EQ(aperture_stat("dmabufs"), 0);
	}
	CHECK_OK(ioctl(fd, VPEER_IOCTL_DMABUF, read_only_call(pages, 0)));
	CHECK_EQ(descriptors(), before + 1);
}

static volatile int stop;

static void *flicker(void *page)
{
	while (!stop) {
		CHECK_OK(mprotect(page, PAGE, PROT_READ));
		CHECK_OK(mprotect(page, PAGE, PROT_READ | PROT_WRITE));
	}
	return NULL;
}

/* The page turns read-only at any moment of the call. */
TEST(result_page_flickers, 30)
{
	char *page = plain_memory(PAGE);
	struct vpeer_dmabuf *arg = read_only_call(page, 0);
	unsigned int before, good = 0, bad = 0;
	int64_t end = test_now_ms() + 15000;
	pthread_t thread;

	set_up();
	before = descriptors();
	CHECK_EQ(pthread_create(&thread, NULL, flicker, page), 0);
	while ((good < 200 || bad < 20) && test_now_ms() < end) {
		if (!ioctl(fd, VPEER_IOCTL_DMABUF, arg)) {
			good++;
			close(arg->fd);
		} else {
			CHECK_EQ(errno, EFAULT);
			bad++;
		}
		CHECK_EQ(descriptors(), before);
	}
	stop = 1;
	CHECK_EQ(pthread_join(thread, NULL), 0);
	printf("%u exported, %u failed\n", good, bad);
	CHECK(good && bad);
	CHECK_EQ(window_info(fd, GRANULE).dmabufs, 0);
}

TEST(no_descriptor_left, 30)
{
	struct rlimit limit = { 64, 64 };
	int dmabufs[64], made = 0;
	uint32_t reason;

	set_up();
	CHECK_OK(setrlimit(RLIMIT_NOFILE, &limit));
	while ((dmabufs[made] = dmabuf_try(fd, GRANULE, PAGE, &reason)) >= 0) {
		made++;
		CHECK(made < 64);
	}
	CHECK_ERRNO(-1, EMFILE);
	CHECK_EQ(reason, VPEER_REASON_TOO_MANY_FILES);
	CHECK(made > 20);
	CHECK_EQ(window_info(fd, GRANULE).dmabufs, made);
	CHECK_ERRNO(dmabuf_try(fd, GRANULE, PAGE, &reason), EMFILE);
	CHECK_EQ(window_info(fd, GRANULE).dmabufs, made);
	/* Bad arguments are told before. */
	CHECK_ERRNO(dmabuf_try(fd, 0, PAGE, &reason), ENOENT);
	CHECK_EQ(reason, VPEER_REASON_NOT_OWNER);
	close(dmabufs[--made]);
	dmabufs[made] = dmabuf_export(fd, GRANULE, PAGE);
	for (int i = 0; i <= made; i++)
		close(dmabufs[i]);
	CHECK_EQ(window_info(fd, GRANULE).dmabufs, 0);
}

static void refuse_event(int file, int event, int error, uint32_t why)
{
	uint32_t reason = 77;

	CHECK_ERRNO(event_ask(file, event, &reason), error);
	CHECK_EQ(reason, why);
}

TEST(event_flags, 20)
{
	struct vpeer_event arg = { .argsz = sizeof(arg), .fd = event_make() };

	set_up();
	for (unsigned int bit = 2; bit < 32; bit++) {
		arg.flags = 1U << bit;
		CHECK_REFUSED(fd, VPEER_IOCTL_EVENT, &arg, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	}
	arg.flags = 0;
	CHECK_OK(ioctl(fd, VPEER_IOCTL_EVENT, &arg));
}

/* What was asked for before stays. */
TEST(not_an_eventfd, 20)
{
	int numbers[] = { INT_MAX, 1000000, 500 }, pipes[2];
	int event = event_make();

	set_up();
	CHECK_OK(pipe(pipes));
	CHECK_OK(event_ask(fd, event, NULL));
	int files[] = {
		open("/dev/null", O_RDWR | O_CLOEXEC), open("/", O_PATH | O_CLOEXEC),
		open("/proc/self/status", O_RDONLY | O_CLOEXEC), pipes[0], pipes[1],
		timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC), epoll_create1(EPOLL_CLOEXEC),
		fd, other, control_open(), dmabuf_export(fd, GRANULE, PAGE),
	};

	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		refuse_event(fd, numbers[i], EBADF, VPEER_REASON_NOT_EVENTFD);
	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		CHECK_OK(files[i]);
		refuse_event(fd, files[i], EBADF, VPEER_REASON_NOT_EVENTFD);
	}
	refuse_event(fd, -2, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	refuse_event(fd, INT_MIN, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	CHECK_OK(window_revoke(fd, GRANULE, 0, NULL));
	CHECK_EQ(event_count(event), 1);
}

/* Being told of its own windows takes no permission to write. */
TEST(event_of_a_reader, 20)
{
	int reader = open(aperture_node(), O_RDONLY | O_CLOEXEC), event = event_make();
	void *mapped = mmap(NULL, GRANULE, PROT_READ, MAP_SHARED, reader, 0);

	CHECK_OK(reader);
	CHECK_OK((long)mapped);
	CHECK_OK(event_ask(reader, event, NULL));
	CHECK_OK(window_revoke(reader, 0, 0, NULL));
	CHECK_EQ(event_count(event), 1);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	munmap(mapped, GRANULE);
	close(reader);
	close(event);
}

/* The result of a call that has none to give cannot be told either. */
TEST(event_on_a_read_only_page, 20)
{
	struct vpeer_event *arg = plain_memory(PAGE);

	set_up();
	arg->argsz = sizeof(*arg);
	arg->fd = event_make();
	CHECK_OK(mprotect(arg, PAGE, PROT_READ));
	CHECK_ERRNO(ioctl(fd, VPEER_IOCTL_EVENT, arg), EFAULT);
	CHECK_OK(window_revoke(fd, GRANULE, 0, NULL));
	CHECK_EQ(event_count(arg->fd), 0);
}

/* It would be waited for in vain. */
TEST(event_of_a_gone_aperture, 20)
{
	int event = event_make();

	set_up();
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	refuse_event(fd, event, ENODEV, VPEER_REASON_GONE);
	CHECK_OK(event_ask(fd, -1, NULL));
	close(fd);
	close(other);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

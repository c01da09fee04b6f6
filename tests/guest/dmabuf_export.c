// SPDX-License-Identifier: GPL-2.0-only
/* Parts of windows as DMA-bufs, as CPUs see them. */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "owned.h"

#define PAGE	4096ULL
#define RW	(PROT_READ | PROT_WRITE)

/* Three views of the same bytes: DMA-buf, window, the memory's owner. */
TEST(same_bytes, 20)
{
	int fd = aperture_open(), dmabuf;
	char *window, *exported;

	CHECK_OK(window_alloc_at(fd, GRANULE, 2 * GRANULE, NULL));
	window = window_map(fd, GRANULE, 2 * GRANULE);
	dmabuf = dmabuf_export(fd, GRANULE, 2 * GRANULE);
	exported = dmabuf_map(dmabuf, 0, 2 * GRANULE);
	CHECK(all_zero(exported, 2 * GRANULE));

	pattern_fill(exported, 2 * GRANULE, 201);
	CHECK(pattern_is(window, 2 * GRANULE, 201));
	CHECK(owner_is(GRANULE, exported, 2 * GRANULE));
	pattern_fill(window, 2 * GRANULE, 202);
	CHECK(pattern_is(exported, 2 * GRANULE, 202));
	window[GRANULE] ^= 1;
	CHECK(!pattern_is(exported, 2 * GRANULE, 202));
	owner_write(2 * GRANULE - 8, "from out", 8);
	CHECK(!memcmp(exported + GRANULE - 8, "from out", 8));
	CHECK(!memcmp(window + GRANULE - 8, "from out", 8));
	close(dmabuf);
	close(fd);
}

/* The bytes around a part stay as they are. */
static void check_part(int fd, uint64_t start, uint64_t offset, uint64_t size, uint64_t seed)
{
	int dmabuf = dmabuf_export(fd, start + offset, size);
	char *exported = dmabuf_map(dmabuf, 0, size);
	char before[PAGE], after[PAGE];

	CHECK_EQ(dmabuf_size(dmabuf), size);
	owner_read(start + offset - PAGE, before, PAGE);
	owner_read(start + offset + size, after, PAGE);
	pattern_fill(exported, size, seed);
	CHECK(owner_is(start + offset, exported, size));
	CHECK(owner_is(start + offset - PAGE, before, PAGE));
	CHECK(owner_is(start + offset + size, after, PAGE));
	munmap(exported, size);

	exported = dmabuf_map(dmabuf, size - PAGE, PAGE);
	CHECK(owner_is(start + offset + size - PAGE, exported, PAGE));
	munmap(exported, PAGE);
	close(dmabuf);
}

TEST(any_pages_of_a_window, 30)
{
	static const uint64_t parts[][2] = {
		{ 0, PAGE }, { PAGE, PAGE }, { 3 * PAGE, 5 * PAGE },
		{ GRANULE - PAGE, 2 * PAGE }, { GRANULE, GRANULE },
		{ GRANULE / 2, 2 * GRANULE }, { 3 * GRANULE - PAGE, PAGE },
		{ PAGE, 3 * GRANULE - PAGE }, { 0, 3 * GRANULE },
	};
	int fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 2 * GRANULE, 3 * GRANULE, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		check_part(fd, 2 * GRANULE, parts[i][0], parts[i][1], 210 + i);
	CHECK_EQ(window_info(fd, 2 * GRANULE).dmabufs, 0);
	close(fd);
}

TEST(ends_of_the_aperture, 20)
{
	uint64_t size = aperture_stat("size");
	int fd = aperture_open(), first, last;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, size, NULL));
	first = dmabuf_export(fd, 0, PAGE);
	last = dmabuf_export(fd, size - PAGE, PAGE);
	mapped = dmabuf_map(first, 0, PAGE);
	pattern_fill(mapped, PAGE, 221);
	CHECK(owner_is(0, mapped, PAGE));
	mapped = dmabuf_map(last, 0, PAGE);
	pattern_fill(mapped, PAGE, 222);
	CHECK(owner_is(size - PAGE, mapped, PAGE));
	close(first);
	close(last);
	close(fd);
}

TEST(descriptor, 20)
{
	int fd = aperture_open(), dmabuf;
	char path[64], text[1024];

	CHECK_OK(window_alloc_at(fd, 0, 4 * GRANULE, NULL));
	dmabuf = dmabuf_export(fd, PAGE, 3 * GRANULE);
	CHECK_EQ(fcntl(dmabuf, F_GETFD), FD_CLOEXEC);
	CHECK_EQ(fcntl(dmabuf, F_GETFL) & O_ACCMODE, O_RDWR);
	CHECK_EQ(dmabuf_size(dmabuf), 3 * GRANULE);
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", dmabuf);
	CHECK(sysfs_read(path, text, sizeof(text)));
	CHECK(strstr(text, "exp_name:\tvpeer\n"));
	CHECK(strstr(text, "size:\t6291456\n"));
	close(dmabuf);
	close(fd);
}

/* What an earlier owner left, seen on the memory's side. */
static void leave_bytes(uint64_t offset, uint64_t size, uint64_t seed)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, offset, size);

	pattern_fill(mapped, size, seed);
	munmap(mapped, size);
	close(fd);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

static bool owner_side_is(uint64_t offset, uint64_t size, uint64_t seed)
{
	char *bytes = plain_memory(size);
	bool same;

	owner_read(offset, bytes, size);
	same = seed ? pattern_is(bytes, size, seed) : all_zero(bytes, size);
	munmap(bytes, size);
	return same;
}

/* Zeroed by the export itself: an importer reads without any fault. */
TEST(no_earlier_owners_bytes, 30)
{
	int fd, dmabuf;

	leave_bytes(0, 2 * GRANULE, 231);
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, 3 * GRANULE, NULL));
	CHECK(owner_side_is(0, 2 * GRANULE, 231));
	dmabuf = dmabuf_export(fd, GRANULE - PAGE, 2 * PAGE);
	CHECK(owner_side_is(0, 2 * GRANULE, 0));
	CHECK(all_zero(dmabuf_map(dmabuf, 0, 2 * PAGE), 2 * PAGE));
	CHECK(all_zero(window_map(fd, 0, 3 * GRANULE), 3 * GRANULE));
	close(dmabuf);
	close(fd);
}

/* Bytes that came through a DMA-buf alone are someone's, too. */
TEST(zero_for_the_next_owner, 30)
{
	int fd = aperture_open(), dmabuf;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	pattern_fill(dmabuf_map(dmabuf, 0, GRANULE), GRANULE, 232);
	CHECK(owner_side_is(0, GRANULE, 232));
	CHECK_OK(window_free(fd, 0));
	close(dmabuf);
	close(fd);
	fd = aperture_open();
	CHECK(all_zero(window_map(fd, 0, GRANULE), GRANULE));
	close(fd);
}

/* Written to by an importer only, which the module does not see. */
TEST(zero_for_the_next_owner_unmapped, 30)
{
	char *bytes = plain_memory(GRANULE);
	int fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	close(dmabuf_export(fd, 0, GRANULE));
	pattern_fill(bytes, GRANULE, 233);
	owner_write(0, bytes, GRANULE);
	close(fd);
	fd = aperture_open();
	CHECK(all_zero(window_map(fd, 0, GRANULE), GRANULE));
	close(fd);
}

/* The owner's own bytes are not: neither by the first export nor a later one. */
TEST(own_bytes_stay, 30)
{
	int fd = aperture_open(), first, second;
	uint64_t scrubbed;
	char *window;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	window = window_map(fd, 0, GRANULE);
	pattern_fill(window, GRANULE, 234);
	scrubbed = aperture_stat("bytes_scrubbed");
	first = dmabuf_export(fd, 0, GRANULE);
	CHECK(pattern_is(window, GRANULE, 234));
	second = dmabuf_export(fd, PAGE, GRANULE - PAGE);
	CHECK(pattern_is(dmabuf_map(first, 0, GRANULE), GRANULE, 234));
	CHECK(!memcmp(dmabuf_map(second, 0, PAGE), window + PAGE, PAGE));
	CHECK_EQ(aperture_stat("bytes_scrubbed"), scrubbed);
	close(first);
	close(second);
	close(fd);
}

TEST(overlapping_exports, 20)
{
	int fd = aperture_open(), whole, left, right;
	char *a, *b, *c;

	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	whole = dmabuf_export(fd, 0, 2 * GRANULE);
	left = dmabuf_export(fd, 0, GRANULE + PAGE);
	right = dmabuf_export(fd, GRANULE - PAGE, GRANULE + PAGE);
	CHECK_EQ(window_info(fd, 0).dmabufs, 3);
	CHECK_EQ(aperture_stat("dmabufs"), 3);
	a = dmabuf_map(whole, 0, 2 * GRANULE);
	b = dmabuf_map(left, 0, GRANULE + PAGE);
	c = dmabuf_map(right, 0, GRANULE + PAGE);
	pattern_fill(c, GRANULE + PAGE, 241);
	CHECK(!memcmp(a + GRANULE - PAGE, c, GRANULE + PAGE));
	CHECK(!memcmp(b + GRANULE - PAGE, c, 2 * PAGE));
	CHECK(all_zero(a, GRANULE - PAGE));
	CHECK_EQ(window_info(fd, 0).mappings, 3);
	munmap(a, 2 * GRANULE);
	close(whole);
	CHECK_EQ(window_info(fd, 0).dmabufs, 2);
	CHECK(!memcmp(b + GRANULE - PAGE, c, 2 * PAGE));
	close(left);
	close(right);
	close(fd);
}

TEST(counters, 20)
{
	int fd = aperture_open(), dmabuf, twin;
	struct vpeer_window_info info;
	char *mapped;

	CHECK_EQ(aperture_stat("dmabufs"), 0);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	twin = dup(dmabuf);
	CHECK_OK(twin);
	mapped = dmabuf_map(dmabuf, 0, PAGE);
	info = window_info(fd, 0);
	CHECK_EQ(info.dmabufs, 1);
	CHECK_EQ(info.mappings, 1);
	CHECK_EQ(info.mapped_bytes, 0);
	CHECK_EQ(info.pinned_bytes, 0);
	CHECK_EQ(info.cause, VPEER_CAUSE_NONE);
	CHECK_EQ(window_info(fd, GRANULE).dmabufs, 0);
	CHECK_EQ(aperture_stat("dmabufs"), 1);
	CHECK_EQ(aperture_stat("dmabuf_maps"), 0);
	CHECK_EQ(aperture_stat("dmabuf_bytes_mapped"), 0);
	CHECK_EQ(aperture_stat("mappings"), 1);
	close(dmabuf);
	munmap(mapped, PAGE);
	CHECK_EQ(window_info(fd, 0).dmabufs, 1);
	close(twin);
	CHECK_EQ(window_info(fd, 0).dmabufs, 0);
	CHECK_EQ(window_info(fd, 0).mappings, 0);
	CHECK_EQ(aperture_stat("dmabufs"), 0);
	close(fd);
}

static const struct {
	uint64_t flags;
	int error;
} syncs[] = {
	{ DMA_BUF_SYNC_START | DMA_BUF_SYNC_READ, 0 },
	{ DMA_BUF_SYNC_END | DMA_BUF_SYNC_READ, 0 },
	{ DMA_BUF_SYNC_START | DMA_BUF_SYNC_WRITE, 0 },
	{ DMA_BUF_SYNC_END | DMA_BUF_SYNC_WRITE, 0 },
	{ DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW, 0 },
	{ DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW, 0 },
	{ 0, EINVAL },
	{ 1ULL << 40, EINVAL },
};

TEST(sync, 20)
{
	int fd = aperture_open(), dmabuf;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, PAGE, PAGE);
	mapped = dmabuf_map(dmabuf, 0, PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(syncs); i++) {
		CHECK_ERRNO(dmabuf_sync(dmabuf, syncs[i].flags), syncs[i].error);
		pattern_fill(mapped, PAGE, 250 + i);
		CHECK(owner_is(PAGE, mapped, PAGE));
	}
	close(dmabuf);
	close(fd);
}

static const struct {
	const char *what;
	uint64_t offset;
	uint64_t size;
	int prot;
	int flags;
	int error;
} refused[] = {
	{ "private", 0, PAGE, RW, MAP_PRIVATE, EINVAL },
	{ "private, to read", 0, PAGE, PROT_READ, MAP_PRIVATE, EINVAL },
	{ "executable", 0, PAGE, PROT_READ | PROT_EXEC, MAP_SHARED, EPERM },
	{ "behind the end", 3 * PAGE, PAGE, RW, MAP_SHARED, EINVAL },
	{ "over the end", 2 * PAGE, 2 * PAGE, RW, MAP_SHARED, EINVAL },
	{ "larger", 0, GRANULE, RW, MAP_SHARED, EINVAL },
	{ "wrapped", -PAGE, 2 * PAGE, RW, MAP_SHARED, EOVERFLOW },
	{ "generations", VPEER_MMAP_GENERATION, PAGE, PROT_READ, MAP_SHARED, EINVAL },
};

TEST(mappings_refused, 20)
{
	int fd = aperture_open(), dmabuf;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, PAGE, 3 * PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		printf("%s\n", refused[i].what);
		CHECK_ERRNO((long)mmap(NULL, refused[i].size, refused[i].prot, refused[i].flags,
				       dmabuf, refused[i].offset), refused[i].error);
	}
	CHECK_EQ(window_info(fd, 0).mappings, 0);
	CHECK_OK((long)mmap(NULL, 3 * PAGE, RW, MAP_SHARED, dmabuf, 0));
	close(dmabuf);
	close(fd);
}

TEST(mapping_changed_later, 20)
{
	char *place = mmap(NULL, GRANULE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = aperture_open(), dmabuf;
	char *mapped, *moved;

	CHECK_OK((long)place);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, PAGE, 4 * PAGE);
	mapped = dmabuf_map(dmabuf, 0, 4 * PAGE);
	pattern_fill(mapped, 4 * PAGE, 261);
	CHECK_ERRNO(mprotect(mapped, PAGE, PROT_READ | PROT_EXEC), EACCES);
	CHECK(vma_has_flag(mapped, " dd"));
	CHECK(vma_has_flag(mapped, " de"));
	CHECK((long)mremap(mapped, 4 * PAGE, 5 * PAGE, MREMAP_MAYMOVE) == -1);
	CHECK((long)mremap(mapped, 4 * PAGE, 5 * PAGE, 0) == -1);
	moved = mremap(mapped, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	CHECK_OK((long)moved);
	CHECK_EQ(signal_of_read(mapped), SIGSEGV);
	CHECK(pattern_is(moved, 4 * PAGE, 261));
	CHECK_OK(munmap(moved + PAGE, PAGE));
	CHECK_EQ(window_info(fd, 0).mappings, 2);
	CHECK(owner_is(PAGE, moved, PAGE));
	CHECK(owner_is(3 * PAGE, moved + 2 * PAGE, 2 * PAGE));
	CHECK_OK(mprotect(moved, PAGE, PROT_READ));
	CHECK_EQ(signal_of_write(moved), SIGSEGV);
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_EQ(signal_of_read(moved), SIGBUS);
	CHECK_EQ(signal_of_read(moved + 3 * PAGE), SIGBUS);
	close(dmabuf);
	close(fd);
}

/*
 * Who was handed a part has no more than it: neither the rest of the window nor
 * others, whatever the kernel takes its mapping for.
 */
TEST(nothing_else_by_remapping, 20)
{
	static const uint64_t pages[] = { 0, 1, 2, 3, 511, 512, 1024, 2 * GRANULE / PAGE };
	int fd = aperture_open(), dmabuf;
	char *window, *mapped;

	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	window = window_map(fd, 0, 2 * GRANULE);
	memset(window, 'w', 2 * GRANULE);
	dmabuf = dmabuf_export(fd, PAGE, 2 * PAGE);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		mapped = dmabuf_map(dmabuf, 0, 2 * PAGE);
		memset(mapped, 'd', 2 * PAGE);
		if (!syscall(SYS_remap_file_pages, mapped, PAGE, 0, pages[i], 0) &&
		    !signal_of_read(mapped))
			CHECK_EQ(*mapped, 'd');
		munmap(mapped, 2 * PAGE);
	}
	CHECK_EQ(aperture_stat("windows"), 1);
	munmap(window, 2 * GRANULE);
	close(dmabuf);
	close(fd);
}

TEST(fork, 20)
{
	int fd = aperture_open(), dmabuf;
	char *mapped;
	pid_t pid;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	dmabuf = dmabuf_export(fd, 0, GRANULE);
	mapped = dmabuf_map(dmabuf, 0, GRANULE);
	mapped[1] = 1;
	pid = test_fork();
	if (!pid) {
		CHECK_EQ(mapped[1], 1);
		mapped[2] = 2;
		CHECK_EQ(window_info(fd, 0).mappings, 2);
		CHECK_EQ(window_info(fd, 0).dmabufs, 1);
		((char *)dmabuf_map(dmabuf, PAGE, PAGE))[3] = 3;
		_exit(0);
	}
	test_join(pid);
	CHECK_EQ(mapped[2], 2);
	CHECK_EQ(mapped[PAGE + 3], 3);
	CHECK_EQ(window_info(fd, 0).mappings, 1);
	close(dmabuf);
	close(fd);
}

/* As many as a process may have descriptors, each of a page. */
TEST(many, 60)
{
	static int dmabufs[900];
	int fd = aperture_open();
	char *window;

	CHECK_OK(window_alloc_at(fd, 0, 2 * GRANULE, NULL));
	window = window_map(fd, 0, 2 * GRANULE);
	pattern_fill(window, 2 * GRANULE, 271);
	for (size_t i = 0; i < ARRAY_SIZE(dmabufs); i++)
		dmabufs[i] = dmabuf_export(fd, i * PAGE, PAGE);
	CHECK_EQ(window_info(fd, 0).dmabufs, ARRAY_SIZE(dmabufs));
	for (size_t i = 0; i < ARRAY_SIZE(dmabufs); i++) {
		char *mapped = dmabuf_map(dmabufs[i], 0, PAGE);

		CHECK(!memcmp(mapped, window + i * PAGE, PAGE));
		munmap(mapped, PAGE);
	}
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	for (size_t i = 0; i < ARRAY_SIZE(dmabufs); i++) {
		dmabuf_check_dead(dmabufs[i]);
		close(dmabufs[i]);
	}
	CHECK_EQ(window_info(fd, 0).dmabufs, 0);
	close(fd);
}

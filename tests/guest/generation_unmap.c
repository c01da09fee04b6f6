// SPDX-License-Identifier: GPL-2.0-only
/* What becomes of a window's generation when its mappings go. */
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "owned.h"

#define PAGE	4096
#define RW	(PROT_READ | PROT_WRITE)
#define SIZE	(2 * GRANULE)
#define BESIDE	(8 * GRANULE)	/* where another window is */

/* A mapped window, and another one of the same file, which stays as it is. */
struct watched {
	int fd;
	char *at;
	char *beside;
	const volatile uint64_t *own;
	const volatile uint64_t *other;
	uint64_t own_seen;
	uint64_t other_seen;
};

static void watch(struct watched *w)
{
	const volatile uint64_t *page;

	w->fd = aperture_open();
	page = window_generations(w->fd);
	CHECK_OK(window_alloc_at(w->fd, 0, SIZE, NULL));
	CHECK_OK(window_alloc_at(w->fd, BESIDE, GRANULE, NULL));
	w->own = &page[window_info(w->fd, 0).slot];
	w->other = &page[window_info(w->fd, BESIDE).slot];
	w->own_seen = *w->own;
	w->other_seen = *w->other;
	w->at = window_map(w->fd, 0, SIZE);
	w->beside = window_map(w->fd, BESIDE, GRANULE);
	memset(w->at, 0x11, SIZE);
	memset(w->beside, 0x22, GRANULE);
}

/* Has the window's generation changed since the last look? The other one never has. */
static bool changed(struct watched *w)
{
	uint64_t now = __atomic_load_n(w->own, __ATOMIC_ACQUIRE);
	bool grown = now > w->own_seen;

	CHECK(now >= w->own_seen);
	CHECK_EQ(*w->other, w->other_seen);
	CHECK_EQ(window_info(w->fd, 0).generation, now);
	w->own_seen = now;
	return grown;
}

/* Without a mapping there is nothing to tell. */
static void unwatch(struct watched *w)
{
	munmap(w->at, SIZE);
	changed(w);
	CHECK_EQ(window_info(w->fd, 0).mappings, 0);
	munmap(w->at, SIZE);
	CHECK(!changed(w));
	munmap(w->beside, GRANULE);
	CHECK(*w->other > w->other_seen);
	munmap((void *)((uintptr_t)w->own & ~4095UL), PAGE);
	close(w->fd);
}

static void *room(size_t size)
{
	void *at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_OK((long)at);
	return at;
}

static void cover(void *at, size_t size)
{
	CHECK(mmap(at, size, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == at);
}

TEST(unmapped, 10)
{
	struct watched w;

	watch(&w);
	CHECK(!changed(&w));
	CHECK_OK(munmap(w.at, SIZE));
	CHECK(changed(&w));
	w.at = window_map(w.fd, 0, SIZE);
	CHECK(!changed(&w));
	unwatch(&w);
}

TEST(unmapped_in_part, 10)
{
	static const uint64_t pages[] = { 0, 17 * PAGE, GRANULE, SIZE - PAGE };
	struct watched w;

	watch(&w);
	for (size_t i = 0; i < ARRAY_SIZE(pages); i++) {
		CHECK_OK(munmap(w.at + pages[i], PAGE));
		CHECK(changed(&w));
		CHECK_OK(munmap(w.at + pages[i], PAGE));
		CHECK(!changed(&w));
	}
	CHECK_EQ(w.at[PAGE], 0x11);
	unwatch(&w);
}

/* One of two mappings is enough: what was registered has the addresses of that one. */
TEST(one_of_two_mappings, 10)
{
	struct watched w;
	char *second;

	watch(&w);
	second = window_map(w.fd, GRANULE, GRANULE);
	CHECK(!changed(&w));
	CHECK_OK(munmap(second, GRANULE));
	CHECK(changed(&w));
	CHECK_EQ(w.at[GRANULE], 0x11);
	unwatch(&w);
}

TEST(covered, 10)
{
	struct watched w;

	watch(&w);
	cover(w.at + 5 * PAGE, PAGE);
	CHECK(changed(&w));
	cover(w.at + 5 * PAGE, PAGE);
	CHECK(!changed(&w));
	CHECK(mmap(w.at + GRANULE, PAGE, RW, MAP_SHARED | MAP_FIXED, w.fd, GRANULE) ==
	      w.at + GRANULE);
	CHECK(changed(&w));
	cover(w.at, SIZE);
	CHECK(changed(&w));
	unwatch(&w);
}

TEST(moved, 10)
{
	struct watched w;
	char *place = room(SIZE);

	watch(&w);
	CHECK(mremap(w.at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
	CHECK(changed(&w));
	w.at = place;
	place = room(PAGE);
	CHECK(mremap(w.at + PAGE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, place) == place);
	CHECK(changed(&w));
	CHECK_OK(munmap(place, PAGE));
	CHECK(changed(&w));
	unwatch(&w);
}

/* It loses its addresses to memory that is moved there. */
TEST(moved_over, 10)
{
	struct watched w;
	char *plain = plain_memory(PAGE);

	watch(&w);
	CHECK(mremap(plain, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, w.at) == w.at);
	CHECK(changed(&w));
	unwatch(&w);
}

TEST(shrunk, 10)
{
	struct watched w;

	watch(&w);
	CHECK(mremap(w.at, SIZE, SIZE, 0) == w.at);
	CHECK(!changed(&w));
	CHECK(mremap(w.at, SIZE, GRANULE, 0) == w.at);
	CHECK(changed(&w));
	unwatch(&w);
}

/* Memory and addresses stay together, into however many pieces the mapping is cut. */
TEST(protected_and_advised, 10)
{
	struct watched w;

	watch(&w);
	CHECK_OK(mprotect(w.at + PAGE, PAGE, PROT_READ));
	CHECK_OK(mprotect(w.at + GRANULE, GRANULE, PROT_NONE));
	CHECK_EQ(window_info(w.fd, 0).mappings, 4);
	CHECK_OK(mprotect(w.at, SIZE, RW));
	CHECK_OK(madvise(w.at, SIZE, MADV_DONTNEED));
	CHECK_OK(madvise(w.at + PAGE, PAGE, MADV_DONTFORK));
	CHECK_OK(msync(w.at, SIZE, MS_ASYNC));
	CHECK(!changed(&w));
	CHECK_EQ(w.at[SIZE - 1], 0x11);
	unwatch(&w);
}

TEST(mapping_of_a_dmabuf, 10)
{
	struct watched w;
	int dmabuf;
	char *mapped;

	watch(&w);
	dmabuf = dmabuf_export(w.fd, GRANULE, GRANULE);
	mapped = dmabuf_map(dmabuf, 0, GRANULE);
	CHECK_EQ(mapped[0], 0x11);
	CHECK(!changed(&w));
	CHECK_OK(munmap(mapped, PAGE));
	CHECK(changed(&w));
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK(changed(&w));
	close(dmabuf);
	CHECK(!changed(&w));
	unwatch(&w);
}

TEST(implicit_window, 10)
{
	int fd = aperture_open();
	const volatile uint64_t *page = window_generations(fd);
	char *mapped = window_map(fd, 0, GRANULE);
	uint32_t slot = window_info(fd, 0).slot;
	uint64_t seen = page[slot];

	CHECK_OK(munmap(mapped + PAGE, PAGE));
	CHECK(page[slot] > seen);
	seen = page[slot];
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK(page[slot] > seen);
	CHECK(aperture_all_free());
	close(fd);
}

/* What is left of a freed window is not the business of who has its slot and place now. */
TEST(mapping_of_a_freed_window, 10)
{
	int fd = aperture_open();
	const volatile uint64_t *page = window_generations(fd);
	uint32_t slot;
	uint64_t seen;
	char *mapped;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	slot = window_info(fd, 0).slot;
	mapped = window_map(fd, 0, GRANULE);
	CHECK_OK(window_free(fd, 0));
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_EQ(window_info(fd, 0).slot, slot);
	seen = page[slot];
	CHECK_OK(munmap(mapped, GRANULE));
	CHECK_EQ(page[slot], seen);
	close(fd);
}

static void exits(struct watched *w)
{
	CHECK_EQ(w->at[0], 0x11);
}

static void executes(struct watched *w)
{
	CHECK_EQ(w->at[0], 0x11);
	execl("/bin/true", "true", NULL);
	_exit(127);
}

static void unmaps(struct watched *w)
{
	CHECK_OK(munmap(w->at, SIZE));
	CHECK(changed(w));
}

static void in_child(struct watched *w, void (*run)(struct watched *w))
{
	pid_t pid = test_fork();

	if (!pid) {
		run(w);
		_exit(0);
	}
	test_join(pid);
	CHECK_WITHIN(window_info(w->fd, 0).mappings == 1, 5000);
}

TEST(child_of_fork, 20)
{
	struct watched w;
	pid_t pid;

	watch(&w);
	in_child(&w, exits);
	CHECK(!changed(&w));
	in_child(&w, executes);
	CHECK(!changed(&w));
	pid = test_fork();
	if (!pid)
		for (;;)
			pause();
	CHECK_EQ(window_info(w.fd, 0).mappings, 2);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	CHECK_WITHIN(window_info(w.fd, 0).mappings == 1, 5000);
	CHECK(!changed(&w));
	in_child(&w, unmaps);
	CHECK(changed(&w));
	CHECK_EQ(w.at[0], 0x11);
	unwatch(&w);
}

/* It has its parent's address space until it executes. */
TEST(child_of_vfork, 10)
{
	struct watched w;
	int status;
	pid_t pid;

	watch(&w);
	pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(127);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	CHECK(!changed(&w));
	unwatch(&w);
}

// SPDX-License-Identifier: GPL-2.0-only
/* The generation page. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"

static void *map(int fd, size_t size, int prot)
{
	return mmap(NULL, size, prot, MAP_SHARED, fd, VPEER_MMAP_GENERATION);
}

static const volatile uint64_t *generations(int fd)
{
	void *page = map(fd, 4096, PROT_READ);

	CHECK_OK((long)page);
	return page;
}

TEST(read_only, 10)
{
	int fd = aperture_open();
	void *page = map(fd, 4096, PROT_READ);

	CHECK_OK((long)page);
	CHECK_EQ(signal_of_read(page), 0);
	CHECK_EQ(signal_of_write(page), SIGSEGV);
	CHECK_ERRNO(mprotect(page, 4096, PROT_READ | PROT_WRITE), EACCES);
	CHECK_ERRNO(mprotect(page, 4096, PROT_READ | PROT_EXEC), EACCES);
	CHECK_ERRNO((long)map(fd, 4096, PROT_READ | PROT_WRITE), EPERM);
	CHECK_ERRNO((long)map(fd, 4096, PROT_READ | PROT_EXEC), EPERM);
	close(fd);
}

TEST(one_page, 10)
{
	int fd = aperture_open();

	CHECK_ERRNO((long)map(fd, 8192, PROT_READ), EINVAL);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd,
			       VPEER_MMAP_GENERATION + 4096), EINVAL);
	close(fd);
}

/* A private mapping would still be read-only, but mprotect could copy it. */
TEST(no_private_copy, 10)
{
	int fd = aperture_open();
	void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, VPEER_MMAP_GENERATION);

	if (page != MAP_FAILED)
		CHECK_ERRNO(mprotect(page, 4096, PROT_READ | PROT_WRITE), EACCES);
	else
		CHECK_EQ(errno, EINVAL);
	close(fd);
}

TEST(grows_on_revoke_and_reuse, 10)
{
	int fd = aperture_open();
	const volatile uint64_t *page = generations(fd);
	uint64_t offset = window_alloc(fd, GRANULE);
	struct vpeer_window_info info = window_info(fd, offset);
	uint64_t first = page[info.slot], revoked;

	CHECK(first > 0);
	CHECK_EQ(info.generation, first);
	CHECK_OK(window_revoke(fd, offset, 0, NULL));
	revoked = page[info.slot];
	CHECK(revoked > first);
	CHECK_EQ(window_info(fd, offset).generation, revoked);
	CHECK_OK(window_free(fd, offset));
	offset = window_alloc(fd, GRANULE);
	CHECK_EQ(window_info(fd, offset).slot, info.slot);
	CHECK(page[info.slot] > revoked);
	close(fd);
}

TEST(still_while_nothing_happens, 10)
{
	int fd = aperture_open();
	const volatile uint64_t *page = generations(fd);
	uint64_t kept = window_alloc(fd, GRANULE), other = window_alloc(fd, GRANULE);
	uint32_t slot = window_info(fd, kept).slot;
	uint64_t before = page[slot];
	char *mapped = window_map(fd, kept, GRANULE);

	mapped[0] = 1;
	CHECK_OK(window_revoke(fd, other, 0, NULL));
	CHECK_OK(window_free(fd, other));
	CHECK(slot != window_info(fd, window_alloc(fd, GRANULE)).slot);
	CHECK_EQ(page[slot], before);
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(own_page_per_file, 10)
{
	int fd = aperture_open(), other = aperture_open();
	const volatile uint64_t *page = generations(fd), *empty = generations(other);
	uint64_t offset = window_alloc(fd, GRANULE);
	uint32_t slot = window_info(fd, offset).slot;

	CHECK(page[slot] > 0);
	CHECK_EQ(empty[slot], 0);
	close(fd);
	close(other);
}

TEST(outlives_the_descriptor, 10)
{
	int fd = aperture_open();
	const volatile uint64_t *page = generations(fd);
	uint32_t slot = window_info(fd, window_alloc(fd, GRANULE)).slot;
	uint64_t before = page[slot];

	CHECK(before > 0);
	close(fd);
	CHECK_EQ(page[slot], before);
	munmap((void *)page, 4096);
}

struct watch {
	const volatile uint64_t *generation;
	const volatile char *mapped;
	uint64_t seen;
	volatile int ready;
};

/*
 * Whoever still reads the window after a look at the generation and sees the
 * same value again afterwards has read valid memory: the value must have
 * changed by the time the access faults.
 */
static void *reader(void *data)
{
	struct watch *watch = data;

	watch->ready = 1;
	while (!signal_of_read((const void *)watch->mapped))
		;
	watch->seen = __atomic_load_n(watch->generation, __ATOMIC_ACQUIRE);
	return NULL;
}

TEST(bumped_before_access_stops, 30)
{
	int fd = aperture_open();
	const volatile uint64_t *page = generations(fd);

	for (unsigned int round = 0; round < 50; round++) {
		uint64_t offset = window_alloc(fd, GRANULE);
		uint32_t slot = window_info(fd, offset).slot;
		struct watch watch = {
			.generation = &page[slot],
			.mapped = window_map(fd, offset, GRANULE),
		};
		uint64_t before = page[slot];
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, reader, &watch), 0);
		while (!watch.ready)
			;
		CHECK_OK(window_revoke(fd, offset, 0, NULL));
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK(watch.seen > before);
		munmap((void *)watch.mapped, GRANULE);
		CHECK_OK(window_free(fd, offset));
	}
	close(fd);
}

/* Takes the window's addresses as soon as they are free: is it told by then? */
struct taker {
	char *at;
	const volatile uint64_t *generation;
	uint64_t seen;
	volatile int ready;
};

static void *take_addresses(void *data)
{
	struct taker *taker = data;
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;

	taker->ready = 1;
	while (mmap(taker->at, 4096, PROT_READ, flags, -1, 0) != taker->at)
		;
	taker->seen = __atomic_load_n(taker->generation, __ATOMIC_ACQUIRE);
	return NULL;
}

TEST(bumped_before_addresses_are_free, 30)
{
	int fd = aperture_open();
	const volatile uint64_t *page = generations(fd);
	uint64_t offset = window_alloc(fd, 2 * GRANULE);
	uint32_t slot = window_info(fd, offset).slot;

	for (unsigned int round = 0; round < 50; round++) {
		char *mapped = window_map(fd, offset, 2 * GRANULE);
		struct taker taker = { .at = mapped + 4096, .generation = &page[slot] };
		uint64_t before = page[slot];
		pthread_t thread;

		memset(mapped, round, 2 * GRANULE);
		CHECK_EQ(pthread_create(&thread, NULL, take_addresses, &taker), 0);
		while (!taker.ready)
			;
		CHECK_OK(munmap(mapped, 2 * GRANULE));
		CHECK_EQ(pthread_join(thread, NULL), 0);
		CHECK(taker.seen > before);
		CHECK_OK(munmap(taker.at, 4096));
	}
	close(fd);
}

// SPDX-License-Identifier: GPL-2.0-only
/* Mappings moved, cut and duplicated, with registrations on them. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define PAGE	4096
#define RW	(PROT_READ | PROT_WRITE)
#define HOLE	(17 * PAGE)	/* in the first granule */
#define SIZE	(2 * GRANULE)
#define NEAR	(128 * KIB)	/* around the hole */

/* Two granules under 2 MiB entries, with a pattern. */
struct mapping {
	int fd;
	char *at;
	char *expected;
};

static void mapping_make(struct mapping *m)
{
	uint64_t before = aperture_stat("faults_2m");

	m->fd = aperture_open();
	m->at = window_map(m->fd, 0, SIZE);
	m->expected = plain_memory(SIZE);
	pattern_fill(m->expected, SIZE, 101);
	memcpy(m->at, m->expected, SIZE);
	CHECK_EQ(aperture_stat("faults_2m") - before, SIZE / GRANULE);
}

/* Everything is given back by the last unmapping. */
static void mapping_end(struct mapping *m)
{
	munmap(m->at, SIZE);
	CHECK(aperture_all_free());
	close(m->fd);
}

static void check_owner(const struct mapping *m)
{
	CHECK(owner_is(0, m->expected, NEAR));
	CHECK(owner_is(GRANULE - PAGE, m->expected + GRANULE - PAGE, 2 * PAGE));
	CHECK(owner_is(SIZE - PAGE, m->expected + SIZE - PAGE, PAGE));
}

/* All bytes but a page at @HOLE. */
static void check_around_hole(const struct mapping *m)
{
	CHECK(!memcmp(m->at, m->expected, HOLE));
	CHECK(!memcmp(m->at + HOLE + PAGE, m->expected + HOLE + PAGE, SIZE - HOLE - PAGE));
	check_owner(m);
}

static void write_around_hole(struct mapping *m)
{
	pattern_fill(m->expected, SIZE, 102);
	memcpy(m->at, m->expected, HOLE);
	memcpy(m->at + HOLE + PAGE, m->expected + HOLE + PAGE, SIZE - HOLE - PAGE);
	CHECK(owner_is(0, m->expected, HOLE));
	CHECK(owner_is(HOLE + PAGE, m->expected + HOLE + PAGE, NEAR - HOLE - PAGE));
	pattern_fill(m->expected, SIZE, 101);
	memcpy(m->at, m->expected, HOLE);
	memcpy(m->at + HOLE + PAGE, m->expected + HOLE + PAGE, SIZE - HOLE - PAGE);
}

TEST(split_by_munmap, 20)
{
	struct mapping m;

	mapping_make(&m);
	CHECK_OK(munmap(m.at + HOLE, PAGE));
	CHECK_EQ(signal_of_read(m.at + HOLE), SIGSEGV);
	check_around_hole(&m);
	write_around_hole(&m);
	check_around_hole(&m);
	CHECK_EQ(window_info(m.fd, 0).mappings, 2);
	mapping_end(&m);
}

TEST(split_by_mprotect, 20)
{
	struct mapping m;

	mapping_make(&m);
	CHECK_OK(mprotect(m.at + HOLE, PAGE, PROT_READ));
	CHECK_EQ(signal_of_write(m.at + HOLE), SIGSEGV);
	check_around_hole(&m);
	CHECK(!memcmp(m.at, m.expected, SIZE));
	write_around_hole(&m);
	CHECK_OK(mprotect(m.at + HOLE, PAGE, PROT_NONE));
	CHECK_EQ(signal_of_read(m.at + HOLE), SIGSEGV);
	CHECK_OK(mprotect(m.at, SIZE, RW));
	CHECK(!memcmp(m.at, m.expected, SIZE));
	CHECK_EQ(signal_of_write(m.at + HOLE), 0);
	mapping_end(&m);
}

TEST(split_by_mremap, 20)
{
	struct mapping m;
	char *moved;

	mapping_make(&m);
	moved = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_OK((long)moved);
	CHECK(mremap(m.at + HOLE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, moved) == moved);
	CHECK(!memcmp(moved, m.expected + HOLE, PAGE));
	CHECK_EQ(signal_of_read(m.at + HOLE), SIGSEGV);
	check_around_hole(&m);
	write_around_hole(&m);
	pattern_fill(moved, PAGE, 103);
	CHECK(owner_is(HOLE, moved, PAGE));
	CHECK_EQ(window_info(m.fd, 0).mappings, 3);
	CHECK_OK(munmap(m.at, SIZE));
	CHECK_EQ(window_info(m.fd, 0).mappings, 1);
	CHECK_OK(munmap(moved, PAGE));
	mapping_end(&m);
}

TEST(shrunk, 20)
{
	struct mapping m;

	mapping_make(&m);
	CHECK(mremap(m.at, SIZE, GRANULE + PAGE, 0) == m.at);
	CHECK(!memcmp(m.at, m.expected, GRANULE + PAGE));
	CHECK_EQ(signal_of_read(m.at + GRANULE + PAGE), SIGSEGV);
	CHECK(mremap(m.at, GRANULE + PAGE, HOLE, 0) == m.at);
	CHECK(!memcmp(m.at, m.expected, HOLE));
	CHECK_EQ(signal_of_read(m.at + HOLE), SIGSEGV);
	check_owner(&m);
	mapping_end(&m);
}

/* To a place where 2 MiB entries fit, and to one where they do not. */
static void check_move(uint64_t skew)
{
	char *room = mmap(NULL, 2 * SIZE + PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *place = room + GRANULE - (uintptr_t)room % GRANULE + skew;
	struct mapping m;
	char *before;

	CHECK_OK((long)room);
	mapping_make(&m);
	before = m.at;
	m.at = mremap(before, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, place);
	CHECK(m.at == place);
	CHECK_EQ(signal_of_read(before), SIGSEGV);
	CHECK(!memcmp(m.at, m.expected, SIZE));
	write_around_hole(&m);
	check_around_hole(&m);
	CHECK_EQ(window_info(m.fd, 0).mappings, 1);
	mapping_end(&m);
}

TEST(moved_aligned, 20)
{
	check_move(0);
}

TEST(moved_unaligned, 20)
{
	check_move(PAGE);
}

/* A registration names memory, not addresses: it holds whatever becomes of the mapping. */
TEST(registered_and_cut, 30)
{
	struct ibv_mr *mr, *local;
	struct mapping m;
	uint64_t remote;
	struct rdma r;
	char *plain = plain_memory(PAGE);

	mapping_make(&m);
	rdma_open(&r);
	mr = rdma_reg(&r, m.at, SIZE);
	local = rdma_reg(&r, plain, PAGE);
	remote = (uintptr_t)m.at + HOLE;
	CHECK_OK(munmap(m.at + HOLE, PAGE));
	CHECK_OK(mprotect(m.at, HOLE, PROT_READ));
	CHECK_EQ(aperture_stat("bytes_pinned"), SIZE);
	pattern_fill(plain, PAGE, 104);
	CHECK_EQ(rdma_write(&r, local, remote, mr->rkey, PAGE), IBV_WC_SUCCESS);
	CHECK(owner_is(HOLE, plain, PAGE));
	memcpy(m.expected + HOLE, plain, PAGE);
	check_around_hole(&m);
	munmap(m.at, SIZE);
	CHECK_EQ(aperture_stat("bytes_pinned"), SIZE);
	CHECK(!aperture_all_free());
	CHECK_EQ(rdma_write(&r, local, remote + GRANULE, mr->rkey, PAGE), IBV_WC_SUCCESS);
	CHECK(owner_is(HOLE + GRANULE, plain, PAGE));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_EQ(ibv_dereg_mr(local), 0);
	rdma_close(&r);
	mapping_end(&m);
}

/* All pieces of a window lose access at once, wherever they lie. */
TEST(revoked_in_pieces, 20)
{
	struct mapping m;
	char *moved;

	mapping_make(&m);
	CHECK_OK(mprotect(m.at + HOLE, PAGE, PROT_READ));
	moved = mremap(m.at + GRANULE, GRANULE, GRANULE, MREMAP_MAYMOVE | MREMAP_FIXED,
		       (char *)plain_memory(SIZE) + PAGE);
	CHECK_OK((long)moved);
	CHECK(!memcmp(moved, m.expected + GRANULE, GRANULE));
	CHECK_OK(window_revoke(m.fd, 0, 0, NULL));
	CHECK_EQ(signal_of_read(m.at), SIGBUS);
	CHECK_EQ(signal_of_read(m.at + HOLE), SIGBUS);
	CHECK_EQ(signal_of_read(m.at + HOLE + PAGE), SIGBUS);
	CHECK_EQ(signal_of_write(moved), SIGBUS);
	CHECK_EQ(signal_of_write(moved + GRANULE - 1), SIGBUS);
	munmap(moved, GRANULE);
	mapping_end(&m);
}

/*
 * An old size of 0 duplicates a shared mapping where the kernel allows it for
 * mappings that must not grow: then as one more mapping of the same window.
 */
TEST(duplicated, 20)
{
	struct mapping m;
	char *twin;

	mapping_make(&m);
	twin = mremap(m.at, 0, SIZE, MREMAP_MAYMOVE);
	if (twin != MAP_FAILED) {
		CHECK_EQ(window_info(m.fd, 0).mappings, 2);
		CHECK(!memcmp(twin, m.expected, SIZE));
		CHECK_OK(window_revoke(m.fd, 0, 0, NULL));
		CHECK_EQ(signal_of_read(twin), SIGBUS);
		munmap(twin, SIZE);
	} else {
		CHECK_EQ(errno, EFAULT);
		CHECK_EQ(window_info(m.fd, 0).mappings, 1);
	}
	/* Never more than there was. */
	CHECK((long)mremap(m.at, 0, SIZE + PAGE, MREMAP_MAYMOVE) == -1);
	mapping_end(&m);
}

TEST(left_behind, 20)
{
	struct mapping m;

	mapping_make(&m);
	CHECK_ERRNO((long)mremap(m.at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL),
		    EINVAL);
	check_around_hole(&m);
	CHECK_EQ(window_info(m.fd, 0).mappings, 1);
	mapping_end(&m);
}

/* Moving one window's mapping over another's ends the other's claim. */
TEST(moved_over_a_window, 20)
{
	struct mapping m;
	char *victim;

	mapping_make(&m);
	victim = window_map(m.fd, 8 * GRANULE, SIZE);
	memset(victim, 0x5a, SIZE);
	CHECK_EQ(aperture_stat("windows"), 2);
	CHECK(mremap(m.at, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, victim) == victim);
	m.at = victim;
	CHECK_EQ(aperture_stat("windows"), 1);
	CHECK(!memcmp(victim, m.expected, SIZE));
	victim = window_map(m.fd, 8 * GRANULE, GRANULE);
	CHECK(all_zero(victim, GRANULE));
	munmap(victim, GRANULE);
	mapping_end(&m);
}

// SPDX-License-Identifier: GPL-2.0-only
/* madvise(), NUMA calls and userfaultfd on registered windows: refused, or harmless. */
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <linux/userfaultfd.h>
#include <signal.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE 101
#endif
#ifndef MADV_GUARD_INSTALL
#define MADV_GUARD_INSTALL 102
#endif
#ifndef UFFD_FEATURE_WP_ASYNC
#define UFFD_FEATURE_WP_ASYNC (1 << 15)
#endif
#define PAGE	4096
#define SIZE	(2 * GRANULE)

/* A registered window that is mapped by 2 MiB entries, or by pages. */
struct subject {
	struct rdma rdma;
	struct ibv_mr *mr;
	int fd;
	char *at;
	char *expected;
};

static void subject_make(struct subject *s, uint64_t skew)
{
	s->fd = aperture_open();
	CHECK_OK(window_alloc_at(s->fd, 0, SIZE, NULL));
	s->at = mmap((void *)(0x500000000000 + skew), SIZE, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_FIXED_NOREPLACE, s->fd, 0);
	CHECK_OK((long)s->at);
	s->expected = plain_memory(SIZE);
	pattern_fill(s->expected, SIZE, 131);
	memcpy(s->at, s->expected, SIZE);
	rdma_open(&s->rdma);
	s->mr = rdma_reg(&s->rdma, s->at, SIZE);
}

/* Same bytes on both sides, same memory under mapping and registration. */
static void subject_check(struct subject *s)
{
	struct ibv_mr *local = rdma_reg(&s->rdma, s->expected, SIZE);

	CHECK_EQ(aperture_stat("bytes_pinned"), SIZE);
	CHECK(!memcmp(s->at, s->expected, SIZE));
	s->expected[PAGE]++;
	CHECK_EQ(rdma_write(&s->rdma, local, (uintptr_t)s->at, s->mr->rkey, 2 * PAGE),
		 IBV_WC_SUCCESS);
	CHECK_EQ(s->at[PAGE], s->expected[PAGE]);
	CHECK(owner_is(0, s->expected, 4 * PAGE));
	CHECK_EQ(ibv_dereg_mr(local), 0);
}

static void subject_end(struct subject *s)
{
	munmap(s->at, SIZE);
	CHECK_EQ(aperture_stat("bytes_pinned"), SIZE);
	CHECK_EQ(ibv_dereg_mr(s->mr), 0);
	/* Not one reference is left: nothing to drain. */
	CHECK_OK(window_revoke(s->fd, 0, 0, NULL));
	close(s->fd);
	CHECK(aperture_all_free());
	rdma_close(&s->rdma);
}

static void on_both(void (*run)(struct subject *s))
{
	static const uint64_t skews[] = { 0, PAGE };
	struct subject s;

	for (size_t i = 0; i < ARRAY_SIZE(skews); i++) {
		subject_make(&s, skews[i]);
		run(&s);
		subject_check(&s);
		subject_end(&s);
	}
}

static void advise_harmless(struct subject *s)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_COLD, MADV_PAGEOUT, MADV_NOHUGEPAGE, MADV_HUGEPAGE,
		MADV_WILLNEED, MADV_POPULATE_READ, MADV_POPULATE_WRITE, MADV_COLLAPSE,
		MADV_GUARD_INSTALL,
	};

	for (size_t i = 0; i < ARRAY_SIZE(advice); i++) {
		int ret = madvise(s->at, SIZE, advice[i]);

		printf("advice %d: %s\n", advice[i], ret ? strerrorname_np(errno) : "taken");
		madvise(s->at + PAGE, PAGE, advice[i]);
		CHECK(!memcmp(s->at, s->expected, 4 * PAGE));
	}
}

TEST(harmless, 30)
{
	on_both(advise_harmless);
}

/* Advice that would give memory up. */
static void advise_refused(struct subject *s)
{
	CHECK_ERRNO(madvise(s->at, SIZE, MADV_FREE), EINVAL);
	CHECK_ERRNO(madvise(s->at, SIZE, MADV_WIPEONFORK), EINVAL);
	CHECK_ERRNO(madvise(s->at, SIZE, MADV_DODUMP), EINVAL);
	CHECK_EQ(madvise(s->at, SIZE, MADV_REMOVE), -1);
}

TEST(refused, 30)
{
	on_both(advise_refused);
}

/* Made-up memory errors, as an administrator can have them. No one is killed. */
static void poison(struct subject *s)
{
	CHECK_EQ(madvise(s->at + PAGE, PAGE, MADV_HWPOISON), -1);
	CHECK(!memcmp(s->at, s->expected, SIZE));
	CHECK_EQ(madvise(s->at + PAGE, PAGE, MADV_SOFT_OFFLINE), -1);
	CHECK_EQ(signal_of_write(s->at + PAGE), 0);
	memcpy(s->at, s->expected, SIZE);
}

TEST(made_up_memory_errors, 30)
{
	on_both(poison);
}

/* The child has no part of it; the parent's stays as it was. */
static void not_inherited(struct subject *s)
{
	pid_t pid;

	CHECK_OK(madvise(s->at, SIZE, MADV_DONTFORK));
	pid = test_fork();
	if (!pid) {
		CHECK_EQ(signal_of_read(s->at), SIGSEGV);
		CHECK_EQ(window_info(s->fd, 0).mappings, 1);
		_exit(0);
	}
	test_join(pid);
}

TEST(kept_from_children, 30)
{
	on_both(not_inherited);
}

/* Pages of a window do not migrate. */
static void migrate(struct subject *s)
{
	unsigned long nodes = 1;
	void *pages[] = { s->at, s->at + GRANULE + PAGE };
	int to[] = { 0, 0 }, status[2];

	syscall(SYS_mbind, s->at, SIZE, MPOL_BIND, &nodes, 8, MPOL_MF_MOVE | MPOL_MF_STRICT);
	syscall(SYS_move_pages, 0, 2, pages, NULL, status, 0);
	syscall(SYS_move_pages, 0, 2, pages, to, status, MPOL_MF_MOVE);
	syscall(SYS_migrate_pages, 0, 8, &nodes, &nodes);
	CHECK(sysfs_write("/proc/sys/vm/compact_memory", "1"));
	CHECK(sysfs_write("/proc/sys/vm/drop_caches", "3"));
}

TEST(migration, 30)
{
	on_both(migrate);
}

static int userfault_open(uint64_t features)
{
	struct uffdio_api api = { .api = UFFD_API, .features = features };
	int fd = syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);

	CHECK_OK(fd);
	if (!ioctl(fd, UFFDIO_API, &api))
		return fd;
	close(fd);
	return -1;
}

static int userfault_register(int fd, const void *at, uint64_t size, uint64_t mode)
{
	struct uffdio_register arg = {
		.range = { (uintptr_t)at, size },
		.mode = mode,
	};

	return ioctl(fd, UFFDIO_REGISTER, &arg);
}

static void fault_in_user_space(struct subject *s)
{
	char *plain = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = userfault_open(0);

	CHECK_OK((long)plain);
	CHECK_ERRNO(userfault_register(fd, s->at, SIZE, UFFDIO_REGISTER_MODE_MISSING),
		    EINVAL);
	CHECK_ERRNO(userfault_register(fd, s->at, SIZE, UFFDIO_REGISTER_MODE_WP), EINVAL);
	CHECK_OK(userfault_register(fd, plain, PAGE, UFFDIO_REGISTER_MODE_MISSING));
	close(fd);
	munmap(plain, PAGE);
}

TEST(userfaultfd, 30)
{
	on_both(fault_in_user_space);
}

/* Newer kernels let any mapping be write-protected to see what is written to. */
static void track_writes(struct subject *s)
{
	struct uffdio_writeprotect arg = {
		.range = { (uintptr_t)s->at, SIZE },
		.mode = UFFDIO_WRITEPROTECT_MODE_WP,
	};
	int fd = userfault_open(UFFD_FEATURE_WP_ASYNC);

	if (fd < 0)
		return;
	if (!userfault_register(fd, s->at, SIZE, UFFDIO_REGISTER_MODE_WP)) {
		CHECK_OK(ioctl(fd, UFFDIO_WRITEPROTECT, &arg));
		CHECK_EQ(signal_of_write(s->at + PAGE), 0);
		CHECK_EQ(signal_of_write(s->at + GRANULE), 0);
		memcpy(s->at, s->expected, SIZE);
	}
	close(fd);
}

TEST(writes_tracked, 30)
{
	on_both(track_writes);
}

static void read_whole(const char *path, size_t size)
{
	char *text = plain_memory(size);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	CHECK_OK(fd);
	do {
		len = read(fd, text, size);
	} while (len > 0);
	CHECK_OK(len);
	close(fd);
	munmap(text, size);
}

/* What monitors read walks the page tables. */
static void observe(struct subject *s)
{
	uint64_t entries[SIZE / PAGE];
	int fd;

	read_whole("/proc/self/smaps", 64 * KIB);
	read_whole("/proc/self/smaps_rollup", 64 * KIB);
	read_whole("/proc/self/numa_maps", 64 * KIB);
	read_whole("/proc/self/maps", 64 * KIB);
	fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	CHECK_EQ(pread(fd, entries, sizeof(entries), (uintptr_t)s->at / PAGE * 8),
		 sizeof(entries));
	close(fd);
	CHECK(entries[1] >> 63);
	CHECK(sysfs_write("/proc/self/clear_refs", "4"));
	CHECK(sysfs_write("/proc/self/clear_refs", "1"));
}

TEST(observed_by_monitors, 30)
{
	on_both(observe);
}

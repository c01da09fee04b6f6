// SPDX-License-Identifier: GPL-2.0-only
/* io_uring between windows and the NVMe VF, with and without registered buffers. */
#include <fcntl.h>
#include <liburing.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "disk.h"
#include "harness.h"
#include "memory.h"

#define SIZE	(256 * KIB)
#define PLACE	(24 * MIB)	/* on the disk */
#define DEPTH	16

struct setup {
	struct io_uring ring;
	int disk;
	int fd;
	char *at;	/* a window of one granule, at the aperture's start */
};

/* io_uring's calls return -errno. */
#define RING_OK(call)							\
	do {								\
		int ret_ = (call);					\
									\
		if (ret_ < 0)						\
			test_fail(__FILE__, __LINE__, "%s: %s", #call,	\
				  strerrorname_np(-ret_));		\
	} while (0)

static void setup_make(struct setup *s)
{
	s->disk = disk_open("VPEER_NVME_DISK");
	s->fd = aperture_open();
	CHECK_OK(window_alloc_at(s->fd, 0, GRANULE, NULL));
	s->at = window_map(s->fd, 0, GRANULE);
	RING_OK(io_uring_queue_init(DEPTH, &s->ring, 0));
}

static void setup_end(struct setup *s)
{
	io_uring_queue_exit(&s->ring);
	munmap(s->at, GRANULE);
	close(s->fd);
	close(s->disk);
}

/* The result of one operation that was prepared. */
static int submit(struct io_uring *ring)
{
	struct io_uring_cqe *cqe;
	int result;

	CHECK_EQ(io_uring_submit(ring), 1);
	RING_OK(io_uring_wait_cqe(ring, &cqe));
	result = cqe->res;
	io_uring_cqe_seen(ring, cqe);
	return result;
}

static int read_disk(struct setup *s, char *to)
{
	io_uring_prep_read(io_uring_get_sqe(&s->ring), s->disk, to, SIZE, PLACE);
	return submit(&s->ring);
}

static int write_disk(struct setup *s, char *from)
{
	io_uring_prep_write(io_uring_get_sqe(&s->ring), s->disk, from, SIZE, PLACE);
	return submit(&s->ring);
}

static int read_fixed(struct setup *s, char *to)
{
	io_uring_prep_read_fixed(io_uring_get_sqe(&s->ring), s->disk, to, SIZE, PLACE, 0);
	return submit(&s->ring);
}

static int write_fixed(struct setup *s, char *from)
{
	io_uring_prep_write_fixed(io_uring_get_sqe(&s->ring), s->disk, from, SIZE, PLACE, 0);
	return submit(&s->ring);
}

static int register_one(struct setup *s, char *at, uint64_t size)
{
	struct iovec buffer = { at, size };

	return io_uring_register_buffers(&s->ring, &buffer, 1);
}

/* Bytes of a pattern that lie on the disk, where no window had a part. */
static void fill_disk(struct setup *s, char *plain, uint64_t seed)
{
	pattern_fill(plain, SIZE, seed);
	CHECK_EQ(pwrite(s->disk, plain, SIZE, PLACE), SIZE);
}

static void check_disk(struct setup *s, char *plain, uint64_t seed)
{
	memset(plain, 0, SIZE);
	CHECK_EQ(pread(s->disk, plain, SIZE, PLACE), SIZE);
	CHECK(pattern_is(plain, SIZE, seed));
}

TEST(plain_buffers, 30)
{
	char *plain = plain_memory(SIZE);
	struct setup s;

	setup_make(&s);
	fill_disk(&s, plain, 161);
	CHECK_EQ(read_disk(&s, s.at + 4096), SIZE);
	CHECK(owner_is(4096, plain, SIZE));
	pattern_fill(s.at, SIZE, 162);
	CHECK_EQ(write_disk(&s, s.at), SIZE);
	check_disk(&s, plain, 162);

	CHECK_OK(window_revoke(s.fd, 0, 0, NULL));
	CHECK_EQ(read_disk(&s, s.at), -EFAULT);
	CHECK_EQ(write_disk(&s, s.at), -EFAULT);
	check_disk(&s, plain, 162);
	setup_end(&s);
}

/*
 * Some kernels (6.1) register no file mappings but those of tmpfs and
 * hugetlbfs, whatever their pages. A private mapping of this program tells.
 */
static bool takes_file_mappings(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), ret;
	struct setup s = { 0 };
	char *mapped;

	CHECK_OK(fd);
	mapped = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	CHECK_OK((long)mapped);
	RING_OK(io_uring_queue_init(DEPTH, &s.ring, 0));
	ret = register_one(&s, mapped, 4096);
	CHECK(!ret || ret == -EOPNOTSUPP);
	io_uring_queue_exit(&s.ring);
	munmap(mapped, 4096);
	close(fd);
	return !ret;
}

static void check_registers_tmpfs(void)
{
	int fd = memfd_create("buffer", MFD_CLOEXEC);
	struct setup s = { 0 };
	char *mapped;

	CHECK_OK(ftruncate(fd, SIZE));
	mapped = window_map(fd, 0, SIZE);
	RING_OK(io_uring_queue_init(DEPTH, &s.ring, 0));
	RING_OK(register_one(&s, mapped, SIZE));
	io_uring_queue_exit(&s.ring);
	munmap(mapped, SIZE);
	close(fd);
}

/* Newer kernels let one pin stand for all neighbouring pages of a granule. */
static void check_pinned(uint64_t bytes)
{
	CHECK(bytes == GRANULE || bytes == 4096);
}

/* True where windows can be registered, as any file mapping can. */
static bool setup_registered(struct setup *s)
{
	bool takes = takes_file_mappings();
	int ret;

	check_registers_tmpfs();
	setup_make(s);
	ret = register_one(s, s->at, GRANULE);
	printf("file mappings are registered: %d; a window: %d\n", takes, ret);
	if (takes) {
		CHECK_EQ(ret, 0);
		check_pinned(window_info(s->fd, 0).pinned_bytes);
	} else {
		CHECK_EQ(ret, -EOPNOTSUPP);
		CHECK_EQ(window_info(s->fd, 0).pinned_bytes, 0);
		setup_end(s);
	}
	return takes;
}

TEST(fixed_buffers, 30)
{
	char *plain = plain_memory(SIZE);
	struct setup s;

	if (!setup_registered(&s))
		return;
	fill_disk(&s, plain, 163);
	CHECK_EQ(read_fixed(&s, s.at + 4096), SIZE);
	CHECK(owner_is(4096, plain, SIZE));
	pattern_fill(s.at, SIZE, 164);
	CHECK_EQ(write_fixed(&s, s.at), SIZE);
	check_disk(&s, plain, 164);
	/* Beyond what is registered. */
	CHECK_EQ(read_fixed(&s, s.at + GRANULE - SIZE + 4096), -EFAULT);
	RING_OK(io_uring_unregister_buffers(&s.ring));
	CHECK_EQ(window_info(s.fd, 0).pinned_bytes, 0);
	CHECK_EQ(read_fixed(&s, s.at), -EFAULT);
	setup_end(&s);
}

/* The ring keeps the freed window from being reused; it may still write to it. */
TEST(freed_while_registered, 30)
{
	char *plain = plain_memory(SIZE);
	int other = aperture_open();
	struct setup s;
	uint32_t reason;

	if (!setup_registered(&s))
		return;
	fill_disk(&s, plain, 165);
	CHECK_ERRNO(window_free(s.fd, 0), EINPROGRESS);
	CHECK_EQ(signal_of_read(s.at), SIGBUS);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_DRAINING);
	CHECK_EQ(read_fixed(&s, s.at), SIZE);
	CHECK(owner_is(0, plain, SIZE));
	/* An address is looked up again, a registered buffer is not. */
	CHECK_EQ(read_disk(&s, s.at), -EFAULT);

	RING_OK(io_uring_unregister_buffers(&s.ring));
	CHECK_WITHIN(!window_alloc_at(other, 0, GRANULE, NULL), 5000);
	CHECK(all_zero(window_map(other, 0, GRANULE), GRANULE));
	setup_end(&s);
	close(other);
}

/* Unmapped and closed: the ring alone holds the window, until it is closed. */
TEST(ring_outlives_window, 30)
{
	struct setup s;

	if (!setup_registered(&s))
		return;
	munmap(s.at, GRANULE);
	close(s.fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	check_pinned(aperture_stat("bytes_pinned"));
	io_uring_queue_exit(&s.ring);
	CHECK_WITHIN(aperture_all_free(), 5000);
	close(s.disk);
}

/* Replacing a buffer lets the old one go. */
TEST(buffer_replaced, 30)
{
	struct iovec plain = { plain_memory(SIZE), SIZE };
	struct setup s;
	__u64 tag = 0;
	int ret;

	if (!setup_registered(&s))
		return;
	RING_OK(io_uring_unregister_buffers(&s.ring));
	RING_OK(io_uring_register_buffers_sparse(&s.ring, 2));
	ret = io_uring_register_buffers_update_tag(&s.ring, 0, &(struct iovec){ s.at, GRANULE },
						   &tag, 1);
	RING_OK(ret);
	check_pinned(aperture_stat("bytes_pinned"));
	ret = io_uring_register_buffers_update_tag(&s.ring, 0, &plain, &tag, 1);
	RING_OK(ret);
	CHECK_WITHIN(!aperture_stat("bytes_pinned"), 5000);
	setup_end(&s);
}

/* Reads in flight all the time, from registered memory where that can be had. */
static _Noreturn void keep_reading(int ready)
{
	struct io_uring_cqe *cqe;
	struct io_uring_sqe *sqe;
	struct setup s;
	bool fixed;

	setup_make(&s);
	fixed = !register_one(&s, s.at, GRANULE);
	for (uint64_t turn = 0;; turn++) {
		char *to = s.at + turn % 4 * SIZE;

		sqe = io_uring_get_sqe(&s.ring);
		if (fixed)
			io_uring_prep_read_fixed(sqe, s.disk, to, SIZE, 0, 0);
		else
			io_uring_prep_read(sqe, s.disk, to, SIZE, 0);
		io_uring_submit(&s.ring);
		if (turn < DEPTH / 2)
			continue;
		if (turn == DEPTH / 2)
			CHECK_EQ(write(ready, "", 1), 1);
		RING_OK(io_uring_wait_cqe(&s.ring, &cqe));
		CHECK_EQ(cqe->res, SIZE);
		io_uring_cqe_seen(&s.ring, cqe);
	}
}

TEST(killed_while_reading, 60)
{
	int ready[2];
	char byte;
	pid_t pid;

	CHECK_OK(pipe(ready));
	for (unsigned int round = 0; round < 8; round++) {
		pid = test_fork();
		if (!pid)
			keep_reading(ready[1]);
		CHECK_EQ(read(ready[0], &byte, 1), 1);
		test_sleep_ms(round * 7);
		CHECK_OK(kill(pid, SIGKILL));
		CHECK_EQ(waitpid(pid, NULL, 0), pid);
		CHECK_WITHIN(aperture_all_free(), 5000);
	}
}

/* A ring that outlives its maker, in a child that inherited it. */
TEST(ring_inherited, 30)
{
	struct setup s;
	int go[2];
	char byte;
	pid_t pid;

	if (!setup_registered(&s))
		return;
	CHECK_OK(pipe(go));
	pid = test_fork();
	if (!pid) {
		close(go[1]);
		munmap(s.at, GRANULE);
		close(s.fd);
		CHECK_EQ(read(go[0], &byte, 1), 0);
		_exit(0);
	}
	setup_end(&s);
	check_pinned(aperture_stat("bytes_pinned"));
	close(go[1]);
	test_join(pid);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

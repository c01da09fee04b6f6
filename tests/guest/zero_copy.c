// SPDX-License-Identifier: GPL-2.0-only
/*
 * Pipes and sockets that take pages instead of copies. Each page they hold is
 * a reference like a pin: the window waits for it.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "aperture.h"
#include "disk.h"
#include "harness.h"
#include "memory.h"

#define SIZE	(32 * KIB)	/* fits into a pipe */
#define PLACE	(28 * MIB)	/* on the disk */

struct window {
	int fd;
	char *at;
};

static void window_make(struct window *w, uint64_t seed)
{
	w->fd = aperture_open();
	CHECK_OK(window_alloc_at(w->fd, 0, GRANULE, NULL));
	w->at = window_map(w->fd, 0, GRANULE);
	pattern_fill(w->at, GRANULE, seed);
}

static void window_end(struct window *w)
{
	munmap(w->at, GRANULE);
	close(w->fd);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

static void into_pipe(int pipe_end, char *from, unsigned int flags)
{
	struct iovec iov = { from, SIZE };

	CHECK_EQ(vmsplice(pipe_end, &iov, 1, flags), SIZE);
}

static void read_all(int fd, char *to, size_t size)
{
	for (size_t done = 0; done < size;) {
		ssize_t len = read(fd, to + done, size - done);

		CHECK(len > 0);
		done += len;
	}
}

/* The pipe shows the window's bytes as they are when they are read. */
TEST(pipe_holds_pages, 20)
{
	char *plain = plain_memory(SIZE);
	struct window w;
	uint32_t reason;
	int ends[2], other = aperture_open();

	window_make(&w, 171);
	CHECK_OK(pipe(ends));
	into_pipe(ends[1], w.at, 0);
	CHECK_ERRNO(window_free(w.fd, 0), EINPROGRESS);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_DRAINING);
	read_all(ends[0], plain, SIZE);
	CHECK(pattern_is(plain, SIZE, 171));
	CHECK_WITHIN(!window_alloc_at(other, 0, GRANULE, NULL), 5000);
	close(other);
	close(ends[0]);
	close(ends[1]);
	window_end(&w);
}

/* A gift cannot be taken out of the aperture: what arrives in the file is a copy. */
TEST(gift, 20)
{
	char *plain = plain_memory(SIZE);
	int ends[2], file = memfd_create("gift", MFD_CLOEXEC);
	struct window w;

	window_make(&w, 172);
	CHECK_OK(pipe(ends));
	into_pipe(ends[1], w.at, SPLICE_F_GIFT);
	munmap(w.at, GRANULE);
	close(w.fd);
	CHECK_EQ(splice(ends[0], NULL, file, NULL, SIZE, SPLICE_F_MOVE), SIZE);
	CHECK_WITHIN(aperture_all_free(), 5000);
	CHECK_EQ(pread(file, plain, SIZE, 0), SIZE);
	CHECK(pattern_is(plain, SIZE, 172));
	close(ends[0]);
	close(ends[1]);
	close(file);
}

TEST(tee_and_disk, 20)
{
	int ends[2], twin[2], disk = disk_open("VPEER_NVME_DISK");
	char *plain = plain_memory(SIZE);
	loff_t place = PLACE;
	struct window w;

	CHECK_OK(fcntl(disk, F_SETFL, O_RDWR));
	window_make(&w, 173);
	CHECK_OK(pipe(ends));
	CHECK_OK(pipe(twin));
	into_pipe(ends[1], w.at, 0);
	CHECK_EQ(tee(ends[0], twin[1], SIZE, 0), SIZE);
	CHECK_EQ(splice(ends[0], NULL, disk, &place, SIZE, 0), SIZE);
	CHECK_OK(fdatasync(disk));
	CHECK_ERRNO(window_revoke(w.fd, 0, 0, NULL), EINPROGRESS);
	close(twin[0]);
	close(twin[1]);
	CHECK_WITHIN(!window_revoke(w.fd, 0, 0, NULL), 5000);
	CHECK_EQ(pread(disk, plain, SIZE, PLACE), SIZE);
	CHECK(pattern_is(plain, SIZE, 173));
	close(ends[0]);
	close(ends[1]);
	close(disk);
	window_end(&w);
}

/* From a pipe into a window: a copy, which the owner sees. */
TEST(out_of_a_pipe, 20)
{
	char *plain = plain_memory(SIZE);
	struct iovec iov;
	struct window w;
	int ends[2];

	window_make(&w, 174);
	CHECK_OK(pipe(ends));
	pattern_fill(plain, SIZE, 175);
	CHECK_EQ(write(ends[1], plain, SIZE), SIZE);
	iov = (struct iovec){ w.at + 4096, SIZE };
	CHECK_EQ(vmsplice(ends[0], &iov, 1, 0), SIZE);
	CHECK(owner_is(4096, plain, SIZE));
	close(ends[0]);
	close(ends[1]);
	window_end(&w);
}

/* The node is neither read nor written, so nothing can be spliced or sent from it. */
TEST(node_is_no_source, 20)
{
	int file = memfd_create("target", MFD_CLOEXEC), ends[2];
	struct window w;

	window_make(&w, 176);
	CHECK_OK(pipe(ends));
	CHECK_ERRNO(sendfile(file, w.fd, NULL, 4096), EINVAL);
	CHECK_ERRNO(splice(w.fd, NULL, ends[1], NULL, 4096, 0), EINVAL);
	CHECK_ERRNO(copy_file_range(w.fd, NULL, file, NULL, 4096, 0), EINVAL);
	close(ends[0]);
	close(ends[1]);
	close(file);
	window_end(&w);
}

static void connect_pair(int *near, int *far)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	socklen_t size = sizeof(address);
	int one = 1, listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_OK(bind(listener, (struct sockaddr *)&address, size));
	CHECK_OK(listen(listener, 1));
	CHECK_OK(getsockname(listener, (struct sockaddr *)&address, &size));
	*near = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_OK(connect(*near, (struct sockaddr *)&address, size));
	*far = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	CHECK_OK(*far);
	CHECK_OK(setsockopt(*near, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)));
	close(listener);
}

/* Waits for the kernel's word that the pages are no longer in use. */
static void wait_sent(int socket)
{
	char control[128];
	struct msghdr message = { .msg_control = control, .msg_controllen = sizeof(control) };
	struct pollfd poll_fd = { .fd = socket };

	CHECK_EQ(poll(&poll_fd, 1, 5000), 1);
	CHECK_EQ(recvmsg(socket, &message, MSG_ERRQUEUE), 0);
	CHECK(CMSG_FIRSTHDR(&message));
}

TEST(sent_by_tcp, 20)
{
	char *plain = plain_memory(SIZE);
	struct window w;
	int near, far;

	window_make(&w, 177);
	connect_pair(&near, &far);
	CHECK_EQ(send(near, w.at, SIZE, MSG_ZEROCOPY), SIZE);
	read_all(far, plain, SIZE);
	CHECK(pattern_is(plain, SIZE, 177));
	wait_sent(near);
	CHECK_OK(window_revoke(w.fd, 0, 0, NULL));
	CHECK_ERRNO(send(near, w.at, SIZE, MSG_ZEROCOPY), EFAULT);
	close(near);
	close(far);
	window_end(&w);
}

/* The sender dies with pages still in its socket; the reader gets every byte. */
TEST(sender_dies, 20)
{
	char *plain = plain_memory(SIZE);
	struct window w;
	int near, far;
	pid_t pid;

	connect_pair(&near, &far);
	pid = test_fork();
	if (!pid) {
		window_make(&w, 178);
		CHECK_EQ(send(near, w.at, SIZE, MSG_ZEROCOPY), SIZE);
		_exit(0);
	}
	test_join(pid);
	close(near);
	read_all(far, plain, SIZE);
	CHECK(pattern_is(plain, SIZE, 178));
	close(far);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

/* A pipe of pages spliced into a socket. */
TEST(spliced_to_tcp, 20)
{
	char *plain = plain_memory(SIZE);
	int near, far, ends[2];
	struct window w;

	window_make(&w, 179);
	connect_pair(&near, &far);
	CHECK_OK(pipe(ends));
	into_pipe(ends[1], w.at, 0);
	CHECK_EQ(splice(ends[0], NULL, near, NULL, SIZE, 0), SIZE);
	read_all(far, plain, SIZE);
	CHECK(pattern_is(plain, SIZE, 179));
	close(ends[0]);
	close(ends[1]);
	close(near);
	close(far);
	window_end(&w);
}

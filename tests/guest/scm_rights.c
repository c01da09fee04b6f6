// SPDX-License-Identifier: GPL-2.0-only
/* Registered windows handed from process to process by descriptor. */
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "passing.h"
#include "rdma.h"
#include "user.h"

#define PAGE	4096

static void say(int socket)
{
	CHECK_EQ(send(socket, "", 1, 0), 1);
}

static void hear(int socket)
{
	char byte;

	CHECK_EQ(recv(socket, &byte, 1, 0), 1);
}

static void kill_and_wait(pid_t pid)
{
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
}

/* Registers and, each time it is told, writes a page by RDMA. */
static _Noreturn void use_window(int socket)
{
	char *plain = plain_memory(PAGE), *mapped;
	struct ibv_mr *mr, *local;
	struct rdma r;

	rdma_open(&r);
	mapped = window_map(receive_fd(socket), 0, GRANULE);
	mr = rdma_reg(&r, mapped, GRANULE);
	local = rdma_reg(&r, plain, PAGE);
	say(socket);
	for (uint64_t seed = 151;; seed++) {
		hear(socket);
		pattern_fill(plain, PAGE, seed);
		CHECK_EQ(rdma_write(&r, local, (uintptr_t)mapped + PAGE, mr->rkey, PAGE),
			 IBV_WC_SUCCESS);
		say(socket);
	}
}

/* A process that allocates the window, hands it over, and waits. */
static pid_t giver_start(int socket)
{
	pid_t pid = test_fork();
	int fd;

	if (pid)
		return pid;
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	window_map(fd, 0, GRANULE);
	send_fd(socket, fd);
	for (;;)
		pause();
}

static void check_written(uint64_t seed)
{
	char bytes[PAGE];

	owner_read(PAGE, bytes, PAGE);
	CHECK(pattern_is(bytes, PAGE, seed));
}

TEST(receiver_outlives_sender, 30)
{
	int hand[2];
	pid_t giver, user;

	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	user = test_fork();
	if (!user)
		use_window(hand[1]);
	giver = giver_start(hand[0]);
	hear(hand[0]);
	kill_and_wait(giver);
	CHECK_EQ(aperture_stat("windows"), 1);
	CHECK_EQ(aperture_stat("bytes_pinned"), GRANULE);
	say(hand[0]);
	hear(hand[0]);
	check_written(151);
	kill_and_wait(user);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

/* The giver may still take the window back; the receiver's pins are waited for. */
TEST(sender_takes_it_back, 30)
{
	int hand[2], fd = aperture_open(), other = aperture_open();
	uint32_t reason;
	pid_t user;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	user = test_fork();
	if (!user) {
		close(fd);
		close(other);
		use_window(hand[1]);
	}
	send_fd(hand[0], fd);
	hear(hand[0]);
	CHECK_ERRNO(window_free(fd, 0), EINPROGRESS);
	CHECK_ERRNO(window_alloc_at(other, 0, GRANULE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_RANGE_DRAINING);
	/* What its registration still reaches belongs to no one else yet. */
	say(hand[0]);
	hear(hand[0]);
	check_written(151);
	kill_and_wait(user);
	CHECK_WITHIN(!window_alloc_at(other, 0, GRANULE, NULL), 5000);
	CHECK(all_zero(window_map(other, 0, GRANULE), GRANULE));
	close(other);
	close(fd);
}

/* The sender's close() ends nothing; the receiver's, the last one, does. */
TEST(last_close_counts, 30)
{
	int hand[2], fd = aperture_open(), twin;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	send_fd(hand[0], fd);
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	twin = receive_fd(hand[1]);
	CHECK_EQ(window_info(twin, 0).state, VPEER_WINDOW_ACTIVE);
	fd = aperture_open();
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, NULL), EBUSY);
	close(twin);
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	close(fd);
}

/* A descriptor that no one took out of the socket, in flight when both ends go. */
TEST(lost_in_flight, 20)
{
	int hand[2], fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	send_fd(hand[0], fd);
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	close(hand[0]);
	close(hand[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

/* Even in a ring of sockets that only the kernel's collector can end. */
TEST(lost_in_a_cycle, 20)
{
	int hand[2], fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, hand));
	send_fd(hand[0], fd);
	send_fd(hand[0], hand[1]);
	send_fd(hand[1], hand[0]);
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	close(hand[0]);
	close(hand[1]);
	/* The next socket that goes away wakes the collector. */
	CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM, 0, hand));
	send_fd(hand[0], hand[1]);
	close(hand[0]);
	close(hand[1]);
	CHECK_WITHIN(aperture_all_free(), 5000);
}

static void use_as_stranger(void *context)
{
	int *hand = context, fd = receive_fd(hand[1]);
	char *mapped;

	become_stranger();
	CHECK(open(aperture_node(), O_RDWR) == -1);
	mapped = window_map(fd, 0, GRANULE);
	mapped[PAGE] = 's';
	CHECK_OK(window_free(fd, 0));
}

/* Whoever holds the descriptor has the window's rights, and no others. */
TEST(rights_go_with_the_descriptor, 20)
{
	int hand[2], fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	send_fd(hand[0], fd);
	test_in_child(use_as_stranger, hand);
	CHECK(aperture_all_free());
	close(fd);
}

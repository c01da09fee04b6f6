// SPDX-License-Identifier: GPL-2.0-only
/* Windows shared on purpose: fork() and passed descriptors. */
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "passing.h"
#include "user.h"

TEST(fork, 10)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);
	pid_t pid;

	mapped[1] = 1;
	pid = test_fork();
	if (!pid) {
		CHECK_EQ(mapped[1], 1);
		mapped[2] = 2;
		CHECK_EQ(window_info(fd, 0).mappings, 2);
		_exit(0);
	}
	test_join(pid);
	CHECK_EQ(mapped[2], 2);
	CHECK_EQ(window_info(fd, 0).mappings, 1);
	munmap(mapped, GRANULE);
	close(fd);
}

/* The child's mapping keeps the claim when the parent has left. */
TEST(fork_keeps_claim, 10)
{
	int fd = aperture_open(), other = aperture_open(), gate[2];
	char *mapped = window_map(fd, 0, GRANULE), byte;
	pid_t pid;

	CHECK_OK(pipe(gate));
	pid = test_fork();
	if (!pid) {
		close(gate[1]);
		CHECK_EQ(read(gate[0], &byte, 1), 0);
		mapped[3] = 3;
		_exit(0);
	}
	munmap(mapped, GRANULE);
	close(fd);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0), EBUSY);
	close(gate[1]);
	test_join(pid);
	CHECK_OK((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, other, 0));
	close(other);
}

TEST(child_maps_by_inherited_descriptor, 10)
{
	int fd = aperture_open();
	pid_t pid;

	CHECK_OK(window_alloc_at(fd, GRANULE, GRANULE, NULL));
	pid = test_fork();
	if (!pid) {
		char *mapped = window_map(fd, GRANULE, GRANULE);

		mapped[100] = 'x';
		_exit(0);
	}
	test_join(pid);
	CHECK_EQ(((char *)window_map(fd, GRANULE, GRANULE))[100], 'x');
	close(fd);
}

/*
 * An unrelated process, here one that may not open the node itself, uses a
 * window by the descriptor it was handed, and the window outlives its giver.
 */
TEST(passed_descriptor, 10)
{
	int sockets[2], done[2], fd;
	char *mapped, byte = 0;
	pid_t pid;

	CHECK_OK(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets));
	CHECK_OK(pipe(done));
	pid = test_fork();
	if (!pid) {
		close(done[1]);
		fd = receive_fd(sockets[1]);
		become_stranger();
		mapped = window_map(fd, 0, GRANULE);
		CHECK_EQ(mapped[1], 'p');
		mapped[2] = 'c';
		CHECK_EQ(write(sockets[1], &byte, 1), 1);
		CHECK_EQ(read(done[0], &byte, 1), 0);
		CHECK_EQ(mapped[1], 'p');
		_exit(0);
	}
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mapped[1] = 'p';
	send_fd(sockets[0], fd);
	CHECK_EQ(read(sockets[0], &byte, 1), 1);
	CHECK_EQ(mapped[2], 'c');
	munmap(mapped, GRANULE);
	close(fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	close(done[1]);
	test_join(pid);
}

// SPDX-License-Identifier: GPL-2.0-only
/* VPEER_REVOKE_ALL, and nodes in other mount name spaces. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "command.h"
#include "harness.h"
#include "kmsg.h"
#include "memory.h"
#include "rdma.h"
#include "user.h"

static struct vpeer_window_op revoke_all = {
	.argsz = sizeof(revoke_all),
	.flags = VPEER_REVOKE_ALL,
};

TEST(by_root, 20)
{
	struct vpeer_window_op arg = revoke_all;
	int fd = aperture_open(), other = aperture_open(), root = aperture_open();
	uint64_t before = aperture_stat("revocations");
	char *explicit, *implicit;

	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	explicit = window_map(fd, 0, GRANULE);
	implicit = window_map(other, 4 * GRANULE, GRANULE);
	explicit[0] = 1;
	implicit[0] = 1;
	CHECK_OK(ioctl(root, VPEER_IOCTL_WINDOW_REVOKE, &arg));
	CHECK_EQ(arg.pinned_bytes, 0);
	CHECK_EQ(signal_of_read(explicit), SIGBUS);
	CHECK_EQ(signal_of_read(implicit), SIGBUS);
	CHECK_EQ(aperture_stat("revocations"), before + 2);

	/* Only what existed: new windows are possible. */
	CHECK_OK(window_alloc_at(root, 8 * GRANULE, GRANULE, NULL));
	CHECK_EQ(signal_of_write(window_map(root, 8 * GRANULE, GRANULE)), 0);
	close(fd);
	close(other);
	close(root);
}

TEST(tells_pinned_bytes, 20)
{
	struct vpeer_window_op arg = revoke_all;
	int fd = aperture_open(), root = aperture_open(), mark = kmsg_mark();
	char *mapped = window_map(fd, 0, GRANULE);
	char pattern[160];
	struct ibv_mr *mr;
	struct rdma r;

	snprintf(pattern, sizeof(pattern),
		 "%s: vpeer: BAR 2: revoked by process %d \\(revoke_all\\), but 4096 bytes stay pinned "
		 ".*: end the processes", aperture_pci(), (int)getpid());
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, 4096);
	CHECK_REFUSED(root, VPEER_IOCTL_WINDOW_REVOKE, &arg, EINPROGRESS,
		      VPEER_REASON_PINNED);
	CHECK_EQ(arg.pinned_bytes, 4096);
	CHECK_EQ(kmsg_count(mark, pattern, NULL, 0), 1);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_OK(ioctl(root, VPEER_IOCTL_WINDOW_REVOKE, &arg));
	CHECK_EQ(arg.pinned_bytes, 0);
	CHECK_EQ(kmsg_count(mark, "revoked by", NULL, 0), 0);
	close(mark);
	rdma_close(&r);
	close(root);
	close(fd);
}

/* Has the node open, and no window. */
static pid_t bystander(const int end[2])
{
	pid_t pid = test_fork();
	char byte;

	if (pid)
		return pid;
	close(end[1]);
	aperture_open();
	CHECK_EQ(read(end[0], &byte, 1), 0);
	_exit(0);
}

/* One line in the log, and a line for each who may hold some. */
static void check_named(pid_t other)
{
	const char *said, *node = aperture_node();
	int mark = kmsg_mark();
	char line[128];

	said = output_of(1, "vpeer revoke %s 2>&1", aperture_pci());
	CHECK_EQ(kmsg_count(mark, "revoked by process [0-9]+ \\(vpeer\\)", NULL, 0), 1);
	close(mark);
	snprintf(line, sizeof(line),
		 "  holder: process %d (revoke_all) mapped or registered memory of %s that is held\n",
		 (int)getpid(), node);
	CHECK(strstr(said, line));
	snprintf(line, sizeof(line), "  perhaps: process %d (revoke_all) has %s open or mapped\n",
		 (int)other, node);
	CHECK(strstr(said, line));
	CHECK(strstr(said, "remedy: end these processes"));
}

TEST(command_names_holders, 30)
{
	int fd, end[2];
	struct ibv_mr *mr;
	struct rdma r;
	char *mapped;
	pid_t other;

	CHECK_OK(pipe2(end, O_CLOEXEC));
	other = bystander(end);
	close(end[0]);
	fd = aperture_open();
	mapped = window_map(fd, 0, GRANULE);
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, 4096);
	check_named(other);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	output_of(0, "vpeer revoke %s", aperture_pci());
	rdma_close(&r);
	close(fd);
	close(end[1]);
	test_join(other);
}

static void as_member(void *mapped)
{
	struct vpeer_window_op arg = revoke_all;
	int fd;

	become_member();
	fd = aperture_open();
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg, EPERM,
		      VPEER_REASON_NOT_PERMITTED);
	CHECK_EQ(signal_of_write(mapped), 0);
}

TEST(not_by_others, 20)
{
	int fd = aperture_open();
	char *mapped = window_map(fd, 0, GRANULE);

	mapped[0] = 1;
	test_in_child(as_member, mapped);
	CHECK_EQ(window_info(fd, 0).state, VPEER_WINDOW_ACTIVE);
	munmap(mapped, GRANULE);
	close(fd);
}

TEST(no_offset, 20)
{
	struct vpeer_window_op arg = revoke_all;
	int fd = aperture_open();

	arg.offset = GRANULE;
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg, EINVAL,
		      VPEER_REASON_BAD_ARGUMENT);
	close(fd);
}

/* As in a container: a node of its own on a file system of its own. */
static int foreign_node(void)
{
	struct stat node;
	int fd;

	CHECK_OK(stat(aperture_node(), &node));
	CHECK_OK(unshare(CLONE_NEWNS));
	CHECK_OK(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	CHECK_OK(mount("none", "/mnt", "tmpfs", 0, NULL));
	CHECK_OK(mknod("/mnt/vpeer", S_IFCHR | 0600, node.st_rdev));
	fd = open("/mnt/vpeer", O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}

struct container {
	int ready[2];
	int done[2];
	pid_t pid;
};

/* Maps and registers by its own node, then waits for SIGBUS to be due. */
static void container_start(struct container *c)
{
	char *mapped, byte;
	struct ibv_mr *mr;
	struct rdma r;

	CHECK_OK(pipe(c->ready));
	CHECK_OK(pipe(c->done));
	c->pid = test_fork();
	if (c->pid) {
		CHECK_EQ(read(c->ready[0], &byte, 1), 1);
		return;
	}
	close(c->done[1]);
	mapped = window_map(foreign_node(), 0, GRANULE);
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, GRANULE);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(signal_of_write(mapped), 0);
	CHECK_EQ(write(c->ready[1], "", 1), 1);
	CHECK_EQ(read(c->done[0], &byte, 1), 0);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	_exit(0);
}

static void container_end(struct container *c)
{
	close(c->done[1]);
	test_join(c->pid);
}

TEST(node_of_a_container, 20)
{
	struct vpeer_window_op arg = revoke_all;
	int root = aperture_open();
	struct container c;

	container_start(&c);
	CHECK_ERRNO((long)mmap(NULL, 4096, PROT_READ, MAP_SHARED, root, 0), EBUSY);
	CHECK_OK(ioctl(root, VPEER_IOCTL_WINDOW_REVOKE, &arg));
	container_end(&c);
	close(root);
}

TEST(node_of_a_container_on_detach, 20)
{
	struct container c;

	container_start(&c);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	container_end(&c);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Everything at once for some seconds: owners that claim, touch, register,
 * fork and die; an administrator who revokes everything; another who detaches
 * and attaches. Nobody may hang, the kernel must stay silent and everything be
 * at rest afterwards.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"

#define OWNERS		3

static unsigned int seed;

/* VPEER_TEST_ROUNDS (20) decides how long. */
static int64_t seconds(void)
{
	const char *text = getenv("VPEER_TEST_ROUNDS");

	return 1 + (text ? strtol(text, NULL, 10) : 20) / 2;
}

static unsigned int pick(unsigned int below)
{
	seed = seed * 1103515245 + 12345;
	return (seed >> 16) % below;
}

/* The node comes and goes. */
static int try_open(void)
{
	const char *node = aperture_node();

	return *node ? open(node, O_RDWR | O_CLOEXEC) : -1;
}

static void try_register(struct rdma *r, void *mapped, size_t size)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, mapped, size, RDMA_ACCESS);

	if (!mr)
		return;
	test_sleep_ms(pick(4));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

static void try_fork(char *mapped)
{
	pid_t pid = test_fork();

	if (!pid) {
		signal_of_write(mapped);
		_exit(0);
	}
	test_join(pid);
}

static void own_once(struct rdma *r)
{
	uint64_t size = (1 + pick(3)) * GRANULE - pick(2) * 4096;
	uint64_t offset = pick(16) * GRANULE + pick(2) * 8192;
	int fd = try_open();
	char *mapped;

	if (fd < 0)
		return;
	if (pick(2))
		window_alloc_at(fd, offset & ~(GRANULE - 1), size + GRANULE, NULL);
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (mapped != MAP_FAILED) {
		signal_of_write(mapped + pick(size));
		if (pick(2))
			try_register(r, mapped, size);
		if (!pick(8))
			try_fork(mapped);
		if (pick(2))
			munmap(mapped + 4096, 4096);
		if (pick(2))
			window_revoke(fd, offset & ~(GRANULE - 1), 0, NULL);
		munmap(mapped, size);
	}
	close(fd);
}

static pid_t start(void (*run)(void), unsigned int number)
{
	pid_t pid = test_fork();

	if (pid)
		return pid;
	seed = 4711 * (number + 1);
	for (int64_t end = test_now_ms() + seconds() * 1000; test_now_ms() < end;)
		run();
	_exit(0);
}

static struct rdma owner_rdma;

static void owner(void)
{
	if (!owner_rdma.context)
		rdma_open(&owner_rdma);
	own_once(&owner_rdma);
}

static void revoker(void)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .flags = VPEER_REVOKE_ALL };
	int fd = try_open();

	if (fd >= 0) {
		ioctl(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg);
		close(fd);
	}
	test_sleep_ms(20);
}

static void detacher(void)
{
	control_detach(aperture_pci(), NULL, NULL);
	control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL);
	test_sleep_ms(150);
}

static void join_all(const pid_t *pids, size_t count)
{
	for (size_t i = 0; i < count; i++)
		test_join(pids[i]);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	if (!pci_bound(aperture_pci()))
		CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

TEST(owners_and_revoker, 60)
{
	pid_t pids[OWNERS + 1];

	for (unsigned int i = 0; i < OWNERS; i++)
		pids[i] = start(owner, i);
	pids[OWNERS] = start(revoker, OWNERS);
	join_all(pids, ARRAY_SIZE(pids));
	CHECK(aperture_stat("faults_4k") + aperture_stat("faults_2m") > 100);
}

TEST(owners_revoker_and_detacher, 60)
{
	pid_t pids[OWNERS + 2];

	for (unsigned int i = 0; i < OWNERS; i++)
		pids[i] = start(owner, i);
	pids[OWNERS] = start(revoker, OWNERS);
	pids[OWNERS + 1] = start(detacher, OWNERS + 1);
	join_all(pids, ARRAY_SIZE(pids));
}

/* Owners are killed at random moments, with whatever they hold. */
TEST(owners_are_killed, 60)
{
	for (unsigned int i = 0; i < 40; i++) {
		pid_t pids[OWNERS];

		for (unsigned int j = 0; j < OWNERS; j++)
			pids[j] = start(owner, i * OWNERS + j);
		test_sleep_ms(20 + i * 5);
		for (unsigned int j = 0; j < OWNERS; j++) {
			kill(pids[j], SIGKILL);
			CHECK_EQ(waitpid(pids[j], NULL, 0), pids[j]);
		}
	}
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rounds of unbinding and killing while windows are mapped, registered and
 * under traffic. VPEER_TEST_ROUNDS sets how many (20).
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "harness.h"
#include "holder.h"
#include "memory.h"
#include "rdma.h"

#define STEP_MS		30000
#define SIZE		(2 * GRANULE)

static unsigned int rounds(void)
{
	const char *text = getenv("VPEER_TEST_ROUNDS");

	return text ? strtoul(text, NULL, 10) : 20;
}

/* Each step of a round must be done within STEP_MS. */
static void step_done(int64_t *since, const char *name)
{
	int64_t now = test_now_ms();

	if (now - *since > STEP_MS)
		test_fail(__FILE__, __LINE__, "%s took %lld ms", name,
			  (long long)(now - *since));
	*since = now;
}

static void check_at_rest(void)
{
	uint64_t size = aperture_stat("size");

	CHECK_WITHIN(!aperture_stat("windows"), 5000);
	CHECK_WITHIN(aperture_stat("bytes_free") == size, 5000);
	CHECK_EQ(aperture_stat("bytes_pinned"), 0);
	CHECK_EQ(aperture_stat("mappings"), 0);
	CHECK_EQ(quarantine_bytes(), 0);
}

static void next_owner(void)
{
	check_next_owner(0, SIZE);
	check_at_rest();
}

TEST(kill, 600)
{
	int64_t since = test_now_ms();

	for (unsigned int i = 0; i < rounds(); i++) {
		struct holder h;

		holder_start(&h, 0, SIZE, true);
		step_done(&since, "start");
		test_sleep_ms(i * 3 % 50);
		holder_kill(&h);
		check_at_rest();
		step_done(&since, "kill");
		next_owner();
		step_done(&since, "next owner");
	}
}

/* Odd rounds leave a quarantine, even ones end the holder in time. */
TEST(detach, 600)
{
	int64_t since = test_now_ms();

	module_parameter("revoke_wait_ms", 100);
	for (unsigned int i = 0; i < rounds(); i++) {
		struct holder h;
		int ret;

		holder_start(&h, 0, SIZE, true);
		step_done(&since, "start");
		ret = control_detach(aperture_pci(), NULL, NULL);
		CHECK(ret == -1 && errno == EINPROGRESS);
		step_done(&since, "detach");
		if (i % 2)
			holder_release(&h);
		else
			holder_kill(&h);
		attach_again();
		step_done(&since, "attach");
		next_owner();
	}
	module_parameter("revoke_wait_ms", 2000);
}

TEST(unbind_by_sysfs, 600)
{
	const char *pci = aperture_pci();
	int64_t since = test_now_ms();

	module_parameter("revoke_wait_ms", 100);
	for (unsigned int i = 0; i < rounds(); i++) {
		struct holder h;

		holder_start(&h, 0, SIZE, true);
		CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", pci));
		step_done(&since, "unbind");
		holder_kill(&h);
		attach_again();
		step_done(&since, "attach");
		next_owner();
	}
	module_parameter("revoke_wait_ms", 2000);
}

/* The holder dies while detach waits for it. */
TEST(kill_during_detach, 600)
{
	int64_t since = test_now_ms();

	for (unsigned int i = 0; i < rounds(); i++) {
		struct holder h;
		pid_t pid;

		holder_start(&h, 0, SIZE, true);
		pid = test_fork();
		if (!pid) {
			test_sleep_ms(i * 7 % 100);
			CHECK_OK(kill(h.pid, SIGKILL));
			_exit(0);
		}
		CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
		step_done(&since, "detach");
		test_join(pid);
		close(h.command);
		attach_again();
		next_owner();
	}
}

static long unload(void)
{
	return syscall(SYS_delete_module, "vpeer", O_NONBLOCK);
}

/* Open file, mapping, pin: each alone keeps the module. */
static void check_stays_for_each(void)
{
	int fd = aperture_open();
	struct ibv_mr *mr;
	char *mapped;
	struct rdma r;

	CHECK_ERRNO(unload(), EWOULDBLOCK);
	mapped = window_map(fd, 0, SIZE);
	close(fd);
	CHECK_ERRNO(unload(), EWOULDBLOCK);
	rdma_open(&r);
	mr = rdma_reg(&r, mapped, SIZE);
	munmap(mapped, SIZE);
	CHECK_ERRNO(unload(), EWOULDBLOCK);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
	check_at_rest();
}

static void check_stays_for_quarantine(void)
{
	struct holder h;

	module_parameter("revoke_wait_ms", 100);
	holder_start(&h, 0, SIZE, true);
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	CHECK_ERRNO(unload(), EWOULDBLOCK);
	holder_kill(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
}

TEST(unload, 120)
{
	int fd = control_open();

	CHECK_ERRNO(unload(), EWOULDBLOCK);
	close(fd);
	check_stays_for_each();
	check_stays_for_quarantine();
	CHECK_OK(unload());
	CHECK(access("/dev/vpeerctl", F_OK));
	CHECK(access("/sys/class/vpeer", F_OK));
	step("! grep -q vpeer /proc/iomem");
	step("modprobe vpeer");
	attach_again();
	next_owner();
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * RDMA between two functions and the memory of a GPU that neither has: windows of its aperture as DMA-bufs,
 * which the target reaches by rkey and the initiator by lkey. What is there is compared by the GPU's own engine.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "aperture.h"
#include "command.h"
#include "dmabuf.h"
#include "ends.h"
#include "gpu_window.h"
#include "harness.h"
#include "kmsg.h"
#include "memory.h"
#include "passing.h"
#include "rdma.h"
#include "sim.h"
#include "vgpu.h"
#include "vrnic.h"
#define PAGE		4096
#define GIB		(1024 * MIB)
#define AT		(3 * GRANULE)
#define WINDOW		(4 * GRANULE)
#define HUGE_WINDOW	(8 * GIB)
#define IOVA		ENDS_IOVA

/* Both functions import the same one. */
static void check_part(struct ends *e, int dmabuf, uint64_t start, uint64_t offset, uint64_t size)
{
	struct region target = region_of(&e->far, e, dmabuf, start, offset, size);
	struct region local = region_of(&e->r, e, dmabuf, start, offset, size);

	check_region(e, &target, &local);
	region_drop(&local);
	region_drop(&target);
}

/* A window that both functions have imported whole; its DMA-buf. */
static int begin_both(struct ends *e, struct region *target, struct region *local)
{
	int dmabuf;

	ends_begin(e, "dynamic", AT, WINDOW);
	dmabuf = dmabuf_export(e->w.fd, AT, WINDOW);
	*target = region_of(&e->far, e, dmabuf, 0, 0, WINDOW);
	*local = region_of(&e->r, e, dmabuf, 0, 0, WINDOW);
	return dmabuf;
}

static void check_mode(const char *mode)
{
	struct ends e;
	int dmabuf;

	ends_begin(&e, mode, AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, WINDOW);
	check_part(&e, dmabuf, 0, 0, WINDOW);
	check_part(&e, dmabuf, 0, GRANULE - 5, 3 * PAGE + GRANULE + 9);
	close(dmabuf);
	ends_end(&e);
}

TEST(dynamic, 60)
{
	check_mode("dynamic");
}

TEST(pinned, 60)
{
	check_mode("pinned");
}

TEST(revocable, 60)
{
	struct ends e;
	int dmabuf;

	if (vrnic_can_revoke()) {
		check_mode("revocable");
		return;
	}
	ends_begin(&e, "revocable", AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, WINDOW);
	CHECK(!ibv_reg_dmabuf_mr(e.far.pd, 0, WINDOW, IOVA, dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, EOPNOTSUPP);
	close(dmabuf);
	ends_end(&e);
}

TEST(sizes, 120)
{
	static const uint64_t sizes[] = {
		1, 2, 3, 7, 8, 63, 64, 65, 4095, 4096, 4097, 8191, 65535, 65536, 65537,
		MIB - 1, MIB + 3, ENDS_PLAIN - 1, ENDS_PLAIN,
	};
	struct region target, local;
	struct ends e;
	int dmabuf;

	dmabuf = begin_both(&e, &target, &local);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		check_place(&e, &target, &local, GRANULE - 3 - i, sizes[i]);
	region_drop(&local);
	region_drop(&target);
	close(dmabuf);
	ends_end(&e);
}

/* Nothing moves either way. A refusal ends the connection; it is made anew. */
static void check_refused(struct ends *e, const struct region *target, uint64_t iova, uint32_t rkey,
			  uint64_t size)
{
	gpu_poison(&e->w, target->at, target->size);
	ends_fill(e->near, size);
	CHECK_EQ(ends_put(e, iova, rkey, size), IBV_WC_REM_ACCESS_ERR);
	CHECK(gpu_is_poison(&e->w, target->at, target->size));
	rdma_connect(&e->r);
	ends_empty(e->near, size);
	CHECK_EQ(ends_get(e, iova, rkey, size), IBV_WC_REM_ACCESS_ERR);
	for (uint64_t i = 0; i < size; i++)
		CHECK_EQ(e->near[i], ENDS_EMPTY);
	rdma_connect(&e->r);
}

static void check_borders(struct ends *e, const struct region *target)
{
	uint32_t rkey = target->mr->rkey;

	check_refused(e, target, target->iova - 1, rkey, 1);
	check_refused(e, target, target->iova - 1, rkey, PAGE);
	check_refused(e, target, target->iova + target->size, rkey, 1);
	check_refused(e, target, target->iova + target->size - 100, rkey, 101);
	check_guards(e, target->at, target->size);
}

/* Neither begin nor end of an MR is a page's; what is beside it in the same pages is not in reach. */
TEST(odd_places, 60)
{
	static const struct {
		uint64_t offset, size;
	} parts[] = {
		{ 1, 70 * KIB + 1 }, { 4095, 66 * KIB }, { 3 * PAGE + 17, GRANULE + 333 },
		{ GRANULE - 1, 64 * KIB + 11 }, { WINDOW - 100 * KIB - 1, 100 * KIB + 1 },
	};
	struct region target;
	struct ends e;
	int dmabuf;

	ends_begin(&e, "dynamic", AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, WINDOW);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		check_part(&e, dmabuf, 0, parts[i].offset, parts[i].size);
	target = region_of(&e.far, &e, dmabuf, 0, PAGE - 7, 3 * PAGE);
	ends_poison(&e, target.at, target.size);
	check_borders(&e, &target);
	region_drop(&target);
	/* An address in a page that is not the one in the DMA-buf's page is refused by the kernel. */
	CHECK(!ibv_reg_dmabuf_mr(e.far.pd, 1, PAGE, IOVA + 2, dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, EINVAL);
	close(dmabuf);
	ends_end(&e);
}

/* A DMA-buf gives what it is of, and nothing beside it in the same window. */
TEST(parts_of_a_window, 60)
{
	static const struct {
		uint64_t start, size;
	} parts[] = {
		{ 2 * PAGE, 18 * PAGE }, { GRANULE - PAGE, GRANULE + 2 * PAGE },
		{ WINDOW - 17 * PAGE, 17 * PAGE },
	};
	struct ends e;
	int dmabuf[ARRAY_SIZE(parts)];

	ends_begin(&e, "dynamic", AT, WINDOW);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		dmabuf[i] = dmabuf_export(e.w.fd, AT + parts[i].start, parts[i].size);
	CHECK_EQ(window_info(e.w.fd, AT).dmabufs, ARRAY_SIZE(parts));
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		check_part(&e, dmabuf[i], parts[i].start, 0, parts[i].size);
		CHECK(!ibv_reg_dmabuf_mr(e.far.pd, 0, parts[i].size + 1, IOVA, dmabuf[i],
					 RDMA_ACCESS));
		CHECK_EQ(errno, EINVAL);
		CHECK(!ibv_reg_dmabuf_mr(e.far.pd, parts[i].size, 1, IOVA, dmabuf[i],
					 RDMA_ACCESS));
		CHECK_EQ(errno, EINVAL);
		close(dmabuf[i]);
	}
	ends_end(&e);
}

/* The MR keeps what it needs. */
TEST(descriptors_closed, 60)
{
	struct region target, local;
	struct ends e;
	int dmabuf, fd;

	dmabuf = begin_both(&e, &target, &local);
	close(dmabuf);
	close(e.w.fd);
	CHECK_EQ(aperture_stat("windows"), 1);
	check_region(&e, &target, &local);
	region_drop(&target);
	check_local_read(&e, &local, 3, PAGE);
	CHECK_EQ(aperture_stat("windows"), 1);
	region_drop(&local);
	CHECK_WITHIN(aperture_all_free(), 5000);
	/* Its next owner sees none of it. */
	fd = aperture_open();
	CHECK(all_zero(window_map(fd, AT, WINDOW), WINDOW));
	e.w.fd = fd;
	ends_end(&e);
}

TEST(wrong_keys, 60)
{
	struct region target, local;
	struct ibv_mr mr;
	struct ends e;
	int dmabuf;

	ends_begin(&e, "dynamic", AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, GRANULE);
	target = region_of(&e.far, &e, dmabuf, 0, 0, GRANULE);
	local = region_of(&e.r, &e, dmabuf, 0, 0, GRANULE);
	check_refused(&e, &target, IOVA, target.mr->rkey ^ 1, PAGE);
	check_refused(&e, &target, IOVA, target.mr->rkey ^ 0x80000000, PAGE);
	check_refused(&e, &target, IOVA, e.remote_mr->rkey, PAGE);
	check_refused(&e, &target, IOVA, 0, PAGE);
	mr = local_mr(&local, 0);
	mr.lkey ^= 1;
	CHECK_EQ(rdma_read(&e.r, &mr, (uintptr_t)e.remote, e.remote_mr->rkey, PAGE),
		 IBV_WC_LOC_PROT_ERR);
	CHECK(gpu_is_poison(&e.w, target.at, target.size));
	rdma_connect(&e.r);
	CHECK(sim_logged(" refused none$") >= 9);
	check_region(&e, &target, &local);
	region_drop(&local);
	region_drop(&target);
	close(dmabuf);
	ends_end(&e);
}

/* An MR that gives others the right to read alone. */
TEST(without_remote_write, 60)
{
	struct region target = { .iova = IOVA, .at = AT, .size = GRANULE };
	struct ends e;
	int dmabuf;

	ends_begin(&e, "dynamic", AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, GRANULE);
	target.mr = ibv_reg_dmabuf_mr(e.far.pd, 0, GRANULE, IOVA, dmabuf,
				      IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	CHECK(target.mr);
	gpu_poison(&e.w, AT, GRANULE);
	CHECK_EQ(ends_put(&e, IOVA, target.mr->rkey, PAGE), IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&e.r);
	CHECK_EQ(rdma_add(&e.r, e.near_mr, IOVA, target.mr->rkey, 1), IBV_WC_REM_ACCESS_ERR);
	rdma_connect(&e.r);
	CHECK(gpu_is_poison(&e.w, AT, GRANULE));
	check_read(&e, &target, 5, PAGE);
	region_drop(&target);
	close(dmabuf);
	ends_end(&e);
}

/* The old key reaches nothing, also when another MR has the memory. */
static void check_deregistered(const char *mode)
{
	struct region target, again;
	struct ends e;
	uint32_t rkey;
	int dmabuf;

	ends_begin(&e, mode, AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, GRANULE);
	target = region_of(&e.far, &e, dmabuf, 0, 0, GRANULE);
	check_write(&e, &target, 3, 64 * KIB);
	rkey = target.mr->rkey;
	region_drop(&target);
	CHECK_EQ(window_info(e.w.fd, AT).mapped_bytes, 0);
	check_refused(&e, &target, IOVA, rkey, PAGE);
	again = region_of(&e.far, &e, dmabuf, 0, 0, GRANULE);
	CHECK(again.mr->rkey != rkey);
	check_refused(&e, &again, IOVA, rkey, PAGE);
	check_write(&e, &again, 3, 64 * KIB);
	region_drop(&again);
	close(dmabuf);
	ends_end(&e);
}

TEST(deregistered, 60)
{
	check_deregistered("dynamic");
}

TEST(deregistered_pinned, 60)
{
	check_deregistered("pinned");
}

/* The window is gone for its key: without pages the MR's accesses fail. */
static void check_dead(struct ends *e, const struct region *target)
{
	gpu_poison(&e->w, target->at, target->size);
	ends_fill(e->near, PAGE);
	CHECK(ends_put(e, target->iova, target->mr->rkey, PAGE) != IBV_WC_SUCCESS);
	CHECK(gpu_is_poison(&e->w, target->at, target->size));
	rdma_connect(&e->r);
	ends_empty(e->near, PAGE);
	CHECK(ends_get(e, target->iova, target->mr->rkey, PAGE) != IBV_WC_SUCCESS);
	for (int i = 0; i < PAGE; i++)
		CHECK_EQ(e->near[i], ENDS_EMPTY);
	rdma_connect(&e->r);
}

static void check_revoked(const char *mode)
{
	struct region target;
	struct ends e;
	int dmabuf;

	ends_begin(&e, mode, AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, GRANULE);
	target = region_of(&e.far, &e, dmabuf, 0, 0, GRANULE);
	check_write(&e, &target, 3, 64 * KIB);
	CHECK_OK(window_revoke(e.w.fd, AT, 1000, NULL));
	check_dead(&e, &target);
	CHECK(!ibv_reg_dmabuf_mr(e.far.pd, 0, PAGE, IOVA, dmabuf, RDMA_ACCESS));
	CHECK_EQ(errno, ENODEV);
	region_drop(&target);
	close(dmabuf);
	ends_end(&e);
}

TEST(revoked, 60)
{
	check_revoked("dynamic");
	if (vrnic_can_revoke())
		check_revoked("revocable");
}

/* Misbehaviours of both functions are seen, and only while they are on. */
static void misbehave(const char *fault, void (*see)(struct ends *e, const struct region *target,
						     const struct region *local))
{
	struct region target, local;
	struct ends e;
	int dmabuf;

	dmabuf = begin_both(&e, &target, &local);
	check_region(&e, &target, &local);
	CHECK(sim_logged("vrnic0 0x[0-9a-f]+ [0-9]+ write ok "));
	CHECK(sim_logged("vrnic1 0x[0-9a-f]+ [0-9]+ write ok "));
	CHECK_EQ(sim_logged(" (bounce|drop|atc-stale) "), 0);
	sim_ask("fault %s on all", fault);
	see(&e, &target, &local);
	sim_ask("fault %s off all", fault);
	sim_ask("log clear");
	check_region(&e, &target, &local);
	CHECK_EQ(sim_logged(" (bounce|drop|atc-stale) "), 0);
	region_drop(&local);
	region_drop(&target);
	close(dmabuf);
	ends_end(&e);
}

/* The right bytes in the end, by a way that the log tells. */
static void see_bounce(struct ends *e, const struct region *target, const struct region *local)
{
	check_region(e, target, local);
	for (int i = 0; i < 2; i++) {
		char pattern[64];

		snprintf(pattern, sizeof(pattern), "vrnic%d 0x[0-9a-f]+ [0-9]+ write bounce ", i);
		CHECK(sim_logged(pattern));
		snprintf(pattern, sizeof(pattern), "vrnic%d 0x[0-9a-f]+ [0-9]+ read bounce ", i);
		CHECK(sim_logged(pattern));
	}
}

TEST(bounce, 60)
{
	misbehave("bounce", see_bounce);
}

/* Success is told and nothing lands. */
static void see_drop(struct ends *e, const struct region *target, const struct region *local)
{
	struct ibv_mr mr = local_mr(local, GRANULE);

	gpu_poison(&e->w, AT, WINDOW);
	ends_fill(e->near, PAGE);
	CHECK_EQ(ends_put(e, target->iova, target->mr->rkey, PAGE), IBV_WC_SUCCESS);
	CHECK_EQ(rdma_read(&e->r, &mr, (uintptr_t)e->remote, e->remote_mr->rkey, PAGE),
		 IBV_WC_SUCCESS);
	CHECK(gpu_is_poison(&e->w, AT, WINDOW));
}

TEST(drop, 60)
{
	misbehave("drop", see_drop);
}

/* The other route, of the same window: its pages, pinned. */
TEST(pages, 60)
{
	struct region target = { .at = AT, .size = WINDOW }, local = target;
	struct ends e;
	char *window;

	ends_begin(&e, "dynamic", AT, WINDOW);
	window = window_map(e.w.fd, AT, WINDOW);
	target.mr = rdma_reg(&e.far, window, WINDOW);
	target.iova = (uintptr_t)window;
	local.mr = rdma_reg(&e.r, window, WINDOW);
	local.iova = (uintptr_t)window;
	check_region(&e, &target, &local);
	check_place(&e, &target, &local, GRANULE - 7, MIB + 3);
	CHECK_ERRNO(window_revoke(e.w.fd, AT, 0, NULL), EINPROGRESS);
	check_write(&e, &target, 3, PAGE);
	region_drop(&local);
	region_drop(&target);
	CHECK_OK(window_revoke(e.w.fd, AT, 1000, NULL));
	munmap(window, WINDOW);
	ends_end(&e);
}

/* Both routes at once, of the same bytes. */
TEST(pages_beside_dmabuf, 60)
{
	struct region target = { .at = AT, .size = WINDOW }, local;
	struct ends e;
	char *window;
	int dmabuf;

	ends_begin(&e, "dynamic", AT, WINDOW);
	window = window_map(e.w.fd, AT, WINDOW);
	dmabuf = dmabuf_export(e.w.fd, AT, WINDOW);
	target.mr = rdma_reg(&e.far, window, WINDOW);
	target.iova = (uintptr_t)window;
	local = region_of(&e.r, &e, dmabuf, 0, 0, WINDOW);
	check_region(&e, &target, &local);
	region_drop(&local);
	check_write(&e, &target, 3, PAGE);
	region_drop(&target);
	close(dmabuf);
	munmap(window, WINDOW);
	ends_end(&e);
}

static void say(int socket)
{
	CHECK_EQ(send(socket, "", 1, 0), 1);
}

static void hear(int socket)
{
	char byte;

	CHECK_EQ(recv(socket, &byte, 1, 0), 1);
}

/* A process that has nothing but the descriptor: writes a page when told, until that fails. */
static _Noreturn void use_dmabuf(int socket)
{
	char *plain = plain_memory(PAGE);
	int dmabuf = receive_fd(socket);
	struct ibv_mr *mr, *local;
	struct rdma r, far;

	rdma_open_far(&far, vrnic_device(1));
	rdma_open_to(&r, vrnic_device(0), &far);
	mr = rdma_reg_dmabuf(&far, dmabuf, PAGE, PAGE, IOVA);
	close(dmabuf);
	local = rdma_reg(&r, plain, PAGE);
	pattern_fill(plain, PAGE, 71);
	CHECK_EQ(rdma_write(&r, local, IOVA, mr->rkey, PAGE), IBV_WC_SUCCESS);
	say(socket);
	hear(socket);
	pattern_fill(plain, PAGE, 72);
	CHECK(rdma_write(&r, local, IOVA, mr->rkey, PAGE) != IBV_WC_SUCCESS);
	say(socket);
	hear(socket);
	_exit(0);
}

TEST(handed_over, 60)
{
	int hand[2], dmabuf;
	struct gpu_window w;
	char bytes[PAGE];
	pid_t user;

	sim_begin();
	vrnic_dmabuf_mode("dynamic");
	gpu_attach(0, 0);
	CHECK_OK(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, hand));
	user = test_fork();
	if (!user)
		use_dmabuf(hand[1]);
	gpu_window_open(&w, 0, AT, WINDOW);
	dmabuf = dmabuf_export(w.fd, AT + GRANULE, GRANULE);
	gpu_poison(&w, AT, WINDOW);
	send_fd(hand[0], dmabuf);
	close(dmabuf);
	hear(hand[0]);
	pattern_fill(bytes, PAGE, 71);
	CHECK(gpu_holds(&w, AT + GRANULE + PAGE, bytes, PAGE));
	CHECK(gpu_is_poison(&w, AT, GRANULE + PAGE));
	CHECK_EQ(window_info(w.fd, AT).mapped_bytes, GRANULE);

	CHECK_OK(window_revoke(w.fd, AT, 1000, NULL));
	gpu_poison(&w, AT, WINDOW);
	say(hand[0]);
	hear(hand[0]);
	CHECK(gpu_is_poison(&w, AT, WINDOW));
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error) "), 0);
	say(hand[0]);
	test_join(user);
	gpu_window_close(&w);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* The lab's vgpu that has so large an aperture. */
static unsigned int vgpu_of_size(uint64_t size)
{
	struct vgpu v;

	for (unsigned int number = 0;; number++) {
		vgpu_open(&v, number);
		vgpu_close(&v);
		if (v.aperture_size == size)
			return number;
	}
}

static void check_huge(struct ends *e, const struct region *target, const struct region *local)
{
	const uint64_t size = 64 * KIB + 6;

	check_place(e, target, local, 0, size);
	for (uint64_t at = GIB; at < HUGE_WINDOW; at += GIB)
		check_place(e, target, local, at - size / 2 - 1, size);
	check_place(e, target, local, HUGE_WINDOW - size, size);
	check_atomics(e, target, HUGE_WINDOW - 8);
	check_local_atomics(e, local, HUGE_WINDOW / 2 - 8);
}

/* Sparse: none of it is zeroed, since its GPU was just reset. */
static void huge(const char *mode, bool both)
{
	unsigned int number = vgpu_of_size(HUGE_WINDOW);
	struct region target, local;
	struct ends e;
	char path[128];
	int dmabuf;

	sim_begin();
	vrnic_dmabuf_mode(mode);
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", vgpu_pci(number));
	CHECK(sysfs_write(path, "1"));
	gpu_attach(number, VPEER_ATTACH_CLEAN);
	ends_begin_at(&e, number, 0, HUGE_WINDOW);
	dmabuf = dmabuf_export(e.w.fd, 0, HUGE_WINDOW);
	CHECK_EQ(aperture_stat("bytes_scrubbed"), 0);
	target = region_of(&e.far, &e, dmabuf, 0, 0, HUGE_WINDOW);
	local = region_of(&e.r, &e, dmabuf, 0, 0, HUGE_WINDOW);
	check_huge(&e, &target, &local);
	if (both)
		check_refused(&e, &(struct region){ .at = HUGE_WINDOW - MIB, .size = MIB },
			      IOVA + HUGE_WINDOW - 1, target.mr->rkey, 2);
	region_drop(&local);
	region_drop(&target);
	close(dmabuf);
	ends_end(&e);
}

TEST(eight_gigabytes, 120)
{
	huge("dynamic", true);
}

TEST(eight_gigabytes_pinned, 120)
{
	huge("pinned", false);
}

/* All of the window, with nothing left open but the MR. */
static struct region begin_alone(struct ends *e)
{
	struct region target;
	int dmabuf;

	ends_begin(e, "pinned", AT, GRANULE);
	dmabuf = dmabuf_export(e->w.fd, AT, GRANULE);
	target = region_of(&e->far, e, dmabuf, 0, 0, GRANULE);
	close(dmabuf);
	close(e->w.fd);
	return target;
}

static void check_named(const char *command, const char *what)
{
	const char *said = output_of(1, "vpeer %s %s 2>&1", command, aperture_pci());
	char holder[128];

	snprintf(holder, sizeof(holder),
		 "  holder: process %d (vrnic_dmabuf) mapped or registered memory of %s that is held\n",
		 (int)getpid(), what);
	CHECK(strstr(said, holder));
	CHECK(!strstr(said, "perhaps"));
	CHECK(strstr(said, "remedy: end these processes"));
}

/* By an MR alone, memory is held by a process that has neither node nor DMA-buf open. */
TEST(holder_of_an_mr, 60)
{
	struct region target;
	struct ends e;

	target = begin_alone(&e);
	module_parameter("revoke_wait_ms", 100);
	check_named("revoke", aperture_node());
	check_named("detach", aperture_pci());
	module_parameter("revoke_wait_ms", 2000);
	region_drop(&target);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	gpu_attach(0, 0);
	e.w.fd = aperture_open();
	ends_end(&e);
}

/* Whoever inherits the RDMA device has the MRs too; no one that has ended is named for it. */
static void leave_to_heir(void *ends)
{
	int *end = ends;
	struct ends e;
	char byte;

	close(end[1]);
	begin_alone(&e);
	if (!test_fork()) {
		CHECK_EQ(read(end[0], &byte, 1), 0);
		_exit(0);
	}
	_exit(0);
}

TEST(holder_is_not_known, 60)
{
	const char *said;
	int end[2];

	gpu_attach(0, 0);
	CHECK_OK(pipe2(end, O_CLOEXEC));
	test_in_child(leave_to_heir, end);
	module_parameter("revoke_wait_ms", 100);
	said = output_of(1, "vpeer revoke %s 2>&1", aperture_pci());
	module_parameter("revoke_wait_ms", 2000);
	CHECK(strstr(said, "  holders: no process is left that mapped or registered the memory"));
	CHECK(strstr(said, "  remedy: end the one that inherited"));
	CHECK(!strstr(said, "holder: "));
	CHECK(!strstr(said, "perhaps: "));
	close(end[1]);
	CHECK_WITHIN(aperture_all_free(), 10000);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* The line of list: what is pinned, windows, DMA-bufs, and what is imported of them. */
static void check_listed(const char *numbers)
{
	output_of(0, "vpeer list | grep -E '^%s .* %s +/dev/vpeer'", aperture_pci(), numbers);
}

/* Importers that let go when they are told pin nothing, and are listed all the same. */
TEST(list_shows_imports, 60)
{
	struct region target;
	struct ends e;
	int dmabuf;

	ends_begin(&e, "dynamic", AT, GRANULE);
	check_listed("0 B +1 +0 +0 B");
	dmabuf = dmabuf_export(e.w.fd, AT, GRANULE);
	check_listed("0 B +1 +1 +0 B");
	target = region_of(&e.far, &e, dmabuf, 0, 0, GRANULE);
	check_listed("0 B +1 +1 +2 MiB");
	output_of(0, "vpeer list --json | grep '\"dmabufs\": *1,'");
	output_of(0, "vpeer list --json | grep '\"dmabuf_bytes_mapped\": *2097152$'");
	region_drop(&target);
	vrnic_dmabuf_mode("pinned");
	target = region_of(&e.far, &e, dmabuf, 0, 0, GRANULE);
	check_listed("2 MiB +1 +1 +2 MiB");
	region_drop(&target);
	close(dmabuf);
	check_listed("0 B +1 +0 +0 B");
	ends_end(&e);
}

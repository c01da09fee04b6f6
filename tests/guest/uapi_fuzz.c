// SPDX-License-Identifier: GPL-2.0-only
/* Random calls with a fixed seed, as root and as an ordinary user. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "calls.h"
#include "harness.h"
#include "user.h"

#define ROUNDS	16000
#define KEPT	4
#define BYTES	1024

static uint64_t state;

/* DMA-bufs, of which an older one goes for each that comes; and an eventfd. */
static int kept[KEPT];
static int event;
static uint64_t last_window;

static uint64_t next(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* Values at which limits lie, more often than any others. */
static uint64_t value(void)
{
	static const uint64_t edges[] = {
		0, 1, 4095, 4096, GRANULE - 1, GRANULE, GRANULE + 1, 64 * MIB,
		64 * MIB - GRANULE, UINT32_MAX, INT64_MAX, UINT64_MAX,
		UINT64_MAX - GRANULE + 1, VPEER_MMAP_GENERATION,
	};
	uint64_t roll = next();

	switch (roll % 4) {
	case 0:
		return edges[(roll >> 8) % ARRAY_SIZE(edges)];
	case 1:
		return (roll >> 8) % 32 * GRANULE;
	case 2:
		return (roll >> 8) % (64 * MIB);
	}
	return next();
}

static uint32_t argsz_for(const struct call *call)
{
	switch (next() % 8) {
	case 0:
		return next();
	case 1:
		return call->size + next() % 16;
	}
	return call->size;
}

/* Root's attach and detach reach real functions: leave the machine's alone. */
static bool harmless(const struct call *call, const void *arg)
{
	const struct vpeer_attach *attach = arg;

	if (call->cmd != VPEER_IOCTL_ATTACH && call->cmd != VPEER_IOCTL_DETACH)
		return true;
	return attach->domain || attach->bus > 64;
}

/* Most buses of the machine are among these. */
static void fill_path(struct vpeer_path_report *report)
{
	if (next() % 8)
		report->domain = 0;
	if (next() % 8)
		report->bus = next() % 16;
	if (next() % 2)
		report->devfn &= ~7;
	memset(report->reserved, 0, sizeof(report->reserved));
	memset(report->reserved2, 0, sizeof(report->reserved2));
	report->reserved3 = 0;
	memset(report->reserved4, 0, sizeof(report->reserved4));
	memset(report->aperture.reserved, 0, sizeof(report->aperture.reserved));
	memset(report->initiator.reserved, 0, sizeof(report->initiator.reserved));
}

static void fill(const struct call *call, uint64_t *arg)
{
	struct call_header *header = (struct call_header *)arg;

	for (size_t i = 0; i < BYTES / sizeof(*arg); i++)
		arg[i] = i < call->size / sizeof(*arg) ? value() : 0;
	header->argsz = argsz_for(call);
	header->flags = next() % 2 ? 0 : next() % 8 ? next() % 4 : next();
	if (header->flags & VPEER_REVOKE_ALL && call->cmd == VPEER_IOCTL_WINDOW_REVOKE)
		arg[2] = 0;
	if (call->cmd == VPEER_IOCTL_DMABUF && next() % 8) {
		header->flags = 0;
		arg[2] = last_window;
		arg[3] = (next() % 600 + 1) * 4096;
	}
	if (call->cmd == VPEER_IOCTL_EVENT && next() % 2)
		memcpy((char *)arg + offsetof(struct vpeer_event, fd), &event, sizeof(event));
	if (call->cmd == VPEER_IOCTL_PATH_REPORT && next() % 8)
		fill_path((struct vpeer_path_report *)arg);
}

static void random_map(int fd)
{
	uint64_t offset = value() & ~4095ULL, size = value() % (8 * MIB) + 1;
	int prot = next() % 8, flags = next() % 2 ? MAP_SHARED : MAP_PRIVATE;
	void *addr = mmap(NULL, size, prot, flags, fd, offset);

	if (addr == MAP_FAILED)
		return;
	if (next() % 2)
		mprotect(addr, size, next() % 8);
	if (next() % 2)
		munmap(addr, size / 2);
	munmap(addr, size);
}

static void keep(const void *arg)
{
	int *place = &kept[next() % KEPT];
	int dmabuf;

	memcpy(&dmabuf, (const char *)arg + offsetof(struct vpeer_dmabuf, fd), sizeof(dmabuf));
	random_map(dmabuf);
	if (*place > 0)
		close(*place);
	*place = dmabuf;
}

/* Uses what a call gave; true if that was a DMA-buf. */
static bool take_result(const struct call *call, const uint64_t *arg)
{
	if (call->cmd == VPEER_IOCTL_WINDOW_ALLOC)
		last_window = arg[3];
	if (call->cmd != VPEER_IOCTL_DMABUF)
		return false;
	keep(arg);
	return true;
}

static void fuzz(uint64_t seed)
{
	struct nodes nodes = nodes_open();
	uint64_t arg[BYTES / sizeof(uint64_t)];
	unsigned int good = 0, bad = 0, dmabufs = 0, reports = 0;

	state = seed;
	event = eventfd(0, EFD_CLOEXEC);
	CHECK_OK(event);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		const struct call *call = &calls[next() % call_count];

		fill(call, arg);
		if (!harmless(call, arg))
			continue;
		if (ioctl(call_fd(&nodes, call), call->cmd, arg)) {
			bad++;
		} else {
			good++;
			dmabufs += take_result(call, arg);
			reports += call->cmd == VPEER_IOCTL_PATH_REPORT;
		}
		if (!(i % 8))
			random_map(nodes.aperture);
		if (!(i % 256)) {
			nodes_close(&nodes);
			nodes = nodes_open();
		}
	}
	nodes_close(&nodes);
	for (unsigned int i = 0; i < KEPT; i++)
		if (kept[i] > 0)
			close(kept[i]);
	close(event);
	printf("%u calls succeeded, %u failed; %u DMA-bufs, %u reports\n", good, bad, dmabufs,
	       reports);
	/* Fuzzing that only ever hits the first check would show nothing. */
	CHECK(good > ROUNDS / 20);
	CHECK(bad > ROUNDS / 20);
	CHECK(dmabufs > ROUNDS / 4000);
	CHECK(reports > 0);
}

TEST(as_root, 60)
{
	fuzz(0x76706565722d3031);
}

static void fuzz_as_member(void *unused)
{
	(void)unused;
	become_member();
	fuzz(0x76706565722d3032);
}

TEST(as_user, 60)
{
	test_in_child(fuzz_as_member, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness.h"
#include "importer.h"
#include "vrnic.h"

#define PAGE	4096

/* Its descriptor, or -errno. */
static int try_open(const char *pci, enum importer_mode mode, const struct importer_setup *limits)
{
	struct importer_setup setup = limits ? *limits : (struct importer_setup){ 0 };
	unsigned int domain, bus, device, function;
	int importer, ret;

	vrnic_load("importer", IMPORTER_PATH);
	CHECK_EQ(sscanf(pci, "%x:%x:%x.%x", &domain, &bus, &device, &function), 4);
	setup.domain = domain;
	setup.bus = bus;
	setup.devfn = device << 3 | function;
	setup.mode = mode;
	importer = open(IMPORTER_PATH, O_RDWR | O_CLOEXEC);
	CHECK_OK(importer);
	if (!ioctl(importer, IMPORTER_SETUP, &setup))
		return importer;
	ret = -errno;
	close(importer);
	return ret;
}

int importer_open(const char *pci, enum importer_mode mode, const struct importer_setup *limits)
{
	int importer = try_open(pci, mode, limits);

	if (importer < 0)
		test_fail(__FILE__, __LINE__, "%s cannot import in mode %u: %s", pci, mode,
			  strerrorname_np(-importer));
	return importer;
}

bool importer_can_revoke(const char *pci)
{
	int importer = try_open(pci, IMPORTER_REVOCABLE, NULL);

	if (importer == -EOPNOTSUPP)
		return false;
	CHECK(importer >= 0);
	close(importer);
	return true;
}

int importer_attach(int importer, int dmabuf)
{
	return ioctl(importer, IMPORTER_ATTACH, &dmabuf) ? -errno : 0;
}

int importer_do(int importer, unsigned long command)
{
	return ioctl(importer, command) ? -errno : 0;
}

void importer_take(int importer, int dmabuf)
{
	CHECK_EQ(importer_attach(importer, dmabuf), 0);
	CHECK_EQ(importer_do(importer, IMPORTER_MAP), 0);
}

void importer_slow(int importer, bool slow)
{
	uint32_t value = slow;

	CHECK_OK(ioctl(importer, IMPORTER_SLOW, &value));
}

void importer_fence(int importer, enum importer_usage usage)
{
	uint32_t value = usage;

	CHECK_OK(ioctl(importer, IMPORTER_FENCE, &value));
}

struct importer_state importer_state(int importer)
{
	struct importer_state state;

	CHECK_OK(ioctl(importer, IMPORTER_STATE, &state));
	return state;
}

void importer_check_state(int importer, uint32_t notified, bool mapped, bool pinned)
{
	struct importer_state state = importer_state(importer);

	CHECK_EQ(state.notified, notified);
	CHECK_EQ(state.mapped, mapped);
	CHECK_EQ(state.pinned, pinned);
}

struct importer_list importer_list(int importer)
{
	struct importer_list list = { .head.room = 0 };

	CHECK_OK(ioctl(importer, IMPORTER_SEGMENTS, &list.head));
	list.segments = calloc(list.head.count, sizeof(*list.segments));
	CHECK(list.segments);
	list.head.segments = (uintptr_t)list.segments;
	list.head.room = list.head.count;
	CHECK_OK(ioctl(importer, IMPORTER_SEGMENTS, &list.head));
	CHECK_EQ(list.head.room, list.head.count);
	return list;
}

uint64_t importer_check_pieces(const struct importer_list *list, uint64_t size)
{
	uint64_t next = list->segments[0].address;

	CHECK_EQ(list->head.orig_nents, 0);
	CHECK_EQ(list->head.pages, 0);
	for (uint32_t i = 0; i < list->head.count; i++) {
		CHECK_EQ(list->segments[i].address, next);
		CHECK(list->segments[i].length);
		next += list->segments[i].length;
	}
	CHECK_EQ(next - list->segments[0].address, size);
	return list->segments[0].address;
}

void importer_check_limits(const struct importer_list *list, uint32_t max_segment,
			   uint64_t boundary)
{
	for (uint32_t i = 0; i < list->head.count; i++) {
		const struct importer_segment *s = &list->segments[i];

		CHECK_EQ(s->address % PAGE, 0);
		CHECK_EQ(s->length % PAGE, 0);
		if (max_segment)
			CHECK(s->length <= max_segment);
		if (boundary)
			CHECK_EQ(s->address / boundary, (s->address + s->length - 1) / boundary);
	}
}

struct importer_check importer_places(int importer, uint64_t physical, uint64_t step)
{
	struct importer_check check = { .physical = physical, .step = step };

	CHECK_OK(ioctl(importer, IMPORTER_CHECK, &check));
	CHECK(check.checked > 1);
	return check;
}

void importer_check_place(int importer, uint64_t physical)
{
	struct importer_check check = importer_places(importer, physical, PAGE);

	if (check.wrong)
		test_fail(__FILE__, __LINE__, "%llu of %llu places wrong: offset %#llx is %#llx",
			  (unsigned long long)check.wrong, (unsigned long long)check.checked,
			  (unsigned long long)check.offset, (unsigned long long)check.found);
}

uint64_t importer_resolve(int importer, uint64_t address)
{
	CHECK_OK(ioctl(importer, IMPORTER_RESOLVE, &address));
	return address;
}

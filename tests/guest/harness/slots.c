// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "slots.h"

#define FIRST_PLACE	8
#define PLACES		3

/* aperture_open() is for one thread. */
static void open_node(struct slot *slot)
{
	slot->fd = open(slot->node, O_RDWR | O_CLOEXEC);
	CHECK_OK(slot->fd);
}

static void put(struct slot *slot, int prot, int flags, int fd, uint64_t offset)
{
	CHECK(mmap(slot->at, SLOT_SIZE, prot, flags | MAP_FIXED, fd, offset) == slot->at);
}

static void leave(struct slot *slot)
{
	slot->live = false;
	put(slot, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void map(struct slot *slot)
{
	int prot = PROT_READ | PROT_WRITE;

	if (slot->plain)
		put(slot, prot, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	else
		put(slot, prot, MAP_SHARED, slot->fd, slot->offset);
	slot->live = true;
}

/* False where every place is held still by who had registered what was there. */
static bool claim(struct slot *slot)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		slot->offset = (slot->first + slot->claims++ % PLACES) * GRANULE;
		if (!window_alloc_at(slot->fd, slot->offset, GRANULE, NULL))
			return true;
	}
	slot->offset = 0;
	return false;
}

/* Those who hold registrations of it keep it a while. */
static void end_window(const struct slot *slot, unsigned long request)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .offset = slot->offset };

	if (ioctl(slot->fd, request, &arg))
		CHECK_EQ(errno, EINPROGRESS);
}

/* What is mapped of a window that was freed stays there. */
static void take_away(struct slot *slot, uint32_t chance)
{
	slot->live = false;
	switch (chance % 4) {
	case 0:
		leave(slot);
		break;
	case 1:
	case 2:
		if (chance % 4 == 1)
			end_window(slot, VPEER_IOCTL_WINDOW_REVOKE);
		end_window(slot, VPEER_IOCTL_WINDOW_FREE);
		slot->offset = 0;
		break;
	default:
		leave(slot);
		CHECK_OK(close(slot->fd));
		open_node(slot);
		slot->offset = 0;
		break;
	}
}

void slot_change(struct slot *slot, uint32_t chance)
{
	if (slot->plain)
		leave(slot);
	else if (slot->live)
		take_away(slot, chance);
	chance /= 4;
	if (slot->plain || (chance % 3 && (slot->offset || claim(slot))))
		map(slot);
	else if (chance % 2)
		leave(slot);
}

void slot_begin(struct slot *slot, unsigned int number, bool plain)
{
	*slot = (struct slot){ .plain = plain, .fd = -1, .first = FIRST_PLACE + number * PLACES };
	CHECK_EQ(pthread_rwlock_init(&slot->lock, NULL), 0);
	slot->at = mmap(NULL, SLOT_SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK_OK((long)slot->at);
	if (!plain) {
		snprintf(slot->node, sizeof(slot->node), "%s", aperture_node());
		open_node(slot);
		CHECK(claim(slot));
	}
	map(slot);
}

void slot_end(struct slot *slot)
{
	CHECK_OK(munmap(slot->at, SLOT_SIZE));
	if (slot->fd >= 0)
		CHECK_OK(close(slot->fd));
	pthread_rwlock_destroy(&slot->lock);
}

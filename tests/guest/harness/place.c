// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "memory.h"
#include "place.h"

#define SHIFT		MIB	/* from one part of a window to another */
#define FIRST		8	/* granules of the aperture that are used in turn */
#define COUNT		6

bool is_window(const struct backing *b)
{
	return b->kind != PLAIN;
}

static bool in_first(const struct backing *b)
{
	return is_window(b) && b->kind != OTHER_APERTURE;
}

/* Addresses with nothing behind them; at @at unless that is NULL. */
static char *room(char *at)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0);

	at = mmap(at, PLACE_SIZE, PROT_NONE, flags, -1, 0);
	CHECK_OK((long)at);
	return at;
}

static void map(struct place *p)
{
	const struct backing *b = &p->now;
	int flags = is_window(b) ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	CHECK(mmap(p->at, PLACE_SIZE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, b->fd,
		   is_window(b) ? b->at + b->shift : 0) == p->at);
}

/* Who holds memory that was freed may take a moment to hear of it. */
static void claim(struct backing *b)
{
	CHECK_WITHIN(!window_alloc_at(b->fd, b->at, GRANULE, NULL), 5000);
	b->claimed = true;
}

static uint64_t fresh(struct place *p)
{
	return (FIRST + p->windows++ % COUNT) * GRANULE;
}

void place_begin(struct place *p, struct gpu_window *first)
{
	*p = (struct place){ .first = first, .at = room(NULL), .away = room(NULL) };
	if (first) {
		gpu_attach(1, 0);
		gpu_window_open(&p->second, 1, GRANULE, GRANULE);
		gpu_attach(0, 0);
	}
	p->now = (struct backing){ .fd = aperture_open(), .at = fresh(p) };
	claim(&p->now);
	map(p);
}

/* What no one holds ends meanwhile. */
static void end_window(const struct backing *b, unsigned long request, bool in_use)
{
	struct vpeer_window_op arg = {
		.argsz = sizeof(arg),
		.offset = b->at,
		.timeout_ms = in_use ? 0 : 5000,
	};

	if (ioctl(b->fd, request, &arg))
		CHECK_EQ(errno, in_use ? EINPROGRESS : 0);
}

void place_retire(struct place *p, struct backing *old)
{
	if (old->claimed && in_first(old))
		end_window(old, VPEER_IOCTL_WINDOW_FREE, false);
	if (old->fd >= 0)
		CHECK_OK(close(old->fd));
	room(p->away);
}

void place_end(struct place *p)
{
	munmap(p->at, PLACE_SIZE);
	place_retire(p, &p->now);
	munmap(p->away, PLACE_SIZE);
	if (!p->first)
		return;
	gpu_window_close(&p->second);
	gpu_attach(1, 0);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	gpu_attach(0, 0);
}

static bool is_held(struct gpu_window *gpu, uint64_t at, const void *bytes)
{
	return gpu ? gpu_holds(gpu, at, bytes, PLACE_SIZE) : owner_is(at, bytes, PLACE_SIZE);
}

bool place_holds(struct place *p, const struct backing *b, uint64_t seed)
{
	static uint64_t bytes[PLACE_SIZE / sizeof(uint64_t)];

	if (!is_window(b))
		return pattern_is(b->plain, PLACE_SIZE, seed);
	pattern_fill(bytes, PLACE_SIZE, seed);
	return is_held(b->kind == OTHER_APERTURE ? &p->second : p->first, b->at + b->shift, bytes);
}

static bool stays(enum leave way)
{
	return way == UNMAP || way == COVER || way == MOVE;
}

enum leave place_possible_leave(const struct place *p, enum leave way)
{
	return stays(way) || in_first(&p->now) ? way : UNMAP;
}

enum next place_possible_next(const struct place *p, enum leave way, enum next next)
{
	bool can = true;

	if (next == SAME_FILE)
		can = in_first(&p->now) && way != CLOSE;
	else if (next == OTHER_PART)
		can = in_first(&p->now) && stays(way);
	else if (next == SAME_PLACE)
		can = way == FREE;
	else if (next == OTHER_APERTURE)
		can = p->first && p->now.kind != OTHER_APERTURE;
	return can ? next : OTHER_FILE;
}

struct backing place_let_go(struct place *p, enum leave way, bool in_use)
{
	struct backing old = p->now;

	old.plain = way == MOVE && !is_window(&old) ? p->away : NULL;
	switch (way) {
	case UNMAP:
		CHECK_OK(munmap(p->at, PLACE_SIZE));
		break;
	case MOVE:
		CHECK_OK((long)mremap(p->at, PLACE_SIZE, PLACE_SIZE, MREMAP_MAYMOVE | MREMAP_FIXED,
				      p->away));
		break;
	case FREE:
		end_window(&old, VPEER_IOCTL_WINDOW_FREE, in_use);
		old.claimed = false;
		break;
	case REVOKE:
		end_window(&old, VPEER_IOCTL_WINDOW_REVOKE, in_use);
		break;
	case CLOSE:
		CHECK_OK(close(old.fd));
		old.fd = -1;
		old.claimed = false;
		break;
	default:
		break;
	}
	return old;
}

static int again(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	CHECK_OK(copy);
	return copy;
}

void place_put_plain(struct place *p)
{
	p->now = (struct backing){ .kind = PLAIN, .fd = -1, .plain = p->at };
	map(p);
}

static struct backing other_part(struct backing *old)
{
	struct backing b = *old;

	b.kind = OTHER_PART;
	b.fd = again(old->fd);
	b.shift ^= SHIFT;
	old->claimed = false;
	return b;
}

void place_come(struct place *p, struct backing *old, enum next next)
{
	struct backing b = { .kind = next, .at = fresh(p) };

	switch (next) {
	case OTHER_PART:
		b = other_part(old);
		break;
	case OTHER_APERTURE:
		b.fd = again(p->second.fd);
		b.at = p->second.at;
		break;
	case PLAIN:
		place_put_plain(p);
		return;
	default:
		b.fd = next == SAME_FILE ? again(old->fd) : aperture_open();
		if (next == SAME_PLACE)
			b.at = old->at;
		claim(&b);
		break;
	}
	p->now = b;
	map(p);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory is taken away and other memory put at the same address, again and again: what is registered there is the
 * new memory each time. VPEER_TEST_REUSES sets how often (1000).
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "reg.h"

#define SIZE		(16 * KIB)
#define SHIFT		MIB		/* from one part of a window to another */
#define FIRST_PLACE	8		/* granules of the aperture that are used in turn */
#define PLACES		6

/* How the old memory goes. Whatever is still mapped then is mapped over. */
enum leave { UNMAP, COVER, MOVE, FREE, REVOKE, CLOSE, LEAVES };

/* What comes. */
enum next { OTHER_FILE, SAME_FILE, OTHER_PART, SAME_PLACE, OTHER_APERTURE, PLAIN, NEXTS };

struct backing {
	enum next kind;
	int fd;			/* that its window is of; -1: closed, or ordinary memory */
	bool claimed;		/* its window is */
	uint64_t at;		/* of the window, in the aperture */
	uint64_t shift;		/* of the bytes, in the window */
	const char *plain;	/* where ordinary memory is; NULL when it is no more */
};

struct reuse {
	struct reg reg;
	struct backing now;
	char *place;		/* the address */
	char *away;		/* another, to move old memory to */
	struct gpu_window second;
	bool has_second;
	unsigned int places;	/* used so far */
	uint64_t seed;
	bool naive;		/* what is registered once is given out for ever */
	struct ibv_mr *kept;
};

static char *room(void)
{
	void *at = mmap(NULL, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_OK((long)at);
	return at;
}

static bool is_window(const struct backing *b)
{
	return b->kind != PLAIN;
}

static void map_there(struct reuse *u, const struct backing *b)
{
	int flags = is_window(b) ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;

	CHECK(mmap(u->place, SIZE, PROT_READ | PROT_WRITE, flags | MAP_FIXED, b->fd,
		   is_window(b) ? b->at + b->shift : 0) == u->place);
}

/* Who holds memory that was freed may take a moment to hear of it. */
static void claim(struct backing *b)
{
	CHECK_WITHIN(!window_alloc_at(b->fd, b->at, GRANULE, NULL), 5000);
	b->claimed = true;
}

static uint64_t fresh_place(struct reuse *u)
{
	return (FIRST_PLACE + u->places++ % PLACES) * GRANULE;
}

static void begin(struct reuse *u)
{
	const struct vpeer_context_options options = { .aperture_percent = 100 };

	*u = (struct reuse){ .seed = 100 };
	reg_begin(&u->reg, &options);
	u->place = room();
	u->away = room();
	u->has_second = u->reg.imports;
	if (u->has_second) {
		gpu_attach(1, 0);
		gpu_window_open(&u->second, 1, GRANULE, GRANULE);
		gpu_attach(0, 0);
	}
	u->now = (struct backing){ .fd = aperture_open(), .at = fresh_place(u) };
	claim(&u->now);
	map_there(u, &u->now);
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

/* Nothing is left of it. */
static void retire(struct reuse *u, struct backing *b)
{
	if (b->claimed && b->kind != OTHER_APERTURE)
		end_window(b, VPEER_IOCTL_WINDOW_FREE, false);
	if (b->fd >= 0)
		CHECK_OK(close(b->fd));
	b->fd = -1;
	b->claimed = false;
	CHECK(mmap(u->away, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) ==
	      u->away);
}

static void end(struct reuse *u)
{
	munmap(u->place, SIZE);
	retire(u, &u->now);
	munmap(u->away, SIZE);
	reg_end(&u->reg);
	if (!u->has_second)
		return;
	gpu_window_close(&u->second);
	gpu_attach(1, 0);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

static bool holds(struct reuse *u, const struct backing *b, uint64_t seed)
{
	static uint64_t bytes[SIZE / sizeof(uint64_t)];
	uint64_t at = b->at + b->shift;

	if (!is_window(b))
		return pattern_is(b->plain, SIZE, seed);
	pattern_fill(bytes, SIZE, seed);
	if (b->kind == OTHER_APERTURE)
		return gpu_holds(&u->second, at, bytes, SIZE);
	return reg_owner_is(&u->reg, at - REG_AT, bytes, SIZE);
}

static const struct vpeer_reg_options *options_of(const struct reuse *u)
{
	static const struct vpeer_reg_options keep = { .flags = VPEER_REG_KEEP };

	return is_window(&u->now) ? NULL : &keep;
}

static struct ibv_mr *register_for_ever(struct reuse *u)
{
	int dmabuf;

	if (u->kept)
		return u->kept;
	if (!u->reg.imports || !is_window(&u->now)) {
		u->kept = rdma_reg(&u->reg.r, u->place, SIZE);
		return u->kept;
	}
	dmabuf = dmabuf_export(u->now.fd, u->now.at + u->now.shift, SIZE);
	u->kept = rdma_reg_dmabuf(&u->reg.r, dmabuf, 0, SIZE, (uintptr_t)u->place);
	close(dmabuf);
	return u->kept;
}

static uint32_t key(struct reuse *u, struct vpeer_mr **mr)
{
	*mr = NULL;
	if (u->naive)
		return register_for_ever(u)->rkey;
	*mr = reg_must(u->reg.context, u->place, SIZE, options_of(u));
	CHECK_EQ(vpeer_mr_check(*mr, NULL), 0);
	return vpeer_mr_rkey(*mr);
}

/* Registers what is there and writes to it: whether that came to the memory that is there. */
static bool write_lands(struct reuse *u, struct vpeer_mr **mr)
{
	uint32_t rkey = key(u, mr);

	pattern_fill(u->reg.plain, SIZE, ++u->seed);
	CHECK(!holds(u, &u->now, u->seed));
	if (rdma_write(&u->reg.r, u->reg.plain_mr, (uintptr_t)u->place, rkey, SIZE)) {
		rdma_connect(&u->reg.r);
		return false;
	}
	return holds(u, &u->now, u->seed);
}

static void check_refused(struct reuse *u)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;

	if (u->naive)
		return;
	CHECK_EQ(vpeer_reg(u->reg.context, u->place, SIZE, NULL, &mr, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_REVOKED);
}

static void let_go(struct reuse *u, struct backing *old, enum leave leave, bool in_use)
{
	switch (leave) {
	case UNMAP:
		CHECK_OK(munmap(u->place, SIZE));
		old->plain = NULL;
		break;
	case MOVE:
		CHECK(mremap(u->place, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, u->away) ==
		      u->away);
		old->plain = u->away;
		break;
	case FREE:
		end_window(old, VPEER_IOCTL_WINDOW_FREE, in_use);
		old->claimed = false;
		break;
	case REVOKE:
		end_window(old, VPEER_IOCTL_WINDOW_REVOKE, in_use);
		check_refused(u);
		break;
	case CLOSE:
		CHECK_OK(close(old->fd));
		old->fd = -1;
		old->claimed = false;
		break;
	default:
		old->plain = NULL;
		break;
	}
}

static int again(int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	CHECK_OK(copy);
	return copy;
}

static void come(struct reuse *u, struct backing *old, enum next next)
{
	struct backing b = { .kind = next, .fd = -1, .at = fresh_place(u) };

	switch (next) {
	case SAME_FILE:
		b.fd = again(old->fd);
		claim(&b);
		break;
	case OTHER_PART:
		b = *old;
		b.kind = OTHER_PART;
		b.fd = again(old->fd);
		b.shift ^= SHIFT;
		old->claimed = false;
		break;
	case OTHER_APERTURE:
		b.fd = again(u->second.fd);
		b.at = u->second.at;
		break;
	case PLAIN:
		b.plain = u->place;
		break;
	default:
		b.fd = aperture_open();
		if (next == SAME_PLACE)
			b.at = old->at;
		claim(&b);
		break;
	}
	u->now = b;
	map_there(u, &u->now);
}

static bool in_first(const struct backing *b)
{
	return is_window(b) && b->kind != OTHER_APERTURE;
}

static enum leave possible_leave(const struct backing *old, enum leave leave)
{
	bool any = leave == UNMAP || leave == COVER || leave == MOVE;

	return any || in_first(old) ? leave : UNMAP;
}

static enum next possible_next(const struct reuse *u, enum leave leave, enum next next)
{
	bool stays = leave == UNMAP || leave == COVER || leave == MOVE;
	bool can = true;

	if (next == SAME_FILE)
		can = in_first(&u->now) && leave != CLOSE;
	else if (next == OTHER_PART)
		can = in_first(&u->now) && stays;
	else if (next == SAME_PLACE)
		can = leave == FREE && !u->naive;
	else if (next == OTHER_APERTURE)
		can = u->has_second && u->now.kind != OTHER_APERTURE;
	return can ? next : OTHER_FILE;
}

/* Whether the bytes came to the new memory, and the old is as it was. */
static bool replace(struct reuse *u, enum leave leave, enum next next, bool held)
{
	struct vpeer_mr *mr, *new_mr;
	struct backing old;
	uint64_t old_seed;
	bool lands;

	leave = possible_leave(&u->now, leave);
	next = possible_next(u, leave, next);
	CHECK(write_lands(u, &mr));
	old_seed = u->seed;
	held &= next != SAME_PLACE;
	if (!held)
		CHECK_EQ(vpeer_dereg(mr), 0);
	if (!is_window(&u->now) && !u->naive)
		CHECK_EQ(vpeer_invalidate(u->reg.context, u->place, SIZE), 1);
	old = u->now;
	let_go(u, &old, leave, held || u->naive);
	come(u, &old, next);
	lands = write_lands(u, &new_mr);
	if (lands && next != SAME_PLACE && (is_window(&old) || old.plain))
		CHECK(holds(u, &old, old_seed));
	if (held && mr && is_window(&old))
		CHECK_EQ(vpeer_mr_check(mr, NULL), -ESTALE);
	CHECK_EQ(vpeer_dereg(new_mr), 0);
	if (held)
		CHECK_EQ(vpeer_dereg(mr), 0);
	if (u->kept)
		CHECK_EQ(ibv_dereg_mr(u->kept), 0);
	u->kept = NULL;
	retire(u, &old);
	return lands;
}

static unsigned int reuses(void)
{
	const char *text = getenv("VPEER_TEST_REUSES");

	return text ? strtoul(text, NULL, 10) : 1000;
}

TEST(other_memory_at_the_address, 300)
{
	unsigned int times = reuses();
	struct vpeer_stats stats;
	struct reuse u;

	begin(&u);
	for (unsigned int i = 0; i < times; i++) {
		enum leave leave = i % LEAVES;
		enum next next = i / LEAVES % NEXTS;

		if (!replace(&u, leave, next, i / LEAVES / NEXTS % 2))
			test_fail(__FILE__, __LINE__, "round %u, leave %u, next %u: the bytes are not in "
				  "the new memory", i, leave, next);
	}
	stats = reg_stats(u.reg.context);
	printf("registered %llu, hits %llu, stale %llu\n", (unsigned long long)stats.registered,
	       (unsigned long long)stats.hits, (unsigned long long)stats.stale);
	/* Each round's second registration mostly serves the next one's first. */
	CHECK(stats.hits >= times / 2);
	CHECK(stats.stale >= times / 2);
	end(&u);
}

/* The check sees stale MRs: one that was made before writes elsewhere, or not at all. */
TEST(kept_in_spite_of_all, 120)
{
	struct reuse u;

	begin(&u);
	u.naive = true;
	for (unsigned int i = 0; i < LEAVES * NEXTS; i++) {
		enum leave leave = i % LEAVES;
		enum next next = i / LEAVES;

		if (replace(&u, leave, next, false))
			test_fail(__FILE__, __LINE__, "leave %u, next %u: not seen", leave, next);
	}
	end(&u);
}

/* What a caller does who breaks the promise of VPEER_REG_KEEP. */
TEST(broken_promise, 30)
{
	struct vpeer_mr *old, *mr;
	struct reuse u;

	begin(&u);
	u.now.kind = PLAIN;
	for (int broken = 1; broken >= 0; broken--) {
		CHECK_OK(munmap(u.place, SIZE));
		u.now.plain = u.place;
		map_there(&u, &(struct backing){ .kind = PLAIN, .fd = -1 });
		CHECK(write_lands(&u, &old));
		CHECK_EQ(vpeer_dereg(old), 0);
		CHECK_OK(munmap(u.place, SIZE));
		map_there(&u, &(struct backing){ .kind = PLAIN, .fd = -1 });
		if (!broken)
			CHECK_EQ(vpeer_invalidate(u.reg.context, u.place, SIZE), 1);
		CHECK_EQ(write_lands(&u, &mr), !broken);
		if (broken)
			CHECK(mr == old && all_zero(u.place, SIZE));
		CHECK_EQ(vpeer_dereg(mr), 0);
		vpeer_invalidate(u.reg.context, u.place, SIZE);
	}
	u.now.kind = OTHER_FILE;
	end(&u);
}

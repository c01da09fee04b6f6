// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "memory.h"
#include "owner_parts.h"
#include "random.h"
#include "words.h"

#define HOLD_MS		250
#define AWAY_MS		50

const char *const owner_act_names[OWNER_ACTS] = {
	"claim", "first touch", "register", "disk", "aio", "fork", "pass", "take",
	"view", "revoke", "free",
};

const struct owner *self;
struct owner_claim claim = { .fd = -1 };
char *plain;
sigjmp_buf owner_fault_jump;
volatile sig_atomic_t owner_faults_allowed;

_Noreturn void owner_give_up(int status, const char *format, ...)
{
	struct storm *storm = self->storm;
	va_list arguments;

	if (!__sync_lock_test_and_set(&storm->told, 1)) {
		va_start(arguments, format);
		vsnprintf(storm->trouble, sizeof(storm->trouble), format, arguments);
		va_end(arguments);
	}
	_exit(status);
}

void owner_begin(enum owner_act act)
{
	self->storm->now[self->place] = act;
}

void owner_done(enum owner_act act)
{
	__sync_fetch_and_add(&self->storm->done[act], 1);
}

/*
 * Where the aperture may have left, devices and the view from outside read
 * something else: then this touch faults and the check is not judged.
 */
static void touch_claim(void)
{
	if (claim.mapped && self->leaves)
		(void)*(volatile char *)claim.mapped;
}

void owner_check(int status, const char *memory, uint64_t offset, uint64_t size,
		 uint32_t owner, bool zero_too)
{
	size_t at = words_find_other(memory, size, offset, owner, zero_too);
	uint64_t seen;

	if (at == size / sizeof(seen))
		return;
	memcpy(&seen, memory + at * sizeof(seen), sizeof(seen));
	touch_claim();
	owner_give_up(status, "owner %u found %#llx at %#llx, a word of owner %u, not of %u",
		      self->number, (unsigned long long)seen,
		      (unsigned long long)(offset + at * sizeof(seen)),
		      (uint32_t)(seen >> 32), owner);
}

void owner_check_own(uint64_t at, uint64_t size)
{
	owner_check(OWNER_DAMAGED, claim.mapped + at, claim.offset + at, size,
		    self->number, false);
}

/* A fault that is not allowed kills as if there were no handler. */
static void on_fault(int signal)
{
	if (owner_faults_allowed)
		siglongjmp(owner_fault_jump, signal);
	sigaction(SIGBUS, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

/* Only while the aperture may leave: what fails then proves nothing. */
bool owner_failed(bool ok, const char *what)
{
	if (!ok && !self->leaves)
		owner_give_up(EXIT_FAILURE, "owner %u: %s: %s", self->number, what,
			      strerrorname_np(errno));
	return !ok;
}

uint64_t owner_some_place(uint64_t size)
{
	return pick((claim.size - size) / OWNER_PAGE + 1) * OWNER_PAGE;
}

static bool claim_make(void)
{
	const char *node = aperture_node();
	uint64_t granules = 1 + pick(2);
	uint64_t tail = pick(3) ? 0 : OWNER_PAGE;

	owner_begin(OWNER_CLAIM);
	claim.fd = *node ? open(node, O_RDWR | O_CLOEXEC) : -1;
	if (owner_failed(claim.fd >= 0, "open")) {
		test_sleep_ms(AWAY_MS);
		return false;
	}
	claim.explicit = pick(2);
	claim.revoked = false;
	claim.offset = (self->start + pick(self->end - self->start - granules + 1)) * GRANULE;
	claim.size = granules * GRANULE - tail;
	if (claim.explicit &&
	    window_alloc_at(claim.fd, claim.offset, granules * GRANULE, NULL)) {
		owner_failed(errno == EBUSY, "alloc");
		return false;
	}
	claim.mapped = mmap(NULL, claim.size, PROT_READ | PROT_WRITE, MAP_SHARED,
			    claim.fd, claim.offset);
	if (claim.mapped != MAP_FAILED)
		return true;
	claim.mapped = NULL;
	owner_failed(errno == EBUSY && !claim.explicit, "mmap");
	return false;
}

static void first_touch(void)
{
	owner_begin(OWNER_FIRST_TOUCH);
	owner_check(OWNER_SAW_OTHERS, claim.mapped, claim.offset, claim.size, 0, false);
	__sync_fetch_and_add(&self->storm->bytes_found_zero, claim.size);
	words_fill(claim.mapped, claim.size, claim.offset, self->number);
	owner_done(OWNER_FIRST_TOUCH);
}

/* Through a gone aperture's place another owner's words may be seen. */
static void view(void)
{
	uint64_t at = owner_some_place(OWNER_PAGE);

	if (self->leaves)
		return;
	owner_begin(OWNER_VIEW);
	owner_read(claim.offset + at, plain, OWNER_PAGE);
	owner_check(OWNER_DAMAGED, plain, claim.offset + at, OWNER_PAGE, self->number, false);
	owner_done(OWNER_VIEW);
}

static void revoke_own(void)
{
	owner_begin(OWNER_REVOKE);
	if (window_revoke(claim.fd, claim.offset, pick(20), NULL) && errno != EINPROGRESS)
		owner_failed(false, "revoke");
	else if (signal_of_read(claim.mapped) != SIGBUS)
		owner_give_up(EXIT_FAILURE, "owner %u: no SIGBUS after revoke", self->number);
	claim.revoked = true;
	owner_done(OWNER_REVOKE);
}

static void act(void)
{
	static void (*const acts[])(void) = {
		owner_register, owner_register, owner_register,
		owner_disk, owner_disk, owner_aio, owner_aio,
		owner_fork, owner_pass, owner_take, owner_take, view, revoke_own,
	};

	acts[pick(ARRAY_SIZE(acts))]();
}

/* Pins outlast window, mapping and descriptor by a while, or go first. */
static void release(void)
{
	bool pins_first = pick(2);

	if (claim.fd < 0)
		return;
	owner_begin(OWNER_FREE);
	if (claim.mr && pins_first) {
		CHECK_EQ(ibv_dereg_mr(claim.mr), 0);
		claim.mr = NULL;
	}
	if (claim.mapped && claim.explicit && pick(2) &&
	    window_free(claim.fd, claim.offset) && errno != EINPROGRESS)
		owner_failed(false, "free");
	if (claim.mapped)
		munmap(claim.mapped, claim.size);
	if (claim.fd >= 0)
		close(claim.fd);
	claim.mapped = NULL;
	claim.fd = -1;
	if (claim.mr) {
		test_sleep_ms(pick(self->leaves ? HOLD_MS : 10));
		CHECK_EQ(ibv_dereg_mr(claim.mr), 0);
	}
	claim.mr = NULL;
	owner_done(OWNER_FREE);
}

static void own_once(void)
{
	unsigned int count = 1 + pick(5);

	if (!claim_make())
		return;
	owner_done(OWNER_CLAIM);
	first_touch();
	while (count-- && !claim.revoked)
		act();
	if (!claim.revoked && !pick(3))
		owner_check_own(0, claim.size);
}

_Noreturn void owner_run(const struct owner *owner)
{
	self = owner;
	pick_seed(owner->seed);
	plain = plain_memory(OWNER_IO);
	if (self->number % 2)
		owner_rdma_begin();
	sigaction(SIGBUS, &(struct sigaction){ .sa_handler = on_fault }, NULL);
	for (;;) {
		owner_faults_allowed = self->leaves;
		if (!sigsetjmp(owner_fault_jump, 1))
			own_once();
		else
			__sync_fetch_and_add(&self->storm->faults, 1);
		owner_faults_allowed = 0;
		release();
		owner_collect();
		test_sleep_ms(pick(3));
	}
}

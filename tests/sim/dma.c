// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "backing.h"
#include "client.h"
#include "dma.h"
#include "function.h"
#include "guard.h"
#include "log.h"
#include "loop.h"
#include "map.h"
#include "peer.h"
#include "translations.h"

#define PAGE		4096u
#define POISON_EVERY	16
#define POISON		7

enum operation {
	READ,
	WRITE,
	ATOMIC,
};

/* Where an IOVA leads; good until requests are served, which may take it away. */
struct target {
	uint8_t *bytes;		/* NULL: reached by messages */
	size_t length;
	bool readable, writable;
	bool peer, stale;
};

static const char *const operation_names[] = { "read", "write", "atomic" };

static bool has_fault(const struct function *function, enum fault fault)
{
	return fault_is_on(&function->faults, fault);
}

static void tell(const struct function *function, enum operation operation, uint64_t iova,
		 size_t length, const char *outcome, const char *route)
{
	log_access(function, iova, length, operation_names[operation], outcome, route);
}

static const char *route_of(const struct target *target)
{
	return target->bytes ? "mapped" : "message";
}

static bool caches(const struct function *function)
{
	return config_ats_enabled(&function->config) && !has_fault(function, FAULT_NO_ATS);
}

static size_t left_of(uint64_t iova, uint64_t last, size_t length)
{
	return last - iova < length - 1 ? (size_t)(last - iova) + 1 : length;
}

static bool look_up_cached(struct function *function, uint64_t iova, size_t length,
			   struct target *target)
{
	const struct translation *translation = translations_find(
		function->translations, iova,
		has_fault(function, FAULT_ATC_STALE) && !function->own_queues);

	if (!translation)
		return false;
	*target = (struct target){
		.length = left_of(iova, iova | (TRANSLATION_PAGE - 1), length),
		.readable = translation->readable, .writable = translation->writable,
		.peer = translation->peer, .stale = translation->stale,
	};
	if (translation->bytes)
		target->bytes = translation->bytes + iova % TRANSLATION_PAGE;
	return true;
}

static bool look_up(struct function *function, uint64_t iova, size_t length, struct target *target)
{
	const struct map_entry *entry;
	uint64_t last;

	if (caches(function) && look_up_cached(function, iova, length, target))
		return true;
	entry = map_find(function->map, iova);
	if (!entry)
		return false;
	last = entry->last;
	if (caches(function)) {
		translations_fill(function->translations, iova, entry);
		if (last > (iova | (TRANSLATION_PAGE - 1)))
			last = iova | (TRANSLATION_PAGE - 1);
	}
	*target = (struct target){
		.length = left_of(iova, last, length), .readable = entry->readable,
		.writable = entry->writable, .peer = entry->peer,
	};
	if (entry->backing)
		target->bytes = entry->backing->bytes + entry->offset + (iova - entry->iova);
	return true;
}

static bool continues(const struct target *target, const struct target *next)
{
	if (target->readable != next->readable || target->writable != next->writable ||
	    target->peer != next->peer || target->stale != next->stale)
		return false;
	return target->bytes ? next->bytes == target->bytes + target->length : !next->bytes;
}

/* As much of the range as is one piece. */
static bool resolve(struct function *function, uint64_t iova, size_t length, struct target *target)
{
	struct target next;

	if (!look_up(function, iova, length, target))
		return false;
	while (target->length < length && iova + target->length &&
	       look_up(function, iova + target->length, length - target->length, &next) &&
	       continues(target, &next))
		target->length += next.length;
	return true;
}

static const char *objection(struct function *function, enum operation operation, uint64_t iova,
			     size_t length, struct target *target)
{
	if (!function_is_master(function))
		return "off";
	if (!resolve(function, iova, length, target)) {
		function->untranslated++;
		return "unmapped";
	}
	if (target->peer && has_fault(function, FAULT_BAR_UNMAPPED)) {
		function->untranslated++;
		return "bar-unmapped";
	}
	if ((operation != WRITE && !target->readable) || (operation != READ && !target->writable))
		return "denied";
	return NULL;
}

static int reach(struct function *function, enum operation operation, uint64_t iova, size_t length,
		 struct target *target)
{
	const char *why = objection(function, operation, iova, length, target);

	if (!why)
		return 0;
	tell(function, operation, iova, length, why, "none");
	return -EFAULT;
}

/* With the delay of "slow"; requests that are served meanwhile may change where it leads. */
static int reach_in_time(struct function *function, enum operation operation, uint64_t iova,
			 size_t length, struct target *target)
{
	uint64_t pages;
	int error = reach(function, operation, iova, length, target);

	if (error || !target->peer || !has_fault(function, FAULT_SLOW))
		return error;
	pages = (target->length + PAGE - 1) / PAGE;
	loop_serve(NULL, NULL, pages * function->faults.value[FAULT_SLOW]);
	return reach(function, operation, iova, target->length, target);
}

static bool is_poisoned(const struct function *function, uint64_t iova, size_t length)
{
	uint64_t value = function->faults.value[FAULT_PAGE_ERROR];
	uint64_t first = iova / PAGE, last = (iova + (length - 1)) / PAGE;

	if (!has_fault(function, FAULT_PAGE_ERROR))
		return false;
	if (value != UINT64_MAX)
		return value / PAGE >= first && value / PAGE <= last;
	return last - first >= POISON_EVERY || (first + (POISON - first) % POISON_EVERY) <= last;
}

/* The misbehaviour that makes the access fail, or NULL. */
static const char *refusal(const struct function *function, enum operation operation, uint64_t iova,
			   size_t length)
{
	if (has_fault(function, FAULT_HIGH_FAIL) &&
	    iova + (length - 1) >= function->faults.value[FAULT_HIGH_FAIL])
		return fault_name(FAULT_HIGH_FAIL);
	if (is_poisoned(function, iova, length))
		return fault_name(FAULT_PAGE_ERROR);
	if (operation != WRITE && has_fault(function, FAULT_READ_FAIL))
		return fault_name(FAULT_READ_FAIL);
	return NULL;
}

static int move(struct function *function, enum operation operation, uint64_t iova, void *data,
		const struct target *target)
{
	int error;

	if (!target->bytes)
		error = client_transfer(function, operation == WRITE, iova, data, target->length);
	else if (operation == WRITE)
		error = guard_write(target->bytes, data, target->length);
	else
		error = guard_read(data, target->bytes, target->length);
	if (error)
		tell(function, operation, iova, target->length, "error", route_of(target));
	return error ? -EFAULT : 0;
}

static int stage_some(struct function *function, enum operation operation, uint8_t *data,
		      size_t length)
{
	struct target target;

	if (reach(function, operation, function->bounce, length, &target))
		return -EFAULT;
	if (target.peer || !target.bytes || target.length < length) {
		tell(function, operation, function->bounce, length, "denied", "none");
		return -EFAULT;
	}
	if (move(function, operation, function->bounce, data, &target))
		return -EFAULT;
	tell(function, operation, function->bounce, length, fault_name(FAULT_BOUNCE), "mapped");
	return 0;
}

/* The bytes go to the bounce memory, piece by piece, and are taken from there. */
static int stage(struct function *function, uint8_t *data, size_t length)
{
	if (!function->bounce_size)
		return -EFAULT;
	while (length) {
		size_t some = length < function->bounce_size ? length : function->bounce_size;

		/* The memory may end where a page does, and the next one lie elsewhere. */
		some = left_of(function->bounce, function->bounce | (PAGE - 1), some);
		if (stage_some(function, WRITE, data, some) ||
		    stage_some(function, READ, data, some))
			return -EFAULT;
		data += some;
		length -= some;
	}
	return 0;
}

static void lands(struct function *function, uint64_t iova, const void *data, size_t length)
{
	const uint8_t *from = data;

	if (!from) {
		tell(function, WRITE, iova, length, "unmapped", "none");
		return;
	}
	while (length) {
		struct target target;

		if (reach(function, WRITE, iova, length, &target) ||
		    move(function, WRITE, iova, (void *)from, &target))
			return;
		tell(function, WRITE, iova, target.length, "landed", route_of(&target));
		from += target.length;
		iova += target.length;
		length -= target.length;
	}
}

/* What takes a write in place of the peer: the misbehaviour's name, or NULL. *error: it could not. */
static const char *write_diverted(struct function *function, uint64_t iova, const void *data,
				  size_t length, int *error)
{
	*error = 0;
	if (has_fault(function, FAULT_DROP))
		return fault_name(FAULT_DROP);
	if (has_fault(function, FAULT_MIRROR)) {
		*error = mirror_write(function->peer, iova, data, length);
		return fault_name(FAULT_MIRROR);
	}
	if (has_fault(function, FAULT_LATE)) {
		*error = late_write(function, function->faults.value[FAULT_LATE] * 1000, iova, data,
				    length, lands);
		return fault_name(FAULT_LATE);
	}
	return NULL;
}

/* Of an access that reached the peer. */
static const char *outcome_of(const struct function *function, const struct target *target)
{
	if (target->stale)
		return fault_name(FAULT_ATC_STALE);
	return has_fault(function, FAULT_BOUNCE) ? fault_name(FAULT_BOUNCE) : "ok";
}

static int peer_write(struct function *function, uint64_t iova, uint8_t *data,
		      const struct target *target)
{
	int error;
	const char *diverted = write_diverted(function, iova, data, target->length, &error);

	if (diverted) {
		tell(function, WRITE, iova, target->length, error ? "error" : diverted,
		     error ? "none" : route_of(target));
		return error ? -EFAULT : 0;
	}
	if (move(function, WRITE, iova, data, target))
		return -EFAULT;
	tell(function, WRITE, iova, target->length, outcome_of(function, target), route_of(target));
	return 0;
}

static int peer_read(struct function *function, uint64_t iova, uint8_t *data,
		     const struct target *target)
{
	const char *outcome = outcome_of(function, target);

	if (has_fault(function, FAULT_ONE_WAY)) {
		memset(data, 0xff, target->length);
		outcome = fault_name(FAULT_ONE_WAY);
	} else if (move(function, READ, iova, data, target)) {
		return -EFAULT;
	} else if (has_fault(function, FAULT_MIRROR)) {
		mirror_read(function->peer, iova, data, target->length);
		outcome = fault_name(FAULT_MIRROR);
	}
	tell(function, READ, iova, target->length, outcome, route_of(target));
	return 0;
}

static int staged(struct function *function, enum operation operation, uint64_t iova, uint8_t *data,
		  size_t length)
{
	if (!has_fault(function, FAULT_BOUNCE) || !stage(function, data, length))
		return 0;
	tell(function, operation, iova, length, fault_name(FAULT_BOUNCE), "none");
	return -EFAULT;
}

static int move_peer(struct function *function, enum operation operation, uint64_t iova,
		     uint8_t *data, const struct target *target)
{
	const char *why = refusal(function, operation, iova, target->length);

	if (why) {
		tell(function, operation, iova, target->length, why, "none");
		return -EFAULT;
	}
	if (operation == READ)
		return peer_read(function, iova, data, target) ?:
		       staged(function, READ, iova, data, target->length);
	return staged(function, WRITE, iova, data, target->length) ?:
		       peer_write(function, iova, data, target);
}

static int move_memory(struct function *function, enum operation operation, uint64_t iova,
		       uint8_t *data, const struct target *target)
{
	int error = move(function, operation, iova, data, target);

	if (!error && target->stale)
		tell(function, operation, iova, target->length, fault_name(FAULT_ATC_STALE),
		     route_of(target));
	return error;
}

static bool wraps(uint64_t iova, size_t length)
{
	return length && length - 1 > UINT64_MAX - iova;
}

static int move_all(struct function *function, enum operation operation, uint64_t iova,
		    uint8_t *data, size_t length)
{
	if (wraps(iova, length)) {
		tell(function, operation, iova, length, "unmapped", "none");
		return -EFAULT;
	}
	while (length) {
		struct target target;
		int error = reach_in_time(function, operation, iova, length, &target);

		if (error)
			return error;
		error = (target.peer ? move_peer : move_memory)(function, operation, iova, data,
								&target);
		if (error)
			return error;
		data += target.length;
		iova += target.length;
		length -= target.length;
	}
	return 0;
}

int dma_read(struct function *function, uint64_t iova, void *to, size_t length)
{
	return move_all(function, READ, iova, to, length);
}

int dma_write(struct function *function, uint64_t iova, const void *from, size_t length)
{
	/* Written to by READ only. */
	return move_all(function, WRITE, iova, (void *)from, length);
}

struct atomic {
	enum dma_atomic operation;
	uint64_t operand1, operand2, *before;
};

/* QEMU has no message for it: functions of this server do not disturb it, the guest's processors may. */
static int atomic_by_messages(struct function *function, uint64_t iova, const struct atomic *atomic)
{
	uint64_t after;

	if (client_transfer(function, false, iova, atomic->before, sizeof(*atomic->before)))
		return -EFAULT;
	after = atomic_result(*atomic->before, atomic->operation, atomic->operand1,
			      atomic->operand2);
	if (after == *atomic->before)
		return 0;
	return client_transfer(function, true, iova, &after, sizeof(after)) ? -EFAULT : 0;
}

static int atomic_move(struct function *function, uint64_t iova, const struct atomic *atomic,
		       const struct target *target)
{
	int error;

	if (target->bytes && (uintptr_t)target->bytes % sizeof(uint64_t) == 0)
		error = guard_atomic((uint64_t *)target->bytes, atomic->operation, atomic->operand1,
				     atomic->operand2, atomic->before);
	else if (target->bytes)
		error = -EFAULT;
	else
		error = atomic_by_messages(function, iova, atomic);
	if (error)
		tell(function, ATOMIC, iova, sizeof(uint64_t), "error", route_of(target));
	return error;
}

static bool diverts(const struct function *function)
{
	return has_fault(function, FAULT_DROP) || has_fault(function, FAULT_MIRROR) ||
	       has_fault(function, FAULT_LATE);
}

static int atomic_diverted(struct function *function, uint64_t iova, const struct atomic *atomic,
			   const struct target *target)
{
	const char *diverted;
	uint64_t after;
	int error;

	if (move(function, READ, iova, atomic->before, target))
		return -EFAULT;
	if (has_fault(function, FAULT_MIRROR))
		mirror_read(function->peer, iova, atomic->before, sizeof(*atomic->before));
	after = atomic_result(*atomic->before, atomic->operation, atomic->operand1,
			      atomic->operand2);
	diverted = write_diverted(function, iova, &after, sizeof(after), &error);
	tell(function, ATOMIC, iova, sizeof(after), error ? "error" : diverted,
	     error ? "none" : route_of(target));
	return error ? -EFAULT : 0;
}

static int atomic_done(struct function *function, uint64_t iova, const struct atomic *atomic,
		       const struct target *target)
{
	const char *outcome = outcome_of(function, target);

	if (atomic_move(function, iova, atomic, target))
		return -EFAULT;
	if (has_fault(function, FAULT_ONE_WAY))
		outcome = fault_name(FAULT_ONE_WAY);
	tell(function, ATOMIC, iova, sizeof(uint64_t), outcome, route_of(target));
	return 0;
}

static int peer_atomic(struct function *function, uint64_t iova, const struct atomic *atomic,
		       const struct target *target)
{
	const char *why = refusal(function, ATOMIC, iova, sizeof(uint64_t));
	uint64_t operands[2] = { atomic->operand1, atomic->operand2 };

	if (!why && has_fault(function, FAULT_BOUNCE) &&
	    stage(function, (uint8_t *)operands, sizeof(operands)))
		why = fault_name(FAULT_BOUNCE);
	if (why) {
		tell(function, ATOMIC, iova, sizeof(uint64_t), why, "none");
		return -EFAULT;
	}
	if ((diverts(function) ? atomic_diverted : atomic_done)(function, iova, atomic, target))
		return -EFAULT;
	if (has_fault(function, FAULT_ONE_WAY))
		*atomic->before = UINT64_MAX;
	return 0;
}

static int memory_atomic(struct function *function, uint64_t iova, const struct atomic *atomic,
			 const struct target *target)
{
	int error = atomic_move(function, iova, atomic, target);

	if (!error && target->stale)
		tell(function, ATOMIC, iova, sizeof(uint64_t), fault_name(FAULT_ATC_STALE),
		     route_of(target));
	return error;
}

int dma_atomic(struct function *function, uint64_t iova, enum dma_atomic operation,
	       uint64_t operand1, uint64_t operand2, uint64_t *before)
{
	struct atomic atomic = { operation, operand1, operand2, before };
	struct target target;

	if (iova % sizeof(uint64_t))
		return -EINVAL;
	if (reach_in_time(function, ATOMIC, iova, sizeof(uint64_t), &target))
		return -EFAULT;
	if (target.length < sizeof(uint64_t)) {
		tell(function, ATOMIC, iova, sizeof(uint64_t), "unmapped", "none");
		return -EFAULT;
	}
	return (target.peer ? peer_atomic : memory_atomic)(function, iova, &atomic, &target);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Reference slots: the sum of slots and counts is the number of references. */
#include "fixture.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

#include "refslots.h"
#include "reserve.h"

#define IDS	64

struct fixture {
	struct vpeer_refslots slots;
	int counts[IDS];
	int seen[IDS];
};

static const char objects[IDS];

static void spill(void *arg, const void *object)
{
	struct fixture *fixture = arg;

	__atomic_add_fetch(&fixture->counts[(const char *)object - objects], 1,
			   __ATOMIC_RELAXED);
}

static void see(void *arg, const void *object)
{
	((struct fixture *)arg)->seen[(const char *)object - objects]++;
}

static int setup(void **state)
{
	static struct fixture fixture;

	memset(&fixture, 0, sizeof(fixture));
	*state = &fixture;
	return vpeer_refslots_begin(&fixture.slots, spill, &fixture);
}

static int teardown(void **state)
{
	vpeer_refslots_end(&((struct fixture *)*state)->slots);
	return 0;
}

static int in_slots(struct fixture *fixture, uint32_t id)
{
	memset(fixture->seen, 0, sizeof(fixture->seen));
	vpeer_refslots_scan(&fixture->slots, see, fixture);
	return fixture->seen[id];
}

static void take(struct fixture *fixture, uint32_t id)
{
	struct vpeer_refslots_block *mine = vpeer_refslots_attach(&fixture->slots);
	const void **slot;

	assert_non_null(mine);
	slot = vpeer_refslots_empty(mine);
	assert_non_null(slot);
	vpeer_refslots_set(slot, &objects[id]);
}

static void slots_of_a_thread(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_refslots_block *mine;

	assert_null(vpeer_refslots_mine(&fixture->slots));
	take(fixture, 5);
	take(fixture, 5);
	take(fixture, 7);
	mine = vpeer_refslots_mine(&fixture->slots);
	assert_ptr_equal(mine, vpeer_refslots_attach(&fixture->slots));
	assert_int_equal(in_slots(fixture, 5), 2);
	assert_true(vpeer_refslots_clear(mine, &objects[5]));
	assert_int_equal(in_slots(fixture, 5), 1);
	assert_true(vpeer_refslots_clear(mine, &objects[5]));
	assert_false(vpeer_refslots_clear(mine, &objects[5]));
	assert_int_equal(in_slots(fixture, 5), 0);
	assert_int_equal(in_slots(fixture, 7), 1);
	assert_true(vpeer_refslots_clear(mine, &objects[7]));
}

static void full_slots(void **state)
{
	struct fixture *fixture = *state;
	struct vpeer_refslots_block *mine;

	for (uint32_t id = 1; id <= VPEER_REFSLOTS; id++)
		take(fixture, id);
	mine = vpeer_refslots_mine(&fixture->slots);
	assert_null(vpeer_refslots_empty(mine));
	for (uint32_t id = 1; id <= VPEER_REFSLOTS; id++)
		assert_int_equal(in_slots(fixture, id) + fixture->counts[id], 1);
	vpeer_refslots_spill(mine);
	for (uint32_t id = 1; id <= VPEER_REFSLOTS; id++) {
		assert_int_equal(in_slots(fixture, id), 0);
		assert_int_equal(fixture->counts[id], 1);
	}
	assert_non_null(vpeer_refslots_empty(mine));
}

static void *take_and_end(void *arg)
{
	take(arg, 9);
	vpeer_refslots_mine(&((struct fixture *)arg)->slots)->hits = 3;
	return NULL;
}

/* What an ended thread held goes to the count, its block to the next thread. */
static void ended_threads(void **state)
{
	struct fixture *fixture = *state;
	uint64_t memory;

	for (int i = 1; i <= 5; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, take_and_end, fixture), 0);
		assert_int_equal(pthread_join(thread, NULL), 0);
		assert_int_equal(fixture->counts[9], i);
		assert_int_equal(in_slots(fixture, 9), 0);
		if (i == 1)
			memory = vpeer_refslots_memory(&fixture->slots);
	}
	assert_int_equal(vpeer_refslots_memory(&fixture->slots), memory);
	assert_int_equal(vpeer_refslots_hits(&fixture->slots), 3);
}

static pthread_key_t later;

static void take_late(void *arg)
{
	take(arg, 8);
}

static void *end_with_destructor(void *arg)
{
	take(arg, 9);
	pthread_setspecific(later, arg);
	return NULL;
}

/* A thread that takes something once more after its block went to others. */
static void late_user(void **state)
{
	struct fixture *fixture = *state;
	pthread_t thread;

	/* Its destructor runs after that of the slots, whose key is older. */
	assert_int_equal(pthread_key_create(&later, take_late), 0);
	assert_int_equal(pthread_create(&thread, NULL, end_with_destructor, fixture), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_int_equal(pthread_key_delete(later), 0);
	assert_int_equal(fixture->counts[9], 1);
	assert_int_equal(fixture->counts[8], 1);
	assert_int_equal(in_slots(fixture, 8), 0);
}

/* A block of slots that ended is not taken for one of those that come to lie at the same place. */
static void same_place(void **state)
{
	struct fixture *fixture = *state;

	take(fixture, 3);
	assert_int_equal(in_slots(fixture, 3), 1);
	vpeer_refslots_end(&fixture->slots);
	assert_int_equal(vpeer_refslots_begin(&fixture->slots, spill, fixture), 0);
	assert_null(vpeer_refslots_mine(&fixture->slots));
	take(fixture, 4);
	assert_int_equal(in_slots(fixture, 3), 0);
	assert_int_equal(in_slots(fixture, 4), 1);
}

static void two_at_once(void **state)
{
	struct fixture *fixture = *state, other = { 0 };

	assert_int_equal(vpeer_refslots_begin(&other.slots, spill, &other), 0);
	take(fixture, 1);
	take(&other, 2);
	assert_true(vpeer_refslots_clear(vpeer_refslots_mine(&fixture->slots), &objects[1]));
	assert_int_equal(in_slots(&other, 2), 1);
	assert_true(vpeer_refslots_clear(vpeer_refslots_mine(&other.slots), &objects[2]));
	vpeer_refslots_end(&other.slots);
}

static void reserve(void **state)
{
	struct vpeer_reserve memory;
	char *base;

	(void)state;
	assert_int_equal(vpeer_reserve_begin(&memory, 64 << 20), 0);
	base = memory.base;
	for (size_t size = 1; size <= 64 << 20; size = size * 3 + 1) {
		assert_int_equal(vpeer_reserve_grow(&memory, size), 0);
		assert_ptr_equal(memory.base, base);
		assert_true(memory.committed >= size);
		assert_int_equal(base[size - 1], 0);
		base[size - 1] = 1;
	}
	assert_int_equal(base[0], 1);
	assert_int_equal(vpeer_reserve_grow(&memory, 64 << 20), 0);
	assert_int_equal(vpeer_reserve_grow(&memory, (64 << 20) + 1), -ENOMEM);
	vpeer_reserve_end(&memory);
	assert_null(memory.base);
	vpeer_reserve_end(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(slots_of_a_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(full_slots, setup, teardown),
		cmocka_unit_test_setup_teardown(ended_threads, setup, teardown),
		cmocka_unit_test_setup_teardown(late_user, setup, teardown),
		cmocka_unit_test_setup_teardown(same_place, setup, teardown),
		cmocka_unit_test_setup_teardown(two_at_once, setup, teardown),
		cmocka_unit_test(reserve),
	};

	return cmocka_run_group_tests_name("reference slots", tests, NULL, NULL) != 0;
}

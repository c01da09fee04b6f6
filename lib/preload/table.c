// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "table.h"

#include <errno.h>
#include <pthread.h>
#include <search.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include "journal.h"
#include "memory.h"

/* What a tree has: a key that is an address, and what it stands for. */
struct slot {
	const void *key;
	void *value;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;	/* all below */
static void *domains;		/* struct ibv_pd * to struct vpeer_context * */
static void *registrations;	/* struct ibv_mr * to struct vpeer_mr * */
static struct vpeer_finder *finder;
static bool forked;

static int compare(const void *a, const void *b)
{
	uintptr_t one = (uintptr_t)((const struct slot *)a)->key;
	uintptr_t other = (uintptr_t)((const struct slot *)b)->key;

	return one < other ? -1 : one > other;
}

static struct slot *look(void *const *tree, const void *key)
{
	struct slot wanted = { .key = key };
	struct slot **found = tfind(&wanted, tree, compare);

	return found ? *found : NULL;
}

static int add(void **tree, const void *key, void *value)
{
	struct slot *slot = malloc(sizeof(*slot));

	if (!slot)
		return -ENOMEM;
	*slot = (struct slot){ .key = key, .value = value };
	if (!tsearch(slot, tree, compare)) {
		free(slot);
		return -ENOMEM;
	}
	return 0;
}

static void *take(void **tree, const void *key)
{
	struct slot *slot = look(tree, key);
	void *value;

	if (!slot)
		return NULL;
	value = slot->value;
	tdelete(slot, tree, compare);
	free(slot);
	return value;
}

static void forget_context(void *slot)
{
	vpeer_context_destroy(((struct slot *)slot)->value, NULL);
	free(slot);
}

static void forget_all(void)
{
	tdestroy(registrations, free);
	tdestroy(domains, forget_context);
	registrations = NULL;
	domains = NULL;
	vpeer_finder_abandon(finder);
	finder = NULL;
}

static void take_lock(void)
{
	pthread_mutex_lock(&lock);
	if (!forked)
		return;
	forked = false;
	forget_all();
}

static void drop_lock(void)
{
	pthread_mutex_unlock(&lock);
}

static void before_fork(void)
{
	pthread_mutex_lock(&lock);
}

static void in_child(void)
{
	forked = true;
	/* Also of a child that registers nothing: it has no totals to tell. */
	journal_forget();
	pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_forks(void)
{
	pthread_atfork(before_fork, drop_lock, in_child);
}

/* What it is although it cannot be used is told too: libvpeer knows why. */
static unsigned int kind_of(uintptr_t address, size_t length)
{
	struct vpeer_memory memory;

	if (!finder && vpeer_finder_create(&finder, -1, NULL))
		return VPEER_MEMORY_UNKNOWN;
	if (!vpeer_memory_identify(finder, address, length, &memory, NULL)) {
		vpeer_memory_release(&memory);
		vpeer_finder_trim(finder);
	}
	return memory.kind;
}

unsigned int table_kind(void *address, size_t length)
{
	uintptr_t start = (uintptr_t)address;
	unsigned int kind;

	if (!length || start + (length - 1) < start)
		return VPEER_MEMORY_UNKNOWN;
	take_lock();
	kind = kind_of(start, length);
	drop_lock();
	return kind;
}

static void tell(void *argument, int level, const char *text)
{
	(void)argument;
	(void)level;
	journal_say("%s", text);
}

static int make_context(struct ibv_pd *pd, struct vpeer_context **context,
			struct vpeer_error *error)
{
	const struct vpeer_context_options options = {
		.flags = VPEER_CONTEXT_NO_THREAD | VPEER_CONTEXT_NO_CACHE,
		.log_level = VPEER_LOG_WARNING,
		.log = tell,
	};
	int err = vpeer_context_create(context, pd, &options, error);

	if (err)
		return err;
	err = add(&domains, pd, *context);
	if (err)
		vpeer_context_destroy(*context, NULL);
	return err;
}

int table_context(struct ibv_pd *pd, struct vpeer_context **context, struct vpeer_error *error)
{
	struct slot *slot;
	int err = 0;

	take_lock();
	slot = look(&domains, pd);
	if (slot)
		*context = slot->value;
	else
		err = make_context(pd, context, error);
	drop_lock();
	return err;
}

int table_end_context(struct ibv_pd *pd)
{
	struct slot *slot;
	int err = 0;

	take_lock();
	slot = look(&domains, pd);
	if (slot)
		err = vpeer_context_destroy(slot->value, NULL);
	if (!err)
		take(&domains, pd);
	drop_lock();
	return err;
}

int table_add(struct vpeer_mr *mr)
{
	int err;

	take_lock();
	err = add(&registrations, vpeer_mr_ibv(mr), mr);
	drop_lock();
	return err;
}

struct vpeer_mr *table_find(const struct ibv_mr *mr)
{
	struct vpeer_mr *found;
	struct slot *slot;

	take_lock();
	slot = look(&registrations, mr);
	found = slot ? slot->value : NULL;
	drop_lock();
	return found;
}

struct vpeer_mr *table_take(const struct ibv_mr *mr)
{
	struct vpeer_mr *taken;

	take_lock();
	taken = take(&registrations, mr);
	drop_lock();
	return taken;
}

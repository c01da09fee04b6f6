/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What "vpeer host" makes of a host that is made up. */
#ifndef HOST_SEEN_H
#define HOST_SEEN_H

#include "fixture.h"

#include <stdio.h>

#include "host/check.h"
#include "host/guest.h"
#include "host_tree.h"

#define WITH_TREE(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

struct seen {
	struct host_place place;
	struct host host;
	struct path *paths;
	size_t path_count;
	struct findings all;
};

/* A host as @tree is, below @root: its functions as found, or those named; @second may be NULL. */
void seen_look(struct seen *seen, const struct host_tree *tree, const char *root);
void seen_choose(struct seen *seen, const struct host_tree *tree, const char *root,
		 const char *first, const char *second);
void seen_forget(struct seen *seen);

/* One that has to be there, and how many there are in a state. */
const struct finding *finding_of(const struct findings *all, const char *name, const char *object);
size_t findings_named(const struct findings *all, const char *name, enum state state);

#define MOST_SPEAKING 8

struct said {
	const char *name;
	enum state state;
};

/* Those named speak, and no other does. */
void expect_said(const struct findings *all, const struct said *said);
void expect_tree(void **state, const struct host_tree *tree, const struct said *said);

void expect_text(const char *text, const char *wanted);

extern const struct guest_wish plain_wish;

/* What @print makes of a guest that is not refused; to be freed. */
char *guest_emitted(const struct seen *seen, const struct guest_wish *wish,
		    void (*print)(const struct guest *guest, FILE *file));

#endif /* HOST_SEEN_H */

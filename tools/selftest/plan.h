/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which pairs a run of the selftest has. */
#ifndef PLAN_H
#define PLAN_H

#include "pair.h"
#include "scratch.h"

#define MAX_NAMES	64

struct names {
	const char *items[MAX_NAMES];
	size_t count;
};

/* What the command line asked for; empty lists mean everything. */
struct wishes {
	struct names apertures;
	struct names rdma;
	struct names block;
	struct scratch scratch[MAX_NAMES];
	size_t scratch_count;
};

/*
 * Add what an option of @command names; EXIT_PASS, or EXIT_USAGE after a
 * message on stderr. The texts must stay.
 */
int wish_name(const struct command *command, struct names *names, const char *option,
	      const char *name);
int wish_aperture(const struct command *command, struct wishes *wishes, const char *name);
int wish_scratch(const struct command *command, struct wishes *wishes, const char *text);

struct plan {
	struct vpeer_entry *apertures;
	size_t aperture_count;
	struct initiator_list initiators;
	struct pair *pairs;
	size_t pair_count;
	struct trace trace;
};

/*
 * Reads what the machine has and picks what was asked for. EXIT_PASS, or
 * another exit status after a message on stderr: EXIT_FAIL for something named
 * that is not there, EXIT_NOTHING when there is nothing to test. plan_end() in
 * all cases.
 */
int plan_begin(struct plan *plan, struct wishes *wishes, const struct settings *settings);
void plan_end(struct plan *plan);

/*
 * The file that shows the aperture from its owner's side: @view itself, or in
 * the directory @view the file "<PCI address>-bar<N>". 0, -ENOENT without one,
 * -ENOTDIR when a single file was named for several apertures.
 */
int plan_view(const char *view, const struct vpeer_entry *aperture, size_t apertures, char *path,
	      size_t size);

#endif /* PLAN_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Processes that hold a node open or mapped. */
#ifndef HOLDERS_H
#define HOLDERS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../lib/vpeer.h"

struct holder {
	pid_t pid;
	char command[64];
};

/*
 * True when @path, as /proc shows it for a descriptor or mapping, is @node,
 * unlinked or not.
 */
bool holder_path_matches(const char *path, const char *node);

/*
 * The caller frees the array. Processes that may not be looked into are left
 * out; *hidden counts them. 0 or a negative errno.
 */
int holders_find(const char *proc, const char *node, struct holder **holders, size_t *count,
		 size_t *hidden);

/*
 * Tells on stderr who has the nodes of @entries open or mapped, a line for
 * each, and what ends their pins. Without entries that nobody knows it.
 */
void holders_print(const struct vpeer_entry *entries, size_t count);

#endif /* HOLDERS_H */

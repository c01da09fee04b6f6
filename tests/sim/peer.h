/* SPDX-License-Identifier: GPL-2.0-only */
/* What misbehaviours towards peers keep for a function: its private copy, and writes that land later. */
#ifndef SIM_PEER_H
#define SIM_PEER_H

#include <stddef.h>
#include <stdint.h>

#define PEER_MOST_BYTES	(64u << 20)	/* of each of both */

struct function;
struct peer;

struct peer *peer_new(void);
void peer_free(struct peer *peer);
void peer_forget(struct peer *peer);	/* all of it */

/* The private copy. -ENOMEM: it is as large as it may be. */
int mirror_write(struct peer *peer, uint64_t iova, const void *data, size_t length);
void mirror_read(const struct peer *peer, uint64_t iova, void *data, size_t length); /* over it */
void mirror_drop(struct peer *peer, uint64_t iova, uint64_t last);

/*
 * LAND(function, iova, data, length) is called, as work, when the time has come; with data NULL if what was
 * there has been unmapped since. 0 or -ENOMEM.
 */
typedef void (*late_landing)(struct function *function, uint64_t iova, const void *data,
			     size_t length);
int late_write(struct function *function, uint64_t microseconds, uint64_t iova, const void *data,
	       size_t length, late_landing land);
void late_lose(struct peer *peer, uint64_t iova, uint64_t last);	/* was unmapped */

#endif

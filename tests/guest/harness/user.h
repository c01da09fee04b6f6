/* SPDX-License-Identifier: GPL-2.0-only */
/* Ordinary users. */
#ifndef USER_H
#define USER_H

#include <stdint.h>

#define USER_MEMBER	31001	/* in group vpeer */
#define USER_STRANGER	31002

/* Becomes an ordinary user for good, in group vpeer or not. */
void become_member(void);
void become_stranger(void);

/* Runs in a child under max_bytes_per_user; no limit afterwards, however it ends. */
void with_limit(uint64_t limit, void (*run)(void *context));

#endif /* USER_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Which protection domains have a context of libvpeer, and which MRs are of one. In
 * a child of fork() there are none: what the parent registered is the parent's.
 */
#ifndef PRELOAD_TABLE_H
#define PRELOAD_TABLE_H

#include <stddef.h>

#include "real.h"
#include "vpeer.h"

/*
 * enum vpeer_memory_kind of [@address, @address + @length), which is
 * VPEER_MEMORY_UNKNOWN if it is of none.
 */
unsigned int table_kind(void *address, size_t length);

/* The context of @pd, made when it is first asked for. */
int table_context(struct ibv_pd *pd, struct vpeer_context **context, struct vpeer_error *error);

/* Ends the context of @pd, if it has one. -EBUSY: MRs are left. */
int table_end_context(struct ibv_pd *pd);

/* -ENOMEM: it is not remembered. */
int table_add(struct vpeer_mr *mr);

/* NULL: @mr is not one of libvpeer's. */
struct vpeer_mr *table_find(const struct ibv_mr *mr);
struct vpeer_mr *table_take(const struct ibv_mr *mr);

#endif /* PRELOAD_TABLE_H */

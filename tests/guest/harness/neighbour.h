/* SPDX-License-Identifier: GPL-2.0-only */
/* The aperture's function under the driver of tests/neighbour. */
#ifndef HARNESS_NEIGHBOUR_H
#define HARNESS_NEIGHBOUR_H

#include <stdbool.h>
#include <stdint.h>

#include "neighbour_ioctl.h"

/* Makes it the function's driver; vpeer lets go of the function before. */
void neighbour_bind(void);

/* It is bound, and no range of the BAR is shared. */
void neighbour_alone(void);

void neighbour_unbind(void);
bool neighbour_is_bound(void);

/* One bind(), which may be refused. */
bool neighbour_try_bind(void);

/* Does it claim the BAR's region from the next bind on? */
void neighbour_requests(bool yes);

int neighbour_open(void);

/* As ioctls: -1 and errno. */
int neighbour_map(int fd, enum neighbour_kind kind, uint64_t offset, uint64_t size);
int neighbour_type(int fd, enum neighbour_side side, uint64_t place, uint32_t *type);

/* An open file with that mapping. */
int neighbour_mapped(enum neighbour_kind kind, uint64_t offset, uint64_t size);

/* Shares a range with it: N of the new node /dev/vpeerN. */
int foreign_attach(uint64_t offset, uint64_t size);
int foreign_open(int number);

struct neighbour_events neighbour_events(void);

/* The kernel's list of reserved memory types; the caller frees it. */
char *memtype_list(void);

/* "write-combining" and so on. */
const char *neighbour_type_name(uint32_t type);

#endif /* HARNESS_NEIGHBOUR_H */

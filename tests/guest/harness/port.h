/* SPDX-License-Identifier: GPL-2.0-only */
/* The lab's virtio ports, by which a guest speaks to what runs outside. */
#ifndef PORT_H
#define PORT_H

#include <stdbool.h>
#include <stddef.h>

/* The device node of the port vpeer.NAME; false where the lab offers none. */
bool port_find(const char *name, char *node, size_t size);

/* Opened while no one else uses it; *lock is to be closed behind it. */
int port_open(const char *name, int *lock);

#endif /* PORT_H */

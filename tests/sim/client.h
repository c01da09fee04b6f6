/* SPDX-License-Identifier: GPL-2.0-only */
/* The vfio-user protocol of one function, as QEMU's vfio-user-pci speaks it: version 0.0. */
#ifndef SIM_CLIENT_H
#define SIM_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct client;
struct function;

/* Waits for QEMU at DIRECTORY/NAME-OF-FUNCTION, for one at a time. 0 or -errno. */
int client_listen(struct function *function, const char *directory);
void clients_end(void);		/* and the sockets are gone */

/* A connection that is there already; the descriptor is taken. 0 or -errno. */
int client_begin(struct function *function, int fd);

/*
 * Asks QEMU to read or write; waits for its answer and serves requests meanwhile. Not within a device's read
 * or write. 0; -EFAULT: QEMU refused; or -errno, when it went, the function was reset, or no answer came.
 */
int client_transfer(struct function *function, bool write, uint64_t iova, void *data,
		    size_t length);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* The RDMA function: what the rest of the server sees of it. */
#ifndef SIM_VRNIC_H
#define SIM_VRNIC_H

#include <stdint.h>

#include "function.h"

extern const struct device vrnic_device;

/* Before the first function is made: each gets the next LID. 0, or -EINVAL for one outside 1 to 0xbfff. */
int vrnic_set_first_lid(unsigned int lid);

/*
 * SPEC: listen:PATH or connect:PATH, to another server's functions; ports are up while it is connected.
 * 0 or -errno. Without it the fabric is this server alone, and always up.
 */
int vrnic_fabric_open(const char *spec);
void vrnic_fabric_close(void);	/* at the end of the server; removes the socket that it made */

#endif

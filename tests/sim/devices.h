/* SPDX-License-Identifier: GPL-2.0-only */
/* The kinds of functions that there are. */
#ifndef SIM_DEVICES_H
#define SIM_DEVICES_H

struct device;

extern const struct device *const devices[];
extern const unsigned int device_count;

#endif

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* NVIDIA's driver, and its peer-memory client. */
#ifndef DOCTOR_NVIDIA_H
#define DOCTOR_NVIDIA_H

#include "site.h"

enum flavour {
	FLAVOUR_UNKNOWN,
	FLAVOUR_OPEN,
	FLAVOUR_PROPRIETARY,
};

struct nvidia {
	bool there;		/* it is loaded, or has a function */
	enum flavour flavour;
	unsigned int major;	/* of the version, 0 when unknown */
	char version[32];
};

void nvidia_read(const struct site *site, struct nvidia *nvidia);

enum peermem {
	PEERMEM_ABSENT,
	PEERMEM_LOADED,		/* but not registered at the RDMA core */
	PEERMEM_REGISTERED,
};

enum peermem nvidia_peermem(const struct site *site);

/* The RDMA core is OFED's: it has peer-memory clients. */
bool nvidia_has_ofed(const struct site *site);

/*
 * Adds a finding of it. @needed: an RDMA device that has no other route to memory of
 * NVIDIA's driver, or NULL.
 */
void nvidia_say_peermem(struct findings *all, const struct site *site, const char *needed);

#endif /* DOCTOR_NVIDIA_H */

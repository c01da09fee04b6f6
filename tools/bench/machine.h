/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the program runs on, and so what can be measured at all. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stdbool.h>

struct machine {
	char release[80];	/* of the kernel */
	char hypervisor[64];	/* CPUID's signature, "none" on bare metal */
	bool emulated;		/* QEMU's TCG: no caches, no PCIe, no VM exits */
	bool virtualised;
};

void machine_read(struct machine *machine);

/* From the signature in CPUID leaf 0x40000000, empty without a hypervisor. */
void machine_judge(struct machine *machine, const char *signature);

#endif /* MACHINE_H */

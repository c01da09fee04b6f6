/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One PCI function of the host: what sysfs and its configuration space say. */
#ifndef PCI_FUNCTION_H
#define PCI_FUNCTION_H

#include "../pcidev.h"
#include "config.h"
#include "vf.h"

#define MOST_BRIDGES	16
#define NO_NODE		(-1)
#define NO_NUMBER	(-1)

struct group {
	bool known;
	unsigned int number;
	char type[32];		/* of the default domain: DMA, DMA-FQ, identity */
	char (*members)[VPEER_PCI_LEN];
	size_t count;
};

struct sriov {
	char physfn[VPEER_PCI_LEN];	/* of a VF, else empty */
	long vf;			/* NO_NUMBER when its PF does not list it */
	long totalvfs;		/* of a PF, else NO_NUMBER */
	long numvfs;
	char netdev[32];	/* of the PF, empty if it has none */
	int settings_err;	/* 0 when @settings hold */
	struct vf_settings settings;
};

struct link {
	char speed[32], max_speed[32];	/* empty when unknown */
	char width[8], max_width[8];
};

struct function {
	char pci[VPEER_PCI_LEN];
	char vendor[16], device[16];
	uint32_t class;
	char driver[64];
	bool vfio;		/* its driver is one of VFIO's */
	bool rdma;		/* it has an RDMA device */
	int numa_node;		/* NO_NODE when the firmware names none */
	char root[32];		/* host bridge, such as pci0000:00 */
	char bridges[MOST_BRIDGES][VPEER_PCI_LEN];	/* from there to here */
	size_t bridge_count;
	struct group group;
	struct pci_bar bars[PCI_BARS];
	int bars_err;
	struct link link;
	struct sriov sriov;
	struct config config;
	struct express express;
	struct express pf_express;	/* of a VF's PF, whose settings rule; else of itself */
	struct ats ats;
	struct acs acs;
};

/* 0 or a negative errno: -ENOENT when there is no such function. */
int function_load(struct function *function, const char *sysfs, const char *pci,
		  vf_reader *read_vf);
void function_free(struct function *function);

struct json_object;

/* What both "vpeer host check --json" and "vpeer doctor --json" have of one. */
struct json_object *function_document(const struct function *function);

bool function_is_bridge(const struct function *function);

/* Has memory that others should reach: display, accelerator, memory. */
bool function_is_memory(const struct function *function);

/*
 * Drivers that leave DMA to others, or none (""): with another one on any
 * function of a group, bridges too, VFIO gives none of them away.
 */
bool driver_lets_go(const char *driver);

/* The function @pci is a bridge to PCI, ISA or the like, by sysfs' class. */
bool pci_is_bridge(const char *sysfs, const char *pci);

#endif /* PCI_FUNCTION_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The sysfs and procfs of a host that tests make up: below one switch a GPU
 * at 0000:03:00.0 and a NIC at 0000:04:00.0 with a VF at 0000:04:00.1.
 */
#ifndef HOST_TREE_H
#define HOST_TREE_H

#include <stdbool.h>
#include <stdint.h>

#include "config_space.h"
#include "host/facts.h"

#define TREE_GPU	"0000:03:00.0"
#define TREE_SOUND	"0000:03:00.1"
#define TREE_PF		"0000:04:00.0"
#define TREE_VF		"0000:04:00.1"
#define TREE_GPU_PORT	"0000:02:00.0"
#define TREE_NIC_PORT	"0000:02:01.0"

struct host_tree {
	bool iommu;
	bool remapping;
	bool kvm;
	bool type1, iommufd;
	bool shared;		/* a sound function in the GPU's group */
	const char *sound_driver;
	unsigned int sound_class;
	const char *gpu_driver;
	const char *cmdline;	/* NULL: cannot be read */
	const char *release;
	const char *modules;	/* modules.dep of the release, NULL: cannot be read */
	unsigned int node_memory;	/* GiB, of each of two */
	const char *cpus;	/* online */
	unsigned int iommu_width;
	unsigned int free_pages;	/* of 1 GiB */
	unsigned int node_pages;	/* of these on node 0 */
	bool unlisted;			/* the VF, by its PF */
	uint64_t gpu_bar;	/* address, 0: unassigned */
	const char *gpu_width;	/* of its link */
	int gpu_node, vf_node;
	uint16_t gpu_acs, nic_acs;	/* ACSCtl of the ports above */
	uint16_t nic_acs_cap;
	enum capability ats;
	bool relaxed;
	unsigned int read_request, nic_payload;
	size_t config_bytes;
	int settings_err;
	struct vf_settings settings;
};

/* One in which everything is well. */
extern const struct host_tree host_tree_good;

/* Makes it below @root; @place is where it lies. */
void host_tree_make(const struct host_tree *tree, const char *root, struct host_place *place);

#endif /* HOST_TREE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of PCI functions, a file each, and what they and those of the host have in common. */
#ifndef DOCTOR_DEVICE_H
#define DOCTOR_DEVICE_H

#include "../host/topology.h"
#include "check.h"

doctor_check check_config_space, check_asleep, check_command, check_bound_driver;
doctor_check check_bar_assigned, check_bar_size, check_bar_address, check_dma_mask;
doctor_check check_bar_pages, check_bar_kind;
doctor_check check_ats, check_acs;
doctor_check check_relaxed_ordering, check_read_request, check_payload, check_pcie_link;
doctor_check check_iommu_domain, check_iommu_width, check_device_numa, check_clique;

bool machine_is_guest(const struct site *site);

/* Whoever runs the guest can change its host, and the host shows functions as they are. */
bool machine_shows_functions(const struct site *site);

/* NUMA nodes of the machine, 0 when unknown. */
size_t machine_nodes(const struct site *site);

typedef bool device_kind(const struct site *site, const struct function *function);

/* As site_is_memory(), and GPUs whose BARs are so broken that it does not know them. */
device_kind device_is_memory;
device_kind device_is_rdma;
device_kind device_is_either;	/* memory or an initiator */

/* It is not there but in software: it has no wires, so nothing that rules them matters. */
bool device_is_emulated(const struct function *function);

/* Control bits that read as zeros because they are the PF's; a guest does not see the PF. */
bool device_hides_control(const struct function *function);

/* A server of its own keeps it for a guest: nothing here uses it. */
bool device_is_given(const struct site *site, const struct function *function);

/* Its IOMMU domain translates. */
bool device_is_translated(const struct function *function);

/* The BAR by which others reach its memory: the largest prefetchable one; NULL for none. */
const struct pci_bar *device_aperture(const struct function *function);

/* The last address of it. */
uint64_t bar_last(const struct pci_bar *bar);

size_t device_count(const struct site *site, device_kind *is);

typedef void device_check(struct findings *all, const struct site *site,
			  const struct function *function);

/* On each that is of the kind, answers, and is not given away to a guest. */
void device_each(struct findings *all, const struct site *site, device_kind *is,
		 device_check *check);

/* Begins an ok one of a function, with what was seen in its file @name. */
void device_begin(struct findings *all, const struct function *function, const char *check,
		  const char *name, const char *value);
void device_saw(struct findings *all, const struct function *function, const char *name,
		const char *value);

/* Each memory by each initiator that has a bridge in common; the caller frees. */
size_t device_paths(const struct site *site, struct path **paths);

/*
 * What is the same on all functions is told once, by the checks of the host: true where there
 * are several, and each lacks it.
 */
bool all_lack_ats(const struct site *site);
bool all_lack_node(const struct site *site);
bool all_have_small_bars(const struct site *site);

/* The remedy for ATS that is not there, or off. */
void remedy_ats(struct findings *all, const struct site *site, const struct function *function);

/* A GPU of NVIDIA shows but a part of its memory. */
bool device_has_small_bar(const struct site *site, const struct function *function);
void remedy_small_bar(struct findings *all, const struct site *site);

#endif /* DOCTOR_DEVICE_H */

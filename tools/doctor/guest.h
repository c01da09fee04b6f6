/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of the guest as a whole, a file each. */
#ifndef DOCTOR_GUEST_H
#define DOCTOR_GUEST_H

#include "check.h"

doctor_check check_hypervisor;
doctor_check check_kernel;
doctor_check check_kernel_options;
doctor_check check_command_line;
doctor_check check_confidential;
doctor_check check_module;
doctor_check check_nodes;
doctor_check check_quarantine;
doctor_check check_memlock;
doctor_check check_users_memlock;
doctor_check check_open_files;
doctor_check check_container;
doctor_check check_settings;
doctor_check check_topology_file;
doctor_check check_kernel_log;

/* What the checks of other groups look at in detail. */

/* Memory and something that reaches for it. */
bool site_has_peers(const struct site *site);

/* Has an RDMA device. */
bool site_has_rdma(const struct site *site);

/* A function that this driver has bound. */
bool site_has_driver(const struct site *site, const char *driver);

/* NVIDIA's display functions, whatever their driver. */
bool site_has_nvidia(const struct site *site);

/* A registered peer-memory client, a module that would be one, or EFA's own way. */
bool site_has_peermem(const struct site *site);

/*
 * Memory whose driver exports no DMA-bufs, and an initiator: what vpeer.ko is for. @pci
 * receives its address.
 */
bool site_needs_module(const struct site *site, char pci[VPEER_PCI_LEN]);

/*
 * 0 if an RDMA device imports DMA-bufs, -EOPNOTSUPP if those that answer do not, else why none
 * answers. @seen: the last one's name, and how it answered.
 */
int site_imports_dmabuf(const struct site *site, char *seen, size_t size);

/* In a container; @by: the file or variable that tells. */
bool site_in_container(const struct site *site, const char **by);

/* This process has the capability in its effective set, and in no user namespace of its own. */
bool site_capable(const struct site *site, unsigned int capability);

/*
 * A variable of a communication library: the environment's, or that of the library's files,
 * which the environment overrides. False when it is not set, or empty; @where is a
 * description of where it was found.
 */
bool site_setting(const struct site *site, const char *name, char *value, size_t size,
		  char *where, size_t where_size);

/* The value of a line "NAME: VALUE" or "NAME=VALUE" of a file, without white space around it. */
bool site_line(const struct site *site, char *value, size_t size, const char *name,
	       const char *path);

/* Which hypervisor, or cloud, firmware's tables name; NULL where they name none or are not read. */
const char *firmware_hypervisor(const struct site *site);

#endif /* DOCTOR_GUEST_H */

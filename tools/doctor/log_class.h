/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What lines of the kernel's log tell, by what they are a sign of. */
#ifndef DOCTOR_LOG_CLASS_H
#define DOCTOR_LOG_CLASS_H

#include <stdbool.h>
#include <stdint.h>

#include "../finding.h"

enum log_class {
	LOG_NVLINK,
	LOG_ECC,
	LOG_GPU,
	LOG_CUDA,
	LOG_PCIE,
	LOG_IOMMU,
	LOG_RDMA,
	LOG_MACHINE,
	LOG_MEMORY,
	LOG_BOUNCE,
	LOG_BAR,
	LOG_PEERMEM,
	LOG_VPEER,
	LOG_CLASSES,
};

/* LOG_CLASSES for a line that tells of nothing wrong; else @state receives how bad that is. */
enum log_class log_classify(const char *line, enum state *state);

/* A number after "Xid (...): ", or -1. */
long log_xid(const char *line);

/*
 * The last PCI address in a line, with domain and function; those of NVIDIA's driver and of
 * VT-d lack parts. False when there is none.
 */
bool log_address(const char *line, char *pci, size_t size);

/* The bus address that an IOMMU refused. */
bool log_fault_address(const char *line, uint64_t *address);

#endif /* DOCTOR_LOG_CLASS_H */

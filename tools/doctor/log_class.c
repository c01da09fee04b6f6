// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "log_class.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"

/* By NVIDIA's catalogue of Xid errors. */
static const struct {
	long first, last;
	enum log_class class;
	enum state state;
} xids[] = {
	{ 74, 74, LOG_NVLINK, STATE_WARN },
	{ 144, 150, LOG_NVLINK, STATE_WARN },
	{ 64, 64, LOG_ECC, STATE_FAIL },	/* no row left to remap to */
	{ 95, 95, LOG_ECC, STATE_FAIL },	/* uncontained */
	{ 140, 140, LOG_ECC, STATE_FAIL },
	{ 48, 48, LOG_ECC, STATE_WARN },
	{ 63, 63, LOG_ECC, STATE_WARN },
	{ 92, 92, LOG_ECC, STATE_WARN },
	{ 94, 94, LOG_ECC, STATE_WARN },
	{ 171, 172, LOG_ECC, STATE_WARN },
	{ 79, 79, LOG_GPU, STATE_FAIL },	/* off the bus */
	{ 61, 62, LOG_GPU, STATE_WARN },
	{ 109, 110, LOG_GPU, STATE_WARN },
	{ 119, 120, LOG_GPU, STATE_WARN },	/* GSP */
	{ 143, 143, LOG_GPU, STATE_WARN },
	{ 151, 154, LOG_GPU, STATE_WARN },
	{ 13, 13, LOG_CUDA, STATE_WARN },
	{ 31, 32, LOG_CUDA, STATE_WARN },
	{ 43, 45, LOG_CUDA, STATE_WARN },
	{ 68, 69, LOG_CUDA, STATE_WARN },
};

/* All of these parts must be in a line, in this order. Those that begin alike stand together. */
static const struct {
	const char *parts[3];
	enum log_class class;
	enum state state;
} patterns[] = {
	{ { "fallen off the bus" }, LOG_GPU, STATE_FAIL },
	{ { "NVRM:", "RmInitAdapter failed" }, LOG_GPU, STATE_FAIL },
	{ { "PCIe Bus Error", "severity=Uncorrect" }, LOG_PCIE, STATE_WARN },
	{ { "PCIe Bus Error", "severity=Correct" }, LOG_PCIE, STATE_WARN },
	{ { "AER:", "error message received", "from" }, LOG_PCIE, STATE_WARN },
	{ { "AER:", "error received", }, LOG_PCIE, STATE_WARN },
	{ { "DMAR:", "[DMA ", "fault addr" }, LOG_IOMMU, STATE_WARN },
	{ { "AMD-Vi:", "IO_PAGE_FAULT" }, LOG_IOMMU, STATE_WARN },
	{ { "arm-smmu", "event 0x10" }, LOG_IOMMU, STATE_WARN },
	{ { "arm-smmu", "F_TRANSLATION" }, LOG_IOMMU, STATE_WARN },
	{ { "arm-smmu", "Unhandled context fault" }, LOG_IOMMU, STATE_WARN },
	{ { "mlx5_core", "syndrome (0x" }, LOG_RDMA, STATE_WARN },
	{ { "mlx5_core", "synd 0x" }, LOG_RDMA, STATE_WARN },
	{ { "mlx5_core", "health compromised" }, LOG_RDMA, STATE_FAIL },
	{ { "mlx5_core", "atal" /* fatal, Fatal */, "error" }, LOG_RDMA, STATE_FAIL },
	{ { "mlx5_core", "No done completion" }, LOG_RDMA, STATE_WARN },
	{ { "mlx5_core", "timeout. Will cause a leak" }, LOG_RDMA, STATE_WARN },
	{ { "infiniband mlx5_", "dump error cqe" }, LOG_RDMA, STATE_WARN },
	{ { "mlx5", "dump_cqe" }, LOG_RDMA, STATE_WARN },
	{ { "[Hardware Error]" }, LOG_MACHINE, STATE_WARN },
	{ { "watchdog: BUG:", "lockup" }, LOG_MACHINE, STATE_WARN },
	{ { "self-detected stall" }, LOG_MACHINE, STATE_WARN },
	{ { "blocked for more than", "seconds" }, LOG_MACHINE, STATE_WARN },
	{ { "Out of memory: Killed process" }, LOG_MEMORY, STATE_WARN },
	{ { "Memory cgroup out of memory" }, LOG_MEMORY, STATE_WARN },
	{ { "swiotlb buffer is full" }, LOG_BOUNCE, STATE_WARN },
	{ { "Out of SW-IOMMU space" }, LOG_BOUNCE, STATE_WARN },
	{ { "overflow", "of DMA mask", "bus limit" }, LOG_BOUNCE, STATE_WARN },
	{ { "BAR ", "[mem ", "no space" }, LOG_BAR, STATE_WARN },
	{ { "BAR ", "[mem ", "failed to assign" }, LOG_BAR, STATE_WARN },
	{ { "BAR ", "no space for [mem" }, LOG_BAR, STATE_WARN },
	{ { "BAR ", "failed to assign [mem" }, LOG_BAR, STATE_WARN },
	{ { "failing symbol_get of non-GPLONLY symbol" }, LOG_PEERMEM, STATE_WARN },
	{ { "nvidia_peermem: ", "symbol" }, LOG_PEERMEM, STATE_WARN },
	{ { "nv_peer_mem: ", "symbol" }, LOG_PEERMEM, STATE_WARN },
	{ { "nvidia-peermem", "Invalid argument" }, LOG_PEERMEM, STATE_WARN },
	{ { "importer unable to handle MMIO" }, LOG_PEERMEM, STATE_WARN },
	{ { "vpeer", "refused" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "still pinned" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "stay pinned" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "pins outlast" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "cannot be " }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "bus error" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "traps both" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "not imported" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer", "held back" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer: ", "symbol" }, LOG_VPEER, STATE_WARN },
	{ { "vpeer: ", "version magic" }, LOG_VPEER, STATE_WARN },
};

long log_xid(const char *line)
{
	const char *at = strstr(line, "NVRM: Xid (");

	at = at ? strstr(at, "): ") : NULL;
	if (!at || at[3] < '0' || at[3] > '9')
		return -1;
	return strtol(at + 3, NULL, 10);
}

static bool has_all(const char *line, const char *const parts[3])
{
	for (size_t i = 0; i < 3 && parts[i]; i++) {
		line = strstr(line, parts[i]);
		if (!line)
			return false;
		line += strlen(parts[i]);
	}
	return true;
}

static enum log_class of_xid(long xid, enum state *state)
{
	for (size_t i = 0; i < ARRAY_SIZE(xids); i++) {
		if (xid < xids[i].first || xid > xids[i].last)
			continue;
		*state = xids[i].state;
		return xids[i].class;
	}
	*state = STATE_WARN;
	return LOG_GPU;
}

enum log_class log_classify(const char *line, enum state *state)
{
	const char *missing = "";
	long xid = log_xid(line);

	if (xid >= 0)
		return of_xid(xid, state);
	for (size_t i = 0; i < ARRAY_SIZE(patterns); i++) {
		if (!strcmp(patterns[i].parts[0], missing))
			continue;
		if (!has_all(line, patterns[i].parts)) {
			if (!strstr(line, patterns[i].parts[0]))
				missing = patterns[i].parts[0];
			continue;
		}
		*state = patterns[i].state;
		return patterns[i].class;
	}
	return LOG_CLASSES;
}

/* An address at @at; NVIDIA's driver says no function, VT-d no domain. */
static bool address_at(const char *line, const char *at, char *pci, size_t size)
{
	unsigned int domain = 0, bus, device, function = 0;
	int end = 0;

	if (sscanf(at, "%4x:%2x:%2x.%1u%n", &domain, &bus, &device, &function, &end) == 4 &&
	    end == 12) {
		text_format(pci, size, "%04x:%02x:%02x.%u", domain, bus, device, function);
		return true;
	}
	if (sscanf(at, "%4x:%2x:%2x%n", &domain, &bus, &device, &end) == 3 && end == 10 &&
	    at - line >= 4 && !strncmp(at - 4, "PCI:", 4)) {
		text_format(pci, size, "%04x:%02x:%02x.0", domain, bus, device);
		return true;
	}
	if (sscanf(at, "%2x:%2x.%1u%n", &bus, &device, &function, &end) == 3 && end == 7) {
		text_format(pci, size, "0000:%02x:%02x.%u", bus, device, function);
		return true;
	}
	return false;
}

static bool starts_word(const char *line, const char *at)
{
	return at == line || strchr(" :[=(", at[-1]);
}

bool log_address(const char *line, char *pci, size_t size)
{
	bool found = false;

	for (const char *at = line; *at; at++) {
		if (!starts_word(line, at) || !address_at(line, at, pci, size))
			continue;
		found = true;
		at += strlen("00:00.0") - 1;
	}
	return found;
}

bool log_fault_address(const char *line, uint64_t *address)
{
	static const char *const words[] = { "fault addr ", "address=", "iova=" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		const char *at = strstr(line, words[i]);

		if (!at)
			continue;
		*address = strtoull(at + strlen(words[i]), NULL, 16);
		return *address != 0;
	}
	return false;
}

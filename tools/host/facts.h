/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The host as a whole, and the functions that are looked at. */
#ifndef HOST_FACTS_H
#define HOST_FACTS_H

#include "../pci/function.h"

/* Where to look; others in tests. */
struct host_place {
	const char *sysfs;
	const char *procfs;
	const char *modules;
	vf_reader *read_vf;
};

extern const struct host_place host_here;

enum answer {
	ANSWER_UNKNOWN,
	ANSWER_NO,
	ANSWER_YES,
};

struct cpu {
	char vendor[16];
	unsigned int physical;	/* address bits, 0 when unknown */
	unsigned int virtual;
};

struct iommu {
	char unit[32];		/* the first of /sys/class/iommu, empty for none */
	char driver[32];	/* intel-iommu, amd-iommu, ... */
	size_t units;
	size_t groups;
	unsigned int width;	/* bits of the narrowest unit, 0 when unknown */
	enum answer remapping;	/* of interrupts */
};

struct vfio {
	bool pci;		/* the driver vfio-pci */
	bool container;		/* /dev/vfio/vfio */
	bool type1;
	bool iommufd;		/* /dev/iommu */
	enum answer iommufd_module;	/* whether the kernel was built with it */
	enum answer unsafe_interrupts;
};

struct kvm {
	bool there;
	char module[16];	/* kvm_intel, kvm_amd */
	enum answer nested;
};

/* Huge pages of one size, of the host or one node of it. */
struct pool {
	int node;		/* NO_NODE: the whole host */
	uint64_t size;
	uint64_t total;
	uint64_t free;
};

/* Memory of the host, or of one node of it. */
struct memory {
	int node;		/* NO_NODE: the whole host */
	uint64_t total;
	uint64_t ordinary;	/* not kept for huge pages */
};

struct host {
	const struct host_place *place;
	char release[128];
	char cmdline[4096];
	int cmdline_err;
	struct cpu cpu;
	struct iommu iommu;
	struct vfio vfio;
	struct kvm kvm;
	struct pool *pools;
	size_t pool_count;
	struct memory *memory;
	size_t memory_count;
	unsigned int cpus;	/* online, 0 when unknown */
	unsigned int node_count;
	char thp[32];		/* the value chosen */
	struct function *functions;
	size_t function_count;
	struct function *bridges;	/* above any of the functions */
	size_t bridge_count;
};

void host_read(struct host *host, const struct host_place *place);
void host_free(struct host *host);

/* Adds a function and the bridges above it; 0 or a negative errno. */
int host_add(struct host *host, const char *pci);

/* The same for a function that may be given to a guest, which a bridge may not. */
int host_add_named(struct host *host, const char *pci, struct vpeer_error *error);

/* Adds what may be given to a guest: GPUs, memory bound to VFIO, all VFs. */
void host_add_default(struct host *host);

const struct function *host_bridge(const struct host *host, const char *pci);

/* Whether iommufd of the running kernel maps BARs for peers. */
bool host_iommufd_maps_bars(const struct host *host);

/* Reads into @host: pieces of host_read(). */
void host_read_pools(struct host *host);
void host_read_memory(struct host *host);	/* after the pools */
void host_read_iommu(struct host *host);

#endif /* HOST_FACTS_H */

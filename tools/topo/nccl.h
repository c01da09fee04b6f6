/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Topology files of NCCL: what it takes from one, and what this machine's should have. */
#ifndef TOPO_NCCL_H
#define TOPO_NCCL_H

#include "topo.h"

#define NCCL_MOST_NODES		256	/* elements, those that NCCL adds included */
#define NCCL_MOST_ATTRIBUTES	16
#define NCCL_MOST_VALUE		253	/* characters */
#define NCCL_MOST_CPU_WORDS	32	/* of 32 CPUs each */

struct nccl_link {
	char speed[32];		/* empty when unknown */
	unsigned int width;	/* 0 when unknown */
};

/* A GPU or a NIC. */
struct nccl_item {
	const struct function *function;
	bool gpu;
	bool settled;		/* near one of the other kind, as sysfs shows it */
	bool no_gdr;		/* of a NIC: what was measured with it went wrong */
	int node;		/* under which <cpu> it stands; NO_NODE at first if unknown */
	size_t group;		/* below which made-up bridge, from 1; 0 for none */
	struct nccl_link link;
};

/* A sentence, and of what: functions that it holds for, or NULL. */
struct nccl_remark {
	char *functions;
	char *text;
};

struct nccl_plan {
	const struct topo *topo;
	struct nccl_item *items;
	size_t count;
	size_t groups;
	struct nccl_remark *remarks;	/* lines of the comment */
	size_t remark_count;
};

/* What is written; EXIT_PASS, or EXIT_FAIL after a message on stderr. */
int nccl_plan_make(struct nccl_plan *plan, const struct topo *topo);
void nccl_plan_free(struct nccl_plan *plan);

/* @pci may be NULL. */
void nccl_remark(struct nccl_plan *plan, const char *pci, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Resolves NUMA nodes that sysfs does not tell. */
void nccl_plan_nodes(struct nccl_plan *plan);

/* Fills in the links. */
void nccl_plan_links(struct nccl_plan *plan);

/* Whether a bridge is a hypervisor's make. */
bool nccl_is_emulated(const struct site *site, const struct function *bridge);

/* Whether NCCL would look for the NIC elsewhere unless the file names its devices. */
bool nccl_needs_name(const struct nccl_item *item);

/* Puts GPUs and NICs together whose pairs passed. */
void nccl_plan_groups(struct nccl_plan *plan);

void nccl_write(const struct nccl_plan *plan, FILE *file);

/*
 * The worst verdict of the GPU's rows and the NIC's devices; false if not measured. @window
 * may be NULL: whether bytes were compared through the BAR only.
 */
bool nccl_verdict(const struct topo *topo, const struct function *gpu, const struct function *nic,
		  enum measure *verdict, bool *window);

unsigned int nccl_distance(const struct topo *topo, const struct function *a,
			   const struct function *b);

/* The next RDMA device in hardware of @function, from @at on; NULL after the last. */
const struct topo_initiator *nccl_device(const struct topo *topo, const struct function *function,
					 size_t *at);

/*
 * Where NCCL looks for a NIC: function 0 of device 0 of its bus, so that ports and VFs of
 * one device come together.
 */
void nccl_key(const char *pci, char key[VPEER_PCI_LEN]);

/* Gigatransfers per second of a text that NCCL knows; 0 for another one. */
double nccl_speed(const char *text);

/* What the function's link can do, by sysfs. */
struct nccl_link nccl_link(const struct function *function);

/* <0, 0 or >0, as strcmp() */
int nccl_link_compare(const struct nccl_link *a, const struct nccl_link *b);

struct nccl_cpu {
	char arch[16];		/* empty when unknown, and so the rest */
	char vendor[16];
	unsigned int family, model;	/* as CPUID has them; known with @vendor */
};

void nccl_cpu_read(struct nccl_cpu *cpu, const struct site *site);

/* NCCL shifts the extended family, and adds. */
unsigned int nccl_family(unsigned int family);

struct nccl_mask {
	uint32_t words[NCCL_MOST_CPU_WORDS];	/* the lowest first */
	size_t count;
};

/* "0000ffff,ffff0000": 0, -EINVAL, or -E2BIG if it has more words than NCCL reads. */
int nccl_mask_parse(const char *text, struct nccl_mask *mask);

/* CPUs of a NUMA node, without words of zeroes in front; 0 or a negative errno. */
int nccl_node_cpus(const struct site *site, int node, char *text, size_t size);

bool nccl_node_online(const struct site *site, int node);
int nccl_nodes_online(const struct site *site, int *first);

#endif /* TOPO_NCCL_H */

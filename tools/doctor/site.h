/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine that "vpeer doctor" looks at: this one, or one that a test made up. */
#ifndef DOCTOR_SITE_H
#define DOCTOR_SITE_H

#include <limits.h>

#include "../../lib/vpeer.h"
#include "../pci/function.h"

struct findings;
struct rdma_device;

/* What the file of a kernel module says of itself; empty where it says nothing. */
struct site_module {
	char path[PATH_MAX];
	char version[64];
	char vermagic[128];
	char signer[128];
};

/* A device node. */
struct site_node {
	unsigned int mode;	/* permission bits */
	unsigned int gid;
	bool usable;		/* this process may read and write it */
};

/* A line of the kernel's log. */
typedef void log_reader(void *data, const char *line);

/*
 * What is not read from files. Each returns 0 or a negative errno; @data is
 * the place's.
 */
struct site_calls {
	/* Vendor of CPUID leaf 0x40000000; -ENODATA where no hypervisor says that it is there. */
	int (*hypervisor)(void *data, char vendor[13]);

	/*
	 * @answer: errno (positive) with which an RDMA device refuses to
	 * register the DMA-buf -1: EBADF by one that imports DMA-bufs.
	 */
	int (*probe_dmabuf)(void *data, const char *device, int *answer);

	/* What modprobe would load; -ENOENT where there is none. */
	int (*module_file)(void *data, const char *name, struct site_module *file);

	/* From the oldest on. */
	int (*kernel_log)(void *data, log_reader *each, void *to);

	/* By stat(2) and access(2); @path as those of site_text(). */
	int (*node)(void *data, const char *path, struct site_node *node);
};

/* Where to look. */
struct site_place {
	const char *root;	/* all paths begin with it; "" here */
	char **environment;
	bool privileged;	/* capable of SYS_ADMIN: may read all configuration space */
	const struct site_calls *calls;
	void *data;
};

/* Hypervisors, as far as checks tell them apart. */
enum vmm {
	VMM_NONE,	/* none shows */
	VMM_KVM,
	VMM_AMAZON,
	VMM_GOOGLE,
	VMM_HYPERV,
	VMM_VMWARE,
	VMM_OTHER,
};

struct site {
	const struct site_place *place;
	char sysfs[PATH_MAX];
	char release[128];	/* of the kernel, empty when unknown */
	char cmdline[4096];
	int cmdline_err;
	char hypervisor[13];	/* as the CPU tells, empty for none */
	int hypervisor_err;
	enum vmm vmm;		/* by the CPU and firmware's tables */
	struct function *functions;	/* all of PCI, by address */
	size_t function_count;
	struct vpeer_entry *apertures;
	size_t aperture_count;
	struct rdma_device *rdma;	/* by name (rdma.h) */
	size_t rdma_count;
};

/* The real one; "" for its root. */
void site_here(struct site_place *place);

void site_read(struct site *site, const struct site_place *place);
void site_free(struct site *site);

/* What site_read() takes for it. */
enum vmm site_vmm(const struct site *site);

/* NULL when there is no such function. */
const struct function *site_function(const struct site *site, const char *pci);

/*
 * Memory of a GPU, an accelerator, or another function that has an aperture;
 * not the frame buffer of an emulated or a management controller.
 */
bool site_is_memory(const struct site *site, const struct function *function);

/* Does DMA for others: an RDMA device, a virtual function or an NVMe controller. */
bool site_is_initiator(const struct site *site, const struct function *function);

/* Value of an environment variable, NULL when it is not set. */
const char *site_variable(const struct site *site, const char *name);

/*
 * Whether a word of the kernel's command line is @name, or begins with "@name="; @value
 * receives what follows the last one's "=", or "".
 */
bool site_option(const struct site *site, const char *name, char *value, size_t size);

/*
 * Of files below the root. @path is a printf() format without a leading slash,
 * such as "sys/module/%s/version". 0 or a negative errno, as in lib/sysfs.h.
 */
int site_text(const struct site *site, char *text, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
int site_number(const struct site *site, uint64_t *value, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
int site_link(const struct site *site, char *name, size_t size, const char *path, ...)
	__attribute__((format(printf, 4, 5)));
bool site_has(const struct site *site, const char *path, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * Names in a directory, sorted, without those that begin with a dot. The caller frees
 * them by site_names_free(). None of a directory that cannot be read.
 */
size_t site_names(const struct site *site, char ***names, const char *path, ...)
	__attribute__((format(printf, 3, 4)));
void site_names_free(char **names, size_t count);

/* Evidence: what a file has, or why it cannot be read, and where it is, without the root. */
void site_saw(struct findings *all, const struct site *site, const char *path, ...)
	__attribute__((format(printf, 3, 4)));

#endif /* DOCTOR_SITE_H */

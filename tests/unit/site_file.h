/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Machines that tests make up for "vpeer doctor", a file each in sites/. A line is one of
 *
 *   like NAME                    all that another file says, but for what it expects
 *   file PATH TEXT               "\n" in it ends a line; another one ends it
 *   link PATH TARGET             TARGET below the machine's root
 *   remove PATH                  with all that is in it
 *   pci ADDRESS KEY=VALUE...     adds a function, or changes it (site_tree.h)
 *   nopci ADDRESS
 *   ib NAME KEY=VALUE...         changes an RDMA device, or adds a soft one (site_rdma.h)
 *   env NAME=VALUE               "env NAME" unsets it
 *   cpu VENDOR|none|unknown      what CPUID says of a hypervisor
 *   probe DEVICE ERRNO           how it refuses DMA-buf -1; "!ERRNO": it cannot be opened
 *   module NAME KEY VALUE        of the file that modprobe would load (struct site_module)
 *   node PATH MODE GID [unusable]  a device node; mode 0: there is none. Without that there
 *                                are those of RDMA devices only
 *   log TEXT                     a line of the kernel's log
 *   nolog ERRNO                  the log cannot be read
 *   unprivileged                 no root
 *   expect STATE NAME OBJECT: MEANING [| REMEDY [| JOB]]
 *                                a finding must have these as parts; * fits any NAME, OBJECT
 *
 * No other finding may warn, fail or be unknown.
 */
#ifndef SITE_FILE_H
#define SITE_FILE_H

#include "doctor/site.h"
#include "site_rdma.h"
#include "site_tree.h"

struct expectation {
	char state[16], name[64], object[64];
	char *meaning, *remedy, *job;	/* parts; empty ones fit all */
};

struct made_module {
	char name[64];
	struct site_module file;
};

struct made_node {
	char path[64];
	struct site_node node;
};

struct made_probe {
	char device[32];
	int err, answer;
};

struct made_site {
	const char *directory;	/* of the files */
	const char *root;
	struct tree tree;
	struct made_rdma_list rdma;
	char *environment[64];
	size_t variable_count;
	char cpu[32];
	struct made_probe probes[64];
	size_t probe_count;
	struct made_module modules[16];
	size_t module_count;
	struct made_node nodes[64];
	size_t node_count;
	char *log[64];
	size_t log_count;
	int log_err;
	bool unprivileged;
	struct expectation expected[64];
	size_t expected_count;
	struct site_place place;
};

/* Reads file @name and makes all below @root. Fails the test on errors. */
struct made_site *made_site_new(const char *directory, const char *name, const char *root);
void made_site_free(struct made_site *made);

#endif /* SITE_FILE_H */

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* <cpu> elements: NUMA nodes, their CPUs, and the make of the CPU. */
#include <errno.h>
#include <string.h>

#include "../util.h"
#include "topofile.h"

static bool check_node(struct topofile *file, const xmlNode *node, long *number)
{
	char text[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "numaid", text) || !topofile_number(text, number))
		return false;
	if (*number >= 0 && *number <= INT32_MAX &&
	    nccl_node_online(file->topo->site, (int)*number))
		return true;
	topofile_add(file, node, "numa", "numaid");
	site_saw(file->all, file->topo->site, "sys/devices/system/node/online");
	if (*number < 0)
		finding_says(file->all, STATE_WARN, "it names no NUMA node: NCCL binds nothing "
			     "for what is below it");
	else
		finding_says(file->all, STATE_FAIL, "this machine has no NUMA node %ld online",
			     *number);
	finding_remedy(file->all, job_user, "name a node that 'numactl --hardware' shows");
	return false;
}

static void check_twice(struct topofile *file, const xmlNode *root, const xmlNode *node)
{
	char text[TOPOFILE_VALUE_LEN], other[TOPOFILE_VALUE_LEN];

	if (!topofile_value(node, "numaid", text))
		return;
	for (const xmlNode *at = root; at != node; at = topofile_next(root, at)) {
		if (!topofile_is(at, "cpu") || !topofile_value(at, "numaid", other) ||
		    strcmp(text, other))
			continue;
		topofile_add(file, node, "duplicate", "numaid");
		finding_says(file->all, STATE_FAIL, "NUMA node %s stands in line %ld already: "
			     "NCCL takes them for two", text, xmlGetLineNo(at));
		finding_remedy(file->all, job_user, "put what is below both into one <cpu>");
		return;
	}
}

static uint32_t word(const struct nccl_mask *mask, size_t i)
{
	return i < mask->count ? mask->words[i] : 0;
}

enum overlap { ALIKE, SOME, NONE };

static enum overlap compare(const struct nccl_mask *a, const struct nccl_mask *b)
{
	bool alike = true, some = false;

	for (size_t i = 0; i < NCCL_MOST_CPU_WORDS; i++) {
		alike &= word(a, i) == word(b, i);
		some |= word(a, i) & word(b, i);
	}
	return alike ? ALIKE : some ? SOME : NONE;
}

static void say_affinity(struct topofile *file, const xmlNode *node, long number,
			 enum overlap overlap)
{
	const struct site *site = file->topo->site;
	char cpus[NCCL_MOST_VALUE + 1];

	topofile_add(file, node, "affinity", "affinity");
	site_saw(file->all, site, "sys/devices/system/node/node%ld/cpumap", number);
	finding_says(file->all, STATE_FAIL, overlap == NONE ?
		     "these are none of NUMA node %ld's CPUs: NCCL binds its threads to another "
		     "node" : "these are not the CPUs of NUMA node %ld", number);
	if (!nccl_node_cpus(site, (int)number, cpus, sizeof(cpus)))
		finding_remedy(file->all, job_user, "affinity=\"%s\", or leave it out: NCCL fills "
			       "it in", cpus);
}

static void check_affinity(struct topofile *file, const xmlNode *node, long number)
{
	char text[TOPOFILE_VALUE_LEN], cpus[NCCL_MOST_VALUE + 1];
	struct nccl_mask said, here;
	int err;

	if (!topofile_value(node, "affinity", text) || !*text)
		return;
	err = nccl_mask_parse(text, &said);
	if (err) {
		topofile_add(file, node, "affinity", "affinity");
		finding_says(file->all, STATE_FAIL, err == -E2BIG ?
			     "it has more than 32 words, of which NCCL reads 32" :
			     "it is no mask such as ffffffff,0000ffff");
		finding_remedy(file->all, job_user, "leave it out: NCCL fills it in");
		return;
	}
	if (nccl_node_cpus(file->topo->site, (int)number, cpus, sizeof(cpus)) ||
	    nccl_mask_parse(cpus, &here))
		return;
	if (compare(&said, &here) != ALIKE)
		say_affinity(file, node, number, compare(&said, &here));
}

static void say_make(struct topofile *file, const xmlNode *node, const char *key, const char *here)
{
	topofile_add(file, node, "cpu-make", key);
	site_saw(file->all, file->topo->site, "proc/cpuinfo");
	finding_says(file->all, STATE_WARN, "this machine's CPU has %s %s: NCCL assumes another "
		     "one's bandwidth", key, here);
	finding_remedy(file->all, job_user, "%s=\"%s\", or leave it out: NCCL fills it in", key,
		       here);
}

static void check_number_of(struct topofile *file, const xmlNode *node, const char *key,
			    unsigned int here, unsigned int other)
{
	char text[TOPOFILE_VALUE_LEN];
	long number;

	if (!topofile_value(node, key, text) || !topofile_number(text, &number) || number == here ||
	    number == other)
		return;
	text_format(text, sizeof(text), "%u", other);
	say_make(file, node, key, text);
}

static void check_make(struct topofile *file, const xmlNode *node)
{
	const struct nccl_cpu *cpu = &file->cpu;
	char text[TOPOFILE_VALUE_LEN];

	if (!cpu->arch[0])
		return;
	if (topofile_value(node, "arch", text) && strcmp(text, cpu->arch)) {
		say_make(file, node, "arch", cpu->arch);
		return;
	}
	if (!cpu->vendor[0])
		return;
	if (topofile_value(node, "vendor", text) && strcmp(text, cpu->vendor)) {
		say_make(file, node, "vendor", cpu->vendor);
		return;
	}
	check_number_of(file, node, "familyid", cpu->family, nccl_family(cpu->family));
	check_number_of(file, node, "modelid", cpu->model, cpu->model);
}

void topofile_cpus(struct topofile *file, const xmlNode *root)
{
	long number;

	for (const xmlNode *at = root; at; at = topofile_next(root, at)) {
		if (!topofile_is(at, "cpu"))
			continue;
		check_twice(file, root, at);
		if (check_node(file, at, &number))
			check_affinity(file, at, number);
		if (!file->strange)
			check_make(file, at);
	}
}

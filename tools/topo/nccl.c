// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "nccl.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define MOST_NODES	1024
#define WORD_DIGITS	8

void nccl_key(const char *pci, char key[VPEER_PCI_LEN])
{
	struct vpeer_pci_address address;

	text_format(key, VPEER_PCI_LEN, "%s", pci);
	if (vpeer_pci_parse(pci, &address))
		return;
	address.devfn = 0;
	vpeer_pci_format(&address, key);
}

double nccl_speed(const char *text)
{
	static const struct {
		const char *text;
		double speed;
	} known[] = {
		{ "2.5 GT/s PCIe", 2.5 }, { "5.0 GT/s PCIe", 5 },   { "8.0 GT/s PCIe", 8 },
		{ "16.0 GT/s PCIe", 16 }, { "32.0 GT/s PCIe", 32 }, { "64.0 GT/s PCIe", 64 },
		{ "2.5 GT/s", 2.5 },	  { "5 GT/s", 5 },	    { "8 GT/s", 8 },
		{ "16 GT/s", 16 },	  { "32 GT/s", 32 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(text, known[i].text, strlen(known[i].text)))
			return known[i].speed;
	return 0;
}

struct nccl_link nccl_link(const struct function *function)
{
	struct nccl_link link = { "", 0 };
	uint64_t width;

	if (!nccl_speed(function->link.max_speed) ||
	    vpeer_parse_u64(function->link.max_width, &width) || !width || width > 32)
		return link;
	text_format(link.speed, sizeof(link.speed), "%s", function->link.max_speed);
	link.width = (unsigned int)width;
	return link;
}

int nccl_link_compare(const struct nccl_link *a, const struct nccl_link *b)
{
	double from = nccl_speed(a->speed) * a->width, to = nccl_speed(b->speed) * b->width;

	return (from > to) - (from < to);
}

/* Of "name<blanks>: value" in @text. */
static const char *value_of(const char *text, const char *name, char *value, size_t size)
{
	const char *line = text;

	while (line) {
		size_t length = strlen(name);

		if (!strncmp(line, name, length) && strchr(" \t:", line[length])) {
			line += strcspn(line, ":\n");
			if (line[0] != ':')
				return NULL;
			line += 1 + (line[1] == ' ');
			text_format(value, size, "%.*s", (int)strcspn(line, "\n"), line);
			return value;
		}
		line = strchr(line, '\n');
		line += !!line;
	}
	return NULL;
}

static bool number_of(const char *text, const char *name, unsigned int *number)
{
	char value[16];
	uint64_t read;

	if (!value_of(text, name, value, sizeof(value)) || vpeer_parse_u64(value, &read) ||
	    read > UINT_MAX)
		return false;
	*number = (unsigned int)read;
	return true;
}

/* Letters, digits and blanks: NCCL undoes no escapes. */
static bool is_plain(const char *text)
{
	while (isalnum((unsigned char)*text) || *text == ' ' || *text == '!')
		text++;
	return !*text;
}

void nccl_cpu_read(struct nccl_cpu *cpu, const struct site *site)
{
	char text[4096], value[64];

	*cpu = (struct nccl_cpu){ 0 };
	if (site_text(site, text, sizeof(text), "proc/cpuinfo"))
		return;
	if (value_of(text, "CPU implementer", value, sizeof(value))) {
		strcpy(cpu->arch, "arm64");
		return;
	}
	if (!value_of(text, "vendor_id", value, sizeof(value)) || !is_plain(value) ||
	    !number_of(text, "cpu family", &cpu->family) ||
	    !number_of(text, "model", &cpu->model))
		return;
	strcpy(cpu->arch, "x86_64");
	text_format(cpu->vendor, sizeof(cpu->vendor), "%s", value);
}

unsigned int nccl_family(unsigned int family)
{
	return family < 15 ? family : 15 + ((family - 15) << 4);
}

int nccl_mask_parse(const char *text, struct nccl_mask *mask)
{
	const char *end = text + strlen(text);

	*mask = (struct nccl_mask){ .count = 0 };
	do {
		const char *word = end;
		char digits[WORD_DIGITS + 1];

		while (word > text && word[-1] != ',')
			word--;
		if (end == word || end - word > WORD_DIGITS ||
		    strspn(word, "0123456789abcdefABCDEF") < (size_t)(end - word))
			return -EINVAL;
		if (mask->count == NCCL_MOST_CPU_WORDS)
			return -E2BIG;
		text_format(digits, sizeof(digits), "%.*s", (int)(end - word), word);
		mask->words[mask->count++] = (uint32_t)strtoul(digits, NULL, 16);
		if (word == text)
			return 0;
		end = word - 1;
	} while (true);
}

int nccl_node_cpus(const struct site *site, int node, char *text, size_t size)
{
	struct nccl_mask mask;
	char map[4096], *at = map;
	int err = site_text(site, map, sizeof(map), "sys/devices/system/node/node%d/cpumap", node);

	if (err)
		return err;
	while (!strncmp(at, "00000000,", WORD_DIGITS + 1))
		at += WORD_DIGITS + 1;
	err = nccl_mask_parse(at, &mask);
	if (!err && strlen(at) >= size)
		err = -E2BIG;
	if (!err)
		text_format(text, size, "%s", at);
	return err;
}

/* The ranges of "0-1,3"; returns how many nodes, and which are first and whether @node is one. */
static int walk_online(const struct site *site, int node, int *first, bool *there)
{
	char text[256], *part, *rest = text;
	int count = 0;

	*first = 0;
	*there = false;
	if (site_text(site, text, sizeof(text), "sys/devices/system/node/online"))
		return -ENOENT;
	while ((part = strsep(&rest, ","))) {
		int from, to, got = sscanf(part, "%d-%d", &from, &to);

		if (got < 1 || from < 0 || from > MOST_NODES)
			continue;
		if (got < 2 || to < from || to > MOST_NODES)
			to = from;
		*first = count ? *first : from;
		*there |= node >= from && node <= to;
		count += to - from + 1;
	}
	return count;
}

bool nccl_node_online(const struct site *site, int node)
{
	bool there;
	int first;

	if (walk_online(site, node, &first, &there) >= 0)
		return there;
	for (size_t i = 0; i < site->function_count; i++)
		there |= site->functions[i].numa_node == node;
	return there || !node;
}

int nccl_nodes_online(const struct site *site, int *first)
{
	bool there;
	int count = walk_online(site, 0, first, &there);

	return count < 1 ? 1 : count;
}

const struct topo_initiator *nccl_device(const struct topo *topo, const struct function *function,
					 size_t *at)
{
	while (*at < topo->initiator_count) {
		const struct topo_initiator *device = &topo->initiators[(*at)++];

		if (device->rdma && !device->soft && device->function == function)
			return device;
	}
	return NULL;
}

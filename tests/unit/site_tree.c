// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "site_tree.h"

#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "util.h"

/* Of the kernel: memory, prefetchable, 64-bit, and not assigned. */
#define FLAGS_MEMORY	0x14220cULL
#define FLAGS_REGISTERS	0x40200ULL
#define FLAGS_NARROW	0x42208ULL
#define FLAG_UNSET	0x20000000ULL

static struct tree_function *find(struct tree *tree, const char *pci)
{
	for (size_t i = 0; i < tree->count; i++)
		if (!strcmp(tree->functions[i].pci, pci))
			return &tree->functions[i];
	return NULL;
}

static struct tree_function *add(struct tree *tree, const char *pci)
{
	struct tree_function *function = &tree->functions[tree->count];

	assert_true(tree->count++ < MOST_FUNCTIONS);
	*function = (struct tree_function){
		.root = "pci0000:00",
		.node = -1,
		.config_bytes = CONFIG_BYTES,
		.mask = 64,
		.space = {
			.payload_cap = 512,
			.payload = 256,
			.read_request = 4096,
			.relaxed = true,
			.acs = NO_ACS,
			.acs_cap = 0x5f,
			.clique = NO_CLIQUE,
			.command = PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER,
		},
	};
	text_format(function->pci, sizeof(function->pci), "%s", pci);
	return function;
}

static uint64_t size_of(const char *text)
{
	uint64_t bytes;

	if (parse_size(text, &bytes))
		fail_msg("'%s' is no size", text);
	return bytes;
}

/* "128G@0x380000000000", "16M@0xfe000000:registers", "16M@0xc0000000:narrow", "128G@none" */
static void take_bar(struct tree_bar *bar, const char *value)
{
	char size[32];
	const char *at = strchr(value, '@');

	if (!at)
		fail_msg("'%s' is no SIZE@ADDRESS", value);
	text_format(size, sizeof(size), "%.*s", (int)(at - value), value);
	bar->size = size_of(size);
	bar->start = strncmp(at + 1, "none", 4) ? strtoull(at + 1, NULL, 0) : 0;
	bar->registers = strstr(at, ":registers");
	bar->narrow = strstr(at, ":narrow");
}

/* "32.0:16" or "32.0:16/64.0:16", what it has and what it could have */
static void take_link(struct tree_function *function, const char *value)
{
	double speed, most;
	int width, widest, got = sscanf(value, "%lf:%d/%lf:%d", &speed, &width, &most, &widest);

	if (got != 2 && got != 4)
		fail_msg("'%s' is no SPEED:WIDTH[/SPEED:WIDTH]", value);
	if (got == 2) {
		most = speed;
		widest = width;
	}
	text_format(function->speed, sizeof(function->speed), "%.1f GT/s PCIe", speed);
	text_format(function->max_speed, sizeof(function->max_speed), "%.1f GT/s PCIe", most);
	text_format(function->width, sizeof(function->width), "%d", width);
	text_format(function->max_width, sizeof(function->max_width), "%d", widest);
}

static unsigned int type_of(const char *value)
{
	static const struct {
		const char *name;
		unsigned int type;
	} types[] = {
		{ "endpoint", 0 },
		{ "root-port", EXPRESS_ROOT_PORT },
		{ "upstream", EXPRESS_UPSTREAM },
		{ "downstream", EXPRESS_DOWNSTREAM },
	};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(types[i].name, value))
			return types[i].type;
	fail_msg("'%s' is no type of a function", value);
	return 0;
}

static bool take_config(struct tree_function *function, const char *key, const char *value)
{
	struct config_space *space = &function->space;
	unsigned int number = (unsigned int)strtoul(value, NULL, 0);

	if (!strcmp(key, "type")) {
		space->plain = !strcmp(value, "pci");
		space->type = space->plain ? 0 : type_of(value);
	} else if (!strcmp(key, "mps")) {
		space->payload = number;
	} else if (!strcmp(key, "mpscap")) {
		space->payload_cap = number;
	} else if (!strcmp(key, "mrrs")) {
		space->read_request = number;
	} else if (!strcmp(key, "ro")) {
		space->relaxed = !strcmp(value, "on");
	} else if (!strcmp(key, "acs")) {
		space->acs = strcmp(value, "none") ? number : NO_ACS;
	} else if (!strcmp(key, "acscap")) {
		space->acs_cap = number;
	} else if (!strcmp(key, "ats")) {
		space->ats = !strcmp(value, "on") ? ON : !strcmp(value, "off") ? OFF : WITHOUT;
	} else if (!strcmp(key, "stu")) {
		space->stu = number;
	} else if (!strcmp(key, "clique")) {
		space->clique = strcmp(value, "none") ? number : NO_CLIQUE;
	} else if (!strcmp(key, "command")) {
		space->command = (uint16_t)number;
	} else if (!strcmp(key, "config")) {
		function->silent = !strcmp(value, "ones");
		function->config_bytes = function->silent ? CONFIG_BYTES : number;
	} else {
		return false;
	}
	return true;
}

static bool take_text(struct tree_function *function, const char *key, const char *value)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
	} texts[] = {
		{ "below", function->below, sizeof(function->below) },
		{ "root", function->root, sizeof(function->root) },
		{ "driver", function->driver, sizeof(function->driver) },
		{ "physfn", function->physfn, sizeof(function->physfn) },
		{ "net", function->net, sizeof(function->net) },
		{ "ib", function->ib, sizeof(function->ib) },
		{ "group", function->group, sizeof(function->group) },
	};

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strcmp(texts[i].key, key))
			continue;
		text_format(texts[i].text, texts[i].size, "%s", strcmp(value, "none") ? value : "");
		return true;
	}
	return false;
}

static void take_word(struct tree_function *function, char *word)
{
	const char *key = word;
	char *value = strchr(word, '=');

	if (!value)
		fail_msg("%s: '%s' is no KEY=VALUE", function->pci, word);
	*value++ = '\0';
	if (take_text(function, key, value) || take_config(function, key, value))
		return;
	if (!strncmp(key, "bar", 3) && key[3] >= '0' && key[3] <= '5')
		take_bar(&function->bars[key[3] - '0'], value);
	else if (!strcmp(key, "vendor"))
		function->space.vendor = (uint16_t)strtoul(value, NULL, 0);
	else if (!strcmp(key, "device"))
		function->space.device = (uint16_t)strtoul(value, NULL, 0);
	else if (!strcmp(key, "class"))
		function->space.class = (uint32_t)strtoul(value, NULL, 0);
	else if (!strcmp(key, "mask"))
		function->mask = (unsigned int)strtoul(value, NULL, 0);
	else if (!strcmp(key, "node"))
		function->node = atoi(value);
	else if (!strcmp(key, "link"))
		take_link(function, value);
	else
		fail_msg("%s: there is no key '%s'", function->pci, key);
}

void tree_take(struct tree *tree, const char *words)
{
	char *copy = xstrdup(words), *rest = copy, *word;
	struct tree_function *function = NULL;

	while ((word = strsep(&rest, " \t"))) {
		if (!*word)
			continue;
		if (function) {
			take_word(function, word);
			continue;
		}
		function = find(tree, word);
		if (!function)
			function = add(tree, word);
	}
	free(copy);
}

void tree_drop(struct tree *tree, const char *pci)
{
	struct tree_function *function = find(tree, pci);

	if (!function)
		fail_msg("there is no %s to leave out", pci);
	*function = tree->functions[--tree->count];
}

/* Below sys. */
static void path_of(const struct tree *tree, const struct tree_function *function, char *path,
		    size_t size)
{
	const struct tree_function *chain[16] = { function };
	size_t depth = 1, used;

	while (chain[depth - 1]->below[0]) {
		chain[depth] = find((struct tree *)tree, chain[depth - 1]->below);
		if (!chain[depth] || depth == ARRAY_SIZE(chain) - 1)
			fail_msg("%s: %s is no bridge", chain[depth - 1]->pci,
				 chain[depth - 1]->below);
		depth++;
	}
	text_format(path, size, "devices/%s", chain[depth - 1]->root);
	while (depth--) {
		used = strlen(path);
		text_format(path + used, size - used, "/%s", chain[depth]->pci);
	}
}

struct part {
	const char *root;
	const char *path;
};

static void put(const struct part *part, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(const struct part *part, const char *name, const char *format, ...)
{
	char path[512], text[1024];
	va_list args;

	text_format(path, sizeof(path), "sys/%s/%s", part->path, name);
	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	fixture_file(part->root, path, text);
}

/* An absolute target below sys: the links of a tree lie at several depths. */
static void put_link(const struct part *part, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put_link(const struct part *part, const char *name, const char *format, ...)
{
	char path[512], below[512], target[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(below, sizeof(below), format, args);
	va_end(args);
	text_format(path, sizeof(path), "sys/%s/%s", part->path, name);
	text_format(target, sizeof(target), "%s/sys/%s", part->root, below);
	fixture_link(part->root, path, target);
}

static void make_resource(const struct part *part, const struct tree_function *function)
{
	char text[1024];
	size_t used = 0;

	for (size_t i = 0; i < ARRAY_SIZE(function->bars); i++) {
		const struct tree_bar *bar = &function->bars[i];
		unsigned long long flags = bar->registers ? FLAGS_REGISTERS :
					   bar->narrow	  ? FLAGS_NARROW :
							    FLAGS_MEMORY;

		if (!bar->size)
			flags = 0;
		else if (!bar->start)
			flags |= FLAG_UNSET;
		text_format(text + used, sizeof(text) - used, "0x%016llx 0x%016llx 0x%016llx\n",
			    bar->start, bar->size ? bar->start + bar->size - 1 : 0, flags);
		used = strlen(text);
	}
	put(part, "resource", "%s", text);
}

static void make_group(const struct part *part, const struct tree_function *function)
{
	struct part groups = { .root = part->root };
	char path[64], number[16];

	if (!function->group[0])
		return;
	text_format(number, sizeof(number), "%.*s", (int)strcspn(function->group, ":"),
		    function->group);
	text_format(path, sizeof(path), "kernel/iommu_groups/%s", number);
	groups.path = path;
	put(&groups, "type", "%s\n", strchr(function->group, ':') + 1);
	text_format(path, sizeof(path), "kernel/iommu_groups/%s/devices", number);
	put_link(&groups, function->pci, "%s", part->path);
	put_link(part, "iommu_group", "kernel/iommu_groups/%s", number);
}

/* A device of a class: its directory, with @name in it, and its link in the class. */
static void make_device(const struct part *part, const char *class, const char *device,
			const char *name, const char *text)
{
	struct part classes = { .root = part->root };
	char path[64], below[128];

	if (!device[0])
		return;
	text_format(path, sizeof(path), "class/%s", class);
	classes.path = path;
	text_format(below, sizeof(below), "%s/%s/%s", class, device, name);
	put(part, below, "%s", text);
	text_format(below, sizeof(below), "%s/%s/device", class, device);
	put_link(part, below, "%s", part->path);
	put_link(&classes, device, "%s/%s/%s", part->path, class, device);
}

static void make_config(const struct part *part, const struct tree_function *function)
{
	uint8_t bytes[CONFIG_BYTES];
	char path[512];

	config_space_make(&function->space, bytes);
	if (function->silent)
		memset(bytes, 0xff, sizeof(bytes));
	text_format(path, sizeof(path), "sys/%s/config", part->path);
	fixture_bytes(part->root, path, bytes, function->config_bytes);
}

static void make_function(const struct tree *tree, const struct tree_function *function,
			  const char *root)
{
	struct part bus = { .root = root, .path = "bus/pci/devices" }, part = { .root = root };
	char path[512];

	path_of(tree, function, path, sizeof(path));
	part.path = path;
	put(&part, "vendor", "0x%04x\n", function->space.vendor);
	put(&part, "device", "0x%04x\n", function->space.device);
	put(&part, "class", "0x%06x\n", function->space.class);
	put(&part, "numa_node", "%d\n", function->node);
	put(&part, "dma_mask_bits", "%u\n", function->mask);
	if (function->speed[0]) {
		put(&part, "current_link_speed", "%s\n", function->speed);
		put(&part, "max_link_speed", "%s\n", function->max_speed);
		put(&part, "current_link_width", "%s\n", function->width);
		put(&part, "max_link_width", "%s\n", function->max_width);
	}
	make_resource(&part, function);
	make_config(&part, function);
	if (function->driver[0])
		put_link(&part, "driver", "bus/pci/drivers/%s", function->driver);
	if (function->physfn[0])
		put_link(&part, "physfn", "bus/pci/devices/%s", function->physfn);
	make_group(&part, function);
	make_device(&part, "net", function->net, "mtu", "4200\n");
	make_device(&part, "infiniband", function->ib, "node_type", "1: CA\n");
	put_link(&bus, function->pci, "%s", path);
}

void tree_make(const struct tree *tree, const char *root)
{
	for (size_t i = 0; i < tree->count; i++)
		make_function(tree, &tree->functions[i], root);
}

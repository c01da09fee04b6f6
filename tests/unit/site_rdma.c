// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "site_rdma.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixture.h"
#include "util.h"

#define GIDS		6
#define LIBRARIES	"usr/lib/x86_64-linux-gnu"
#define COUNTERS	"ports/1/counters/"
#define HW_COUNTERS	"ports/1/hw_counters/"

/* One that is being made. */
struct making {
	const char *root;
	const char *name;
	size_t number;
	char driver[32];
	char netdev[32], mtu[16], oper[16], flags[16];
	char state[16], phys[32], layer[16], rate[16];
	char gids[GIDS][64];
	char soft[32], iwarp[8];
	char uverbs[8], node[8], library[8], provider[16];
	char *paths[32];	/* in the words: PATH=VALUE */
	size_t path_count;
};

void rdma_take(struct made_rdma_list *list, const char *line)
{
	size_t length = strcspn(line, " \t"), used;
	struct made_rdma *device = NULL;

	for (size_t i = 0; i < list->count; i++)
		if (!strncmp(list->devices[i].name, line, length) &&
		    !list->devices[i].name[length])
			device = &list->devices[i];
	if (!device) {
		assert_true(list->count < MOST_RDMA);
		device = &list->devices[list->count++];
		text_format(device->name, sizeof(device->name), "%.*s", (int)length, line);
	}
	used = strlen(device->words);
	text_format(device->words + used, sizeof(device->words) - used, "%s ", line + length);
}

static void take_word(struct making *making, char *word)
{
	const struct {
		const char *key;
		char *text;
		size_t size;
	} texts[] = {
		{ "netdev", making->netdev, sizeof(making->netdev) },
		{ "mtu", making->mtu, sizeof(making->mtu) },
		{ "oper", making->oper, sizeof(making->oper) },
		{ "flags", making->flags, sizeof(making->flags) },
		{ "state", making->state, sizeof(making->state) },
		{ "phys", making->phys, sizeof(making->phys) },
		{ "layer", making->layer, sizeof(making->layer) },
		{ "rate", making->rate, sizeof(making->rate) },
		{ "soft", making->soft, sizeof(making->soft) },
		{ "iwarp", making->iwarp, sizeof(making->iwarp) },
		{ "uverbs", making->uverbs, sizeof(making->uverbs) },
		{ "node", making->node, sizeof(making->node) },
		{ "library", making->library, sizeof(making->library) },
		{ "provider", making->provider, sizeof(making->provider) },
	};
	char *value = strchr(word, '=');

	if (!value)
		fail_msg("ib %s: '%s' is no KEY=VALUE", making->name, word);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		if (strncmp(word, texts[i].key, (size_t)(value - word)) != 0 ||
		    texts[i].key[value - word])
			continue;
		text_format(texts[i].text, texts[i].size, "%s", value + 1);
		return;
	}
	if (!strncmp(word, "gid", 3) && value == word + 4 && word[3] >= '0' &&
	    word[3] < '0' + GIDS) {
		text_format(making->gids[word[3] - '0'], sizeof(making->gids[0]), "%s", value + 1);
		return;
	}
	if (!strchr(word, '/'))
		fail_msg("ib %s: there is no key '%s'", making->name, word);
	assert_true(making->path_count < ARRAY_SIZE(making->paths));
	making->paths[making->path_count++] = word;
}

static void put(const struct making *making, const char *path, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void put(const struct making *making, const char *path, const char *format, ...)
{
	char below[256], text[256];
	va_list args;

	text_format(below, sizeof(below), "sys/class/infiniband/%s/%s", making->name, path);
	va_start(args, format);
	vsnprintf(text, sizeof(text) - 1, format, args);
	va_end(args);
	strcat(text, "\n");
	fixture_file(making->root, below, text);
}

static void put_number(const struct making *making, const char *directory, const char *name,
		       const char *value)
{
	char path[128];

	text_format(path, sizeof(path), "%s%s", directory, name);
	put(making, path, "%s", value);
}

/* "v2:10.0.0.1:eth1" */
static void put_gid(const struct making *making, size_t index, const char *text)
{
	char address[64], mapped[80], path[64], *netdev, *type;
	struct in6_addr bytes;
	uint16_t parts[8];

	text_format(address, sizeof(address), "%s", text);
	type = address;
	netdev = strchr(address, ':');
	assert_non_null(netdev);
	*netdev++ = '\0';
	text_format(mapped, sizeof(mapped), "%s%.*s", strchr(netdev, '-') ? "" : "::ffff:",
		    (int)strcspn(netdev, ":"), netdev);
	netdev = strchr(netdev, ':');
	for (char *at = mapped; *at; at++)
		if (*at == '-')
			*at = ':';
	assert_int_equal(inet_pton(AF_INET6, mapped, &bytes), 1);
	for (size_t i = 0; i < 8; i++)
		parts[i] = (uint16_t)(bytes.s6_addr[2 * i] << 8 | bytes.s6_addr[2 * i + 1]);
	text_format(path, sizeof(path), "ports/1/gids/%zu", index);
	put(making, path, "%04x:%04x:%04x:%04x:%04x:%04x:%04x:%04x", parts[0], parts[1], parts[2],
	    parts[3], parts[4], parts[5], parts[6], parts[7]);
	text_format(path, sizeof(path), "ports/1/gid_attrs/types/%zu", index);
	put(making, path, "%s", strcmp(type, "v2") ? "IB/RoCE v1" : "RoCE v2");
	text_format(path, sizeof(path), "ports/1/gid_attrs/ndevs/%zu", index);
	put(making, path, "%s", netdev ? netdev + 1 : making->netdev);
}

static void make_gids(const struct making *making)
{
	static const char none[] = "0000:0000:0000:0000:0000:0000:0000:0000";
	char path[64];

	for (size_t i = 0; i < GIDS; i++) {
		if (strcmp(making->gids[i], "none") != 0) {
			put_gid(making, i, making->gids[i]);
			continue;
		}
		text_format(path, sizeof(path), "ports/1/gids/%zu", i);
		put(making, path, none);
	}
}

static const char *state_number(const char *state)
{
	return !strcmp(state, "DOWN") ? "1" : !strcmp(state, "INIT") ? "2" :
	       !strcmp(state, "ARMED") ? "3" : "4";
}

static void make_port(const struct making *making)
{
	static const char *const errors[] = {
		"symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors",
		"port_xmit_discards", "local_link_integrity_errors",
	};
	static const char *const hw_errors[] = {
		"out_of_sequence", "packet_seq_err", "implied_nak_seq_err",
		"local_ack_timeout_err", "duplicate_request", "roce_adp_retrans",
		"rx_icrc_encapsulated", "rnr_nak_retry_err", "out_of_buffer", "np_cnp_sent",
		"rp_cnp_handled", "np_ecn_marked_roce_packets",
	};
	bool ethernet = !strcmp(making->layer, "Ethernet");

	put(making, "node_type", making->iwarp[0] ? "4: RNIC" : "1: CA");
	if (!making->soft[0])
		put(making, "fw_ver", "28.43.1014");
	put(making, "ports/1/state", "%s: %s", state_number(making->state), making->state);
	put(making, "ports/1/phys_state", "%s", making->phys);
	put(making, "ports/1/link_layer", "%s", making->layer);
	put(making, "ports/1/rate", "%s Gb/sec (4X)", making->rate);
	put(making, "ports/1/lid", ethernet ? "0x0" : "0x2a");
	put(making, "ports/1/sm_lid", ethernet ? "0x0" : "0x1");
	put(making, "ports/1/pkeys/0", "0xffff");
	for (size_t i = 0; i < ARRAY_SIZE(errors); i++)
		put_number(making, COUNTERS, errors[i], "0");
	for (size_t i = 0; i < ARRAY_SIZE(hw_errors); i++)
		put_number(making, HW_COUNTERS, hw_errors[i], "0");
	put_number(making, COUNTERS, "port_xmit_packets", "1000000000");
	put_number(making, COUNTERS, "port_rcv_packets", "1000000000");
	if (ethernet)
		make_gids(making);
}

static void make_netdev(const struct making *making)
{
	const struct {
		const char *name, *value;
	} files[] = {
		{ "mtu", making->mtu }, { "operstate", making->oper }, { "flags", making->flags },
	};
	char path[128], text[32];

	for (size_t i = 0; making->netdev[0] && i < ARRAY_SIZE(files); i++) {
		text_format(path, sizeof(path), "sys/class/net/%s/%s", making->netdev,
			    files[i].name);
		text_format(text, sizeof(text), "%s\n", files[i].value);
		fixture_file(making->root, path, text);
	}
}

static void make_node(const struct making *making)
{
	char path[128], text[64];

	fixture_file(making->root, "sys/module/ib_core/initstate", "live\n");
	fixture_directory(making->root, "sys/module/ib_core/holders");
	if (!strcmp(making->uverbs, "none"))
		return;
	fixture_file(making->root, "sys/module/ib_uverbs/initstate", "live\n");
	fixture_directory(making->root, "sys/module/ib_uverbs/holders");
	fixture_file(making->root, "dev/infiniband/rdma_cm", "");
	text_format(path, sizeof(path), "sys/class/infiniband_verbs/uverbs%zu/ibdev",
		    making->number);
	text_format(text, sizeof(text), "%s\n", making->name);
	fixture_file(making->root, path, text);
	text_format(path, sizeof(path), "sys/class/infiniband_verbs/uverbs%zu/dev",
		    making->number);
	text_format(text, sizeof(text), "231:%zu\n", 192 + making->number);
	fixture_file(making->root, path, text);
	text_format(path, sizeof(path), "dev/infiniband/uverbs%zu", making->number);
	if (strcmp(making->node, "none") != 0)
		fixture_file(making->root, path, "");
}

static const char *provider_of(const char *driver)
{
	static const char *const pairs[][2] = {
		{ "mlx5_core", "mlx5" }, { "bnxt_en", "bnxt_re" }, { "ice", "irdma" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++)
		if (!strcmp(pairs[i][0], driver))
			return pairs[i][1];
	return driver;
}

static void make_library(const struct making *making)
{
	const char *provider = provider_of(making->driver);
	char path[128], text[64];

	if (strcmp(making->library, "none") != 0)
		fixture_file(making->root, LIBRARIES "/libibverbs.so.1", "");
	if (!strcmp(making->provider, "none"))
		return;
	text_format(path, sizeof(path), LIBRARIES "/libibverbs/lib%s-rdmav34.so", provider);
	fixture_file(making->root, path, "");
	text_format(path, sizeof(path), "etc/libibverbs.d/%s.driver", provider);
	text_format(text, sizeof(text), "driver %s\n", provider);
	fixture_file(making->root, path, text);
}

static void make_paths(const struct making *making)
{
	for (size_t i = 0; i < making->path_count; i++) {
		char *value = strchr(making->paths[i], '=');

		*value++ = '\0';
		put(making, making->paths[i], "%s", value);
	}
}

static void make_device(const struct made_rdma_list *list, const char *root, size_t number,
			const char *name, const struct tree_function *function)
{
	struct making making = {
		.root = root, .name = name, .number = number, .mtu = "4200", .oper = "up",
		.flags = "0x1003", .state = "ACTIVE", .phys = "5: LinkUp", .layer = "Ethernet",
		.rate = "400",
	};
	char words[sizeof(list->devices[0].words)] = "", *rest = words, *word;

	text_format(making.driver, sizeof(making.driver), "%s", function ? function->driver : "");
	text_format(making.netdev, sizeof(making.netdev), "%s", function ? function->net : "");
	text_format(making.gids[0], sizeof(making.gids[0]), "v1:fe80--%zx", number + 1);
	text_format(making.gids[1], sizeof(making.gids[1]), "v2:fe80--%zx", number + 1);
	text_format(making.gids[2], sizeof(making.gids[2]), "v1:10.0.0.%zu", number + 1);
	text_format(making.gids[3], sizeof(making.gids[3]), "v2:10.0.0.%zu", number + 1);
	strcpy(making.gids[4], "none");
	strcpy(making.gids[5], "none");
	for (size_t i = 0; i < list->count; i++)
		if (!strcmp(list->devices[i].name, name))
			strcpy(words, list->devices[i].words);
	while ((word = strsep(&rest, " \t")))
		if (*word)
			take_word(&making, word);
	if (making.soft[0]) {
		strcpy(making.driver, making.iwarp[0] ? "siw" : "rxe");
		strcpy(making.netdev, making.soft);
		put(&making, "parent", "%s", making.soft);
	}
	make_port(&making);
	make_netdev(&making);
	make_node(&making);
	make_library(&making);
	make_paths(&making);
}

static const struct tree_function *function_with(const struct tree *tree, const char *name)
{
	for (size_t i = 0; i < tree->count; i++)
		if (!strcmp(tree->functions[i].ib, name))
			return &tree->functions[i];
	return NULL;
}

void rdma_make(const struct made_rdma_list *list, const struct tree *tree, const char *root)
{
	size_t number = 0;

	for (size_t i = 0; i < tree->count; i++)
		if (tree->functions[i].ib[0])
			make_device(list, root, number++, tree->functions[i].ib,
				    &tree->functions[i]);
	for (size_t i = 0; i < list->count; i++)
		if (!function_with(tree, list->devices[i].name))
			make_device(list, root, number++, list->devices[i].name, NULL);
}

static void put_once(const char *root, const char *path, const char *text)
{
	char full[512];

	text_format(full, sizeof(full), "%s/%s", root, path);
	if (access(full, F_OK))
		fixture_file(root, path, text);
}

void nvidia_make(const struct tree *tree, const char *root)
{
	char path[128];

	for (size_t i = 0; i < tree->count; i++) {
		if (strcmp(tree->functions[i].driver, "nvidia") != 0)
			continue;
		put_once(root, "proc/driver/nvidia/version",
			 "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.133.20  "
			 "Release Build  (dvs-builder@x)  Sun Mar 30 20:14:23 UTC 2025\n"
			 "GCC version:  gcc version 14.2.0 (Debian 14.2.0-19)\n");
		put_once(root, "proc/driver/nvidia/params",
			 "ModifyDeviceFiles: 1\nDmaRemapPeerMmio: 1\n"
			 "GrdmaPciTopoCheckOverride: 0\nRegistryDwords: \"\"\n");
		put_once(root, "sys/module/nvidia/version", "570.133.20\n");
		text_format(path, sizeof(path), "proc/driver/nvidia/gpus/%s/information",
			    tree->functions[i].pci);
		put_once(root, path, "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 164\n"
			 "GPU Firmware: \t 570.133.20\nGPU Excluded:\t No\n");
	}
}

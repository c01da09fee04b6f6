// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/pci_regs.h>
#include <string.h>
#include <unistd.h>

#include "../util.h"

#define MOST_CAPABILITIES	512	/* against lists that lead in a circle */

const struct acs_bit acs_bits[ACS_BITS] = {
	{ "SrcValid", PCI_ACS_SV },	{ "TransBlk", PCI_ACS_TB },
	{ "ReqRedir", PCI_ACS_RR },	{ "CmpltRedir", PCI_ACS_CR },
	{ "UpstreamFwd", PCI_ACS_UF },	{ "EgressCtrl", PCI_ACS_EC },
	{ "DirectTrans", PCI_ACS_DT },
};

int config_read(struct config *config, const char *sysfs, const char *pci)
{
	char path[PATH_MAX];
	ssize_t got;
	int fd;

	config->length = 0;
	text_format(path, sizeof(path), "%s/bus/pci/devices/%s/config", sysfs, pci);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	while (config->length < CONFIG_BYTES) {
		got = read(fd, config->bytes + config->length, CONFIG_BYTES - config->length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		config->length += (size_t)got;
	}
	close(fd);
	return config->length < CONFIG_HEADER ? -EIO : 0;
}

static uint16_t word(const struct config *config, size_t at)
{
	return at + 2 > config->length ?
		       0 : (uint16_t)(config->bytes[at] | config->bytes[at + 1] << 8);
}

static uint32_t dword(const struct config *config, size_t at)
{
	return word(config, at) | (uint32_t)word(config, at + 2) << 16;
}

static bool is_any(const struct config *config, size_t at)
{
	(void)config;
	(void)at;
	return true;
}

/* Where capability @id is, the first that @is, 0 if it is not there. */
static size_t find_plain(const struct config *config, unsigned int id,
			 bool (*is)(const struct config *config, size_t at))
{
	size_t at = config->bytes[PCI_CAPABILITY_LIST] & ~3U;

	if (!(word(config, PCI_STATUS) & PCI_STATUS_CAP_LIST))
		return 0;
	for (int i = 0; i < MOST_CAPABILITIES && at >= CONFIG_HEADER; i++) {
		if (config->bytes[at + PCI_CAP_LIST_ID] == id && is(config, at))
			return at;
		at = config->bytes[at + PCI_CAP_LIST_NEXT] & ~3U;
	}
	return 0;
}

static size_t find_extended(const struct config *config, unsigned int id)
{
	size_t at = CONFIG_PLAIN;

	for (int i = 0; i < MOST_CAPABILITIES && at >= CONFIG_PLAIN; i++) {
		uint32_t header = dword(config, at);

		if (!header || header == UINT32_MAX)
			return 0;
		if (PCI_EXT_CAP_ID(header) == id)
			return at;
		at = PCI_EXT_CAP_NEXT(header);
	}
	return 0;
}

/* A VF's vendor always reads as ones. */
bool config_is_silent(const struct config *config)
{
	return config->length && dword(config, PCI_COMMAND) == UINT32_MAX;
}

static enum presence plain(const struct config *config, unsigned int id, size_t *at)
{
	if (config->length < CONFIG_PLAIN || config_is_silent(config))
		return NOT_READ;
	*at = find_plain(config, id, is_any);
	return *at ? PRESENT : ABSENT;
}

static enum presence extended(const struct config *config, unsigned int id, size_t *at)
{
	enum presence express = plain(config, PCI_CAP_ID_EXP, at);

	if (express != PRESENT)
		return express;
	if (config->length <= CONFIG_PLAIN)
		return NOT_READ;
	*at = find_extended(config, id);
	return *at ? PRESENT : ABSENT;
}

void config_express(const struct config *config, struct express *express)
{
	uint16_t control;
	size_t at = 0;

	*express = (struct express){ .presence = plain(config, PCI_CAP_ID_EXP, &at) };
	if (express->presence != PRESENT)
		return;
	control = word(config, at + PCI_EXP_DEVCTL);
	express->type = (word(config, at + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4;
	express->payload_cap = 128U << (dword(config, at + PCI_EXP_DEVCAP) &
					PCI_EXP_DEVCAP_PAYLOAD);
	express->payload = 128U << ((control & PCI_EXP_DEVCTL_PAYLOAD) >> 5);
	express->read_request = 128U << ((control & PCI_EXP_DEVCTL_READRQ) >> 12);
	express->relaxed_ordering = control & PCI_EXP_DEVCTL_RELAX_EN;
	express->ext_tag = control & PCI_EXP_DEVCTL_EXT_TAG;
}

void config_ats(const struct config *config, struct ats *ats)
{
	uint16_t control;
	size_t at = 0;

	*ats = (struct ats){ .presence = extended(config, PCI_EXT_CAP_ID_ATS, &at) };
	if (ats->presence != PRESENT)
		return;
	control = word(config, at + PCI_ATS_CTRL);
	ats->queue_depth = PCI_ATS_CAP_QDEP(word(config, at + PCI_ATS_CAP));
	ats->enable = control & PCI_ATS_CTRL_ENABLE;
	ats->stu = PCI_ATS_CTRL_STU(control);
}

void config_acs(const struct config *config, struct acs *acs)
{
	size_t at = 0;

	*acs = (struct acs){ .presence = extended(config, PCI_EXT_CAP_ID_ACS, &at) };
	if (acs->presence != PRESENT)
		return;
	acs->cap = word(config, at + PCI_ACS_CAP);
	acs->ctl = word(config, at + PCI_ACS_CTRL);
}

/* After the length: "P2P", then a word with the version in bits 2 to 0, the id in 6 to 3. */
#define CLIQUE_SIGNATURE	3
#define CLIQUE_VALUE		6
#define CLIQUE_END		8

static bool is_clique(const struct config *config, size_t at)
{
	return at + CLIQUE_END <= CONFIG_PLAIN &&
	       !memcmp(config->bytes + at + CLIQUE_SIGNATURE, "P2P", 3);
}

void config_clique(const struct config *config, struct clique *clique)
{
	uint16_t value;
	size_t at = 0;

	*clique = (struct clique){ .presence = NOT_READ };
	if (config->length < CONFIG_PLAIN || config_is_silent(config))
		return;
	at = find_plain(config, PCI_CAP_ID_VNDR, is_clique);
	clique->presence = at ? PRESENT : ABSENT;
	if (!at)
		return;
	value = word(config, at + CLIQUE_VALUE);
	clique->version = value & 7;
	clique->id = value >> 3 & 15;
}

uint16_t config_command(const struct config *config)
{
	return word(config, PCI_COMMAND);
}

const char *config_missing(const struct config *config)
{
	if (!config->length)
		return "the file cannot be read";
	if (config_is_silent(config))
		return "the function does not answer: it sleeps (D3cold) or is gone";
	if (config->length < CONFIG_PLAIN)
		return "needs root: others see the first 64 bytes only";
	return "the kernel shows 256 bytes only, without extended capabilities";
}

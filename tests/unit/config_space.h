/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Configuration space that tests make up. */
#ifndef CONFIG_SPACE_H
#define CONFIG_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "pci/config.h"

#define NO_ACS		UINT32_MAX
#define NO_CLIQUE	UINT32_MAX

enum capability {
	WITHOUT,
	OFF,
	ON,
};

struct config_space {
	unsigned int type;		/* enum express_type, 0 of an endpoint */
	bool plain;			/* without PCI Express */
	unsigned int payload_cap, payload, read_request;	/* bytes */
	bool relaxed;
	uint32_t acs_cap, acs;		/* ACSCtl; NO_ACS: without that capability */
	enum capability ats;
	unsigned int stu;
	uint32_t clique;		/* of NVIDIA's P2P capability, NO_CLIQUE: without it */
	uint16_t vendor, device, command;
	uint32_t class;
};

/* 4 KiB of it. */
void config_space_make(const struct config_space *space, uint8_t bytes[CONFIG_BYTES]);

#endif /* CONFIG_SPACE_H */

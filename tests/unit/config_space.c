// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "config_space.h"

#include <linux/pci_regs.h>
#include <string.h>

#define AT_POWER	0x40
#define AT_EXPRESS	0x60
#define AT_CLIQUE	0xc8
#define AT_ERRORS	0x100
#define AT_ACS		0x140
#define AT_ATS		0x180

static void put_word(uint8_t *bytes, size_t at, unsigned int value)
{
	bytes[at] = value & 0xff;
	bytes[at + 1] = value >> 8 & 0xff;
}

static void put_extended(uint8_t *bytes, size_t at, unsigned int id, size_t next)
{
	put_word(bytes, at, id);
	put_word(bytes, at + 2, 1 | (unsigned int)next << 4);
}

static unsigned int log2_of(unsigned int bytes)
{
	unsigned int log = 0;

	while (128U << log < bytes)
		log++;
	return log;
}

static void put_express(const struct config_space *space, uint8_t *bytes)
{
	bytes[AT_POWER + PCI_CAP_LIST_NEXT] = AT_EXPRESS;
	bytes[AT_EXPRESS] = PCI_CAP_ID_EXP;
	put_word(bytes, AT_EXPRESS + PCI_EXP_FLAGS, space->type << 4 | 2);
	bytes[AT_EXPRESS + PCI_EXP_DEVCAP] = (uint8_t)log2_of(space->payload_cap);
	put_word(bytes, AT_EXPRESS + PCI_EXP_DEVCTL,
		 (space->relaxed ? PCI_EXP_DEVCTL_RELAX_EN : 0) |
		 log2_of(space->payload) << 5 | log2_of(space->read_request) << 12);
}

/* Length 8, then "P2P", version 0 and the id in bits 22 to 19 of the last word. */
static void put_clique(const struct config_space *space, uint8_t *bytes)
{
	uint8_t *last = bytes + (space->plain ? AT_POWER : AT_EXPRESS);

	last[PCI_CAP_LIST_NEXT] = AT_CLIQUE;
	bytes[AT_CLIQUE] = PCI_CAP_ID_VNDR;
	bytes[AT_CLIQUE + 2] = 8;
	memcpy(bytes + AT_CLIQUE + 3, "P2P", 3);
	put_word(bytes, AT_CLIQUE + 6, space->clique << 3);
}

static void put_access_control(const struct config_space *space, uint8_t *bytes, size_t next)
{
	bool there = space->acs != NO_ACS;

	put_extended(bytes, AT_ACS, there ? PCI_EXT_CAP_ID_ACS : PCI_EXT_CAP_ID_DSN, next);
	if (!there)
		return;
	put_word(bytes, AT_ACS + PCI_ACS_CAP, space->acs_cap);
	put_word(bytes, AT_ACS + PCI_ACS_CTRL, space->acs);
}

void config_space_make(const struct config_space *space, uint8_t bytes[CONFIG_BYTES])
{
	size_t ats = space->ats == WITHOUT ? 0 : AT_ATS;

	memset(bytes, 0, CONFIG_BYTES);
	put_word(bytes, PCI_VENDOR_ID, space->vendor);
	put_word(bytes, PCI_DEVICE_ID, space->device);
	put_word(bytes, PCI_COMMAND, space->command);
	bytes[PCI_STATUS] = PCI_STATUS_CAP_LIST;
	bytes[PCI_CLASS_PROG] = space->class & 0xff;
	put_word(bytes, PCI_CLASS_DEVICE, space->class >> 8);
	bytes[PCI_CAPABILITY_LIST] = AT_POWER;
	bytes[AT_POWER] = PCI_CAP_ID_PM;
	if (!space->plain)
		put_express(space, bytes);
	if (space->clique != NO_CLIQUE)
		put_clique(space, bytes);
	if (space->plain)
		return;
	put_extended(bytes, AT_ERRORS, PCI_EXT_CAP_ID_ERR, AT_ACS);
	put_access_control(space, bytes, ats);
	if (!ats)
		return;
	put_extended(bytes, AT_ATS, PCI_EXT_CAP_ID_ATS, 0);
	put_word(bytes, AT_ATS + PCI_ATS_CTRL, space->stu |
		 (space->ats == ON ? PCI_ATS_CTRL_ENABLE : 0));
}

// SPDX-License-Identifier: GPL-2.0-only
#include <assert.h>
#include <linux/pci_regs.h>
#include <string.h>

#include "config.h"

#define FIRST_CAPABILITY	0x40
#define FIRST_EXTENDED		0x100
#define EXPRESS_SIZE		0x3c
/* Of PCI_EXP_DEVCAP and PCI_EXP_LNKCAP, which old headers do not name. */
#define PAYLOAD_256		1
#define ASPM_OPTIONAL		(1 << 22)

#define MSIX_ENTRY		16
#define PENDING_ALIGN		0x800

static void put16(uint8_t *at, uint16_t value)
{
	at[0] = (uint8_t)value;
	at[1] = (uint8_t)(value >> 8);
}

static void put32(uint8_t *at, uint32_t value)
{
	put16(at, (uint16_t)value);
	put16(at + 2, (uint16_t)(value >> 16));
}

uint16_t config_u16(const struct config *config, unsigned int offset)
{
	return (uint16_t)(config->byte[offset] | config->byte[offset + 1] << 8);
}

uint32_t config_u32(const struct config *config, unsigned int offset)
{
	return config_u16(config, offset) | (uint32_t)config_u16(config, offset + 2) << 16;
}

void config_begin(struct config *config, uint16_t vendor, uint16_t device, uint32_t class)
{
	*config = (struct config){ .next = FIRST_CAPABILITY, .next_extended = FIRST_EXTENDED };
	put16(config->byte + PCI_VENDOR_ID, vendor);
	put16(config->byte + PCI_DEVICE_ID, device);
	put32(config->byte + PCI_CLASS_REVISION, class << 8 | 1);
	put16(config->byte + PCI_SUBSYSTEM_VENDOR_ID, vendor);
	put16(config->byte + PCI_SUBSYSTEM_ID, device);
	put16(config->writable + PCI_COMMAND,
	      PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_PARITY | PCI_COMMAND_SERR |
	      PCI_COMMAND_INTX_DISABLE);
	config->writable[PCI_CACHE_LINE_SIZE] = 0xff;
	config->writable[PCI_INTERRUPT_LINE] = 0xff;
}

void config_bar(struct config *config, unsigned int bar, uint64_t size, bool is_64bit,
		bool prefetchable)
{
	unsigned int at = PCI_BASE_ADDRESS_0 + 4 * bar;
	uint64_t mask = ~(size - 1) & ~(uint64_t)0xf;

	put32(config->byte + at, (is_64bit ? PCI_BASE_ADDRESS_MEM_TYPE_64 : 0) |
	      (prefetchable ? PCI_BASE_ADDRESS_MEM_PREFETCH : 0));
	put32(config->writable + at, (uint32_t)mask);
	if (is_64bit)
		put32(config->writable + at + 4, (uint32_t)(mask >> 32));
}

static unsigned int add_capability(struct config *config, uint8_t id, unsigned int size)
{
	unsigned int at = config->next;

	assert(at + size <= FIRST_EXTENDED);
	config->byte[config->last ? config->last + PCI_CAP_LIST_NEXT : PCI_CAPABILITY_LIST] =
		(uint8_t)at;
	config->byte[PCI_STATUS] |= PCI_STATUS_CAP_LIST;
	config->byte[at] = id;
	config->last = at;
	config->next = (at + size + 3) & ~3u;
	return at;
}

static unsigned int add_extended(struct config *config, uint16_t id, unsigned int version,
				 unsigned int size)
{
	unsigned int at = config->next_extended;

	assert(at + size <= CONFIG_SIZE);
	if (config->last_extended)
		put16(config->byte + config->last_extended + 2,
		      (uint16_t)(config_u16(config, config->last_extended + 2) | at << 4));
	put32(config->byte + at, id | version << 16);
	config->last_extended = at;
	config->next_extended = (at + size + 3) & ~3u;
	return at;
}

void config_express(struct config *config)
{
	unsigned int at = add_capability(config, PCI_CAP_ID_EXP, EXPRESS_SIZE);
	uint8_t *byte = config->byte + at, *writable = config->writable + at;

	put16(byte + PCI_EXP_FLAGS, 2 | PCI_EXP_TYPE_ENDPOINT << 4);
	put32(byte + PCI_EXP_DEVCAP, PAYLOAD_256 | PCI_EXP_DEVCAP_RBER | PCI_EXP_DEVCAP_FLR);
	put16(byte + PCI_EXP_DEVCTL,
	      PCI_EXP_DEVCTL_RELAX_EN | PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B);
	put16(writable + PCI_EXP_DEVCTL, 0x7fff);
	put32(byte + PCI_EXP_LNKCAP, PCI_EXP_LNKCAP_SLS_8_0GB | 16 << 4 | ASPM_OPTIONAL);
	put16(writable + PCI_EXP_LNKCTL,
	      PCI_EXP_LNKCTL_ASPMC | PCI_EXP_LNKCTL_RCB | PCI_EXP_LNKCTL_CCC);
	put16(byte + PCI_EXP_LNKSTA, PCI_EXP_LNKSTA_CLS_8_0GB | 16 << PCI_EXP_LNKSTA_NLW_SHIFT);
	put32(byte + PCI_EXP_DEVCAP2, PCI_EXP_DEVCAP2_COMP_TMOUT_DIS);
	put16(writable + PCI_EXP_DEVCTL2,
	      PCI_EXP_DEVCTL2_COMP_TMOUT_DIS | PCI_EXP_DEVCTL2_ATOMIC_REQ |
	      PCI_EXP_DEVCTL2_COMP_TIMEOUT);
	put32(byte + PCI_EXP_LNKCAP2, PCI_EXP_LNKCAP2_SLS_2_5GB | PCI_EXP_LNKCAP2_SLS_5_0GB |
	      PCI_EXP_LNKCAP2_SLS_8_0GB);
	put16(byte + PCI_EXP_LNKCTL2, PCI_EXP_LNKCTL2_TLS_8_0GT);
}

void config_msix(struct config *config, unsigned int vectors, unsigned int bar)
{
	unsigned int at = add_capability(config, PCI_CAP_ID_MSIX, PCI_CAP_MSIX_SIZEOF);
	unsigned int pending = (vectors * MSIX_ENTRY + PENDING_ALIGN - 1) & ~(PENDING_ALIGN - 1u);

	put16(config->byte + at + PCI_MSIX_FLAGS, (uint16_t)(vectors - 1));
	put16(config->writable + at + PCI_MSIX_FLAGS,
	      PCI_MSIX_FLAGS_ENABLE | PCI_MSIX_FLAGS_MASKALL);
	put32(config->byte + at + PCI_MSIX_TABLE, bar);
	put32(config->byte + at + PCI_MSIX_PBA, pending | bar);
	config->msix = at;
}

void config_ats(struct config *config)
{
	unsigned int at = add_extended(config, PCI_EXT_CAP_ID_ATS, 1, PCI_EXT_CAP_ATS_SIZEOF);

	put16(config->byte + at + PCI_ATS_CAP, PCI_ATS_CAP_PAGE_ALIGNED);
	put16(config->writable + at + PCI_ATS_CTRL, PCI_ATS_CTRL_ENABLE | PCI_ATS_CTRL_STU(0x1f));
	config->ats = at;
}

void config_vendor(struct config *config, const void *data, size_t length)
{
	unsigned int at = add_capability(config, PCI_CAP_ID_VNDR, (unsigned int)length + 3);

	config->byte[at + 2] = (uint8_t)(length + 3);
	memcpy(config->byte + at + 3, data, length);
}

void config_write(struct config *config, unsigned int offset, const void *data, size_t length)
{
	const uint8_t *from = data;

	for (size_t i = 0; i < length; i++) {
		uint8_t mask = config->writable[offset + i];

		config->byte[offset + i] =
			(uint8_t)((config->byte[offset + i] & ~mask) | (from[i] & mask));
	}
}

void config_read(const struct config *config, unsigned int offset, void *data, size_t length)
{
	memcpy(data, config->byte + offset, length);
}

bool config_memory_enabled(const struct config *config)
{
	return config->byte[PCI_COMMAND] & PCI_COMMAND_MEMORY;
}

bool config_bus_master(const struct config *config)
{
	return config->byte[PCI_COMMAND] & PCI_COMMAND_MASTER;
}

bool config_ats_enabled(const struct config *config)
{
	return config->ats && config_u16(config, config->ats + PCI_ATS_CTRL) & PCI_ATS_CTRL_ENABLE;
}

void config_reset(struct config *config)
{
	unsigned int express = config->byte[PCI_CAPABILITY_LIST];

	for (unsigned int i = 0; i < CONFIG_SIZE; i++)
		config->byte[i] &= (uint8_t)~config->writable[i];
	while (express && config->byte[express] != PCI_CAP_ID_EXP)
		express = config->byte[express + PCI_CAP_LIST_NEXT];
	if (express)
		put16(config->byte + express + PCI_EXP_DEVCTL, PCI_EXP_DEVCTL_RELAX_EN |
		      PCI_EXP_DEVCTL_NOSNOOP_EN | PCI_EXP_DEVCTL_READRQ_512B);
}

/* SPDX-License-Identifier: GPL-2.0-only */
/* Configuration space of a function: capabilities are added one by one, each with what may be written. */
#ifndef SIM_CONFIG_H
#define SIM_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONFIG_SIZE	4096

struct config {
	uint8_t byte[CONFIG_SIZE];
	uint8_t writable[CONFIG_SIZE];	/* bits */
	unsigned int last, next;	/* capability below 0x100, and where the next one goes */
	unsigned int last_extended, next_extended;
	unsigned int ats, msix;		/* offsets, 0: none */
};

void config_begin(struct config *config, uint16_t vendor, uint16_t device, uint32_t class);
void config_bar(struct config *config, unsigned int bar, uint64_t size, bool is_64bit,
		bool prefetchable);
void config_express(struct config *config);	/* version 2 endpoint, with function-level reset */
void config_msix(struct config *config, unsigned int vectors, unsigned int bar);
void config_ats(struct config *config);
/* Vendor-specific, in the lower 256 bytes: LENGTH bytes after its three of head. */
void config_vendor(struct config *config, const void *data, size_t length);

uint16_t config_u16(const struct config *config, unsigned int offset);
uint32_t config_u32(const struct config *config, unsigned int offset);
void config_write(struct config *config, unsigned int offset, const void *data, size_t length);
void config_read(const struct config *config, unsigned int offset, void *data, size_t length);

bool config_memory_enabled(const struct config *config);
bool config_bus_master(const struct config *config);
bool config_ats_enabled(const struct config *config);
void config_reset(struct config *config);	/* what was written is forgotten */

#endif

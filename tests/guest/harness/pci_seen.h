/* SPDX-License-Identifier: GPL-2.0-only */
/* PCI functions as sysfs shows them to root. */
#ifndef HARNESS_PCI_SEEN_H
#define HARNESS_PCI_SEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PCI_SEEN_BRIDGES	16

struct pci_seen {
	char pci[16];
	uint32_t domain;
	uint8_t bus;
	uint8_t devfn;
	char driver[64];		/* "" for none */
	char iommu[32];			/* the type of its group; "" for none */
	char pf[16];			/* of a VF; else "" */
	char bridges[PCI_SEEN_BRIDGES][16];	/* the nearest first */
	unsigned int bridge_count;
	char root[16];			/* "pci0000:00" */
	uint8_t config[4096];
	size_t config_size;
};

void pci_seen_read(struct pci_seen *seen, const char *pci);

/* An attribute of the function's directory. */
uint64_t pci_seen_u64(const struct pci_seen *seen, const char *attribute);

uint16_t pci_seen_u16(const struct pci_seen *seen, size_t at);
uint32_t pci_seen_u32(const struct pci_seen *seen, size_t at);

/* Where a capability is, 0 for nowhere; of the first kind, the next one after @after, or the first. */
size_t pci_seen_capability(const struct pci_seen *seen, uint8_t id, size_t after);
size_t pci_seen_extended(const struct pci_seen *seen, uint16_t id);

/* Does it do DMA by an address that the kernel gives? */
bool pci_seen_does_dma(const struct pci_seen *seen);
bool pci_seen_translated(const struct pci_seen *seen);

/* Start of a BAR for the CPU, and as its registers have it. */
uint64_t pci_seen_bar(const struct pci_seen *seen, unsigned int bar);
uint64_t pci_seen_bar_register(const struct pci_seen *seen, unsigned int bar);

/* Calls @visit for every function of the machine, in the order of their addresses. */
void pci_seen_each(void (*visit)(const char *pci, void *context), void *context);

#endif /* HARNESS_PCI_SEEN_H */

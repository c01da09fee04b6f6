// SPDX-License-Identifier: GPL-2.0-only
/*
 * Does the VMM map a BAR into the guest, or trap each access to it? What it
 * traps it has not mapped, for this guest's CPUs or for other devices: their
 * DMA to it fails. Such a BAR is also a thousand times slower, and instructions
 * that the VMM cannot emulate kill the guest.
 */
#include <linux/io.h>
#include <linux/pci.h>
#include <linux/timex.h>
#include <asm/cpufeature.h>
#include <asm/tsc.h>

#include "vpeer.h"

/* The shortest of them is not disturbed by interrupts or a vCPU's absence. */
#define VPEER_ACCESS_TRIES	16

/*
 * A read across PCIe takes 0.5 to 3 us. One that is trapped takes an exit to
 * the VMM and its own read, one of configuration space up to two such exits.
 */
#define VPEER_TRAP_NS		4000
#define VPEER_TRAP_SHARE	4

static u64 vpeer_cycles_to_ns(u64 cycles)
{
	return tsc_khz ? div64_u64(cycles * NSEC_PER_MSEC, tsc_khz) : 0;
}

static cycles_t vpeer_clock(void)
{
	cycles_t now;

	/* Reads before it have come to their end, those after it not begun. */
	mb();
	now = get_cycles();
	/* As above. */
	mb();
	return now;
}

static u64 vpeer_memory_cycles(const void __iomem *memory)
{
	u64 least = U64_MAX;
	cycles_t start;
	int i;

	for (i = 0; i < VPEER_ACCESS_TRIES; i++) {
		start = vpeer_clock();
		readl(memory);
		least = min_t(u64, least, vpeer_clock() - start);
	}
	return least;
}

/* Configuration space is emulated for every guest. */
static u64 vpeer_config_cycles(struct pci_dev *pdev)
{
	u64 least = U64_MAX;
	cycles_t start;
	u32 id;
	int i;

	for (i = 0; i < VPEER_ACCESS_TRIES; i++) {
		start = vpeer_clock();
		pci_read_config_dword(pdev, PCI_VENDOR_ID, &id);
		least = min_t(u64, least, vpeer_clock() - start);
	}
	return least;
}

/**
 * vpeer_access_measure - time reads of an aperture and of configuration space
 * @ap: aperture of a prefetchable BAR, whose reads have no side effects; its
 *	memory type is reserved
 *
 * Sets @ap->access, also whether a VMM traps the reads; all of it stays zero if
 * there is no clock or no room to map a page.
 */
void vpeer_access_measure(struct vpeer_aperture *ap)
{
	struct vpeer_access *access = &ap->access;
	void __iomem *memory = ioremap_wc(ap->base, PAGE_SIZE);

	if (!memory)
		return;
	access->memory_ns = vpeer_cycles_to_ns(vpeer_memory_cycles(memory));
	access->config_ns = vpeer_cycles_to_ns(vpeer_config_cycles(ap->pdev));
	iounmap(memory);

	access->trapped = boot_cpu_has(X86_FEATURE_HYPERVISOR) &&
			  access->memory_ns >= VPEER_TRAP_NS &&
			  access->memory_ns >= access->config_ns / VPEER_TRAP_SHARE;
	if (access->trapped)
		pci_warn(ap->pdev, "BAR %d: a read takes %llu ns, of configuration space %llu ns: the VMM traps both, no windows\n",
			 ap->bar, access->memory_ns, access->config_ns);
}

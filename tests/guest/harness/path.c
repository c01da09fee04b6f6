// SPDX-License-Identifier: GPL-2.0-only
#include <cpuid.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <string.h>

#include "aperture.h"
#include "harness.h"
#include "path.h"
#include "pci_seen.h"

int path_try(int fd, const char *initiator, struct vpeer_path_report *report)
{
	unsigned int domain, bus, device, function;

	CHECK_EQ(sscanf(initiator, "%x:%x:%x.%x", &domain, &bus, &device, &function), 4);
	memset(report, 0, sizeof(*report));
	report->argsz = sizeof(*report);
	report->reason = 0xdead;
	report->domain = domain;
	report->bus = bus;
	report->devfn = device << 3 | function;
	return ioctl(fd, VPEER_IOCTL_PATH_REPORT, report);
}

struct vpeer_path_report path_ask(int fd, const char *initiator)
{
	struct vpeer_path_report report;

	CHECK_OK(path_try(fd, initiator, &report));
	CHECK_EQ(report.reason, VPEER_REASON_NONE);
	return report;
}

static void check_acs(const struct pci_seen *seen, uint32_t flags, uint16_t cap, uint16_t control)
{
	size_t at = pci_seen_extended(seen, PCI_EXT_CAP_ID_ACS);

	CHECK_EQ(!!(flags & VPEER_FUNCTION_ACS), at != 0);
	CHECK_EQ(cap, at ? pci_seen_u16(seen, at + PCI_ACS_CAP) : 0);
	CHECK_EQ(control, at ? pci_seen_u16(seen, at + PCI_ACS_CTRL) : 0);
}

static void check_type(const struct pci_seen *seen, uint32_t flags, uint8_t type)
{
	size_t at = pci_seen_capability(seen, PCI_CAP_ID_EXP, 0);

	CHECK_EQ(!!(flags & VPEER_FUNCTION_PCIE), at != 0);
	CHECK_EQ(type, at ? (pci_seen_u16(seen, at + PCI_EXP_FLAGS) & PCI_EXP_FLAGS_TYPE) >> 4 : 0);
}

static void check_ats(const struct pci_seen *seen, const struct vpeer_path_function *at)
{
	size_t place = pci_seen_extended(seen, PCI_EXT_CAP_ID_ATS);

	CHECK_EQ(!!(at->flags & VPEER_FUNCTION_ATS), place != 0);
	CHECK_EQ(at->ats_cap, place ? pci_seen_u16(seen, place + PCI_ATS_CAP) : 0);
	CHECK_EQ(at->ats_control, place ? pci_seen_u16(seen, place + PCI_ATS_CTRL) : 0);
}

/* By bytes: length 8, "P2P", then version in bits 2:0 and clique in bits 6:3 of the next. */
static void check_clique(const struct pci_seen *seen, const struct vpeer_path_function *at)
{
	const uint8_t *c = seen->config;
	size_t place = 0;

	while ((place = pci_seen_capability(seen, PCI_CAP_ID_VNDR, place)))
		if (!memcmp(c + place + 3, "P2P", 3))
			break;
	CHECK_EQ(!!(at->flags & VPEER_FUNCTION_CLIQUE), place != 0);
	CHECK_EQ(at->clique, place ? c[place + 6] >> 3 & 15 : 0);
	CHECK_EQ(at->clique_version, place ? c[place + 6] & 7 : 0);
}

static void check_bridge(const struct vpeer_path_bridge *bridge, const char *pci)
{
	struct pci_seen seen;

	pci_seen_read(&seen, pci);
	CHECK_EQ(bridge->domain, seen.domain);
	CHECK_EQ(bridge->bus, seen.bus);
	CHECK_EQ(bridge->devfn, seen.devfn);
	CHECK_EQ(bridge->vendor, pci_seen_u64(&seen, "vendor"));
	CHECK_EQ(bridge->device, pci_seen_u64(&seen, "device"));
	check_type(&seen, bridge->flags, bridge->type);
	check_acs(&seen, bridge->flags, bridge->acs_cap, bridge->acs_control);
}

static void check_bridges(const struct pci_seen *seen, const struct vpeer_path_function *at)
{
	struct pci_seen top;
	unsigned int i;

	CHECK_EQ(at->bridge_count, seen->bridge_count);
	for (i = 0; i < seen->bridge_count && i < VPEER_PATH_BRIDGES; i++)
		check_bridge(&at->bridges[i], seen->bridges[i]);
	for (; i < VPEER_PATH_BRIDGES; i++)
		CHECK_EQ(at->bridges[i].vendor, 0);
	pci_seen_read(&top, seen->bridge_count ? seen->bridges[seen->bridge_count - 1] :
						  seen->pci);
	CHECK_EQ(at->root_bus, top.bus);
}

static uint32_t expected_iommu(const struct pci_seen *seen)
{
	static const struct {
		const char *type;
		uint32_t iommu;
	} types[] = {
		{ "identity", VPEER_IOMMU_IDENTITY },
		{ "DMA", VPEER_IOMMU_DMA },
		{ "DMA-FQ", VPEER_IOMMU_DMA_LAZY },
	};

	if (!*seen->iommu)
		return VPEER_IOMMU_NONE;
	if (!pci_seen_does_dma(seen))
		return VPEER_IOMMU_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(seen->iommu, types[i].type))
			return types[i].iommu;
	test_fail(__FILE__, __LINE__, "IOMMU group of type '%s'", seen->iommu);
}

static uint64_t expected_mask(const struct pci_seen *seen)
{
	uint64_t bits = pci_seen_u64(seen, "dma_mask_bits");

	return bits ? UINT64_MAX >> (64 - bits) : 0;
}

static void check_virtual(const struct pci_seen *seen, const struct vpeer_path_function *at)
{
	uint32_t expected = *seen->pf ? VPEER_FUNCTION_VIRTUAL | VPEER_FUNCTION_PF : 0;
	struct pci_seen pf = { .bus = 0 };

	CHECK_EQ(at->flags & (VPEER_FUNCTION_VIRTUAL | VPEER_FUNCTION_PF), expected);
	if (*seen->pf)
		pci_seen_read(&pf, seen->pf);
	CHECK_EQ(at->pf_bus, pf.bus);
	CHECK_EQ(at->pf_devfn, pf.devfn);
}

static void check_function(const struct vpeer_path_function *at, const struct pci_seen *seen)
{
	CHECK_EQ(at->domain, seen->domain);
	CHECK_EQ(at->bus, seen->bus);
	CHECK_EQ(at->devfn, seen->devfn);
	CHECK_EQ(at->vendor, pci_seen_u64(seen, "vendor"));
	CHECK_EQ(at->device, pci_seen_u64(seen, "device"));
	CHECK_EQ(at->numa_node, (int32_t)pci_seen_u64(seen, "numa_node"));
	CHECK_EQ(at->iommu, expected_iommu(seen));
	CHECK_EQ(at->dma_mask, expected_mask(seen));
	CHECK(!strncmp(at->driver, seen->driver, sizeof(at->driver) - 1));
	CHECK(memchr(at->driver, 0, sizeof(at->driver)));
	CHECK_EQ(at->reserved[0] | at->reserved[1], 0);
	check_type(seen, at->flags, at->type);
	check_acs(seen, at->flags, at->acs_cap, at->acs_control);
	check_ats(seen, at);
	check_clique(seen, at);
	check_virtual(seen, at);
	check_bridges(seen, at);
}

static void check_aperture(const struct vpeer_path_report *report, const struct pci_seen *seen)
{
	CHECK_EQ(report->address, pci_seen_bar(seen, report->bar) + report->bar_offset);
	CHECK_EQ(report->bus_address,
		 pci_seen_bar_register(seen, report->bar) + report->bar_offset);
	check_function(&report->aperture, seen);
}

/* Both lists, from the host bridge down, as long as they are the same. */
static void check_way(const struct vpeer_path_report *report, const struct pci_seen *a,
		      const struct pci_seen *b)
{
	bool same_root = !strcmp(a->root, b->root);
	unsigned int left = a->bridge_count, right = b->bridge_count, common = 0;
	struct pci_seen bridge = { .bus = 0 };

	CHECK_EQ(!!(report->facts & VPEER_PATH_SAME_ROOT), same_root);
	while (left && right && !strcmp(a->bridges[left - 1], b->bridges[right - 1])) {
		pci_seen_read(&bridge, a->bridges[left - 1]);
		left--;
		right--;
		common = 1;
	}
	CHECK_EQ(!!(report->facts & VPEER_PATH_COMMON), common);
	CHECK_EQ(report->common_domain, bridge.domain);
	CHECK_EQ(report->common_bus, bridge.bus);
	CHECK_EQ(report->common_devfn, bridge.devfn);
	CHECK_EQ(report->distance, left + right + common);
}

static bool forced_bounce(void)
{
	char text[4096];

	CHECK(sysfs_read("/proc/cmdline", text, sizeof(text)));
	return strstr(text, "swiotlb=force");
}

static void check_reach(const struct vpeer_path_report *report, const struct pci_seen *seen,
			uint32_t unusable)
{
	uint64_t last = report->address + report->size - 1;
	bool reaches = last <= expected_mask(seen), does_dma = pci_seen_does_dma(seen);
	bool idle = !does_dma || !strcmp(seen->driver, "vpeer");
	bool translated = does_dma && pci_seen_translated(seen);
	uint32_t expected = unusable;

	CHECK_EQ(!!(report->facts & VPEER_PATH_REACHES), reaches);
	CHECK_EQ(!!(report->facts & VPEER_PATH_TRANSLATED), translated);
	CHECK_EQ(!!(report->facts & VPEER_PATH_BOUNCED), forced_bounce());
	if (!expected && idle)
		expected = VPEER_REASON_NO_DMA_DRIVER;
	else if (!expected && !translated && forced_bounce())
		expected = VPEER_REASON_SWIOTLB_FORCE;
	else if (!expected && !translated && !reaches)
		expected = VPEER_REASON_DMA_MASK;
	CHECK_EQ(report->dmabuf_reason, expected);
	CHECK_EQ(report->pages_reason, expected);
}

/* The instruction that user space has as well. */
static void check_hypervisor(const struct vpeer_path_report *report)
{
	unsigned int eax, ebx, ecx, edx, words[4] = { 0 };
	uint32_t kind = VPEER_HYPERVISOR_UNKNOWN;
	bool guest;

	CHECK(__get_cpuid(1, &eax, &ebx, &ecx, &edx));
	guest = ecx & 1U << 31;
	if (guest)
		__cpuid(0x40000000, eax, words[0], words[1], words[2]);
	CHECK_EQ(!!(report->facts & VPEER_PATH_HYPERVISOR), guest);
	CHECK(!memcmp(report->signature, words, sizeof(words)));
	if (!memcmp(words, "TCGTCGTCGTCG", 12))
		kind = VPEER_HYPERVISOR_QEMU;
	else if (!memcmp(words, "KVMKVMKVM\0\0", 12))
		kind = VPEER_HYPERVISOR_KVM;
	CHECK_EQ(report->hypervisor, kind);
}

void path_check(const struct vpeer_path_report *report, const char *aperture,
		const char *initiator, uint32_t unusable)
{
	struct pci_seen a, b;

	pci_seen_read(&a, aperture);
	pci_seen_read(&b, initiator);
	check_aperture(report, &a);
	CHECK_EQ(report->domain, b.domain);
	CHECK_EQ(report->bus, b.bus);
	CHECK_EQ(report->devfn, b.devfn);
	check_function(&report->initiator, &b);
	check_way(report, &a, &b);
	check_reach(report, &b, unusable);
	check_hypervisor(report);
	for (size_t i = 0; i < ARRAY_SIZE(report->reserved4); i++)
		CHECK_EQ(report->reserved4[i], 0);
	CHECK_EQ(report->reserved3 | report->reserved2[0] | report->reserved2[1] |
		 report->reserved[0] | report->reserved[1], 0);
}

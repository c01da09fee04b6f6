// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Whether the BARs of functions have addresses, of what kind, and within whose reach. */
#include <inttypes.h>
#include <string.h>

#include "../util.h"
#include "device.h"

#define PAGES_GRANULE	(2ULL << 20)

static void show(const struct pci_bar *bar, unsigned int number, char *text, size_t size)
{
	char bytes[BYTES_LEN];

	text_format(text, size, "BAR %u, %s at 0x%" PRIx64 "%s%s", number,
		    format_bytes(bar->size, bytes), bar->start, bar->wide ? ", 64-bit" : "",
		    bar->prefetchable ? ", prefetchable" : "");
}

static unsigned int number_of(const struct function *function, const struct pci_bar *bar)
{
	return (unsigned int)(bar - function->bars);
}

/* What firmware must find room for, as a power of two of MiB, and as much again for alignment. */
static unsigned long long room_needed(const struct site *site)
{
	unsigned long long bytes = 0, room = 1;

	for (size_t i = 0; i < site->function_count; i++)
		for (size_t j = 0; j < PCI_BARS; j++)
			if (site->functions[i].bars[j].memory && site->functions[i].bars[j].wide)
				bytes += site->functions[i].bars[j].size >> 20;
	while (room < bytes && room < 1ULL << 40)
		room <<= 1;
	return 2 * room;
}

static void remedy_room(struct findings *all, const struct site *site)
{
	switch (site->vmm) {
	case VMM_NONE:
		finding_remedy(all, job_setup, "switch 'Above 4G decoding' and large MMIO on in "
			       "the firmware setup, or boot with pci=realloc");
		break;
	case VMM_VMWARE:
		finding_remedy(all, job_vm, "firmware EFI, pciPassthru.use64bitMMIO=TRUE and "
			       "pciPassthru.64bitMMIOSizeGB=%llu or more",
			       (room_needed(site) + 1023) / 1024);
		break;
	case VMM_KVM:
		finding_remedy(all, job_vm, "QEMU: OVMF, '-cpu host,host-phys-bits=on' and "
			       "'-fw_cfg name=opt/ovmf/X-PciMmio64Mb,string=%llu' or more; for "
			       "hot-plug, pref64-reserve of the root port; 'vpeer host xml' and "
			       "'vpeer host qemu' lay that out", room_needed(site));
		break;
	default:
		finding_remedy(all, job_host, "let the guest's firmware have %llu MiB or more of "
			       "64-bit MMIO", room_needed(site));
	}
}

static void no_bar(struct findings *all, const struct site *site)
{
	finding_says(all, STATE_FAIL, "it shows no memory BAR: the kernel found no room for any, "
		     "or the device is broken");
	remedy_room(all, site);
}

static void assigned(struct findings *all, const struct site *site,
		     const struct function *function)
{
	bool some = false;
	char text[128];

	finding_add(all, "bar-unassigned", function->pci);
	if (function->bars_err) {
		site_saw(all, site, "sys/bus/pci/devices/%s/resource", function->pci);
		finding_says(all, STATE_UNKNOWN, "the BARs cannot be read: %s",
			     strerror(-function->bars_err));
		return;
	}
	finding_says(all, STATE_OK, "each memory BAR has an address");
	for (unsigned int i = 0; i < PCI_BARS; i++) {
		const struct pci_bar *bar = &function->bars[i];

		if (!bar->memory || !bar->size)
			continue;
		some = true;
		show(bar, i, text, sizeof(text));
		device_saw(all, function, "resource", text);
		if (!bar->unassigned)
			continue;
		finding_says(all, STATE_FAIL, "BAR %u has a size but no address: nothing reaches "
			     "what is behind it", i);
		remedy_room(all, site);
	}
	if (!some)
		device_saw(all, function, "resource", "no memory BAR");
	if (!some && device_is_memory(site, function))
		no_bar(all, site);
}

void check_bar_assigned(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_either, assigned);
}

/* NULL unless it has an address. */
static const struct pci_bar *placed(const struct function *function)
{
	const struct pci_bar *bar = device_aperture(function);

	return bar && bar->size && !bar->unassigned ? bar : NULL;
}

static bool begin(struct findings *all, const struct function *function, const char *check)
{
	const struct pci_bar *bar = placed(function);
	char text[128];

	if (!bar)
		return false;
	show(bar, number_of(function, bar), text, sizeof(text));
	device_begin(all, function, check, "resource", text);
	return true;
}

/* The kernel counts them by what the CPU says, which a VMM may have made up. */
static unsigned int address_bits(const struct site *site)
{
	unsigned int bits;
	char text[16384];
	const char *at;

	if (site_text(site, text, sizeof(text), "proc/cpuinfo"))
		return 0;
	at = strstr(text, "address sizes");
	if (!at || sscanf(at, "address sizes : %u", &bits) != 1 || bits > 64)
		return 0;
	return bits;
}

static bool is_above(const struct pci_bar *bar, unsigned int bits)
{
	return bits && bits < 64 && bar_last(bar) >> bits;
}

static void address(struct findings *all, const struct site *site,
		    const struct function *function)
{
	unsigned int bits = address_bits(site);
	char text[32];

	if (!bits || !begin(all, function, "bar-address"))
		return;
	text_format(text, sizeof(text), "%u bits physical", bits);
	finding_saw(all, text, "/proc/cpuinfo");
	if (!is_above(placed(function), bits)) {
		finding_says(all, STATE_OK, "within the CPU's %u address bits", bits);
		return;
	}
	finding_says(all, STATE_FAIL, "it ends above the CPU's %u address bits: the CPU cannot map "
		     "it", bits);
	if (machine_is_guest(site))
		finding_remedy(all, job_vm, "QEMU: '-cpu host,host-phys-bits=on', so that the "
			       "guest has the address bits of its host; or a smaller window of "
			       "64-bit MMIO in the guest's firmware");
	else
		finding_remedy(all, job_setup, "lower the base of 64-bit MMIO in the firmware "
			       "setup");
}

void check_bar_address(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_memory, address);
}

static const struct function *out_of_reach(const struct site *site, unsigned int bits)
{
	for (size_t i = 0; i < site->function_count; i++) {
		const struct function *function = &site->functions[i];

		if (device_is_memory(site, function) && !device_is_given(site, function) &&
		    placed(function) && is_above(placed(function), bits))
			return function;
	}
	return NULL;
}

static void remedy_mask(struct findings *all, const struct site *site)
{
	if (machine_is_guest(site))
		finding_remedy(all, job_vm, "place 64-bit MMIO lower (QEMU: a smaller "
			       "host-phys-bits-limit), or let the guest have a translating IOMMU; "
			       "or take a driver that knows all address bits of the device");
	else
		finding_remedy(all, job_setup, "lower the base of 64-bit MMIO in the firmware "
			       "setup, or boot without iommu=pt, so that the IOMMU translates");
}

static void mask(struct findings *all, const struct site *site, const struct function *function)
{
	const struct function *memory;
	uint64_t bits;

	if (!function->driver[0] || device_is_memory(site, function) ||
	    !device_count(site, device_is_memory) ||
	    site_number(site, &bits, "sys/bus/pci/devices/%s/dma_mask_bits", function->pci) ||
	    !bits)
		return;
	finding_add(all, "dma-mask", function->pci);
	site_saw(all, site, "sys/bus/pci/devices/%s/dma_mask_bits", function->pci);
	memory = out_of_reach(site, bits > 64 ? 64 : (unsigned int)bits);
	if (!memory || device_is_translated(function)) {
		finding_says(all, STATE_OK, "%" PRIu64 " address bits%s", bits, memory ?
			     ": the IOMMU gives it addresses within them" :
			     " reach the memory of all functions");
		return;
	}
	device_saw(all, memory, "resource", "its BAR's address");
	finding_says(all, STATE_FAIL, "%s set %" PRIu64 " address bits, and the memory of %s is "
		     "above them: it is refused, or bounced by host memory", function->driver, bits,
		     memory->pci);
	remedy_mask(all, site);
}

void check_dma_mask(struct findings *all, const struct site *site)
{
	device_each(all, site, site_is_initiator, mask);
}

static void pages(struct findings *all, const struct site *site, const struct function *function)
{
	const struct pci_bar *bar = placed(function);

	(void)site;
	if (!begin(all, function, "bar-pages"))
		return;
	if (!((bar->start | bar->size) % PAGES_GRANULE)) {
		finding_says(all, STATE_OK, "begins and ends at multiples of 2 MiB, as the route "
			     "pages needs it");
		return;
	}
	finding_says(all, STATE_WARN, "it does not begin and end at multiples of 2 MiB: there is "
		     "no route pages, so drivers that do not import DMA-bufs cannot take it");
	finding_remedy(all, job_device, "a larger BAR, if the device or the VMM offers it; else "
		       "use the route dmabuf");
}

void check_bar_pages(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_memory, pages);
}

/* Of any kind: one that is not prefetchable is none that others should reach. */
static void kind(struct findings *all, const struct site *site, const struct function *function)
{
	const struct pci_bar *bar = device_aperture(function);

	(void)site;
	if (!bar) {
		for (size_t i = 0; i < PCI_BARS; i++)
			if (function->bars[i].memory && function->bars[i].size)
				bar = &function->bars[i];
		if (!bar || bar->unassigned)
			return;
		device_begin(all, function, "bar-kind", "resource", "no prefetchable BAR");
		finding_says(all, STATE_WARN, "no BAR is prefetchable: they are registers, and "
			     "vpeer takes none of them unless it is told to");
		finding_remedy(all, job_device, "use a device, or a mode of it, that shows its "
			       "memory by a prefetchable BAR");
		return;
	}
	if (!begin(all, function, "bar-kind"))
		return;
	if (bar->wide) {
		finding_says(all, STATE_OK, "64-bit and prefetchable");
		return;
	}
	finding_says(all, STATE_WARN, "its memory BAR is not 64-bit: it takes the little room "
		     "below 4 GiB, and can never be large");
	finding_remedy(all, job_setup, "'Above 4G decoding' and Resizable BAR in the firmware "
		       "setup of the server; else it is how the device is made");
}

void check_bar_kind(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_memory, kind);
}

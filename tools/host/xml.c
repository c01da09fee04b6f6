// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A guest as libvirt's domain. A controller's index is the number of its bus. */
#include <string.h>

#include "../util.h"
#include "guest.h"

#define QEMU_NAMESPACE	"http://libvirt.org/schemas/domain/qemu/1.0"

/* Slots of pcie.0: 0 is the host bridge, 31 the ISA bridge with SATA. */
#define FIRST_SLOT	2

struct tree {
	const struct guest *guest;
	FILE *file;
	unsigned int index;	/* of the last controller */
	unsigned int slot;	/* next on pcie.0 */
	unsigned int expander[MOST_CELLS];	/* indexes */
	unsigned int upstream[MOST_CELLS];
	unsigned int downstream[MOST_CELLS];	/* next slot of each switch */
	unsigned int expander_slot[MOST_CELLS];
};

static void escape(FILE *file, const char *text)
{
	for (; *text; text++) {
		if (*text == '<')
			fputs("&lt;", file);
		else if (*text == '&')
			fputs("&amp;", file);
		else if (*text == '\'')
			fputs("&apos;", file);
		else
			fputc(*text, file);
	}
}

static void element(FILE *file, const char *indent, const char *name, const char *text)
{
	if (!text)
		return;
	fprintf(file, "%s<%s>", indent, name);
	escape(file, text);
	fprintf(file, "</%s>\n", name);
}

static void put_pages(const struct guest *guest, FILE *file)
{
	bool huge = false;

	for (size_t i = 0; i < guest->cell_count; i++)
		huge |= guest->cells[i].page != 0;
	if (!huge)
		return;
	fputs("  <memoryBacking>\n    <hugepages>\n", file);
	for (size_t i = 0; i < guest->cell_count; i++) {
		if (!guest->cells[i].page)
			continue;
		fprintf(file, "      <page size='%llu' unit='KiB'",
			(unsigned long long)guest->cells[i].page >> 10);
		if (guest->cell_count > 1)
			fprintf(file, " nodeset='%zu'", i);
		fputs("/>\n", file);
	}
	fputs("    </hugepages>\n  </memoryBacking>\n", file);
}

static void put_pinning(const struct guest *guest, FILE *file)
{
	bool known = false;

	for (size_t i = 0; i < guest->cell_count; i++)
		known |= guest->cells[i].cpulist[0] != '\0';
	if (!known)
		return;
	fputs("  <cputune>\n", file);
	for (size_t i = 0; i < guest->cell_count; i++) {
		const struct cell *cell = &guest->cells[i];

		for (unsigned int cpu = 0; cell->cpulist[0] && cpu < cell->cpus; cpu++)
			fprintf(file, "    <vcpupin vcpu='%u' cpuset='%s'/>\n",
				cell->first_cpu + cpu, cell->cpulist);
	}
	fputs("  </cputune>\n", file);
}

static void put_numatune(const struct guest *guest, FILE *file)
{
	if (guest->cells[0].node == NO_NODE)
		return;
	fputs("  <numatune>\n", file);
	if (guest->cell_count == 1)
		fprintf(file, "    <memory mode='strict' nodeset='%d'/>\n", guest->cells[0].node);
	for (size_t i = 0; guest->cell_count > 1 && i < guest->cell_count; i++)
		fprintf(file, "    <memnode cellid='%zu' mode='strict' nodeset='%d'/>\n", i,
			guest->cells[i].node);
	fputs("  </numatune>\n", file);
}

static void put_os(const struct guest *guest, FILE *file)
{
	const struct guest_wish *wish = guest->wish;

	fprintf(file, "  <os%s>\n    <type arch='x86_64' machine='q35'>hvm</type>\n",
		wish->seabios ? "" : " firmware='efi'");
	element(file, "    ", "kernel", wish->kernel);
	element(file, "    ", "initrd", wish->initrd);
	element(file, "    ", "cmdline", wish->append);
	fputs("  </os>\n", file);
	fputs("  <features>\n    <acpi/>\n    <apic/>\n", file);
	if (wish->guest_iommu)
		fputs("    <ioapic driver='qemu'/>\n", file);
	fputs("  </features>\n", file);
}

static void put_cells(const struct guest *guest, FILE *file)
{
	fputs("    <numa>\n", file);
	for (size_t i = 0; i < guest->cell_count; i++) {
		const struct cell *cell = &guest->cells[i];

		fprintf(file, "      <cell id='%zu' cpus='%u-%u' memory='%llu' unit='KiB'/>\n", i,
			cell->first_cpu, cell->first_cpu + cell->cpus - 1,
			(unsigned long long)cell->memory >> 10);
	}
	fputs("    </numa>\n", file);
}

static void put_cpu(const struct guest *guest, FILE *file)
{
	fputs("  <cpu mode='host-passthrough' check='none' migratable='off'>\n", file);
	fputs("    <maxphysaddr mode='passthrough'", file);
	if (guest->phys_bits && guest->phys_bits < guest->host->cpu.physical)
		fprintf(file, " limit='%u'", guest->phys_bits);
	fputs("/>\n", file);
	if (guest->cell_count > 1)
		put_cells(guest, file);
	fputs("  </cpu>\n", file);
}

static void put_address(FILE *file, unsigned int bus, unsigned int slot)
{
	fprintf(file, "      <address type='pci' domain='0x0000' bus='0x%02x' slot='0x%02x' "
		"function='0x0'/>\n", bus, slot);
}

static void controller(struct tree *tree, const char *model)
{
	fprintf(tree->file, "    <controller type='pci' index='%u' model='%s'>\n", ++tree->index,
		model);
}

static void put_expanders(struct tree *tree)
{
	for (size_t i = 0; tree->guest->expanders && i < tree->guest->cell_count; i++) {
		controller(tree, "pcie-expander-bus");
		fprintf(tree->file, "      <target busNr='%zu'>\n        <node>%zu</node>\n"
			"      </target>\n", 28 * (i + 1), i);
		put_address(tree->file, 0, tree->slot++);
		fputs("    </controller>\n", tree->file);
		tree->expander[i] = tree->index;
	}
}

/* Index of a new root port for the functions of a cell. */
static unsigned int put_root_port(struct tree *tree, size_t cell)
{
	bool expander = tree->guest->expanders;

	controller(tree, "pcie-root-port");
	fprintf(tree->file, "      <target chassis='%u' port='0x%x'/>\n", tree->index, tree->index);
	put_address(tree->file, expander ? tree->expander[cell] : 0,
		    expander ? tree->expander_slot[cell]++ : tree->slot++);
	fputs("    </controller>\n", tree->file);
	return tree->index;
}

static void put_switches(struct tree *tree)
{
	for (size_t i = 0; tree->guest->wish->switches && i < tree->guest->cell_count; i++) {
		unsigned int port = put_root_port(tree, i);

		controller(tree, "pcie-switch-upstream-port");
		put_address(tree->file, port, 0);
		fputs("    </controller>\n", tree->file);
		tree->upstream[i] = tree->index;
	}
}

static unsigned int put_port(struct tree *tree, size_t cell)
{
	if (!tree->guest->wish->switches)
		return put_root_port(tree, cell);
	controller(tree, "pcie-switch-downstream-port");
	fprintf(tree->file, "      <target chassis='%u' port='0x%x'/>\n", tree->index, tree->index);
	put_address(tree->file, tree->upstream[cell], tree->downstream[cell]++);
	fputs("    </controller>\n", tree->file);
	return tree->index;
}

static void put_function(struct tree *tree, const struct function *function)
{
	unsigned int port = put_port(tree, guest_cell(tree->guest, function));
	struct vpeer_pci_address pci;

	vpeer_pci_parse(function->pci, &pci);
	fprintf(tree->file, "    <hostdev mode='subsystem' type='pci' managed='%s'>\n",
		tree->guest->wish->managed ? "yes" : "no");
	if (tree->guest->wish->iommufd)
		fputs("      <driver iommufd='yes'/>\n", tree->file);
	fprintf(tree->file, "      <source>\n        <address domain='0x%04x' bus='0x%02x' "
		"slot='0x%02x' function='0x%x'/>\n      </source>\n", pci.domain, pci.bus,
		pci.devfn >> 3, pci.devfn & 7U);
	put_address(tree->file, port, 0);
	fputs("    </hostdev>\n", tree->file);
}

static void put_root(const struct guest *guest, FILE *file)
{
	if (guest->wish->seabios)
		fprintf(file, "    <controller type='pci' index='0' model='pcie-root'>\n"
			"      <pcihole64 unit='KiB'>%llu</pcihole64>\n    </controller>\n",
			(unsigned long long)guest->window >> 10);
	else
		fputs("    <controller type='pci' index='0' model='pcie-root'/>\n", file);
}

static void put_devices(const struct guest *guest, FILE *file)
{
	struct tree tree = { .guest = guest, .file = file, .slot = FIRST_SLOT };

	if (!guest->wish->fragment)
		put_root(guest, file);
	put_expanders(&tree);
	put_switches(&tree);
	for (size_t i = 0; i < guest->host->function_count; i++)
		put_function(&tree, &guest->host->functions[i]);
	if (guest->wish->guest_iommu)
		fprintf(file, "    <iommu model='intel'>\n      <driver intremap='on' "
			"caching_mode='on' iotlb='on' aw_bits='%u'/>\n    </iommu>\n",
			guest->aw_bits);
}

/* libvirt reserves OVMF's names of fw_cfg, so QEMU is told directly. */
static void put_window(const struct guest *guest, FILE *file)
{
	fprintf(file, "  <qemu:commandline>\n    <qemu:arg value='-fw_cfg'/>\n"
		"    <qemu:arg value='name=opt/ovmf/X-PciMmio64Mb,string=%llu'/>\n"
		"  </qemu:commandline>\n", (unsigned long long)guest->window >> 20);
}

static void put_head(const struct guest *guest, FILE *file)
{
	fprintf(file, "<domain type='kvm'%s>\n",
		guest->wish->seabios ? "" : " xmlns:qemu='" QEMU_NAMESPACE "'");
	element(file, "  ", "name", guest->wish->name);
	fprintf(file, "  <memory unit='KiB'>%llu</memory>\n",
		(unsigned long long)guest->wish->memory >> 10);
	put_pages(guest, file);
	fprintf(file, "  <vcpu placement='static'>%u</vcpu>\n", guest->wish->cpus);
	put_pinning(guest, file);
	put_numatune(guest, file);
	put_os(guest, file);
	put_cpu(guest, file);
}

void guest_print_xml(const struct guest *guest, FILE *file)
{
	if (guest->wish->fragment) {
		put_devices(guest, file);
		return;
	}
	put_head(guest, file);
	fputs("  <devices>\n", file);
	put_devices(guest, file);
	fputs("    <memballoon model='none'/>\n  </devices>\n", file);
	if (!guest->wish->seabios)
		put_window(guest, file);
	fputs("</domain>\n", file);
}

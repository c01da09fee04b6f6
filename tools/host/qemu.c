// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A guest as QEMU's command line. */
#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "guest.h"

#define OVMF_CODE	"/usr/share/OVMF/OVMF_CODE_4M.fd"
#define OVMF_VARS	"/usr/share/OVMF/OVMF_VARS_4M.fd"

struct line {
	const struct guest *guest;
	FILE *file;
	size_t count;
	unsigned int chassis;
};

/* What a shell takes as it is. */
static bool is_plain(const char *text)
{
	const char *at = text;

	while (isalnum((unsigned char)*at) || (*at && strchr("-_=,.:/+@%", *at)))
		at++;
	return *text && !*at;
}

static void quote(FILE *file, const char *text)
{
	fputc('\'', file);
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", file);
		else
			fputc(*text, file);
	}
	fputc('\'', file);
}

static void put(struct line *line, const char *text)
{
	bool lines = line->guest->wish->lines;

	if (line->count++)
		fputc(lines ? '\n' : ' ', line->file);
	if (lines || is_plain(text))
		fputs(text, line->file);
	else
		quote(line->file, text);
}

static void option(struct line *line, const char *name, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void option(struct line *line, const char *name, const char *format, ...)
{
	char *text;
	va_list args;

	put(line, name);
	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		text = NULL;
	va_end(args);
	if (!text) {
		fputs("vpeer: out of memory\n", stderr);
		exit(EXIT_FAIL);
	}
	put(line, text);
	free(text);
}

static void put_machine(struct line *line)
{
	const struct guest *guest = line->guest;
	char limit[48] = "";

	put(line, "qemu-system-x86_64");
	option(line, "-name", "%s", guest->wish->name);
	option(line, "-machine", "q35,accel=kvm%s%s",
	       guest->wish->guest_iommu ? ",kernel-irqchip=split" : "",
	       guest->cell_count == 1 ? ",memory-backend=ram0" : "");
	if (guest->phys_bits && guest->phys_bits < guest->host->cpu.physical)
		text_format(limit, sizeof(limit), ",host-phys-bits-limit=%u", guest->phys_bits);
	option(line, "-cpu", "host,host-phys-bits=on%s", limit);
	option(line, "-smp", "%u,sockets=%zu", guest->wish->cpus,
	       guest->wish->cpus % guest->cell_count ? 1 : guest->cell_count);
	option(line, "-m", "size=%lluM", (unsigned long long)guest->wish->memory >> 20);
	put(line, "-nodefaults");
	put(line, "-no-user-config");
	option(line, "-display", "none");
}

static void put_cell(struct line *line, size_t index)
{
	const struct cell *cell = &line->guest->cells[index];
	char pages[64] = "", node[64] = "";

	if (cell->page)
		text_format(pages, sizeof(pages), ",hugetlb=on,hugetlbsize=%lluK",
			    (unsigned long long)cell->page >> 10);
	if (cell->node != NO_NODE)
		text_format(node, sizeof(node), ",host-nodes=%d,policy=bind", cell->node);
	option(line, "-object",
	       "memory-backend-memfd,id=ram%zu,size=%lluM,share=on,prealloc=on%s%s", index,
	       (unsigned long long)cell->memory >> 20, pages, node);
	if (line->guest->cell_count > 1)
		option(line, "-numa", "node,nodeid=%zu,cpus=%u-%u,memdev=ram%zu", index,
		       cell->first_cpu, cell->first_cpu + cell->cpus - 1, index);
}

static void put_firmware(struct line *line)
{
	const struct guest *guest = line->guest;

	if (guest->wish->seabios) {
		option(line, "-global", "q35-pcihost.pci-hole64-size=%lluG",
		       (unsigned long long)guest->window >> 30);
		return;
	}
	option(line, "-drive", "if=pflash,unit=0,format=raw,readonly=on,file=" OVMF_CODE);
	option(line, "-drive", "if=pflash,unit=1,format=raw,snapshot=on,file=" OVMF_VARS);
	option(line, "-fw_cfg", "name=opt/ovmf/X-PciMmio64Mb,string=%llu",
	       (unsigned long long)guest->window >> 20);
}

static void put_boot(struct line *line)
{
	const struct guest_wish *wish = line->guest->wish;

	if (wish->kernel)
		option(line, "-kernel", "%s", wish->kernel);
	if (wish->initrd)
		option(line, "-initrd", "%s", wish->initrd);
	if (wish->append)
		option(line, "-append", "%s", wish->append);
}

static const char *bus_of_cell(const struct guest *guest, size_t cell, char text[16])
{
	text_format(text, 16, guest->expanders ? "pxb%zu" : "pcie.0", cell);
	return text;
}

/* The IOMMU must come before what it translates for. */
static void put_buses(struct line *line)
{
	const struct guest *guest = line->guest;
	char bus[16];

	if (guest->wish->guest_iommu)
		option(line, "-device", "intel-iommu,intremap=on,caching-mode=on,device-iotlb=on,"
		       "aw-bits=%u", guest->aw_bits);
	if (guest->wish->iommufd)
		option(line, "-object", "iommufd,id=iommufd0");
	for (size_t i = 0; guest->expanders && i < guest->cell_count; i++)
		option(line, "-device", "pxb-pcie,id=pxb%zu,bus=pcie.0,bus_nr=%zu,numa_node=%zu", i,
		       28 * (i + 1), i);
	for (size_t i = 0; guest->wish->switches && i < guest->cell_count; i++) {
		line->chassis++;
		option(line, "-device", "pcie-root-port,id=up%zu,bus=%s,chassis=%u,slot=%u", i,
		       bus_of_cell(guest, i, bus), line->chassis, line->chassis);
		option(line, "-device", "x3130-upstream,id=sw%zu,bus=up%zu", i, i);
	}
}

static void put_function(struct line *line, const struct function *function, size_t index)
{
	const struct guest *guest = line->guest;
	size_t cell = guest_cell(guest, function);
	char bus[16];

	line->chassis++;
	if (guest->wish->switches)
		option(line, "-device", "xio3130-downstream,id=rp%zu,bus=sw%zu,chassis=%u,slot=%u",
		       index, cell, line->chassis, line->chassis);
	else
		option(line, "-device", "pcie-root-port,id=rp%zu,bus=%s,chassis=%u,slot=%u", index,
		       bus_of_cell(guest, cell, bus), line->chassis, line->chassis);
	option(line, "-device", "vfio-pci,id=dev%zu,host=%s,bus=rp%zu%s", index, function->pci,
	       index, guest->wish->iommufd ? ",iommufd=iommufd0" : "");
}

void guest_print_qemu(const struct guest *guest, FILE *file)
{
	struct line line = { .guest = guest, .file = file };

	put_machine(&line);
	for (size_t i = 0; i < guest->cell_count; i++)
		put_cell(&line, i);
	option(&line, "-overcommit", "mem-lock=on");
	put_firmware(&line);
	put_boot(&line);
	put_buses(&line);
	for (size_t i = 0; i < guest->host->function_count; i++)
		put_function(&line, &guest->host->functions[i], i);
	for (size_t i = 0; i < guest->wish->extra_count; i++)
		put(&line, guest->wish->extra[i]);
	fputc('\n', file);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "guest.h"

#include <errno.h>
#include <string.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define MOST_FUNCTIONS	24	/* slots of a root bus that are left */

#define MOST_BITS	52	/* of physical addresses on x86 */

/* QEMU's and OVMF's own. */
#define SMALLEST_WINDOW	(32ULL << 30)

/* Addresses that VT-d as QEMU emulates it can translate. */
static const unsigned int vtd_widths[] = { 39, 48 };

size_t guest_cell(const struct guest *guest, const struct function *function)
{
	for (size_t i = 0; i < guest->cell_count; i++)
		if (guest->cells[i].node == function->numa_node)
			return i;
	return 0;
}

static bool has_cell(const struct guest *guest, int node)
{
	for (size_t i = 0; i < guest->cell_count; i++)
		if (guest->cells[i].node == node)
			return true;
	return false;
}

static int find_cells(struct guest *guest, struct vpeer_error *error)
{
	const struct host *host = guest->host;

	for (size_t i = 0; host->node_count > 1 && i < host->function_count; i++) {
		int node = host->functions[i].numa_node;

		if (node == NO_NODE || has_cell(guest, node))
			continue;
		if (guest->cell_count == MOST_CELLS)
			return vpeer_fail(error, E2BIG, VPEER_REASON_NONE, host->functions[i].pci,
					  "give fewer functions",
					  "the functions lie on more than %d NUMA nodes",
					  MOST_CELLS);
		guest->cells[guest->cell_count++].node = node;
	}
	if (!guest->cell_count)
		guest->cells[guest->cell_count++].node = NO_NODE;
	guest->expanders = guest->cell_count > 1;
	return 0;
}

/* The largest huge pages of which enough are free. */
static uint64_t choose_page(const struct host *host, const struct cell *cell)
{
	uint64_t page = 0;

	for (size_t i = 0; i < host->pool_count; i++) {
		const struct pool *pool = &host->pools[i];

		if (pool->node == cell->node && pool->size > page && !(cell->memory % pool->size) &&
		    pool->free >= cell->memory / pool->size)
			page = pool->size;
	}
	return page;
}

static void fill_cell(struct guest *guest, size_t index, uint64_t memory, unsigned int cpus)
{
	struct cell *cell = &guest->cells[index];

	cell->memory = memory;
	cell->cpus = cpus;
	cell->first_cpu = index ? cell[-1].first_cpu + cell[-1].cpus : 0;
	cell->page = choose_page(guest->host, cell);
	if (cell->node == NO_NODE ||
	    vpeer_sysfs_read(cell->cpulist, sizeof(cell->cpulist),
			     "%s/devices/system/node/node%d/cpulist", guest->host->place->sysfs,
			     cell->node))
		cell->cpulist[0] = '\0';
}

static int share_out(struct guest *guest, struct vpeer_error *error)
{
	const struct guest_wish *wish = guest->wish;
	size_t count = guest->cell_count;
	uint64_t memory = wish->memory / count & ~((2ULL << 20) - 1);
	unsigned int cpus = wish->cpus / (unsigned int)count;

	if (!cpus || !memory)
		return vpeer_fail(error, EINVAL, VPEER_REASON_NONE, "guest",
				  "give more --cpus and --memory",
				  "%u CPUs and %llu bytes of memory are too few for %zu NUMA nodes",
				  wish->cpus, (unsigned long long)wish->memory, count);
	for (size_t i = 0; i < count; i++)
		fill_cell(guest, i, i + 1 < count ? memory : wish->memory - (count - 1) * memory,
			  i + 1 < count ? cpus : wish->cpus - (unsigned int)(count - 1) * cpus);
	return 0;
}

/* The most that is counted to; what a guest can have is far less. */
#define MOST_BYTES	(1ULL << 62)

static uint64_t add(uint64_t bytes, uint64_t more)
{
	return more > MOST_BYTES || bytes > MOST_BYTES - more ? MOST_BYTES : bytes + more;
}

static const struct memory *memory_of(const struct host *host, int node)
{
	for (size_t i = 0; i < host->memory_count; i++)
		if (host->memory[i].node == node)
			return &host->memory[i];
	return NULL;
}

static uint64_t free_huge(const struct host *host, int node)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < host->pool_count; i++)
		if (host->pools[i].node == node)
			bytes += host->pools[i].free * host->pools[i].size;
	return bytes;
}

static char *format_mib(uint64_t bytes, char text[BYTES_LEN])
{
	return format_bytes(bytes >> 20 << 20, text);
}

static const char *name_place(int node, char text[32])
{
	text_format(text, 32, node == NO_NODE ? "the host" : "node %d", node);
	return text;
}

/* What huge pages do not hold must fit beside them. */
static int check_memory(const struct guest *guest, struct vpeer_error *error)
{
	char wanted[BYTES_LEN], ordinary[BYTES_LEN], huge[BYTES_LEN], place[32];

	for (size_t i = 0; !guest->wish->fragment && i < guest->cell_count; i++) {
		const struct cell *cell = &guest->cells[i];
		const struct memory *memory = memory_of(guest->host, cell->node);

		if (cell->page || !memory || cell->memory <= memory->ordinary)
			continue;
		return vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, "guest",
				  "give less --memory, or reserve huge pages for all of it",
				  "%s of memory are wanted of %s, which has %s in all beside its "
				  "huge pages, and %s in free huge pages",
				  format_mib(cell->memory, wanted), name_place(cell->node, place),
				  format_mib(memory->ordinary, ordinary),
				  format_mib(free_huge(guest->host, cell->node), huge));
	}
	return 0;
}

static void warn_pages(const struct cell *cell, FILE *file)
{
	char place[32], bytes[BYTES_LEN];

	if (cell->page)
		return;
	fprintf(file, "vpeer: guest: %s has no %s in free huge pages: memory is laid out in small "
		"ones\n  remedy: reserve huge pages, see vpeer-host(7)\n",
		name_place(cell->node, place), format_bytes(cell->memory, bytes));
}

void guest_warn(const struct guest *guest, FILE *file)
{
	unsigned int cpus = guest->host->cpus;

	if (guest->wish->fragment)
		return;
	for (size_t i = 0; i < guest->cell_count; i++)
		warn_pages(&guest->cells[i], file);
	if (cpus && guest->wish->cpus > cpus)
		fprintf(file, "vpeer: guest: %u CPUs are wanted, and the host has %u: some wait "
			"for others\n  remedy: give fewer --cpus\n", guest->wish->cpus, cpus);
}

static uint64_t round_up_power(uint64_t bytes)
{
	uint64_t power = 1;

	while (power < bytes && power < MOST_BYTES)
		power <<= 1;
	return power;
}

/* Twice what the BARs take, for their alignment and what bridges round up. */
static uint64_t window_size(const struct host *host)
{
	uint64_t total = 0, window;

	for (size_t i = 0; i < host->function_count; i++)
		for (size_t bar = 0; bar < PCI_BARS; bar++)
			if (host->functions[i].bars[bar].memory)
				total = add(total,
					    round_up_power(host->functions[i].bars[bar].size));
	window = round_up_power(add(total, total));
	return window < SMALLEST_WINDOW ? SMALLEST_WINDOW : window;
}

static int check_width(const struct guest *guest, struct vpeer_error *error)
{
	unsigned int bits = guest->phys_bits && guest->phys_bits < MOST_BITS ? guest->phys_bits :
									       MOST_BITS;
	uint64_t needed = round_up_power(add(guest->wish->memory, guest->window));
	char text[BYTES_LEN];

	if (needed <= 1ULL << bits)
		return 0;
	return vpeer_fail(error, ERANGE, VPEER_REASON_NONE, "guest",
			  "give fewer functions or less memory",
			  "memory and BARs need %s of addresses, more than the %u bits of the "
			  "CPU or the IOMMU", format_bytes(needed, text), bits);
}

static void choose_width(struct guest *guest)
{
	const struct host *host = guest->host;
	unsigned int width = host->iommu.width;

	guest->phys_bits = host->cpu.physical;
	if (width && width < guest->phys_bits)
		guest->phys_bits = width;
	guest->aw_bits = vtd_widths[0];
	for (size_t i = 0; i < ARRAY_SIZE(vtd_widths); i++)
		if (!width || vtd_widths[i] <= width)
			guest->aw_bits = vtd_widths[i];
	if (guest->wish->guest_iommu && guest->aw_bits < guest->phys_bits)
		guest->phys_bits = guest->aw_bits;
}

int guest_plan(struct guest *guest, const struct host *host, const struct guest_wish *wish,
	       struct vpeer_error *error)
{
	int err;

	*guest = (struct guest){ .host = host, .wish = wish };
	if (host->function_count > MOST_FUNCTIONS)
		return vpeer_fail(error, E2BIG, VPEER_REASON_NONE, "guest", "give fewer functions",
				  "%zu functions are more than the %d that are laid out",
				  host->function_count, MOST_FUNCTIONS);
	err = find_cells(guest, error);
	if (!err)
		err = share_out(guest, error);
	if (err)
		return err;
	guest->window = window_size(host);
	choose_width(guest);
	err = check_width(guest, error);
	return err ? err : check_memory(guest, error);
}

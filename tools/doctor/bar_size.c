// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* How much of a GPU's memory its BAR shows. */
#include <stdlib.h>
#include <string.h>

#include "../util.h"
#include "device.h"

/* What the driver of NVIDIA's GPUs has where nothing was resized, however large the memory is. */
#define SMALL_BAR	(256ULL << 20)
#define MOST_TILES	8
#define VENDOR_NVIDIA	"0x10de"

/* Memory of a GPU, 0 where no file tells, which is @file's then. */
static uint64_t amd_memory(const struct site *site, const struct function *function, char *file,
			   size_t size)
{
	uint64_t bytes;

	text_format(file, size, "mem_info_vram_total");
	return site_number(site, &bytes, "sys/bus/pci/devices/%s/%s", function->pci, file) ? 0 :
											     bytes;
}

/* By the driver xe. */
static uint64_t tile_memory(const struct site *site, const struct function *function, char *file,
			    size_t size)
{
	uint64_t bytes, sum = 0;

	text_format(file, size, "tile0/physical_vram_size_bytes");
	for (unsigned int i = 0; i < MOST_TILES; i++)
		if (!site_number(site, &bytes,
				 "sys/bus/pci/devices/%s/tile%u/physical_vram_size_bytes",
				 function->pci, i))
			sum += bytes;
	return sum;
}

/* By the driver i915, of some versions. */
static uint64_t card_memory(const struct site *site, const struct function *function, char *file,
			    size_t size)
{
	uint64_t bytes = 0;
	char **names;
	size_t count = site_names(site, &names, "sys/bus/pci/devices/%s/drm", function->pci);

	for (size_t i = 0; !bytes && i < count; i++) {
		text_format(file, size, "drm/%s/lmem_total_bytes", names[i]);
		if (site_number(site, &bytes, "sys/bus/pci/devices/%s/%s", function->pci, file))
			bytes = 0;
	}
	site_names_free(names, count);
	return bytes;
}

static uint64_t memory_of(const struct site *site, const struct function *function, char *file,
			  size_t size)
{
	uint64_t bytes = amd_memory(site, function, file, size);

	if (!bytes)
		bytes = tile_memory(site, function, file, size);
	return bytes ? bytes : card_memory(site, function, file, size);
}

static const struct pci_bar *known_bar(const struct function *function)
{
	const struct pci_bar *bar = device_aperture(function);

	return !function->bars_err && bar && bar->size && !bar->unassigned ? bar : NULL;
}

bool device_has_small_bar(const struct site *site, const struct function *function)
{
	const struct pci_bar *bar = known_bar(function);

	return bar && !strcmp(function->vendor, VENDOR_NVIDIA) &&
	       device_is_memory(site, function) && bar->size <= SMALL_BAR;
}

static bool is_sized_by_rule(const struct site *site, const struct function *function)
{
	return !strcmp(function->vendor, VENDOR_NVIDIA) && device_is_memory(site, function);
}

bool all_have_small_bars(const struct site *site)
{
	size_t small = device_count(site, device_has_small_bar);

	return small > 1 && small == device_count(site, is_sized_by_rule);
}

void remedy_small_bar(struct findings *all, const struct site *site)
{
	if (machine_is_guest(site))
		finding_remedy(all, job_setup, "on the host: Resizable BAR and 'Above 4G decoding' "
			       "on in the firmware setup, or 'echo BITS > resource1_resize' of the "
			       "function there before VFIO takes it; then start the guest anew. A "
			       "guest cannot resize: it has no such capability, or one that the "
			       "VMM made up");
	else
		finding_remedy(all, job_setup, "Resizable BAR and 'Above 4G decoding' on in the "
			       "firmware setup, or 'echo BITS > resource1_resize' of the function "
			       "while it has no driver");
}

static void by_rule(struct findings *all, const struct site *site,
		    const struct function *function, const char *size)
{
	if (!device_has_small_bar(site, function)) {
		finding_says(all, STATE_OK, "BAR1 is %s; NVIDIA's driver has no file that tells "
			     "the size of the memory", size);
		return;
	}
	finding_says(all, STATE_WARN, "BAR1 is %s, which is small whatever the memory of an NVIDIA "
		     "GPU is: registrations beyond it are refused. Some models (T4) have no larger "
		     "one", size);
	remedy_small_bar(all, site);
}

static void by_memory(struct findings *all, const struct site *site, uint64_t bar, uint64_t memory)
{
	char shown[BYTES_LEN], whole[BYTES_LEN];

	format_bytes(bar, shown);
	format_bytes(memory, whole);
	if (bar >= memory) {
		finding_says(all, STATE_OK, "all of the memory (%s) is behind the BAR", whole);
		return;
	}
	finding_says(all, STATE_WARN, "the BAR shows %s of %s: others reach no more of the memory",
		     shown, whole);
	remedy_small_bar(all, site);
}

static void size(struct findings *all, const struct site *site, const struct function *function)
{
	const struct pci_bar *bar = known_bar(function);
	char file[64], text[BYTES_LEN];
	uint64_t memory;

	if (!bar)
		return;
	memory = memory_of(site, function, file, sizeof(file));
	if (!memory && (strcmp(function->vendor, VENDOR_NVIDIA) || all_have_small_bars(site)))
		return;
	device_begin(all, function, "bar-size", "resource", format_bytes(bar->size, text));
	if (!memory) {
		by_rule(all, site, function, text);
		return;
	}
	site_saw(all, site, "sys/bus/pci/devices/%s/%s", function->pci, file);
	by_memory(all, site, bar->size, memory);
}

void check_bar_size(struct findings *all, const struct site *site)
{
	device_each(all, site, device_is_memory, size);
}

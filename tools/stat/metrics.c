// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../../lib/internal.h"
#include "../../lib/sysfs.h"
#include "../apertures.h"
#include "../util.h"

const struct metric metrics[METRICS] = {
	{ "size", "size_bytes", METRIC_GAUGE, UNIT_BYTES, "Size of the aperture." },
	{ "bytes_free", "free_bytes", METRIC_GAUGE, UNIT_BYTES, "What no window holds." },
	{ "bytes_pinned", "pinned_bytes", METRIC_GAUGE, UNIT_BYTES,
	  "What initiators hold pinned for DMA." },
	{ "windows", "windows", METRIC_GAUGE, UNIT_NONE, "Windows of all open files." },
	{ "mappings", "mappings", METRIC_GAUGE, UNIT_NONE, "Live CPU mappings." },
	{ "faults_4k", "faults_4k_total", METRIC_COUNTER, UNIT_NONE,
	  "Page faults that mapped 4 KiB." },
	{ "faults_2m", "faults_2m_total", METRIC_COUNTER, UNIT_NONE,
	  "Page faults that mapped 2 MiB." },
	{ "bytes_scrubbed", "scrubbed_bytes_total", METRIC_COUNTER, UNIT_BYTES,
	  "What was zeroed before a new owner saw it." },
	{ "revocations", "revocations_total", METRIC_COUNTER, UNIT_NONE,
	  "Windows revoked, or freed by their owners." },
	{ "dmabufs", "dmabufs", METRIC_GAUGE, UNIT_NONE, "DMA-bufs that exist." },
	{ "dmabuf_maps", "dmabuf_maps", METRIC_GAUGE, UNIT_NONE,
	  "Imports of DMA-bufs that are mapped." },
	{ "dmabuf_bytes_mapped", "dmabuf_mapped_bytes", METRIC_GAUGE, UNIT_BYTES,
	  "What importers of DMA-bufs have mapped." },
	{ "read_ns", "read_seconds", METRIC_GAUGE, UNIT_NANOSECONDS,
	  "What a read of the BAR took when it was attached." },
	{ "config_read_ns", "config_read_seconds", METRIC_GAUGE, UNIT_NANOSECONDS,
	  "What a read of configuration space, which a VMM traps, took then." },
};

/* False when the aperture has gone. */
static bool read_one(const char *sysfs, struct reading *reading)
{
	for (size_t i = 0; i < METRICS; i++) {
		struct sample *sample = &reading->samples[i];

		sample->known = !vpeer_sysfs_u64(&sample->value, "%s/class/vpeer/vpeer%u/%s", sysfs,
						 reading->entry.index, metrics[i].file) &&
				(sample->value || metrics[i].unit != UNIT_NANOSECONDS);
	}
	return vpeer_sysfs_exists("%s/class/vpeer/vpeer%u", sysfs, reading->entry.index);
}

static void read_all(struct readings *readings, const char *sysfs,
		     const struct vpeer_entry *entries, size_t count)
{
	readings->items = count ? xrealloc(NULL, count, sizeof(*readings->items)) : NULL;
	for (size_t i = 0; i < count; i++) {
		struct reading *reading = &readings->items[readings->count];

		*reading = (struct reading){ .entry = entries[i] };
		readings->count += read_one(sysfs, reading);
	}
}

static int read_ranges(struct readings *readings, const char *sysfs, struct vpeer_error *error)
{
	int err = quarantine_read(sysfs, &readings->ranges, &readings->range_count);

	if (!err)
		return 0;
	return vpeer_fail(error, -err, VPEER_REASON_NONE, "/sys/class/misc/vpeerctl/quarantine", "",
			  "cannot read: %s", strerror(-err));
}

int readings_take(struct readings *readings, const char *sysfs,
		  const struct vpeer_pci_address *pci, struct vpeer_error *error)
{
	struct vpeer_entry *entries;
	size_t count;
	int err;

	*readings = (struct readings){ 0 };
	err = vpeer_list_at(sysfs, &entries, &count, error);
	if (err)
		return err;
	if (pci)
		count = apertures_pick(pci, entries, count);
	read_all(readings, sysfs, entries, count);
	vpeer_list_free(entries);
	if (pci && !readings->count)
		return vpeer_fail_unattached(error, pci);
	if (vpeer_sysfs_read(readings->version, sizeof(readings->version),
			     "%s/module/vpeer/version", sysfs))
		readings->version[0] = '\0';
	return read_ranges(readings, sysfs, error);
}

void readings_free(struct readings *readings)
{
	free(readings->items);
	free(readings->ranges);
	*readings = (struct readings){ 0 };
}

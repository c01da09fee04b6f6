// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "counters.h"

/* Whose work a source counts. */
enum scope {
	SCOPE_OWN,		/* the sample's */
	SCOPE_APERTURE,		/* for a window, that of all windows of the aperture */
	SCOPE_ALL,		/* that of the whole device or machine */
	SCOPE_ANY,		/* that too, and the work of others can also lessen it */
};

#define TEXT_OF(value)	#value
#define TEXT(value)	TEXT_OF(value)

#define OWN_SHARE	"; others only add to it, so samples are repeated, at most " \
			TEXT(MOST_COUNTED) ", until two in a row agree and none is less"

static const struct {
	const char *name;
	const char *title;
	enum scope scope;
	const char *source;
} counters[COUNTERS] = {
	[COUNT_COPIED] = { "bytes_copied_by_cpu", "COPIED", SCOPE_ALL,
		"event swiotlb:swiotlb_bounced of the initiator's function: bytes mapped through "
		"the bounce buffer, which a read copies twice, in and out; soft RDMA: the bytes "
		"moved, which the CPU copies at each end, where hw_counters sent_pkts and "
		"rcvd_pkts have their packets; all work of the initiator" OWN_SHARE },
	[COUNT_ZEROED] = { "bytes_zeroed", "ZEROED", SCOPE_APERTURE,
		"window: bytes_scrubbed of the whole aperture" OWN_SHARE "; host: faults times "
		"page size" },
	[COUNT_ENTRIES] = { "sg_entries", "SG", SCOPE_OWN,
		"physically contiguous runs in /proc/self/pagemap: of a registered region, or of "
		"each request of the disk in the event block:block_rq_issue" },
	[COUNT_MAPS] = { "iommu_maps", "MAPS", SCOPE_OWN, "event iommu:map inside the memory" },
	[COUNT_MAPPED] = { "iommu_mapped_bytes", "MAPPED", SCOPE_OWN,
		"event iommu:map inside the memory" },
	[COUNT_TABLE] = { "iommu_table_entries", "PTES", SCOPE_OWN,
		"size and alignment of each iommu:map and the IOMMU's page sizes" },
	[COUNT_PINS] = { "pages_pinned", "PINS", SCOPE_ALL,
		"nr_foll_pin_acquired of /proc/vmstat, of the whole machine" OWN_SHARE
		"; newer kernels count a page again whose pin without the mmap lock failed" },
	[COUNT_FAULTS_4K] = { "faults_4k", "FAULTS-4K", SCOPE_APERTURE,
		"window: faults_4k of the whole aperture" OWN_SHARE "; host: getrusage() of this "
		"process less the huge faults" },
	[COUNT_FAULTS_2M] = { "faults_2m", "FAULTS-2M", SCOPE_APERTURE,
		"window: faults_2m of the whole aperture" OWN_SHARE "; host: growth of "
		"AnonHugePages in /proc/self/smaps_rollup" },
	[COUNT_MADE] = { "bytes_given_struct_pages", "STRUCT-PAGES", SCOPE_ANY,
		"event vpeer:vpeer_chunk_map of all apertures; others add to it, and a window of "
		"theirs keeps struct pages that are then not made, so all samples, at least two, "
		"have to agree" },
	[COUNT_INSTRUCTIONS] = { "instructions", "INSTRUCTIONS", SCOPE_OWN,
		"perf_event_open(), this thread in user and kernel mode" },
};

const char *counter_name(enum counter counter)
{
	return counters[counter].name;
}

const char *counter_title(enum counter counter)
{
	return counters[counter].title;
}

const char *counter_source(enum counter counter)
{
	return counters[counter].source;
}

void counts_set(struct counts *counts, enum counter counter, bool known, uint64_t value)
{
	counts->known[counter] = known;
	counts->value[counter] = known ? value : 0;
}

static bool others_count(enum counter counter, bool window)
{
	switch (counters[counter].scope) {
	case SCOPE_OWN:
		return false;
	case SCOPE_APERTURE:
		return window;
	case SCOPE_ALL:
	case SCOPE_ANY:
		break;
	}
	return true;
}

bool counts_settled(const struct counts *samples, size_t count, bool window,
		    enum counter counter)
{
	const struct counts *last = &samples[count - 1];

	if (!others_count(counter, window) || !last->known[counter])
		return true;
	for (size_t i = 0; i < count; i++) {
		uint64_t value = samples[i].value[counter];

		if (samples[i].known[counter] &&
		    (counters[counter].scope == SCOPE_ANY ? value != last->value[counter] :
							    value < last->value[counter]))
			return false;
	}
	return count > 1 && samples[count - 2].known[counter] &&
	       samples[count - 2].value[counter] == last->value[counter];
}

bool counts_all_settled(const struct counts *samples, size_t count, bool window)
{
	for (enum counter i = 0; i < COUNTERS; i++)
		if (!counts_settled(samples, count, window, i))
			return false;
	return true;
}

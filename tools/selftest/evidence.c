// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "evidence.h"

#include <inttypes.h>

#include "../util.h"

void evidence_judge_mapping(const struct trace *trace, const struct trace_hits *hits,
			    struct evidence *evidence)
{
	char *text = evidence->mapping_text;
	size_t size = sizeof(evidence->mapping_text);

	if (!trace->mappings) {
		text_format(text, size, "IOMMU mappings cannot be seen: %.150s", trace->problem);
	} else if (hits->mappings) {
		evidence->mapping = FACT_YES;
		text_format(text, size,
			    "IOMMU maps 0x%" PRIx64 " to 0x%" PRIx64 " inside the window (%" PRIu64
			    " mappings)", hits->first_iova, hits->first_address, hits->mappings);
	} else if (hits->lost) {
		text_format(text, size, "IOMMU mappings were lost: the trace buffer wrapped");
	} else {
		evidence->mapping = FACT_NO;
		text_format(text, size, "no IOMMU mapping of the window's addresses was made");
	}
}

static bool counters_moved(const struct swiotlb_state *before, const struct swiotlb_state *after)
{
	return after->used > before->used ||
	       (after->has_high_water && after->high_water > before->high_water);
}

/* Why bounces cannot be ruled out; NULL when they can. */
static const char *doubt(const struct trace *trace, const struct trace_hits *hits,
			 const struct swiotlb_state *before, const struct swiotlb_state *after,
			 const char *pci)
{
	if (!pci[0])
		return "it is not known which PCI function does the DMA";
	if (!trace->bounces)
		return trace->problem;
	if (!before->readable || !after->readable)
		return "/sys/kernel/debug/swiotlb/io_tlb_used is not readable";
	if (hits->lost)
		return "the trace buffer wrapped";
	if (counters_moved(before, after) && !hits->other_bounces)
		return "the use of bounce buffers rose, and no event tells for whom";
	return NULL;
}

void evidence_judge_bounces(const struct trace *trace, const struct trace_hits *hits,
			    const struct swiotlb_state *before,
			    const struct swiotlb_state *after, const char *pci,
			    struct evidence *evidence)
{
	const char *why = doubt(trace, hits, before, after, pci);
	char *text = evidence->clean_text;
	size_t size = sizeof(evidence->clean_text);

	evidence->bounces = hits->bounces;
	if (hits->bounces) {
		evidence->clean = FACT_NO;
		text_format(text, size, "event swiotlb_bounced names %s %" PRIu64 " times", pci,
			    hits->bounces);
	} else if (trace->no_swiotlb || (before->absent && after->absent)) {
		evidence->clean = FACT_YES;
		text_format(text, size, "the kernel has no bounce buffers");
	} else if (why) {
		text_format(text, size, "bounces cannot be ruled out: %.200s", why);
	} else {
		evidence->clean = FACT_YES;
		text_format(text, size, "no event swiotlb_bounced names %s", pci);
	}
}

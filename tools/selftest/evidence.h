/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What was traced, as facts for or against a direct path. */
#ifndef EVIDENCE_H
#define EVIDENCE_H

#include "trace.h"

/* Sets evidence->mapping and its text. */
void evidence_judge_mapping(const struct trace *trace, const struct trace_hits *hits,
			    struct evidence *evidence);

/*
 * Sets evidence->clean, bounces and the text. @pci: the function that does the
 * DMA, empty when it is not known.
 */
void evidence_judge_bounces(const struct trace *trace, const struct trace_hits *hits,
			    const struct swiotlb_state *before,
			    const struct swiotlb_state *after, const char *pci,
			    struct evidence *evidence);

#endif /* EVIDENCE_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Tracepoints of the system "vpeer": events/vpeer in tracefs. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM vpeer

#if !defined(_VPEER_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _VPEER_TRACE_H

#include <linux/pci.h>
#include <linux/tracepoint.h>

#include "vpeer.h"

#define VPEER_TRACE_FUNCTION						\
	__field(u32, domain)						\
	__field(u8, bus)						\
	__field(u8, devfn)						\
	__field(u8, bar)						\
	__field(u64, offset)						\
	__field(u64, size)

#define VPEER_TRACE_ASSIGN						\
	do {								\
		__entry->domain = pci_domain_nr(ap->pdev->bus);		\
		__entry->bus = ap->pdev->bus->number;			\
		__entry->devfn = ap->pdev->devfn;			\
		__entry->bar = ap->bar;					\
		__entry->offset = offset;				\
		__entry->size = size;					\
	} while (0)

#define VPEER_TRACE_FORMAT "%04x:%02x:%02x.%x bar%u offset=%#llx size=%#llx"

#define VPEER_TRACE_VALUES						\
	__entry->domain, __entry->bus, PCI_SLOT(__entry->devfn),	\
	PCI_FUNC(__entry->devfn), __entry->bar, __entry->offset,	\
	__entry->size

DECLARE_EVENT_CLASS(vpeer_range,
	TP_PROTO(const struct vpeer_aperture *ap, u64 offset, u64 size),
	TP_ARGS(ap, offset, size),
	TP_STRUCT__entry(VPEER_TRACE_FUNCTION),
	TP_fast_assign(VPEER_TRACE_ASSIGN;),
	TP_printk(VPEER_TRACE_FORMAT, VPEER_TRACE_VALUES)
);

#define VPEER_RANGE_EVENT(_name)					\
DEFINE_EVENT(vpeer_range, _name,					\
	TP_PROTO(const struct vpeer_aperture *ap, u64 offset, u64 size),\
	TP_ARGS(ap, offset, size))

VPEER_RANGE_EVENT(vpeer_attach);
VPEER_RANGE_EVENT(vpeer_claim);
VPEER_RANGE_EVENT(vpeer_unclaim);
VPEER_RANGE_EVENT(vpeer_chunk_map);
VPEER_RANGE_EVENT(vpeer_scrub);
VPEER_RANGE_EVENT(vpeer_export);
VPEER_RANGE_EVENT(vpeer_unexport);
VPEER_RANGE_EVENT(vpeer_dmabuf_map);
VPEER_RANGE_EVENT(vpeer_dmabuf_unmap);

DECLARE_EVENT_CLASS(vpeer_pinned,
	TP_PROTO(const struct vpeer_aperture *ap, u64 offset, u64 size,
		 u64 pinned),
	TP_ARGS(ap, offset, size, pinned),
	TP_STRUCT__entry(VPEER_TRACE_FUNCTION __field(u64, pinned)),
	TP_fast_assign(VPEER_TRACE_ASSIGN; __entry->pinned = pinned;),
	TP_printk(VPEER_TRACE_FORMAT " pinned=%llu", VPEER_TRACE_VALUES,
		  __entry->pinned)
);

#define VPEER_PINNED_EVENT(_name)					\
DEFINE_EVENT(vpeer_pinned, _name,					\
	TP_PROTO(const struct vpeer_aperture *ap, u64 offset, u64 size,	\
		 u64 pinned),						\
	TP_ARGS(ap, offset, size, pinned))

VPEER_PINNED_EVENT(vpeer_detach);
VPEER_PINNED_EVENT(vpeer_revoke);
VPEER_PINNED_EVENT(vpeer_quarantine);

#endif /* _VPEER_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>

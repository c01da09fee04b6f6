// SPDX-License-Identifier: GPL-2.0-only
/*
 * Layout and numbers of the interface as first released. Programs built then
 * must go on working: nothing here changes, only lines are added.
 */
#include <stddef.h>

#include "vpeer_ioctl.h"

#define FIELD(type, field, at)	\
	_Static_assert(offsetof(struct type, field) == (at), #type "." #field)
#define SIZE(type, bytes)	_Static_assert(sizeof(struct type) == (bytes), #type)
#define CALL(name, number)	_Static_assert((name) == (number), #name)

SIZE(vpeer_query, 72);
FIELD(vpeer_query, argsz, 0);
FIELD(vpeer_query, flags, 4);
FIELD(vpeer_query, reason, 8);
FIELD(vpeer_query, api_version, 12);
FIELD(vpeer_query, features, 16);
FIELD(vpeer_query, granule, 24);
FIELD(vpeer_query, max_bytes_per_user, 32);
FIELD(vpeer_query, module_version, 40);

SIZE(vpeer_attach, 40);
FIELD(vpeer_attach, domain, 12);
FIELD(vpeer_attach, bus, 16);
FIELD(vpeer_attach, devfn, 17);
FIELD(vpeer_attach, bar, 18);
FIELD(vpeer_attach, reserved, 19);
FIELD(vpeer_attach, index, 20);
FIELD(vpeer_attach, range_offset, 24);
FIELD(vpeer_attach, range_size, 32);

SIZE(vpeer_detach, 32);
FIELD(vpeer_detach, domain, 12);
FIELD(vpeer_detach, bus, 16);
FIELD(vpeer_detach, devfn, 17);
FIELD(vpeer_detach, reserved, 18);
FIELD(vpeer_detach, pinned_bytes, 24);

SIZE(vpeer_aperture_info, 80);
FIELD(vpeer_aperture_info, domain, 12);
FIELD(vpeer_aperture_info, bus, 16);
FIELD(vpeer_aperture_info, devfn, 17);
FIELD(vpeer_aperture_info, bar, 18);
FIELD(vpeer_aperture_info, reserved, 19);
FIELD(vpeer_aperture_info, memory_type, 20);
FIELD(vpeer_aperture_info, size, 24);
FIELD(vpeer_aperture_info, granule, 32);
FIELD(vpeer_aperture_info, bytes_free, 40);
FIELD(vpeer_aperture_info, bytes_pinned, 48);
FIELD(vpeer_aperture_info, generation_offset, 56);
FIELD(vpeer_aperture_info, windows, 64);
FIELD(vpeer_aperture_info, kind, 68);
FIELD(vpeer_aperture_info, bar_offset, 72);

SIZE(vpeer_window_alloc, 32);
FIELD(vpeer_window_alloc, slot, 12);
FIELD(vpeer_window_alloc, size, 16);
FIELD(vpeer_window_alloc, offset, 24);

SIZE(vpeer_window_op, 32);
FIELD(vpeer_window_op, timeout_ms, 12);
FIELD(vpeer_window_op, offset, 16);
FIELD(vpeer_window_op, pinned_bytes, 24);

SIZE(vpeer_window_info, 80);
FIELD(vpeer_window_info, state, 12);
FIELD(vpeer_window_info, offset, 16);
FIELD(vpeer_window_info, size, 24);
FIELD(vpeer_window_info, pinned_bytes, 32);
FIELD(vpeer_window_info, generation, 40);
FIELD(vpeer_window_info, slot, 48);
FIELD(vpeer_window_info, mappings, 52);
FIELD(vpeer_window_info, implicit, 56);
FIELD(vpeer_window_info, cause, 60);
FIELD(vpeer_window_info, mapped_bytes, 64);
FIELD(vpeer_window_info, dmabufs, 72);
FIELD(vpeer_window_info, reserved, 76);

SIZE(vpeer_dmabuf, 32);
FIELD(vpeer_dmabuf, fd, 12);
FIELD(vpeer_dmabuf, offset, 16);
FIELD(vpeer_dmabuf, size, 24);

SIZE(vpeer_event, 16);
FIELD(vpeer_event, fd, 12);

CALL(VPEER_IOCTL_QUERY, 0xf740);
CALL(VPEER_IOCTL_ATTACH, 0xf741);
CALL(VPEER_IOCTL_DETACH, 0xf742);
CALL(VPEER_IOCTL_APERTURE_INFO, 0xf743);
CALL(VPEER_IOCTL_WINDOW_ALLOC, 0xf744);
CALL(VPEER_IOCTL_WINDOW_FREE, 0xf745);
CALL(VPEER_IOCTL_WINDOW_REVOKE, 0xf746);
CALL(VPEER_IOCTL_WINDOW_INFO, 0xf747);
CALL(VPEER_IOCTL_DMABUF, 0xf748);
CALL(VPEER_IOCTL_EVENT, 0xf749);

CALL(VPEER_API_VERSION, 1);
CALL(VPEER_MAX_WINDOWS, 512);
CALL(VPEER_MAX_EVENTFDS, 64);
CALL(VPEER_EVENT_ADD, 1);
CALL(VPEER_EVENT_REMOVE, 2);
CALL(VPEER_FEATURE_UNMAP_GENERATIONS, 1 << 8);
CALL(VPEER_FEATURE_MORE_EVENTS, 1 << 9);
CALL(VPEER_BAR_AUTO, 255);
CALL(VPEER_MMAP_GENERATION, 1ULL << 56);
CALL(VPEER_GENERATION_ACCESS, 1ULL << 32);

CALL(VPEER_REASON_NONE, 0);
CALL(VPEER_REASON_BAD_ARGUMENT, 1);
CALL(VPEER_REASON_BAD_ALIGNMENT, 2);
CALL(VPEER_REASON_BEYOND_END, 3);
CALL(VPEER_REASON_NOT_PERMITTED, 4);
CALL(VPEER_REASON_NO_MEMORY, 5);
CALL(VPEER_REASON_NO_DEVICE, 16);
CALL(VPEER_REASON_DRIVER_BOUND, 17);
CALL(VPEER_REASON_ALREADY_ATTACHED, 18);
CALL(VPEER_REASON_NO_SUCH_BAR, 19);
CALL(VPEER_REASON_NOT_MEMORY, 20);
CALL(VPEER_REASON_UNASSIGNED, 21);
CALL(VPEER_REASON_TOO_SMALL, 22);
CALL(VPEER_REASON_NO_PAGES, 23);
CALL(VPEER_REASON_MSIX_BAR, 24);
CALL(VPEER_REASON_NOT_PREFETCHABLE, 25);
CALL(VPEER_REASON_REGION_BUSY, 26);
CALL(VPEER_REASON_QUARANTINED, 27);
CALL(VPEER_REASON_SWIOTLB_FORCE, 28);
CALL(VPEER_REASON_CONFIDENTIAL, 29);
CALL(VPEER_REASON_BUS_ADDRESS, 30);
CALL(VPEER_REASON_ADDRESS_RANGE, 31);
CALL(VPEER_REASON_ENABLE_FAILED, 32);
CALL(VPEER_REASON_NOT_ATTACHED, 33);
CALL(VPEER_REASON_RANGE_OWNED, 48);
CALL(VPEER_REASON_RANGE_DRAINING, 49);
CALL(VPEER_REASON_NO_SPACE, 50);
CALL(VPEER_REASON_USER_LIMIT, 51);
CALL(VPEER_REASON_NOT_OWNER, 52);
CALL(VPEER_REASON_REVOKED, 53);
CALL(VPEER_REASON_GONE, 54);
CALL(VPEER_REASON_PINNED, 55);
CALL(VPEER_REASON_PRIVATE_MAPPING, 56);
CALL(VPEER_REASON_EXEC_MAPPING, 57);
CALL(VPEER_REASON_TOO_MANY_WINDOWS, 58);
CALL(VPEER_REASON_NOT_GRANTED, 59);
CALL(VPEER_REASON_ASLEEP, 60);
CALL(VPEER_REASON_TRAPPED, 61);
CALL(VPEER_REASON_READ_ONLY, 80);
CALL(VPEER_REASON_BEYOND_WINDOW, 81);
CALL(VPEER_REASON_TOO_MANY_FILES, 82);
CALL(VPEER_REASON_INTERRUPTED, 83);
CALL(VPEER_REASON_NOT_EVENTFD, 84);
CALL(VPEER_REASON_EVENTFD_ADDED, 85);
CALL(VPEER_REASON_EVENTFD_NOT_ADDED, 86);
CALL(VPEER_REASON_TOO_MANY_EVENTFDS, 87);

CALL(VPEER_CAUSE_NONE, 0);
CALL(VPEER_CAUSE_OWNER, 1);
CALL(VPEER_CAUSE_ADMIN, 2);
CALL(VPEER_CAUSE_DETACHED, 3);
CALL(VPEER_CAUSE_UNPLUGGED, 4);
CALL(VPEER_CAUSE_RESET, 5);
CALL(VPEER_CAUSE_BUS_ERROR, 6);
CALL(VPEER_CAUSE_SUSPEND, 7);

#ifdef TEST_PADDED
/* The check for padding must find this one. */
struct padded {
	__u32 small;
	__u64 large;
};
#endif

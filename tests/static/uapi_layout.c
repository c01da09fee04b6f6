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

SIZE(vpeer_path_bridge, 16);
FIELD(vpeer_path_bridge, domain, 0);
FIELD(vpeer_path_bridge, bus, 4);
FIELD(vpeer_path_bridge, devfn, 5);
FIELD(vpeer_path_bridge, type, 6);
FIELD(vpeer_path_bridge, flags, 7);
FIELD(vpeer_path_bridge, vendor, 8);
FIELD(vpeer_path_bridge, device, 10);
FIELD(vpeer_path_bridge, acs_cap, 12);
FIELD(vpeer_path_bridge, acs_control, 14);

SIZE(vpeer_path_function, 224);
FIELD(vpeer_path_function, domain, 0);
FIELD(vpeer_path_function, bus, 4);
FIELD(vpeer_path_function, devfn, 5);
FIELD(vpeer_path_function, type, 6);
FIELD(vpeer_path_function, root_bus, 7);
FIELD(vpeer_path_function, flags, 8);
FIELD(vpeer_path_function, vendor, 12);
FIELD(vpeer_path_function, device, 14);
FIELD(vpeer_path_function, acs_cap, 16);
FIELD(vpeer_path_function, acs_control, 18);
FIELD(vpeer_path_function, ats_cap, 20);
FIELD(vpeer_path_function, ats_control, 22);
FIELD(vpeer_path_function, numa_node, 24);
FIELD(vpeer_path_function, iommu, 28);
FIELD(vpeer_path_function, pf_bus, 32);
FIELD(vpeer_path_function, pf_devfn, 33);
FIELD(vpeer_path_function, clique, 34);
FIELD(vpeer_path_function, clique_version, 35);
FIELD(vpeer_path_function, bridge_count, 36);
FIELD(vpeer_path_function, dma_mask, 40);
FIELD(vpeer_path_function, bridges, 48);
FIELD(vpeer_path_function, driver, 176);
FIELD(vpeer_path_function, reserved, 208);

SIZE(vpeer_path_report, 616);
FIELD(vpeer_path_report, domain, 12);
FIELD(vpeer_path_report, bus, 16);
FIELD(vpeer_path_report, devfn, 17);
FIELD(vpeer_path_report, reserved, 18);
FIELD(vpeer_path_report, bar, 20);
FIELD(vpeer_path_report, address, 24);
FIELD(vpeer_path_report, bus_address, 32);
FIELD(vpeer_path_report, size, 40);
FIELD(vpeer_path_report, bar_offset, 48);
FIELD(vpeer_path_report, facts, 56);
FIELD(vpeer_path_report, distance, 60);
FIELD(vpeer_path_report, common_domain, 64);
FIELD(vpeer_path_report, common_bus, 68);
FIELD(vpeer_path_report, common_devfn, 69);
FIELD(vpeer_path_report, reserved2, 70);
FIELD(vpeer_path_report, dmabuf_reason, 72);
FIELD(vpeer_path_report, pages_reason, 76);
FIELD(vpeer_path_report, hypervisor, 80);
FIELD(vpeer_path_report, reserved3, 84);
FIELD(vpeer_path_report, signature, 88);
FIELD(vpeer_path_report, aperture, 104);
FIELD(vpeer_path_report, initiator, 328);
FIELD(vpeer_path_report, reserved4, 552);

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
CALL(VPEER_IOCTL_PATH_REPORT, 0xf74a);

CALL(VPEER_API_VERSION, 1);
CALL(VPEER_MAX_WINDOWS, 512);
CALL(VPEER_MAX_EVENTFDS, 64);
CALL(VPEER_EVENT_ADD, 1);
CALL(VPEER_EVENT_REMOVE, 2);
CALL(VPEER_FEATURE_UNMAP_GENERATIONS, 1 << 8);
CALL(VPEER_FEATURE_MORE_EVENTS, 1 << 9);
CALL(VPEER_FEATURE_PATH_REPORT, 1 << 10);
CALL(VPEER_PATH_BRIDGES, 8);
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
CALL(VPEER_REASON_DMA_MASK, 96);
CALL(VPEER_REASON_NO_DMA_DRIVER, 97);

CALL(VPEER_IOMMU_UNKNOWN, 0);
CALL(VPEER_IOMMU_NONE, 1);
CALL(VPEER_IOMMU_IDENTITY, 2);
CALL(VPEER_IOMMU_DMA, 3);
CALL(VPEER_IOMMU_DMA_LAZY, 4);
CALL(VPEER_IOMMU_OTHER, 5);

CALL(VPEER_FUNCTION_PCIE, 1);
CALL(VPEER_FUNCTION_ACS, 2);
CALL(VPEER_FUNCTION_ATS, 4);
CALL(VPEER_FUNCTION_CLIQUE, 8);
CALL(VPEER_FUNCTION_VIRTUAL, 16);
CALL(VPEER_FUNCTION_PF, 32);

CALL(VPEER_PATH_SAME_ROOT, 1);
CALL(VPEER_PATH_COMMON, 2);
CALL(VPEER_PATH_TRANSLATED, 4);
CALL(VPEER_PATH_REACHES, 8);
CALL(VPEER_PATH_BOUNCED, 16);
CALL(VPEER_PATH_HYPERVISOR, 32);

CALL(VPEER_HYPERVISOR_UNKNOWN, 0);
CALL(VPEER_HYPERVISOR_KVM, 1);
CALL(VPEER_HYPERVISOR_HYPERV, 2);
CALL(VPEER_HYPERVISOR_VMWARE, 3);
CALL(VPEER_HYPERVISOR_XEN, 4);
CALL(VPEER_HYPERVISOR_JAILHOUSE, 5);
CALL(VPEER_HYPERVISOR_ACRN, 6);
CALL(VPEER_HYPERVISOR_QEMU, 7);

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

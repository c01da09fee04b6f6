// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <stddef.h>

#include "reason.h"
#include "vpeer.h"

#define FIRST	VPEER_REASON_NO_LIBIBVERBS

#define REASON(symbol, name, text, remedy) \
	[VPEER_REASON_##symbol - FIRST] = { name, text, remedy }

static const struct vpeer_reason_words reasons[] = {
	REASON(NO_LIBIBVERBS, "no-libibverbs",
	       "libibverbs.so.1 cannot be loaded, or is too old",
	       "install the RDMA libraries (Debian: libibverbs1, Red Hat: libibverbs); DMA-bufs need "
	       "rdma-core 34 or newer"),
	REASON(NO_RDMA_DEVICE, "no-rdma-device", "there is no RDMA device of this name",
	       "take one that 'rdma link' lists; if none is there, load the NIC's driver"),
	REASON(FORKED, "forked", "the context is the parent's: this process is a child of fork()",
	       "make a context in the child, on a device that it opened itself"),
	REASON(NOT_MAPPED, "not-mapped", "the process has nothing at part of the range",
	       "check address and length; register memory before it is freed"),
	REASON(MIXED_MEMORY, "mixed-memory",
	       "the range is of more than one kind of memory, window or device",
	       "register each part by itself; vpeer_query_memory() tells where one ends"),
	REASON(MEMLOCK, "memlock", "RLIMIT_MEMLOCK, the limit of locked memory, does not allow it",
	       "raise it: 'ulimit -l unlimited', memlock in /etc/security/limits.conf, LimitMEMLOCK= "
	       "of a service, --ulimit memlock=-1 of a container"),
	REASON(NO_DMABUF_IMPORT, "no-dmabuf-import",
	       "the RDMA device's driver imports no DMA-bufs",
	       "use a newer kernel or the NIC's own driver (mlx5: Linux 5.12)"),
	REASON(NO_DMABUF_EXPORT, "no-dmabuf-export", "the memory's driver exports no DMA-bufs",
	       "NVIDIA: the open kernel modules, 515 or newer, with CUDA 11.7 or newer"),
	REASON(EXPORTER_REFUSED, "exporter-refused",
	       "the memory's driver does not let this RDMA device attach to the DMA-buf",
	       "the kernel's log has that driver's reason; 'vpeer list' shows the state of an "
	       "aperture"),
	REASON(NO_PEERMEM, "no-peermem", "no peer-memory client takes the address",
	       "load the one of the memory's driver ('modprobe nvidia-peermem'); it needs an RDMA "
	       "stack with peer-memory support, which upstream Linux does not have"),
	REASON(NOT_PINNABLE, "not-pinnable", "the kernel has no pages to pin for the mapping",
	       "map the memory by a window of vpeer rather than by a driver's or sysfs's own file, "
	       "or register a DMA-buf of it"),
	REASON(ROUTE_FORBIDDEN, "route-forbidden",
	       "what would work is not among the routes that are allowed",
	       "allow more in the member routes of the options, or staging by VPEER_REG_STAGING"),
	REASON(CUDA, "cuda", "a call of the CUDA driver failed",
	       "look the error's name up in CUDA's documentation; the kernel's log has what the GPU's "
	       "driver says (Xid)"),
	REASON(CUDA_NO_GDR, "cuda-no-gdr", "the GPU, or its driver, has no GPUDirect RDMA",
	       "NVIDIA: a data center or workstation GPU, and the open kernel modules, 515 or newer; "
	       "else allow staging"),
	REASON(BAR_FULL, "bar-full", "the GPU's BAR has no room for another mapping",
	       "deregister what is not in use, and map memory once only; a larger BAR is set in the "
	       "GPU's or machine's firmware"),
	REASON(MR_LIMIT, "mr-limit", "the RDMA device has no MR, or no translation, left",
	       "deregister what is not in use, lower max_entries, or register few large ranges "
	       "instead of many small ones"),
	REASON(ACCESS, "access", "the mapping, or the RDMA device, does not permit the access",
	       "map the memory for writing, or ask for less in the member access of the options"),
	REASON(MR_STALE, "mr-stale", "the memory behind the MR was taken back",
	       "end its work, give it back by vpeer_dereg(), and register the memory that is there "
	       "now"),
	REASON(MR_IN_USE, "mr-in-use", "MRs are held, or have work in flight",
	       "end their work, and give each back by vpeer_dereg() as often as it was registered"),
	REASON(STAGED, "staged", "the call does not go with the MR's route",
	       "ask vpeer_mr_route() first: vpeer_mr_copy() is for staged MRs alone, vpeer_flush() "
	       "for others"),
	REASON(NO_MLX5, "no-mlx5", "the device is not one of libmlx5, or that library is not there",
	       "use an mlx5 device, and install the RDMA providers (Debian: ibverbs-providers)"),
	REASON(FLUSH_FAILED, "flush-failed", "the read that flushes did not complete",
	       "make another flush handle; see that the port is up and the MR permits remote read"),
};

const struct vpeer_reason_words *vpeer_reg_reason_words(unsigned int reason)
{
	if (reason < FIRST || reason - FIRST >= sizeof(reasons) / sizeof(reasons[0]) ||
	    !reasons[reason - FIRST].name)
		return NULL;
	return &reasons[reason - FIRST];
}

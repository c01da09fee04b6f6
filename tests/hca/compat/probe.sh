#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Build-time feature tests, as those of the module (kmod/compat): writes a header with one
# VRNIC_HAVE_* per probe that compiles. Called by Kbuild as: probe.sh OUTPUT COMPILER [FLAGS...]
set -eu

out=$1
shift
work=$(mktemp -d "$out.XXXXXX")
trap 'rm -rf "$work"' EXIT

# compiles COMPILER [FLAGS...]: the probe on standard input, after the headers that all need
compiles() {
	{
		echo '#include <linux/dma-buf.h>'
		echo '#include <rdma/ib_umem.h>'
		echo '#include <rdma/uverbs_ioctl.h>'
		cat
	} >"$work/probe.c"
	"$@" -Werror=implicit-function-declaration -Werror=int-conversion \
		-Werror=incompatible-pointer-types -Wno-unused -Wno-missing-prototypes \
		-c -o "$work/probe.o" "$work/probe.c" >"$work/log" 2>&1
}

# have NAME COMPILER [FLAGS...]
have() {
	name=$1
	shift
	! compiles "$@" || echo "#define VRNIC_HAVE_$name 1" >>"$work/features.h"
}

cat >"$work/features.h" <<'C'
/* SPDX-License-Identifier: GPL-2.0-only */
/* Made by probe.sh. */
C

compiles "$@" <<'C' || { cat "$work/log" >&2; exit 1; }
#if !defined(CONFIG_X86_64) || !IS_ENABLED(CONFIG_INFINIBAND_USER_MEM)
#error it needs x86-64 and CONFIG_INFINIBAND_USER_MEM
#endif
C

# A string compiles everywhere, but older kernels' modules are not linked with it.
have NS_TOKEN "$@" <<'C'
#include <linux/module.h>
MODULE_IMPORT_NS(DMA_BUF);
C

have INVALIDATE_MAPPINGS "$@" <<'C'
void f(struct dma_buf_attachment *attach);
struct dma_buf_attach_ops ops = { .invalidate_mappings = f };
C

have PINNED_REVOCABLE "$@" <<'C'
void f(struct ib_device *dev, void (*revoke)(void *priv))
{
	struct ib_umem_dmabuf *umem;

	umem = ib_umem_dmabuf_get_pinned_revocable_and_lock(dev, 0, 0, 0, 0);
	ib_umem_dmabuf_set_revoke_locked(umem, revoke, NULL);
}
C

have UMEM_GET_VA "$@" <<'C'
struct ib_umem *f(struct ib_device *dev) { return ib_umem_get_va(dev, 0, 0, 0); }
C

have CREATE_CQ_ATTRS "$@" <<'C'
int f(struct ib_cq *cq, const struct ib_cq_init_attr *attr, struct uverbs_attr_bundle *attrs);
struct ib_device_ops ops = { .create_cq = f };
C

have DMAH "$@" <<'C'
struct ib_mr *f(struct ib_pd *pd, u64 start, u64 length, u64 virt, int access,
		struct ib_dmah *dmah, struct ib_udata *udata);
struct ib_device_ops ops = { .reg_user_mr = f };
C

have DMABUF_ATTRS "$@" <<'C'
struct ib_mr *f(struct ib_pd *pd, u64 offset, u64 length, u64 virt, int fd, int access,
		struct uverbs_attr_bundle *attrs);
struct ib_device_ops ops = { .reg_user_mr_dmabuf = f };
C

mv "$work/features.h" "$out"

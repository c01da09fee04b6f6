/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One face for the kernels that the lab has. features.h holds one VRNIC_HAVE_*
 * per probe of probe.sh; each shim names the release it bridges.
 */
#ifndef VRNIC_COMPAT_H
#define VRNIC_COMPAT_H

#include <linux/dma-buf.h>
#include <linux/dma-mapping.h>
#include <rdma/ib_umem.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "features.h"

/*
 * 7.1: dma_buf_attach_ops.move_notify became invalidate_mappings, and the
 * option to do without it (DMABUF_MOVE_NOTIFY) went.
 */
#ifdef VRNIC_HAVE_INVALIDATE_MAPPINGS
#define vrnic_compat_invalidate	invalidate_mappings
#define vrnic_compat_notify	dma_buf_invalidate_mappings
#else
#define vrnic_compat_invalidate	move_notify
#define vrnic_compat_notify	dma_buf_move_notify
#endif

/*
 * 7.1: importers that pin may have the callback; it says that they let go.
 * Before, the core wanted one of every dynamic importer, and nobody was to
 * call it while memory was pinned.
 */
#ifdef VRNIC_HAVE_INVALIDATE_MAPPINGS
#define vrnic_compat_pinned_are_told()		true
#define vrnic_compat_never_called(callback)	(0 ? (callback) : NULL)
#else
#define vrnic_compat_pinned_are_told()		false
#define vrnic_compat_never_called(callback)	(callback)
#endif

/* 6.13, cdd30ebb1b9f ("module: Convert symbol namespace to string literal") */
#ifdef VRNIC_HAVE_NS_TOKEN
#define vrnic_compat_import_dma_buf()	MODULE_IMPORT_NS(DMA_BUF)
#else
#define vrnic_compat_import_dma_buf()	MODULE_IMPORT_NS("DMA_BUF")
#endif

/* 7.2: ib_umem_get() became one of several ways to name memory. */
static inline struct ib_umem *vrnic_compat_umem_get(struct ib_device *dev,
						    u64 start, u64 length,
						    int access)
{
#ifdef VRNIC_HAVE_UMEM_GET_VA
	return ib_umem_get_va(dev, start, length, access);
#else
	return ib_umem_get(dev, start, length, access);
#endif
}

/*
 * 7.1, ib_umem_dmabuf_get_pinned_revocable_and_lock(); some stable kernels
 * have it too. Before, nothing tells an importer that pinned memory goes.
 */
#ifdef VRNIC_HAVE_PINNED_REVOCABLE
#define vrnic_compat_has_revocable()	true

static inline struct ib_umem_dmabuf *
vrnic_compat_get_revocable(struct ib_device *dev, u64 offset, u64 length,
			   int fd, int access)
{
	return ib_umem_dmabuf_get_pinned_revocable_and_lock(dev, offset, length,
							    fd, access);
}

static inline void
vrnic_compat_set_revoke(struct ib_umem_dmabuf *umem,
			void (*revoke)(void *priv), void *priv)
{
	ib_umem_dmabuf_set_revoke_locked(umem, revoke, priv);
}
#else
#define vrnic_compat_has_revocable()	false

static inline struct ib_umem_dmabuf *
vrnic_compat_get_revocable(struct ib_device *dev, u64 offset, u64 length,
			   int fd, int access)
{
	return ERR_PTR(-EOPNOTSUPP);
}

static inline void
vrnic_compat_set_revoke(struct ib_umem_dmabuf *umem,
			void (*revoke)(void *priv), void *priv)
{
}
#endif

/* 6.11: create_cq gets all attributes of the call. */
#ifdef VRNIC_HAVE_CREATE_CQ_ATTRS
typedef struct uverbs_attr_bundle vrnic_compat_cq_attrs_t;

static inline struct ib_udata *
vrnic_compat_cq_udata(vrnic_compat_cq_attrs_t *attrs)
{
	return attrs ? &attrs->driver_udata : NULL;
}
#else
typedef struct ib_udata vrnic_compat_cq_attrs_t;

static inline struct ib_udata *
vrnic_compat_cq_udata(vrnic_compat_cq_attrs_t *attrs)
{
	return attrs;
}
#endif

/*
 * 6.12: reg_user_mr_dmabuf gets all attributes of the call; 6.17: both ways to
 * register get a handle that names how DMA is to be done.
 */
#if defined(VRNIC_HAVE_DMAH)
#define VRNIC_COMPAT_DMAH	struct ib_dmah *dmah,
#define vrnic_compat_no_dmah()	(!dmah)
typedef struct uverbs_attr_bundle vrnic_compat_dmabuf_attrs_t;
#elif defined(VRNIC_HAVE_DMABUF_ATTRS)
#define VRNIC_COMPAT_DMAH
#define vrnic_compat_no_dmah()	true
typedef struct uverbs_attr_bundle vrnic_compat_dmabuf_attrs_t;
#else
#define VRNIC_COMPAT_DMAH
#define vrnic_compat_no_dmah()	true
typedef struct ib_udata vrnic_compat_dmabuf_attrs_t;
#endif

/* Memory that device and user share while both use it: never a copy of it. */
#ifdef DMA_ATTR_REQUIRE_COHERENT
#define VRNIC_COMPAT_SHARED	DMA_ATTR_REQUIRE_COHERENT
#else
#define VRNIC_COMPAT_SHARED	0
#endif

#endif

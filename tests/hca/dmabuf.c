// SPDX-License-Identifier: GPL-2.0-only
/* MRs of DMA-bufs, in the three ways in which drivers of RDMA NICs import them. */
#include <linux/dma-resv.h>
#include <linux/module.h>

#include "vrnic.h"

static const char *const vrnic_modes[] = { "dynamic", "revocable", "pinned", NULL };

static const enum vrnic_mr_kind vrnic_mode_kinds[] = {
	VRNIC_MR_DYNAMIC, VRNIC_MR_REVOCABLE, VRNIC_MR_PINNED,
};

static int vrnic_mode;

static int vrnic_mode_set(const char *value, const struct kernel_param *param)
{
	int mode = sysfs_match_string(vrnic_modes, value);

	if (mode < 0) {
		pr_err("%s: dmabuf_mode is one of dynamic, revocable, pinned\n", VRNIC_NAME);
		return mode;
	}
	WRITE_ONCE(vrnic_mode, mode);
	return 0;
}

static int vrnic_mode_get(char *buffer, const struct kernel_param *param)
{
	return sysfs_emit(buffer, "%s\n", vrnic_modes[READ_ONCE(vrnic_mode)]);
}

static const struct kernel_param_ops vrnic_mode_ops = {
	.set = vrnic_mode_set,
	.get = vrnic_mode_get,
};
module_param_cb(dmabuf_mode, &vrnic_mode_ops, NULL, 0644);
MODULE_PARM_DESC(dmabuf_mode,
		 "how DMA-bufs are imported from now on: dynamic (default), revocable, pinned");

static struct dma_resv *vrnic_dmabuf_resv(struct vrnic_mr *mr)
{
	return to_ib_umem_dmabuf(mr->umem)->attach->dmabuf->resv;
}

/* For an MR of a user's memory too, which no one else changes. */
void vrnic_dmabuf_lock(struct vrnic_mr *mr)
{
	if (mr->kind != VRNIC_MR_USER)
		dma_resv_lock(vrnic_dmabuf_resv(mr), NULL);
}

void vrnic_dmabuf_unlock(struct vrnic_mr *mr)
{
	if (mr->kind != VRNIC_MR_USER)
		dma_resv_unlock(vrnic_dmabuf_resv(mr));
}

/* Of a dynamic MR, locked. */
int vrnic_dmabuf_map(struct vrnic_mr *mr)
{
	int ret = ib_umem_dmabuf_map_pages(to_ib_umem_dmabuf(mr->umem));

	if (!ret)
		ret = vrnic_mr_map(mr);
	mr->mapped = !ret;
	return ret;
}

/*
 * The memory goes, or moves. The device's answer is waited for with the
 * reservation lock held: for as long as the commands before it and this one
 * take, 5 s each at most, and after the first that takes so long all fail
 * at once.
 */
static void vrnic_dmabuf_invalidate(struct dma_buf_attachment *attach)
{
	struct ib_umem_dmabuf *umem = attach->importer_priv;
	struct vrnic_mr *mr = umem->private;

	dma_resv_assert_held(attach->dmabuf->resv);
	if (mr && mr->mapped && !mr->destroyed)
		vrnic_command_obeyed(mr->dev, VRNIC_CMD_UNMAP_MR, mr->key);
	if (mr)
		mr->mapped = false;
	ib_umem_dmabuf_unmap_pages(umem);
}

static const struct dma_buf_attach_ops vrnic_dmabuf_ops = {
	.allow_peer2peer = true,
	.vrnic_compat_invalidate = vrnic_dmabuf_invalidate,
};

static struct vrnic_mr *vrnic_dmabuf_dynamic(struct ib_pd *pd, u64 offset, u64 length, u64 virt,
					     int fd, int access)
{
	struct ib_umem_dmabuf *umem;
	struct vrnic_mr *mr;
	int ret;

	umem = ib_umem_dmabuf_get(pd->device, offset, length, fd, access, &vrnic_dmabuf_ops);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = vrnic_mr_create(pd, &umem->umem, VRNIC_MR_DYNAMIC, virt, access);
	if (IS_ERR(mr)) {
		ib_umem_release(&umem->umem);
		return mr;
	}
	vrnic_dmabuf_lock(mr);
	umem->private = mr;
	ret = vrnic_dmabuf_map(mr);
	vrnic_dmabuf_unlock(mr);
	if (ret) {
		vrnic_mr_free(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

/* Pinned memory that goes all the same. The MR is of no more use, its key stays taken. */
static void vrnic_dmabuf_revoke(void *priv)
{
	struct vrnic_mr *mr = priv;

	vrnic_mr_destroy(mr);
	mr->mapped = false;
}

static struct vrnic_mr *vrnic_dmabuf_revocable(struct ib_pd *pd, u64 offset, u64 length, u64 virt,
					       int fd, int access)
{
	struct ib_umem_dmabuf *umem;
	struct vrnic_mr *mr;
	int ret;

	umem = vrnic_compat_get_revocable(pd->device, offset, length, fd, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = vrnic_mr_create(pd, &umem->umem, VRNIC_MR_REVOCABLE, virt, access);
	if (IS_ERR(mr)) {
		dma_resv_unlock(umem->attach->dmabuf->resv);
		ib_umem_release(&umem->umem);
		return mr;
	}
	vrnic_compat_set_revoke(umem, vrnic_dmabuf_revoke, mr);
	ret = vrnic_mr_map(mr);
	mr->mapped = !ret;
	vrnic_dmabuf_unlock(mr);
	if (ret) {
		vrnic_mr_free(mr);
		return ERR_PTR(ret);
	}
	return mr;
}

static struct vrnic_mr *vrnic_dmabuf_pinned(struct ib_pd *pd, u64 offset, u64 length, u64 virt,
					    int fd, int access)
{
	struct ib_umem_dmabuf *umem;
	struct vrnic_mr *mr;
	int ret;

	umem = ib_umem_dmabuf_get_pinned(pd->device, offset, length, fd, access);
	if (IS_ERR(umem))
		return ERR_CAST(umem);
	mr = vrnic_mr_create(pd, &umem->umem, VRNIC_MR_PINNED, virt, access);
	if (IS_ERR(mr)) {
		ib_umem_release(&umem->umem);
		return mr;
	}
	ret = vrnic_mr_map(mr);
	if (ret) {
		vrnic_mr_free(mr);
		return ERR_PTR(ret);
	}
	mr->mapped = true;
	return mr;
}

static struct vrnic_mr *vrnic_dmabuf_register(struct ib_pd *pd, u64 offset, u64 length, u64 virt,
					      int fd, int access)
{
	switch (vrnic_mode_kinds[READ_ONCE(vrnic_mode)]) {
	case VRNIC_MR_DYNAMIC:
		return vrnic_dmabuf_dynamic(pd, offset, length, virt, fd, access);
	case VRNIC_MR_PINNED:
		return vrnic_dmabuf_pinned(pd, offset, length, virt, fd, access);
	default:
		if (vrnic_compat_has_revocable())
			return vrnic_dmabuf_revocable(pd, offset, length, virt, fd, access);
	}
	dev_notice(pd->device->dma_device,
		   "this kernel cannot revoke pinned DMA-bufs; set %s's parameter dmabuf_mode to dynamic or pinned\n",
		   VRNIC_NAME);
	return ERR_PTR(-EOPNOTSUPP);
}

struct ib_mr *vrnic_reg_user_mr_dmabuf(struct ib_pd *pd, u64 offset, u64 length, u64 virt, int fd,
				       int access,
				       VRNIC_COMPAT_DMAH vrnic_compat_dmabuf_attrs_t *attrs)
{
	struct vrnic_mr *mr;

	if (!vrnic_compat_no_dmah())
		return ERR_PTR(-EOPNOTSUPP);
	mr = vrnic_dmabuf_register(pd, offset, length, virt, fd, access);
	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ib;
}

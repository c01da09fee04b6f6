// SPDX-License-Identifier: GPL-2.0-only
/*
 * One private inode per aperture. Every node that opens the aperture points
 * its f_mapping here, so that one call zaps the mappings made through all of
 * them - nodes made by mknod in a container included - and so that the file
 * system a node lies on has no say in long-term pins.
 */
#include <linux/fs.h>
#include <linux/mount.h>
#include <linux/pseudo_fs.h>

#include "compat/compat.h"
#include "vpeer.h"

#define VPEER_FS_MAGIC 0x76706565

static struct vfsmount *vpeer_mount;

#ifdef VPEER_HAVE_INSERT_PAGE_MKWRITE
struct file *vpeer_compat_pin_file;
#endif

static int vpeer_fs_init_context(struct fs_context *fc)
{
	return init_pseudo(fc, VPEER_FS_MAGIC) ? 0 : -ENOMEM;
}

/*
 * No .owner: the mount lives from module init to exit and must not keep the
 * module from being removed.
 */
static struct file_system_type vpeer_fs_type = {
	.name = "vpeer",
	.init_fs_context = vpeer_fs_init_context,
	.kill_sb = kill_anon_super,
};

struct inode *vpeer_inode_get(void)
{
	struct inode *inode = alloc_anon_inode(vpeer_mount->mnt_sb);

	if (!IS_ERR(inode))
		vpeer_compat_allow_huge_faults(inode);
	return inode;
}

int vpeer_inode_init(void)
{
	int ret = vpeer_compat_fast_pins_init();

	if (ret)
		return ret;
	vpeer_mount = kern_mount(&vpeer_fs_type);
	if (IS_ERR(vpeer_mount))
		vpeer_compat_fast_pins_exit();
	return PTR_ERR_OR_ZERO(vpeer_mount);
}

void vpeer_inode_exit(void)
{
	kern_unmount(vpeer_mount);
	vpeer_compat_fast_pins_exit();
}

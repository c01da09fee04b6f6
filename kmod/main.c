// SPDX-License-Identifier: GPL-2.0-only
/* Module parameters, start and end. */
#include <linux/module.h>
#include <linux/workqueue.h>

#include "compat/compat.h"

#define CREATE_TRACE_POINTS
#include "trace.h"
#include "vpeer.h"

#define VPEER_REVOKE_WAIT_MAX_MS	10000

static int vpeer_wait_set(const char *value, const struct kernel_param *kp)
{
	return param_set_uint_minmax(value, kp, 0, VPEER_REVOKE_WAIT_MAX_MS);
}

static const struct kernel_param_ops vpeer_wait_ops = {
	.set = vpeer_wait_set,
	.get = param_get_uint,
};

unsigned int vpeer_revoke_wait_ms = 2000;
module_param_cb(revoke_wait_ms, &vpeer_wait_ops, &vpeer_revoke_wait_ms, 0644);
MODULE_PARM_DESC(revoke_wait_ms,
		 "longest wait for DMA pins on revoke, detach and removal, in ms (0-10000, default 2000)");

static int vpeer_signal_set(const char *value, const struct kernel_param *kp)
{
	return param_set_uint_minmax(value, kp, 0, _NSIG);
}

static const struct kernel_param_ops vpeer_signal_ops = {
	.set = vpeer_signal_set,
	.get = param_get_uint,
};

unsigned int vpeer_holder_signal;
module_param_cb(holder_signal, &vpeer_signal_ops, &vpeer_holder_signal, 0644);
MODULE_PARM_DESC(holder_signal,
		 "signal sent to processes whose DMA pins outlast revoke_wait_ms when the function leaves (0, the default: none)");

bool vpeer_allow_pinned_importers = true;
module_param_named(allow_pinned_importers, vpeer_allow_pinned_importers, bool,
		   0644);
MODULE_PARM_DESC(allow_pinned_importers,
		 "let drivers import DMA-bufs that they keep when the memory is revoked, from the next import on; mapped pages can be pinned all the same (default Y)");

unsigned long long vpeer_max_bytes_per_user;
module_param_named(max_bytes_per_user, vpeer_max_bytes_per_user, ullong, 0644);
MODULE_PARM_DESC(max_bytes_per_user,
		 "limit of window bytes per user (0, the default: none)");

struct workqueue_struct *vpeer_wq;

static int __init vpeer_init(void)
{
	int ret;

	vpeer_wq = alloc_workqueue("vpeer", WQ_UNBOUND, 0);
	if (!vpeer_wq)
		return -ENOMEM;
	ret = vpeer_inode_init();
	if (ret)
		goto destroy_workqueue;
	ret = vpeer_quarantine_init();
	if (ret)
		goto inode_exit;
	ret = vpeer_chardev_init();
	if (ret)
		goto quarantine_exit;
	vpeer_debugfs_init();
	ret = vpeer_suspend_init();
	if (ret)
		goto chardev_exit;
	ret = vpeer_foreign_init();
	if (ret)
		goto suspend_exit;
	ret = vpeer_bar_init();
	if (ret)
		goto foreign_exit;
	ret = vpeer_control_init();
	if (ret)
		goto bar_exit;
	return 0;

bar_exit:
	vpeer_bar_exit();
foreign_exit:
	vpeer_foreign_exit();
suspend_exit:
	vpeer_suspend_exit();
chardev_exit:
	vpeer_debugfs_exit();
	vpeer_chardev_exit();
quarantine_exit:
	vpeer_quarantine_exit();
inode_exit:
	vpeer_inode_exit();
destroy_workqueue:
	destroy_workqueue(vpeer_wq);
	return ret;
}

static void __exit vpeer_exit(void)
{
	vpeer_control_exit();
	vpeer_bar_exit();
	vpeer_foreign_exit();
	vpeer_suspend_exit();
	vpeer_debugfs_exit();
	vpeer_chardev_exit();
	vpeer_quarantine_exit();
	vpeer_inode_exit();
	destroy_workqueue(vpeer_wq);
}

module_init(vpeer_init);
module_exit(vpeer_exit);

MODULE_DESCRIPTION("Peer-to-peer DMA between GPU BARs and VFs in virtual machines");
MODULE_AUTHOR("The vpeer maintainers");
MODULE_LICENSE("GPL");
MODULE_VERSION(VPEER_VERSION);
vpeer_compat_import_dma_buf();

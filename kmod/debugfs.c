// SPDX-License-Identifier: GPL-2.0-only
/*
 * /sys/kernel/debug/vpeer: a line for each window in vpeerN/windows, and for
 * each range in quarantine; the last field names the processes that hold it.
 */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "vpeer.h"

static struct dentry *vpeer_debugfs_root;

static const char *vpeer_window_state(const struct vpeer_window *w)
{
	if (w->draining)
		return "draining";
	return w->revoked ? "revoked" : "active";
}

static void vpeer_window_show(struct seq_file *m, const struct vpeer_window *w)
{
	seq_printf(m, "%#llx %llu %llu %u %u %s %s %u %lld ",
		   (u64)w->first * VPEER_GRANULE, (u64)w->nr * VPEER_GRANULE,
		   vpeer_window_in_use(w), w->mappings,
		   from_kuid(&init_user_ns, w->uid), vpeer_window_state(w),
		   w->implicit ? "implicit" : "explicit",
		   w->nr_exports, (long long)atomic64_read(&w->mapped));
	vpeer_holders_show(m, &w->holders);
	seq_puts(m, "\n");
}

static int windows_show(struct seq_file *m, void *unused)
{
	struct vpeer_aperture *ap = m->private;
	struct vpeer_window *w;

	seq_puts(m, "offset size pinned mappings uid state kind dmabufs mapped pids\n");
	down_read(&ap->lock);
	list_for_each_entry(w, &ap->windows, node)
		vpeer_window_show(m, w);
	up_read(&ap->lock);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(windows);

static int quarantine_show(struct seq_file *m, void *unused)
{
	seq_puts(m, "function bar start size pinned pids\n");
	vpeer_quarantine_list(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(quarantine);

void vpeer_debugfs_add(struct vpeer_aperture *ap)
{
	struct dentry *dir = debugfs_create_dir(dev_name(&ap->dev),
						vpeer_debugfs_root);

	debugfs_create_file("windows", 0400, dir, ap, &windows_fops);
}

/* Waits for readers, so that none is left when the aperture ends. */
void vpeer_debugfs_remove(struct vpeer_aperture *ap)
{
	debugfs_lookup_and_remove(dev_name(&ap->dev), vpeer_debugfs_root);
}

void vpeer_debugfs_init(void)
{
	vpeer_debugfs_root = debugfs_create_dir("vpeer", NULL);
	debugfs_create_file("quarantine", 0400, vpeer_debugfs_root, NULL,
			    &quarantine_fops);
}

void vpeer_debugfs_exit(void)
{
	debugfs_remove_recursive(vpeer_debugfs_root);
}

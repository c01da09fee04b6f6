// SPDX-License-Identifier: GPL-2.0-only
/*
 * Which of a process's calls into the kernel is to fail, and what the module
 * holds: parameters fail_nth, fail_times, fail_hit and fail_live.
 */
#include <linux/atomic.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

static const char *const fail_names[FAIL_KINDS] = {
	[FAIL_MEMORY] = "memory",
	[FAIL_PAGE] = "pages",
	[FAIL_INODE] = "inodes",
	[FAIL_STRUCT_PAGES] = "struct_pages",
	[FAIL_IO_MAPPING] = "io_mappings",
	[FAIL_MEMORY_TYPE] = "memory_types",
	[FAIL_REGION] = "regions",
	[FAIL_ENABLE] = "enabled",
	[FAIL_INDEX] = "indices",
	[FAIL_NODE] = "nodes",
	[FAIL_TABLE] = "tables",
	[FAIL_DMA] = "dma",
	[FAIL_EVENT] = "events",
};

static atomic_t fail_live[FAIL_KINDS];

static DEFINE_SPINLOCK(fail_lock);
static pid_t fail_process;
static unsigned int fail_nth;
static unsigned int fail_times = 1;
static unsigned int fail_seen;
static unsigned int fail_done;
static char fail_hit[96];

void fail_take(enum fail_kind kind)
{
	atomic_inc(&fail_live[kind]);
}

void fail_give(enum fail_kind kind)
{
	atomic_dec(&fail_live[kind]);
}

/* A driver may be probed by a worker. */
static bool fail_is_meant(void)
{
	return fail_nth && (current->tgid == fail_process || current->flags & PF_WQ_WORKER);
}

/* The nth, and later ones in the same place. */
static bool fail_choose(const char *what, const char *caller)
{
	char call[sizeof(fail_hit)];

	scnprintf(call, sizeof(call), "%s %s", what, caller);
	if (++fail_seen == fail_nth)
		strscpy(fail_hit, call, sizeof(fail_hit));
	if (strcmp(call, fail_hit) || fail_done >= fail_times)
		return false;
	fail_done++;
	return true;
}

bool fail_now(const char *what, const char *caller)
{
	unsigned long flags;
	bool now;

	spin_lock_irqsave(&fail_lock, flags);
	now = fail_is_meant() && fail_choose(what, caller);
	spin_unlock_irqrestore(&fail_lock, flags);
	return now;
}

/* Of the calls of the process that writes it, from now on; 0: none. */
static int fail_nth_set(const char *value, const struct kernel_param *kp)
{
	unsigned long flags;
	unsigned int nth;
	int ret = kstrtouint(value, 0, &nth);

	if (ret)
		return ret;
	spin_lock_irqsave(&fail_lock, flags);
	fail_process = current->tgid;
	fail_nth = nth;
	if (nth) {
		fail_seen = 0;
		fail_done = 0;
		fail_hit[0] = '\0';
	}
	spin_unlock_irqrestore(&fail_lock, flags);
	return 0;
}

static const struct kernel_param_ops fail_nth_ops = {
	.set = fail_nth_set,
	.get = param_get_uint,
};
module_param_cb(fail_nth, &fail_nth_ops, &fail_nth, 0644);
MODULE_PARM_DESC(fail_nth, "which call of the process that writes this is to fail");

module_param(fail_times, uint, 0644);
MODULE_PARM_DESC(fail_times, "how often that call fails, if it is made again in the same place");

static int fail_hit_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", fail_hit);
}

static const struct kernel_param_ops fail_hit_ops = {
	.get = fail_hit_get,
};
module_param_cb(fail_hit, &fail_hit_ops, NULL, 0444);
MODULE_PARM_DESC(fail_hit, "the call that failed, and the function that it was made in");

static int fail_live_get(char *buffer, const struct kernel_param *kp)
{
	int kind, at = 0;

	for (kind = 0; kind < FAIL_KINDS; kind++)
		at += sysfs_emit_at(buffer, at, "%s%s %d", kind ? " " : "", fail_names[kind],
				    atomic_read(&fail_live[kind]));
	return at + sysfs_emit_at(buffer, at, "\n");
}

static const struct kernel_param_ops fail_live_ops = {
	.get = fail_live_get,
};
module_param_cb(fail_live, &fail_live_ops, NULL, 0444);
MODULE_PARM_DESC(fail_live, "what the module holds of each kind");

// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that mapped a window, or registered DMA-bufs of it. A
 * descriptor travels by fork() and SCM_RIGHTS and may be closed while mapping
 * and pin stay, so holders are known by their mm, not by who opened the node.
 * Nor by PID: the processes are looked up when they are asked for, so that one
 * that has ended is never named.
 */
#include <linux/mm.h>
#include <linux/pid_namespace.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "vpeer.h"

struct vpeer_holder {
	struct list_head node;
	struct mm_struct *mm;
};

static bool vpeer_holders_have(const struct list_head *holders,
			       const struct mm_struct *mm)
{
	const struct vpeer_holder *holder;

	list_for_each_entry(holder, holders, node)
		if (holder->mm == mm)
			return true;
	return false;
}

static void vpeer_holder_free(struct vpeer_holder *holder)
{
	list_del(&holder->node);
	mmdrop(holder->mm);
	kfree(holder);
}

/* Address spaces that no process lives in any more cannot be signalled. */
static void vpeer_holders_prune(struct vpeer_window *w)
{
	struct vpeer_holder *holder, *next;

	list_for_each_entry_safe(holder, next, &w->holders, node)
		if (!atomic_read(&holder->mm->mm_users))
			vpeer_holder_free(holder);
}

/**
 * vpeer_holder_add - remember that @mm mapped or registered the window
 * @w: window, its aperture's lock held for writing
 * @mm: address space; its structure is kept while it or the window lives
 *
 * Also called where fork() copies a mapping, which cannot fail.
 */
void vpeer_holder_add(struct vpeer_window *w, struct mm_struct *mm)
{
	struct vpeer_holder *holder;

	vpeer_holders_prune(w);
	if (vpeer_holders_have(&w->holders, mm))
		return;

	holder = kmalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	mmgrab(mm);
	holder->mm = mm;
	list_add(&holder->node, &w->holders);
}

void vpeer_holders_free(struct list_head *holders)
{
	struct vpeer_holder *holder, *next;

	list_for_each_entry_safe(holder, next, holders, node)
		vpeer_holder_free(holder);
}

/**
 * vpeer_holders_take - move the holders of memory that is still held
 * @ap: aperture that is gone, its lock held for writing
 * @holders: where to
 */
void vpeer_holders_take(struct vpeer_aperture *ap, struct list_head *holders)
{
	struct vpeer_window *w;

	list_for_each_entry(w, &ap->windows, node)
		if (vpeer_window_held(w))
			list_splice_tail_init(&w->holders, holders);
}

static bool vpeer_process_holds(struct task_struct *process,
				const struct list_head *holders)
{
	struct task_struct *thread;

	/* Kernel threads borrow address spaces. */
	if (process->flags & PF_KTHREAD)
		return false;
	/* The first thread may have exited before the others. */
	for_each_thread(process, thread) {
		struct mm_struct *mm = READ_ONCE(thread->mm);

		if (mm && vpeer_holders_have(holders, mm))
			return true;
	}
	return false;
}

/**
 * vpeer_holders_show - name the processes that live in the address spaces
 * @m: where to: PIDs with commas between them, or "-"
 * @holders: whose list does not change meanwhile
 *
 * PIDs are the reader's; 0 stands for a process outside its name space.
 */
void vpeer_holders_show(struct seq_file *m, const struct list_head *holders)
{
	struct pid_namespace *ns = task_active_pid_ns(current);
	struct task_struct *process;
	const char *comma = "";

	rcu_read_lock();
	for_each_process(process) {
		if (!vpeer_process_holds(process, holders))
			continue;
		seq_printf(m, "%s%d", comma, task_tgid_nr_ns(process, ns));
		comma = ",";
	}
	rcu_read_unlock();
	if (!*comma)
		seq_puts(m, "-");
}

static bool vpeer_process_holds_any(struct task_struct *process,
				    const struct vpeer_aperture *ap)
{
	const struct vpeer_window *w;

	list_for_each_entry(w, &ap->windows, node)
		if (vpeer_process_holds(process, &w->holders))
			return true;
	return false;
}

/**
 * vpeer_holders_signal - signal every process that mapped or registered a window
 * @ap: aperture
 * @signal: signal number
 */
void vpeer_holders_signal(struct vpeer_aperture *ap, int signal)
{
	struct task_struct *process;

	down_read(&ap->lock);
	rcu_read_lock();
	for_each_process(process)
		if (vpeer_process_holds_any(process, ap))
			kill_pid(task_tgid(process), signal, 1);
	rcu_read_unlock();
	up_read(&ap->lock);
}

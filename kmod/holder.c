// SPDX-License-Identifier: GPL-2.0-only
/*
 * The address spaces that mapped a window, or registered DMA-bufs of it. A
 * descriptor travels by fork() and SCM_RIGHTS and may be closed while mapping
 * and pin stay, so holders are known by their mm, not by who opened the node.
 */
#include <linux/mm.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "vpeer.h"

struct vpeer_holder {
	struct list_head node;
	struct mm_struct *mm;
};

static bool vpeer_window_held_by(struct vpeer_window *w, struct mm_struct *mm)
{
	struct vpeer_holder *holder;

	list_for_each_entry(holder, &w->holders, node)
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
	if (vpeer_window_held_by(w, mm))
		return;

	holder = kmalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	mmgrab(mm);
	holder->mm = mm;
	list_add(&holder->node, &w->holders);
}

void vpeer_holders_free(struct vpeer_window *w)
{
	struct vpeer_holder *holder, *next;

	list_for_each_entry_safe(holder, next, &w->holders, node)
		vpeer_holder_free(holder);
}

static bool vpeer_aperture_held_by(struct vpeer_aperture *ap,
				   struct mm_struct *mm)
{
	struct vpeer_window *w;

	list_for_each_entry(w, &ap->windows, node)
		if (vpeer_window_held_by(w, mm))
			return true;
	return false;
}

static bool vpeer_aperture_held_by_process(struct vpeer_aperture *ap,
					   struct task_struct *process)
{
	struct task_struct *thread;

	/* The first thread may have exited before the others. */
	for_each_thread(process, thread) {
		struct mm_struct *mm = READ_ONCE(thread->mm);

		if (mm && vpeer_aperture_held_by(ap, mm))
			return true;
	}
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
		if (vpeer_aperture_held_by_process(ap, process))
			kill_pid(task_tgid(process), signal, 1);
	rcu_read_unlock();
	up_read(&ap->lock);
}

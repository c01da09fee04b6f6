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
	unsigned int imports;
	bool mapped;		/* once is enough: pins outlast mappings unseen */
};

static struct vpeer_holder *vpeer_holder_find(const struct list_head *holders,
					      const struct mm_struct *mm)
{
	struct vpeer_holder *holder;

	list_for_each_entry(holder, holders, node)
		if (holder->mm == mm)
			return holder;
	return NULL;
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

/* Also called where fork() copies a mapping, which cannot fail. */
static struct vpeer_holder *vpeer_holder_get(struct vpeer_window *w,
					     struct mm_struct *mm)
{
	struct vpeer_holder *holder;

	vpeer_holders_prune(w);
	holder = vpeer_holder_find(&w->holders, mm);
	if (holder)
		return holder;

	holder = kzalloc(sizeof(*holder), GFP_KERNEL_ACCOUNT | __GFP_NOFAIL);
	mmgrab(mm);
	holder->mm = mm;
	list_add(&holder->node, &w->holders);
	return holder;
}

/**
 * vpeer_holder_map - remember that @mm mapped the window
 * @w: window, its aperture's lock held for writing
 * @mm: address space; its structure is kept while it or the window lives
 */
void vpeer_holder_map(struct vpeer_window *w, struct mm_struct *mm)
{
	vpeer_holder_get(w, mm)->mapped = true;
}

/**
 * vpeer_holder_import - remember that @mm has one more importer of the window
 * @w: window, its aperture's lock held for writing
 * @mm: address space, referenced by the caller until vpeer_holder_unimport()
 */
void vpeer_holder_import(struct vpeer_window *w, struct mm_struct *mm)
{
	vpeer_holder_get(w, mm)->imports++;
}

/* The importer is gone. So may be the holder: with its last process, or into quarantine. */
void vpeer_holder_unimport(struct vpeer_window *w, struct mm_struct *mm)
{
	struct vpeer_holder *holder = vpeer_holder_find(&w->holders, mm);

	if (holder && !--holder->imports && !holder->mapped)
		vpeer_holder_free(holder);
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

		if (mm && vpeer_holder_find(holders, mm))
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
		if (w->outlasts && vpeer_process_holds(process, &w->holders))
			return true;
	return false;
}

/**
 * vpeer_holders_signal - signal who mapped or imported what is still held
 * @ap: aperture that is revoked
 * @signal: signal number
 */
void vpeer_holders_signal(struct vpeer_aperture *ap, int signal)
{
	struct task_struct *process;
	struct vpeer_window *w;

	down_write(&ap->lock);
	list_for_each_entry(w, &ap->windows, node)
		w->outlasts = vpeer_window_held(w);
	rcu_read_lock();
	for_each_process(process)
		if (vpeer_process_holds_any(process, ap))
			kill_pid(task_tgid(process), signal, 1);
	rcu_read_unlock();
	up_write(&ap->lock);
}

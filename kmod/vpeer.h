/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * vpeer internal interfaces.
 *
 * Calls go one way: character devices -> route -> window -> aperture ->
 * provider. Lock order: mmap_lock, vpeer_aperture.chunk_lock or the reservation
 * lock of a DMA-buf, vpeer_aperture.lock, .scrub_lock. Memory hotplug's locks
 * nest in chunk_lock only: cgroup attach takes CPU hotplug's lock and then an
 * mmap_lock. Zapping mappings, telling importers and waiting for pins is done
 * without these; suspend does it with the list of apertures locked.
 */
#ifndef _VPEER_H
#define _VPEER_H

#include <linux/atomic.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/dma-resv.h>
#include <linux/eventfd.h>
#include <linux/fs.h>
#include <linux/ioport.h>
#include <linux/list.h>
#include <linux/memremap.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/refcount.h>
#include <linux/rwsem.h>
#include <linux/sizes.h>
#include <linux/uidgid.h>
#include <linux/workqueue.h>

#include "uapi/vpeer_ioctl.h"

#define VPEER_VERSION		"0.1.0"
#define VPEER_GRANULE		PMD_SIZE
#define VPEER_GRANULE_ORDER	(PMD_SHIFT - PAGE_SHIFT)
#define VPEER_CHUNK		((u64)SZ_1G)
#define VPEER_CHUNK_GRANULES	(VPEER_CHUNK / VPEER_GRANULE)
#define VPEER_REAP_PERIOD	(HZ / 10)

/* driver_override that holds functions back from drivers */
#define VPEER_HOLD_DRIVER	"vpeer-quarantine"

/* What a granule's memory holds. */
enum vpeer_content {
	VPEER_CONTENT_UNKNOWN,	/* not written by us since attach */
	VPEER_CONTENT_DIRTY,	/* an earlier window's data */
	VPEER_CONTENT_CLEAN,	/* zeroes */
	VPEER_CONTENT_EXPOSED,	/* in use by its window */
};

struct dma_buf;
struct seq_file;
struct vpeer_window;

struct vpeer_granule {
	struct vpeer_window *window;
	enum vpeer_content content;
};

/* Struct pages of up to 1 GiB of the aperture, made on first claim. */
struct vpeer_chunk {
	struct dev_pagemap *pgmap;	/* NULL while not mapped */
	struct dev_pagemap *dropped;	/* about to be unmapped */
	unsigned long users;		/* granules claimed, mapped or not yet */
	unsigned long idle_since;	/* jiffies when users became 0 */
};

#define VPEER_ASLEEP_RESET	(1U << 0)
#define VPEER_ASLEEP_ERROR	(1U << 1)	/* until the bus has recovered */
#define VPEER_ASLEEP_SUSPEND	(1U << 2)

/* Reservation of a range's memory type. */
struct vpeer_memtype {
	resource_size_t base;
	u64 size;
	bool uncached;		/* else write-combining */
	void __iomem *anchor;	/* holds it for register BARs */
};

/* Time of one read; 0 where it is not known. */
struct vpeer_access {
	u64 memory_ns;
	u64 config_ns;
	bool trapped;		/* by the VMM, which has not mapped the BAR */
};

struct vpeer_stats {
	atomic64_t faults_4k;
	atomic64_t faults_2m;
	atomic64_t bytes_scrubbed;
	atomic64_t revocations;
	atomic64_t mappings;
	atomic64_t dmabufs;
	atomic64_t dmabuf_maps;
	atomic64_t dmabuf_bytes_mapped;
};

/**
 * struct vpeer_aperture - the memory that windows are cut from
 * @dev: class device vpeerN; its reference count is the aperture's
 * @cdev: the node /dev/vpeerN
 * @node: entry of the list of all apertures
 * @pdev: the PCI function, referenced
 * @inode: private inode behind every node's f_mapping
 * @foreign: a range of the BAR that root shared; the function's driver stays
 * @base: physical address of the aperture's start
 * @bar_offset: where in the BAR that is
 * @access: what a read takes; does not change
 * @lock: guards @gone, @asleep, @granules, @chunks, @windows and all windows
 * @gone: no new users: detached or unplugged
 * @asleep: no new users for now, for these causes (VPEER_ASLEEP_*)
 * @chunk_lock: serialises making and dropping of struct pages
 * @scrub_lock: serialises zeroing of granules
 * @reap: releases drained windows and idle chunks
 */
struct vpeer_aperture {
	struct device dev;
	struct cdev cdev;
	struct list_head node;
	struct pci_dev *pdev;
	struct inode *inode;
	u8 bar;
	bool foreign;
	bool override_set;	/* by attach, in place of @override */
	char *override;
	resource_size_t base;
	u64 bar_offset;
	u64 size;
	struct vpeer_memtype memtype;
	struct vpeer_access access;

	struct rw_semaphore lock;
	bool gone;
	unsigned int asleep;
	unsigned long nr_granules;
	unsigned long nr_free;
	struct vpeer_granule *granules;
	struct vpeer_chunk *chunks;
	struct list_head windows;
	unsigned int nr_windows;

	struct mutex chunk_lock;	/* serialises making and dropping chunks */
	struct mutex scrub_lock;	/* serialises zeroing */
	struct delayed_work reap;
	struct vpeer_stats stats;
};

/**
 * struct vpeer_file - one open file description of /dev/vpeerN
 * @ap: its aperture
 * @filp: itself
 * @windows: the windows it owns; guarded by the aperture's lock
 * @event: the program's, signalled when one is revoked, or NULL; guarded
 *	likewise, as is @added
 * @added: those of libraries, signalled when a generation has changed
 * @slots: generation slots in use
 * @generation_page: page user space maps read-only
 * @generations: the page's address
 */
struct vpeer_file {
	struct vpeer_aperture *ap;
	struct file *filp;
	struct list_head windows;
	struct eventfd_ctx *event;
	struct eventfd_ctx *added[VPEER_MAX_EVENTFDS];
	unsigned int nr_added;
	kuid_t uid;
	DECLARE_BITMAP(slots, VPEER_MAX_WINDOWS);
	struct page *generation_page;
	u64 *generations;
};

/**
 * struct vpeer_window - granules claimed by one open file
 * @refs: one for the claim, one per VMA, one per DMA-buf
 * @node: entry of vpeer_aperture.windows
 * @owned: entry of vpeer_file.windows
 * @owner: NULL once released
 * @holders: address spaces that mapped it, or registered its DMA-bufs
 * @exports: its DMA-bufs
 * @mapped: bytes of them that importers have mapped
 * @kept: of these, bytes of importers that take no notice of a revocation
 * @claimed: false once the granules were given back
 * @draining: released, waits for the last pin; holds a module reference
 * @outlasts: still held after the wait; for vpeer_holders_signal() alone
 */
struct vpeer_window {
	refcount_t refs;
	struct vpeer_aperture *ap;
	struct list_head node;
	struct list_head owned;
	struct list_head holders;
	struct list_head exports;
	atomic64_t mapped;
	atomic64_t kept;
	struct vpeer_file *owner;
	unsigned long first;
	unsigned long nr;
	unsigned int slot;
	unsigned int mappings;
	unsigned int nr_exports;
	enum vpeer_cause cause;
	kuid_t uid;
	bool implicit;
	bool revoked;
	bool claimed;
	bool draining;
	bool outlasts;
};

/**
 * struct vpeer_export - part of a window as a DMA-buf
 * @refs: one for the DMA-buf, one for who revokes it
 * @node: entry of vpeer_window.exports
 * @told: entry of a revocation's list, until its importers are told
 * @w: window, referenced
 * @filp: the owner's open file, referenced until the DMA-buf is released; so
 *	window and aperture stay
 * @offset: in the aperture
 * @size: bytes
 * @resv: reservation object of the DMA-buf, which it outlives
 * @dmabuf: NULL once released; guarded by @resv
 * @fence: all that were there when importers were told, or unmapped later;
 *	guarded, as the next two, by the aperture's lock
 * @fences_lost: they could not be noted
 * @fenced: its pages are held until they signal; see vpeer_fences_hold()
 * @fence_poll: looks whether they did
 */
struct vpeer_export {
	refcount_t refs;
	struct list_head node;
	struct list_head told;
	struct vpeer_window *w;
	struct file *filp;
	u64 offset;
	u64 size;
	struct dma_resv resv;
	struct dma_buf *dmabuf;
	struct dma_fence *fence;
	bool fences_lost;
	bool fenced;
	struct delayed_work fence_poll;
};

/* Tunables, main.c */
extern bool vpeer_allow_pinned_importers;
extern unsigned int vpeer_revoke_wait_ms;
extern unsigned int vpeer_holder_signal;
extern unsigned long long vpeer_max_bytes_per_user;
extern struct workqueue_struct *vpeer_wq;

/* reason.c */
int vpeer_refuse(u32 *reason, enum vpeer_reason why);
const char *vpeer_reason_text(enum vpeer_reason why);

/* access.c */
void vpeer_access_measure(struct vpeer_aperture *ap);

/* memtype.c */
int vpeer_memtype_reserve(struct vpeer_memtype *type, resource_size_t base,
			  u64 size, bool uncached);
void vpeer_memtype_free(struct vpeer_memtype *type);

/* What an aperture is made of. */
struct vpeer_aperture_spec {
	struct pci_dev *pdev;
	u8 bar;
	u64 offset;	/* in the BAR */
	u64 size;
	bool foreign;
	bool clean;	/* the memory holds no one's data */
};

/* aperture.c */
enum vpeer_reason
vpeer_aperture_create(const struct vpeer_aperture_spec *spec,
		      struct vpeer_aperture **created);
void vpeer_aperture_destroy(struct vpeer_aperture *ap);
int vpeer_aperture_usable(const struct vpeer_aperture *ap, u32 *reason);
int vpeer_aperture_contains(const struct vpeer_aperture *ap, u64 offset,
			    u64 size, u32 *reason);
u64 vpeer_aperture_pinned(struct vpeer_aperture *ap);
u64 vpeer_aperture_sleep(struct vpeer_aperture *ap, unsigned int why,
			 enum vpeer_cause cause);
void vpeer_aperture_wake(struct vpeer_aperture *ap, unsigned int why);

/* revoke.c */
void vpeer_window_revoke(struct vpeer_window *w, enum vpeer_cause cause,
			 struct list_head *exports);
void vpeer_window_stop(struct vpeer_window *w, struct list_head *exports);
bool vpeer_aperture_stop(struct vpeer_aperture *ap, enum vpeer_cause cause,
			 bool leave);
u64 vpeer_window_wait(struct vpeer_window *w, unsigned int wait_ms);
int vpeer_aperture_revoke_all(struct vpeer_aperture *ap, enum vpeer_cause cause,
			      unsigned int wait_ms, u64 *pinned);
void vpeer_aperture_evict(struct vpeer_aperture *ap, enum vpeer_cause cause);
void vpeer_aperture_hold_fenced(struct vpeer_aperture *ap);

/* sysfs.c */
extern const struct attribute_group *vpeer_aperture_groups[];

static inline struct vpeer_aperture *vpeer_from_dev(struct device *dev)
{
	return container_of(dev, struct vpeer_aperture, dev);
}

/* inode.c */
int vpeer_inode_init(void);
void vpeer_inode_exit(void);
struct inode *vpeer_inode_get(void);

/* chunk.c */
void vpeer_chunks_claim(struct vpeer_aperture *ap, unsigned long first,
			unsigned long nr);
int vpeer_chunks_make(struct vpeer_aperture *ap, unsigned long first,
		      unsigned long nr);
void vpeer_chunks_release(struct vpeer_aperture *ap, unsigned long first,
			  unsigned long nr);
bool vpeer_chunks_reap(struct vpeer_aperture *ap);
unsigned long vpeer_nr_chunks(const struct vpeer_aperture *ap);
void vpeer_chunk_unmap(struct dev_pagemap *pgmap);
bool vpeer_pages_exist(resource_size_t base, u64 size);
bool vpeer_granule_mapped(const struct vpeer_aperture *ap,
			  unsigned long granule);
u64 vpeer_chunk_held(const struct vpeer_chunk *chunk);
u64 vpeer_chunks_held(const struct vpeer_aperture *ap, unsigned long first,
		      unsigned long nr);
void vpeer_scrub(struct vpeer_aperture *ap, unsigned long granule);

/* pin.c */
struct page *vpeer_page(const struct vpeer_aperture *ap, u64 offset);
u64 vpeer_granules_held(resource_size_t base, unsigned long nr);
u64 vpeer_wait_held(u64 (*held)(void *context), void *context,
		    unsigned int wait_ms, bool killable);
u64 vpeer_granules_pinned(const struct vpeer_aperture *ap,
			  unsigned long first, unsigned long nr);
bool vpeer_range_hold(const struct vpeer_aperture *ap, u64 offset, u64 size);
void vpeer_range_drop(const struct vpeer_aperture *ap, u64 offset, u64 size);

/* window.c */
struct vpeer_window *vpeer_window_claim(struct vpeer_file *file,
					unsigned long first, unsigned long nr,
					bool implicit, u32 *reason);
struct vpeer_window *vpeer_window_find(struct vpeer_file *file, u64 offset);
struct vpeer_window *vpeer_window_next(struct vpeer_file *file, u64 offset);
bool vpeer_window_reaches(const struct vpeer_window *w, u64 offset);
void vpeer_window_release(struct vpeer_window *w);
void vpeer_window_unused(struct vpeer_window *w);
void vpeer_window_unmapped(struct vpeer_window *w);
void vpeer_window_unclaim(struct vpeer_window *w);
bool vpeer_windows_reap(struct vpeer_aperture *ap);
u64 vpeer_window_held(const struct vpeer_window *w);
u64 vpeer_window_pinned(const struct vpeer_window *w);
u64 vpeer_window_in_use(const struct vpeer_window *w);
void vpeer_window_put(struct vpeer_window *w);
void vpeer_file_windows_release(struct vpeer_file *file);

/* window_ioctl.c */
int vpeer_ioctl_window_alloc(void *context, void *arg);
int vpeer_ioctl_window_free(void *context, void *arg);
int vpeer_ioctl_window_revoke(void *context, void *arg);
int vpeer_ioctl_window_info(void *context, void *arg);
int vpeer_chunk_refuse(u32 *reason, int error);

/* fence.c */
void vpeer_fences_init(struct vpeer_export *x);
bool vpeer_export_fenced(struct vpeer_export *x);
void vpeer_fences_note(struct vpeer_export *x);
void vpeer_fences_hold(struct vpeer_export *x);
void vpeer_fences_end(struct vpeer_export *x);

/* generation.c */
int vpeer_generation_init(struct vpeer_file *file);
void vpeer_generation_exit(struct vpeer_file *file);
int vpeer_generation_take(struct vpeer_file *file);
void vpeer_generation_bump(struct vpeer_file *file, unsigned int slot);
void vpeer_generation_unmap(struct vpeer_file *file, unsigned int slot);
void vpeer_generation_give(struct vpeer_file *file, unsigned int slot);
int vpeer_generation_mmap(struct vpeer_file *file, struct vm_area_struct *vma);

/* user.c */
int vpeer_user_charge(kuid_t uid, u64 bytes);
void vpeer_user_uncharge(kuid_t uid, u64 bytes);

/* holder.c */
void vpeer_holder_map(struct vpeer_window *w, struct mm_struct *mm);
void vpeer_holder_import(struct vpeer_window *w, struct mm_struct *mm);
void vpeer_holder_unimport(struct vpeer_window *w, struct mm_struct *mm);
void vpeer_holders_free(struct list_head *holders);
void vpeer_holders_take(struct vpeer_aperture *ap, struct list_head *holders);
void vpeer_holders_show(struct seq_file *m, const struct list_head *holders);
void vpeer_holders_signal(struct vpeer_aperture *ap, int signal);

/* route_pages.c */
int vpeer_pages_mmap(struct vpeer_file *file, struct vm_area_struct *vma);
int vpeer_pages_mmap_window(struct vpeer_window *w, struct vm_area_struct *vma);

/* export.c */
struct vpeer_dmabuf_call {
	struct vpeer_dmabuf arg;	/* what user space sees */
	struct dma_buf *dmabuf;
};

int vpeer_ioctl_dmabuf(void *context, void *arg);
void vpeer_ioctl_dmabuf_end(void *arg, bool good);
void vpeer_export_put(struct vpeer_export *x);
void vpeer_export_release(struct vpeer_export *x);

/* reach.c */
bool vpeer_translates(struct device *dev);
u64 vpeer_dma_reach(struct device *dev);
enum vpeer_reason vpeer_reach_check(struct device *dev, phys_addr_t last);

/* route_dmabuf.c */
struct dma_buf *vpeer_dmabuf_create(struct vpeer_export *x);
void vpeer_dmabuf_tell(struct vpeer_export *x);

/* event.c */
int vpeer_ioctl_event(void *context, void *arg);
void vpeer_event_signal(struct vpeer_file *file);
void vpeer_event_signal_added(struct vpeer_file *file);
void vpeer_event_exit(struct vpeer_file *file);

/* path_function.c */
bool vpeer_path_keeps_domain(const struct pci_dev *pdev);
struct pci_dev *vpeer_path_whole(struct pci_dev *pdev);
struct pci_dev *vpeer_path_above(struct pci_dev *pdev);
void vpeer_path_registers(struct pci_dev *pdev, struct pci_dev *whole,
			  struct vpeer_path_function *at);
void vpeer_path_driver(struct pci_dev *pdev, struct vpeer_path_function *at);

/* path_report.c */
int vpeer_ioctl_path_report(void *context, void *arg);

/* quarantine.c */
int vpeer_quarantine_init(void);
void vpeer_quarantine_exit(void);
void vpeer_quarantine_drain(void);
u64 vpeer_quarantine_add(struct vpeer_aperture *ap);
bool vpeer_quarantine_holds(resource_size_t start, u64 size);
u64 vpeer_quarantine_pinned(struct pci_dev *pdev);
u64 vpeer_quarantine_held(void);
void vpeer_quarantine_take_region(struct pci_dev *pdev);
ssize_t vpeer_quarantine_show(char *buf);
void vpeer_quarantine_list(struct seq_file *m);

/* bar_check.c */
int vpeer_bar_check(struct pci_dev *pdev, u8 *bar, bool force, u32 *reason);
int vpeer_bar_refuse(struct pci_dev *pdev, u8 bar, u32 *reason,
		     enum vpeer_reason why);

/* foreign.c */
int vpeer_foreign_attach(struct pci_dev *pdev, struct vpeer_attach *arg);
bool vpeer_foreign_detach(struct pci_dev *pdev);
int vpeer_foreign_init(void);
void vpeer_foreign_exit(void);

/* registry.c */
void vpeer_registry_add(struct vpeer_aperture *ap);
void vpeer_registry_start_asleep(unsigned int causes);
void vpeer_registry_remove(struct vpeer_aperture *ap);
void vpeer_registry_ended(void);
unsigned int vpeer_registry_nr_ending(void);
struct vpeer_aperture *vpeer_registry_take_foreign(struct pci_dev *pdev);
bool vpeer_registry_overlaps(resource_size_t start, u64 size);
int vpeer_registry_visit(int (*visit)(struct vpeer_aperture *ap));

/* suspend.c */
int vpeer_suspend_init(void);
void vpeer_suspend_exit(void);

/* provider_bar.c */
int vpeer_bar_init(void);
void vpeer_bar_exit(void);
bool vpeer_bar_owns(const struct pci_dev *pdev);
int vpeer_bar_attach(struct vpeer_attach *arg);
int vpeer_bar_detach(struct vpeer_detach *arg);

/* chardev.c, control.c, ioctl.c */
int vpeer_chardev_init(void);
void vpeer_chardev_exit(void);
int vpeer_chardev_add(struct vpeer_aperture *ap);
unsigned int vpeer_chardev_index(const struct vpeer_aperture *ap);
void vpeer_chardev_remove(struct vpeer_aperture *ap);
int vpeer_control_init(void);
void vpeer_control_exit(void);

struct vpeer_ioctl {
	unsigned int cmd;
	size_t size;
	int (*handler)(void *context, void *arg);
	/* After a handler's success: did user space get the result? */
	void (*end)(void *arg, bool good);
};

long vpeer_ioctl_run(const struct vpeer_ioctl *table, size_t nr,
		     unsigned int cmd, void __user *uarg, void *context);
int vpeer_ioctl_query(void *context, void *arg);

/* debugfs.c */
void vpeer_debugfs_init(void);
void vpeer_debugfs_exit(void);
void vpeer_debugfs_add(struct vpeer_aperture *ap);
void vpeer_debugfs_remove(struct vpeer_aperture *ap);

#endif /* _VPEER_H */

// SPDX-License-Identifier: GPL-2.0-only
/* Apertures: creation, sleep, teardown. */
#include <linux/slab.h>

#include "trace.h"
#include "vpeer.h"

u64 vpeer_aperture_pinned(struct vpeer_aperture *ap)
{
	struct vpeer_window *w;
	u64 pinned = 0;

	down_read(&ap->lock);
	list_for_each_entry(w, &ap->windows, node)
		if (!ap->gone)
			pinned += vpeer_window_pinned(w);
	up_read(&ap->lock);
	return pinned;
}

static void vpeer_reap_work(struct work_struct *work)
{
	struct vpeer_aperture *ap = container_of(to_delayed_work(work),
						 struct vpeer_aperture, reap);
	bool more = false;

	/* Teardown looks after the rest. */
	if (READ_ONCE(ap->gone))
		return;
	mutex_lock(&ap->chunk_lock);
	down_write(&ap->lock);
	more = vpeer_windows_reap(ap);
	up_write(&ap->lock);
	more |= vpeer_chunks_reap(ap);
	mutex_unlock(&ap->chunk_lock);

	if (more)
		queue_delayed_work(vpeer_wq, &ap->reap, VPEER_REAP_PERIOD);
}

/**
 * vpeer_aperture_usable - can windows be claimed now
 * @ap: aperture, its lock held
 * @reason: where to note why not; may be NULL
 */
int vpeer_aperture_usable(const struct vpeer_aperture *ap, u32 *reason)
{
	if (ap->gone)
		return vpeer_refuse(reason, VPEER_REASON_GONE);
	if (ap->asleep)
		return vpeer_refuse(reason, VPEER_REASON_ASLEEP);
	if (ap->access.trapped)
		return vpeer_refuse(reason, VPEER_REASON_TRAPPED);
	return 0;
}

/* Does a range lie in the aperture? If not, notes why and gives the errno. */
int vpeer_aperture_contains(const struct vpeer_aperture *ap, u64 offset,
			    u64 size, u32 *reason)
{
	if (offset < ap->size && size <= ap->size - offset)
		return 0;
	return vpeer_refuse(reason, ap->foreign ? VPEER_REASON_NOT_GRANTED :
					VPEER_REASON_BEYOND_END);
}

/* The memory may be lost: what was zeroed has to be zeroed again. */
static void vpeer_contents_forget(struct vpeer_aperture *ap)
{
	unsigned long i;

	for (i = 0; i < ap->nr_granules; i++)
		if (ap->granules[i].content == VPEER_CONTENT_CLEAN)
			ap->granules[i].content = VPEER_CONTENT_UNKNOWN;
}

/**
 * vpeer_aperture_sleep - revoke every window and take no new ones
 * @ap: aperture
 * @why: VPEER_ASLEEP_*; vpeer_aperture_wake() ends it
 * @cause: what windows' owners are told
 *
 * When it returns no CPU accesses the memory, not even to zero it.
 *
 * Return: bytes that initiators still hold after the bounded wait.
 */
u64 vpeer_aperture_sleep(struct vpeer_aperture *ap, unsigned int why,
			 enum vpeer_cause cause)
{
	u64 held = 0;

	down_write(&ap->lock);
	ap->asleep |= why;
	vpeer_contents_forget(ap);
	up_write(&ap->lock);

	vpeer_aperture_revoke_all(ap, cause, READ_ONCE(vpeer_revoke_wait_ms),
				  &held);
	return held;
}

void vpeer_aperture_wake(struct vpeer_aperture *ap, unsigned int why)
{
	down_write(&ap->lock);
	ap->asleep &= ~why;
	up_write(&ap->lock);
}

static void vpeer_aperture_free(struct device *dev)
{
	struct vpeer_aperture *ap = vpeer_from_dev(dev);

	iput(ap->inode);
	pci_dev_put(ap->pdev);
	kvfree(ap->granules);
	kvfree(ap->chunks);
	kfree(ap->override);
	kfree(ap);
}

static int vpeer_aperture_tables(struct vpeer_aperture *ap, bool clean)
{
	unsigned long i;

	ap->nr_granules = ap->size / VPEER_GRANULE;
	ap->nr_free = ap->nr_granules;
	ap->granules = kvcalloc(ap->nr_granules, sizeof(*ap->granules),
				GFP_KERNEL);
	ap->chunks = kvcalloc(vpeer_nr_chunks(ap), sizeof(*ap->chunks),
			      GFP_KERNEL);
	if (!ap->granules || !ap->chunks)
		return -ENOMEM;

	for (i = 0; clean && i < ap->nr_granules; i++)
		ap->granules[i].content = VPEER_CONTENT_CLEAN;
	return 0;
}

static void vpeer_aperture_setup(struct vpeer_aperture *ap,
				 const struct vpeer_aperture_spec *spec)
{
	device_initialize(&ap->dev);
	ap->dev.release = vpeer_aperture_free;
	ap->pdev = pci_dev_get(spec->pdev);
	ap->bar = spec->bar;
	ap->foreign = spec->foreign;
	ap->base = pci_resource_start(spec->pdev, spec->bar) + spec->offset;
	ap->bar_offset = spec->offset;
	ap->size = spec->size;
	init_rwsem(&ap->lock);
	mutex_init(&ap->chunk_lock);
	mutex_init(&ap->scrub_lock);
	INIT_LIST_HEAD(&ap->windows);
	INIT_DELAYED_WORK(&ap->reap, vpeer_reap_work);
}

static struct vpeer_aperture *
vpeer_aperture_alloc(const struct vpeer_aperture_spec *spec)
{
	struct vpeer_aperture *ap = kzalloc(sizeof(*ap), GFP_KERNEL);
	struct inode *inode;

	if (!ap)
		return NULL;
	inode = vpeer_inode_get();
	if (IS_ERR(inode)) {
		kfree(ap);
		return NULL;
	}
	ap->inode = inode;
	vpeer_aperture_setup(ap, spec);
	return ap;
}

static void vpeer_windows_unclaim(struct vpeer_aperture *ap)
{
	struct vpeer_window *w, *next;

	list_for_each_entry_safe(w, next, &ap->windows, node) {
		/* An owner that is still there keeps a window without memory. */
		if (w->owner)
			refcount_inc(&w->refs);
		vpeer_window_unclaim(w);
	}
}

/* Off the list, node gone; returns what went into quarantine. */
static u64 vpeer_aperture_end(struct vpeer_aperture *ap, enum vpeer_cause cause)
{
	u64 pinned;

	vpeer_aperture_evict(ap, cause);
	vpeer_aperture_hold_fenced(ap);
	cancel_delayed_work_sync(&ap->reap);

	pinned = vpeer_quarantine_add(ap);
	vpeer_registry_ended();
	down_write(&ap->lock);
	vpeer_windows_unclaim(ap);
	up_write(&ap->lock);
	return pinned;
}

/* The range's pages and memory type are reserved; fails for want of memory. */
static int vpeer_aperture_publish(struct vpeer_aperture *ap)
{
	int ret;

	vpeer_registry_add(ap);
	ret = vpeer_chardev_add(ap);
	if (!ret)
		return 0;
	/* The node may have been open for a moment. */
	vpeer_registry_remove(ap);
	vpeer_aperture_end(ap, VPEER_CAUSE_DETACHED);
	return ret;
}

static enum vpeer_reason vpeer_aperture_reserve(struct vpeer_aperture *ap)
{
	bool memory = pci_resource_flags(ap->pdev, ap->bar) &
		      IORESOURCE_PREFETCH;
	int ret;

	if (!ap->foreign && pci_request_region(ap->pdev, ap->bar, "vpeer"))
		return VPEER_REASON_REGION_BUSY;
	ret = vpeer_memtype_reserve(&ap->memtype, ap->base, ap->size, !memory);
	if (!ret) {
		if (memory)
			vpeer_access_measure(ap);
		return VPEER_REASON_NONE;
	}
	if (!ap->foreign)
		pci_release_region(ap->pdev, ap->bar);
	return ret == -EBUSY ? VPEER_REASON_MEMORY_TYPE :
			       VPEER_REASON_NO_MEMORY;
}

/**
 * vpeer_aperture_create - make an aperture and its node
 * @spec: what of
 * @created: the aperture; vpeer_aperture_destroy() ends it
 *
 * Return: VPEER_REASON_NONE or why not.
 */
enum vpeer_reason
vpeer_aperture_create(const struct vpeer_aperture_spec *spec,
		      struct vpeer_aperture **created)
{
	struct vpeer_aperture *ap = vpeer_aperture_alloc(spec);
	enum vpeer_reason why = VPEER_REASON_NO_MEMORY;

	if (!ap)
		return why;
	if (vpeer_aperture_tables(ap, spec->clean))
		goto put_aperture;
	why = vpeer_aperture_reserve(ap);
	if (why)
		goto put_aperture;
	if (vpeer_aperture_publish(ap)) {
		why = VPEER_REASON_NO_MEMORY;
		goto put_aperture;
	}
	vpeer_debugfs_add(ap);
	trace_vpeer_attach(ap, 0, ap->size);
	*created = ap;
	return VPEER_REASON_NONE;

put_aperture:
	put_device(&ap->dev);
	return why;
}

/**
 * vpeer_aperture_destroy - end an aperture
 * @ap: aperture
 *
 * What is still pinned after the bounded wait goes into quarantine, with the
 * BAR's region if it is owned; otherwise the region is released.
 */
void vpeer_aperture_destroy(struct vpeer_aperture *ap)
{
	enum vpeer_cause cause = pci_device_is_present(ap->pdev) ?
				 VPEER_CAUSE_DETACHED : VPEER_CAUSE_UNPLUGGED;
	u64 pinned;

	vpeer_registry_remove(ap);
	vpeer_debugfs_remove(ap);
	/* The node is still there until no window can be had. */
	vpeer_aperture_stop(ap, cause, true);
	vpeer_chardev_remove(ap);
	pinned = vpeer_aperture_end(ap, cause);
	trace_vpeer_detach(ap, 0, ap->size, pinned);
	put_device(&ap->dev);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory that initiators still hold pinned when its aperture ends. Pages, BAR
 * range and module stay until the last pin drops, and the memory is neither
 * zeroed nor used again, since a device may still write to it.
 *
 * When the function leaves the bus, its BAR's place in the resource tree is
 * taken over. The kernel may still rebuild the bridge window above and hand
 * the same addresses to a new function, so no driver may bind to functions
 * that arrive on that bus meanwhile.
 */
#include <linux/ioport.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pm_runtime.h>
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "compat/compat.h"
#include "trace.h"
#include "vpeer.h"

#define VPEER_QUARANTINE_POLL	(HZ / 2)

struct vpeer_quarantine {
	struct list_head node;
	struct pci_dev *pdev;
	u8 bar;
	bool region;		/* the BAR's region is ours */
	bool awake;		/* a reference of runtime power management is ours */
	bool held;		/* pdev has left: its place is held back */
	bool lift;		/* while a bridge leaves: hold moves up */
	struct resource hold;	/* stands in for the BAR meanwhile, if not a VF's */
	struct vpeer_memtype memtype;
	struct list_head holders;
	resource_size_t bar_start;
	resource_size_t base;
	u64 size;
	unsigned long nr_chunks;
	struct vpeer_chunk chunks[];
};

static LIST_HEAD(quarantine);
static DEFINE_MUTEX(quarantine_lock);
/* Outer lock: what attach and readers find gone is gone for good. */
static DEFINE_MUTEX(quarantine_drain_lock);

static void vpeer_quarantine_work(struct work_struct *work);
static DECLARE_DELAYED_WORK(quarantine_poll, vpeer_quarantine_work);

static u64 vpeer_entry_pinned(const struct vpeer_quarantine *q)
{
	unsigned long i;
	u64 pinned = 0;

	for (i = 0; i < q->nr_chunks; i++)
		if (q->chunks[i].pgmap)
			pinned += vpeer_chunk_held(&q->chunks[i]);
	return pinned;
}

/* Unmap what no one holds any more; true if nothing is left. */
static bool vpeer_entry_drain(struct vpeer_quarantine *q)
{
	bool empty = true;
	unsigned long i;

	for (i = 0; i < q->nr_chunks; i++) {
		if (!q->chunks[i].pgmap)
			continue;
		if (vpeer_chunk_held(&q->chunks[i])) {
			empty = false;
			continue;
		}
		vpeer_chunk_unmap(q->chunks[i].pgmap);
		q->chunks[i].pgmap = NULL;
	}
	return empty;
}

static void vpeer_entry_take(struct vpeer_quarantine *q,
			     struct vpeer_aperture *ap)
{
	unsigned long i;

	mutex_lock(&ap->chunk_lock);
	down_write(&ap->lock);
	vpeer_holders_take(ap, &q->holders);
	for (i = 0; i < q->nr_chunks; i++) {
		q->chunks[i] = ap->chunks[i];
		ap->chunks[i].pgmap = NULL;
	}
	up_write(&ap->lock);
	mutex_unlock(&ap->chunk_lock);
}

static struct vpeer_quarantine *vpeer_entry_create(struct vpeer_aperture *ap)
{
	unsigned long nr = vpeer_nr_chunks(ap);
	struct vpeer_quarantine *q;

	/* Giving up here would free pages that devices write to. */
	q = kvzalloc(struct_size(q, chunks, nr), GFP_KERNEL | __GFP_NOFAIL);
	INIT_LIST_HEAD(&q->holders);
	q->pdev = pci_dev_get(ap->pdev);
	q->bar = ap->bar;
	q->region = !ap->foreign;
	/* Its driver must not let it sleep while others reach its memory. */
	q->awake = ap->foreign;
	if (q->awake)
		pm_runtime_get_noresume(&q->pdev->dev);
	q->memtype = ap->memtype;
	q->bar_start = ap->base - ap->bar_offset;
	q->base = ap->base;
	q->size = ap->size;
	q->nr_chunks = nr;
	/* Before the windows that are taken over give theirs back. */
	__module_get(THIS_MODULE);
	return q;
}

static void vpeer_entry_free(struct vpeer_quarantine *q)
{
	if (q->awake)
		pm_runtime_put(&q->pdev->dev);
	vpeer_holders_free(&q->holders);
	pci_dev_put(q->pdev);
	kvfree(q);
	module_put(THIS_MODULE);
}

/**
 * vpeer_quarantine_add - take over what of an ended aperture is still held
 * @ap: aperture without users
 *
 * Chunks that no one holds are unmapped. If none is left the region of an
 * owned BAR is released.
 *
 * Return: bytes still held.
 */
u64 vpeer_quarantine_add(struct vpeer_aperture *ap)
{
	struct vpeer_quarantine *q = vpeer_entry_create(ap);
	u64 pinned;

	vpeer_entry_take(q, ap);
	/* Page table walkers that saw the last mappings have dropped theirs. */
	synchronize_rcu();
	if (vpeer_entry_drain(q)) {
		vpeer_memtype_free(&q->memtype);
		if (q->region)
			pci_release_region(q->pdev, q->bar);
		vpeer_entry_free(q);
		return 0;
	}

	pinned = vpeer_entry_pinned(q);
	mutex_lock(&quarantine_lock);
	list_add_tail(&q->node, &quarantine);
	mutex_unlock(&quarantine_lock);

	pci_warn(q->pdev, "vpeer: BAR %d: %llu bytes still pinned by initiators, range %pa quarantined until the last pin drops: end the processes that /sys/kernel/debug/vpeer/quarantine names, or let them deregister the memory\n",
		 q->bar, pinned, &q->base);
	trace_vpeer_quarantine(ap, 0, ap->size, pinned);
	queue_delayed_work(vpeer_wq, &quarantine_poll, VPEER_QUARANTINE_POLL);
	return pinned;
}

/* A bus that was removed and found again is the same place. */
static bool vpeer_same_bus(struct pci_bus *a, struct pci_bus *b)
{
	return pci_domain_nr(a) == pci_domain_nr(b) && a->number == b->number;
}

static int vpeer_unhold_device(struct device *dev, void *data)
{
	struct pci_dev *pdev = to_pci_dev(dev);
	struct pci_bus *bus = data;

	if (vpeer_same_bus(pdev->bus, bus) &&
	    vpeer_compat_override_is(pdev, VPEER_HOLD_DRIVER)) {
		vpeer_compat_set_override(pdev, NULL);
		if (device_attach(dev) < 0)
			pci_warn(pdev, "vpeer: no driver took the function after its quarantine\n");
	}
	return 0;
}

/* Another range of the same BAR, or NULL. */
static struct vpeer_quarantine *
vpeer_entry_sibling(const struct vpeer_quarantine *entry)
{
	struct vpeer_quarantine *q;

	list_for_each_entry(q, &quarantine, node)
		if (q != entry && q->pdev == entry->pdev && q->bar == entry->bar)
			return q;
	return NULL;
}

/* One entry holds the BAR for all. */
static bool vpeer_sibling_holds(const struct vpeer_quarantine *entry)
{
	struct vpeer_quarantine *q;

	list_for_each_entry(q, &quarantine, node)
		if (q != entry && q->pdev == entry->pdev &&
		    q->bar == entry->bar && (q->region || q->held))
			return true;
	return false;
}

static void vpeer_hold_request(struct vpeer_quarantine *q,
			       struct resource *parent, resource_size_t start,
			       resource_size_t end)
{
	q->held = true;
	q->hold.name = VPEER_HOLD_DRIVER;
	q->hold.start = start;
	q->hold.end = end;
	q->hold.flags = IORESOURCE_MEM | IORESOURCE_BUSY;
	if (request_resource(parent, &q->hold))
		pci_warn(q->pdev, "vpeer: BAR %d: quarantined range %pa cannot be held\n",
			 q->bar, &start);
}

static void vpeer_entry_hand_over(struct vpeer_quarantine *q,
				  struct vpeer_quarantine *to)
{
	struct resource *parent = q->hold.parent;

	to->region = q->region;
	if (!q->held)
		return;
	to->held = true;
	if (!parent)
		return;
	release_resource(&q->hold);
	vpeer_hold_request(to, parent, q->hold.start, q->hold.end);
}

static void vpeer_entry_release_range(struct vpeer_quarantine *q)
{
	struct vpeer_quarantine *sibling = vpeer_entry_sibling(q);

	vpeer_memtype_free(&q->memtype);
	if (sibling) {
		if (q->region || q->held)
			vpeer_entry_hand_over(q, sibling);
		return;
	}
	/* A rebuilt bridge window may have thrown the stand-in out. */
	if (q->held && q->hold.parent)
		release_resource(&q->hold);
	if (q->region && pci_resource_start(q->pdev, q->bar) == q->bar_start)
		pci_release_region(q->pdev, q->bar);
}

static bool vpeer_bus_quarantined(struct pci_bus *bus)
{
	struct vpeer_quarantine *q;
	bool quarantined = false;

	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node)
		if (q->held && vpeer_same_bus(q->pdev->bus, bus))
			quarantined = true;
	mutex_unlock(&quarantine_lock);
	return quarantined;
}

static void vpeer_entry_release(struct vpeer_quarantine *q)
{
	struct pci_bus *bus = q->pdev->bus;

	pci_info(q->pdev, "vpeer: BAR %d: last pin dropped, quarantine released\n",
		 q->bar);
	if (!vpeer_bus_quarantined(bus))
		bus_for_each_dev(&pci_bus_type, NULL, bus, vpeer_unhold_device);
	vpeer_entry_free(q);
}

/* Moves entries that no one holds any more to @done. */
static void vpeer_quarantine_collect(struct list_head *done)
{
	struct vpeer_quarantine *q, *next;

	/* Keeps the functions and the resource tree as they are. */
	pci_lock_rescan_remove();
	mutex_lock(&quarantine_lock);
	list_for_each_entry_safe(q, next, &quarantine, node) {
		if (!vpeer_entry_drain(q))
			continue;
		vpeer_entry_release_range(q);
		list_move(&q->node, done);
	}
	if (!list_empty(&quarantine))
		queue_delayed_work(vpeer_wq, &quarantine_poll,
				   VPEER_QUARANTINE_POLL);
	mutex_unlock(&quarantine_lock);
	pci_unlock_rescan_remove();
}

/* Release what no one holds any more. */
void vpeer_quarantine_drain(void)
{
	struct vpeer_quarantine *q, *next;
	LIST_HEAD(done);

	mutex_lock(&quarantine_drain_lock);
	if (!list_empty_careful(&quarantine))
		vpeer_quarantine_collect(&done);
	list_for_each_entry_safe(q, next, &done, node) {
		list_del(&q->node);
		vpeer_entry_release(q);
	}
	mutex_unlock(&quarantine_drain_lock);
}

static void vpeer_quarantine_work(struct work_struct *work)
{
	vpeer_quarantine_drain();
}

/* The function leaves the bus: keep its range out of the allocator's hands. */
static void vpeer_hold_range(struct vpeer_quarantine *q)
{
	struct resource *res = &q->pdev->resource[q->bar];
	struct resource *parent = res->parent;

	if (!parent || q->held || res->start != q->bar_start ||
	    vpeer_sibling_holds(q))
		return;
	if (q->region)
		pci_release_region(q->pdev, q->bar);
	q->region = false;
	/* The PF gives its next VF the same place, and must find it free. */
	if (q->pdev->is_virtfn) {
		q->held = true;
		return;
	}
	release_resource(res);
	vpeer_hold_request(q, parent, res->start, res->end);
}

/*
 * The bridge window that holds stand-ins leaves too: move them up. Once at
 * the top, no bridge can throw them out.
 */
static void vpeer_lift_holds(struct resource *window)
{
	struct resource *parent = window->parent;
	struct vpeer_quarantine *q;
	bool lifted = false;

	list_for_each_entry(q, &quarantine, node) {
		q->lift = q->held && window->flags && q->hold.parent == window;
		if (q->lift)
			release_resource(&q->hold);
		lifted |= q->lift;
	}
	if (!lifted)
		return;

	if (parent)
		release_resource(window);
	list_for_each_entry(q, &quarantine, node)
		if (q->lift && (!parent || request_resource(parent, &q->hold)))
			pci_warn(q->pdev, "vpeer: BAR %d: quarantined range %pa cannot be held\n",
				 q->bar, &q->base);
}

static void vpeer_function_leaves(struct pci_dev *pdev)
{
	struct vpeer_quarantine *q;
	int i;

	list_for_each_entry(q, &quarantine, node)
		if (q->pdev == pdev)
			vpeer_hold_range(q);
	for (i = PCI_BRIDGE_RESOURCES; i <= PCI_BRIDGE_RESOURCE_END; i++)
		vpeer_lift_holds(&pdev->resource[i]);
}

static void vpeer_function_arrives(struct pci_dev *pdev)
{
	struct vpeer_quarantine *q;

	list_for_each_entry(q, &quarantine, node) {
		if (!q->held || !vpeer_same_bus(q->pdev->bus, pdev->bus))
			continue;
		pci_warn(pdev, "vpeer: held back from drivers: %s left pinned memory on this bus\n",
			 pci_name(q->pdev));
		vpeer_compat_set_first_override(pdev, VPEER_HOLD_DRIVER);
	}
}

/**
 * vpeer_quarantine_take_region - keep the next driver off a quarantined BAR
 * @pdev: function whose driver, which shared the BAR, has just been unbound
 */
void vpeer_quarantine_take_region(struct pci_dev *pdev)
{
	struct vpeer_quarantine *q;

	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node) {
		if (q->pdev != pdev || q->region || q->held ||
		    vpeer_sibling_holds(q))
			continue;
		if (pci_request_region(pdev, q->bar, VPEER_HOLD_DRIVER))
			pci_warn(pdev, "vpeer: BAR %d: region of a quarantined range cannot be held\n",
				 q->bar);
		else
			q->region = true;
	}
	mutex_unlock(&quarantine_lock);
}

static int vpeer_bus_notify(struct notifier_block *nb, unsigned long action,
			    void *data)
{
	struct pci_dev *pdev = to_pci_dev(data);

	if (action != BUS_NOTIFY_DEL_DEVICE && action != BUS_NOTIFY_ADD_DEVICE)
		return NOTIFY_DONE;

	mutex_lock(&quarantine_lock);
	if (action == BUS_NOTIFY_DEL_DEVICE)
		vpeer_function_leaves(pdev);
	else
		vpeer_function_arrives(pdev);
	mutex_unlock(&quarantine_lock);
	return NOTIFY_OK;
}

static struct notifier_block vpeer_bus_notifier = {
	.notifier_call = vpeer_bus_notify,
};

/* Does an entry cover any of this range? */
bool vpeer_quarantine_holds(resource_size_t start, u64 size)
{
	struct vpeer_quarantine *q;
	bool holds = false;

	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node)
		if (start < q->base + q->size && q->base < start + size)
			holds = true;
	mutex_unlock(&quarantine_lock);
	return holds;
}

u64 vpeer_quarantine_pinned(struct pci_dev *pdev)
{
	struct vpeer_quarantine *q;
	u64 pinned = 0;

	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node)
		if (q->pdev == pdev)
			pinned += vpeer_entry_pinned(q);
	mutex_unlock(&quarantine_lock);
	return pinned;
}

/* Bytes that initiators hold of all functions. */
u64 vpeer_quarantine_held(void)
{
	struct vpeer_quarantine *q;
	u64 held = 0;

	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node)
		held += vpeer_entry_pinned(q);
	mutex_unlock(&quarantine_lock);
	return held;
}

ssize_t vpeer_quarantine_show(char *buf)
{
	struct vpeer_quarantine *q;
	int len = 0;

	if (mutex_lock_interruptible(&quarantine_drain_lock))
		return -EINTR;
	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node)
		len += sysfs_emit_at(buf, len, "%s bar%d %pa %llu %llu\n",
				     pci_name(q->pdev), q->bar, &q->base,
				     q->size, vpeer_entry_pinned(q));
	mutex_unlock(&quarantine_lock);
	mutex_unlock(&quarantine_drain_lock);
	return len;
}

/* With who holds the ranges. */
void vpeer_quarantine_list(struct seq_file *m)
{
	struct vpeer_quarantine *q;

	mutex_lock(&quarantine_lock);
	list_for_each_entry(q, &quarantine, node) {
		seq_printf(m, "%s bar%d %pa %llu %llu ", pci_name(q->pdev),
			   q->bar, &q->base, q->size, vpeer_entry_pinned(q));
		vpeer_holders_show(m, &q->holders);
		seq_puts(m, "\n");
	}
	mutex_unlock(&quarantine_lock);
}

int vpeer_quarantine_init(void)
{
	return bus_register_notifier(&pci_bus_type, &vpeer_bus_notifier);
}

void vpeer_quarantine_exit(void)
{
	bus_unregister_notifier(&pci_bus_type, &vpeer_bus_notifier);
	cancel_delayed_work_sync(&quarantine_poll);
}

// SPDX-License-Identifier: GPL-2.0-only
/* All apertures, in the order they were made. */
#include <linux/list.h>
#include <linux/mutex.h>

#include "vpeer.h"

static LIST_HEAD(apertures);
static DEFINE_MUTEX(apertures_lock);

/* VPEER_ASLEEP_*: what apertures start with */
static unsigned int asleep;

/* Off the list, and their pins not yet gone or in quarantine. */
static unsigned int nr_ending;

/* An aperture that no one can open yet. */
void vpeer_registry_add(struct vpeer_aperture *ap)
{
	mutex_lock(&apertures_lock);
	ap->asleep = asleep;
	list_add_tail(&ap->node, &apertures);
	mutex_unlock(&apertures_lock);
}

void vpeer_registry_start_asleep(unsigned int causes)
{
	mutex_lock(&apertures_lock);
	asleep = causes;
	mutex_unlock(&apertures_lock);
}

static void vpeer_registry_take(struct vpeer_aperture *ap)
{
	lockdep_assert_held(&apertures_lock);
	if (list_empty(&ap->node))
		return;
	list_del_init(&ap->node);
	nr_ending++;
}

/*
 * No visit is under way or will come once it returns; vpeer_registry_ended()
 * follows.
 */
void vpeer_registry_remove(struct vpeer_aperture *ap)
{
	mutex_lock(&apertures_lock);
	vpeer_registry_take(ap);
	mutex_unlock(&apertures_lock);
}

/* What of a removed aperture was held is gone, or in quarantine. */
void vpeer_registry_ended(void)
{
	mutex_lock(&apertures_lock);
	nr_ending--;
	mutex_unlock(&apertures_lock);
}

unsigned int vpeer_registry_nr_ending(void)
{
	unsigned int nr;

	mutex_lock(&apertures_lock);
	nr = nr_ending;
	mutex_unlock(&apertures_lock);
	return nr;
}

/**
 * vpeer_registry_take_foreign - take a foreign aperture off the list
 * @pdev: its function
 *
 * Return: an aperture that the caller has to end, or NULL.
 */
struct vpeer_aperture *vpeer_registry_take_foreign(struct pci_dev *pdev)
{
	struct vpeer_aperture *ap, *found = NULL;

	mutex_lock(&apertures_lock);
	list_for_each_entry(ap, &apertures, node) {
		if (!ap->foreign || ap->pdev != pdev)
			continue;
		vpeer_registry_take(ap);
		found = ap;
		break;
	}
	mutex_unlock(&apertures_lock);
	return found;
}

bool vpeer_registry_overlaps(resource_size_t start, u64 size)
{
	struct vpeer_aperture *ap;
	bool overlaps = false;

	mutex_lock(&apertures_lock);
	list_for_each_entry(ap, &apertures, node)
		if (start < ap->base + ap->size && ap->base < start + size)
			overlaps = true;
	mutex_unlock(&apertures_lock);
	return overlaps;
}

/* Calls @visit for each aperture until it returns non-zero. */
int vpeer_registry_visit(int (*visit)(struct vpeer_aperture *ap))
{
	struct vpeer_aperture *ap;
	int ret = 0;

	mutex_lock(&apertures_lock);
	list_for_each_entry(ap, &apertures, node) {
		ret = visit(ap);
		if (ret)
			break;
	}
	mutex_unlock(&apertures_lock);
	return ret;
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PCI driver that stands for a GPU's own on a function whose BAR vpeer
 * shares. Binds by driver_override only.
 */
#include <linux/module.h>
#include <linux/pm_runtime.h>
#include <linux/slab.h>

#include "neighbour.h"

static bool request = true;
module_param(request, bool, 0644);
MODULE_PARM_DESC(request, "claim the BAR's region when bound, as most drivers do (default Y)");

static void neighbour_free(struct kref *refs)
{
	struct neighbour *n = container_of(refs, struct neighbour, refs);

	kfree(n->misc.name);
	kfree(n);
}

void neighbour_put(struct neighbour *n)
{
	kref_put(&n->refs, neighbour_free);
}

static struct neighbour *neighbour_alloc(struct pci_dev *pdev)
{
	struct neighbour *n = kzalloc(sizeof(*n), GFP_KERNEL);

	if (!n)
		return NULL;
	kref_init(&n->refs);
	mutex_init(&n->lock);
	INIT_LIST_HEAD(&n->files);
	n->pdev = pdev;
	return n;
}

static int neighbour_start(struct neighbour *n)
{
	int ret = pci_enable_device_mem(n->pdev);

	if (ret)
		return ret;
	n->requested = request;
	if (n->requested) {
		ret = pci_request_region(n->pdev, NEIGHBOUR_BAR, "neighbour");
		if (ret)
			goto disable_device;
	}
	ret = neighbour_node_add(n);
	if (ret)
		goto release_region;
	return 0;

release_region:
	if (n->requested)
		pci_release_region(n->pdev, NEIGHBOUR_BAR);
disable_device:
	pci_disable_device(n->pdev);
	return ret;
}

static int neighbour_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct neighbour *n = neighbour_alloc(pdev);
	int ret;

	if (!n)
		return -ENOMEM;
	ret = neighbour_start(n);
	if (ret) {
		neighbour_put(n);
		return ret;
	}
	pci_set_drvdata(pdev, n);
	/* The bus keeps it awake for drivers that know nothing of it. */
	pm_runtime_put_noidle(&pdev->dev);
	return 0;
}

static void neighbour_remove(struct pci_dev *pdev)
{
	struct neighbour *n = pci_get_drvdata(pdev);

	pm_runtime_get_noresume(&pdev->dev);
	neighbour_node_remove(n);
	if (n->requested)
		pci_release_region(pdev, NEIGHBOUR_BAR);
	pci_disable_device(pdev);
	neighbour_put(n);
}

static void neighbour_reset_prepare(struct pci_dev *pdev)
{
	struct neighbour *n = pci_get_drvdata(pdev);

	atomic_inc(&n->reset_prepare);
}

static void neighbour_reset_done(struct pci_dev *pdev)
{
	struct neighbour *n = pci_get_drvdata(pdev);

	atomic_inc(&n->reset_done);
}

static pci_ers_result_t neighbour_error_detected(struct pci_dev *pdev,
						 pci_channel_state_t state)
{
	struct neighbour *n = pci_get_drvdata(pdev);

	atomic_inc(&n->error_detected);
	return state == pci_channel_io_perm_failure ?
	       PCI_ERS_RESULT_DISCONNECT : PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t neighbour_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static const struct pci_error_handlers neighbour_err_handler = {
	.reset_prepare = neighbour_reset_prepare,
	.reset_done = neighbour_reset_done,
	.error_detected = neighbour_error_detected,
	.slot_reset = neighbour_slot_reset,
};

/* Asleep whenever idle, once root lets it by power/control. */
static int neighbour_runtime(struct device *dev)
{
	return 0;
}

static DEFINE_RUNTIME_DEV_PM_OPS(neighbour_pm, neighbour_runtime, neighbour_runtime, NULL);

static const struct pci_device_id neighbour_ids[] = {
	{ }
};

static struct pci_driver neighbour_driver = {
	.name = "neighbour",
	.id_table = neighbour_ids,
	.probe = neighbour_probe,
	.remove = neighbour_remove,
	.err_handler = &neighbour_err_handler,
	.driver.pm = pm_ptr(&neighbour_pm),
};
module_pci_driver(neighbour_driver);

MODULE_DESCRIPTION("Stands for the driver of a function whose BAR vpeer shares");
MODULE_AUTHOR("The vpeer maintainers");
MODULE_LICENSE("GPL");

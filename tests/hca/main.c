// SPDX-License-Identifier: GPL-2.0-only
/* The PCI driver of the model RDMA NIC "vrnic" of tests/sim. */
#include <linux/io.h>
#include <linux/module.h>
#include <linux/vmalloc.h>

#include "vrnic.h"

#define VRNIC_NUMBERS	0xffffff	/* of QPs, and indices in keys: 24 bits */

static const struct ib_device_ops vrnic_ops = {
	.owner = THIS_MODULE,
	.driver_id = RDMA_DRIVER_UNKNOWN,
	.uverbs_abi_ver = VRNIC_ABI_VERSION,

	.query_device = vrnic_query_device,
	.query_port = vrnic_query_port,
	.get_port_immutable = vrnic_get_port_immutable,
	.query_gid = vrnic_query_gid,
	.query_pkey = vrnic_query_pkey,

	.alloc_ucontext = vrnic_alloc_ucontext,
	.dealloc_ucontext = vrnic_dealloc_ucontext,
	.disassociate_ucontext = vrnic_disassociate_ucontext,
	.mmap = vrnic_mmap,
	.mmap_free = vrnic_mmap_free,

	.alloc_pd = vrnic_alloc_pd,
	.dealloc_pd = vrnic_dealloc_pd,
	.create_user_ah = vrnic_create_user_ah,
	.destroy_ah = vrnic_destroy_ah,

	.create_cq = vrnic_create_cq,
	.destroy_cq = vrnic_destroy_cq,
	.create_qp = vrnic_create_qp,
	.modify_qp = vrnic_modify_qp,
	.query_qp = vrnic_query_qp,
	.destroy_qp = vrnic_destroy_qp,

	.reg_user_mr = vrnic_reg_user_mr,
	.reg_user_mr_dmabuf = vrnic_reg_user_mr_dmabuf,
	.dereg_mr = vrnic_dereg_mr,

	INIT_RDMA_OBJ_SIZE(ib_ucontext, vrnic_context, ib),
	INIT_RDMA_OBJ_SIZE(ib_pd, vrnic_pd, ib),
	INIT_RDMA_OBJ_SIZE(ib_ah, vrnic_ah, ib),
	INIT_RDMA_OBJ_SIZE(ib_cq, vrnic_cq, ib),
	INIT_RDMA_OBJ_SIZE(ib_qp, vrnic_qp, ib),
};

static unsigned int vrnic_max_segment = UINT_MAX;
module_param_named(max_segment, vrnic_max_segment, uint, 0644);
MODULE_PARM_DESC(max_segment, "longest DMA segment in bytes that functions take that are bound from now on (default: any)");

static int vrnic_enable(struct vrnic *dev)
{
	struct pci_dev *pdev = dev->pdev;
	int ret;

	ret = pci_enable_device_mem(pdev);
	if (ret)
		return ret;
	ret = pci_request_regions(pdev, VRNIC_NAME);
	if (ret)
		goto disable;
	ret = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(64));
	if (ret)
		goto release;
	dma_set_max_seg_size(&pdev->dev, READ_ONCE(vrnic_max_segment));
	dev->registers = pci_iomap(pdev, 0, 0);
	ret = dev->registers ? 0 : -ENOMEM;
	if (ret)
		goto release;
	return 0;

release:
	pci_release_regions(pdev);
disable:
	pci_disable_device(pdev);
	return ret;
}

static void vrnic_disable(struct vrnic *dev)
{
	pci_iounmap(dev->pdev, dev->registers);
	pci_release_regions(dev->pdev);
	pci_disable_device(dev->pdev);
}

static u32 vrnic_register_of(struct vrnic *dev, enum vrnic_register which)
{
	return readl(dev->registers + which);
}

static int vrnic_identify(struct vrnic *dev)
{
	u32 magic = vrnic_register_of(dev, VRNIC_REG_MAGIC);
	u32 abi = vrnic_register_of(dev, VRNIC_REG_ABI);

	if (magic != VRNIC_MAGIC || abi != VRNIC_ABI_VERSION) {
		dev_err(&dev->pdev->dev, "not a vrnic of version %u: magic %#x, version %u\n",
			VRNIC_ABI_VERSION, magic, abi);
		return -ENODEV;
	}
	dev->lid = vrnic_register_of(dev, VRNIC_REG_LID);
	dev->guid = readq(dev->registers + VRNIC_REG_GUID);
	dev->max_qp = vrnic_register_of(dev, VRNIC_REG_MAX_QP);
	dev->max_cq = vrnic_register_of(dev, VRNIC_REG_MAX_CQ);
	dev->max_mr = vrnic_register_of(dev, VRNIC_REG_MAX_MR);
	dev->max_doorbell = vrnic_register_of(dev, VRNIC_REG_MAX_DOORBELL);
	dev->vectors = vrnic_register_of(dev, VRNIC_REG_VECTORS);
	if (!dev->lid || dev->lid > VRNIC_UNICAST_LIDS || dev->max_qp < 2 ||
	    dev->max_qp > VRNIC_NUMBERS || !dev->max_cq || !dev->max_mr ||
	    dev->max_mr > VRNIC_NUMBERS || !dev->max_doorbell ||
	    pci_resource_len(dev->pdev, 2) / PAGE_SIZE < dev->max_doorbell) {
		dev_err(&dev->pdev->dev, "what it says of itself makes no sense\n");
		return -ENODEV;
	}
	return 0;
}

static int vrnic_tables_init(struct vrnic *dev)
{
	ida_init(&dev->doorbells);
	ida_init(&dev->pds);
	xa_init_flags(&dev->cqs, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->qps, XA_FLAGS_ALLOC);
	xa_init_flags(&dev->mrs, XA_FLAGS_ALLOC);
	dev->tags = vzalloc(dev->max_mr + 1);
	if (!dev->tags)
		return -ENOMEM;
	dev->page_requests = alloc_workqueue("%s-%s", WQ_UNBOUND | WQ_MEM_RECLAIM, 0, VRNIC_NAME,
					     pci_name(dev->pdev));
	if (!dev->page_requests) {
		vfree(dev->tags);
		return -ENOMEM;
	}
	return 0;
}

static void vrnic_tables_exit(struct vrnic *dev)
{
	destroy_workqueue(dev->page_requests);
	vfree(dev->tags);
	xa_destroy(&dev->mrs);
	xa_destroy(&dev->qps);
	xa_destroy(&dev->cqs);
	ida_destroy(&dev->pds);
	ida_destroy(&dev->doorbells);
}

static int vrnic_register(struct vrnic *dev)
{
	int ret;

	dev->ib.node_type = RDMA_NODE_IB_CA;
	dev->ib.node_guid = cpu_to_be64(dev->guid);
	dev->ib.phys_port_cnt = 1;
	dev->ib.num_comp_vectors = dev->vectors - 1;
	dev->ib.dev.parent = &dev->pdev->dev;
	ib_set_device_ops(&dev->ib, &vrnic_ops);
	ret = ib_register_device(&dev->ib, "vrnic%d", &dev->pdev->dev);
	if (!ret)
		set_bit(VRNIC_REGISTERED, &dev->flags);
	return ret;
}

/* The device forgets everything, and reaches memory no more. */
static void vrnic_quiesce(struct vrnic *dev)
{
	writel(1, dev->registers + VRNIC_REG_RESET);
	pci_clear_master(dev->pdev);
}

static int vrnic_bring_up(struct vrnic *dev)
{
	int ret;

	writel(1, dev->registers + VRNIC_REG_RESET);
	pci_set_master(dev->pdev);
	ret = vrnic_tables_init(dev);
	if (ret)
		goto quiesce;
	ret = vrnic_commands_init(dev);
	if (ret)
		goto tables;
	ret = vrnic_events_init(dev);
	if (ret)
		goto commands;
	ret = vrnic_events_start(dev);
	if (ret)
		goto events;
	ret = vrnic_register(dev);
	if (ret)
		goto events;
	return 0;

events:
	vrnic_quiesce(dev);
	vrnic_events_exit(dev);
commands:
	vrnic_quiesce(dev);
	vrnic_commands_exit(dev);
tables:
	vrnic_tables_exit(dev);
quiesce:
	vrnic_quiesce(dev);
	return ret;
}

static int vrnic_start(struct pci_dev *pdev)
{
	struct vrnic *dev = ib_alloc_device(vrnic, ib);
	int ret;

	if (!dev)
		return -ENOMEM;
	dev->pdev = pdev;
	ret = vrnic_enable(dev);
	if (ret)
		goto dealloc;
	ret = vrnic_identify(dev);
	if (ret)
		goto disable;
	ret = vrnic_bring_up(dev);
	if (ret)
		goto disable;
	/* What slot_reset() restores; newer kernels have saved it themselves. */
	pci_save_state(pdev);
	pci_set_drvdata(pdev, dev);
	return 0;

disable:
	vrnic_disable(dev);
dealloc:
	ib_dealloc_device(&dev->ib);
	return ret;
}

/* Users that still have it open are left with errors. */
static void vrnic_stop(struct pci_dev *pdev)
{
	struct vrnic *dev = pci_get_drvdata(pdev);

	if (!dev)
		return;
	pci_set_drvdata(pdev, NULL);
	clear_bit(VRNIC_REGISTERED, &dev->flags);
	vrnic_events_settle(dev, 0);
	ib_unregister_device(&dev->ib);
	vrnic_quiesce(dev);
	vrnic_events_exit(dev);
	vrnic_commands_exit(dev);
	vrnic_tables_exit(dev);
	vrnic_disable(dev);
	ib_dealloc_device(&dev->ib);
}

static int vrnic_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	return vrnic_start(pdev);
}

static void vrnic_remove(struct pci_dev *pdev)
{
	vrnic_stop(pdev);
}

static void vrnic_start_again(struct pci_dev *pdev)
{
	int ret = vrnic_start(pdev);

	if (ret)
		dev_err(&pdev->dev, "it does not start after its reset (%d); bind it again\n", ret);
}

static pci_ers_result_t vrnic_error_detected(struct pci_dev *pdev, pci_channel_state_t state)
{
	struct vrnic *dev = pci_get_drvdata(pdev);

	if (dev)
		vrnic_gone(dev, "its PCI link failed");
	return state == pci_channel_io_perm_failure ? PCI_ERS_RESULT_DISCONNECT :
						      PCI_ERS_RESULT_NEED_RESET;
}

static pci_ers_result_t vrnic_slot_reset(struct pci_dev *pdev)
{
	pci_restore_state(pdev);
	return PCI_ERS_RESULT_RECOVERED;
}

static void vrnic_resume(struct pci_dev *pdev)
{
	vrnic_stop(pdev);
	vrnic_start_again(pdev);
}

static const struct pci_error_handlers vrnic_err_handler = {
	.error_detected = vrnic_error_detected,
	.slot_reset = vrnic_slot_reset,
	.resume = vrnic_resume,
	.reset_prepare = vrnic_stop,
	.reset_done = vrnic_start_again,
};

static const struct pci_device_id vrnic_ids[] = {
	{ PCI_DEVICE(VRNIC_VENDOR, VRNIC_DEVICE) },
	{ }
};
MODULE_DEVICE_TABLE(pci, vrnic_ids);

static struct pci_driver vrnic_driver = {
	.name = VRNIC_NAME,
	.id_table = vrnic_ids,
	.probe = vrnic_probe,
	.remove = vrnic_remove,
	.err_handler = &vrnic_err_handler,
};
module_pci_driver(vrnic_driver);

MODULE_DESCRIPTION("Driver of the model RDMA NIC vrnic");
MODULE_AUTHOR("The vpeer maintainers");
MODULE_LICENSE("GPL");

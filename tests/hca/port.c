// SPDX-License-Identifier: GPL-2.0-only
/* What the device and its port are. */
#include <linux/io.h>

#include "vrnic.h"

int vrnic_query_device(struct ib_device *ib, struct ib_device_attr *attr, struct ib_udata *udata)
{
	struct vrnic *dev = to_vrnic(ib);

	if (udata && udata->inlen && !ib_is_udata_cleared(udata, 0, udata->inlen))
		return -EINVAL;
	memset(attr, 0, sizeof(*attr));
	attr->fw_ver = VRNIC_ABI_VERSION;
	attr->sys_image_guid = ib->node_guid;
	attr->vendor_id = dev->pdev->vendor;
	attr->vendor_part_id = dev->pdev->device;
	attr->hw_ver = dev->pdev->revision;
	attr->max_mr_size = U64_MAX;
	attr->page_size_cap = PAGE_SIZE;
	attr->max_qp = dev->max_qp - 1;
	attr->max_qp_wr = VRNIC_MAX_WR;
	attr->max_cq = dev->max_cq;
	attr->max_cqe = VRNIC_MAX_CQE;
	attr->max_mr = dev->max_mr;
	attr->max_pd = VRNIC_MAX_PD;
	attr->max_ah = S32_MAX;
	attr->max_send_sge = VRNIC_MAX_SGE;
	attr->max_recv_sge = VRNIC_MAX_SGE;
	attr->max_sge_rd = VRNIC_MAX_SGE;
	attr->max_qp_rd_atom = VRNIC_MAX_READS;
	attr->max_qp_init_rd_atom = VRNIC_MAX_READS;
	attr->max_res_rd_atom = VRNIC_MAX_READS * attr->max_qp;
	attr->atomic_cap = IB_ATOMIC_HCA;
	attr->max_pkeys = 1;
	attr->device_cap_flags = IB_DEVICE_RC_RNR_NAK_GEN | IB_DEVICE_PORT_ACTIVE_EVENT |
				 IB_DEVICE_SYS_IMAGE_GUID;
	return 0;
}

int vrnic_query_port(struct ib_device *ib, u32 port, struct ib_port_attr *attr)
{
	struct vrnic *dev = to_vrnic(ib);
	bool up = readl(dev->registers + VRNIC_REG_PORT) == 1;

	attr->state = up ? IB_PORT_ACTIVE : IB_PORT_DOWN;
	attr->phys_state = up ? IB_PORT_PHYS_STATE_LINK_UP : IB_PORT_PHYS_STATE_DISABLED;
	attr->lid = dev->lid;
	attr->sm_lid = dev->lid;
	attr->max_mtu = IB_MTU_4096;
	attr->active_mtu = IB_MTU_4096;
	attr->max_msg_sz = VRNIC_MAX_MESSAGE;
	attr->gid_tbl_len = 1;
	attr->pkey_tbl_len = 1;
	attr->max_vl_num = 1;
	attr->active_width = IB_WIDTH_4X;
	attr->active_speed = IB_SPEED_EDR;
	return 0;
}

/* Of the InfiniBand protocol it has addressing only: no management, no connection manager. */
int vrnic_get_port_immutable(struct ib_device *ib, u32 port, struct ib_port_immutable *immutable)
{
	immutable->gid_tbl_len = 1;
	immutable->pkey_tbl_len = 1;
	immutable->core_cap_flags = RDMA_CORE_CAP_PROT_IB;
	return 0;
}

int vrnic_query_gid(struct ib_device *ib, u32 port, int index, union ib_gid *gid)
{
	if (index)
		return -EINVAL;
	gid->global.subnet_prefix = cpu_to_be64(0xfe80000000000000ULL);
	gid->global.interface_id = cpu_to_be64(to_vrnic(ib)->guid);
	return 0;
}

int vrnic_query_pkey(struct ib_device *ib, u32 port, u16 index, u16 *pkey)
{
	if (index)
		return -EINVAL;
	*pkey = 0xffff;
	return 0;
}

void vrnic_port_event(struct vrnic *dev, bool up)
{
	struct ib_event event = {
		.device = &dev->ib,
		.element.port_num = 1,
		.event = up ? IB_EVENT_PORT_ACTIVE : IB_EVENT_PORT_ERR,
	};

	if (test_bit(VRNIC_REGISTERED, &dev->flags))
		ib_dispatch_event(&event);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "check.h"
#include "driver.h"

doctor_check *const checks_driver[] = {
	check_rdma_stack,
	check_rdma_missing,
	check_rdma_library,
	check_rdma_verbs,
	check_soft_rdma,
	check_nouveau,
	check_nvidia_driver,
	check_nvidia_vgpu,
	check_nvidia_settings,
	check_peer_route,
	check_rdma_port,
	check_rdma_rate,
	check_ib_partition,
	check_rdma_counters,
	check_roce_gid,
	check_roce_vlan,
	check_roce_mtu,
	check_roce_congestion,
	check_roce_traffic_class,
	check_gid_setting,
	check_device_setting,
	NULL,
};

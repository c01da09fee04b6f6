/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Checks of drivers: the RDMA stack, GPUs' drivers, and what they do together. */
#ifndef DOCTOR_DRIVER_H
#define DOCTOR_DRIVER_H

#include "check.h"

doctor_check check_rdma_stack;
doctor_check check_rdma_missing;
doctor_check check_rdma_library;
doctor_check check_rdma_verbs;
doctor_check check_soft_rdma;
doctor_check check_nouveau;
doctor_check check_nvidia_driver;
doctor_check check_nvidia_vgpu;
doctor_check check_nvidia_settings;
doctor_check check_peer_route;		/* and nvidia-peermem */
doctor_check check_rdma_port;
doctor_check check_rdma_rate;
doctor_check check_ib_partition;
doctor_check check_rdma_counters;
doctor_check check_roce_gid;
doctor_check check_roce_vlan;
doctor_check check_roce_mtu;
doctor_check check_roce_congestion;
doctor_check check_roce_traffic_class;
doctor_check check_gid_setting;
doctor_check check_device_setting;

#endif /* DOCTOR_DRIVER_H */

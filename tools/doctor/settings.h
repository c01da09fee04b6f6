/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Variables whose values are lists of devices, transports or providers. */
#ifndef DOCTOR_SETTINGS_H
#define DOCTOR_SETTINGS_H

#include "site.h"

/* NCCL_IB_HCA: no RDMA device of the machine is meant. */
bool setting_names_no_device(const struct site *site, const char *value);

/* UCX_NET_DEVICES: none of those named is an RDMA device. */
bool setting_names_no_rdma(const struct site *site, const char *value);

/* UCX_TLS */
bool setting_lacks_rdma(const struct site *site, const char *value);
bool setting_lacks_cuda(const struct site *site, const char *value);

/* FI_PROVIDER */
bool setting_lacks_provider(const struct site *site, const char *value);

#endif /* DOCTOR_SETTINGS_H */

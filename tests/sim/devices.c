// SPDX-License-Identifier: GPL-2.0-only
#include "devices.h"

extern const struct device vgpu_device, vrnic_device;

const struct device *const devices[] = { &vgpu_device, &vrnic_device };
const unsigned int device_count = sizeof(devices) / sizeof(devices[0]);

// SPDX-License-Identifier: GPL-2.0-only
#include "devices.h"

extern const struct device vgpu_device, vrnic_device;

const struct device *const devices[] = {
	&vgpu_device,
#ifndef NO_VRNIC
	&vrnic_device,
#endif
};
const unsigned int device_count = sizeof(devices) / sizeof(devices[0]);

/* SPDX-License-Identifier: GPL-2.0-only */
/* A GPU without cores: memory, an aperture to a part of it, and an engine that works on it. */
#ifndef SIM_VGPU_H
#define SIM_VGPU_H

extern const struct device vgpu_device;

#endif

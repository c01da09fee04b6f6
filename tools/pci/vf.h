/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a network PF holds for each of its VFs (rtnetlink, IFLA_VFINFO_LIST). */
#ifndef PCI_VF_H
#define PCI_VF_H

#include <stdbool.h>
#include <stdint.h>

struct vf_settings {
	bool trust_known, trust;
	bool spoof_check_known, spoof_check;
	uint32_t min_tx_rate;	/* Mbit/s, 0 for none */
	uint32_t max_tx_rate;
	bool link_state_known;
	char link_state[16];	/* auto, enable, disable */
};

/* 0 or a negative errno; -ENODATA when @netdev has no such VF. */
typedef int vf_reader(const char *netdev, unsigned int vf, struct vf_settings *settings);

vf_reader vf_read;

#endif /* PCI_VF_H */

# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The groups of cases that need one GPU and two functions of the device models, under any kernel and IOMMU.

# shellcheck disable=SC2034 # for tests/guest/boots
models_groups=(vrnic_mr vrnic_move vrnic_life vrnic_queue vrnic_datagram vrnic_fault vrnic_gone vrnic_dmabuf
	vrnic_revoke vrnic_exporters dmabuf_import dmabuf_told path_report path_reach matrix)

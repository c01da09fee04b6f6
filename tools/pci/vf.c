// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "vf.h"

#include <errno.h>
#include <linux/if_link.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>
#include <netlink/route/link/sriov.h>

#include "../util.h"

/* As ip-link(8) has it. */
static const char *link_state_name(uint32_t value)
{
	switch (value) {
	case IFLA_VF_LINK_STATE_AUTO:
		return "auto";
	case IFLA_VF_LINK_STATE_ENABLE:
		return "enable";
	case IFLA_VF_LINK_STATE_DISABLE:
		return "disable";
	}
	return NULL;
}

static void take(struct rtnl_link_vf *vf, struct vf_settings *settings)
{
	struct nl_vf_rate rate = { 0 };
	const char *name = NULL;
	uint32_t value;

	*settings = (struct vf_settings){ 0 };
	settings->trust_known = !rtnl_link_vf_get_trust(vf, &value);
	settings->trust = settings->trust_known && value;
	settings->spoof_check_known = !rtnl_link_vf_get_spoofchk(vf, &value);
	settings->spoof_check = settings->spoof_check_known && value;
	/* The kernel always tells the rate, and libnl keeps quiet about none. */
	if (!rtnl_link_vf_get_rate(vf, &rate)) {
		settings->min_tx_rate = rate.min_tx_rate;
		settings->max_tx_rate = rate.api == RTNL_LINK_VF_RATE_API_OLD ? rate.rate :
										 rate.max_tx_rate;
	}
	if (!rtnl_link_vf_get_linkstate(vf, &value))
		name = link_state_name(value);
	settings->link_state_known = name != NULL;
	if (name)
		text_format(settings->link_state, sizeof(settings->link_state), "%s", name);
}

static int read_link(struct nl_sock *socket, const char *netdev, unsigned int number,
		     struct vf_settings *settings)
{
	struct rtnl_link *link = NULL;
	struct rtnl_link_vf *vf = NULL;
	int err = rtnl_link_get_kernel(socket, 0, netdev, &link);

	if (err)
		return err == -NLE_PERM || err == -NLE_NOACCESS ? -EPERM : -EIO;
	if (rtnl_link_has_vf_list(link))
		vf = rtnl_link_vf_get(link, number);
	if (vf) {
		take(vf, settings);
		rtnl_link_vf_put(vf);
	}
	rtnl_link_put(link);
	return vf ? 0 : -ENODATA;
}

int vf_read(const char *netdev, unsigned int vf, struct vf_settings *settings)
{
	struct nl_sock *socket = nl_socket_alloc();
	int err = -EIO;

	if (!socket)
		return -ENOMEM;
	if (!nl_connect(socket, NETLINK_ROUTE))
		err = read_link(socket, netdev, vf, settings);
	nl_socket_free(socket);
	return err;
}

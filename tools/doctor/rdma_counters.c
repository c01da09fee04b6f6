// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Error counters of RDMA ports since the driver was loaded. Some errors in weeks are no fault:
 * each kind has a number, and a share of packets, that it must exceed.
 */
#include <string.h>

#include "../util.h"
#include "driver.h"
#include "rdma.h"

#define PORT	"sys/class/infiniband/%s/ports/%u/%s"

static const char loss[] = "packets were lost, or came out of order, and were sent again: the "
			   "network is not free of loss";
static const char link[] = "errors of the link: cable, transceiver or port";
static const char damage[] = "packets came in damaged";
static const char receiver[] = "receivers were not ready: programs post too few receives, or "
			       "their threads come too late";

static const char *const mend_loss = "PFC and ECN for RoCE's priority at every switch port and "
				     "at the PF, and one traffic class for all (NCCL_IB_TC)";
static const char *const mend_link = "clean or replace cable and transceiver; look at the "
				     "switch port's counters";
static const char *const mend_receiver = "more receives in advance (UCX_RC_RX_QUEUE_LEN), "
					 "threads on the device's NUMA node";

static const struct kind {
	const char *meaning;
	const char *const *remedy;
	const char *const *job;
	uint64_t least;		/* errors that are no fault */
	uint64_t packets;	/* and one in as many */
} kinds[] = {
	{ loss, &mend_loss, &job_network, 10, 1000000 },
	{ link, &mend_link, &job_network, 10, 0 },
	{ damage, &mend_link, &job_network, 0, 0 },
	{ receiver, &mend_receiver, &job_user, 1000, 100000 },
};

static const struct {
	const char *path;
	const char *meaning;	/* of its kind */
} counters[] = {
	{ "hw_counters/out_of_sequence", loss },
	{ "hw_counters/packet_seq_err", loss },
	{ "hw_counters/implied_nak_seq_err", loss },
	{ "hw_counters/local_ack_timeout_err", loss },
	{ "hw_counters/duplicate_request", loss },
	{ "hw_counters/roce_adp_retrans", loss },
	{ "counters/port_xmit_discards", loss },
	{ "counters/symbol_error", link },
	{ "counters/link_downed", link },
	{ "counters/link_error_recovery", link },
	{ "counters/local_link_integrity_errors", link },
	{ "counters/port_rcv_errors", link },
	{ "hw_counters/rx_icrc_encapsulated", damage },
	{ "hw_counters/rnr_nak_retry_err", receiver },
	{ "hw_counters/out_of_buffer", receiver },
};

static uint64_t counter(const struct site *site, const struct rdma_device *device,
			const struct rdma_port *port, const char *path)
{
	uint64_t value;

	return site_number(site, &value, PORT, device->name, port->number, path) ? 0 : value;
}

static bool exceeds(const struct kind *kind, uint64_t value, uint64_t packets)
{
	return value > kind->least && (!kind->packets || value > packets / kind->packets);
}

/* Whether a counter of this kind is too high; begins a finding then. */
static bool judge_kind(struct findings *all, const struct site *site,
		       const struct rdma_device *device, const struct rdma_port *port,
		       const struct kind *kind, uint64_t packets)
{
	bool found = false;
	char object[128];

	rdma_port_object(device, port, object, sizeof(object));
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++) {
		if (counters[i].meaning != kind->meaning ||
		    !exceeds(kind, counter(site, device, port, counters[i].path), packets))
			continue;
		if (!found)
			finding_add(all, "rdma-counters", object);
		found = true;
		site_saw(all, site, PORT, device->name, port->number, counters[i].path);
	}
	if (found) {
		finding_says(all, STATE_WARN, "%s", kind->meaning);
		finding_remedy(all, *kind->job, "%s", *kind->remedy);
	}
	return found;
}

/* Congestion that is told and reacted to is no fault. */
static void say_quiet(struct findings *all, const struct site *site,
		      const struct rdma_device *device, const struct rdma_port *port)
{
	bool congested = counter(site, device, port, "hw_counters/rp_cnp_handled") ||
			 counter(site, device, port, "hw_counters/np_cnp_sent");
	char object[128];

	rdma_port_object(device, port, object, sizeof(object));
	finding_add(all, "rdma-counters", object);
	site_saw(all, site, PORT, device->name, port->number, "counters/port_rcv_packets");
	if (congested) {
		site_saw(all, site, PORT, device->name, port->number, "hw_counters/np_cnp_sent");
		site_saw(all, site, PORT, device->name, port->number,
			 "hw_counters/rp_cnp_handled");
	}
	finding_says(all, STATE_OK, "no more errors than a sound network has%s%s",
		     congested ? "; senders were slowed down for congestion" : "",
		     port->ethernet && rdma_is_vf(device) ?
			     "; PFC and ECN are set at the PF and the switch, and do not show in "
			     "a VF" : "");
}

static void judge(struct findings *all, const struct site *site, const struct rdma_device *device,
		  const struct rdma_port *port)
{
	uint64_t packets;
	bool found = false;

	if (device->kind != RDMA_HARDWARE ||
	    !site_has(site, PORT, device->name, port->number, "counters"))
		return;
	packets = counter(site, device, port, "counters/port_rcv_packets") +
		  counter(site, device, port, "counters/port_xmit_packets");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		found |= judge_kind(all, site, device, port, &kinds[i], packets);
	if (!found)
		say_quiet(all, site, device, port);
}

void check_rdma_counters(struct findings *all, const struct site *site)
{
	rdma_each_port(all, site, judge);
}

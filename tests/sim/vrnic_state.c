// SPDX-License-Identifier: GPL-2.0-only
/* What the control socket tells of a vrnic. */
#include <stdio.h>

#include "function.h"
#include "vrnic_nic.h"

static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "ERROR" };

static void tell_counters(const struct vrnic *nic, int out)
{
	const struct vrnic_counters *c = &nic->counters;

	dprintf(out, "frames out %llu in %llu\n", (unsigned long long)c->frames_out,
		(unsigned long long)c->frames_in);
	dprintf(out, "bytes out %llu in %llu\n", (unsigned long long)c->bytes_out,
		(unsigned long long)c->bytes_in);
	dprintf(out, "completions %llu errors %llu\n", (unsigned long long)c->completions,
		(unsigned long long)c->error_completions);
	dprintf(out, "events %llu commands %llu\n", (unsigned long long)c->events,
		(unsigned long long)c->commands);
	dprintf(out, "retries %llu rnr %llu page-requests %llu dropped %llu\n",
		(unsigned long long)c->retries, (unsigned long long)c->rnr,
		(unsigned long long)c->page_requests, (unsigned long long)c->dropped);
}

static void tell_qp(const struct vrnic_qp *qp, int out)
{
	dprintf(out, "qp %u %s %s peer %u/%u sends %u waiting %u in flight receives %u waiting\n",
		qp->number, qp->type == VRNIC_QP_RC ? "RC" : "UD", states[qp_state(qp)],
		qp->attributes.destination_lid, qp->attributes.destination_qp,
		ring_waiting(&qp->send.ring), qp->send.count, ring_waiting(&qp->receive.ring));
}

static void tell_mr(const struct vrnic_mr *mr, int out)
{
	dprintf(out, "mr 0x%08x pd %u access 0x%x address 0x%llx length %llu segments %u %s\n",
		mr->key, mr->pd, mr->access, (unsigned long long)mr->address,
		(unsigned long long)mr->length, mr->count,
		mr->mapped ? "mapped" : mr->requested ? "requested" : "unmapped");
}

static void tell_cq(const struct vrnic_cq *cq, int out)
{
	dprintf(out, "cq %u eq %u entries %u written %u%s%s\n", cq->number, cq->eq->number,
		cq->entries, cq->producer, cq->armed ? " armed" : "",
		cq->overrun ? " overrun" : "");
}

void vrnic_state(struct function *function, int out)
{
	const struct vrnic *nic = function->private;
	unsigned int i;

	dprintf(out, "lid %u port %s\n", nic->lid, fabric_is_up() ? "up" : "down");
	tell_counters(nic, out);
	for (i = 1; i <= NIC_CQS; i++)
		if (nic->cqs[i])
			tell_cq(nic->cqs[i], out);
	for (i = 1; i <= NIC_QPS; i++)
		if (nic->qps[i])
			tell_qp(nic->qps[i], out);
	for (i = 1; i <= NIC_MRS; i++)
		if (nic->mrs[i])
			tell_mr(nic->mrs[i], out);
}

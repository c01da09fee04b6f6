// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>

#include "vrnic_nic.h"

int receive_get(struct vrnic_qp *qp)
{
	struct receive_queue *receive = &qp->receive;
	int error;

	if (receive->has_wr)
		return 0;
	error = ring_fetch(qp->nic, &receive->ring, &receive->wr);
	if (error == -EAGAIN)
		return error;
	if (error) {
		qp_fatal(qp);
		return error;
	}
	receive->has_wr = true;
	if (receive->wr.sges <= VRNIC_MAX_SGE && sge_length(receive->wr.sge, receive->wr.sges) >= 0)
		return 0;
	complete_receive(qp, NULL, 0, VRNIC_WC_LOCAL_QP, NIC_ERROR_REQUEST);
	receive_drop(qp);
	qp_error(qp);
	return -EINVAL;
}

void receive_drop(struct vrnic_qp *qp)
{
	qp->receive.has_wr = false;
	qp->receive.in_send = false;
	qp->receive.offset = 0;
}

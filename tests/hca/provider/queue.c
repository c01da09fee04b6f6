// SPDX-License-Identifier: GPL-2.0-only
/* The ring of one direction of a QP. */
#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "vrnic.h"

static_assert(sizeof(struct vrnic_send_wr) == sizeof(struct vrnic_receive_wr),
	      "entries of both rings");

int vrnic_queue_open(struct vrnic_queue *queue, struct ibv_context *context, uint64_t key,
		     size_t size, uint32_t entries, uint32_t sges)
{
	if (!entries)
		return 0;
	if (size < (size_t)entries * sizeof(struct vrnic_send_wr))
		return -EPROTO;
	queue->ids = calloc(entries, sizeof(*queue->ids));
	if (!queue->ids)
		return -ENOMEM;
	queue->ring = vrnic_map(context, key, size);
	if (!queue->ring) {
		free(queue->ids);
		queue->ids = NULL;
		return -errno;
	}
	pthread_spin_init(&queue->lock, PTHREAD_PROCESS_PRIVATE);
	queue->size = size;
	queue->entries = entries;
	queue->sges = sges;
	return 0;
}

void vrnic_queue_close(struct vrnic_queue *queue)
{
	if (!queue->entries)
		return;
	pthread_spin_destroy(&queue->lock);
	munmap(queue->ring, queue->size);
	free(queue->ids);
}

void vrnic_queue_reset(struct vrnic_queue *queue)
{
	queue->posted = 0;
	atomic_store(&queue->done, 0);
}

uint32_t vrnic_queue_begin(struct vrnic_queue *queue)
{
	pthread_spin_lock(&queue->lock);
	return queue->posted;
}

void vrnic_queue_end(struct vrnic_queue *queue, struct ibv_qp *qp, enum vrnic_doorbell doorbell,
		     uint32_t before)
{
	if (queue->posted != before)
		vrnic_ring(qp->context, doorbell, qp->qp_num, queue->posted & VRNIC_INDEX_MASK);
	pthread_spin_unlock(&queue->lock);
}

void vrnic_set_sges(struct vrnic_sge *to, const struct ibv_sge *from, int count)
{
	for (int i = 0; i < count; i++)
		to[i] = (struct vrnic_sge) {
			.address = from[i].addr,
			.length = from[i].length,
			.key = from[i].lkey,
		};
}

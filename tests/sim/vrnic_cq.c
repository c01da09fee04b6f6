// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>

#include "vrnic_nic.h"

static bool is_power(uint32_t number)
{
	return number && !(number & (number - 1));
}

unsigned int cq_create(struct vrnic *nic, const struct vrnic_cmd_cq *cmd)
{
	struct vrnic_cq *cq;

	if (!cmd->cq || cmd->cq > NIC_CQS || nic->cqs[cmd->cq])
		return VRNIC_BAD_NUMBER;
	if (cmd->eq >= NIC_VECTORS || !nic->eqs[cmd->eq])
		return VRNIC_BAD_NUMBER;
	if (cmd->doorbell >= NIC_DOORBELLS || !is_power(cmd->entries) ||
	    cmd->entries > VRNIC_MAX_CQE || cmd->address % sizeof(struct vrnic_completion) ||
	    cmd->consumer % sizeof(uint32_t))
		return VRNIC_BAD_ARGUMENT;
	cq = calloc(1, sizeof(*cq));
	if (!cq)
		return VRNIC_BAD_ARGUMENT;
	cq->nic = nic;
	cq->number = cmd->cq;
	cq->eq = nic->eqs[cmd->eq];
	cq->eq->users++;
	cq->doorbell = cmd->doorbell;
	cq->entries = cmd->entries;
	cq->address = cmd->address;
	cq->consumer_address = cmd->consumer;
	nic->cqs[cmd->cq] = cq;
	return VRNIC_OK;
}

unsigned int cq_destroy(struct vrnic *nic, uint32_t number)
{
	struct vrnic_cq *cq;

	if (!number || number > NIC_CQS || !nic->cqs[number])
		return VRNIC_BAD_NUMBER;
	cq = nic->cqs[number];
	if (cq->users)
		return VRNIC_BAD_STATE;
	if (cq->rung)
		TAILQ_REMOVE(&nic->rung, cq, armed_link);
	cq->eq->users--;
	nic->cqs[number] = NULL;
	free(cq);
	return VRNIC_OK;
}

void cq_ring(struct vrnic *nic, uint32_t doorbell, uint64_t value)
{
	uint32_t number = value >> 32;
	struct vrnic_cq *cq = number <= NIC_CQS ? nic->cqs[number] : NULL;

	if (!cq || cq->doorbell != doorbell)
		return;
	cq->rung_index = value & VRNIC_INDEX_MASK;
	/* Two rings that are looked at as one ask for the more of both. */
	cq->rung_solicited = value & VRNIC_ARM_SOLICITED && (!cq->rung || cq->rung_solicited);
	if (!cq->rung) {
		cq->rung = true;
		TAILQ_INSERT_TAIL(&nic->rung, cq, armed_link);
	}
	nic_defer(nic);
}

static void fire(struct vrnic_cq *cq)
{
	cq->armed = false;
	cq->told = cq->producer;
	eq_event(cq->nic, cq->eq->number, VRNIC_EVENT_COMPLETION, cq->number);
}

/* How many of what lies before the producer are new to one who took all before INDEX. */
static uint32_t distance(uint32_t producer, uint32_t index)
{
	return (producer - index) & VRNIC_INDEX_MASK;
}

/*
 * An event comes at once for what lies beyond the index, but not again for what one has told of: a user asks
 * anew before taking what the last event was about.
 */
static void look_at(struct vrnic_cq *cq)
{
	uint32_t from = cq->rung_solicited ? cq->solicited : cq->producer;
	bool behind = distance(cq->told, cq->rung_index) <= cq->entries;
	uint32_t waiting = distance(from, behind ? cq->told : cq->rung_index);

	cq->armed = true;
	cq->armed_solicited = cq->rung_solicited;
	if (waiting && waiting <= cq->entries)
		fire(cq);
}

void cq_look_at_rung(struct vrnic *nic)
{
	struct vrnic_cq *cq = TAILQ_FIRST(&nic->rung);

	TAILQ_REMOVE(&nic->rung, cq, armed_link);
	cq->rung = false;
	look_at(cq);
}

static bool is_full(struct vrnic_cq *cq)
{
	if (distance(cq->producer, cq->consumer) < cq->entries)
		return false;
	if (nic_read(cq->nic, cq->consumer_address, &cq->consumer, sizeof(cq->consumer)))
		return true;
	return distance(cq->producer, cq->consumer) >= cq->entries;
}

static int lose(struct vrnic_cq *cq, int error)
{
	if (!cq->overrun)
		eq_event(cq->nic, 0, VRNIC_EVENT_CQ_ERROR, cq->number);
	cq->overrun = true;
	return error;
}

int cq_complete(struct vrnic_cq *cq, struct vrnic_completion *completion, bool solicited)
{
	const size_t body = offsetof(struct vrnic_completion, phase);
	uint64_t address = cq->address + cq->producer % cq->entries * sizeof(*completion);

	if (cq->overrun || is_full(cq))
		return lose(cq, -ENOSPC);
	completion->phase = !(cq->producer / cq->entries % 2);
	/* What makes it valid comes last. */
	if (nic_write(cq->nic, address, completion, body) ||
	    nic_write(cq->nic, address + body, &completion->phase, sizeof(completion->phase)))
		return lose(cq, -EFAULT);
	cq->producer++;
	cq->nic->counters.completions++;
	if (completion->status != VRNIC_WC_OK)
		cq->nic->counters.error_completions++;
	if (solicited)
		cq->solicited = cq->producer;
	if (cq->armed && (solicited || !cq->armed_solicited))
		fire(cq);
	return 0;
}

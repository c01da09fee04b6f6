// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Which GPUs and NICs stand below one made-up bridge: pairs that passed, and that sysfs
 * does not show near already. Where all pass, as where the host lets peers reach one
 * another, each GPU gets as many NICs as another, the nearest first.
 */
#include <limits.h>
#include <stdlib.h>

#include "../util.h"
#include "nccl.h"

#define NOBODY	SIZE_MAX

struct match {
	struct nccl_plan *plan;
	size_t *partner;	/* of each NIC in this round, NOBODY for none */
	size_t *from;		/* GPU that a NIC was reached from, NOBODY if it was not */
	size_t *queue;		/* GPUs */
};

bool nccl_verdict(const struct topo *topo, const struct function *gpu, const struct function *nic,
		  enum measure *verdict, bool *window)
{
	bool measured = false, seen = false;

	for (size_t i = 0; i < topo->memory_count; i++) {
		if (topo->memory[i].function != gpu)
			continue;
		for (size_t j = 0; j < topo->initiator_count; j++) {
			const struct topo_pair *pair = topo_pair(topo, i, j);

			if (topo->initiators[j].function != nic || !pair->measured ||
			    !topo->initiators[j].rdma || topo->initiators[j].soft)
				continue;
			if (!measured || pair->verdict > *verdict)
				*verdict = pair->verdict;
			measured = true;
			seen |= pair->window;
		}
	}
	if (window)
		*window = seen;
	return measured;
}

unsigned int nccl_distance(const struct topo *topo, const struct function *a,
			   const struct function *b)
{
	for (size_t i = 0; i < topo->memory_count; i++)
		for (size_t j = 0; j < topo->initiator_count; j++)
			if (topo->memory[i].function == a && topo->initiators[j].function == b)
				return topo_pair(topo, i, j)->distance;
	return VPEER_DISTANCE_UNKNOWN;
}

static unsigned int rank(const struct nccl_plan *plan, const struct nccl_item *gpu,
			 const struct nccl_item *nic)
{
	unsigned int distance = nccl_distance(plan->topo, gpu->function, nic->function);

	return distance == VPEER_DISTANCE_UNKNOWN ? UINT_MAX : distance;
}

static bool is_near(const struct nccl_plan *plan, const struct nccl_item *gpu,
		    const struct nccl_item *nic)
{
	return rank(plan, gpu, nic) <= VPEER_DISTANCE_SAME_ROOT_PORT;
}

static bool fit(const struct nccl_plan *plan, const struct nccl_item *gpu,
		const struct nccl_item *nic)
{
	enum measure verdict;

	if (gpu->settled || nic->settled ||
	    !nccl_verdict(plan->topo, gpu->function, nic->function, &verdict, NULL) ||
	    verdict != MEASURE_PASS)
		return false;
	return gpu->node == nic->node || gpu->node == NO_NODE || nic->node == NO_NODE;
}

static bool may_have(const struct match *match, size_t gpu, size_t nic)
{
	const struct nccl_plan *plan = match->plan;

	return !plan->items[nic].gpu && !plan->items[nic].group &&
	       fit(plan, &plan->items[gpu], &plan->items[nic]);
}

/* The nearest NIC that nobody has. */
static size_t free_nic(const struct match *match, size_t gpu)
{
	const struct nccl_plan *plan = match->plan;
	unsigned int least = UINT_MAX;
	size_t best = NOBODY;

	for (size_t i = 0; i < plan->count; i++) {
		unsigned int here;

		if (match->partner[i] != NOBODY || !may_have(match, gpu, i))
			continue;
		here = rank(plan, &plan->items[gpu], &plan->items[i]);
		if (best == NOBODY || here < least) {
			best = i;
			least = here;
		}
	}
	return best;
}

static size_t nic_of(const struct match *match, size_t gpu)
{
	size_t i = 0;

	while (i < match->plan->count && match->partner[i] != gpu)
		i++;
	return i < match->plan->count ? i : NOBODY;
}

/* Each GPU on the way takes the NIC that was reached from it, and leaves its own. */
static void hand_over(struct match *match, size_t nic)
{
	while (nic != NOBODY) {
		size_t gpu = match->from[nic], before = nic_of(match, gpu);

		match->partner[nic] = gpu;
		nic = before;
	}
}

/* A free NIC, or one whose GPU can take another, or whose GPU's other's GPU can, and so on. */
static bool take_any(struct match *match, size_t gpu)
{
	size_t count = match->plan->count, first = 0, last = 0;

	for (size_t i = 0; i < count; i++)
		match->from[i] = NOBODY;
	match->queue[last++] = gpu;
	while (first < last) {
		size_t at = match->queue[first++], nic = free_nic(match, at);

		if (nic != NOBODY) {
			match->from[nic] = at;
			hand_over(match, nic);
			return true;
		}
		for (size_t i = 0; i < count; i++) {
			if (match->from[i] != NOBODY || !may_have(match, at, i))
				continue;
			match->from[i] = at;
			match->queue[last++] = match->partner[i];
		}
	}
	return false;
}

static void join(struct nccl_plan *plan, struct nccl_item *gpu, struct nccl_item *nic)
{
	enum measure verdict;
	bool window = false;

	nccl_verdict(plan->topo, gpu->function, nic->function, &verdict, &window);
	if (window)
		nccl_remark(plan, nic->function->pci, "bytes were compared through the BAR, not "
			    "from the GPU's side.");
	if (!gpu->group && !nic->group)
		gpu->group = ++plan->groups;
	if (!gpu->group)
		gpu->group = nic->group;
	nic->group = gpu->group;
	if (gpu->node == NO_NODE)
		gpu->node = nic->node;
	nic->node = gpu->node;
}

/* Gives each GPU another NIC, if there is one; whether any got one. */
static bool round_of_all(struct match *match)
{
	struct nccl_plan *plan = match->plan;
	bool any = false;

	for (size_t i = 0; i < plan->count; i++)
		match->partner[i] = NOBODY;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].gpu)
			any |= take_any(match, i);
	for (size_t i = 0; i < plan->count; i++)
		if (match->partner[i] != NOBODY)
			join(plan, &plan->items[match->partner[i]], &plan->items[i]);
	return any;
}

static size_t gpus_in(const struct nccl_plan *plan, size_t group)
{
	size_t count = 0;

	for (size_t i = 0; i < plan->count; i++)
		count += plan->items[i].gpu && plan->items[i].group == group;
	return count;
}

/* A GPU that got none shares the NIC of fewest others. */
static void share(struct nccl_plan *plan, struct nccl_item *gpu)
{
	struct nccl_item *best = NULL;
	size_t fewest = 0;

	for (size_t i = 0; i < plan->count; i++) {
		struct nccl_item *nic = &plan->items[i];

		if (nic->gpu || !nic->group || !fit(plan, gpu, nic))
			continue;
		if (!best || gpus_in(plan, nic->group) < fewest) {
			best = nic;
			fewest = gpus_in(plan, nic->group);
		}
	}
	if (best)
		join(plan, gpu, best);
}

static void settle(struct nccl_plan *plan)
{
	for (size_t i = 0; i < plan->count; i++) {
		for (size_t j = 0; j < plan->count; j++) {
			struct nccl_item *gpu = &plan->items[i], *nic = &plan->items[j];

			if (!gpu->gpu || nic->gpu || !is_near(plan, gpu, nic))
				continue;
			gpu->settled = true;
			nic->settled = true;
		}
	}
}

/* What came out wrong with every GPU that was tried. */
static bool is_wrong(const struct nccl_plan *plan, const struct nccl_item *nic)
{
	enum measure verdict;
	bool wrong = false;

	for (size_t i = 0; i < plan->count; i++) {
		if (!plan->items[i].gpu ||
		    !nccl_verdict(plan->topo, plan->items[i].function, nic->function, &verdict,
				  NULL))
			continue;
		if (verdict <= MEASURE_UNPROVEN)
			return false;
		wrong = true;
	}
	return wrong;
}

void nccl_plan_groups(struct nccl_plan *plan)
{
	struct match match = { .plan = plan };

	settle(plan);
	match.partner = xrealloc(NULL, plan->count, sizeof(*match.partner));
	match.from = xrealloc(NULL, plan->count, sizeof(*match.from));
	match.queue = xrealloc(NULL, plan->count + 1, sizeof(*match.queue));
	while (round_of_all(&match))
		;
	for (size_t i = 0; i < plan->count; i++)
		if (plan->items[i].gpu && !plan->items[i].group)
			share(plan, &plan->items[i]);
	for (size_t i = 0; i < plan->count; i++) {
		struct nccl_item *nic = &plan->items[i];

		nic->no_gdr = !nic->gpu && is_wrong(plan, nic);
		if (nic->no_gdr)
			nccl_remark(plan, nic->function->pci, "gdr is 0, since no GPU's bytes came "
				    "through.");
	}
	free(match.partner);
	free(match.from);
	free(match.queue);
}

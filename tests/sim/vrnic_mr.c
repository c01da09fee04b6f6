// SPDX-License-Identifier: GPL-2.0-only
/* Memory regions: keys to lists of segments, which may come later and go before the region does. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "dma.h"
#include "log.h"
#include "loop.h"
#include "vrnic_nic.h"

#define PAGE_REQUEST_TIME	2000000	/* microseconds until what waits for it fails */
#define FAILURE_TIME		250000	/* how long all that waited is told so */

static struct vrnic_mr *find(struct vrnic *nic, uint32_t key)
{
	uint32_t index = key >> 8;
	struct vrnic_mr *mr = index <= NIC_MRS ? nic->mrs[index] : NULL;

	return mr && mr->key == key ? mr : NULL;
}

unsigned int mr_create(struct vrnic *nic, const struct vrnic_cmd_create_mr *cmd)
{
	uint32_t index = cmd->key >> 8;
	struct vrnic_mr *mr;

	if (!index || index > NIC_MRS || nic->mrs[index])
		return VRNIC_BAD_NUMBER;
	if (cmd->length && cmd->address + cmd->length - 1 < cmd->address)
		return VRNIC_BAD_ARGUMENT;
	mr = calloc(1, sizeof(*mr));
	if (!mr)
		return VRNIC_BAD_ARGUMENT;
	mr->key = cmd->key;
	mr->pd = cmd->pd;
	mr->access = cmd->access;
	mr->address = cmd->address;
	mr->length = cmd->length;
	nic->mrs[index] = mr;
	return VRNIC_OK;
}

static void forget_segments(struct vrnic *nic, struct vrnic_mr *mr)
{
	nic->segments -= mr->count;
	free(mr->segments);
	free(mr->starts);
	mr->segments = NULL;
	mr->starts = NULL;
	mr->count = 0;
	mr->mapped_length = 0;
	mr->mapped = false;
}

static bool grow(struct vrnic *nic, struct vrnic_mr *mr, uint32_t count)
{
	struct vrnic_segment *segments;
	uint64_t *starts;

	if (count > NIC_SEGMENTS - nic->segments)
		return false;
	segments = reallocarray(mr->segments, mr->count + count, sizeof(*segments));
	if (segments)
		mr->segments = segments;
	starts = reallocarray(mr->starts, mr->count + count, sizeof(*starts));
	if (starts)
		mr->starts = starts;
	return segments && starts;
}

static bool add(struct vrnic *nic, struct vrnic_mr *mr, const struct vrnic_cmd_map_mr *cmd)
{
	uint32_t i;

	if (!cmd->segments)
		return true;
	if (!grow(nic, mr, cmd->segments))
		return false;
	for (i = 0; i < cmd->segments; i++) {
		const struct vrnic_segment *segment = &cmd->segment[i];

		if (!segment->length || segment->length > mr->length - mr->mapped_length ||
		    segment->address + segment->length - 1 < segment->address)
			return false;
		mr->segments[mr->count] = *segment;
		mr->starts[mr->count] = mr->mapped_length;
		mr->count++;
		nic->segments++;
		mr->mapped_length += segment->length;
	}
	return true;
}

static void end_request(struct vrnic_mr *mr)
{
	mr->requested = false;
	mr->failed = false;
	mr->until = 0;
}

unsigned int mr_map(struct vrnic *nic, const struct vrnic_cmd_map_mr *cmd, size_t length)
{
	struct vrnic_mr *mr = find(nic, cmd->key);

	if (!mr)
		return VRNIC_BAD_NUMBER;
	if (cmd->segments > (length - sizeof(*cmd)) / sizeof(cmd->segment[0]))
		return VRNIC_BAD_LENGTH;
	if (cmd->flags & VRNIC_MAP_FIRST)
		forget_segments(nic, mr);
	else if (mr->mapped)
		return VRNIC_BAD_STATE;
	if (!add(nic, mr, cmd) ||
	    (cmd->flags & VRNIC_MAP_LAST && mr->mapped_length != mr->length)) {
		forget_segments(nic, mr);
		return VRNIC_BAD_ARGUMENT;
	}
	if (cmd->flags & VRNIC_MAP_LAST) {
		mr->mapped = true;
		end_request(mr);
	}
	return VRNIC_OK;
}

unsigned int mr_unmap(struct vrnic *nic, uint32_t key)
{
	struct vrnic_mr *mr = find(nic, key);

	if (!mr)
		return VRNIC_BAD_NUMBER;
	forget_segments(nic, mr);
	end_request(mr);
	return VRNIC_OK;
}

static void fail(struct vrnic_mr *mr)
{
	mr->requested = false;
	mr->failed = true;
	mr->until = loop_now() + FAILURE_TIME;
}

unsigned int mr_fail(struct vrnic *nic, uint32_t key)
{
	struct vrnic_mr *mr = find(nic, key);

	if (!mr)
		return VRNIC_BAD_NUMBER;
	if (mr->requested)
		fail(mr);
	return VRNIC_OK;
}

unsigned int mr_destroy(struct vrnic *nic, uint32_t key)
{
	struct vrnic_mr *mr = find(nic, key);

	if (!mr)
		return VRNIC_BAD_NUMBER;
	forget_segments(nic, mr);
	nic->mrs[key >> 8] = NULL;
	free(mr);
	return VRNIC_OK;
}

static enum mr_result request(struct vrnic *nic, struct vrnic_mr *mr)
{
	uint64_t now = loop_now();

	if (mr->requested && now >= mr->until)
		fail(mr);
	if (mr->failed && now < mr->until)
		return MR_FAILED;
	if (!mr->requested) {
		mr->failed = false;
		mr->requested = true;
		mr->until = now + PAGE_REQUEST_TIME;
		nic->counters.page_requests++;
		eq_event(nic, 0, VRNIC_EVENT_PAGE_REQUEST, mr->key);
	}
	return MR_PENDING;
}

static const char *operation_of(uint32_t rights)
{
	if (rights & VRNIC_REMOTE_ATOMIC)
		return "atomic";
	return rights & (VRNIC_LOCAL_WRITE | VRNIC_REMOTE_WRITE) ? "write" : "read";
}

static bool allows(const struct vrnic_mr *mr, const struct mr_access *access, uint64_t address,
		   uint64_t length)
{
	return mr->pd == access->pd && (mr->access & access->rights) == access->rights &&
	       address >= mr->address && address - mr->address <= mr->length &&
	       length <= mr->length - (address - mr->address);
}

static enum mr_result look_up(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			      uint64_t length, struct vrnic_mr **found)
{
	const char *operation = operation_of(access->rights);
	enum mr_result result = MR_OK;

	*found = find(nic, access->key);
	if (!*found || !allows(*found, access, address, length)) {
		log_access(nic->function, address, length, operation, "refused", "none");
		return MR_REFUSED;
	}
	if (!(*found)->mapped)
		result = request(nic, *found);
	if (result == MR_FAILED)
		log_access(nic->function, address, length, operation, "no-pages", "none");
	return result;
}

enum mr_result mr_check(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			uint64_t length)
{
	struct vrnic_mr *mr;

	return look_up(nic, access, address, length, &mr);
}

/* Index of the segment that has the byte at OFFSET. */
static uint32_t segment_at(const struct vrnic_mr *mr, uint64_t offset)
{
	uint32_t low = 0, high = mr->count;

	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;

		if (mr->starts[middle] <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static enum mr_result copy(struct vrnic *nic, const struct vrnic_mr *mr, uint64_t offset, void *to,
			   const void *from, size_t length)
{
	uint32_t i = length ? segment_at(mr, offset) : 0;
	size_t done = 0;

	while (done < length) {
		uint64_t inside = offset + done - mr->starts[i];
		uint64_t part = mr->segments[i].length - inside;
		uint64_t iova = mr->segments[i].address + inside;
		int error;

		if (part > length - done)
			part = length - done;
		error = to ? nic_read_region(nic, iova, (char *)to + done, part) :
			     nic_write_region(nic, iova, (const char *)from + done, part);
		if (error)
			return MR_UNREACHED;
		done += part;
		i++;
	}
	return MR_OK;
}

enum mr_result mr_read(struct vrnic *nic, const struct mr_access *access, uint64_t address,
		       void *to, size_t length)
{
	struct vrnic_mr *mr;
	enum mr_result result = look_up(nic, access, address, length, &mr);

	return result ? result : copy(nic, mr, address - mr->address, to, NULL, length);
}

enum mr_result mr_write(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			const void *from, size_t length)
{
	struct vrnic_mr *mr;
	enum mr_result result = look_up(nic, access, address, length, &mr);

	return result ? result : copy(nic, mr, address - mr->address, NULL, from, length);
}

enum mr_result mr_atomic(struct vrnic *nic, const struct mr_access *access, uint64_t address,
			 const struct frame_head *head, uint64_t *before)
{
	enum dma_atomic operation =
		head->op == FRAME_FETCH_ADD ? DMA_FETCH_ADD : DMA_COMPARE_SWAP;
	struct vrnic_mr *mr;
	enum mr_result result = look_up(nic, access, address, sizeof(*before), &mr);
	uint64_t offset, inside;
	uint32_t i;

	if (result)
		return result;
	offset = address - mr->address;
	i = segment_at(mr, offset);
	inside = offset - mr->starts[i];
	/* A segment's end between the eight bytes leaves no way to be atomic. */
	if (mr->segments[i].length - inside < sizeof(*before))
		return MR_UNREACHED;
	if (nic_atomic(nic, mr->segments[i].address + inside, operation, head->operand, before))
		return MR_UNREACHED;
	return MR_OK;
}

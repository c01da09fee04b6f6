// SPDX-License-Identifier: GPL-2.0-only
/* Scatter and gather over the elements of a work request. */
#include "vrnic_nic.h"

int64_t sge_length(const struct vrnic_sge *sge, unsigned int count)
{
	int64_t length = 0;
	unsigned int i;

	for (i = 0; i < count; i++)
		length += sge[i].length;
	return length > VRNIC_MAX_MESSAGE ? -1 : length;
}

enum mr_result sge_check(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			 uint32_t rights)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct mr_access access = { qp->pd, sge[i].key, rights };
		enum mr_result result;

		if (!sge[i].length)
			continue;
		result = mr_check(qp->nic, &access, sge[i].address, sge[i].length);
		if (result)
			return result;
	}
	return MR_OK;
}

static enum mr_result copy(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			   uint64_t offset, void *to, const void *from, size_t length)
{
	enum mr_result result = MR_OK;
	size_t done = 0;
	unsigned int i;

	for (i = 0; i < count && done < length && !result; i++) {
		struct mr_access access = { qp->pd, sge[i].key, to ? 0 : VRNIC_LOCAL_WRITE };
		size_t part = sge[i].length;
		uint64_t address = sge[i].address + offset;

		if (offset >= part) {
			offset -= part;
			continue;
		}
		part -= offset;
		offset = 0;
		if (part > length - done)
			part = length - done;
		result = to ? mr_read(qp->nic, &access, address, (char *)to + done, part) :
			      mr_write(qp->nic, &access, address, (const char *)from + done, part);
		done += part;
	}
	return result;
}

enum mr_result sge_gather(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			  uint64_t offset, void *to, size_t length)
{
	return copy(qp, sge, count, offset, to, NULL, length);
}

enum mr_result sge_scatter(struct vrnic_qp *qp, const struct vrnic_sge *sge, unsigned int count,
			   uint64_t offset, const void *from, size_t length)
{
	return copy(qp, sge, count, offset, NULL, from, length);
}

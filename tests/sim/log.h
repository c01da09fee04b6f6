/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DIR/access.log: one line for each access to a peer, and for each that failed, or was by a stale translation,
 * wherever it went:
 *
 *   TIME INITIATOR IOVA LENGTH OP OUTCOME ROUTE
 *
 * TIME	microseconds, monotonic, when it was done
 * INITIATOR	the function: vrnic0
 * IOVA	hexadecimal, with 0x
 * LENGTH	bytes, decimal; a transfer that meets several regions has a line for each
 * OP	read, write or atomic
 * OUTCOME	ok; unmapped (no translation), denied (no right to it), off (may not reach memory: bus mastering,
 *		reset, gone), error (QEMU refused it or the memory is gone); or the name of the misbehaviour
 *		that acted: drop, mirror, read-fail, one-way, late, page-error, high-fail, bar-unmapped,
 *		atc-stale, bounce. "late" is the completion; its data landing is a line of its own: landed, or
 *		unmapped, error ...; refused (an RDMA access that its key does not allow or that no memory region
 *		has any more; IOVA is what the work request said then); no-pages (an RDMA access to a dynamic
 *		region that has none and was given none in time; IOVA as before)
 * ROUTE	mapped (the region's file), message (QEMU did it), none (it reached nothing)
 *
 * When it is 64 MiB long it becomes access.log.1, in place of an earlier one.
 */
#ifndef SIM_LOG_H
#define SIM_LOG_H

#include <stddef.h>
#include <stdint.h>

struct function;

int log_open(const char *directory);	/* 0 or -errno */
void log_close(void);
void log_access(const struct function *function, uint64_t iova, size_t length, const char *op,
		const char *outcome, const char *route);
int log_clear(void);
int log_read_only(void);		/* a descriptor at its start, or -errno */

#endif

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is tested of an (aperture, RDMA device) pair. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "bed.h"
#include "rdma.h"

static const uint64_t default_sizes[] = { 1, 8, 64, 4096, 65536, 1 << 20 };

/* Odd length at an odd place, across page boundaries. */
#define ODD_SIZE	65521U
#define ODD_OFFSET	(GUARD + 13U)

#define UNPIN_WAIT_MS	2000
#define ATOMIC_SIZE	8

struct test {
	struct bed bed;
	struct rdma rdma;
	struct ibv_mr *window;
	struct ibv_mr *host;
};

struct rdma_op {
	enum op op;
	enum ibv_wr_opcode opcode;
	bool pulls;	/* data goes from the remote to the local side */
};

static const struct rdma_op transfers[] = {
	{ OP_WRITE, IBV_WR_RDMA_WRITE, false },
	{ OP_READ, IBV_WR_RDMA_READ, true },
	{ OP_SEND, IBV_WR_SEND, false },
};

static bool run(struct test *test, const struct transfer *transfer, struct record *record)
{
	enum ibv_wc_status status;
	struct vpeer_error error;

	if (!rdma_transfer(&test->rdma, transfer, &status, &error))
		return true;
	record_fail(record, error.remedy, "%s", error.message);
	if (rdma_connect(&test->rdma, &error))
		send_error(test->bed.channel, &error);
	return false;
}

static void begin_case(struct test *test, struct record *record)
{
	char bytes[BYTES_LEN];

	send_started(test->bed.channel, "%s %s, %s", record->name,
		     format_bytes(record->size, bytes), direction_name(record->direction));
	bed_poison(&test->bed, record->offset, record->size);
}

static void move_case(struct test *test, const struct rdma_op *op, struct record record)
{
	bool to_window = record.direction == TO_WINDOW;
	enum side source = to_window ? SIDE_HOST : SIDE_WINDOW;
	enum side target = to_window ? SIDE_WINDOW : SIDE_HOST;
	bool window_is_local = to_window == op->pulls;
	struct bed *bed = &test->bed;
	struct transfer transfer = {
		.opcode = op->opcode,
		.local = window_is_local ? test->window : test->host,
		.remote = window_is_local ? test->host : test->window,
		.offset = record.offset,
		.length = (uint32_t)record.size,
	};

	transfer.rkey = transfer.remote->rkey;
	begin_case(test, &record);
	pattern_fill(bed->expected, PATTERN_PAYLOAD, bed->seed, record.offset, record.size);
	bed_store(bed, source, record.offset, bed->expected, record.size);
	if (bed_check(bed, source, record.offset, record.size, &record) &&
	    run(test, &transfer, &record) &&
	    bed_check(bed, target, record.offset, record.size, &record) &&
	    bed_check(bed, source, record.offset, record.size, &record))
		record.bytes = record.size;
	send_record(bed->channel, &record);
}

static void move_all(struct test *test, const struct rdma_op *op, enum direction direction,
		     const struct settings *settings)
{
	const uint64_t *sizes = settings->size_count ? settings->sizes : default_sizes;
	size_t count = settings->size_count ? settings->size_count : ARRAY_SIZE(default_sizes);
	struct record record = {
		.kind = RECORD_CASE,
		.op = op->op,
		.direction = direction,
		.offset = GUARD,
	};

	text_format(record.name, sizeof(record.name), "%s", op_name(op->op));
	for (size_t i = 0; i < count; i++) {
		record.size = sizes[i];
		move_case(test, op, record);
	}
	record.size = ODD_SIZE;
	record.offset = ODD_OFFSET;
	text_format(record.name, sizeof(record.name), "%s unaligned", op_name(op->op));
	move_case(test, op, record);
}

struct atomic {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool hits;	/* compare-and-swap: the compare value matches */
};

static const struct atomic atomics[] = {
	{ "fetch-add", IBV_WR_ATOMIC_FETCH_AND_ADD, true },
	{ "compare-swap", IBV_WR_ATOMIC_CMP_AND_SWP, true },
	{ "compare-swap, unequal", IBV_WR_ATOMIC_CMP_AND_SWP, false },
};

static uint64_t atomic_result(const struct atomic *atomic, const struct transfer *transfer,
			      uint64_t old)
{
	if (atomic->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		return old + transfer->compare_add;
	return atomic->hits ? transfer->swap : old;
}

/* The target of the operation is in the window, or its result lands there. */
static void atomic_case(struct test *test, const struct atomic *atomic, enum direction direction)
{
	bool in_window = direction == TO_WINDOW;
	struct bed *bed = &test->bed;
	struct transfer transfer = {
		.opcode = atomic->opcode,
		.local = in_window ? test->host : test->window,
		.remote = in_window ? test->window : test->host,
		.offset = GUARD,
		.length = ATOMIC_SIZE,
		.rkey = (in_window ? test->window : test->host)->rkey,
	};
	struct record record = {
		.kind = RECORD_CASE,
		.op = OP_ATOMIC,
		.direction = direction,
		.size = ATOMIC_SIZE,
		.offset = GUARD,
	};
	uint64_t old, new;

	text_format(record.name, sizeof(record.name), "%s", atomic->name);
	begin_case(test, &record);
	pattern_fill(&old, PATTERN_PAYLOAD, bed->seed, GUARD, sizeof(old));
	pattern_fill(&transfer.swap, PATTERN_PAYLOAD, ~bed->seed, GUARD, sizeof(old));
	transfer.compare_add = atomic->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ?
				       0x0102030405060708ULL : atomic->hits ? old : ~old;
	new = atomic_result(atomic, &transfer, old);
	bed_store(bed, in_window ? SIDE_WINDOW : SIDE_HOST, GUARD, &old, sizeof(old));
	if (run(test, &transfer, &record)) {
		memcpy(bed->expected, &new, sizeof(new));
		if (bed_check(bed, in_window ? SIDE_WINDOW : SIDE_HOST, GUARD, sizeof(new),
			      &record)) {
			memcpy(bed->expected, &old, sizeof(old));
			if (bed_check(bed, in_window ? SIDE_HOST : SIDE_WINDOW, GUARD,
				      sizeof(old), &record))
				record.bytes = 2 * ATOMIC_SIZE;
		}
	}
	send_record(bed->channel, &record);
}

static void test_atomics(struct test *test)
{
	struct record record = {
		.kind = RECORD_CASE,
		.op = OP_ATOMIC,
		.outcome = OUTCOME_SKIPPED,
		.name = "atomic",
		.text = "the device has no atomic operations",
	};

	if (test->rdma.atomics == IBV_ATOMIC_NONE) {
		send_record(test->bed.channel, &record);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(atomics); i++) {
		atomic_case(test, &atomics[i], TO_WINDOW);
		atomic_case(test, &atomics[i], FROM_WINDOW);
	}
}

/* A write that must fail and change nothing. */
static void refused_write(struct test *test, const char *name, struct transfer *transfer)
{
	struct record record = { .kind = RECORD_CONTROL };
	struct bed *bed = &test->bed;
	uint64_t look = bed->length - 2 * GUARD;
	enum ibv_wc_status status;
	struct vpeer_error error;
	int err;

	text_format(record.name, sizeof(record.name), "%s", name);
	send_started(bed->channel, "%s", name);
	bed_poison(bed, GUARD, bed->length - 2 * GUARD);
	err = rdma_transfer(&test->rdma, transfer, &status, &error);
	if (!err)
		record_fail(&record, "the device does not guard memory: do not use it",
			    "the write was carried out");
	else if (err != -EIO || status == IBV_WC_SUCCESS)
		record_fail(&record, error.remedy, "no completion with an error: %s",
			    error.message);
	else if (bed_check_poison(bed, SIDE_WINDOW, GUARD, look, &record))
		text_format(record.text, sizeof(record.text), "refused: %s", error.message);
	send_record(bed->channel, &record);
	if (err && rdma_connect(&test->rdma, &error))
		send_error(bed->channel, &error);
}

static uint32_t wrong_rkey(const struct test *test)
{
	uint32_t wrong = test->window->rkey ^ 0x55;

	return wrong == test->host->rkey ? wrong ^ 0xff : wrong;
}

static void test_refusals(struct test *test)
{
	struct transfer transfer = {
		.opcode = IBV_WR_RDMA_WRITE,
		.local = test->host,
		.remote = test->window,
		.offset = GUARD,
		.length = GUARD,
		.rkey = wrong_rkey(test),
	};
	struct ibv_mr host = *test->host;

	refused_write(test, "write with a wrong rkey", &transfer);
	/* Eight bytes inside, the rest beyond; the local side stays inside. */
	transfer.rkey = test->window->rkey;
	transfer.offset = test->bed.length - 8;
	host.addr = (uint8_t *)host.addr - transfer.offset;
	transfer.local = &host;
	refused_write(test, "write past the end of the region", &transfer);
}

static bool unpinned(const struct test *test, uint64_t *pinned)
{
	for (int waited = 0; waited < UNPIN_WAIT_MS; waited += 10) {
		if (!bed_pinned(&test->bed, pinned))
			return false;
		if (!*pinned)
			return true;
		usleep(10000);
	}
	return false;
}

static bool register_both(struct test *test, struct evidence *evidence)
{
	uint64_t before = 0, during = 0;
	struct bed *bed = &test->bed;
	bool readable = bed_pinned(bed, &before);

	test->window = rdma_register(&test->rdma, bed->mapped, bed->length);
	if (!test->window) {
		send_failed(bed->channel,
			    errno == ENOMEM ? "raise 'ulimit -l', or run as root" :
					      "see the kernel log; 'vpeer list' shows the aperture",
			    "%s: cannot register the window of %zu bytes: %s", test->rdma.who,
			    bed->length, strerror(errno));
		return false;
	}
	readable = readable && bed_pinned(bed, &during);
	test->host = rdma_register(&test->rdma, bed->host, bed->length);
	if (!test->host) {
		send_failed(bed->channel, "raise 'ulimit -l', or run as root",
			    "%s: cannot register host memory: %s", test->rdma.who,
			    strerror(errno));
		return false;
	}
	if (!readable)
		text_format(evidence->pins_text, sizeof(evidence->pins_text),
			    "the module's count of pinned bytes is not readable");
	else
		evidence->pins = !before && during == bed->length ? FACT_YES : FACT_NO;
	if (readable)
		text_format(evidence->pins_text, sizeof(evidence->pins_text),
			    "pinned bytes of the window went from %" PRIu64 " to %" PRIu64
			    " at registration of %zu", before, during, bed->length);
	return true;
}

/* True when the regions are gone. */
static bool deregister_both(struct test *test, struct evidence *evidence)
{
	struct ibv_mr *regions[] = { test->window, test->host };
	uint64_t after = 0;
	int err = 0;

	test->window = NULL;
	test->host = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(regions); i++)
		if (regions[i] && ibv_dereg_mr(regions[i]))
			err = errno;
	if (err) {
		send_failed(test->bed.channel, "", "%s: cannot deregister memory: %s",
			    test->rdma.who, strerror(err));
		return false;
	}
	if (evidence->pins != FACT_YES)
		return true;
	if (!unpinned(test, &after)) {
		evidence->pins = FACT_NO;
		text_format(evidence->pins_text, sizeof(evidence->pins_text),
			    "%" PRIu64 " bytes of the window stay pinned after deregistration",
			    after);
	}
	return true;
}

static void test_revoked_registration(struct test *test)
{
	struct record record = {
		.kind = RECORD_CONTROL,
		.name = "registration after revoke",
	};
	struct ibv_mr *region;

	send_started(test->bed.channel, "%s", record.name);
	region = rdma_register(&test->rdma, test->bed.mapped, test->bed.length);
	if (region) {
		record_fail(&record, "the module does not stop access: report this",
			    "the revoked window could be registered");
		ibv_dereg_mr(region);
	} else {
		text_format(record.text, sizeof(record.text), "refused: %s", strerror(errno));
	}
	send_record(test->bed.channel, &record);
}

static void test_transfers(struct test *test, const struct settings *settings)
{
	for (size_t i = 0; i < ARRAY_SIZE(transfers); i++) {
		move_all(test, &transfers[i], TO_WINDOW, settings);
		move_all(test, &transfers[i], FROM_WINDOW, settings);
	}
	test_atomics(test);
}

static void test_connected(struct test *test, const struct settings *settings)
{
	const struct pair *pair = test->bed.pair;
	struct record record = {
		.kind = RECORD_EVIDENCE,
		.evidence = {
			.soft = pair->initiator->soft,
			.translating = pair->initiator->translating,
		},
	};
	struct swiotlb_state before;
	bool released;

	trace_watch(pair->trace, pair->bus_start + vpeer_window_offset(test->bed.window),
		    test->bed.length);
	swiotlb_read(&before, DEBUGFS, true);
	if (!register_both(test, &record.evidence))
		return;
	test_transfers(test, settings);
	test_refusals(test);
	released = deregister_both(test, &record.evidence);
	bed_collect(&test->bed, &before, &record.evidence);
	send_record(test->bed.channel, &record);
	if (released && bed_revoke(&test->bed))
		test_revoked_registration(test);
}

static uint64_t largest(const struct settings *settings)
{
	uint64_t most = settings->size_count ? ODD_SIZE + 13 : default_sizes[5];

	for (size_t i = 0; i < settings->size_count; i++)
		if (settings->sizes[i] > most)
			most = settings->sizes[i];
	return most;
}

void test_rdma(const struct pair *pair, const struct settings *settings,
	       const struct channel *channel)
{
	struct test test = { 0 };
	struct vpeer_error error;

	if (bed_begin(&test.bed, pair, settings, channel, largest(settings))) {
		if (rdma_open(&test.rdma, pair->initiator->name, &error) ||
		    rdma_connect(&test.rdma, &error))
			send_error(channel, &error);
		else
			test_connected(&test, settings);
	}
	if (test.window)
		ibv_dereg_mr(test.window);
	if (test.host)
		ibv_dereg_mr(test.host);
	rdma_close(&test.rdma);
	bed_end(&test.bed);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What is tested of an (aperture, disk) pair: O_DIRECT in both directions. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bed.h"
#include "disk.h"
#include "sampler.h"
#include "scratch.h"

static const uint64_t default_sizes[] = { 512, 4096, 65536, 1 << 20 };

/* Without a scratch range: how far to look for data that is not all zero. */
#define SEARCH_BYTES	(256ULL << 20)
#define SEARCH_STEP	(1ULL << 20)

/* How long to look for pins that I/O itself did not show. */
#define CATCH_SECONDS	2

struct test {
	struct bed bed;
	struct sampler sampler;
	const struct initiator *disk;
	const struct scratch *scratch;
	int fd;
	bool pinned;		/* the sampler caught pins */
	uint64_t most;
};

static bool io_failed(struct record *record, const struct test *test, const char *what, int err)
{
	record_fail(record,
		    err == -EFAULT ? "the kernel refuses these pages: see its log" :
				     "see the kernel log for IOMMU or device errors",
		    "%s of /dev/%s: %s", what, test->disk->name, strerror(-err));
	return false;
}

static void skip(struct record *record, const char *remedy, const char *why)
{
	record->outcome = OUTCOME_SKIPPED;
	text_format(record->text, sizeof(record->text), "%s", why);
	text_format(record->remedy, sizeof(record->remedy), "%s", remedy);
}

static void begin_case(struct test *test, struct record *record)
{
	char bytes[BYTES_LEN];

	send_started(test->bed.channel, "%s %s, %s", record->name,
		     format_bytes(record->size, bytes), direction_name(record->direction));
	bed_poison(&test->bed, record->offset, record->size);
}

static void watch_pins(struct test *test)
{
	sampler_begin(&test->sampler, &test->bed);
}

static void unwatch_pins(struct test *test)
{
	sampler_end(&test->sampler);
	test->pinned |= test->sampler.most != 0;
	if (test->sampler.most > test->most)
		test->most = test->sampler.most;
}

/* The I/O that is tested: disk into window, or window onto disk. */
static int window_io(struct test *test, enum direction direction, uint64_t offset, size_t size,
		     uint64_t place)
{
	uint8_t *target = test->bed.mapped + offset;
	int err;

	watch_pins(test);
	err = direction == TO_WINDOW ? disk_read(test->fd, target, size, place) :
				       disk_write(test->fd, target, size, place);
	unwatch_pins(test);
	return err;
}

static bool scratch_fits(const struct test *test, struct record *record)
{
	if (record->size + 2 * GUARD <= test->scratch->length)
		return true;
	skip(record, "name a longer range with --scratch", "the scratch range is too short");
	return false;
}

/* Where the case's bytes lie on the disk; the host's guards lie around them. */
static uint64_t scratch_place(const struct test *test)
{
	return test->scratch->offset + GUARD;
}

static bool scratch_io(struct test *test, bool write, struct record *record)
{
	uint8_t *range = test->bed.host + record->offset - GUARD;
	size_t length = record->size + 2 * GUARD;
	int err = write ? disk_write(test->fd, range, length, scratch_place(test) - GUARD) :
			  disk_read(test->fd, range, length, scratch_place(test) - GUARD);

	return !err || io_failed(record, test, write ? "write from host memory" :
						       "read into host memory", err);
}

/* Host memory's payload to the disk, by a path that is not under test. */
static bool put_payload(struct test *test, struct record *record)
{
	struct bed *bed = &test->bed;

	pattern_fill(bed->expected, PATTERN_PAYLOAD, bed->seed, record->offset, record->size);
	bed_store(bed, SIDE_HOST, record->offset, bed->expected, record->size);
	return scratch_io(test, true, record);
}

static bool all_zero(const uint8_t *bytes, size_t length)
{
	return !bytes[0] && !memcmp(bytes, bytes + 1, length - 1);
}

/* A range of the disk with data in it, read into host memory as the reference. */
static bool find_data(struct test *test, struct record *record, uint64_t *place)
{
	struct bed *bed = &test->bed;
	uint8_t *host = bed->host + record->offset;

	for (*place = 0; *place < SEARCH_BYTES && *place + record->size <= test->disk->size;
	     *place += SEARCH_STEP) {
		int err = disk_read(test->fd, host, record->size, *place);

		if (err)
			return io_failed(record, test, "read into host memory", err);
		if (all_zero(host, record->size))
			continue;
		memcpy(bed->expected, host, record->size);
		return true;
	}
	skip(record, "name a range that may be overwritten with --scratch",
	     "the disk holds only zeros where it was looked at, which prove nothing");
	return false;
}

/* Someone else wrote to the disk between reference and test. */
static bool disk_changed(struct test *test, const struct record *record, uint64_t place)
{
	uint8_t *host = test->bed.host + record->offset;

	return !disk_read(test->fd, host, record->size, place) &&
	       memcmp(host, test->bed.expected, record->size);
}

static void compare_read(struct test *test, struct record *record, uint64_t place)
{
	if (bed_check(&test->bed, SIDE_WINDOW, record->offset, record->size, record)) {
		record->bytes = record->size;
		return;
	}
	if (test->scratch || !disk_changed(test, record, place))
		return;
	skip(record, "stop what writes to the disk", "the disk's contents changed meanwhile");
}

static void read_case(struct test *test, struct record record)
{
	uint64_t place = 0;
	bool ready;
	int err;

	begin_case(test, &record);
	if (test->scratch) {
		place = scratch_place(test);
		ready = scratch_fits(test, &record) && put_payload(test, &record);
	} else {
		ready = find_data(test, &record, &place);
	}
	if (ready) {
		err = window_io(test, TO_WINDOW, record.offset, record.size, place);
		if (err)
			io_failed(&record, test, "read into the window", err);
		else
			compare_read(test, &record, place);
	}
	send_record(test->bed.channel, &record);
}

/*
 * The disk range is poisoned from host memory, written from the window, and
 * read back into host memory, guards and all.
 */
static void write_from_window(struct test *test, struct record *record)
{
	struct bed *bed = &test->bed;
	int err;

	if (!scratch_io(test, true, record))
		return;
	pattern_fill(bed->expected, PATTERN_PAYLOAD, bed->seed, record->offset, record->size);
	bed_store(bed, SIDE_WINDOW, record->offset, bed->expected, record->size);
	if (!bed_check(bed, SIDE_WINDOW, record->offset, record->size, record))
		return;
	err = window_io(test, FROM_WINDOW, record->offset, record->size, scratch_place(test));
	if (err) {
		io_failed(record, test, "write from the window", err);
		return;
	}
	memset(bed->host, 0, bed->length);
	if (scratch_io(test, false, record) &&
	    bed_check(bed, SIDE_HOST, record->offset, record->size, record) &&
	    bed_check(bed, SIDE_WINDOW, record->offset, record->size, record))
		record->bytes = record->size;
}

static void write_case(struct test *test, struct record record)
{
	begin_case(test, &record);
	if (scratch_fits(test, &record))
		write_from_window(test, &record);
	send_record(test->bed.channel, &record);
}

static void run_sizes(struct test *test, struct record record, const struct settings *settings,
		      void (*run)(struct test *, struct record))
{
	const uint64_t *sizes = settings->size_count ? settings->sizes : default_sizes;
	size_t count = settings->size_count ? settings->size_count : ARRAY_SIZE(default_sizes);
	uint32_t block = test->disk->block;

	record.offset = GUARD;
	for (size_t i = 0; i < count; i++) {
		record.size = sizes[i];
		if (sizes[i] % block == 0)
			run(test, record);
	}
	/* Not page aligned, not a power of two. */
	record.size = 3ULL * block;
	record.offset = GUARD + block;
	text_format(record.name, sizeof(record.name), "%s unaligned", op_name(record.op));
	run(test, record);
}

static void test_reads(struct test *test, const struct settings *settings)
{
	struct record record = {
		.kind = RECORD_CASE,
		.op = OP_READ,
		.direction = TO_WINDOW,
		.name = "read",
	};

	run_sizes(test, record, settings, read_case);
}

static void test_writes(struct test *test, const struct settings *settings)
{
	struct record record = {
		.kind = RECORD_CASE,
		.op = OP_WRITE,
		.direction = FROM_WINDOW,
		.name = "write",
	};

	if (test->scratch) {
		run_sizes(test, record, settings, write_case);
		return;
	}
	skip(&record, "name a range that may be overwritten with --scratch",
	     "no scratch range named");
	send_record(test->bed.channel, &record);
}

static void test_revoked_io(struct test *test)
{
	struct record record = { .kind = RECORD_CONTROL, .name = "O_DIRECT after revoke" };
	int err;

	send_started(test->bed.channel, "%s", record.name);
	err = disk_read(test->fd, test->bed.mapped, test->disk->block, 0);
	if (!err)
		record_fail(&record, "the module does not stop access: report this",
			    "a read into the revoked window was carried out");
	else if (err != -EFAULT)
		record_fail(&record, "", "a read into the revoked window failed with '%s', not "
			    "with EFAULT", strerror(-err));
	else
		text_format(record.text, sizeof(record.text), "refused: %s", strerror(EFAULT));
	send_record(test->bed.channel, &record);
}

static bool is_past(const struct timespec *end)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (now.tv_sec != end->tv_sec)
		return now.tv_sec > end->tv_sec;
	return now.tv_nsec >= end->tv_nsec;
}

/* The sampler may have had no processor during any of the I/O: more of it, until it had. */
static void catch_pins(struct test *test)
{
	uint64_t most = test->disk->size < test->bed.length ? test->disk->size : test->bed.length;
	size_t length = most - most % test->disk->block;
	struct timespec end;

	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += CATCH_SECONDS;
	while (!test->pinned && !is_past(&end))
		if (window_io(test, TO_WINDOW, 0, length, 0))
			return;
}

static void judge_pins(const struct test *test, struct evidence *evidence)
{
	evidence->pins = test->pinned ? FACT_YES : FACT_UNKNOWN;
	if (test->pinned)
		text_format(evidence->pins_text, sizeof(evidence->pins_text),
			    "up to %" PRIu64 " bytes of the window were pinned during I/O",
			    test->most);
	else
		text_format(evidence->pins_text, sizeof(evidence->pins_text),
			    "no pin of the window was caught during I/O, which is short; kernels "
			    "before 6.5 do not pin for it");
}

/* What this user may not open is no fault of the pair: a test not made. */
static void skip_disk(const struct test *test, const struct vpeer_error *error)
{
	struct record record = { .kind = RECORD_CASE, .op = OP_READ, .name = "read" };
	char why[640];

	text_format(why, sizeof(why), "%s: %s", error->who, error->message);
	skip(&record, error->remedy, why);
	send_record(test->bed.channel, &record);
}

static bool open_disk(struct test *test)
{
	struct vpeer_error error;

	if (test->scratch) {
		test->fd = test->scratch->fd;
		return true;
	}
	test->fd = disk_open("/dev", test->disk, O_RDONLY | O_DIRECT, &error);
	if (test->fd >= 0)
		return true;
	if (error.err == EACCES || error.err == EPERM)
		skip_disk(test, &error);
	else
		send_error(test->bed.channel, &error);
	return false;
}

static void test_disk(struct test *test, const struct settings *settings)
{
	const struct pair *pair = test->bed.pair;
	struct record record = {
		.kind = RECORD_EVIDENCE,
		.evidence = { .block = true, .translating = test->disk->translating },
	};
	struct swiotlb_state before;

	trace_watch(pair->trace, pair->bus_start + vpeer_window_offset(test->bed.window),
		    test->bed.length);
	swiotlb_read(&before, DEBUGFS, true);
	test_reads(test, settings);
	test_writes(test, settings);
	catch_pins(test);
	judge_pins(test, &record.evidence);
	bed_collect(&test->bed, &before, &record.evidence);
	send_record(test->bed.channel, &record);
	if (bed_revoke(&test->bed))
		test_revoked_io(test);
}

static uint64_t largest(const struct settings *settings, const struct initiator *disk)
{
	uint64_t most = 4ULL * disk->block;

	if (!settings->size_count && most < default_sizes[3])
		most = default_sizes[3];
	for (size_t i = 0; i < settings->size_count; i++)
		if (settings->sizes[i] > most)
			most = settings->sizes[i];
	return most;
}

void test_block(const struct pair *pair, const struct settings *settings,
		const struct channel *channel)
{
	struct test test = {
		.disk = pair->initiator,
		.scratch = pair->initiator->scratch,
		.fd = -1,
	};

	if (test.disk->block > GUARD)
		send_failed(channel, "", "/dev/%s: logical blocks of %u bytes are not supported",
			    test.disk->name, test.disk->block);
	else if (bed_begin(&test.bed, pair, settings, channel, largest(settings, test.disk)) &&
		 open_disk(&test))
		test_disk(&test, settings);
	if (test.fd >= 0)
		close(test.fd);
	bed_end(&test.bed);
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "meter.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../lib/sysfs.h"
#include "../util.h"

#define KIB		1024
#define SIZE_4K		(1ULL << 12)
#define SIZE_2M		(1ULL << 21)
#define SIZE_1G		(1ULL << 30)

/* Intel's capability register: second-level large pages. */
#define INTEL_CAP_2M	(1ULL << 34)
#define INTEL_CAP_1G	(1ULL << 35)

/* How long the kernel shows the same hardware counters of an RDMA device. */
#define COUNTER_LIFESPAN_US	20000

#define UNKNOWN_ADDRESSES	"the memory's physical addresses are not known"

static void miss(char reason[REASON_LEN], const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The first reason stays. */
static void miss(char reason[REASON_LEN], const char *format, ...)
{
	va_list args;

	if (reason[0])
		return;
	va_start(args, format);
	if (vsnprintf(reason, REASON_LEN, format, args) < 0)
		reason[0] = '\0';
	va_end(args);
}

static void open_perf(struct meter *meter)
{
	struct perf_event_attr attributes = {
		.type = PERF_TYPE_HARDWARE,
		.size = sizeof(attributes),
		.config = PERF_COUNT_HW_INSTRUCTIONS,
	};

	meter->perf = (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1,
				   PERF_FLAG_FD_CLOEXEC);
	if (meter->perf >= 0)
		return;
	miss(meter->missing[COUNT_INSTRUCTIONS], "perf_event_open: %s%s", strerror(errno),
	     errno == ENOENT || errno == EOPNOTSUPP ? " (this machine offers no such counter)" :
	     errno == EACCES || errno == EPERM ? " (run as root)" : "");
}

static void read_page_sizes(struct meter *meter)
{
	char text[64];
	uint64_t cap;

	meter->page_sizes = SIZE_4K;
	text_format(meter->page_sizes_source, sizeof(meter->page_sizes_source),
		    "4 KiB assumed: this IOMMU does not tell in sysfs");
	if (vpeer_sysfs_read(text, sizeof(text), "/sys/class/iommu/dmar0/intel-iommu/cap"))
		return;
	cap = strtoull(text, NULL, 16);
	if (cap & INTEL_CAP_2M)
		meter->page_sizes |= SIZE_2M;
	if (cap & INTEL_CAP_1G)
		meter->page_sizes |= SIZE_1G;
	text_format(meter->page_sizes_source, sizeof(meter->page_sizes_source),
		    "/sys/class/iommu/dmar0/intel-iommu/cap");
}

/* Why it cannot be seen, or NULL. */
static const char *enable_event(const struct trace *trace, const char *event, const char *refused)
{
	if (!trace->path[0])
		return trace->problem;
	return vpeer_sysfs_write("1", "%s/events/%s/enable", trace->path, event) ? refused : NULL;
}

/* Events slow down what they tell of, so that none are recorded of timed samples. */
static void record_events(struct meter *meter, bool on)
{
	if (meter->trace->path[0] &&
	    vpeer_sysfs_write(on ? "1" : "0", "%s/tracing_on", meter->trace->path))
		meter->no_recording = "cannot write tracing_on of the tracing instance";
}

/* On memory that is there for certain. */
static void look_at_pages(struct meter *meter)
{
	struct host_memory page;
	struct ranges ranges = { 0 };
	int err = host_map(&page, HUGE_PAGE, false);

	if (!err) {
		memory_touch(page.start, page.length);
		err = ranges_read(&ranges, page.start, page.length);
	}
	if (err)
		miss(meter->missing[COUNT_ENTRIES],
		     "/proc/self/pagemap shows no addresses: %s (run as root)", strerror(-err));
	ranges_end(&ranges);
	host_unmap(&page);
}

/* From lines of names and numbers. */
static struct reading read_field(const char *path, const char *name)
{
	struct reading reading = { 0 };
	FILE *file = fopen(path, "re");
	size_t room = 0, length = strlen(name);
	char *line = NULL;

	while (file && !reading.known && getline(&line, &room, file) > 0)
		reading.known = !strncmp(line, name, length) &&
				sscanf(line + length, " %" SCNu64, &reading.value) == 1;
	free(line);
	if (file)
		fclose(file);
	return reading;
}

/* Without its per-CPU remainders, which are added up when asked for, the sum is wrong. */
static struct reading read_pins(void)
{
	char text[8];

	if (vpeer_sysfs_read(text, sizeof(text), "/proc/sys/vm/stat_refresh"))
		return (struct reading){ 0 };
	return read_field("/proc/vmstat", "nr_foll_pin_acquired ");
}

void meter_begin(struct meter *meter, const struct trace *trace, unsigned int index)
{
	*meter = (struct meter){ .trace = trace, .perf = -1 };
	text_format(meter->aperture, sizeof(meter->aperture), "/sys/class/vpeer/vpeer%u", index);
	open_perf(meter);
	read_page_sizes(meter);
	meter->no_requests = enable_event(trace, "block/block_rq_issue",
					  "cannot enable the event block:block_rq_issue");
	meter->no_pages_made = enable_event(trace, "vpeer/vpeer_chunk_map",
					    "cannot enable the event vpeer:vpeer_chunk_map");
	record_events(meter, false);
	look_at_pages(meter);
}

void meter_end(struct meter *meter)
{
	if (meter->perf >= 0)
		close(meter->perf);
	meter->perf = -1;
}

static struct reading read_packets(const struct initiator *initiator, const char *counter)
{
	struct reading reading = { 0 };

	reading.known = !vpeer_sysfs_u64(&reading.value,
					 "/sys/class/infiniband/%s/ports/1/hw_counters/%s",
					 initiator->name, counter);
	return reading;
}

static void read_device(struct snapshot *snapshot, const struct initiator *initiator)
{
	if (!initiator || !initiator->soft)
		return;
	usleep(COUNTER_LIFESPAN_US);
	snapshot->sent = read_packets(initiator, "sent_pkts");
	snapshot->received = read_packets(initiator, "rcvd_pkts");
}

static struct reading read_statistic(const struct meter *meter, const char *name)
{
	struct reading reading = { 0 };

	reading.known = !vpeer_sysfs_u64(&reading.value, "%s/%s", meter->aperture, name);
	return reading;
}

static void read_aperture(const struct meter *meter, struct snapshot *snapshot)
{
	snapshot->faults_4k = read_statistic(meter, "faults_4k");
	snapshot->faults_2m = read_statistic(meter, "faults_2m");
	snapshot->scrubbed = read_statistic(meter, "bytes_scrubbed");
}

static struct reading read_huge(void)
{
	struct reading reading = read_field("/proc/self/smaps_rollup", "AnonHugePages:");

	reading.value *= KIB;
	return reading;
}

static struct reading read_faults(void)
{
	struct rusage usage;

	if (getrusage(RUSAGE_SELF, &usage))
		return (struct reading){ 0 };
	return (struct reading){ .value = (uint64_t)usage.ru_minflt, .known = true };
}

static struct reading read_instructions(const struct meter *meter)
{
	struct reading reading = { 0 };

	reading.known = meter->perf >= 0 && read(meter->perf, &reading.value,
						 sizeof(reading.value)) == sizeof(reading.value);
	return reading;
}

void meter_start(struct meter *meter, const struct subject *subject)
{
	struct snapshot *before = &meter->before;

	memset(meter->reasons, 0, sizeof(meter->reasons));
	*before = (struct snapshot){ 0 };
	read_device(before, subject->initiator);
	read_aperture(meter, before);
	before->pins = read_pins();
	before->huge = read_huge();
	/* All mappings, of which those of the memory are picked later. */
	trace_watch(meter->trace, 0, UINT64_MAX);
	record_events(meter, true);
	before->faults = read_faults();
	before->instructions = read_instructions(meter);
}

/* @problem: why it is not known, or NULL. */
static void put(struct meter *meter, struct counts *counts, enum counter counter,
		const char *problem, uint64_t value)
{
	counts_set(counts, counter, !problem, value);
	if (problem)
		miss(meter->reasons[counter], "%s", problem);
}

static bool grew(const struct reading *before, const struct reading *after)
{
	return before->known && after->known && after->value >= before->value;
}

static void put_growth(struct meter *meter, struct counts *counts, enum counter counter,
		       const struct reading *before, const struct reading *after,
		       const char *source)
{
	counts_set(counts, counter, grew(before, after), after->value - before->value);
	if (!counts->known[counter])
		miss(meter->reasons[counter], "cannot read %s", source);
}

const char *packets_problem(uint64_t packets, uint64_t bytes, uint64_t payload)
{
	uint64_t needed = payload ? (bytes + payload - 1) / payload : 0;

	if (packets < needed)
		return "fewer packets of the RDMA device than the work needs";
	/*
	 * Few are acknowledgements (one for 64 packets), but a slow machine
	 * sends half as many again: a piece whose timer ran out. Others who are
	 * as busy double the packets.
	 */
	return packets > 2 * needed ?
		       "more packets of the RDMA device than the work needs, sent again or by "
		       "others: repeat when the device is idle" : NULL;
}

/* Each payload byte is copied into a packet and out of it. */
static void judge_packets(struct meter *meter, const struct subject *subject,
			  const struct snapshot *after, struct counts *counts)
{
	const struct snapshot *before = &meter->before;
	uint64_t sent = after->sent.value - before->sent.value;
	uint64_t received = after->received.value - before->received.value;
	const char *problem = packets_problem(sent, subject->bytes, subject->payload);

	if (!problem)
		problem = packets_problem(received, subject->bytes, subject->payload);
	if (!grew(&before->sent, &after->sent) || !grew(&before->received, &after->received))
		problem = "cannot read the packet counters of RDMA in software";
	put(meter, counts, COUNT_COPIED, problem, subject->payload ? 2 * subject->bytes : 0);
}

static void judge_window_faults(struct meter *meter, const struct snapshot *after,
				struct counts *counts)
{
	const struct snapshot *before = &meter->before;

	put_growth(meter, counts, COUNT_FAULTS_4K, &before->faults_4k, &after->faults_4k,
		   "faults_4k of the aperture");
	put_growth(meter, counts, COUNT_FAULTS_2M, &before->faults_2m, &after->faults_2m,
		   "faults_2m of the aperture");
	put_growth(meter, counts, COUNT_ZEROED, &before->scrubbed, &after->scrubbed,
		   "bytes_scrubbed of the aperture");
}

static void judge_host_faults(struct meter *meter, const struct snapshot *after,
			      struct counts *counts)
{
	const struct snapshot *before = &meter->before;
	uint64_t huge = (after->huge.value - before->huge.value) / HUGE_PAGE;
	uint64_t all = after->faults.value - before->faults.value;
	const char *problem = NULL;

	if (!grew(&before->huge, &after->huge))
		problem = "host memory: AnonHugePages of /proc/self/smaps_rollup does not tell";
	else if (!grew(&before->faults, &after->faults) || all < huge)
		problem = "host memory: getrusage() does not tell";
	put(meter, counts, COUNT_FAULTS_4K, problem, all - huge);
	put(meter, counts, COUNT_FAULTS_2M, problem, huge);
	put(meter, counts, COUNT_ZEROED, problem, huge * HUGE_PAGE + (all - huge) * SIZE_4K);
}

static void judge_mappings(struct meter *meter, const struct subject *subject,
			   const struct events *events, struct counts *counts)
{
	const char *problem = events->problem;

	if (!subject->initiator)
		return;
	if (!meter->trace->mappings)
		problem = meter->trace->problem;
	else if (!subject->ranges)
		problem = UNKNOWN_ADDRESSES;
	put(meter, counts, COUNT_MAPS, problem, events->maps);
	put(meter, counts, COUNT_MAPPED, problem, events->mapped);
	put(meter, counts, COUNT_TABLE, problem, events->table);
}

static void judge_bounces(struct meter *meter, const struct subject *subject,
			  const struct events *events, struct counts *counts)
{
	const struct trace *trace = meter->trace;
	const char *problem = events->problem;

	if (!subject->initiator || subject->initiator->soft)
		return;
	if (!subject->initiator->pci[0])
		problem = "an initiator without a PCI function does no DMA of its own";
	else if (trace->no_swiotlb)
		problem = NULL;
	else if (!trace->bounces)
		problem = trace->problem;
	put(meter, counts, COUNT_COPIED, problem, events->copied);
}

static void judge_entries(struct meter *meter, const struct subject *subject,
			  const struct events *events, struct counts *counts)
{
	bool disk = subject->initiator && subject->initiator->kind == INITIATOR_BLOCK;
	const char *problem = NULL;

	if (!disk && !subject->registers)
		return;
	if (!subject->ranges)
		problem = UNKNOWN_ADDRESSES;
	else if (disk && meter->no_requests)
		problem = meter->no_requests;
	else if (disk && events->problem)
		problem = events->problem;
	else if (disk && events->requested != subject->bytes)
		problem = "the events block:block_rq_issue are not those of the sample alone";
	put(meter, counts, COUNT_ENTRIES, problem,
	    disk || !subject->ranges ? events->entries : subject->ranges->count);
}

static void judge_events(struct meter *meter, const struct subject *subject,
			 struct counts *counts)
{
	const struct trace *trace = meter->trace;
	struct events events = { .problem = trace->problem };
	char path[PATH_MAX];

	if (trace->path[0]) {
		text_format(path, sizeof(path), "%.4000s/trace", trace->path);
		events_read(&events, path, subject, meter->page_sizes);
		if (meter->no_recording)
			events.problem = meter->no_recording;
	}
	judge_mappings(meter, subject, &events, counts);
	judge_bounces(meter, subject, &events, counts);
	judge_entries(meter, subject, &events, counts);
	put(meter, counts, COUNT_MADE, meter->no_pages_made ? meter->no_pages_made : events.problem,
	    events.made);
}

void meter_stop(struct meter *meter, const struct subject *subject, struct counts *counts)
{
	const struct snapshot *before = &meter->before;
	struct snapshot after = { 0 };

	after.instructions = read_instructions(meter);
	after.faults = read_faults();
	record_events(meter, false);
	after.huge = read_huge();
	after.pins = read_pins();
	read_device(&after, subject->initiator);
	read_aperture(meter, &after);

	*counts = (struct counts){ 0 };
	judge_events(meter, subject, counts);
	if (subject->initiator && subject->initiator->soft)
		judge_packets(meter, subject, &after, counts);
	if (subject->window)
		judge_window_faults(meter, &after, counts);
	else
		judge_host_faults(meter, &after, counts);
	put_growth(meter, counts, COUNT_PINS, &before->pins, &after.pins,
		   "/proc/sys/vm/stat_refresh or nr_foll_pin_acquired of "
		   "/proc/vmstat (run as root)");
	put_growth(meter, counts, COUNT_INSTRUCTIONS, &before->instructions, &after.instructions,
		   "the counter of instructions");
}

void meter_moved(struct meter *meter, struct counts *counts)
{
	static const enum counter told[] = { COUNT_ENTRIES, COUNT_MAPS, COUNT_MAPPED, COUNT_TABLE };

	for (size_t i = 0; i < ARRAY_SIZE(told); i++)
		if (counts->known[told[i]])
			put(meter, counts, told[i], "the memory moved meanwhile", 0);
}

struct counts meter_settle(struct meter *meter, const struct counts *samples, size_t count,
			   bool window, const char *whose)
{
	struct counts counts = samples[count - 1];

	for (enum counter i = 0; i < COUNTERS; i++) {
		if (!counts_settled(samples, count, window, i)) {
			counts_set(&counts, i, false, 0);
			miss(meter->reasons[i], "%zu samples do not agree, by the work of others: "
			     "repeat when the machine is idle", count);
		}
		if (meter->reasons[i][0])
			miss(meter->missing[i], "%s (first at %s)", meter->reasons[i], whose);
	}
	return counts;
}

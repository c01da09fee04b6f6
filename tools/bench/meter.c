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

#define SIZE_4K		(1ULL << 12)
#define SIZE_2M		(1ULL << 21)
#define SIZE_1G		(1ULL << 30)

/* Intel's capability register: second-level large pages. */
#define INTEL_CAP_2M	(1ULL << 34)
#define INTEL_CAP_1G	(1ULL << 35)

/* How long the kernel shows the same hardware counters of an RDMA device. */
#define COUNTER_LIFESPAN_US	20000

/* The longest RoCE payload; packets carry no more. */
#define LONGEST_PACKET	4096

static const struct {
	const char *name;
	const char *title;
	const char *source;
} counters[COUNTERS] = {
	[COUNT_COPIED] = { "bytes_copied_by_cpu", "COPIED",
		"event swiotlb:swiotlb_bounced of the initiator's function; soft RDMA: hw_counters "
		"sent_pkts and rcvd_pkts, whose payload the CPU copies at each end" },
	[COUNT_ZEROED] = { "bytes_zeroed", "ZEROED",
		"window: bytes_scrubbed of the aperture; host: faults times page size" },
	[COUNT_ENTRIES] = { "sg_entries", "SG",
		"physically contiguous runs in /proc/self/pagemap, for each request" },
	[COUNT_MAPS] = { "iommu_maps", "MAPS", "event iommu:map inside the memory" },
	[COUNT_MAPPED] = { "iommu_mapped_bytes", "MAPPED", "event iommu:map inside the memory" },
	[COUNT_TABLE] = { "iommu_table_entries", "PTES",
		"size and alignment of each iommu:map and the IOMMU's page sizes" },
	[COUNT_PINS] = { "pages_pinned", "PINS", "nr_foll_pin_acquired of /proc/vmstat" },
	[COUNT_FAULTS_4K] = { "faults_4k", "FAULTS-4K",
		"window: faults_4k of the aperture; host: getrusage() less thp_fault_alloc" },
	[COUNT_FAULTS_2M] = { "faults_2m", "FAULTS-2M",
		"window: faults_2m of the aperture; host: thp_fault_alloc of /proc/vmstat" },
	[COUNT_MADE] = { "bytes_given_struct_pages", "STRUCT-PAGES",
		"event vpeer:vpeer_chunk_map" },
	[COUNT_INSTRUCTIONS] = { "instructions", "INSTRUCTIONS",
		"perf_event_open(), this thread in user and kernel mode" },
};

const char *counter_name(enum counter counter)
{
	return counters[counter].name;
}

const char *counter_title(enum counter counter)
{
	return counters[counter].title;
}

const char *counter_source(enum counter counter)
{
	return counters[counter].source;
}

static void miss(struct meter *meter, enum counter counter, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void miss(struct meter *meter, enum counter counter, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vsnprintf(meter->missing[counter], sizeof(meter->missing[counter]), format, args) < 0)
		meter->missing[counter][0] = '\0';
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
	miss(meter, COUNT_INSTRUCTIONS, "perf_event_open: %s%s", strerror(errno),
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

static void look_at_trace(struct meter *meter)
{
	const struct trace *trace = meter->trace;

	if (!trace->bounces && !trace->no_swiotlb)
		miss(meter, COUNT_COPIED, "%s", trace->problem);
	for (enum counter i = COUNT_MAPS; !trace->mappings && i <= COUNT_TABLE; i++)
		miss(meter, i, "%s", trace->problem);
	meter->sees_pages_made = trace->path[0] &&
				 !vpeer_sysfs_write("1", "%s/events/vpeer/vpeer_chunk_map/enable",
						    trace->path);
	if (!meter->sees_pages_made)
		miss(meter, COUNT_MADE, "%s", trace->problem[0] ? trace->problem :
		     "cannot enable the event vpeer:vpeer_chunk_map");
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
		miss(meter, COUNT_ENTRIES, "/proc/self/pagemap shows no addresses: %s (run as "
		     "root)", strerror(-err));
	ranges_end(&ranges);
	host_unmap(&page);
}

/* Per-CPU remainders are only added up when asked for. */
static void read_vmstat(struct snapshot *snapshot)
{
	char name[64], text[8];
	uint64_t value;
	FILE *file;

	vpeer_sysfs_read(text, sizeof(text), "/proc/sys/vm/stat_refresh");
	file = fopen("/proc/vmstat", "re");
	if (!file)
		return;
	while (fscanf(file, "%63s %" SCNu64, name, &value) == 2) {
		if (!strcmp(name, "nr_foll_pin_acquired")) {
			snapshot->pinned_pages = value;
			snapshot->has_pins = true;
		} else if (!strcmp(name, "thp_fault_alloc")) {
			snapshot->huge_faults = value;
			snapshot->has_huge = true;
		}
	}
	fclose(file);
}

static void look_at_vmstat(struct meter *meter)
{
	struct snapshot snapshot = { 0 };

	read_vmstat(&snapshot);
	if (!snapshot.has_pins)
		miss(meter, COUNT_PINS, "/proc/vmstat has no nr_foll_pin_acquired");
	if (!snapshot.has_huge)
		miss(meter, COUNT_FAULTS_2M, "host memory: /proc/vmstat has no thp_fault_alloc");
}

void meter_begin(struct meter *meter, const struct trace *trace, unsigned int index)
{
	*meter = (struct meter){ .trace = trace, .perf = -1 };
	text_format(meter->aperture, sizeof(meter->aperture), "/sys/class/vpeer/vpeer%u", index);
	open_perf(meter);
	read_page_sizes(meter);
	look_at_trace(meter);
	look_at_pages(meter);
	look_at_vmstat(meter);
}

void meter_end(struct meter *meter)
{
	if (meter->perf >= 0)
		close(meter->perf);
	meter->perf = -1;
}

static void read_packets(struct snapshot *snapshot, const struct initiator *initiator)
{
	static const char place[] = "/sys/class/infiniband/%s/ports/1/hw_counters/%s";

	if (!initiator || !initiator->soft)
		return;
	usleep(COUNTER_LIFESPAN_US);
	snapshot->has_packets =
		!vpeer_sysfs_u64(&snapshot->sent, place, initiator->name, "sent_pkts") &&
		!vpeer_sysfs_u64(&snapshot->received, place, initiator->name, "rcvd_pkts");
}

static void read_aperture(const struct meter *meter, struct snapshot *snapshot)
{
	vpeer_sysfs_u64(&snapshot->faults_4k, "%s/faults_4k", meter->aperture);
	vpeer_sysfs_u64(&snapshot->faults_2m, "%s/faults_2m", meter->aperture);
	vpeer_sysfs_u64(&snapshot->scrubbed, "%s/bytes_scrubbed", meter->aperture);
}

static uint64_t own_faults(void)
{
	struct rusage usage;

	return getrusage(RUSAGE_SELF, &usage) ? 0 : (uint64_t)usage.ru_minflt;
}

static uint64_t read_instructions(const struct meter *meter)
{
	uint64_t value = 0;

	if (meter->perf < 0 || read(meter->perf, &value, sizeof(value)) != sizeof(value))
		return 0;
	return value;
}

void meter_start(struct meter *meter, const struct subject *subject)
{
	struct snapshot *before = &meter->before;

	*before = (struct snapshot){ 0 };
	read_packets(before, subject->initiator);
	read_vmstat(before);
	read_aperture(meter, before);
	/* All mappings, of which those of the memory are picked later. */
	trace_watch(meter->trace, 0, UINT64_MAX);
	before->faults = own_faults();
	before->instructions = read_instructions(meter);
}

static void set(struct counts *counts, enum counter counter, bool known, uint64_t value)
{
	counts->known[counter] = known;
	counts->value[counter] = known ? value : 0;
}

/* Each payload byte is copied into a packet and out of it. */
static void judge_packets(const struct subject *subject, const struct snapshot *before,
			  const struct snapshot *after, struct counts *counts)
{
	uint64_t sent = after->sent - before->sent, received = after->received - before->received;
	bool moved = sent * LONGEST_PACKET >= subject->bytes &&
		     received * LONGEST_PACKET >= subject->bytes;

	set(counts, COUNT_COPIED,
	    before->has_packets && after->has_packets && (moved || !(sent | received)),
	    moved ? 2 * subject->bytes : 0);
}

static void judge_faults(const struct subject *subject, const struct snapshot *before,
			 const struct snapshot *after, struct counts *counts)
{
	uint64_t huge = after->huge_faults - before->huge_faults;
	uint64_t all = after->faults - before->faults;
	uint64_t small = all > huge ? all - huge : 0;

	if (subject->window) {
		set(counts, COUNT_FAULTS_4K, true, after->faults_4k - before->faults_4k);
		set(counts, COUNT_FAULTS_2M, true, after->faults_2m - before->faults_2m);
		set(counts, COUNT_ZEROED, true, after->scrubbed - before->scrubbed);
		return;
	}
	set(counts, COUNT_FAULTS_4K, after->has_huge, small);
	set(counts, COUNT_FAULTS_2M, after->has_huge, huge);
	set(counts, COUNT_ZEROED, after->has_huge, huge * SIZE_2M + small * SIZE_4K);
}

uint64_t meter_entries(const struct ranges *ranges, uint64_t request)
{
	uint64_t entries = 0, place = 0;

	for (size_t i = 0; i < ranges->count; i++) {
		uint64_t size = ranges->items[i].size;

		entries += (place + size - 1) / request - place / request + 1;
		place += size;
	}
	return entries;
}

uint64_t meter_table_entries(uint64_t page_sizes, uint64_t iova, uint64_t address, uint64_t size)
{
	uint64_t entries = 0;

	while (size) {
		uint64_t page = SIZE_4K;

		for (uint64_t larger = page << 1; larger && larger <= size; larger <<= 1)
			if (page_sizes & larger && !((iova | address) & (larger - 1)))
				page = larger;
		iova += page;
		address += page;
		size -= page < size ? page : size;
		entries++;
	}
	return entries;
}

static void add_map(const char *line, const struct subject *subject, uint64_t page_sizes,
		    struct counts *counts)
{
	uint64_t iova, address, size;

	if (!trace_parse_map(line, &iova, &address, &size) ||
	    (subject->ranges && !ranges_hold(subject->ranges, address, size)))
		return;
	counts->value[COUNT_MAPS]++;
	counts->value[COUNT_MAPPED] += size;
	counts->value[COUNT_TABLE] += meter_table_entries(page_sizes, iova, address, size);
}

static void add_bounce(const char *line, const struct subject *subject, struct counts *counts)
{
	const char *text = strstr(line, " size=");
	char device[128];
	uint64_t size;

	if (!text || !subject->initiator || !trace_parse_bounce(line, device, sizeof(device)) ||
	    strcmp(device, subject->initiator->pci) || sscanf(text, " size=%" SCNu64, &size) != 1)
		return;
	counts->value[COUNT_COPIED] += size;
}

static void add_pages_made(const char *line, struct counts *counts)
{
	const char *event = strstr(line, " vpeer_chunk_map: ");
	const char *text = event ? strstr(event, " size=") : NULL;
	uint64_t size;

	if (text && sscanf(text, " size=%" SCNx64, &size) == 1)
		counts->value[COUNT_MADE] += size;
}

bool meter_read_events(const char *trace_file, const struct subject *subject,
		       uint64_t page_sizes, struct counts *counts)
{
	FILE *file = fopen(trace_file, "re");
	char *line = NULL;
	bool whole = true;
	size_t room = 0;

	if (!file)
		return false;
	while (getline(&line, &room, file) > 0) {
		if (line[0] == '#')
			whole &= !trace_parse_lost(line);
		add_map(line, subject, page_sizes, counts);
		add_bounce(line, subject, counts);
		add_pages_made(line, counts);
	}
	whole &= !ferror(file);
	free(line);
	fclose(file);
	return whole;
}

static void judge_events(struct meter *meter, const struct subject *subject,
			 struct counts *counts)
{
	const struct trace *trace = meter->trace;
	struct counts seen = { 0 };
	char path[PATH_MAX];
	bool whole = false;

	if (trace->path[0]) {
		text_format(path, sizeof(path), "%.4000s/trace", trace->path);
		whole = meter_read_events(path, subject, meter->page_sizes, &seen);
	}
	if (trace->path[0] && !whole)
		miss(meter, COUNT_MAPS, "events were lost: the trace buffer wrapped");
	for (enum counter i = COUNT_MAPS; i <= COUNT_TABLE; i++)
		set(counts, i, whole && trace->mappings && subject->initiator, seen.value[i]);
	set(counts, COUNT_MADE, whole && meter->sees_pages_made, seen.value[COUNT_MADE]);
	if (subject->initiator && !subject->initiator->soft)
		set(counts, COUNT_COPIED,
		    subject->initiator->pci[0] &&
			    (trace->no_swiotlb || (whole && trace->bounces)),
		    seen.value[COUNT_COPIED]);
}

void meter_stop(struct meter *meter, const struct subject *subject, struct counts *counts)
{
	const struct snapshot *before = &meter->before;
	struct snapshot after = { 0 };

	after.instructions = read_instructions(meter);
	after.faults = own_faults();
	read_vmstat(&after);
	read_packets(&after, subject->initiator);
	read_aperture(meter, &after);

	*counts = (struct counts){ 0 };
	judge_events(meter, subject, counts);
	if (subject->initiator && subject->initiator->soft) {
		judge_packets(subject, before, &after, counts);
		if (!counts->known[COUNT_COPIED])
			miss(meter, COUNT_COPIED, "%s: its packet counters do not tell",
			     subject->initiator->name);
	}
	judge_faults(subject, before, &after, counts);
	set(counts, COUNT_ENTRIES, subject->ranges && subject->request,
	    subject->ranges && subject->request ?
		    meter_entries(subject->ranges, subject->request) : 0);
	set(counts, COUNT_PINS, before->has_pins && after.has_pins,
	    after.pinned_pages - before->pinned_pages);
	set(counts, COUNT_INSTRUCTIONS, meter->perf >= 0,
	    after.instructions - before->instructions);
}

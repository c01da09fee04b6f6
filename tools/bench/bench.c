// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bench.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TRANSFERRED	(16ULL << 20)
#define SOFT_TRANSFERRED	(4ULL << 20)
#define PIECE		(1ULL << 20)	/* as disk_read() and disk_write() have it */
#define MOST_OVERTIME	4	/* times the seconds, for the pilot */
#define GIB		((double)(1ULL << 30))

const char *group_name(enum group group)
{
	static const char *const names[GROUPS] = { "touch", "register", "rdma", "disk" };

	return names[group];
}

void comparison_label(const struct comparison *item, char *text, size_t size)
{
	text_format(text, size, "%s%s%s", item->operation->name, item->initiator ? " " : "",
		    item->initiator ? item->initiator->name : "");
}

static void add(struct bench *bench, const struct operation *operation,
		const struct initiator *initiator, uint64_t bytes)
{
	bench->items = xrealloc(bench->items, bench->count + 1, sizeof(*bench->items));
	bench->items[bench->count++] = (struct comparison){
		.operation = operation,
		.initiator = initiator,
		.bytes = bytes,
	};
}

static void add_rdma(struct bench *bench, const struct initiator *device)
{
	const struct bench_settings *settings = &bench->settings;
	uint64_t bytes = device->soft ? SOFT_TRANSFERRED : TRANSFERRED;

	if (settings->groups[GROUP_REGISTER]) {
		add(bench, &operation_register, device, settings->size);
		add(bench, &operation_deregister, device, settings->size);
	}
	if (settings->groups[GROUP_RDMA]) {
		add(bench, &operation_rdma_write, device, bytes);
		add(bench, &operation_rdma_read, device, bytes);
	}
}

static uint64_t transferred(uint64_t room)
{
	return (room < TRANSFERRED ? room : TRANSFERRED) & ~(uint64_t)4095;
}

static void add_disk(struct bench *bench, const struct initiator *disk)
{
	uint64_t bytes = transferred(disk->size);

	if (!bench->settings.groups[GROUP_DISK])
		return;
	if (bytes)
		add(bench, &operation_disk_read, disk, bytes);
	bytes = disk->scratch ? transferred(disk->scratch->length) : 0;
	if (bytes)
		add(bench, &operation_disk_write, disk, bytes);
}

void bench_plan(struct bench *bench)
{
	if (bench->settings.groups[GROUP_TOUCH])
		add(bench, &operation_touch, NULL, bench->settings.size);
	for (size_t i = 0; i < bench->plan.initiators.count; i++) {
		const struct initiator *initiator = &bench->plan.initiators.items[i];

		if (initiator->kind == INITIATOR_RDMA)
			add_rdma(bench, initiator);
		else
			add_disk(bench, initiator);
	}
}

/* Whether it did not move; work->ranges then tells where it is now. */
static bool memory_stayed(struct work *work, enum side side)
{
	struct ranges before = work->ranges[side];
	bool stayed;

	if (ranges_read(&work->ranges[side], work->memory[side], work->bytes))
		ranges_end(&work->ranges[side]);
	stayed = ranges_equal(&before, &work->ranges[side]);
	ranges_end(&before);
	return stayed;
}

static int count_side(struct bench *bench, struct comparison *item, struct work *work,
		      enum side side)
{
	struct counting counting = {
		.meter = &bench->meter,
		.subject = {
			.window = side == WINDOW,
			.initiator = item->initiator,
			.bytes = item->bytes,
			.place = work->place,
			.registers = item->operation->registers,
			.payload = item->operation->sends ?
					   128ULL << work->rdma.port.active_mtu : 0,
		},
	};
	struct counts samples[MOST_COUNTED];
	size_t count = 0;
	char label[128], whose[160];
	double seconds;
	int err;

	work->counting = &counting;
	do {
		counting.subject.ranges = work->ranges[side].count ? &work->ranges[side] : NULL;
		err = item->operation->run(work, side, &seconds, &item->error);
		if (counting.subject.ranges && !memory_stayed(work, side))
			meter_moved(&bench->meter, &counting.counts);
		samples[count++] = counting.counts;
	} while (!err && count < MOST_COUNTED && !pair_interrupted() &&
		 !counts_all_settled(samples, count, side == WINDOW));
	work->counting = NULL;
	if (err)
		return err;
	comparison_label(item, label, sizeof(label));
	text_format(whose, sizeof(whose), "%s, %s", label, side_name(side));
	item->counts[side] = meter_settle(&bench->meter, samples, count, side == WINDOW, whose);
	return 0;
}

/* The first sample of each side warms both up and is thrown away. */
static int count(struct bench *bench, struct comparison *item, struct work *work)
{
	double seconds;
	int err = 0;

	for (enum side side = WINDOW; !err && side <= HOST && !pair_interrupted(); side++)
		err = item->operation->run(work, side, &seconds, &item->error);
	for (enum side side = WINDOW; !err && side <= HOST && !pair_interrupted(); side++)
		err = count_side(bench, item, work, side);
	item->bytes_pinned = work->bytes_pinned;
	return err;
}

static void keep(struct comparison *item, const double seconds[2], struct ratios *ratios)
{
	for (enum side side = WINDOW; side <= HOST; side++) {
		item->seconds[side] = xrealloc(item->seconds[side], item->samples + 1,
					       sizeof(**item->seconds));
		item->seconds[side][item->samples] = seconds[side];
	}
	item->samples++;
	ratios_add(ratios, seconds[WINDOW], seconds[HOST]);
}

static int time_pair(struct comparison *item, struct work *work, struct ratios *ratios)
{
	enum side first = window_first(ratios->count) ? WINDOW : HOST;
	double seconds[2];
	int err = item->operation->run(work, first, &seconds[first], &item->error);

	if (!err)
		err = item->operation->run(work, !first, &seconds[!first], &item->error);
	if (!err)
		keep(item, seconds, ratios);
	return err;
}

static bool go_on(const struct ratios *ratios, double spent, unsigned int seconds)
{
	if (ratios->count < PILOT_PAIRS)
		return spent < (double)seconds * MOST_OVERTIME;
	return spent < seconds && !ratios_enough(ratios);
}

/* Whole A/B/B/A rounds, as many as the pilot says, until the time is spent. */
static int time_pairs(struct bench *bench, struct comparison *item, struct work *work)
{
	double start = now();
	struct ratios ratios = { 0 };
	int err = 0;

	do {
		for (int i = 0; !err && i < 2 && !pair_interrupted(); i++)
			err = time_pair(item, work, &ratios);
	} while (!err && !pair_interrupted() &&
		 go_on(&ratios, now() - start, bench->settings.seconds));
	item->interval = ratios_interval(&ratios);
	ratios_end(&ratios);
	return err;
}

static void compare(struct bench *bench, struct comparison *item)
{
	struct scratch *scratch = item->operation == &operation_disk_write ?
					  item->initiator->scratch : NULL;
	struct work work = {
		.entry = bench->entry,
		.initiator = item->initiator,
		.huge = bench->settings.huge,
		.bytes = item->bytes,
		.piece = PIECE,
		.disk = -1,
		.idle_since = now(),
	};
	int err = scratch ? scratch_save(scratch, &item->error) : 0;

	if (!err) {
		err = item->operation->begin(&work, &item->error);
		if (!err)
			err = count(bench, item, &work);
		if (!err)
			err = time_pairs(bench, item, &work);
		work_end(&work);
		if (scratch) {
			struct vpeer_error error;

			if (scratch_restore(scratch, &error) && !err) {
				item->error = error;
				err = -EIO;
			}
		}
	}
	item->failed = err;
}

void bench_run(struct bench *bench)
{
	bool progress = !bench->settings.quiet && isatty(STDERR_FILENO);
	char label[128];

	for (size_t i = 0; i < bench->count && !pair_interrupted(); i++) {
		comparison_label(&bench->items[i], label, sizeof(label));
		if (progress)
			fprintf(stderr, "\r\033[K%zu/%zu %s", i + 1, bench->count, label);
		compare(bench, &bench->items[i]);
	}
	if (progress)
		fputs("\r\033[K", stderr);
}

void bench_end(struct bench *bench)
{
	for (size_t i = 0; i < bench->count; i++)
		for (enum side side = WINDOW; side <= HOST; side++)
			free(bench->items[i].seconds[side]);
	free(bench->items);
}

double per_gib(const struct comparison *item, enum side side, enum counter counter)
{
	return (double)item->counts[side].value[counter] * GIB / (double)item->bytes;
}

static void cannot(struct unmeasured *list, size_t *count, const char *what, const char *why)
{
	list[*count].what = what;
	text_format(list[*count].why, sizeof(list[*count].why), "%s", why);
	++*count;
}

static bool does_dma(const struct bench *bench)
{
	for (size_t i = 0; i < bench->plan.initiators.count; i++)
		if (bench->plan.initiators.items[i].pci[0])
			return true;
	return false;
}

static const struct initiator *soft_device(const struct bench *bench)
{
	for (size_t i = 0; i < bench->plan.initiators.count; i++)
		if (bench->plan.initiators.items[i].soft)
			return &bench->plan.initiators.items[i];
	return NULL;
}

size_t bench_unmeasured(const struct bench *bench, struct unmeasured list[MOST_UNMEASURED])
{
	static const char emulated[] = "the processor is emulated (CPUID names TCG)";
	const struct initiator *soft = soft_device(bench);
	const struct machine *machine = &bench->machine;
	size_t count = 0;

	if (machine->emulated || !does_dma(bench))
		cannot(list, &count, "PCIe bandwidth",
		       machine->emulated ? emulated : "no initiator on a PCI function takes part");
	if (machine->emulated)
		cannot(list, &count, "effect of write-combining and caches", emulated);
	cannot(list, &count, "cost of VM exits",
	       machine->emulated ? emulated : machine->virtualised ?
	       "only the host sees them ('perf kvm stat')" : "there is no hypervisor");
	cannot(list, &count, "ATS hit rate", "needs counters of the device or the host's IOMMU");
	cannot(list, &count, "bandwidth at the memory's own side",
	       "needs the GPU's own engine");
	if (soft) {
		cannot(list, &count, "RDMA by hardware", "");
		text_format(list[count - 1].why, sizeof(list[count - 1].why),
			    "%s is RDMA in software: its CPU copies and its page list are measured",
			    soft->name);
	}
	return count;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "selftest/disk.h"
#include "selftest/evidence.h"
#include "selftest/pattern.h"
#include "selftest/plan.h"

static void pattern_kinds(void **state)
{
	uint8_t payload[300], window[300], host[300];

	(void)state;
	pattern_fill(payload, PATTERN_PAYLOAD, 7, 5, sizeof(payload));
	pattern_fill(window, PATTERN_POISON_WINDOW, 7, 5, sizeof(window));
	pattern_fill(host, PATTERN_POISON_HOST, 7, 5, sizeof(host));
	for (size_t i = 0; i < sizeof(payload); i++) {
		assert_true(payload[i] && window[i] && host[i]);
		assert_true(payload[i] != window[i] && window[i] != host[i] &&
			    payload[i] != host[i]);
	}
}

/* Any cut of the pattern is that part of the pattern, so misplacement shows. */
static void pattern_positions(void **state)
{
	uint8_t whole[128], part[128];
	struct mismatch first;

	(void)state;
	pattern_fill(whole, PATTERN_PAYLOAD, 99, 0, sizeof(whole));
	for (size_t start = 0; start < 20; start++)
		for (size_t length = 1; length < 40; length++) {
			pattern_fill(part, PATTERN_PAYLOAD, 99, start, length);
			assert_memory_equal(part, whole + start, length);
			assert_true(pattern_matches(part, PATTERN_PAYLOAD, 99, start, length,
						    &first));
		}
	assert_false(pattern_matches(whole, PATTERN_PAYLOAD, 99, 8, sizeof(whole), &first));
	assert_false(pattern_matches(whole, PATTERN_PAYLOAD, 98, 0, sizeof(whole), &first));
}

static void pattern_mismatch(void **state)
{
	uint8_t *bytes = malloc(10000);
	struct mismatch first;

	(void)state;
	assert_non_null(bytes);
	pattern_fill(bytes, PATTERN_POISON_WINDOW, 3, 1000, 10000);
	assert_true(pattern_matches(bytes, PATTERN_POISON_WINDOW, 3, 1000, 10000, &first));
	bytes[9999] ^= 1;
	bytes[5000] = 0;
	assert_false(pattern_matches(bytes, PATTERN_POISON_WINDOW, 3, 1000, 10000, &first));
	assert_int_equal(first.position, 6000);
	assert_int_equal(first.got, 0);
	assert_int_equal(first.expected & 0xc0, PATTERN_POISON_WINDOW);
	assert_string_equal(pattern_describe(first.got), "zero");
	free(bytes);
}

static void scratch_arguments(void **state)
{
	static const char *const bad[] = { "", ":", "::", "/dev/sda", "/dev/sda:1M", ":1M:1M",
					   "/dev/sda:1M:", "/dev/sda::1M", "/dev/sda:x:1M",
					   "/dev/sda:1M:0", "/dev/sda:-1:1M" };
	struct scratch scratch;

	(void)state;
	assert_int_equal(scratch_parse("/dev/nvme0n1:1M:4MiB", &scratch), 0);
	assert_string_equal(scratch.device, "/dev/nvme0n1");
	assert_int_equal(scratch.offset, 1 << 20);
	assert_int_equal(scratch.length, 4 << 20);
	assert_int_equal(scratch_parse("/dev/disk/by-path/pci-0000:01:00.0:0:8192", &scratch), 0);
	assert_string_equal(scratch.device, "/dev/disk/by-path/pci-0000:01:00.0");
	assert_int_equal(scratch.length, 8192);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (!scratch_parse(bad[i], &scratch))
			fail_msg("accepted '%s'", bad[i]);
	assert_int_equal(scratch_parse("/dev/sda:0:65M", &scratch), -EFBIG);
	assert_int_equal(scratch_parse("/dev/sda:9223372036854775807:1", &scratch), -ERANGE);
}

static void scratch_blocks(void **state)
{
	struct initiator disk = { .name = "sda", .block = 4096 };
	struct vpeer_error error;
	struct scratch scratch;

	(void)state;
	assert_int_equal(scratch_parse("/dev/sda:8192:1M", &scratch), 0);
	assert_int_equal(scratch_check(&scratch, &disk, &error), 0);
	scratch.offset = 512;
	assert_int_equal(scratch_check(&scratch, &disk, &error), -EINVAL);
	assert_string_equal(error.who, "/dev/sda");
	assert_non_null(strstr(error.remedy, "multiples of 4096"));
	scratch.offset = 0;
	scratch.length = 4097;
	assert_int_equal(scratch_check(&scratch, &disk, &error), -EINVAL);
}

static void trace_lines(void **state)
{
	uint64_t iova, address, size;
	char device[64];

	(void)state;
	assert_true(trace_parse_map(
		"  fio-12 [000] d..1.  12.3: map: IOMMU: iova=0x00000000fffe0000 - "
		"0x00000000ffff0000 paddr=0x0000380000200000 size=65536\n", &iova, &address,
		&size));
	assert_true(iova == 0xfffe0000 && address == 0x380000200000 && size == 65536);
	assert_false(trace_parse_map(
		"  fio-12 [000] d..1.  12.3: unmap: IOMMU: iova=0x00000000fffe0000 - "
		"0x00000000ffff0000 size=65536 unmapped_size=65536\n", &iova, &address, &size));
	assert_false(trace_parse_map("# tracer: nop\n", &iova, &address, &size));
	assert_true(trace_parse_bounce(
		" dd-7 [001] ..... 9.1: swiotlb_bounced: dev_name: 0000:02:00.1 "
		"dma_mask=ffffffffffffffff dev_addr=f8100000 size=4096 FORCE\n", device,
		sizeof(device)));
	assert_string_equal(device, "0000:02:00.1");
	assert_false(trace_parse_bounce("dev_name: 0000:02:00.1", device, sizeof(device)));
	assert_true(trace_parse_lost("# entries-in-buffer/entries-written: 5/9   #P:2\n"));
	assert_false(trace_parse_lost("# entries-in-buffer/entries-written: 5/5   #P:2\n"));
}

static void trace_collection(void **state)
{
	struct trace trace = { .mappings = true, .bounces = true };
	struct trace_hits hits;

	snprintf(trace.path, sizeof(trace.path), "%s", (char *)*state);
	fixture_file(*state, "trace",
		     "# entries-in-buffer/entries-written: 4/4   #P:2\n"
		     " a-1 [0] .. 1: map: IOMMU: iova=0x1000 - 0x2000 paddr=0xff000 size=4096\n"
		     " a-1 [0] .. 1: map: IOMMU: iova=0x3000 - 0x4000 paddr=0x101000 size=4096\n"
		     " a-1 [0] .. 1: map: IOMMU: iova=0x5000 - 0x6000 paddr=0x1ff000 size=8192\n"
		     " a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:01:00.0 dma_mask=1 size=1\n"
		     " a-1 [0] .. 1: swiotlb_bounced: dev_name: 0000:02:00.0 dma_mask=1 size=1\n");
	assert_int_equal(trace_collect(&trace, 0x100000, 0x100000, "0000:01:00.0", &hits), 0);
	assert_int_equal(hits.mappings, 1);
	assert_int_equal(hits.first_iova, 0x3000);
	assert_int_equal(hits.first_address, 0x101000);
	assert_int_equal(hits.bounces, 1);
	assert_int_equal(hits.other_bounces, 1);
	assert_false(hits.lost);
	trace.path[0] = '\0';
	assert_int_equal(trace_collect(&trace, 0, 1, "", &hits), -ENOENT);
}

static bool there(const char *root, const char *path)
{
	char full[512];

	text_format(full, sizeof(full), "%s/%s", root, path);
	return !access(full, F_OK);
}

/* The number of a process that has ended. */
static pid_t gone(void)
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child)
		_exit(0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	return child;
}

static void trace_left_over(void **state)
{
	char dead[64], own[64], parent[64];
	struct trace trace;

	text_format(dead, sizeof(dead), "instances/vpeer-%d", (int)gone());
	text_format(own, sizeof(own), "instances/vpeer-%d", (int)getpid());
	text_format(parent, sizeof(parent), "instances/vpeer-%d", (int)getppid());
	fixture_directory(*state, dead);
	fixture_directory(*state, own);
	fixture_directory(*state, parent);
	fixture_directory(*state, "instances/vpeer-");
	fixture_directory(*state, "instances/vpeer-0");
	fixture_directory(*state, "instances/vpeer-99999999x");
	fixture_directory(*state, "instances/99999999");
	trace_begin(&trace, *state);
	assert_false(there(*state, dead));
	assert_true(there(*state, parent));
	assert_true(there(*state, "instances/vpeer-"));
	assert_true(there(*state, "instances/vpeer-0"));
	assert_true(there(*state, "instances/vpeer-99999999x"));
	assert_true(there(*state, "instances/99999999"));
	assert_non_null(strstr(trace.path, own));
	trace_end(&trace);
	assert_false(there(*state, own));
	trace_end(&trace);
}

static void trace_refused(void **state)
{
	struct trace trace;

	trace_begin(&trace, *state);
	assert_string_equal(trace.path, "");
	assert_non_null(strstr(trace.problem, "cannot create"));
	assert_false(trace.mappings || trace.bounces);
	trace_end(&trace);
}

static void swiotlb_counters(void **state)
{
	struct swiotlb_state counters;

	swiotlb_read(&counters, *state, true);
	assert_false(counters.absent || counters.readable);
	fixture_directory(*state, "swiotlb");
	swiotlb_read(&counters, *state, true);
	assert_true(counters.absent);
	assert_false(counters.readable);
	fixture_file(*state, "swiotlb/io_tlb_nslabs", "32768\n");
	fixture_file(*state, "swiotlb/io_tlb_used", "5\n");
	swiotlb_read(&counters, *state, true);
	assert_true(counters.readable && !counters.absent && !counters.has_high_water);
	assert_int_equal(counters.used, 5);
	fixture_file(*state, "swiotlb/io_tlb_used_hiwater", "9\n");
	swiotlb_read(&counters, *state, false);
	assert_true(counters.has_high_water);
	assert_int_equal(counters.high_water, 9);
	swiotlb_read(&counters, *state, true);
	assert_int_equal(counters.high_water, 0);
}

static enum fact bounces(const struct trace *trace, const struct trace_hits *hits,
			 const struct swiotlb_state *before, const struct swiotlb_state *after,
			 const char *pci)
{
	struct evidence evidence = { 0 };

	evidence_judge_bounces(trace, hits, before, after, pci, &evidence);
	assert_true(evidence.clean_text[0]);
	return evidence.clean;
}

static void bounce_facts(void **state)
{
	struct trace trace = { .bounces = true }, blind = { .problem = "no tracefs" };
	struct swiotlb_state quiet = { .readable = true }, absent = { .absent = true };
	struct swiotlb_state busy = { .readable = true, .used = 4 }, unknown = { 0 };
	struct trace_hits none = { 0 }, ours = { .bounces = 2 }, others = { .other_bounces = 1 };
	struct trace_hits lost = { .lost = true };
	const char *pci = "0000:01:00.0";

	(void)state;
	assert_int_equal(bounces(&trace, &none, &quiet, &quiet, pci), FACT_YES);
	assert_int_equal(bounces(&trace, &ours, &quiet, &quiet, pci), FACT_NO);
	assert_int_equal(bounces(&trace, &ours, &absent, &absent, pci), FACT_NO);
	assert_int_equal(bounces(&trace, &lost, &quiet, &quiet, pci), FACT_UNKNOWN);
	assert_int_equal(bounces(&trace, &none, &quiet, &busy, pci), FACT_UNKNOWN);
	assert_int_equal(bounces(&trace, &others, &quiet, &busy, pci), FACT_YES);
	assert_int_equal(bounces(&trace, &none, &unknown, &unknown, pci), FACT_UNKNOWN);
	assert_int_equal(bounces(&trace, &none, &quiet, &quiet, ""), FACT_UNKNOWN);
	assert_int_equal(bounces(&blind, &none, &quiet, &quiet, pci), FACT_UNKNOWN);
	assert_int_equal(bounces(&blind, &none, &absent, &absent, pci), FACT_YES);
}

static void mapping_facts(void **state)
{
	struct trace trace = { .mappings = true }, blind = { .problem = "no tracefs" };
	struct trace_hits none = { 0 }, lost = { .lost = true }, some = { .mappings = 1 };
	struct evidence evidence = { 0 };

	(void)state;
	evidence_judge_mapping(&blind, &none, &evidence);
	assert_int_equal(evidence.mapping, FACT_UNKNOWN);
	assert_non_null(strstr(evidence.mapping_text, "no tracefs"));
	evidence_judge_mapping(&trace, &lost, &evidence);
	assert_int_equal(evidence.mapping, FACT_UNKNOWN);
	evidence_judge_mapping(&trace, &none, &evidence);
	assert_int_equal(evidence.mapping, FACT_NO);
	evidence_judge_mapping(&trace, &some, &evidence);
	assert_int_equal(evidence.mapping, FACT_YES);
}

static struct record passed_case = {
	.kind = RECORD_CASE, .op = OP_WRITE, .outcome = OUTCOME_PASS, .size = 64, .bytes = 64,
	.name = "write",
};

static struct result good_result(void)
{
	return (struct result){
		.records = &passed_case,
		.count = 1,
		.grade = GRADE_OWNER,
		.finished = true,
		.bytes = 64,
		.evidence = {
			.translating = true,
			.pins = FACT_YES,
			.mapping = FACT_YES,
			.clean = FACT_YES,
			.pins_text = "pins text",
			.mapping_text = "mapping text",
			.clean_text = "clean text",
		},
	};
}

static void decide(struct result *result, enum verdict verdict, const char *cause)
{
	result_decide(result, false, "quiet");
	assert_string_equal(verdict_name(result->verdict), verdict_name(verdict));
	if (!strstr(result->cause, cause))
		fail_msg("'%s' lacks '%s'", result->cause, cause);
}

static void verdict_pass(void **state)
{
	struct result result = good_result();

	(void)state;
	decide(&result, VERDICT_PASS, "");
	assert_string_equal(result.cause, "");
	result = good_result();
	result.grade = GRADE_WINDOW;
	decide(&result, VERDICT_UNPROVEN, "through the BAR only");
	result_decide(&result, true, "");
	assert_int_equal(result.verdict, VERDICT_PASS);
}

static void verdict_needs_proof(void **state)
{
	struct result result = good_result();

	(void)state;
	result.evidence.mapping = FACT_NO;
	decide(&result, VERDICT_UNPROVEN, "mapping text");
	result = good_result();
	result.evidence.clean = FACT_UNKNOWN;
	decide(&result, VERDICT_UNPROVEN, "clean text");
	result = good_result();
	result.evidence.pins = FACT_NO;
	decide(&result, VERDICT_UNPROVEN, "pins text");
	result = good_result();
	result.evidence = (struct evidence){ 0 };
	decide(&result, VERDICT_UNPROVEN, "directness unproven");
	result = good_result();
	result.count = 0;
	decide(&result, VERDICT_UNPROVEN, "nothing was transferred");
}

static void verdict_soft(void **state)
{
	struct result result = good_result();

	(void)state;
	result.evidence.soft = true;
	result.evidence.mapping = FACT_UNKNOWN;
	result.evidence.clean = FACT_UNKNOWN;
	decide(&result, VERDICT_PASS, "");
	result.evidence.pins = FACT_NO;
	decide(&result, VERDICT_UNPROVEN, "pins text");
}

static void verdict_block(void **state)
{
	struct result result = good_result();

	(void)state;
	result.evidence.block = true;
	result.evidence.pins = FACT_UNKNOWN;
	result.evidence.clean = FACT_UNKNOWN;
	decide(&result, VERDICT_PASS, "");
	result.evidence.translating = false;
	decide(&result, VERDICT_UNPROVEN, "clean text");
	result.evidence.clean = FACT_YES;
	decide(&result, VERDICT_UNPROVEN, "pins text");
	result.evidence.pins = FACT_YES;
	decide(&result, VERDICT_PASS, "");
}

static void verdict_bounced(void **state)
{
	struct result result = good_result();

	(void)state;
	result.evidence.clean = FACT_NO;
	decide(&result, VERDICT_BOUNCED, "bounce buffers");
	result_decide(&result, true, "quiet swiotlb=force");
	assert_int_equal(result.verdict, VERDICT_BOUNCED);
	assert_non_null(strstr(result.remedy, "swiotlb=force"));
}

static void verdict_failures(void **state)
{
	struct record records[2] = { passed_case, passed_case };
	struct result result = good_result();

	(void)state;
	result.records = records;
	result.count = 2;
	records[1].kind = RECORD_CONTROL;
	records[1].outcome = OUTCOME_FAIL;
	strcpy(records[1].text, "was carried out");
	decide(&result, VERDICT_FAIL, "was carried out");
	result.finished = false;
	result.timed_out = true;
	decide(&result, VERDICT_TIMEOUT, "deadline");
	result = good_result();
	result.finished = false;
	strcpy(result.cause, "ended by signal 11");
	decide(&result, VERDICT_FAIL, "signal 11");
}

static void summaries(void **state)
{
	struct result result = good_result();
	struct evidence evidence = result.evidence;
	char text[128];

	(void)state;
	evidence_summary(&evidence, text, sizeof(text));
	assert_string_equal(text, "pins+iommu+no bounce");
	evidence.clean = FACT_UNKNOWN;
	evidence_summary(&evidence, text, sizeof(text));
	assert_string_equal(text, "incomplete");
	evidence.block = true;
	evidence_summary(&evidence, text, sizeof(text));
	assert_string_equal(text, "pins+iommu");
	evidence.pins = FACT_UNKNOWN;
	evidence_summary(&evidence, text, sizeof(text));
	assert_string_equal(text, "iommu");
	evidence.clean = FACT_NO;
	evidence.bounces = 3;
	evidence_summary(&evidence, text, sizeof(text));
	assert_string_equal(text, "bounced 3 times");
	evidence = (struct evidence){ 0 };
	evidence_summary(&evidence, text, sizeof(text));
	assert_string_equal(text, "none");
}

static void marks(void **state)
{
	struct record records[2] = { passed_case, passed_case };
	struct result result = { .records = records, .count = 2 };

	(void)state;
	assert_string_equal(result_mark(&result, OP_WRITE), "ok");
	assert_string_equal(result_mark(&result, OP_READ), "-");
	records[1].outcome = OUTCOME_SKIPPED;
	assert_string_equal(result_mark(&result, OP_WRITE), "partly");
	records[0].outcome = OUTCOME_FAIL;
	assert_string_equal(result_mark(&result, OP_WRITE), "FAIL");
	result.count = 0;
	assert_string_equal(result_mark(&result, OP_WRITE), "-");
}

static void disk_fixture(const char *root, const char *name, const char *device)
{
	char path[256], target[256];

	snprintf(path, sizeof(path), "devices/%s/dev", device);
	fixture_file(root, path, "259:1\n");
	snprintf(path, sizeof(path), "devices/%s/size", device);
	fixture_file(root, path, "2048\n");
	snprintf(path, sizeof(path), "devices/%s/queue/logical_block_size", device);
	fixture_file(root, path, "512\n");
	snprintf(path, sizeof(path), "block/%s", name);
	snprintf(target, sizeof(target), "../devices/%s", device);
	fixture_link(root, path, target);
}

static void disks(void **state)
{
	struct initiator_list list = { 0 };
	struct initiator *disk;

	disk_fixture(*state, "nvme0n1", "pci0000:00/0000:00:02.0/0000:02:00.1/nvme/nvme0/nvme0n1");
	disk_fixture(*state, "vda", "pci0000:00/0000:00:03.0/virtio1/block/vda");
	disk_fixture(*state, "loop0", "virtual/block/loop0");
	fixture_file(*state, "bus/pci/devices/0000:02:00.1/iommu_group/type", "DMA-FQ\n");
	fixture_file(*state, "bus/pci/devices/0000:00:03.0/iommu_group/type", "DMA\n");
	fixture_file(*state, "devices/pci0000:00/0000:00:03.0/virtio1/block/vda/device/features",
		     "0010101001110000000000000000110010000000000000000000000000000000\n");
	assert_int_equal(initiators_find_block(*state, *state, &list), 0);
	assert_int_equal(list.count, 2);
	disk = initiator_by_name(&list, INITIATOR_BLOCK, "nvme0n1");
	assert_non_null(disk);
	assert_string_equal(disk->pci, "0000:02:00.1");
	assert_string_equal(disk->domain, "DMA-FQ");
	assert_true(disk->translating);
	assert_int_equal(disk->size, 1 << 20);
	assert_int_equal(disk->block, 512);
	assert_true(disk->number == makedev(259, 1));
	disk = initiator_by_name(&list, INITIATOR_BLOCK, "vda");
	assert_non_null(disk);
	assert_false(disk->translating);
	assert_null(initiator_by_name(&list, INITIATOR_RDMA, "vda"));
	free(list.items);
}

/* Disk 259:1, its partition 259:2, and 253:0, which is no disk of sysfs. */
static void disk_tree(const char *root)
{
	static const unsigned int numbers[][2] = { { 259, 1 }, { 259, 2 }, { 253, 0 } };
	static const char *const nodes[] = { "disk", "part", "none" };
	char path[512];

	disk_fixture(root, "nvme0n1", "nvme0/nvme0n1");
	fixture_file(root, "devices/nvme0/nvme0n1/p1/partition", "1\n");
	fixture_file(root, "devices/nvme0/nvme0n1/p1/start", "2048\n");
	fixture_link(root, "dev/block/259:1", "../../devices/nvme0/nvme0n1");
	fixture_link(root, "dev/block/259:2", "../../devices/nvme0/nvme0n1/p1");
	for (size_t i = 0; i < ARRAY_SIZE(nodes); i++) {
		text_format(path, sizeof(path), "%s/%s", root, nodes[i]);
		if (mknod(path, S_IFBLK | 0600, makedev(numbers[i][0], numbers[i][1])))
			skip();
	}
}

static int resolve(const char *root, const char *file, char name[64], struct vpeer_error *error)
{
	char path[512];

	text_format(path, sizeof(path), "%s/%s", root, file);
	return disk_resolve(root, path, name, 64, error);
}

static void disk_names(void **state)
{
	struct vpeer_error error;
	char name[64];

	disk_tree(*state);
	fixture_link(*state, "other/vda", "../disk");
	fixture_file(*state, "nvme0n1", "");
	assert_int_equal(resolve(*state, "disk", name, &error), 0);
	assert_string_equal(name, "nvme0n1");
	assert_int_equal(resolve(*state, "other/vda", name, &error), 0);
	assert_string_equal(name, "nvme0n1");
	assert_int_equal(resolve(*state, "nvme0n1", name, &error), -ENOTBLK);
	assert_non_null(strstr(error.message, "no block device"));
	assert_int_equal(resolve(*state, "absent", name, &error), -ENOENT);
	assert_int_equal(resolve(*state, "none", name, &error), -ENODEV);
	assert_non_null(strstr(error.message, "253:0"));
	assert_int_equal(resolve(*state, "part", name, &error), -ENOTBLK);
	assert_non_null(strstr(error.message, "/dev/nvme0n1"));
	assert_non_null(strstr(error.message, "1048576"));
	assert_non_null(strstr(error.remedy, "add 1048576"));
	assert_int_equal(disk_resolve(*state, "null", name, sizeof(name), &error), -ENOTBLK);
	assert_string_equal(error.who, "/dev/null");
}

static void disk_nodes(void **state)
{
	struct initiator disk = { .name = "vda", .number = makedev(259, 1) };
	struct vpeer_error error;

	assert_int_equal(disk_open(*state, &disk, O_RDONLY, &error), -ENOENT);
	fixture_link(*state, "vda", "/dev/null");
	assert_int_equal(disk_open(*state, &disk, O_RDONLY, &error), -ENODEV);
	assert_non_null(strstr(error.message, "259:1"));
}

static void multipath_disk(void **state)
{
	struct initiator_list list = { 0 };

	disk_fixture(*state, "nvme0n1", "virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
	fixture_link(*state, "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1/device", "..");
	fixture_directory(*state, "devices/pci0000:00/0000:02:00.1/nvme/nvme0");
	fixture_link(*state, "devices/virtual/nvme-subsystem/nvme-subsys0/nvme0",
		     "../../../pci0000:00/0000:02:00.1/nvme/nvme0");
	assert_int_equal(initiators_find_block(*state, *state, &list), 0);
	assert_int_equal(list.count, 1);
	assert_string_equal(list.items[0].pci, "0000:02:00.1");
	free(list.items);
}

static void rdma_devices(void **state)
{
	struct initiator_list list = { 0 };

	fixture_directory(*state, "devices/pci0000:00/0000:05:00.0");
	fixture_directory(*state, "class/infiniband/mlx5_0");
	fixture_link(*state, "class/infiniband/mlx5_0/device",
		     "../../../devices/pci0000:00/0000:05:00.0");
	fixture_file(*state, "class/infiniband/soft0/parent", "eth0\n");
	fixture_link(*state, "class/infiniband/soft0/device",
		     "../../../devices/pci0000:00/0000:05:00.0");
	fixture_directory(*state, "class/net/eth0");
	fixture_link(*state, "class/net/eth0/device",
		     "../../../devices/pci0000:00/0000:05:00.0");
	assert_int_equal(initiators_find_rdma(*state, &list), 0);
	assert_int_equal(list.count, 2);
	assert_string_equal(list.items[0].pci, "0000:05:00.0");
	assert_false(list.items[0].soft);
	assert_false(list.items[0].translating);
	assert_string_equal(list.items[1].pci, "");
	assert_string_equal(list.items[1].netdev, "eth0");
	assert_string_equal(list.items[1].netdev_pci, "0000:05:00.0");
	assert_true(list.items[1].soft);
	free(list.items);
}

static void owner_views(void **state)
{
	struct vpeer_entry entry = { .pci = { .bus = 1 }, .bar = 2 };
	char path[512], file[512];

	fixture_file(*state, "0000:01:00.0-bar2", "");
	assert_int_equal(plan_view(*state, &entry, 2, path, sizeof(path)), 0);
	snprintf(file, sizeof(file), "%s/0000:01:00.0-bar2", (char *)*state);
	assert_string_equal(path, file);
	assert_int_equal(plan_view(file, &entry, 1, path, sizeof(path)), 0);
	assert_string_equal(path, file);
	assert_int_equal(plan_view(file, &entry, 2, path, sizeof(path)), -ENOTDIR);
	entry.bar = 0;
	assert_int_equal(plan_view(*state, &entry, 1, path, sizeof(path)), -ENOENT);
	assert_int_equal(plan_view("/nonexistent", &entry, 1, path, sizeof(path)), -ENOENT);
}

static const char *text_of(struct json_object *object, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(object, key, &value));
	return json_object_get_string(value);
}

static struct json_object *member(struct json_object *object, const char *key)
{
	struct json_object *value;

	assert_true(json_object_object_get_ex(object, key, &value));
	return value;
}

static void json_shape(void **state)
{
	struct vpeer_entry entry = { .pci = { .bus = 1 }, .bar = 2, .node = "/dev/vpeer0" };
	struct initiator initiator = { .kind = INITIATOR_RDMA, .name = "rxe0" };
	struct settings settings = { .seed = 42 };
	struct pair pair = { .aperture = &entry, .initiator = &initiator };
	struct json_object *document, *item, *one;

	(void)state;
	pair.result = good_result();
	result_decide(&pair.result, false, "");
	document = report_document(&pair, 1, &settings);
	assert_string_equal(text_of(document, "schema_version"), "1");
	assert_string_equal(text_of(document, "seed"), "42");
	assert_string_equal(text_of(document, "pairs_passed"), "1");
	item = json_object_array_get_idx(member(document, "pairs"), 0);
	assert_string_equal(text_of(item, "verdict"), "PASS");
	assert_string_equal(text_of(item, "grade"), "owner");
	assert_string_equal(text_of(item, "bytes_verified"), "64");
	assert_string_equal(text_of(member(item, "aperture"), "pci"), "0000:01:00.0");
	assert_string_equal(text_of(member(item, "counts"), "passed"), "1");
	assert_string_equal(text_of(member(item, "counts"), "failed"), "0");
	assert_null(member(member(item, "initiator"), "pci"));
	one = json_object_array_get_idx(member(item, "cases"), 0);
	assert_string_equal(text_of(one, "op"), "write");
	assert_string_equal(text_of(one, "outcome"), "pass");
	assert_string_equal(text_of(member(member(item, "evidence"), "pins"), "seen"), "yes");
	json_object_put(document);
}

/* Through fork, pipe and records to a verdict, with a node that is not there. */
static void pair_without_node(void **state)
{
	struct vpeer_entry entry = { .pci = { .bus = 1 }, .node = "/dev/vpeer4294967295" };
	struct initiator initiator = { .kind = INITIATOR_BLOCK, .name = "none", .block = 512 };
	struct settings settings = { .quiet = true, .timeout = 20 };
	struct trace trace = { 0 };
	struct pair pair = { .aperture = &entry, .initiator = &initiator, .trace = &trace };

	(void)state;
	pair_run(&pair, &settings, 1, 1);
	assert_int_equal(pair.result.verdict, VERDICT_FAIL);
	assert_true(pair.result.finished);
	assert_non_null(strstr(pair.result.cause, "the node does not exist"));
	assert_non_null(strstr(pair.result.remedy, "vpeer attach"));
	free(pair.result.records);
}

static void disk_io(void **state)
{
	static uint8_t out[3 << 20], in[3 << 20];
	char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/disk", (char *)*state);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	pattern_fill(out, PATTERN_PAYLOAD, 1, 0, sizeof(out));
	assert_int_equal(disk_write(fd, out, sizeof(out), 512), 0);
	assert_int_equal(disk_read(fd, in, sizeof(in), 512), 0);
	assert_memory_equal(in, out, sizeof(out));
	assert_int_equal(disk_read(fd, in, sizeof(in), 1024), -ENODATA);
	close(fd);
	assert_int_equal(disk_read(fd, in, 1, 0), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pattern_kinds),
		cmocka_unit_test(pattern_positions),
		cmocka_unit_test(pattern_mismatch),
		cmocka_unit_test(scratch_arguments),
		cmocka_unit_test(scratch_blocks),
		cmocka_unit_test(trace_lines),
		cmocka_unit_test_setup_teardown(trace_collection, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(trace_left_over, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(trace_refused, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(swiotlb_counters, fixture_begin, fixture_end),
		cmocka_unit_test(bounce_facts),
		cmocka_unit_test(mapping_facts),
		cmocka_unit_test(verdict_pass),
		cmocka_unit_test(verdict_needs_proof),
		cmocka_unit_test(verdict_soft),
		cmocka_unit_test(verdict_block),
		cmocka_unit_test(verdict_bounced),
		cmocka_unit_test(verdict_failures),
		cmocka_unit_test(summaries),
		cmocka_unit_test(marks),
		cmocka_unit_test_setup_teardown(disks, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(disk_names, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(disk_nodes, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(multipath_disk, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(rdma_devices, fixture_begin, fixture_end),
		cmocka_unit_test_setup_teardown(owner_views, fixture_begin, fixture_end),
		cmocka_unit_test(json_shape),
		cmocka_unit_test(pair_without_node),
		cmocka_unit_test_setup_teardown(disk_io, fixture_begin, fixture_end),
	};

	return cmocka_run_group_tests_name("selftest", tests, NULL, NULL) != 0;
}

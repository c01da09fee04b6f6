// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a memory region of a window costs by dma-buf, against one of host memory in huge pages: times, and
 * what is counted. The table goes to $VPEER_SCRATCH/mr_cost.txt, too (make bench).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "registering.h"
#include "sim.h"
#include "vgpu.h"
#include "vrnic.h"

#define GIB		(1ULL << 30)
#define LARGEST		(8 * GIB)
#define IOVA		0x7000000000
#define ROUNDS		60
#define HOST_ROUNDS	5
#define PIECE		(64 * KIB)

/* Goals. */
#define MOST_RATIO	0.02
#define MOST_PER_4_GIB	4
#define MOST_SPREAD	2.0

struct place {
	struct rdma r;
	struct vgpu gpu;
	int fd;				/* the aperture, one window */
	char *plain;
	struct ibv_mr *plain_mr;
};

/* An MR of one size. */
struct cost {
	uint64_t size;
	double least;			/* microseconds, to register and deregister */
	double median;
	double took[ROUNDS];
	int fd;				/* of the dma-buf, or -1 */
	char *memory;			/* or of the host, or NULL */
	struct registering counted;
	uint64_t copied;
};

static FILE *table;

__attribute__((format(printf, 1, 2)))
static void tell(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vprintf(format, arguments);
	va_end(arguments);
	if (!table)
		return;
	va_start(arguments, format);
	vfprintf(table, format, arguments);
	va_end(arguments);
	fflush(table);
}

static void open_table(void)
{
	const char *scratch = getenv("VPEER_SCRATCH");
	char path[512];

	if (!scratch)
		return;
	snprintf(path, sizeof(path), "%s/mr_cost.txt", scratch);
	table = fopen(path, "w");
	CHECK(table);
}

/* The memory holds no one's data, so that nothing has to be zeroed and all of it stays sparse. */
static void begin(struct place *p)
{
	const char *pci = vgpu_pci(0);

	sim_begin();
	setenv("VPEER_AP_PCI", pci, 1);
	vgpu_open(&p->gpu, 0);
	if (p->gpu.aperture_size < LARGEST)
		test_skip("the vgpu's aperture is smaller than 8 GiB");
	vgpu_close(&p->gpu);
	if (pci_bound(pci))
		CHECK_OK(control_detach(pci, NULL, NULL));
	CHECK_OK(control_attach(pci, 2, VPEER_ATTACH_CLEAN, NULL));
	vgpu_open(&p->gpu, 0);
	p->fd = aperture_open();
	CHECK_OK(window_alloc_at(p->fd, 0, LARGEST, NULL));
	vrnic_dmabuf_mode("dynamic");
	rdma_open_device(&p->r, vrnic_device(0));
	p->plain = plain_memory(PIECE);
	p->plain_mr = rdma_reg(&p->r, p->plain, PIECE);
	registering_begin();
}

static void end(struct place *p)
{
	registering_end();
	CHECK_EQ(ibv_dereg_mr(p->plain_mr), 0);
	munmap(p->plain, PIECE);
	rdma_close(&p->r);
	close(p->fd);
	vgpu_close(&p->gpu);
	CHECK_OK(control_detach(vgpu_pci(0), NULL, NULL));
}

static int export(const struct place *p, uint64_t size)
{
	struct vpeer_dmabuf arg = { .argsz = sizeof(arg), .size = size };

	CHECK_OK(ioctl(p->fd, VPEER_IOCTL_DMABUF, &arg));
	return arg.fd;
}

/* Host memory in huge pages, present. */
static char *huge_memory(size_t size)
{
	char *memory = mmap(NULL, size + GRANULE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(memory != MAP_FAILED);
	memory += -(uintptr_t)memory & (GRANULE - 1);
	CHECK_OK(madvise(memory, size, MADV_HUGEPAGE));
	for (size_t at = 0; at < size; at += 4096)
		memory[at] = 1;
	return memory;
}

/* Of this process, in bytes. */
static uint64_t huge_bytes(void)
{
	FILE *rollup = fopen("/proc/self/smaps_rollup", "r");
	unsigned long long kib = 0;
	char line[256];

	CHECK(rollup);
	while (fgets(line, sizeof(line), rollup) && !kib)
		if (sscanf(line, "AnonHugePages: %llu", &kib) != 1)
			kib = 0;
	fclose(rollup);
	return kib * KIB;
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1e6 + now.tv_nsec / 1e3;
}

static struct ibv_mr *reg(struct place *p, const struct cost *c)
{
	struct ibv_mr *mr = c->memory ? ibv_reg_mr(p->r.pd, c->memory, c->size, RDMA_ACCESS) :
			    ibv_reg_dmabuf_mr(p->r.pd, 0, c->size, IOVA, c->fd, RDMA_ACCESS);

	if (!mr)
		test_fail(__FILE__, __LINE__, "no MR of %llu MiB: %s", c->size / MIB,
			  strerrorname_np(errno));
	return mr;
}

static int compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return difference < 0 ? -1 : difference > 0;
}

/*
 * Behind an IOMMU the time depends on the entries of its table, each of which an emulated one hands on: one for
 * 1 GiB, 128 for 256 MiB. How it grows with the size is judged without one.
 */
static bool translated(void)
{
	const char *iommu = getenv("VPEER_LAB_IOMMU");

	return !iommu || strcmp(iommu, "none");
}

static double time_one(struct place *p, const struct cost *c)
{
	double start = now_us();

	CHECK_EQ(ibv_dereg_mr(reg(p, c)), 0);
	return now_us() - start;
}

/* In turns, so that what else the machine does meets all sizes alike. */
static void time_rounds(struct place *p, struct cost *costs, size_t count, unsigned int rounds)
{
	CHECK(rounds && rounds <= ROUNDS);
	for (unsigned int round = 0; round < rounds; round++)
		for (size_t i = 0; i < count; i++)
			costs[i].took[round] = time_one(p, &costs[i]);
	for (size_t i = 0; i < count; i++) {
		qsort(costs[i].took, rounds, sizeof(costs[i].took[0]), compare);
		costs[i].least = costs[i].took[0];
		costs[i].median = costs[i].took[rounds / 2];
	}
}

static struct ibv_mr *count_one(struct place *p, struct cost *cost)
{
	struct ibv_mr *mr;

	registering_start();
	mr = reg(p, cost);
	cost->counted = registering_stop();
	return mr;
}

/* Of the model's log: bytes of the GPU that the function reached by itself. */
static uint64_t direct_bytes(void)
{
	char *all = strdup(sim_ask("log")), *rest = all, *line;
	uint64_t direct = 0;

	CHECK(all);
	while ((line = strsep(&rest, "\n"))) {
		unsigned long length;

		if (sscanf(line, "%*s %*s %*s %lu", &length) == 1 && strstr(line, " ok "))
			direct += length;
	}
	free(all);
	return direct;
}

/* Both ways, at a place of the MR whose memory lies at the same place of the GPU's; bytes copied. */
static uint64_t move(struct place *p, const struct ibv_mr *mr, uint64_t at, uint64_t seed)
{
	uint64_t direct;

	sim_ask("log clear");
	registering_start();
	pattern_fill(p->plain, PIECE, seed);
	CHECK_EQ(rdma_write(&p->r, p->plain_mr, IOVA + at, mr->rkey, PIECE), IBV_WC_SUCCESS);
	CHECK_EQ(vgpu_checksum(&p->gpu, at, PIECE), vgpu_sum_of(p->plain, PIECE));
	memset(p->plain, 0, PIECE);
	CHECK_EQ(rdma_read(&p->r, p->plain_mr, IOVA + at, mr->rkey, PIECE), IBV_WC_SUCCESS);
	CHECK(pattern_is(p->plain, PIECE, seed));
	direct = direct_bytes();
	CHECK(direct <= 2 * PIECE);
	return 2 * PIECE - direct + registering_stop().bounced;
}

/* At both ends and where two segments meet, if they do. */
static uint64_t move_all(struct place *p, const struct ibv_mr *mr, uint64_t size)
{
	uint64_t copied = move(p, mr, 0, size) + move(p, mr, size - PIECE, size + 1);

	if (size > 2 * GIB)
		copied += move(p, mr, 2 * GIB - PIECE / 2, size + 2);
	return copied;
}

static void count_dmabuf(struct place *p, struct cost *cost, uint64_t size)
{
	struct ibv_mr *mr;

	*cost = (struct cost){ .size = size, .fd = export(p, size) };
	mr = count_one(p, cost);
	cost->copied = cost->counted.bounced + move_all(p, mr, size);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	/* Whole granules. */
	CHECK_EQ(cost->counted.mapped,
		 translated() ? (size + GRANULE - 1) / GRANULE * GRANULE : 0);
}

static void cost_of_host(struct place *p, struct cost *cost, uint64_t size)
{
	uint64_t before = huge_bytes();

	*cost = (struct cost){ .size = size, .fd = -1, .memory = huge_memory(size) };
	CHECK(huge_bytes() - before >= size);
	CHECK_EQ(ibv_dereg_mr(count_one(p, cost)), 0);
	cost->copied = cost->counted.bounced;
	time_rounds(p, cost, 1, HOST_ROUNDS);
	munmap(cost->memory, size);
}

static void tell_cost(const char *memory, const struct cost *cost)
{
	const struct registering *c = &cost->counted;

	tell("%-14s%6llu MiB%12.2f%12.2f%10u%8u%8" PRIu64 "\n", memory, cost->size / MIB,
	     cost->least / 1e3, cost->median / 1e3, c->segments ?: c->runs, c->maps, cost->copied);
}

/* Segments and maps that a dma-buf of that size may take. */
static unsigned int most_entries(uint64_t size)
{
	return MOST_PER_4_GIB * ((size + 4 * GIB - 1) / (4 * GIB));
}

static bool goal(const char *what, double got, double most)
{
	bool met = got <= most;

	tell("goal: %s: %.4g of at most %g: %s\n", what, got, most, met ? "met" : "missed");
	return met;
}

/* Per 4 GiB, the worst of all sizes. */
static double worst(const struct cost *costs, size_t count, bool maps)
{
	double most = 0;

	for (size_t i = 0; i < count; i++) {
		const struct registering *c = &costs[i].counted;
		double got = (double)(maps ? c->maps : c->segments) * MOST_PER_4_GIB /
			     most_entries(costs[i].size);

		most = got > most ? got : most;
	}
	return most;
}

static double spread(const struct cost *costs, size_t count)
{
	double least = costs[0].least, most = costs[0].least;

	for (size_t i = 1; i < count; i++) {
		least = costs[i].least < least ? costs[i].least : least;
		most = costs[i].least > most ? costs[i].least : most;
	}
	return most / least;
}

static uint64_t copied(const struct cost *costs, size_t count)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += costs[i].copied;
	return bytes;
}

static bool goal_of_ratio(const struct cost *costs, const struct cost *host)
{
	while (costs->size != host->size)
		costs++;
	return goal("time of an MR of 1 GiB, dma-buf / THP memory", costs->least / host->least,
		    MOST_RATIO);
}

static bool goal_of_time(const struct cost *costs, size_t count, const struct cost *host)
{
	return translated() ? goal_of_ratio(costs, host) :
	       goal("time of an MR by dma-buf, dearest / cheapest from 1 MiB to 8 GiB",
		    spread(costs, count), MOST_SPREAD);
}

static bool goals_of_counts(const struct cost *costs, size_t count)
{
	bool all = goal("scatterlist entries for 4 GiB by dma-buf", worst(costs, count, false),
			MOST_PER_4_GIB);

	all &= goal("IOMMU maps for 4 GiB by dma-buf", worst(costs, count, true), MOST_PER_4_GIB);
	all &= goal("bytes copied by a CPU", copied(costs, count), 0);
	return all;
}

static const uint64_t sizes[] = { MIB, 16 * MIB, 256 * MIB, GIB, 4 * GIB, LARGEST };

static void count_all(struct place *p, struct cost costs[ARRAY_SIZE(sizes)])
{
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		count_dmabuf(p, &costs[i], sizes[i]);
}

TEST(counts, 120)
{
	static struct cost costs[ARRAY_SIZE(sizes)];
	struct place p;

	begin(&p);
	count_all(&p, costs);
	CHECK(goals_of_counts(costs, ARRAY_SIZE(sizes)));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		close(costs[i].fd);
	end(&p);
}

/* For make bench: no check is timed. */
TEST(goals, 300)
{
	static struct cost costs[ARRAY_SIZE(sizes)], host;
	struct place p;
	bool met;

	open_table();
	begin(&p);
	tell("%s\n", translated() ? "Behind an IOMMU" : "Without an IOMMU");
	tell("REGISTRATION        BYTES    LEAST ms   MEDIAN ms        SG    MAPS  COPIED\n");
	count_all(&p, costs);
	time_rounds(&p, costs, ARRAY_SIZE(sizes), ROUNDS);
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		tell_cost("dma-buf", &costs[i]);
		close(costs[i].fd);
	}
	cost_of_host(&p, &host, GIB);
	tell_cost("THP memory", &host);
	end(&p);
	tell("\n");
	met = goal_of_time(costs, ARRAY_SIZE(sizes), &host);
	met &= goals_of_counts(costs, ARRAY_SIZE(sizes));
	CHECK(met);
}

/* What a NIC that takes short segments only is given is counted, and is too much. */
TEST(short_segments_are_counted, 120)
{
	struct cost cost = { .size = 256 * MIB };
	struct place p;

	vrnic_segments(64 * KIB);
	begin(&p);
	cost.fd = export(&p, cost.size);
	CHECK_EQ(ibv_dereg_mr(count_one(&p, &cost)), 0);
	CHECK_EQ(cost.counted.segments, cost.size / (64 * KIB));
	CHECK_EQ(cost.counted.maps, 1);
	CHECK(!goal("scatterlist entries for 4 GiB by dma-buf", worst(&cost, 1, false),
		    MOST_PER_4_GIB));
	close(cost.fd);
	end(&p);
	vrnic_segments(0);
}

/* Host memory in small pages takes many maps: they are counted where they are made. */
TEST(small_pages_are_counted, 120)
{
	struct cost cost = { .size = 16 * MIB };
	struct place p;
	char *memory;

	begin(&p);
	memory = mmap(NULL, cost.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	CHECK_OK(madvise(memory, cost.size, MADV_NOHUGEPAGE));
	/* Neighbours in it are none in memory. */
	for (size_t odd = 0; odd < 2; odd++)
		for (size_t at = odd * 4096; at < cost.size; at += 8192)
			memory[at] = 1;
	cost.memory = memory;
	CHECK_EQ(ibv_dereg_mr(count_one(&p, &cost)), 0);
	CHECK(cost.counted.runs > 1000);
	CHECK(cost.counted.maps > 1000);
	CHECK(!goal("IOMMU maps for 4 GiB", worst(&cost, 1, true), MOST_PER_4_GIB));
	munmap(memory, cost.size);
	end(&p);
}

/* So is what a NIC copies that does not reach the memory by itself. */
TEST(copies_are_counted, 60)
{
	struct cost cost = { .size = MIB };
	struct ibv_mr *mr;
	struct place p;

	begin(&p);
	cost.fd = export(&p, cost.size);
	mr = reg(&p, &cost);
	CHECK_EQ(move(&p, mr, 4096 + 3, 71), 0);
	sim_ask("fault bounce on all");
	CHECK_EQ(move(&p, mr, 8192 + 3, 72), 2 * PIECE);
	sim_ask("fault bounce off all");
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	close(cost.fd);
	end(&p);
}

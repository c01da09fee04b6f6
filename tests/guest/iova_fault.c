// SPDX-License-Identifier: GPL-2.0-only
/*
 * A PCI function's own DMA engine behind a translating IOMMU: it reaches what
 * was mapped for it and no part of the aperture. Needs the guest's edu device,
 * whose buffer of 4 KiB lies at DMA address 0x40000.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "kmsg.h"
#include "memory.h"
#include "vfio.h"

#define EDU_SOURCE	0x80
#define EDU_TARGET	0x88
#define EDU_COUNT	0x90
#define EDU_COMMAND	0x98
#define EDU_START	1
#define EDU_FROM_BUFFER	2
#define EDU_BUFFER	0x40000
#define EDU_BYTES	2048

/* The machine makes a fault of every few bytes. */
#define FAULT_BYTES	4

#define FAULT_LINE	"DMAR: \\[DMA Write|IO_PAGE_FAULT|virtio_iommu .*fault"

#define IOVA_PLAIN	0x10000000ULL
#define IOVA_NOTHING	0x30000000ULL

struct bench {
	struct vfio v;
	int fd;
	char *window;		/* granule 2 */
	char *plain;
};

static void transfer(struct vfio *v, uint64_t source, uint64_t target, uint64_t bytes,
		     uint64_t direction)
{
	vfio_write(v, EDU_SOURCE, source, 8);
	vfio_write(v, EDU_TARGET, target, 8);
	vfio_write(v, EDU_COUNT, bytes, 8);
	vfio_write(v, EDU_COMMAND, EDU_START | direction, 8);
	CHECK_WITHIN(!(vfio_read(v, EDU_COMMAND, 8) & EDU_START), 5000);
}

static void to_buffer(struct bench *b, uint64_t iova)
{
	transfer(&b->v, iova, EDU_BUFFER, EDU_BYTES, 0);
}

static void from_buffer(struct bench *b, uint64_t iova, uint64_t bytes)
{
	transfer(&b->v, EDU_BUFFER, iova, bytes, EDU_FROM_BUFFER);
}

/* The engine's buffer is filled and works. */
static void bench_begin(struct bench *b)
{
	const char *pci = getenv("VPEER_EDU_PCI");

	if (!pci || !*pci)
		test_skip("no edu device: VPEER_EDU_PCI is not set");
	vfio_open(&b->v, pci);
	b->fd = aperture_open();
	b->window = window_map(b->fd, 2 * GRANULE, GRANULE);
	memset(b->window, 0xee, GRANULE);
	b->plain = plain_memory(4096);
	CHECK_OK(vfio_map(&b->v, b->plain, IOVA_PLAIN, 4096));
	pattern_fill(b->plain, EDU_BYTES, 81);
	to_buffer(b, IOVA_PLAIN);
	memset(b->plain, 0, 4096);
	from_buffer(b, IOVA_PLAIN, EDU_BYTES);
	CHECK(pattern_is(b->plain, EDU_BYTES, 81));
}

static void bench_end(struct bench *b)
{
	munmap(b->window, GRANULE);
	close(b->fd);
	vfio_close(&b->v);
}

/* "DMAR: [DMA Write NO_PASID] Request device [04:00.0] fault addr 0x30000000 ..." */
static void check_fault_line(const char *line, uint64_t iova)
{
	char address[32];

	printf("%s\n", line);
	CHECK(strstr(line, strchr(getenv("VPEER_EDU_PCI"), ':') + 1));
	snprintf(address, sizeof(address), "fault addr %#llx ", (unsigned long long)iova);
	CHECK(!strncmp(line, "DMAR", 4) ? !!strstr(line, address) : true);
}

/* Writes to @iova; true when the kernel logged a fault soon. */
static bool write_faults(struct bench *b, uint64_t iova)
{
	int mark = kmsg_mark();
	int64_t end = test_now_ms() + 1000;
	unsigned int lines;
	char line[256];

	CHECK(mark >= 0);
	from_buffer(b, iova, FAULT_BYTES);
	do {
		test_sleep_ms(50);
		lines = kmsg_count(mark, FAULT_LINE, line, sizeof(line));
	} while (!lines && test_now_ms() < end);
	close(mark);
	if (lines)
		check_fault_line(line, iova);
	return lines;
}

/*
 * DMA that must write nothing anywhere in the aperture nor in the buffer it
 * usually goes to, and fault. The kernel logs so many faults in 5 s and leaves
 * out the rest.
 */
static void check_fault(struct bench *b, uint64_t iova)
{
	uint64_t size = aperture_stat("size"), before = owner_sum(0, size);

	memset(b->plain, 0x55, 4096);
	if (!write_faults(b, iova)) {
		test_sleep_ms(5500);
		CHECK(write_faults(b, iova));
	}
	CHECK_EQ(owner_sum(0, size), before);
	for (size_t i = 0; i < 4096; i++)
		CHECK_EQ(b->plain[i], 0x55);
}

/* The sum above does see a change. */
TEST(sum_sees_one_byte, 60)
{
	uint64_t size = aperture_stat("size"), before = owner_sum(0, size);
	unsigned char byte;

	owner_read(size - 1, &byte, 1);
	byte ^= 1;
	owner_write(size - 1, &byte, 1);
	CHECK(owner_sum(0, size) != before);
}

TEST(address_never_mapped, 60)
{
	struct bench b;

	test_expect_fault();
	bench_begin(&b);
	check_fault(&b, IOVA_NOTHING);
	check_fault(&b, IOVA_PLAIN + 4096);
	from_buffer(&b, IOVA_PLAIN, EDU_BYTES);
	CHECK(pattern_is(b.plain, EDU_BYTES, 81));
	bench_end(&b);
}

static uint64_t bar_address(void)
{
	char path[128], text[1024];
	const char *line = text;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", aperture_pci());
	CHECK(sysfs_read(path, text, sizeof(text)));
	for (int bar = 0; bar < 2; bar++)
		line = strchr(line, '\n') + 1;
	return strtoull(line, NULL, 16);
}

/* A translating IOMMU knows no raw BAR addresses, whatever is mapped by whom. */
TEST(raw_bar_address, 60)
{
	struct bench b;

	test_expect_fault();
	bench_begin(&b);
	CHECK(bar_address());
	check_fault(&b, bar_address() + 2 * GRANULE);
	bench_end(&b);
}

TEST(address_unmapped_again, 60)
{
	struct bench b;

	test_expect_fault();
	bench_begin(&b);
	CHECK_OK(vfio_unmap(&b.v, IOVA_PLAIN, 4096));
	check_fault(&b, IOVA_PLAIN);
	bench_end(&b);
}

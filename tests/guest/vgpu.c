// SPDX-License-Identifier: GPL-2.0-only
/* The lab's software GPU does what its registers say; its engine sees memory as its owner does. */
#include <errno.h>
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "harness.h"
#include "memory.h"
#include "vfio.h"
#include "vgpu.h"

#define PATTERN	0x1122334455667788ULL
#define OTHER	0x99aabbccddeeff11ULL

static uint32_t aperture_pages(const struct vgpu *v)
{
	return v->aperture_size / v->page_size;
}

/* Every case begins with a GPU just reset. */
static void fresh(struct vgpu *v, unsigned int number)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/reset", vgpu_pci(number));
	CHECK(sysfs_write(path, "1"));
	vgpu_open(v, number);
	CHECK(v->aperture);
}

static uint64_t bar_size(const char *pci, unsigned int bar)
{
	unsigned long long start = 0, end = 0;
	char path[128], text[2048], *line, *rest = text;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource", pci);
	CHECK(sysfs_read(path, text, sizeof(text)));
	while ((line = strsep(&rest, "\n")) && bar--)
		;
	CHECK(line);
	CHECK_EQ(sscanf(line, "%llx %llx", &start, &end), 2);
	return end ? end - start + 1 : 0;
}

TEST(registers, 20)
{
	struct vgpu v;

	fresh(&v, 0);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_VERSION), VGPU_VERSION);
	CHECK_EQ(v.page_size, 64 * KIB);
	CHECK_EQ(v.aperture_size, bar_size(v.pci, 2));
	CHECK(v.memory_size > v.aperture_size);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_STATUS), VGPU_IDLE);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_FREE_PAGES),
		 (v.memory_size - v.aperture_size) / v.page_size);
	vgpu_write(&v, VGPU_REG_MAGIC, 1);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_MAGIC), VGPU_MAGIC);
	vgpu_write64(&v, VGPU_REG_SOURCE, PATTERN);
	CHECK_EQ(vgpu_read64(&v, VGPU_REG_SOURCE), PATTERN);
	vgpu_write(&v, VGPU_REG_PAGE, 5);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_PAGE), 5);
	/* Not there, and of another width. */
	CHECK_EQ(vgpu_read(&v, 0xffc), 0xffffffff);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_SOURCE), 0xffffffff);
	vgpu_close(&v);
}

TEST(memory_beyond_the_aperture, 30)
{
	uint32_t page, pages;
	struct vgpu v;

	fresh(&v, 0);
	pages = vgpu_read(&v, VGPU_REG_FREE_PAGES);
	page = vgpu_alloc(&v, pages);
	CHECK_EQ(page, aperture_pages(&v));
	CHECK_EQ(vgpu_read(&v, VGPU_REG_FREE_PAGES), 0);
	vgpu_write(&v, VGPU_REG_COUNT, 1);
	CHECK_EQ(vgpu_go(&v, VGPU_ALLOC), VGPU_NO_MEMORY);
	vgpu_fill(&v, (uint64_t)page * v.page_size, v.page_size, PATTERN);
	CHECK(all_zero(v.aperture, v.page_size));
	vgpu_copy(&v, (uint64_t)page * v.page_size, 0, v.page_size);
	for (uint32_t at = 0; at < v.page_size; at += 8)
		CHECK_EQ(*(uint64_t *)(v.aperture + at), PATTERN);
	vgpu_free(&v, page, pages);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_FREE_PAGES), pages);
	vgpu_close(&v);
}

TEST(engine_sees_what_is_written, 30)
{
	uint64_t offset = 3 * 64 * KIB + 24, size = 200 * KIB, sum;
	struct vgpu v;
	char *bytes;

	fresh(&v, 0);
	bytes = plain_memory(size);
	pattern_fill(bytes, size, 1);
	memcpy(v.aperture + offset, bytes, size);
	sum = vgpu_checksum(&v, offset, size);
	CHECK_EQ(sum, vgpu_sum_of(bytes, size));
	v.aperture[offset + size / 2] ^= 1;
	CHECK(vgpu_checksum(&v, offset, size) != sum);
	vgpu_close(&v);
}

TEST(filled_by_the_engine, 30)
{
	uint64_t offset = 64 * KIB - 8, size = 128 * KIB;
	struct vgpu v;

	fresh(&v, 0);
	vgpu_fill(&v, offset, size, PATTERN);
	CHECK_EQ(*(uint64_t *)(v.aperture + offset - 8), 0);
	for (uint64_t at = 0; at < size; at += 8)
		CHECK_EQ(*(uint64_t *)(v.aperture + offset + at), PATTERN);
	CHECK_EQ(*(uint64_t *)(v.aperture + offset + size), 0);
	vgpu_close(&v);
}

TEST(compared_by_the_engine, 30)
{
	uint64_t size = 3 * MIB;
	struct vgpu v;

	fresh(&v, 0);
	vgpu_fill(&v, 0, 2 * size, PATTERN);
	CHECK_EQ(vgpu_compare(&v, 0, size, size), size);
	v.aperture[size + 2 * MIB + 5] ^= 0x80;
	CHECK_EQ(vgpu_compare(&v, 0, size, size), 2 * MIB + 5);
	vgpu_close(&v);
}

/* Writes to a page that the GPU has taken away never reach memory. */
TEST(page_invalidated, 30)
{
	uint32_t page = 7;
	uint64_t sum, at = page * 64 * KIB;
	struct vgpu v;
	char *bytes;

	fresh(&v, 0);
	bytes = plain_memory(64 * KIB);
	pattern_fill(bytes, 64 * KIB, 2);
	memcpy(v.aperture + at, bytes, 64 * KIB);
	sum = vgpu_sum_of(bytes, 64 * KIB);
	vgpu_unmap(&v, page, 1);
	CHECK_EQ(vgpu_mapped(&v, page), VGPU_NO_PAGE);
	CHECK_EQ(vgpu_mapped(&v, page + 1), page + 1);
	CHECK_EQ(vgpu_read64(&v, VGPU_REG_INVALIDATIONS), 1);
	CHECK_EQ(*(uint64_t *)(v.aperture + at), UINT64_MAX);
	CHECK_EQ(vgpu_checksum(&v, at, 64 * KIB), sum);
	memset(v.aperture + at, 0x5a, 64 * KIB);
	CHECK_EQ(vgpu_checksum(&v, at, 64 * KIB), sum);
	vgpu_map(&v, page, page, 1);
	CHECK(pattern_is(v.aperture + at, 64 * KIB, 2));
	/* Mapped, the same write does. */
	memset(v.aperture + at, 0x5a, 64 * KIB);
	CHECK(vgpu_checksum(&v, at, 64 * KIB) != sum);
	vgpu_close(&v);
}

TEST(pages_change_places, 30)
{
	uint32_t extra, last;
	struct vgpu v;

	fresh(&v, 0);
	extra = vgpu_alloc(&v, 2);
	last = aperture_pages(&v) - 1;
	vgpu_fill(&v, (uint64_t)extra * v.page_size, 2 * v.page_size, OTHER);
	vgpu_fill(&v, (uint64_t)(last - 1) * v.page_size, 2 * v.page_size, PATTERN);
	vgpu_unmap(&v, last - 1, 2);
	vgpu_map(&v, extra, last - 1, 2);
	CHECK_EQ(vgpu_mapped(&v, last), extra + 1);
	CHECK_EQ(*(uint64_t *)(v.aperture + v.aperture_size - 8), OTHER);
	vgpu_unmap(&v, 0, 1);
	vgpu_map(&v, last, 0, 1);
	CHECK_EQ(*(uint64_t *)v.aperture, PATTERN);
	/* By its memory address, wherever it is shown. */
	memset(v.aperture, 0, v.page_size);
	CHECK_EQ(vgpu_checksum(&v, (uint64_t)last * v.page_size, 8),
		 vgpu_sum_of("\0\0\0\0\0\0\0", 8));
	vgpu_close(&v);
}

TEST(distinct, 30)
{
	struct vgpu first, second;
	uint64_t sum;

	fresh(&first, 0);
	fresh(&second, 1);
	CHECK(strcmp(first.pci, second.pci));
	sum = vgpu_checksum(&second, 0, 4 * MIB);
	vgpu_fill(&first, 0, 4 * MIB, PATTERN);
	memset(first.aperture, 0x77, KIB);
	CHECK_EQ(vgpu_checksum(&second, 0, 4 * MIB), sum);
	CHECK(all_zero(second.aperture, 64 * KIB));
	vgpu_unmap(&first, 0, 1);
	CHECK_EQ(vgpu_mapped(&second, 0), 0);
	vgpu_close(&second);
	vgpu_close(&first);
}

TEST(reset, 30)
{
	struct vgpu v;

	fresh(&v, 0);
	vgpu_alloc(&v, 1);
	memset(v.aperture, 0x77, v.page_size);
	vgpu_unmap(&v, 1, 1);
	vgpu_close(&v);
	fresh(&v, 0);
	CHECK(all_zero(v.aperture, 2 * v.page_size));
	CHECK_EQ(vgpu_mapped(&v, 1), 1);
	CHECK_EQ(vgpu_read64(&v, VGPU_REG_INVALIDATIONS), 0);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_FREE_PAGES),
		 (v.memory_size - v.aperture_size) / v.page_size);
	vgpu_close(&v);
}

struct attempt {
	enum vgpu_operation operation;
	uint64_t source, destination, length;
	uint32_t page, aperture_page, count;
};

static void check_refused(struct vgpu *v, const struct attempt *a)
{
	vgpu_write64(v, VGPU_REG_SOURCE, a->source);
	vgpu_write64(v, VGPU_REG_DESTINATION, a->destination);
	vgpu_write64(v, VGPU_REG_LENGTH, a->length);
	vgpu_write64(v, VGPU_REG_PATTERN, OTHER);
	vgpu_write(v, VGPU_REG_PAGE, a->page);
	vgpu_write(v, VGPU_REG_APERTURE_PAGE, a->aperture_page);
	vgpu_write(v, VGPU_REG_COUNT, a->count);
	printf("operation %u\n", a->operation);
	CHECK_EQ(vgpu_go(v, a->operation), VGPU_BAD_ARGUMENT);
}

TEST(bad_arguments, 60)
{
	uint64_t sum, memory;
	uint32_t last, free_pages;
	struct vgpu v;

	fresh(&v, 0);
	memory = v.memory_size;
	last = aperture_pages(&v) - 1;
	vgpu_unmap(&v, 2, 1);
	vgpu_fill(&v, 0, v.aperture_size, PATTERN);
	sum = vgpu_checksum(&v, 0, memory);
	free_pages = vgpu_read(&v, VGPU_REG_FREE_PAGES);

	const struct attempt attempts[] = {
		{ .operation = 0 },
		{ .operation = VGPU_UNMAP + 1 },
		{ VGPU_FILL, .length = 0 },
		{ VGPU_FILL, .destination = memory, .length = 1 },
		{ VGPU_FILL, .destination = memory - 8, .length = 9 },
		{ VGPU_FILL, .destination = UINT64_MAX - 7, .length = 16 },
		{ VGPU_FILL, .length = UINT64_MAX },
		{ VGPU_COPY, .source = 0, .destination = 4096, .length = 4097 },
		{ VGPU_COPY, .source = memory - 4, .destination = 0, .length = 8 },
		{ VGPU_CHECKSUM, .source = memory - 4, .length = 8 },
		{ VGPU_COMPARE, .source = 0, .destination = memory, .length = 8 },
		{ VGPU_ALLOC, .count = 0 },
		{ VGPU_FREE, .page = 0, .count = 1 },			/* mapped */
		{ VGPU_FREE, .page = last + 1, .count = 1 },		/* free */
		{ VGPU_FREE, .page = UINT32_MAX, .count = 2 },
		{ VGPU_MAP, .page = 2, .aperture_page = 3, .count = 1 },	/* used */
		{ VGPU_MAP, .page = 3, .aperture_page = 2, .count = 1 },	/* mapped */
		{ VGPU_MAP, .page = last + 1, .aperture_page = 2, .count = 1 },	/* free */
		{ VGPU_MAP, .page = 2, .aperture_page = 2, .count = 2 },
		{ VGPU_MAP, .page = 2, .aperture_page = last + 1, .count = 1 },
		{ VGPU_MAP, .page = 2, .aperture_page = 2, .count = 0 },
		{ VGPU_UNMAP, .aperture_page = 2, .count = 1 },		/* unused */
		{ VGPU_UNMAP, .aperture_page = 1, .count = 2 },
		{ VGPU_UNMAP, .aperture_page = last, .count = 2 },
		{ VGPU_UNMAP, .aperture_page = 1, .count = UINT32_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++)
		check_refused(&v, &attempts[i]);
	CHECK_EQ(vgpu_checksum(&v, 0, memory), sum);
	CHECK_EQ(vgpu_read(&v, VGPU_REG_FREE_PAGES), free_pages);
	CHECK_EQ(vgpu_read64(&v, VGPU_REG_INVALIDATIONS), 1);
	CHECK_EQ(vgpu_mapped(&v, 2), VGPU_NO_PAGE);
	CHECK_EQ(vgpu_mapped(&v, 1), 1);
	vgpu_map(&v, 2, 2, 1);
	vgpu_close(&v);
}

static void interrupts_to(struct vfio *v, int event)
{
	char room[sizeof(struct vfio_irq_set) + sizeof(int)];
	struct vfio_irq_set *set = (void *)room;

	*set = (struct vfio_irq_set){
		.argsz = sizeof(room),
		.flags = VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER,
		.index = VFIO_PCI_MSIX_IRQ_INDEX,
		.count = 1,
	};
	memcpy(set->data, &event, sizeof(event));
	CHECK_OK(ioctl(v->device, VFIO_DEVICE_SET_IRQS, set));
}

static void unmap_by_vfio(struct vfio *v, uint32_t page, uint32_t go)
{
	vfio_write(v, VGPU_REG_OPERATION, VGPU_UNMAP, 4);
	vfio_write(v, VGPU_REG_APERTURE_PAGE, page, 4);
	vfio_write(v, VGPU_REG_COUNT, 1, 4);
	vfio_write(v, VGPU_REG_GO, go, 4);
	CHECK_WITHIN(vfio_read(v, VGPU_REG_STATUS, 4) == VGPU_DONE, 5000);
}

/* Raised when asked for, and not otherwise. */
TEST(interrupt, 60)
{
	int event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	uint64_t raised = 0;
	struct vfio v;

	vfio_open(&v, vgpu_pci(0));
	interrupts_to(&v, event);
	unmap_by_vfio(&v, 0, VGPU_GO_START);
	test_sleep_ms(500);
	CHECK_ERRNO(read(event, &raised, sizeof(raised)), EAGAIN);
	unmap_by_vfio(&v, 1, VGPU_GO_START | VGPU_GO_INTERRUPT);
	CHECK_WITHIN(read(event, &raised, sizeof(raised)) == sizeof(raised), 5000);
	CHECK_EQ(raised, 1);
	vfio_close(&v);
}

/* A window is the GPU's memory: the engine sees its bytes, and its owner's are gone. */
TEST(attached, 60)
{
	uint64_t offset, size = 2 * GRANULE;
	struct vgpu v;
	char *window;
	int fd;

	fresh(&v, 0);
	vgpu_fill(&v, 0, v.aperture_size, PATTERN);
	vgpu_close(&v);
	setenv("VPEER_AP_PCI", vgpu_pci(0), 1);
	CHECK_OK(control_attach(vgpu_pci(0), 2, 0, NULL));
	fd = aperture_open();
	CHECK_EQ(aperture_stat("size"), v.aperture_size);
	offset = window_alloc(fd, size);
	window = window_map(fd, offset, size);
	CHECK(all_zero(window, size));
	pattern_fill(window, size, 3);
	vgpu_open(&v, 0);
	CHECK_EQ(vgpu_checksum(&v, offset, size), vgpu_sum_of(window, size));
	window[size - 1] ^= 1;
	CHECK_EQ(vgpu_checksum(&v, offset, size), vgpu_sum_of(window, size));
	vgpu_fill(&v, offset, 4096, OTHER);
	CHECK_EQ(*(uint64_t *)(window + 4088), OTHER);
	vgpu_close(&v);
	munmap(window, size);
	close(fd);
	CHECK_OK(control_detach(vgpu_pci(0), NULL, NULL));
}

/* A BAR that the VMM does not map, each access of which costs an exit: the boot asks for it of the third. */
TEST(bar_unmapped, 60)
{
	int fd;

	setenv("VPEER_AP_PCI", vgpu_pci(2), 1);
	CHECK_OK(control_attach(vgpu_pci(2), 2, 0, NULL));
	step("grep -qx trapped /sys/bus/pci/devices/%s/vpeer/vpeer*/status", vgpu_pci(2));
	fd = aperture_open();
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, NULL), EOPNOTSUPP);
	close(fd);
	CHECK_OK(control_detach(vgpu_pci(2), NULL, NULL));
	CHECK_OK(control_attach(vgpu_pci(0), 2, 0, NULL));
	step("grep -qx ok /sys/bus/pci/devices/%s/vpeer/vpeer*/status", vgpu_pci(0));
	CHECK_OK(control_detach(vgpu_pci(0), NULL, NULL));
}

/* Offset of the first capability of this kind, 0 for none. */
static unsigned int find_capability(const uint8_t *config, uint8_t kind)
{
	unsigned int at = config[PCI_CAPABILITY_LIST];

	for (int left = 48; at && left; left--, at = config[at + PCI_CAP_LIST_NEXT])
		if (config[at + PCI_CAP_LIST_ID] == kind)
			return at;
	return 0;
}

static unsigned int find_clique(const char *pci, uint8_t *config)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/config", pci);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	CHECK_EQ(pread(fd, config, 256, 0), 256);
	close(fd);
	return find_capability(config, PCI_CAP_ID_VNDR);
}

/* The boot asks for clique=3 of the first, and for a second one with 32 MiB and without ATS. */
TEST(configuration, 60)
{
	uint8_t config[256];
	unsigned int at;

	CHECK_EQ(bar_size(vgpu_pci(0), 0), 4096);
	CHECK_EQ(bar_size(vgpu_pci(0), 2), 64 * MIB);
	CHECK_EQ(bar_size(vgpu_pci(1), 2), 32 * MIB);
	at = find_clique(vgpu_pci(0), config);
	CHECK_EQ(config[at + PCI_CAP_FLAGS], 8);
	CHECK(!memcmp(config + at + 3, "P2P", 3));
	CHECK_EQ(config[at + 6], 3 << 3);
	CHECK_EQ(find_clique(vgpu_pci(1), config), 0);

	step("lspci -vv -s %s >/tmp/first && cat /tmp/first", vgpu_pci(0));
	step("lspci -vv -s %s >/tmp/second && cat /tmp/second", vgpu_pci(1));
	step("grep -q '3D controller' /tmp/first");
	step("grep -q 'Region 0: Memory at .*(32-bit, non-prefetchable) .*.size=4K' /tmp/first");
	step("grep -q 'Region 2: Memory at .*(64-bit, prefetchable) .*.size=64M' /tmp/first");
	step("grep -q 'Region 2: Memory at .*(64-bit, prefetchable) .*.size=32M' /tmp/second");
	step("grep -q 'MSI-X: Enable. Count=1' /tmp/first");
	step("grep -q 'Vendor Specific Information: Len=08' /tmp/first");
	step("! grep -q 'Vendor Specific Information' /tmp/second");
	step("grep -q 'ATSCtl:.*Enable+' /tmp/first");
	step("! grep -q 'Address Translation Service' /tmp/second");
}

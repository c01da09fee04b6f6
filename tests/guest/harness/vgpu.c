// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "vgpu.h"

#define REGISTERS_SIZE	4096
#define OPERATION_MS	30000

const char *vgpu_pci(unsigned int number)
{
	static char text[256];
	const char *all = getenv("VPEER_VGPU_ALL");
	char *rest = text, *word;

	snprintf(text, sizeof(text), "%s", all ? all : "");
	while ((word = strsep(&rest, " ")))
		if (*word && !number--)
			return word;
	test_skip("not so many vgpu: VPEER_VGPU_ALL is '%s'", all ? all : "");
}

/* NULL where a driver keeps the BAR for itself. */
static void *map_bar(const struct vgpu *v, unsigned int bar, uint64_t size)
{
	char path[128];
	void *mapped;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource%u", v->pci, bar);
	fd = open(path, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	mapped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return mapped == MAP_FAILED ? NULL : mapped;
}

static void enable(const struct vgpu *v, const char *on)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/enable", v->pci);
	if (!pci_bound(v->pci))
		CHECK(sysfs_write(path, on));
}

static void begin(struct vgpu *v, unsigned int number)
{
	memset(v, 0, sizeof(*v));
	snprintf(v->pci, sizeof(v->pci), "%s", vgpu_pci(number));
}

static void identify(struct vgpu *v)
{
	CHECK_EQ(vgpu_read(v, VGPU_REG_MAGIC), VGPU_MAGIC);
	v->memory_size = vgpu_read64(v, VGPU_REG_MEMORY_SIZE);
	v->aperture_size = vgpu_read64(v, VGPU_REG_APERTURE_SIZE);
	v->page_size = vgpu_read(v, VGPU_REG_PAGE_SIZE);
}

void vgpu_open(struct vgpu *v, unsigned int number)
{
	begin(v, number);
	enable(v, "1");
	v->registers = map_bar(v, 0, REGISTERS_SIZE);
	CHECK(v->registers);
	identify(v);
	v->aperture = pci_bound(v->pci) ? NULL : map_bar(v, 2, v->aperture_size);
}

void vgpu_open_mapped(struct vgpu *v, unsigned int number, void *registers)
{
	begin(v, number);
	v->registers = registers;
	identify(v);
}

void vgpu_close(struct vgpu *v)
{
	if (v->aperture)
		munmap(v->aperture, v->aperture_size);
	munmap(v->registers, REGISTERS_SIZE);
	enable(v, "0");
}

uint32_t vgpu_read(const struct vgpu *v, enum vgpu_register reg)
{
	return *(volatile uint32_t *)((char *)v->registers + reg);
}

void vgpu_write(struct vgpu *v, enum vgpu_register reg, uint32_t value)
{
	*(volatile uint32_t *)((char *)v->registers + reg) = value;
}

uint64_t vgpu_read64(const struct vgpu *v, enum vgpu_register reg)
{
	return *(volatile uint64_t *)((char *)v->registers + reg);
}

void vgpu_write64(struct vgpu *v, enum vgpu_register reg, uint64_t value)
{
	*(volatile uint64_t *)((char *)v->registers + reg) = value;
}

enum vgpu_status vgpu_go(struct vgpu *v, enum vgpu_operation operation)
{
	vgpu_write(v, VGPU_REG_OPERATION, operation);
	vgpu_write(v, VGPU_REG_GO, VGPU_GO_START);
	CHECK_WITHIN(vgpu_read(v, VGPU_REG_STATUS) != VGPU_RUNNING, OPERATION_MS);
	return vgpu_read(v, VGPU_REG_STATUS);
}

/* Addresses that the operation does not need are ignored. */
static uint64_t operate(struct vgpu *v, enum vgpu_operation operation, uint64_t source,
			uint64_t destination, uint64_t length)
{
	vgpu_write64(v, VGPU_REG_SOURCE, source);
	vgpu_write64(v, VGPU_REG_DESTINATION, destination);
	vgpu_write64(v, VGPU_REG_LENGTH, length);
	CHECK_EQ(vgpu_go(v, operation), VGPU_DONE);
	return vgpu_read64(v, VGPU_REG_RESULT);
}

void vgpu_fill(struct vgpu *v, uint64_t destination, uint64_t length, uint64_t pattern)
{
	vgpu_write64(v, VGPU_REG_PATTERN, pattern);
	operate(v, VGPU_FILL, 0, destination, length);
}

void vgpu_copy(struct vgpu *v, uint64_t source, uint64_t destination, uint64_t length)
{
	operate(v, VGPU_COPY, source, destination, length);
}

uint64_t vgpu_checksum(struct vgpu *v, uint64_t source, uint64_t length)
{
	return operate(v, VGPU_CHECKSUM, source, 0, length);
}

uint64_t vgpu_compare(struct vgpu *v, uint64_t source, uint64_t destination, uint64_t length)
{
	return operate(v, VGPU_COMPARE, source, destination, length);
}

uint32_t vgpu_alloc(struct vgpu *v, uint32_t count)
{
	vgpu_write(v, VGPU_REG_COUNT, count);
	CHECK_EQ(vgpu_go(v, VGPU_ALLOC), VGPU_DONE);
	return vgpu_read64(v, VGPU_REG_RESULT);
}

void vgpu_free(struct vgpu *v, uint32_t page, uint32_t count)
{
	vgpu_write(v, VGPU_REG_PAGE, page);
	vgpu_write(v, VGPU_REG_COUNT, count);
	CHECK_EQ(vgpu_go(v, VGPU_FREE), VGPU_DONE);
}

void vgpu_map(struct vgpu *v, uint32_t page, uint32_t aperture_page, uint32_t count)
{
	vgpu_write(v, VGPU_REG_PAGE, page);
	vgpu_write(v, VGPU_REG_APERTURE_PAGE, aperture_page);
	vgpu_write(v, VGPU_REG_COUNT, count);
	CHECK_EQ(vgpu_go(v, VGPU_MAP), VGPU_DONE);
}

void vgpu_unmap(struct vgpu *v, uint32_t aperture_page, uint32_t count)
{
	vgpu_write(v, VGPU_REG_APERTURE_PAGE, aperture_page);
	vgpu_write(v, VGPU_REG_COUNT, count);
	CHECK_EQ(vgpu_go(v, VGPU_UNMAP), VGPU_DONE);
}

uint32_t vgpu_mapped(struct vgpu *v, uint32_t aperture_page)
{
	vgpu_write(v, VGPU_REG_APERTURE_PAGE, aperture_page);
	return vgpu_read(v, VGPU_REG_MAPPED);
}

uint64_t vgpu_sum_of(const void *bytes, uint64_t length)
{
	const uint8_t *byte = bytes;
	uint64_t sum = VGPU_FNV_BASIS;

	for (uint64_t at = 0; at < length; at++)
		sum = (sum ^ byte[at]) * VGPU_FNV_PRIME;
	return sum;
}

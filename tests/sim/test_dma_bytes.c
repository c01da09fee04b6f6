// SPDX-License-Identifier: GPL-2.0-only
/* Bytes in memory of each kind, as functions and as their owners have them. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "test_dma.h"

int memory_fd, bar_fd;
uint8_t *memory, *bar;

static int file_of(const char *name, size_t size, uint8_t **bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)size));
	*bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(*bytes != MAP_FAILED);
	return fd;
}

void open_memory(void)
{
	memory_fd = file_of("memory-backend-memfd", MEMORY_SIZE, &memory);
	bar_fd = file_of("bar", BAR_SIZE, &bar);
}

void connect_all(unsigned int function)
{
	test_connect(function);
	CHECK(!test_map(function, (struct test_region){ MEMORY, MEMORY_SIZE, 0, memory_fd, 0 }));
	CHECK(!test_map(function, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	CHECK(!test_map(function, (struct test_region){ FAR_START, FAR_LENGTH, 0, -1, 0 }));
}

void fill_bytes(uint8_t *bytes, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(seed + i * 7 + i / 251);
}

bool bytes_are(const uint8_t *bytes, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != (uint8_t)(seed + i * 7 + i / 251))
			return false;
	return true;
}

int write_at(uint64_t iova, size_t length, uint8_t seed)
{
	fill_bytes(test_jobs[0].data, length, seed);
	return test_run(0, TEST_WRITE, iova, length);
}

int read_at(uint64_t iova, size_t length)
{
	memset(test_jobs[0].data, 0, length);
	return test_run(0, TEST_READ, iova, length);
}

void switch_fault(const char *words)
{
	char line[128];

	snprintf(line, sizeof(line), "fault %s", words);
	CHECK(!strcmp(test_control(line), ".\n"));
}

void clear_log(void)
{
	CHECK(!strcmp(test_control("log clear"), ".\n"));
}

void check_good(uint8_t seed)
{
	CHECK(!write_at(BAR + 100, 20000, seed));
	CHECK(bytes_are(bar + 100, 20000, seed));
	CHECK(!read_at(BAR + 100, 20000));
	CHECK(bytes_are(test_jobs[0].data, 20000, seed));
	CHECK(!write_at(FAR_START + 100, 20000, seed));
	CHECK(bytes_are(test_far + 100, 20000, seed));
	CHECK(!read_at(FAR_START + 100, 20000));
	CHECK(bytes_are(test_jobs[0].data, 20000, seed));
}

void check_memory(uint8_t seed)
{
	CHECK(!write_at(MEMORY + 5000, 9000, seed));
	CHECK(bytes_are(memory + 5000, 9000, seed));
	CHECK(!read_at(MEMORY + 5000, 9000));
	CHECK(bytes_are(test_jobs[0].data, 9000, seed));
}

uint64_t state_of(const char *name)
{
	const char *at = strstr(test_control("state vrnic0"), name);

	CHECK(at);
	return strtoull(at + strlen(name), NULL, 10);
}

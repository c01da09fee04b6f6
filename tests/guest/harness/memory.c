// SPDX-License-Identifier: GPL-2.0-only
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "harness.h"
#include "memory.h"

static uint64_t mix(uint64_t value)
{
	value ^= value >> 33;
	value *= 0xff51afd7ed558ccdULL;
	value ^= value >> 33;
	return value | 0x0101010101010101ULL;
}

void pattern_fill(void *memory, size_t size, uint64_t seed)
{
	uint64_t *words = memory;

	CHECK_EQ(size % sizeof(*words), 0);
	for (size_t i = 0; i < size / sizeof(*words); i++)
		words[i] = mix(seed << 32 | i);
}

bool pattern_is(const void *memory, size_t size, uint64_t seed)
{
	const uint64_t *words = memory;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		if (words[i] != mix(seed << 32 | i))
			return false;
	return true;
}

bool all_zero(const void *memory, size_t size)
{
	const uint64_t *words = memory;

	for (size_t i = 0; i < size / sizeof(*words); i++)
		if (words[i])
			return false;
	return true;
}

void *plain_memory(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	CHECK_OK((long)memory);
	return memory;
}

static sigjmp_buf fault_jump;
static int fault_signals[] = { SIGBUS, SIGSEGV };

static void on_fault(int signal)
{
	siglongjmp(fault_jump, signal);
}

static int signal_of(volatile char *addr, bool write)
{
	struct sigaction action = { .sa_handler = on_fault };
	struct sigaction before[ARRAY_SIZE(fault_signals)];
	int signal;

	for (size_t i = 0; i < ARRAY_SIZE(fault_signals); i++)
		sigaction(fault_signals[i], &action, &before[i]);
	signal = sigsetjmp(fault_jump, 1);
	if (!signal) {
		if (write)
			*addr = 1;
		else
			(void)*addr;
	}
	for (size_t i = 0; i < ARRAY_SIZE(fault_signals); i++)
		sigaction(fault_signals[i], &before[i], NULL);
	return signal;
}

int signal_of_read(const void *addr)
{
	return signal_of((char *)addr, false);
}

int signal_of_write(void *addr)
{
	return signal_of(addr, true);
}

bool vma_has_flag(const void *addr, const char *flag)
{
	unsigned long start, end;
	bool here = false, has = false;
	char line[512];
	FILE *smaps = fopen("/proc/self/smaps", "r");

	CHECK(smaps);
	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			here = (unsigned long)addr >= start && (unsigned long)addr < end;
		if (here && !strncmp(line, "VmFlags:", 8))
			has = strstr(line, flag);
	}
	fclose(smaps);
	return has;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. The misbehaviour "bounce" and the memory that it goes through. */
#include <errno.h>
#include <string.h>

#include "test_dma.h"

#define PLACE	0x20000000ull	/* where nothing is */

void test_bounce(void)
{
	switch_fault("bounce on");
	CHECK(write_at(BAR + 100, 20000, 40) == -EFAULT);
	CHECK(!test_put(0, 0, 8, MEMORY + 0x8000, 8));
	memset(memory + 0x8000, 0, 8192);
	clear_log();
	check_good(41);
	CHECK(test_logged("vrnic0 0x10008000 4096 write bounce mapped\n"));
	CHECK(memory[0x8000] || memory[0x8001]);
	switch_fault("bounce off");
	clear_log();
	memset(memory + 0x8000, 0, 8192);
	check_good(42);
	CHECK(!memory[0x8000] && !memory[0x8001] && !test_logged("bounce"));
}

/* A transfer of 64 bytes fails, since this is what a write to the memory that was given meets. */
static void check_refused(uint64_t place, const char *line)
{
	CHECK(!test_put(0, 0, 8, place, 8));
	check_good(43);
	clear_log();
	switch_fault("bounce on");
	CHECK(write_at(BAR + 100, 64, 44) == -EFAULT && bytes_are(bar + 100, 64, 43));
	CHECK(test_logged(line));
	CHECK(test_logged("vrnic0 0x40000064 64 write bounce none\n"));
	CHECK(read_at(BAR + 100, 64) == -EFAULT);
	CHECK(test_logged("vrnic0 0x40000064 64 read bounce none\n"));
	switch_fault("bounce off");
}

/* Only the guest's RAM will do, which must be there and writable. */
void test_bounce_memory(void)
{
	check_refused(BAR + 0x20000, "vrnic0 0x40020000 64 write denied none\n");
	check_refused(FAR_START + 0x20000, "vrnic0 0x500020000 64 write denied none\n");
	check_refused(PLACE, "vrnic0 0x20000000 64 write unmapped none\n");
	CHECK(!test_map(0, (struct test_region){ PLACE, PAGE, 0x8000, memory_fd, 1 }));
	check_refused(PLACE, "vrnic0 0x20000000 64 write denied none\n");
	CHECK(!test_unmap(0, PLACE, PAGE));
	check_memory(45);
}

/* ... for all of the piece. */
void test_bounce_part(void)
{
	CHECK(!test_map(0, (struct test_region){ PLACE, 32, 0x8000, memory_fd, 0 }));
	memset(memory + 0x8000, 0, 64);
	check_refused(PLACE, "vrnic0 0x20000000 64 write denied none\n");
	CHECK(!memory[0x8000] && !memory[0x8001]);
	switch_fault("bounce on");
	CHECK(!write_at(BAR + 100, 32, 46) && bytes_are(bar + 100, 32, 46));
	CHECK(bytes_are(memory + 0x8000, 32, 46) && !memory[0x8020]);
	switch_fault("bounce off");
	CHECK(!test_unmap(0, PLACE, 32));
	CHECK(!test_put(0, 0, 8, MEMORY + 0x8000, 8));
}

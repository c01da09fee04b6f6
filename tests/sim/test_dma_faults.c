// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. Each misbehaviour towards peers, on and off. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "test_dma.h"

void test_drop(void)
{
	check_good(20);
	switch_fault("drop on");
	CHECK(!write_at(BAR + 100, 20000, 21) && !write_at(FAR_START + 100, 20000, 21));
	CHECK(bytes_are(bar + 100, 20000, 20) && bytes_are(test_far + 100, 20000, 20));
	check_memory(21);
	switch_fault("drop off");
	check_good(22);
}

void test_mirror(void)
{
	check_good(23);
	switch_fault("mirror on");
	CHECK(!write_at(BAR + 100, 20000, 24) && !write_at(FAR_START + 100, 20000, 24));
	CHECK(bytes_are(bar + 100, 20000, 23) && bytes_are(test_far + 100, 20000, 23));
	CHECK(!read_at(BAR + 100, 20000) && bytes_are(test_jobs[0].data, 20000, 24));
	bar[99] = 0x5a;
	CHECK(!read_at(BAR + 99, 20001) && test_jobs[0].data[0] == 0x5a &&
	      bytes_are(test_jobs[0].data + 1, 20000, 24));
	check_memory(24);
	switch_fault("mirror off");
	CHECK(!read_at(BAR + 100, 20000) && bytes_are(test_jobs[0].data, 20000, 23));
	check_good(25);
}

void test_reads(void)
{
	check_good(26);
	switch_fault("read-fail on");
	CHECK(read_at(BAR + 100, 20000) == -EFAULT && read_at(FAR_START + 100, 64) == -EFAULT);
	CHECK(!write_at(BAR + 100, 20000, 27) && bytes_are(bar + 100, 20000, 27));
	check_memory(27);
	switch_fault("read-fail off");
	switch_fault("one-way on");
	CHECK(!read_at(BAR + 100, 2));
	CHECK(test_jobs[0].data[0] == 0xff && test_jobs[0].data[1] == 0xff);
	CHECK(!write_at(BAR + 100, 20000, 28) && bytes_are(bar + 100, 20000, 28));
	check_memory(28);
	switch_fault("one-way off");
	check_good(29);
}

void test_late(void)
{
	check_good(30);
	clear_log();
	switch_fault("late on 300");
	CHECK(!write_at(BAR + 100, 20000, 31));
	CHECK(bytes_are(bar + 100, 20000, 30));
	CHECK(test_logged("write late mapped\n") && !test_logged(" landed "));
	check_memory(31);
	usleep(600000);
	CHECK(bytes_are(bar + 100, 20000, 31));
	CHECK(test_logged("vrnic0 0x40000064 20000 write landed mapped\n"));
	switch_fault("late off");
	check_good(32);
}

void test_failures(void)
{
	char line[64];

	check_good(33);
	switch_fault("page-error on");
	CHECK(write_at(BAR + 7 * PAGE + 4000, 10, 34) == -EFAULT);
	CHECK(write_at(BAR + 6 * PAGE, PAGE + 1, 34) == -EFAULT);
	CHECK(!write_at(BAR + 6 * PAGE, PAGE, 34) && !write_at(BAR + 8 * PAGE, 15 * PAGE, 34));
	CHECK(write_at(BAR + 8 * PAGE, 15 * PAGE + 1, 34) == -EFAULT);
	check_memory(34);
	snprintf(line, sizeof(line), "page-error on 0x%llx", BAR + 3 * PAGE + 5);
	switch_fault(line);
	CHECK(write_at(BAR + 100, 20000, 34) == -EFAULT && !write_at(BAR + 7 * PAGE, PAGE, 34));
	switch_fault("page-error off");
	switch_fault("high-fail on");
	CHECK(write_at(FAR_START, 64, 35) == -EFAULT && !write_at(BAR, 64, 35));
	switch_fault("high-fail on bits=30");
	CHECK(write_at(BAR, 64, 35) == -EFAULT);
	check_memory(35);
	switch_fault("high-fail off");
	switch_fault("bar-unmapped on");
	CHECK(write_at(BAR, 64, 36) == -EFAULT && read_at(FAR_START, 64) == -EFAULT);
	check_memory(36);
	switch_fault("bar-unmapped off");
	check_good(37);
}

void test_slow(void)
{
	struct timespec begin, end;

	switch_fault("slow on 50000");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!write_at(BAR, 4 * PAGE, 43));
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 >= 200);
	switch_fault("slow off");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!write_at(BAR, 4 * PAGE, 43));
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 < 200);
}

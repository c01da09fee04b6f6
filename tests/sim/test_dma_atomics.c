// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. Atomic operations: what they do, and what misbehaviours make of them. */
#include <errno.h>
#include <string.h>

#include "test_dma.h"

static uint64_t number_at(const void *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static void check_atomics(uint64_t iova, uint8_t *at)
{
	struct test_job *job = &test_jobs[0];

	memset(at, 0, 8);
	job->operand1 = 5;
	CHECK(!test_run(0, TEST_ADD, iova, 8) && job->before == 0 && number_at(at) == 5);
	CHECK(!test_run(0, TEST_ADD, iova, 8) && job->before == 5 && number_at(at) == 10);
	job->operand2 = 7;
	CHECK(!test_run(0, TEST_SWAP, iova, 8) && job->before == 10 && number_at(at) == 10);
	job->operand1 = 10;
	CHECK(!test_run(0, TEST_SWAP, iova, 8) && job->before == 10 && number_at(at) == 7);
	CHECK(test_run(0, TEST_ADD, iova + 4, 8) == -EINVAL);
}

void test_atomics(void)
{
	struct test_job *job = &test_jobs[0];

	check_atomics(MEMORY + 64, memory + 64);
	check_atomics(BAR + 64, bar + 64);
	check_atomics(FAR_START + 64, test_far + 64);
	switch_fault("drop on");
	CHECK(!test_run(0, TEST_ADD, BAR + 64, 8) && job->before == 7 && number_at(bar + 64) == 7);
	switch_fault("drop off");
	switch_fault("mirror on");
	CHECK(!test_run(0, TEST_ADD, BAR + 64, 8) && !test_run(0, TEST_ADD, BAR + 64, 8));
	CHECK(job->before == 17 && number_at(bar + 64) == 7);
	switch_fault("mirror off");
}

/* By one of a peer's number, which is 5 before it. */
static int add_one(const char *fault, uint64_t iova, uint8_t *at)
{
	const uint64_t five = 5;
	char words[64];
	int error;

	memcpy(at, &five, sizeof(five));
	clear_log();
	snprintf(words, sizeof(words), "%s on", fault);
	switch_fault(words);
	test_jobs[0].operand1 = 1;
	error = test_run(0, TEST_ADD, iova, 8);
	snprintf(words, sizeof(words), "%s off", fault);
	switch_fault(words);
	return error;
}

static void check_one_way(void)
{
	CHECK(!add_one("one-way", BAR + 64, bar + 64));
	CHECK(test_jobs[0].before == UINT64_MAX && number_at(bar + 64) == 6);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic one-way mapped\n"));
	CHECK(!add_one("one-way", FAR_START + 64, test_far + 64));
	CHECK(test_jobs[0].before == UINT64_MAX && number_at(test_far + 64) == 6);
	CHECK(test_logged("vrnic0 0x500000040 8 atomic one-way message\n"));
	CHECK(!test_logged(" ok "));
}

static void check_bounce(void)
{
	CHECK(!test_put(0, 0, 8, MEMORY + 0x8000, 8));
	CHECK(!add_one("bounce", BAR + 64, bar + 64));
	CHECK(test_jobs[0].before == 5 && number_at(bar + 64) == 6);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic bounce mapped\n") && !test_logged(" ok "));
	CHECK(!test_put(0, 0, 8, BAR, 8));
	CHECK(add_one("bounce", BAR + 64, bar + 64) == -EFAULT && number_at(bar + 64) == 5);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic bounce none\n"));
}

static void check_diverted(void)
{
	CHECK(!add_one("drop", BAR + 64, bar + 64) && number_at(bar + 64) == 5);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic drop mapped\n"));
	CHECK(!add_one("mirror", BAR + 64, bar + 64) && number_at(bar + 64) == 5);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic mirror mapped\n"));
	CHECK(add_one("read-fail", BAR + 64, bar + 64) == -EFAULT && number_at(bar + 64) == 5);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic read-fail none\n"));
}

/* They are logged by the misbehaviour that acted. */
void test_atomic_outcomes(void)
{
	CHECK(!add_one("slow", BAR + 64, bar + 64) && number_at(bar + 64) == 6);
	CHECK(test_jobs[0].before == 5);
	CHECK(test_logged("vrnic0 0x40000040 8 atomic ok mapped\n"));
	check_one_way();
	check_bounce();
	check_diverted();
	CHECK(!add_one("one-way", MEMORY + 64, memory + 64) && test_jobs[0].before == 5);
	CHECK(!strcmp(test_control("log"), ".\n"));
}

// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. Interrupts of a function, its resets, how it comes and goes. */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "test_dma.h"

#define COMMAND		4
#define BAR0		0x10
#define DEVICE_CONTROL	0x48
#define MSIX_CONTROL	0x7e

/* What a driver wrote, and what came of it. */
static void use(void)
{
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2) && !test_put(0, CONFIG, BAR0, 0xfe000000, 4));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	check_good(44);
	CHECK(!test_put(0, CONFIG, MSIX_CONTROL, 0xc000, 2));
	CHECK(test_get(0, CONFIG, BAR0, 4) == 0xfe000000 && test_get(0, 4, 0x800, 8));
	CHECK(state_of("atc-entries ") > 0);
}

static bool state_has(const char *words)
{
	return strstr(test_control("state vrnic0"), words);
}

/* Nothing that is written reaches it, not even a reset. */
static void check_writes_lost(void)
{
	unsigned int resets = test_jobs[0].resets;

	CHECK(!test_put(0, CONFIG, COMMAND, 0, 2));
	CHECK(state_has("memory on\nbus-master on\n"));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0, 2));
	CHECK(state_has("ats on\n") && state_of("atc-entries ") > 0);
	CHECK(!test_put(0, CONFIG, DEVICE_CONTROL, 0xa810, 2));
	CHECK(test_jobs[0].resets == resets && test_get(0, CONFIG, 0, 4) == 0xffffffff);
	CHECK(strstr(test_control("faults"), "vrnic0 gone\n"));
}

static void check_gone(void)
{
	check_writes_lost();
	CHECK(test_get(0, CONFIG, 0, 4) == 0xffffffff);
	CHECK(test_get(0, 0, 0, 4) == 0xffffffff);
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2) && !test_put(0, CONFIG, BAR0, 0xfd000000, 4));
}

/* As when its power came on, but for what QEMU says of memory. */
static void check_new(void)
{
	CHECK(test_get(0, CONFIG, 0, 4) == 0x00011234);
	CHECK(test_get(0, CONFIG, COMMAND, 2) == 0 && test_get(0, CONFIG, BAR0, 4) == 0);
	CHECK(test_get(0, CONFIG, MSIX_CONTROL, 2) == 1);
	CHECK(test_get(0, CONFIG, ATS_CONTROL, 2) == 0 && state_of("atc-entries ") == 0);
	CHECK(test_get(0, 0, 0, 4) == 0xffffffff);
	CHECK(!test_put(0, CONFIG, COMMAND, 2, 2));
	CHECK(test_get(0, 0, 0, 4) == test_jobs[0].done && !test_get(0, 4, 0x800, 8));
	CHECK(write_at(BAR, 64, 45) == -EFAULT);
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2));
	check_good(46);
	CHECK(!test_put(0, CONFIG, COMMAND, 0, 2));
}

void test_gone(void)
{
	unsigned int resets = test_jobs[0].resets;

	use();
	switch_fault("gone off");
	CHECK(test_jobs[0].resets == resets && test_get(0, CONFIG, COMMAND, 2) == 6);
	switch_fault("gone on");
	check_gone();
	CHECK(test_jobs[0].resets == resets);
	switch_fault("gone off");
	CHECK(test_jobs[0].resets == resets + 1);
	check_new();
	use();
	switch_fault("gone on vrnic0");
	check_gone();
	CHECK(!test_ask(0, MESSAGE_RESET, NULL, 0, -1, NULL, 0));
	check_new();
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2));
	check_good(47);
}

static unsigned int raised(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? (unsigned int)count : 0;
}

static void set_irqs(uint32_t flags, int fd)
{
	const uint32_t body[5] = { 20, flags, 2, 0, 1 };

	CHECK(!test_ask(0, MESSAGE_SET_IRQS, body, sizeof(body), fd, NULL, 0));
}

void test_interrupts(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), pipes[2];
	const uint32_t body[5] = { 20, 0x24, 2, 0, 1 };

	CHECK(!pipe(pipes));
	CHECK(test_ask(0, MESSAGE_SET_IRQS, body, sizeof(body), pipes[1], NULL, 0) == EINVAL);
	set_irqs(0x24, fd);
	raised(fd);
	CHECK(!write_at(BAR, 64, 50) && !raised(fd));
	CHECK(test_get(0, 4, 0x800, 8) == 1);
	CHECK(!test_put(0, CONFIG, MSIX_CONTROL, 0x8000, 2));
	CHECK(raised(fd) == 1 && test_get(0, 4, 0x800, 8) == 0);
	CHECK(!write_at(BAR, 64, 51) && !test_get(0, 0, 0, 4) == 0 && raised(fd) == 1);
	set_irqs(0x9, -1);
	CHECK(!write_at(BAR, 64, 52) && test_get(0, 4, 0x800, 8) == 1 && !raised(fd));
	set_irqs(0x11, -1);
	CHECK(raised(fd) == 1);
	set_irqs(0x24, -1);
	CHECK(!write_at(BAR, 64, 53) && test_get(0, 4, 0x800, 8) == 1 && !raised(fd));
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

/* While one function waits for QEMU, requests of all are answered, also resets. */
void test_waiting(void)
{
	struct test_job *job = &test_jobs[0];
	unsigned int done = job->done, resets = job->resets;

	connect_all(1);
	clear_log();
	job->op = TEST_READ;
	job->iova = FAR_START;
	job->length = 64;
	test_tell(0);
	CHECK(test_get(1, 0, 0, 4) == test_jobs[1].done);
	CHECK(job->done == done);
	CHECK(!test_ask(0, MESSAGE_RESET, NULL, 0, -1, NULL, 0));
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	for (int i = 0; i < 5000 && __atomic_load_n(&job->resets, __ATOMIC_ACQUIRE) == resets; i++)
		test_serve(0, 1);
	CHECK(job->done == done + 1 && job->resets == resets + 1);
	check_good(54);
	test_disconnect(1);
}

void test_gone_qemu(void)
{
	struct test_job *job = &test_jobs[0];
	unsigned int resets = job->resets, done = job->done;

	job->op = TEST_READ;
	job->iova = FAR_START;
	job->length = 64;
	test_tell(0);
	CHECK(job->done == done);
	test_disconnect(0);
	connect_all(0);
	CHECK(job->done == done + 1 && job->result == -EFAULT && job->resets > resets);
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	check_good(55);
}

void test_flr(void)
{
	unsigned int resets = test_jobs[0].resets;

	CHECK(!test_put(0, CONFIG, DEVICE_CONTROL, 0xa810, 2));
	CHECK(test_jobs[0].resets == resets + 1);
	CHECK(test_get(0, CONFIG, 4, 2) == 0 && test_get(0, CONFIG, DEVICE_CONTROL, 2) == 0x2810);
	CHECK(!test_put(0, CONFIG, 4, 2, 2));
	CHECK(write_at(BAR, 64, 56) == -EFAULT);
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	check_good(57);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * A vrnic is pulled out, hangs, is reset or has errors under its driver and a user. What is asked of it then
 * fails soon and for one reason, and what is opened afterwards works.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aer.h"
#include "aperture.h"
#include "harness.h"
#include "kmsg.h"
#include "memory.h"
#include "rdma.h"
#include "sim.h"
#include "vrnic.h"

#define NUMBER		1	/* of the one that has it all done to it */
#define SIZE		(64 * KIB)
#define COMMAND		4
#define SOON_MS		2000
#define PATIENCE_MS	5000	/* of the driver with a command */

struct bench {
	struct rdma r;
	char *from, *to;
	struct ibv_mr *from_mr, *to_mr;
	int log;
};

static void check_good(struct bench *b, uint64_t seed)
{
	pattern_fill(b->from, SIZE, seed);
	CHECK_EQ(rdma_write(&b->r, b->from_mr, (uintptr_t)b->to, b->to_mr->rkey, SIZE),
		 IBV_WC_SUCCESS);
	CHECK(pattern_is(b->to, SIZE, seed));
}

static void open_one(struct bench *b, unsigned int number)
{
	rdma_open_device(&b->r, vrnic_device(number));
	b->from = plain_memory(SIZE);
	b->to = plain_memory(SIZE);
	b->from_mr = rdma_reg(&b->r, b->from, SIZE);
	b->to_mr = rdma_reg(&b->r, b->to, SIZE);
	b->log = kmsg_mark();
	check_good(b, 1);
}

static void bench_begin(struct bench *b)
{
	sim_begin();
	/* Objects of a device that is gone can be destroyed. */
	setenv("RDMAV_ALLOW_DISASSOC_DESTROY", "1", 1);
	open_one(b, NUMBER);
}

static void bench_end(struct bench *b)
{
	int64_t start = test_now_ms();

	CHECK_EQ(ibv_dereg_mr(b->from_mr), 0);
	CHECK_EQ(ibv_dereg_mr(b->to_mr), 0);
	rdma_close(&b->r);
	CHECK(test_now_ms() - start < SOON_MS);
	munmap(b->from, SIZE);
	munmap(b->to, SIZE);
	close(b->log);
}

static void check_works(unsigned int number)
{
	struct bench b;

	open_one(&b, number);
	check_good(&b, 2);
	bench_end(&b);
}

static const char *file_of(const char *file)
{
	static char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", vrnic_pci(NUMBER), file);
	return path;
}

static unsigned int config(unsigned int offset)
{
	FILE *file = fopen(file_of("config"), "r");
	unsigned char bytes[2];

	CHECK(file);
	CHECK_EQ(fseek(file, offset, SEEK_SET), 0);
	CHECK_EQ(fread(bytes, 1, sizeof(bytes), file), sizeof(bytes));
	fclose(file);
	return bytes[0] | bytes[1] << 8;
}

/* A number of the function's state. */
static uint64_t state(const char *name)
{
	char pattern[32];
	const char *text = sim_ask("state vrnic%u", NUMBER), *at;

	snprintf(pattern, sizeof(pattern), "%s ", name);
	at = strstr(text, pattern);
	CHECK(at);
	return strtoull(at + strlen(pattern), NULL, 10);
}

static bool ats_is_on(void)
{
	return strstr(sim_ask("state vrnic%u", NUMBER), "\nats on\n");
}

static void switch_fault(const char *fault, const char *how)
{
	sim_ask("fault %s %s vrnic%u", fault, how, NUMBER);
}

/* A write that is posted and has no completion. */
static void check_silent(struct bench *b)
{
	struct ibv_sge sge = { (uintptr_t)b->from, SIZE, b->from_mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)b->to, b->to_mr->rkey },
	};
	struct ibv_wc wc;

	pattern_fill(b->from, SIZE, 9);
	CHECK_EQ(ibv_post_send(b->r.near, &wr, &bad), 0);
	test_sleep_ms(1000);
	CHECK_EQ(ibv_poll_cq(b->r.cq, 1, &wc), 0);
	CHECK(pattern_is(b->to, SIZE, 1));
}

/* The milliseconds after which a command failed so. */
static int64_t fails(struct bench *b, int error)
{
	int64_t start = test_now_ms();

	CHECK(!ibv_reg_mr(b->r.pd, b->from, SIZE, RDMA_ACCESS));
	CHECK_EQ(errno, error);
	return test_now_ms() - start;
}

static void check_fatal_event(struct bench *b)
{
	struct pollfd ready = { .fd = b->r.context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	CHECK_EQ(poll(&ready, 1, 10000), 1);
	CHECK_EQ(ibv_get_async_event(b->r.context, &event), 0);
	CHECK_EQ(event.event_type, IBV_EVENT_DEVICE_FATAL);
	ibv_ack_async_event(&event);
}

/* From now on it fails at once, and the log has said why, once. */
static void check_given_up(struct bench *b, const char *why)
{
	char line[256], pattern[256];

	check_fatal_event(b);
	CHECK(fails(b, EIO) < SOON_MS);
	CHECK(fails(b, EIO) < SOON_MS);
	snprintf(pattern, sizeof(pattern), "^vrnic_ib %s: ", vrnic_pci(NUMBER));
	CHECK_EQ(kmsg_count(b->log, pattern, line, sizeof(line)), 1);
	snprintf(pattern, sizeof(pattern),
		 ": %s; it is not used any more until it is reset (sysfs: reset) or bound again",
		 why);
	CHECK(strstr(line, pattern));
}

static void pull_out(struct bench *b)
{
	CHECK_EQ(config(0), 0x1234);
	CHECK_EQ(config(COMMAND) & 6, 6);
	switch_fault("gone", "on");
	CHECK_EQ(config(0), 0xffff);
	check_silent(b);
	CHECK(fails(b, EIO) < SOON_MS);
	check_given_up(b, "the device is gone");
	check_works(0);
}

/* As after power-on: the driver that had it does not have it back. */
static void put_back(struct bench *b)
{
	switch_fault("gone", "off");
	CHECK_EQ(config(0), 0x1234);
	CHECK_EQ(config(COMMAND), 0);
	CHECK(!ats_is_on());
	check_silent(b);
	CHECK(fails(b, EIO) < SOON_MS);
}

TEST(pulled_out, 60)
{
	struct bench b;

	bench_begin(&b);
	pull_out(&b);
	put_back(&b);
	bench_end(&b);
	vrnic_bind_again(NUMBER);
	check_works(NUMBER);
}

/* The driver lets go of what is not there, and does not take it. */
TEST(pulled_out_and_unbound, 60)
{
	struct bench b;
	int log;

	bench_begin(&b);
	pull_out(&b);
	vrnic_unbind(NUMBER);
	bench_end(&b);
	log = kmsg_mark();
	CHECK(!vrnic_bind(NUMBER));
	CHECK_EQ(kmsg_count(log, "not a vrnic of version 1: magic 0xffffffff", NULL, 0), 1);
	close(log);
	switch_fault("gone", "off");
	CHECK(vrnic_bind(NUMBER));
	vrnic_wait(NUMBER);
	check_works(NUMBER);
}

/* The kernel restores what it has set up for good, such as ATS. */
static void reset(void)
{
	CHECK(sysfs_write(file_of("reset"), "1"));
	vrnic_wait(NUMBER);
}

static void reset_it(struct bench *b)
{
	reset();
	CHECK_EQ(config(COMMAND) & 6, 6);
	CHECK(fails(b, EIO) < SOON_MS);
	bench_end(b);
	check_works(NUMBER);
}

TEST(pulled_out_and_reset, 60)
{
	struct bench b;

	reset();
	CHECK(ats_is_on());
	bench_begin(&b);
	pull_out(&b);
	put_back(&b);
	reset_it(&b);
	CHECK(ats_is_on());
}

TEST(reset, 60)
{
	struct bench b;

	bench_begin(&b);
	CHECK(sysfs_write(file_of("reset_method"), "flr"));
	reset_it(&b);
	bench_begin(&b);
	CHECK(sysfs_write(file_of("reset_method"), "bus"));
	reset_it(&b);
	CHECK(sysfs_write(file_of("reset_method"), "default"));
}

/* Its driver waits for the answer as long as it has patience, and then does not want it any more. */
static void hang(struct bench *b)
{
	int64_t waited;

	switch_fault("hang", "on");
	waited = fails(b, ETIMEDOUT);
	CHECK(waited >= PATIENCE_MS && waited < 2 * PATIENCE_MS);
	check_given_up(b, "the device did not end a command in time");
	check_silent(b);
}

/* The device takes up the command that it was given, which it cannot reach any more. */
static void answer(void)
{
	uint64_t commands = state(" commands"), untranslated = state("untranslated");
	uint64_t interrupts = state("interrupts");

	test_sleep_ms(500);
	CHECK_EQ(state(" commands"), commands);
	switch_fault("hang", "off");
	CHECK_WITHIN(state(" commands") == commands + 1, 5000);
	CHECK_EQ(state("untranslated"), untranslated);
	CHECK_EQ(state("interrupts"), interrupts);
}

TEST(hang, 60)
{
	struct bench b;

	bench_begin(&b);
	hang(&b);
	answer();
	reset_it(&b);
}

/* When the answer comes, the command's memory is someone else's. */
TEST(hang_and_unbound, 60)
{
	struct bench b;

	bench_begin(&b);
	hang(&b);
	bench_end(&b);
	vrnic_unbind(NUMBER);
	answer();
	CHECK(vrnic_bind(NUMBER));
	vrnic_wait(NUMBER);
	check_works(NUMBER);
}

/* The port above it reports an error. */
static void check_error(const char *error)
{
	struct bench b;
	char words[32];
	int log;

	bench_begin(&b);
	log = kmsg_mark();
	snprintf(words, sizeof(words), "port-vrnic%u %s", NUMBER, error);
	aer_inject(words);
	CHECK_EQ(kmsg_within(log, "AER: device recovery successful", 20000), 1);
	close(log);
	vrnic_wait(NUMBER);
	check_given_up(&b, "its PCI link failed");
	bench_end(&b);
	check_works(NUMBER);
}

TEST(fatal_error, 60)
{
	check_error("SDN");
}

TEST(nonfatal_error, 60)
{
	check_error("COMP_TIME");
}

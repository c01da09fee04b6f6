// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Deadline, signals and death of the child that tests a pair. */
#include "fixture.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "selftest/pair.h"

static struct vpeer_entry entry = { .pci = { .bus = 1 }, .node = "/dev/vpeer0" };
static struct trace trace = { .held = -1 };

/* Both stand in for the real ones: what the child does, and a signal just before the wait. */
static void (*child_does)(const struct channel *channel);
static bool signal_before_wait;

void test_block(const struct pair *pair, const struct settings *settings,
		const struct channel *channel)
{
	(void)pair;
	(void)settings;
	child_does(channel);
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const sigset_t *mask)
{
	struct timespec left = *timeout;

	if (signal_before_wait)
		raise(SIGTERM);
	return (int)syscall(SYS_ppoll, fds, count, &left, mask, 8);
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct timespec left = { timeout / 1000, timeout % 1000 * 1000000L };

	return ppoll(fds, count, &left, NULL);
}

static void sleep_on(const struct channel *channel)
{
	send_started(channel, "sleeping");
	for (;;)
		pause();
}

static void sleep_silently(const struct channel *channel)
{
	(void)channel;
	for (;;)
		pause();
}

static void die(const struct channel *channel)
{
	(void)channel;
	raise(SIGKILL);
}

static void lose_window(const struct channel *channel)
{
	(void)channel;
	signal(SIGBUS, SIG_DFL); /* cmocka catches it */
	raise(SIGBUS);
}

static void end(const struct channel *channel)
{
	(void)channel;
}

static struct result run(void (*what)(const struct channel *), unsigned int timeout)
{
	struct initiator initiator = { .kind = INITIATOR_BLOCK, .name = "none" };
	struct settings settings = { .quiet = true, .timeout = timeout };
	struct pair pair = { .aperture = &entry, .initiator = &initiator, .trace = &trace };

	child_does = what;
	pair_run(&pair, &settings, 1, 1);
	free(pair.result.records);
	return pair.result;
}

static void nothing_done(void **state)
{
	struct result result = run(end, 60);

	(void)state;
	assert_true(result.finished);
	assert_int_equal(result.verdict, VERDICT_UNPROVEN);
}

static void deadline(void **state)
{
	struct result result = run(sleep_on, 1);

	(void)state;
	assert_int_equal(result.verdict, VERDICT_TIMEOUT);
	assert_non_null(strstr(result.cause, "in: sleeping"));
	assert_non_null(strstr(result.remedy, "--timeout"));
}

static void death(void **state)
{
	struct result result = run(die, 60);

	(void)state;
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_non_null(strstr(result.cause, "signal 9"));
	result = run(lose_window, 60);
	assert_int_equal(result.verdict, VERDICT_FAIL);
	assert_non_null(strstr(result.cause, "detached or revoked"));
}

/* Last: it stays interrupted. */
static void signal_is_not_lost(void **state)
{
	struct timespec before, after;

	(void)state;
	pair_catch_signals();
	signal_before_wait = true;
	clock_gettime(CLOCK_MONOTONIC, &before);
	run(sleep_silently, 5);
	clock_gettime(CLOCK_MONOTONIC, &after);
	assert_true(pair_interrupted());
	assert_true(after.tv_sec - before.tv_sec < 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_done),
		cmocka_unit_test(deadline),
		cmocka_unit_test(death),
		cmocka_unit_test(signal_is_not_lost),
	};

	return cmocka_run_group_tests_name("child", tests, NULL, NULL) != 0;
}

// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol. What it does where there is no room. */
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test_dma.h"

/* Connections that cannot be accepted wait, and the server sleeps meanwhile. */
void test_no_descriptors(void)
{
	static const char words[] = "functions\n", accept[] = "no connection is accepted";
	struct pollfd control = { .events = POLLIN }, function = { .events = POLLIN };
	unsigned int used;

	test_no_more_files(true);
	control.fd = test_socket("control");
	function.fd = test_socket("vrnic1");
	CHECK(write(control.fd, words, sizeof(words) - 1) == sizeof(words) - 1);
	used = test_processor_ms();
	CHECK(!poll(&control, 1, 1000));
	CHECK(test_processor_ms() - used < 200);
	CHECK(test_said(accept) == 1);
	/* The one that is there is served all the same. */
	CHECK(test_get(0, CONFIG, 0, 4) == 0x00011234);
	test_no_more_files(false);
	CHECK(poll(&control, 1, 5000) == 1);
	close(control.fd);
	for (int i = 0; i < 500 && !strstr(test_control("functions"), "vrnic1 connected"); i++)
		usleep(10000);
	CHECK(strstr(test_control("functions"), "vrnic1 connected"));
	close(function.fd);
	test_no_more_files(true);
	control.fd = test_socket("control");
	CHECK(!poll(&control, 1, 300));
	test_no_more_files(false);
	close(control.fd);
	CHECK(!strcmp(test_control("faults"), ".\n") && test_said(accept) == 2);
	check_good(60);
}

/* What takes memory, on the other function. Where there is none, it ends early. */
static void use_the_other(void)
{
	test_control("faults");
	connect_all(1);
	test_get(1, CONFIG, 0, 4);
	switch_fault("mirror on vrnic1");
	fill_bytes(test_jobs[1].data, 64, 61);
	test_run(1, TEST_WRITE, BAR, 64);
	test_run(1, TEST_READ, FAR_START, 64);
	switch_fault("late on vrnic1");
	switch_fault("mirror off vrnic1");
	test_run(1, TEST_WRITE, BAR, 64);
}

static void run_quietly(void (*run)(void))
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		freopen("/dev/null", "w", stderr);
		run();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
}

/* Each allocation in turn fails, and the server lives on. */
void test_no_memory(void)
{
	unsigned int *starve = &test_jobs[0].starve, at = 0;

	do {
		__atomic_store_n(starve, ++at, __ATOMIC_RELEASE);
		run_quietly(use_the_other);
		if (__atomic_load_n(starve, __ATOMIC_ACQUIRE))
			break;
		switch_fault("mirror off vrnic1");
		switch_fault("late off vrnic1");
		check_good((uint8_t)at);
	} while (at < 200);
	CHECK(at > 10 && at < 200);
	__atomic_store_n(starve, 0, __ATOMIC_RELEASE);
	switch_fault("late off vrnic1");
	connect_all(1);
	test_disconnect(1);
	check_good(62);
}

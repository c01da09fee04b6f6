// SPDX-License-Identifier: GPL-2.0-only
/* The control socket: which misbehaviours it takes, what it says is wrong with others, what it says is on. */
#include <string.h>

#include "fault.h"
#include "test_dma.h"

static bool answers(const char *command, const char *wrong)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "error: %s\n.\n", wrong);
	return !strcmp(test_control(command), expected);
}

static bool is_on(const char *list)
{
	char expected[512];

	snprintf(expected, sizeof(expected), "%s.\n", list);
	return !strcmp(test_control("faults"), expected);
}

/* What it says names what was meant, and what there is. */
void test_wrong_faults(void)
{
	const char *answer;

	CHECK(answers("fault drop on nosuch",
		      "'nosuch' is not for drop, which takes no value, and no function's name"));
	CHECK(answers("fault late on x",
		      "'x' is not for late, which takes 0 to 60000 ms, and no function's name"));
	CHECK(answers("fault drop on vrnic0 5",
		      "'5' is not for drop, which takes no value"));
	CHECK(answers("fault late on vrnic0 60001",
		      "'60001' is not for late, which takes 0 to 60000 ms"));
	CHECK(answers("fault slow on all 50001",
		      "'50001' is not for slow, which takes 0 to 50000 us"));
	CHECK(answers("fault late off vrnic0 5",
		      "'5' is not for late, which takes no value to go off"));
	CHECK(answers("fault high-fail on vrnic0 bits=64",
		      "'bits=64' is not for high-fail, which takes an IOVA or bits=1 to 63"));
	CHECK(answers("fault late on nosuch 5", "no function 'nosuch'"));
	CHECK(answers("fault late maybe", "usage: fault NAME on|off [FUNCTION|all] [VALUE]"));
	answer = test_control("fault nothing on");
	CHECK(!strncmp(answer, "error: no misbehaviour 'nothing'; there are ", 44));
	for (int i = 0; i < FAULT_COUNT; i++) {
		char word[32];

		snprintf(word, sizeof(word), " %s", fault_name((enum fault)i));
		CHECK(strstr(answer, word));
	}
	CHECK(is_on(""));
}

/* It is said, also when it is 0; one that is none is not. */
void test_fault_values(void)
{
	switch_fault("late on vrnic0 0");
	CHECK(is_on("vrnic0 late 0\n"));
	switch_fault("late on vrnic0");
	CHECK(is_on("vrnic0 late 50\n"));
	switch_fault("late off");
	switch_fault("slow on vrnic1 0");
	switch_fault("page-error on vrnic0 0");
	switch_fault("drop on vrnic1");
	CHECK(is_on("vrnic0 page-error 0\nvrnic1 drop\nvrnic1 slow 0\n"));
	switch_fault("page-error on vrnic0");
	switch_fault("slow off");
	switch_fault("drop off vrnic1");
	switch_fault("high-fail on vrnic1 0");
	CHECK(is_on("vrnic0 page-error\nvrnic1 high-fail 0\n"));
	switch_fault("high-fail on vrnic1 0xffffffffffffffff");
	switch_fault("page-error off");
	CHECK(is_on("vrnic1 high-fail 18446744073709551615\n"));
	switch_fault("high-fail off");
	CHECK(is_on(""));
}

/* It reaches no one else's memory. */
void test_vgpu_faults(void)
{
	for (int i = 0; i < FAULT_COUNT; i++) {
		char command[64], wrong[128];

		if (i == FAULT_GONE)
			continue;
		snprintf(command, sizeof(command), "fault %s on vgpu0", fault_name((enum fault)i));
		snprintf(wrong, sizeof(wrong), "%s is for no function that is there and meant",
			 fault_name((enum fault)i));
		CHECK(answers(command, wrong));
	}
	CHECK(is_on(""));
	switch_fault("gone on vgpu0");
	CHECK(is_on("vgpu0 gone\n"));
	switch_fault("gone off all");
	switch_fault("drop on all");
	CHECK(is_on("vrnic0 drop\nvrnic1 drop\n"));
	switch_fault("drop off");
	CHECK(is_on(""));
}

/* As a device does that goes on when it should not. */
void test_poke(void)
{
	uint64_t value = 0x1122334455667788;

	clear_log();
	CHECK(answers("poke nosuch 0 0", "no such function"));
	CHECK(answers("poke vrnic0 BAR 0", "IOVA and VALUE are numbers of 64 bits"));
	CHECK(answers("poke vrnic0 0 0x10000000000000000",
		      "IOVA and VALUE are numbers of 64 bits"));
	CHECK(!strcmp(test_control("poke vrnic0 0x40000040 0x1122334455667788"), ".\n"));
	CHECK(test_logged("vrnic0 0x40000040 8 write ok mapped\n"));
	CHECK(!memcmp(bar + 0x40, &value, sizeof(value)));
	CHECK(!strcmp(test_control("poke vrnic0 0x20000000 1"), ".\n"));
	CHECK(test_logged("vrnic0 0x20000000 8 write unmapped none\n"));
}

// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <regex.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "harness.h"
#include "port.h"
#include "sim.h"

#define ANSWER_MS	30000

static char *answer;
static size_t answer_size;

/* An answer ends with a line that holds a dot. */
static bool complete(size_t length)
{
	return length == 2 ? !memcmp(answer, ".\n", 2) :
	       length > 2 && !memcmp(answer + length - 3, "\n.\n", 3);
}

static void make_room(size_t length)
{
	if (length + 4096 <= answer_size)
		return;
	answer_size = 2 * answer_size + 4096;
	answer = realloc(answer, answer_size);
	CHECK(answer);
}

static void read_answer(int port, const char *command)
{
	struct pollfd ready = { .fd = port, .events = POLLIN };
	size_t length = 0;
	ssize_t part;

	do {
		make_room(length);
		if (poll(&ready, 1, ANSWER_MS) != 1)
			test_fail(__FILE__, __LINE__, "no answer to: %s", command);
		part = read(port, answer + length, answer_size - length);
		CHECK(part > 0);
		length += part;
	} while (!complete(length));
	answer[length - 2] = '\0';
}

const char *sim_ask(const char *format, ...)
{
	va_list arguments;
	char command[256];
	int port, lock;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	port = port_open("sim", &lock);
	CHECK(dprintf(port, "%s\n", command) > 0);
	read_answer(port, command);
	close(port);
	close(lock);
	if (!strncmp(answer, "error", 5))
		test_fail(__FILE__, __LINE__, "%s: %s", command, answer);
	return answer;
}

/* "vrnic0 late 50" of the list of what is on. */
static void switch_off(const char *line)
{
	char function[32], fault[32];

	CHECK_EQ(sscanf(line, "%31s %31s", function, fault), 2);
	sim_ask("fault %s off %s", fault, function);
}

void sim_begin(void)
{
	char node[64], *list, *rest, *line;

	if (!port_find("sim", node, sizeof(node)))
		test_skip("no device models in this guest");
	list = strdup(sim_ask("faults"));
	CHECK(list);
	rest = list;
	while ((line = strsep(&rest, "\n")))
		if (*line)
			switch_off(line);
	free(list);
	sim_ask("log clear");
}

unsigned int sim_logged(const char *pattern)
{
	unsigned int count = 0;
	regex_t expression;
	char *line, *rest;

	CHECK_EQ(regcomp(&expression, pattern, REG_EXTENDED | REG_NOSUB), 0);
	sim_ask("log");
	rest = answer;
	while ((line = strsep(&rest, "\n")))
		count += !regexec(&expression, line, 0, NULL, 0);
	regfree(&expression);
	return count;
}

bool sim_poke(const char *function, uint64_t address, uint64_t value)
{
	char landed[128], stopped[128];

	snprintf(landed, sizeof(landed), " %s %#llx 8 write ok ", function,
		 (unsigned long long)address);
	snprintf(stopped, sizeof(stopped), " %s %#llx 8 write unmapped none$", function,
		 (unsigned long long)address);
	sim_ask("log clear");
	sim_ask("poke %s %#llx %#llx", function, (unsigned long long)address,
		(unsigned long long)value);
	CHECK_WITHIN(sim_logged(landed) || sim_logged(stopped), 5000);
	return sim_logged(landed);
}

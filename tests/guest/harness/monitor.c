// SPDX-License-Identifier: GPL-2.0-only
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "monitor.h"
#include "port.h"

#define LAB		"/run/vpeer-lab/"
#define ANSWER_MS	30000

static int port = -1, lock = -1;
static char received[16384];
static size_t received_size;
static const char *awaited;	/* device whose end is looked for */
static bool ended;

void monitor_need(void)
{
	char node[64];

	if (!port_find("monitor", node, sizeof(node)))
		test_skip("no monitor of the lab in this guest");
}

/* The next line, without its end; the buffer keeps what follows. */
static char *read_line(int64_t end)
{
	static char line[sizeof(received)];
	char *newline;

	while (!(newline = memchr(received, '\n', received_size))) {
		struct pollfd poll_fd = { .fd = port, .events = POLLIN };
		int64_t left = end - test_now_ms();
		ssize_t len;

		CHECK(received_size < sizeof(received));
		if (left <= 0 || poll(&poll_fd, 1, left) <= 0)
			return NULL;
		len = read(port, received + received_size,
			   sizeof(received) - received_size);
		CHECK(len > 0);
		received_size += len;
	}
	*newline = '\0';
	strcpy(line, received);
	received_size -= newline + 1 - received;
	memmove(received, newline + 1, received_size);
	return line;
}

/* The next line with this in it; NULL at the deadline. */
static char *read_until(const char *text, int64_t end)
{
	char device[64], *line;

	snprintf(device, sizeof(device), "\"device\": \"%s\"", awaited ?: "");
	while ((line = read_line(end))) {
		if (strstr(line, "DEVICE_DELETED") && strstr(line, device))
			ended = true;
		if (strstr(line, text))
			return line;
	}
	return NULL;
}

static char *request(const char *command, const char *arguments)
{
	static unsigned int count;
	char id[64], *line;

	snprintf(id, sizeof(id), "\"id\": \"case-%d-%u\"", getpid(), ++count);
	CHECK(dprintf(port, "{\"execute\":\"%s\",\"arguments\":{%s},%s}\n", command,
		      arguments, id) > 0);
	line = read_until(id, test_now_ms() + ANSWER_MS);
	if (!line)
		test_fail(__FILE__, __LINE__, "no answer from QEMU to: %s", arguments);
	return line;
}

static void monitor_open(void)
{
	port = port_open("monitor", &lock);
	received_size = 0;
	request("qmp_capabilities", "");
}

static void monitor_close(void)
{
	close(port);
	close(lock);
}

static void order(const char *command)
{
	char arguments[768], *line;

	snprintf(arguments, sizeof(arguments), "\"command-line\":\"%s\"", command);
	line = request("human-monitor-command", arguments);
	if (!strstr(line, "\"return\": \"\""))
		test_fail(__FILE__, __LINE__, "%s: %.300s", command, line);
}

void monitor_order(const char *format, ...)
{
	va_list arguments;
	char command[640];

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	monitor_open();
	order(command);
	monitor_close();
}

void monitor_remove(const char *device, unsigned int seconds)
{
	int64_t end = test_now_ms() + seconds * 1000LL;
	char command[64];

	awaited = device;
	ended = false;
	snprintf(command, sizeof(command), "device_del %s", device);
	monitor_open();
	order(command);
	/* Other functions of its slot may go first. */
	while (!ended && read_until("DEVICE_DELETED", end))
		;
	monitor_close();
	if (!ended)
		test_fail(__FILE__, __LINE__, "the guest has not let go of %s within %u s",
			  device, seconds);
}

/* The text behind NAME= in a file of lines, until the next call. */
static const char *lab_value(const char *file, const char *name)
{
	static char text[8192], value[512];
	char *rest = text, *line;
	size_t size = strlen(name);

	CHECK(sysfs_read(file, text, sizeof(text)));
	while ((line = strsep(&rest, "\n"))) {
		if (strncmp(line, name, size) || line[size] != '=')
			continue;
		snprintf(value, sizeof(value), "%s", line + size + 1);
		return value;
	}
	test_fail(__FILE__, __LINE__, "the host did not set %s", name);
}

const char *lab_setting(const char *name)
{
	return lab_value(LAB "control/settings", name);
}

bool lab_passthrough(void)
{
	return !strcmp(lab_setting("lab_passthrough"), "yes");
}

const char *lab_passed(const char *name)
{
	return lab_value(LAB "control/passed", name);
}

// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "control.h"
#include "core.h"
#include "irq.h"
#include "listen.h"
#include "log.h"
#include "loop.h"
#include "map.h"
#include "poke.h"
#include "translations.h"

#define LINE		256
#define WORDS		5
#define MOST_CLIENTS	8

/* Files that are being sent, one after another. */
struct part {
	int fd;
	off_t at, end;
};

struct connection {
	int fd;
	char line[LINE];
	size_t length;
	struct part parts[2];
	unsigned int part, part_count;
};

static int listener = -1;
static struct sockaddr_un address = { .sun_family = AF_UNIX };
static unsigned int connections;

static void say_fault(int out, const struct function *function, enum fault fault)
{
	if (fault_has_value(&function->faults, fault))
		dprintf(out, "%s %s %" PRIu64 "\n", function->name, fault_name(fault),
			function->faults.value[fault]);
	else
		dprintf(out, "%s %s\n", function->name, fault_name(fault));
}

static void run_faults(int out)
{
	for (const struct function *function = functions; function; function = function->next)
		for (unsigned int fault = 0; fault < FAULT_COUNT; fault++)
			if (fault_is_on(&function->faults, fault))
				say_fault(out, function, fault);
}

static void run_functions(int out)
{
	for (const struct function *function = functions; function; function = function->next)
		dprintf(out, "%s %s\n", function->name, function->client ? "connected" : "waiting");
}

static bool is_meant(const struct function *function, const char *who)
{
	if (!who)
		return !strcmp(function->device->kind, "vrnic");
	return !strcmp(who, "all") || !strcmp(who, function->name);
}

/* What reaches no one else's memory can only be gone. */
static bool can(const struct function *function, enum fault fault)
{
	return fault == FAULT_GONE || strcmp(function->device->kind, "vgpu");
}

static const char *because(const char *format, ...)
{
	static char text[2 * LINE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	return text;
}

static const char *wrong_name(const char *name)
{
	char names[LINE] = "";

	for (int fault = 0; fault < FAULT_COUNT; fault++) {
		strcat(names, " ");
		strcat(names, fault_name((enum fault)fault));
	}
	return because("no misbehaviour '%s'; there are%s", name, names);
}

/* NULL, or what is wrong. A wrong value is so for all: nothing is changed then. */
static const char *switch_fault(const char *name, bool on, const char *who, const char *value)
{
	int fault = fault_named(name);
	bool meant = false;

	if (fault < 0)
		return wrong_name(name);
	for (struct function *function = functions; function; function = function->next) {
		if (!is_meant(function, who) || !can(function, (enum fault)fault))
			continue;
		meant = true;
		if (function_fault(function, (enum fault)fault, on, value))
			return because("'%s' is not for %s, which takes %s%s", value, name,
				       on ? fault_takes((enum fault)fault) : "no value to go off",
				       who ? "" : ", and no function's name");
	}
	return meant ? NULL : because("%s is for no function that is there and meant", name);
}

static const char *run_fault(char **words, unsigned int count)
{
	const char *who = NULL, *value = NULL;

	if (count < 3 || count > 5 || (strcmp(words[2], "on") && strcmp(words[2], "off")))
		return "usage: fault NAME on|off [FUNCTION|all] [VALUE]";
	if (count > 3 && (function_named(words[3]) || !strcmp(words[3], "all"))) {
		who = words[3];
		value = count > 4 ? words[4] : NULL;
	} else if (count == 4) {
		value = words[3];
	} else if (count > 4) {
		return because("no function '%s'", words[3]);
	}
	return switch_fault(words[1], !strcmp(words[2], "on"), who, value);
}

const char *control_fault(const char *text)
{
	char copy[LINE], *name = copy, *value, *who = NULL, *colon;

	if (strlen(text) >= sizeof(copy))
		return "too long";
	strcpy(copy, text);
	value = strchr(copy, '=');
	if (value)
		*value++ = 0;
	colon = strchr(copy, ':');
	if (colon) {
		*colon = 0;
		who = copy;
		name = colon + 1;
	}
	return switch_fault(name, true, who, value);
}

static void say_cache(int out, const struct function *function)
{
	const struct translations *translations = function->translations;

	dprintf(out, "ats %s\n", !function->config.ats ? "none" :
		fault_is_on(&function->faults, FAULT_NO_ATS) ? "ignored" :
		config_ats_enabled(&function->config) ? "on" : "off");
	dprintf(out,
		"atc-entries %u\natc-hits %" PRIu64 "\natc-misses %" PRIu64 "\natc-drops %" PRIu64
		"\n",
		translations->count, translations->hits, translations->misses, translations->drops);
}

static const char *run_state(int out, const char *name)
{
	struct function *function = function_named(name);
	uint64_t raised = 0;

	if (!function)
		return because("no function '%s'", name);
	for (unsigned int i = 0; i < function->irqs->count; i++)
		raised += function->irqs->vectors[i].raised;
	dprintf(out, "connected %s\nmemory %s\nbus-master %s\n", function->client ? "yes" : "no",
		config_memory_enabled(&function->config) ? "on" : "off",
		config_bus_master(&function->config) ? "on" : "off");
	dprintf(out, "regions %zu\nuntranslated %" PRIu64 "\ninterrupts %" PRIu64 "\n",
		function->map->count, function->untranslated, raised);
	say_cache(out, function);
	if (function->device->state)
		function->device->state(function, out);
	return NULL;
}

static const char *run_log(struct connection *connection, const char *word)
{
	struct stat file;
	int fd;

	if (word && strcmp(word, "clear"))
		return "usage: log [clear]";
	if (word)
		return log_clear() ? "cannot clear the log" : NULL;
	fd = log_read_only();
	if (fd < 0)
		return "cannot read the log";
	if (fstat(fd, &file)) {
		close(fd);
		return "cannot read the log";
	}
	connection->parts[connection->part_count++] =
		(struct part){ .fd = fd, .end = file.st_size };
	return NULL;
}

static const char *run_words(struct connection *connection, int out, char **words,
			     unsigned int count)
{
	if (!count)
		return "no command";
	if (!strcmp(words[0], "functions") && count == 1)
		return run_functions(out), NULL;
	if (!strcmp(words[0], "faults") && count == 1)
		return run_faults(out), NULL;
	if (!strcmp(words[0], "fault"))
		return run_fault(words, count);
	if (!strcmp(words[0], "state") && count == 2)
		return run_state(out, words[1]);
	if (!strcmp(words[0], "log") && count <= 2)
		return run_log(connection, count == 2 ? words[1] : NULL);
	if (!strcmp(words[0], "poke") && count == 4)
		return poke(words[1], words[2], words[3]);
	return "no such command; there are functions, fault, faults, state, log, poke";
}

static int run_line(struct connection *connection)
{
	char *words[WORDS + 1], *rest = NULL, *word;
	int out = memfd_create("answer", MFD_CLOEXEC);
	unsigned int count = 0;
	const char *wrong;

	if (out < 0)
		return -errno;
	for (word = strtok_r(connection->line, " \t\r", &rest); word && count <= WORDS;
	     word = strtok_r(NULL, " \t\r", &rest))
		words[count++] = word;
	connection->part = 0;
	connection->part_count = 0;
	wrong = run_words(connection, out, words, count);
	if (wrong)
		dprintf(out, "error: %s\n", wrong);
	dprintf(out, ".\n");
	connection->parts[connection->part_count++] =
		(struct part){ .fd = out, .end = lseek(out, 0, SEEK_CUR) };
	return 0;
}

static bool is_sending(const struct connection *connection)
{
	return connection->part < connection->part_count;
}

static int send_parts(struct connection *connection)
{
	while (is_sending(connection)) {
		struct part *part = &connection->parts[connection->part];
		ssize_t sent = sendfile(connection->fd, part->fd, &part->at,
					(size_t)(part->end - part->at));

		if (sent < 0 && errno != EAGAIN)
			return -errno;
		/* A log that was cleared meanwhile ends early. */
		if (!sent || part->at == part->end) {
			close(part->fd);
			connection->part++;
		} else if (sent < 0) {
			return 0;
		}
	}
	return 0;
}

static void connection_end(struct connection *connection)
{
	for (; is_sending(connection); connection->part++)
		close(connection->parts[connection->part].fd);
	loop_remove(connection->fd);
	close(connection->fd);
	free(connection);
	connections--;
}

/* The rest of what came waits in the line's place until the answer is sent. */
static int take_line(struct connection *connection)
{
	char *end = memchr(connection->line, '\n', connection->length);
	size_t length;
	char rest[LINE];
	int error;

	if (!end)
		return connection->length == sizeof(connection->line) ? -EMSGSIZE : 0;
	length = (size_t)(end - connection->line) + 1;
	memcpy(rest, end + 1, connection->length - length);
	*end = 0;
	error = run_line(connection);
	connection->length -= length;
	memcpy(connection->line, rest, connection->length);
	return error;
}

static int take_input(struct connection *connection)
{
	ssize_t got = recv(connection->fd, connection->line + connection->length,
			   sizeof(connection->line) - connection->length, MSG_DONTWAIT);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	connection->length += (size_t)got;
	return got ? 0 : -ECONNRESET;
}

static int serve(struct connection *connection, short events)
{
	int error = 0;

	if (events & (POLLIN | POLLHUP | POLLERR) && !is_sending(connection))
		error = take_input(connection);
	while (!error) {
		error = send_parts(connection);
		if (error || is_sending(connection))
			break;
		error = take_line(connection);
		if (!is_sending(connection))
			break;
	}
	return error;
}

static void connection_ready(int fd, short events, void *arg)
{
	struct connection *connection = arg;

	if (serve(connection, events))
		connection_end(connection);
	else
		loop_change(fd, is_sending(connection) ? POLLOUT : POLLIN);
}

static void listener_ready(int fd, short events, void *arg)
{
	struct connection *connection;
	int new = listen_accept(fd);

	(void)events;
	(void)arg;
	if (new < 0)
		return;
	connection = connections < MOST_CLIENTS ? calloc(1, sizeof(*connection)) : NULL;
	if (!connection || loop_add(new, POLLIN, connection_ready, connection)) {
		free(connection);
		close(new);
		return;
	}
	connection->fd = new;
	connections++;
}

int control_open(const char *directory)
{
	if ((size_t)snprintf(address.sun_path, sizeof(address.sun_path), "%s/control", directory) >=
	    sizeof(address.sun_path))
		return -ENAMETOOLONG;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener < 0)
		return -errno;
	unlink(address.sun_path);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener, MOST_CLIENTS))
		return -errno;
	return loop_add(listener, POLLIN, listener_ready, NULL);
}

void control_close(void)
{
	if (listener < 0)
		return;
	listen_end(listener);
	unlink(address.sun_path);
	listener = -1;
}

// SPDX-License-Identifier: GPL-2.0-only
/* Serves the lab's own PCI devices, a process for all of a guest's. */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "client.h"
#include "control.h"
#include "core.h"
#include "devices.h"
#include "guard.h"
#include "log.h"
#include "loop.h"
#include "vrnic.h"

#define MOST_FAULTS	16

static const char usage[] =
	"usage: sim --dir DIR [--lid N] [--fabric listen:PATH|connect:PATH]\n"
	"           [--fault [FUNCTION:]NAME[=VALUE]]... FUNCTION...\n"
	"FUNCTION: vgpu[,OPTION...] or vrnic[,OPTION...]\n"
	"Its vfio-user socket is DIR/vgpu0, DIR/vrnic0 and so on.\n"
	"DIR/control takes commands, DIR/access.log has every access to a peer.\n";

static const char *directory, *fabric;
static const char *faults[MOST_FAULTS];
static unsigned int fault_count;

static void stop(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	(void)arg;
	loop_stop();
}

static int watch_signals(void)
{
	sigset_t signals;
	int fd;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGINT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	signal(SIGPIPE, SIG_IGN);
	fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return -errno;
	if (loop_add(fd, POLLIN, stop, NULL))
		return -ENOMEM;
	loop_urgent(fd);
	return 0;
}

static int parse_lid(const char *text)
{
	char *end;
	unsigned long lid = strtoul(text, &end, 10);

	if (end == text || *end || lid > UINT16_MAX)
		return -EINVAL;
	return vrnic_set_first_lid((unsigned int)lid);
}

static int parse_option(int option)
{
	switch (option) {
	case 'd':
		directory = optarg;
		return 0;
	case 'l':
		return parse_lid(optarg);
	case 'f':
		fabric = optarg;
		return 0;
	case 'x':
		if (fault_count == MOST_FAULTS)
			return -EINVAL;
		faults[fault_count++] = optarg;
		return 0;
	}
	return -EINVAL;
}

static int parse(int count, char **words)
{
	static const struct option known[] = {
		{ "dir", required_argument, NULL, 'd' },
		{ "lid", required_argument, NULL, 'l' },
		{ "fabric", required_argument, NULL, 'f' },
		{ "fault", required_argument, NULL, 'x' },
		{ 0 },
	};
	int option;

	while ((option = getopt_long(count, words, "", known, NULL)) >= 0)
		if (parse_option(option))
			return -EINVAL;
	return directory && optind < count ? 0 : -EINVAL;
}

static int add_function(const char *word)
{
	size_t length = strcspn(word, ",");

	for (unsigned int i = 0; i < device_count; i++)
		if (strlen(devices[i]->kind) == length && !strncmp(word, devices[i]->kind, length))
			return function_add(devices[i], word[length] ? word + length + 1 : "");
	fprintf(stderr, "sim: no device '%s'\n", word);
	return -EINVAL;
}

static int listen_all(void)
{
	for (struct function *function = functions; function; function = function->next) {
		int error = client_listen(function, directory);

		if (error) {
			fprintf(stderr, "sim: %s/%s: %s\n", directory, function->name,
				strerror(-error));
			return error;
		}
	}
	return 0;
}

static int start(char **words)
{
	const char *wrong;
	int error = watch_signals() ?: log_open(directory) ?: control_open(directory);

	if (error) {
		fprintf(stderr, "sim: %s: %s\n", directory, strerror(-error));
		return error;
	}
	for (; *words; words++) {
		error = add_function(*words);
		if (error)
			return error;
	}
	for (unsigned int i = 0; i < fault_count; i++) {
		wrong = control_fault(faults[i]);
		if (wrong) {
			fprintf(stderr, "sim: --fault %s: %s\n", faults[i], wrong);
			return -EINVAL;
		}
	}
	error = fabric ? vrnic_fabric_open(fabric) : 0;
	if (error) {
		fprintf(stderr, "sim: fabric %s: %s\n", fabric, strerror(-error));
		return error;
	}
	return listen_all();
}

int main(int count, char **words)
{
	int error;

	if (parse(count, words)) {
		fputs(usage, stderr);
		return 2;
	}
	guard_begin();
	error = start(words + optind) ?: loop_run();
	clients_end();
	control_close();
	vrnic_fabric_close();
	functions_free();
	log_close();
	return error ? 1 : 0;
}

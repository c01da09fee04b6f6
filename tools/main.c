// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

static const struct command *const commands[] = {
	&command_list,	 &command_attach, &command_detach, &command_revoke, &command_doctor,
	&command_topo, &command_selftest, &command_bench, &command_stat, &command_host,
};

static const struct command *find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	return NULL;
}

static void print_usage(FILE *file)
{
	fputs("usage: vpeer COMMAND [OPTION]...\n"
	      "       vpeer help [COMMAND], vpeer COMMAND --help\n"
	      "       vpeer --version\n\ncommands:\n", file);
	for (size_t i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(file, "  %-10s%s\n", commands[i]->name, commands[i]->summary);
}

static int unknown(const char *what, const char *name)
{
	fprintf(stderr, "vpeer: unknown %s '%s'\n", what, name);
	print_usage(stderr);
	return EXIT_USAGE;
}

static int print_help(const struct command *command)
{
	printf("usage: vpeer %s %s\n\n%s\n\n%s\nSee also: man %s\n", command->name,
	       command->usage, command->summary, command->options, command->manual);
	return EXIT_PASS;
}

static bool asks_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++)
		if (!strcmp(argv[i], "--help"))
			return true;
	return false;
}

static int help(int argc, char **argv)
{
	const struct command *command;

	if (argc == 1) {
		print_usage(stdout);
		return EXIT_PASS;
	}
	if (argc > 2)
		return unknown("argument", argv[2]);
	command = find(argv[1]);
	if (!command)
		return unknown("command", argv[1]);
	return print_help(command);
}

static int dispatch(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--version")) {
		printf("vpeer %s, interface version %d\n", TOOL_VERSION, VPEER_API_VERSION);
		return EXIT_PASS;
	}
	if (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(argc - 1, argv + 1);
	if (argv[1][0] == '-')
		return unknown("option", argv[1]);
	command = find(argv[1]);
	if (!command)
		return unknown("command", argv[1]);
	if (asks_help(argc - 1, argv + 1))
		return print_help(command);
	return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	signal(SIGPIPE, SIG_IGN); /* close_output() sees it */
	if (hold_standard_files()) {
		fputs("vpeer: /dev/null: cannot open it for a closed descriptor\n"
		      "  remedy: mount /dev, or open descriptors 0 to 2\n", stderr);
		return EXIT_FAIL;
	}
	return close_output(dispatch(argc, argv));
}

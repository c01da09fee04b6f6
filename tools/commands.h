/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The subcommands; each takes its own argv and returns an exit status. */
#ifndef COMMANDS_H
#define COMMANDS_H

#define TOOL_VERSION	"0.1.0"

enum exit_status {
	EXIT_PASS = 0,
	EXIT_FAIL = 1,
	EXIT_USAGE = 2,
	EXIT_NOTHING = 77,
};

struct command {
	const char *name;
	const char *summary;
	const char *usage;
	const char *options;	/* a line for each operand and option */
	const char *manual;	/* man page that tells more */
	int (*run)(int argc, char **argv);
};

extern const struct command command_list;
extern const struct command command_attach;
extern const struct command command_detach;
extern const struct command command_revoke;
extern const struct command command_selftest;
extern const struct command command_bench;
extern const struct command command_host;
extern const struct command command_doctor;
extern const struct command command_topo;
extern const struct command command_stat;

#endif /* COMMANDS_H */

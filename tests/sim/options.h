/* SPDX-License-Identifier: GPL-2.0-only */
/* What the command line said to all functions; set before the first is created. */
#ifndef SIM_OPTIONS_H
#define SIM_OPTIONS_H

struct options {
	const char *directory;
	unsigned int lid;	/* of the first vrnic, the next has one more */
	const char *fabric;	/* "listen:PATH", "connect:PATH" or NULL */
};

extern struct options options;

#endif

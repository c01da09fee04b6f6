/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loading vpeer.ko, with the cause of a refusal in words. */
#ifndef MODULE_H
#define MODULE_H

#include <stdbool.h>

#include "../lib/vpeer.h"

/* What is known after a failed load. */
struct module_facts {
	int err;		/* positive errno of the load */
	bool found;		/* a file vpeer.ko exists for the running kernel */
	bool root;
	bool sig_enforce;	/* the kernel takes signed modules only */
	char lockdown[32];	/* "none", "integrity", "confidentiality", empty when unknown */
	char release[128];	/* of the running kernel */
	char vermagic[128];	/* of the file */
	char missing[256];	/* unknown symbols, comma separated */
};

/* Fills @error from @facts; returns -facts->err. */
int module_diagnose(const struct module_facts *facts, struct vpeer_error *error);

/* The word in brackets of /sys/kernel/security/lockdown. */
void module_parse_lockdown(const char *text, char *word, size_t size);

/*
 * The symbol a kernel log line complains about on behalf of vpeer, as
 * "vpeer: Unknown symbol NAME (err -2)". False for any other line.
 */
bool module_parse_unknown_symbol(const char *line, char *symbol, size_t size);

/* Loads the module unless it is loaded; 0 or a negative errno. */
int module_ensure_loaded(struct vpeer_error *error);

#endif /* MODULE_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Helpers of all subcommands: memory, messages, options, numbers. */
#ifndef UTIL_H
#define UTIL_H

#include <stdint.h>
#include <stdio.h>

#include "../lib/internal.h"
#include "commands.h"

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

struct json_object;

/* End the program with a message when memory runs out. */
void *xrealloc(void *old, size_t count, size_t size);
char *xstrdup(const char *text);

/* Bytes of the UTF-8 character at @text, 0 if there is none. */
size_t utf8_length(const char *text);

/* UTF-8 without control characters. */
bool is_one_line(const char *text);


/* snprintf() that a caller may let truncate: the text is for people. */
void text_format(char *text, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Opens /dev/null, in a way that writing fails, on each of the descriptors 0
 * to 2 that is closed: else a device opened later would get the output. 0 or
 * a negative errno.
 */
int hold_standard_files(void);

/*
 * Ends the output; @status, or EXIT_FAIL if some of it is lost: after a
 * message, unless its reader has gone.
 */
int close_output(int status);

/* "vpeer: WHO: MESSAGE" and "  remedy: ..." on stderr. */
void report_error(const struct vpeer_error *error);

/* A usage error on stderr, with the command's usage; returns EXIT_USAGE. */
int usage_error(const struct command *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/*
 * After getopt_long() returned '?' or ':' with opterr 0: names the option;
 * returns EXIT_USAGE.
 */
int option_error(const struct command *command, int code, char **argv);

/* The one operand of a command, a PCI address; 0 or EXIT_USAGE. */
int pci_operand(const struct command *command, int argc, char **argv,
		struct vpeer_pci_address *address);

/* "65536", "64K", "64KiB", "1M", "2G": 0 or -EINVAL, -ERANGE. */
int parse_size(const char *text, uint64_t *bytes);

/* Largest binary unit that divides @bytes: "64 MiB", "65521 B". */
#define BYTES_LEN 32
char *format_bytes(uint64_t bytes, char text[BYTES_LEN]);

/*
 * Prints the document and a newline, frees it; EXIT_PASS or EXIT_FAIL.
 * close_output() tells whether it was written.
 */
int json_finish(struct json_object *document);

#endif /* UTIL_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* Shell commands. */
#ifndef COMMAND_H
#define COMMAND_H

/* The whole of standard output, until the next call; the exit status is as expected. */
__attribute__((format(printf, 2, 3)))
const char *output_of(int expected, const char *format, ...);

#endif /* COMMAND_H */

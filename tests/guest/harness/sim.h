/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The server of the device models, as /run/vpeer-lab/sim has it, without the time that shells take under
 * emulation.
 */
#ifndef SIM_H
#define SIM_H

#include <stdbool.h>
#include <stdint.h>

/* Skips the case where the lab has none. All misbehaviours are off then, the log is empty. */
void sim_begin(void);

/* A command of printf()'s form that must not be refused. Its answer, until the next call. */
__attribute__((format(printf, 1, 2)))
const char *sim_ask(const char *format, ...);

/* Lines of the log that match an extended regular expression. */
unsigned int sim_logged(const char *pattern);

/*
 * A function writes 8 bytes that no one told it to: whether they landed, or there was no translation. The log
 * has nothing else then.
 */
bool sim_poke(const char *function, uint64_t address, uint64_t value);

#endif /* SIM_H */

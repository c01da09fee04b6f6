/* SPDX-License-Identifier: GPL-2.0-only */
/* The server's one thread: descriptors, timers and work that waits for its turn. */
#ifndef SIM_LOOP_H
#define SIM_LOOP_H

#include <stdbool.h>
#include <stdint.h>

/* events: of poll(2). The function may add and remove descriptors, its own too. */
typedef void (*loop_ready)(int fd, short events, void *arg);
typedef void (*loop_work)(void *arg);

int loop_add(int fd, short events, loop_ready ready, void *arg);	/* 0 or -errno */
void loop_change(int fd, short events);
void loop_remove(int fd);

/*
 * Work runs when what is being served now has been answered, in order of deferral. It never runs
 * while an access waits for an answer from QEMU. Returns 0 or -ENOMEM.
 */
int loop_defer(loop_work work, void *arg);

/* Runs once, after at least that time. A timer that ran or was cancelled has no number any more. */
uint64_t loop_timer(uint64_t microseconds, loop_work work, void *arg);	/* 0: no memory */
void loop_cancel(uint64_t timer);

/* Forgets all work and timers of ARG. */
void loop_forget(void *arg);

uint64_t loop_now(void);	/* microseconds, monotonic */

int loop_run(void);		/* until loop_stop(); 0 or -errno */
void loop_stop(void);

bool loop_works(void);		/* whether deferred work or a timer runs now */

/*
 * An access that waits for QEMU serves these descriptors meanwhile, and no others: a processor of the guest
 * that waits for an answer, from any function, holds the lock that QEMU needs to serve the access.
 */
void loop_urgent(int fd);

/* Serves the urgent ones until done(), if given, or the end of time. 0, -ETIMEDOUT, or -EINTR when stopped. */
int loop_serve(bool (*done)(void *arg), void *arg, uint64_t microseconds);

#endif

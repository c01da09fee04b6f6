/* SPDX-License-Identifier: GPL-2.0-only */
/* Listening sockets of the loop. */
#ifndef SIM_LISTEN_H
#define SIM_LISTEN_H

/*
 * The next connection, or -1. While there is no descriptor or memory for one, which stays in the queue, the
 * socket is left alone for a while at a time.
 */
int listen_accept(int listener);

/* Takes it out of the loop and closes it. */
void listen_end(int listener);

#endif

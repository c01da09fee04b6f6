/* SPDX-License-Identifier: GPL-2.0-only */
/* Descriptors handed over by SCM_RIGHTS. */
#ifndef PASSING_H
#define PASSING_H

void send_fd(int socket, int fd);
int receive_fd(int socket);

#endif /* PASSING_H */

/* SPDX-License-Identifier: GPL-2.0-only */
/* What QEMU may ask of a function. */
#ifndef SIM_REQUEST_H
#define SIM_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "message.h"

struct function;

struct answer {
	uint8_t head[256];
	size_t head_length;
	uint8_t *data;		/* comes after the head; freed by who sends the answer */
	size_t data_length;
	int fd;			/* goes with it and stays the function's; -1: none */
};

struct session {
	struct function *function;
	struct channel *channel;
	bool agreed;		/* on the version */
	size_t transfer;	/* most bytes in a DMA message to QEMU */
};

/* Does what the message in session->channel asks. 0 and the answer, or -errno, to be sent as such. */
int request_run(struct session *session, struct answer *answer);

#endif

/* SPDX-License-Identifier: GPL-2.0-only */
/* vfio-user's framing: messages with descriptors over a stream socket. The other side is not trusted. */
#ifndef SIM_MESSAGE_H
#define SIM_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#define MESSAGE_FDS		8		/* in one message */
#define MESSAGE_TRANSFER	(1024 * 1024)	/* data of one message */
#define MESSAGE_BODY		(MESSAGE_TRANSFER + 4096)

enum message_command {
	MESSAGE_VERSION = 1,
	MESSAGE_DMA_MAP,
	MESSAGE_DMA_UNMAP,
	MESSAGE_GET_INFO,
	MESSAGE_GET_REGION_INFO,
	MESSAGE_GET_REGION_IO_FDS,
	MESSAGE_GET_IRQ_INFO,
	MESSAGE_SET_IRQS,
	MESSAGE_REGION_READ,
	MESSAGE_REGION_WRITE,
	MESSAGE_DMA_READ,
	MESSAGE_DMA_WRITE,
	MESSAGE_RESET,
};

#define MESSAGE_TYPE		0xf
#define MESSAGE_REQUEST		0
#define MESSAGE_REPLY		1
#define MESSAGE_NO_REPLY	(1u << 4)
#define MESSAGE_ERROR		(1u << 5)

struct message_head {
	uint16_t id;
	uint16_t command;
	uint32_t size;		/* with this head */
	uint32_t flags;
	uint32_t error;
};

struct message {
	struct message_head head;
	uint8_t *body;
	size_t length;		/* of the body */
	int fds[MESSAGE_FDS];	/* -1: taken */
	unsigned int fd_count;
	bool fds_lost;		/* more came than a message may have */
};

struct message_out;

struct channel {
	int fd;
	struct message in;
	size_t got;		/* bytes of it, head and body */
	size_t room;		/* of its body */
	struct message_out *out, **out_end;
	size_t out_bytes;
};

void channel_open(struct channel *channel, int fd);
void channel_close(struct channel *channel);

/* 1: channel->in is a whole message, until channel_done(). 0: not yet. -errno: the connection is over. */
int channel_receive(struct channel *channel);
void channel_done(struct channel *channel);

/* Takes descriptor NUMBER of the message that came: it is the caller's to close. */
int channel_take(struct channel *channel, unsigned int number);

/* The body is what parts hold; fd is -1 or goes with it. What cannot be sent now is kept. 0 or -errno. */
int channel_send(struct channel *channel, struct message_head head, const struct iovec *parts,
		 unsigned int part_count, int fd);
int channel_flush(struct channel *channel);

#endif

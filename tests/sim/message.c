// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "message.h"

#define OUT_PARTS	4

struct message_out {
	struct message_out *next;
	size_t sent, length;
	int fd;
	uint8_t data[];
};

void channel_open(struct channel *channel, int fd)
{
	*channel = (struct channel){ .fd = fd };
	channel->out_end = &channel->out;
}

void channel_close(struct channel *channel)
{
	channel_done(channel);
	while (channel->out) {
		struct message_out *out = channel->out;

		channel->out = out->next;
		free(out);
	}
	free(channel->in.body);
	close(channel->fd);
}

static void keep_fds(struct message *message, const struct cmsghdr *control)
{
	size_t count = (control->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(control) + i * sizeof(fd), sizeof(fd));
		if (message->fd_count < MESSAGE_FDS) {
			message->fds[message->fd_count++] = fd;
		} else {
			message->fds_lost = true;
			close(fd);
		}
	}
}

static ssize_t receive(struct channel *channel, void *to, size_t length)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * MESSAGE_FDS * 2)];
	} control;
	struct iovec part = { to, length };
	struct msghdr head = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(channel->fd, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	for (struct cmsghdr *each = CMSG_FIRSTHDR(&head); each; each = CMSG_NXTHDR(&head, each))
		if (each->cmsg_level == SOL_SOCKET && each->cmsg_type == SCM_RIGHTS)
			keep_fds(&channel->in, each);
	if (head.msg_flags & MSG_CTRUNC)
		channel->in.fds_lost = true;
	return got ? got : -ECONNRESET;
}

static int make_room(struct channel *channel)
{
	struct message *in = &channel->in;
	uint8_t *body;

	if (in->head.size < sizeof(in->head) || in->head.size - sizeof(in->head) > MESSAGE_BODY)
		return -EMSGSIZE;
	in->length = in->head.size - sizeof(in->head);
	if (in->length <= channel->room)
		return 0;
	body = realloc(in->body, in->length);
	if (!body)
		return -ENOMEM;
	in->body = body;
	channel->room = in->length;
	return 0;
}

static int receive_head(struct channel *channel)
{
	struct message *in = &channel->in;
	ssize_t got =
		receive(channel, (char *)&in->head + channel->got, sizeof(in->head) - channel->got);

	if (got <= 0)
		return (int)got;
	channel->got += (size_t)got;
	if (channel->got < sizeof(in->head))
		return 0;
	return make_room(channel) ?: 1;
}

int channel_receive(struct channel *channel)
{
	struct message *in = &channel->in;

	if (channel->got < sizeof(in->head)) {
		int error = receive_head(channel);

		if (error <= 0)
			return error;
	}
	while (channel->got < in->head.size) {
		size_t at = channel->got - sizeof(in->head);
		ssize_t got = receive(channel, in->body + at, in->length - at);

		if (got <= 0)
			return (int)got;
		channel->got += (size_t)got;
	}
	return 1;
}

void channel_done(struct channel *channel)
{
	struct message *in = &channel->in;

	for (unsigned int i = 0; i < in->fd_count; i++)
		if (in->fds[i] >= 0)
			close(in->fds[i]);
	in->fd_count = 0;
	in->fds_lost = false;
	channel->got = 0;
}

int channel_take(struct channel *channel, unsigned int number)
{
	int fd = channel->in.fds[number];

	channel->in.fds[number] = -1;
	return fd;
}

static ssize_t send_parts(int to, struct iovec *parts, unsigned int count, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	struct msghdr head = { .msg_iov = parts, .msg_iovlen = count };
	ssize_t sent;

	if (fd >= 0) {
		head.msg_control = &control;
		head.msg_controllen = sizeof(control);
		control.align = (struct cmsghdr){
			.cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof(int)),
		};
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	sent = sendmsg(to, &head, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (sent < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	return sent;
}

static int keep_rest(struct channel *channel, const struct iovec *parts, unsigned int count,
		     size_t sent, int fd)
{
	struct message_out *out;
	size_t length = 0, at = 0;

	for (unsigned int i = 0; i < count; i++)
		length += parts[i].iov_len;
	if (sent == length)
		return 0;
	out = malloc(sizeof(*out) + length);
	if (!out)
		return -ENOMEM;
	for (unsigned int i = 0; i < count; i++) {
		if (parts[i].iov_len)
			memcpy(out->data + at, parts[i].iov_base, parts[i].iov_len);
		at += parts[i].iov_len;
	}
	out->next = NULL;
	out->sent = sent;
	out->length = length;
	out->fd = fd;
	*channel->out_end = out;
	channel->out_end = &out->next;
	channel->out_bytes += length;
	return 0;
}

int channel_send(struct channel *channel, struct message_head head, const struct iovec *parts,
		 unsigned int part_count, int fd)
{
	struct iovec all[OUT_PARTS] = { { &head, sizeof(head) } };
	ssize_t sent = 0;

	if (part_count >= OUT_PARTS)
		return -EINVAL;
	head.size = sizeof(head);
	for (unsigned int i = 0; i < part_count; i++) {
		all[i + 1] = parts[i];
		head.size += (uint32_t)parts[i].iov_len;
	}
	if (!channel->out)
		sent = send_parts(channel->fd, all, part_count + 1, fd);
	if (sent < 0)
		return (int)sent;
	return keep_rest(channel, all, part_count + 1, (size_t)sent, fd);
}

int channel_flush(struct channel *channel)
{
	while (channel->out) {
		struct message_out *out = channel->out;
		struct iovec part = { out->data + out->sent, out->length - out->sent };
		ssize_t sent = send_parts(channel->fd, &part, 1, out->sent ? -1 : out->fd);

		if (sent <= 0)
			return (int)sent;
		out->sent += (size_t)sent;
		if (out->sent < out->length)
			continue;
		channel->out = out->next;
		if (!channel->out)
			channel->out_end = &channel->out;
		channel->out_bytes -= out->length;
		free(out);
	}
	return 0;
}

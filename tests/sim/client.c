// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "client.h"
#include "core.h"
#include "listen.h"
#include "loop.h"
#include "message.h"
#include "request.h"

/* A guest that is emulated by a busy machine answers late. */
#define ANSWER_TIME	30000000
#define AT_ONCE		16

/* Until the version was agreed on, when nothing is mapped. */
#define TRANSFER_UNTOLD	4096

/* Answers that the other side does not take in; then it is not listened to either. */
#define MOST_UNSENT	(4 * MESSAGE_TRANSFER)

struct listener {
	struct function *function;
	int fd;
	char path[sizeof(((struct sockaddr_un *)0)->sun_path)];
	struct listener *next;
};

/* The one access that waits. Requests of all functions are served meanwhile, no other work is. */
struct wait {
	uint16_t id, command;
	bool over;
	int result;
	uint8_t *to;		/* NULL: for a write */
	uint64_t iova;
	size_t length;
};

struct client {
	struct session session;
	struct channel channel;
	uint16_t last_id;
	struct wait *wait;
};

static struct listener *listeners;

static void client_end(struct client *client)
{
	struct function *function = client->session.function;

	if (client->wait) {
		client->wait->result = -ECONNRESET;
		client->wait->over = true;
	}
	loop_remove(client->channel.fd);
	channel_close(&client->channel);
	free(client);
	function_disconnected(function);
	for (struct listener *listener = listeners; listener; listener = listener->next)
		if (listener->function == function)
			loop_change(listener->fd, POLLIN);
}

static void listen_as_sent(struct client *client)
{
	short events = client->channel.out_bytes > MOST_UNSENT ? 0 : POLLIN;

	loop_change(client->channel.fd, (short)(events | (client->channel.out ? POLLOUT : 0)));
}

static int check_reply(const struct message *message, const struct wait *wait)
{
	uint64_t iova, count;

	if (message->head.flags & MESSAGE_ERROR)
		return -EFAULT;
	if (!wait->to)
		return 0;
	if (message->length != sizeof(iova) + sizeof(count) + wait->length)
		return -EPROTO;
	memcpy(&iova, message->body, sizeof(iova));
	memcpy(&count, message->body + sizeof(iova), sizeof(count));
	return iova == wait->iova && count == wait->length ? 0 : -EPROTO;
}

/* One that nobody waits for, not any more or never, is of no use to anyone. */
static void take_reply(struct client *client)
{
	const struct message *message = &client->channel.in;
	struct wait *wait = client->wait;

	if (!wait || wait->over || message->head.id != wait->id ||
	    message->head.command != wait->command)
		return;
	wait->result = check_reply(message, wait);
	if (!wait->result && wait->to)
		memcpy(wait->to, message->body + 2 * sizeof(uint64_t), wait->length);
	wait->over = true;
}

static int send_answer(struct client *client, int error, const struct answer *answer)
{
	const struct iovec parts[2] = {
		{ (void *)answer->head, answer->head_length },
		{ answer->data, answer->data_length },
	};
	struct message_head head = client->channel.in.head;

	if (head.flags & MESSAGE_NO_REPLY)
		return 0;
	head.flags = MESSAGE_REPLY | (error ? MESSAGE_ERROR : 0);
	head.error = (uint32_t)-error;
	if (error)
		return channel_send(&client->channel, head, NULL, 0, -1);
	return channel_send(&client->channel, head, parts, 2, answer->fd);
}

static int take_request(struct client *client)
{
	struct answer answer = { .fd = -1 };
	int error = request_run(&client->session, &answer);

	error = send_answer(client, error, &answer);
	free(answer.data);
	return error;
}

static int take_message(struct client *client)
{
	switch (client->channel.in.head.flags & MESSAGE_TYPE) {
	case MESSAGE_REQUEST:
		return take_request(client);
	case MESSAGE_REPLY:
		take_reply(client);
		return 0;
	}
	return -EPROTO;
}

static int receive(struct client *client)
{
	for (unsigned int i = 0; i < AT_ONCE && client->channel.out_bytes <= MOST_UNSENT; i++) {
		int got = channel_receive(&client->channel), error;

		if (got <= 0)
			return got;
		error = take_message(client);
		channel_done(&client->channel);
		if (error)
			return error;
	}
	return 0;
}

static void client_ready(int fd, short events, void *arg)
{
	struct client *client = arg;
	int error = 0;

	(void)fd;
	if (events & POLLOUT)
		error = channel_flush(&client->channel);
	if (!error && events & POLLIN)
		error = receive(client);
	else if (!error && events & (POLLHUP | POLLERR))
		error = -ECONNRESET;
	if (error && error != -ECONNRESET && error != -EPIPE)
		fprintf(stderr, "sim: %s: connection ended: %s\n", client->session.function->name,
			strerror(-error));
	if (error)
		client_end(client);
	else
		listen_as_sent(client);
}

int client_begin(struct function *function, int fd)
{
	struct client *client = calloc(1, sizeof(*client));

	if (!client || loop_add(fd, POLLIN, client_ready, client)) {
		free(client);
		close(fd);
		return -ENOMEM;
	}
	loop_urgent(fd);
	channel_open(&client->channel, fd);
	client->session = (struct session){
		.function = function, .channel = &client->channel, .transfer = TRANSFER_UNTOLD,
	};
	function_connected(function, client);
	return 0;
}

static void listener_ready(int fd, short events, void *arg)
{
	struct listener *listener = arg;
	int connection = listen_accept(fd);

	(void)events;
	if (connection < 0)
		return;
	if (client_begin(listener->function, connection))
		fprintf(stderr, "sim: %s: no memory for a connection\n", listener->function->name);
	else
		loop_change(fd, 0);
}

static int listener_open(struct listener *listener)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	memcpy(address.sun_path, listener->path, sizeof(address.sun_path));
	listener->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (listener->fd < 0)
		return -errno;
	unlink(listener->path);
	if (bind(listener->fd, (struct sockaddr *)&address, sizeof(address)) ||
	    listen(listener->fd, 1))
		return -errno;
	return loop_add(listener->fd, POLLIN, listener_ready, listener);
}

int client_listen(struct function *function, const char *directory)
{
	struct listener *listener = calloc(1, sizeof(*listener));
	int length, error;

	if (!listener)
		return -ENOMEM;
	listener->function = function;
	listener->fd = -1;
	length = snprintf(listener->path, sizeof(listener->path), "%s/%s", directory,
			  function->name);
	error = length < (int)sizeof(listener->path) ? listener_open(listener) : -ENAMETOOLONG;
	if (error) {
		if (listener->fd >= 0)
			close(listener->fd);
		free(listener);
		return error;
	}
	loop_urgent(listener->fd);
	listener->next = listeners;
	listeners = listener;
	return 0;
}

void clients_end(void)
{
	for (struct function *function = functions; function; function = function->next)
		if (function->client)
			client_end(function->client);
	while (listeners) {
		struct listener *listener = listeners;

		listeners = listener->next;
		listen_end(listener->fd);
		unlink(listener->path);
		free(listener);
	}
}

static bool is_over(void *arg)
{
	const struct wait *wait = arg;

	return wait->over;
}

static int ask(struct client *client, struct wait *wait, const void *data)
{
	uint64_t place[2] = { wait->iova, wait->length };
	struct iovec parts[2] = { { place, sizeof(place) }, { (void *)data, wait->length } };
	struct message_head head = { .id = wait->id,
				     .command = wait->command,
				     .flags = MESSAGE_REQUEST };
	int error = channel_send(&client->channel, head, parts, data ? 2 : 1, -1);

	if (!error)
		listen_as_sent(client);
	return error;
}

static int transfer_some(struct function *function, struct wait *wait, const void *data)
{
	struct client *client = function->client;
	int error;

	wait->id = ++client->last_id;
	error = ask(client, wait, data);
	if (error)
		return error;
	client->wait = wait;
	error = loop_serve(is_over, wait, ANSWER_TIME);
	/* The connection may be gone, and another one there, which knows nothing of this. */
	if (function->client && function->client->wait == wait)
		function->client->wait = NULL;
	if (error == -ETIMEDOUT)
		fprintf(stderr, "sim: %s: QEMU did not answer for 0x%llx\n", function->name,
			(unsigned long long)wait->iova);
	return error ?: wait->result;
}

int client_transfer(struct function *function, bool write, uint64_t iova, void *data, size_t length)
{
	uint8_t *at = data;

	while (length) {
		struct wait wait = {
			.command = write ? MESSAGE_DMA_WRITE : MESSAGE_DMA_READ,
			.to = write ? NULL : at,
			.iova = iova,
			.length = length,
		};
		int error;

		if (!function_is_master(function))
			return -ECONNRESET;
		if (wait.length > function->client->session.transfer)
			wait.length = function->client->session.transfer;
		error = transfer_some(function, &wait, write ? at : NULL);
		if (error)
			return error;
		at += wait.length;
		iova += wait.length;
		length -= wait.length;
	}
	return 0;
}

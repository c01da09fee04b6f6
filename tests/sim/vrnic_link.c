// SPDX-License-Identifier: GPL-2.0-only
/*
 * The socket to another server, which may send anything: a frame that is not sound, or a peer that
 * does not read, ends the connection. Then one side listens again and the other tries again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

#include "listen.h"
#include "loop.h"
#include "vrnic.h"
#include "vrnic_nic.h"

#define RETRY_TIME	200000		/* microseconds between attempts to connect */
#define SOFT_LIMIT	(1u << 20)	/* queued bytes that hold back who sends data */
#define HARD_LIMIT	(16u << 20)	/* ... that end the connection */
#define TURN		(1u << 20)	/* bytes read before others have their turn */
#define MOST_LIDS	256

static struct {
	bool used, listens;
	struct sockaddr_un address;
	int listener;			/* -1: none */
	int fd;				/* -1: not connected */
	bool greeted;			/* the peer's LIDs are known */
	bool full;			/* reads wait for a function's queue */
	unsigned int first_lid, lids;
	struct frames out;
	size_t out_bytes;
	size_t out_done;		/* of the first frame */
	struct frame_head head;		/* of what comes in */
	struct frame *in;		/* NULL: its head is not there yet */
	size_t in_done;			/* of the head, then of the payload */
} peer = { .listener = -1, .fd = -1, .out = TAILQ_HEAD_INITIALIZER(peer.out) };

static void connect_later(void);

bool link_is_used(void)
{
	return peer.used;
}

bool link_is_up(void)
{
	return peer.fd >= 0 && peer.greeted;
}

bool link_has_room(void)
{
	return peer.out_bytes < SOFT_LIMIT;
}

static void tell_ports(void)
{
	struct vrnic *nic;

	TAILQ_FOREACH(nic, &vrnics, link) {
		nic->port_event = true;
		nic_defer(nic);
	}
	fabric_wake();
}

static void forget_frames(void)
{
	struct frame *frame;

	while ((frame = TAILQ_FIRST(&peer.out))) {
		TAILQ_REMOVE(&peer.out, frame, link);
		free(frame);
	}
	free(peer.in);
	peer.in = NULL;
	peer.in_done = 0;
	peer.out_bytes = 0;
	peer.out_done = 0;
	peer.full = false;
}

static void hang_up(const char *why)
{
	bool was_up = link_is_up();

	if (peer.fd < 0)
		return;
	fprintf(stderr, "sim: fabric %s: disconnected: %s\n", peer.address.sun_path, why);
	loop_remove(peer.fd);
	close(peer.fd);
	peer.fd = -1;
	peer.greeted = false;
	forget_frames();
	if (was_up)
		tell_ports();
	if (!peer.listens)
		connect_later();
}

static void set_events(void)
{
	short events = peer.full ? 0 : POLLIN;

	if (!TAILQ_EMPTY(&peer.out))
		events |= POLLOUT;
	loop_change(peer.fd, events);
}

static void queue(struct frame *frame)
{
	TAILQ_INSERT_TAIL(&peer.out, frame, link);
	peer.out_bytes += sizeof(frame->head) + frame->head.length;
	set_events();
}

static void overflowed(void *arg)
{
	(void)arg;
	if (peer.out_bytes > HARD_LIMIT)
		hang_up("the peer does not read");
}

void link_send(struct frame *frame)
{
	if (peer.out_bytes > HARD_LIMIT) {
		free(frame);
		return;
	}
	queue(frame);
	/* Who sends is in the middle of its work. */
	if (peer.out_bytes > HARD_LIMIT)
		loop_defer(overflowed, &peer);
}

void link_room_in(void)
{
	if (!peer.full || peer.fd < 0)
		return;
	peer.full = false;
	set_events();
}

static void greet(void)
{
	struct frame *frame = frame_new(0);
	struct vrnic *nic;

	if (!frame) {
		hang_up("no memory");
		return;
	}
	frame->head.op = FRAME_HELLO;
	frame->head.key = FRAME_MAGIC;
	TAILQ_FOREACH(nic, &vrnics, link) {
		if (!frame->head.psn)
			frame->head.source_lid = nic->lid;
		frame->head.psn++;
	}
	queue(frame);
}

/* Bytes of head and payload that are still to be written. */
static ssize_t write_first(struct frame *frame)
{
	size_t head = sizeof(frame->head), done = peer.out_done;
	struct iovec parts[2] = {
		{ (char *)&frame->head + (done < head ? done : head),
		  done < head ? head - done : 0 },
		{ frame->payload + (done > head ? done - head : 0),
		  frame->head.length - (done > head ? done - head : 0) },
	};
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	return sendmsg(peer.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void write_some(void)
{
	struct frame *frame;

	while ((frame = TAILQ_FIRST(&peer.out))) {
		size_t size = sizeof(frame->head) + frame->head.length;
		ssize_t count = write_first(frame);

		if (count < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (count < 0) {
			hang_up(strerror(errno));
			return;
		}
		peer.out_done += count;
		if (peer.out_done < size)
			continue;
		TAILQ_REMOVE(&peer.out, frame, link);
		free(frame);
		peer.out_bytes -= size;
		peer.out_done = 0;
	}
	set_events();
	if (link_has_room())
		fabric_wake();
}

static const char *meet(const struct frame_head *head)
{
	unsigned int lid;

	if (head->op != FRAME_HELLO || head->key != FRAME_MAGIC)
		return "the peer is no fabric of this version";
	if (!head->psn || head->psn > MOST_LIDS || !head->source_lid ||
	    head->source_lid + head->psn > 0xc000)
		return "the peer's LIDs are none";
	for (lid = head->source_lid; lid < head->source_lid + head->psn; lid++)
		if (fabric_find(lid))
			return "the peer has a LID of this server, give one of them another --lid";
	peer.first_lid = head->source_lid;
	peer.lids = head->psn;
	peer.greeted = true;
	tell_ports();
	return NULL;
}

static void deliver(struct frame *frame)
{
	struct vrnic *nic = fabric_find(frame->head.destination_lid);

	if (nic)
		fabric_enqueue(nic, frame);
	else if (fabric_turn_back(frame))
		link_send(frame);
	else
		free(frame);
}

/* NULL, or what is wrong with it. */
static const char *take_head(void)
{
	if (!frame_is_sound(&peer.head))
		return "a frame is malformed";
	if (!peer.greeted)
		return meet(&peer.head);
	if (peer.head.op == FRAME_HELLO)
		return "a second greeting";
	/* Nobody there speaks for this server, or for a third one - but to say that there is none. */
	if (peer.head.op != FRAME_NO_SUCH && (peer.head.source_lid < peer.first_lid ||
					      peer.head.source_lid >= peer.first_lid + peer.lids))
		return "a frame from a LID that is not the peer's";
	peer.in = frame_new(peer.head.length);
	if (!peer.in)
		return "no memory";
	peer.in->head = peer.head;
	return NULL;
}

static bool someone_is_full(void)
{
	struct vrnic *nic;

	TAILQ_FOREACH(nic, &vrnics, link)
		if (nic->inbound_bytes >= NIC_INBOUND)
			return true;
	return false;
}

static void finish_frame(void)
{
	struct frame *frame = peer.in;

	peer.in = NULL;
	peer.in_done = 0;
	deliver(frame);
	if (someone_is_full()) {
		peer.full = true;
		set_events();
	}
}

/* Bytes that came, 0 when there is nothing more now or the connection is gone. */
static size_t read_some(void)
{
	void *to = peer.in ? peer.in->payload + peer.in_done : (uint8_t *)&peer.head + peer.in_done;
	size_t wanted = (peer.in ? peer.in->head.length : sizeof(peer.head)) - peer.in_done;
	ssize_t count = wanted ? recv(peer.fd, to, wanted, MSG_DONTWAIT) : 0;
	const char *wrong = NULL;

	if (count < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (count < 0 || (!count && wanted)) {
		hang_up(count ? strerror(errno) : "closed by the peer");
		return 0;
	}
	peer.in_done += count;
	if (!peer.in && peer.in_done == sizeof(peer.head)) {
		peer.in_done = 0;
		wrong = take_head();
	}
	if (wrong) {
		hang_up(wrong);
		return 0;
	}
	if (peer.in && peer.in_done == peer.in->head.length)
		finish_frame();
	return count;
}

static void peer_ready(int fd, short events, void *arg)
{
	size_t sum = 0, count = 1;

	(void)arg;
	if (events & POLLOUT)
		write_some();
	if (peer.fd != fd || !(events & (POLLIN | POLLHUP | POLLERR)))
		return;
	/* A hang-up is seen by reading, also while nothing is wanted. */
	if (events & (POLLHUP | POLLERR) && !(events & POLLIN)) {
		hang_up("closed by the peer");
		return;
	}
	while (count && !peer.full && peer.fd == fd && sum < TURN) {
		count = read_some();
		sum += count;
	}
}

static void begin(int fd)
{
	peer.fd = fd;
	if (loop_add(fd, POLLIN, peer_ready, NULL)) {
		close(fd);
		peer.fd = -1;
		if (!peer.listens)
			connect_later();
		return;
	}
	greet();
}

static void listener_ready(int listener, short events, void *arg)
{
	int fd = listen_accept(listener);

	(void)events;
	(void)arg;
	if (fd < 0)
		return;
	if (peer.fd >= 0) {
		fprintf(stderr, "sim: fabric %s: one more peer was refused\n",
			peer.address.sun_path);
		close(fd);
		return;
	}
	begin(fd);
}

static void try_to_connect(void *arg)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	(void)arg;
	if (fd >= 0 &&
	    !connect(fd, (struct sockaddr *)&peer.address, sizeof(peer.address))) {
		begin(fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	connect_later();
}

static void connect_later(void)
{
	if (!loop_timer(RETRY_TIME, try_to_connect, &peer))
		fprintf(stderr, "sim: fabric %s: no memory to connect again\n",
			peer.address.sun_path);
}

static int listen_at(void)
{
	struct stat stat;
	int fd, error;

	/* What an earlier server left. */
	if (!lstat(peer.address.sun_path, &stat) && S_ISSOCK(stat.st_mode))
		unlink(peer.address.sun_path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (bind(fd, (struct sockaddr *)&peer.address, sizeof(peer.address)) || listen(fd, 4)) {
		error = -errno;
		close(fd);
		return error;
	}
	error = loop_add(fd, POLLIN, listener_ready, NULL);
	if (error) {
		close(fd);
		return error;
	}
	peer.listener = fd;
	return 0;
}

int vrnic_fabric_open(const char *spec)
{
	const char *path = strchr(spec, ':');
	bool listens = !strncmp(spec, "listen:", strlen("listen:"));

	if (!listens && strncmp(spec, "connect:", strlen("connect:")))
		return -EINVAL;
	path++;
	if (!*path || strlen(path) >= sizeof(peer.address.sun_path))
		return -EINVAL;
	peer.used = true;
	peer.listens = listens;
	peer.address.sun_family = AF_UNIX;
	strcpy(peer.address.sun_path, path);
	if (listens)
		return listen_at();
	connect_later();
	return 0;
}

void vrnic_fabric_close(void)
{
	if (!peer.used)
		return;
	peer.listens = true;	/* nobody connects again */
	hang_up("the server ends");
	loop_forget(&peer);
	if (peer.listener >= 0) {
		listen_end(peer.listener);
		unlink(peer.address.sun_path);
		peer.listener = -1;
	}
	peer.used = false;
}

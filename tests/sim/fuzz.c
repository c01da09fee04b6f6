// SPDX-License-Identifier: GPL-2.0-only
/*
 * Talks to the server, in a process of its own, as no QEMU would: random and spoilt messages, replies that
 * nobody asked for, descriptors of all kinds, files that become shorter, connections that end anywhere. In
 * the end the server must still answer, must have given back all that it was sent, and end as it should.
 * The same seed sends the same.
 */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

#define TARGETS		4
#define PATIENCE	60000	/* ms */
#define CHECK_EVERY	5000

struct counts counts;
uint8_t *fuzz_ram;
int fuzz_ram_fd, fuzz_bar_fd;

static const char *const faults[] = {
	"drop", "mirror", "read-fail", "one-way", "late", "page-error", "high-fail",
	"bar-unmapped", "no-ats", "atc-stale", "bounce", "gone", "cqe-error", "slow", "hang",
};

static char directory[sizeof("/tmp/sim-fuzz-XXXXXX")];
static pid_t server;
static struct target targets[TARGETS] = {
	{ .path = "vgpu0" }, { .path = "vgpu1" }, { .path = "vrnic0", .is_nic = true },
	{ .path = "vrnic1", .is_nic = true },
};

static void fail(const char *what)
{
	fprintf(stderr, "fuzz: %s after %" PRIu64 " messages\n", what, counts.sent);
	if (server)
		kill(server, SIGKILL);
	exit(1);
}

static int connect_to(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	for (int i = 0; fd >= 0 && i < PATIENCE / 10; i++) {
		if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
			return fd;
		usleep(10000);
	}
	fail("the server takes no connections");
	return -1;
}

static void start_server(const char *program)
{
	strcpy(directory, "/tmp/sim-fuzz-XXXXXX");
	if (!mkdtemp(directory))
		fail("no directory");
	server = fork();
	if (server < 0)
		fail("no process");
	if (server)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(program, program, "--dir", directory, "vgpu,aperture=1M,memory=2M",
	      "vgpu,aperture=1M,no-ats", "vrnic", "vrnic,no-ats", (char *)NULL);
	perror(program);
	_exit(127);
}

static void make_memory(void)
{
	fuzz_ram_fd = memfd_create("memory-backend-memfd", MFD_CLOEXEC);
	fuzz_bar_fd = memfd_create("bar", MFD_CLOEXEC);
	if (fuzz_ram_fd < 0 || fuzz_bar_fd < 0 || ftruncate(fuzz_ram_fd, RAM_SIZE) ||
	    ftruncate(fuzz_bar_fd, BAR_SIZE))
		fail("no memory");
	fuzz_ram = mmap(NULL, RAM_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fuzz_ram_fd, 0);
	if (fuzz_ram == MAP_FAILED)
		fail("no memory");
}

static void disconnect(struct target *target)
{
	close(target->fd);
	free(target->body);
	target->body = NULL;
	target->fd = -1;
}

static void begin(struct target *target)
{
	target->fd = connect_to(target->path);
	target->step = 0;
	target->nic_step = 0;
	target->length = 0;
	target->got = 0;
	target->is_calm = fuzz_chance(70);
	counts.connections++;
}

static int wait_for(struct target *target, short events)
{
	struct pollfd ready = { .fd = target->fd, .events = events };

	if (poll(&ready, 1, PATIENCE) <= 0)
		fail("the server neither reads nor answers");
	return ready.revents;
}

static bool serve(struct target *target);

/* False: the server ended the connection, as it may when it cannot make sense of what came. */
static bool send_bytes(struct target *target, const void *bytes, size_t length, const int *fds,
		       unsigned int fd_count)
{
	const uint8_t *at = bytes;
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int) * FUZZ_FDS)];
	} control = { 0 };

	while (length) {
		struct iovec part = { (void *)at, length };
		struct msghdr head = { .msg_iov = &part, .msg_iovlen = 1 };
		ssize_t sent;

		if (fd_count) {
			head.msg_control = &control;
			head.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
			control.align = (struct cmsghdr){
				.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
				.cmsg_len = CMSG_LEN(sizeof(int) * fd_count),
			};
			memcpy(CMSG_DATA(&control.align), fds, sizeof(int) * fd_count);
		}
		sent = sendmsg(target->fd, &head, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (sent < 0 && errno == EAGAIN) {
			if (wait_for(target, POLLIN | POLLOUT) & POLLIN && !serve(target))
				return false;
			continue;
		}
		if (sent < 0)
			return false;
		fd_count = 0;
		at += sent;
		length -= (size_t)sent;
	}
	return true;
}

static bool send_packet(struct target *target, struct packet *packet, const uint8_t *data,
			size_t data_length)
{
	size_t all = sizeof(packet->head) + packet->length + data_length;
	uint8_t *bytes = malloc(all);
	bool sent;

	if (!bytes)
		fail("no memory");
	if (!packet->head.size)
		packet->head.size = (uint32_t)all;
	memcpy(bytes, &packet->head, sizeof(packet->head));
	memcpy(bytes + sizeof(packet->head), packet->body, packet->length);
	if (data_length)
		memcpy(bytes + sizeof(packet->head) + packet->length, data, data_length);
	sent = send_bytes(target, bytes, all, packet->fds, packet->fd_count);
	for (unsigned int i = 0; i < packet->fd_count; i++)
		close(packet->fds[i]);
	free(bytes);
	return sent;
}

static bool answer(struct target *target)
{
	struct packet packet;
	size_t length;
	uint8_t *data;
	bool sent;

	counts.requests++;
	if (target->in.size < sizeof(target->in) + 16)
		fail("the server asks for nothing");
	fuzz_answer(target, &packet, &data, &length);
	packet.head.size = 0;
	sent = send_packet(target, &packet, data, length);
	free(data);
	return sent;
}

static bool take(struct target *target)
{
	uint32_t flags = target->in.flags;

	target->got = 0;
	if ((flags & MESSAGE_TYPE) == MESSAGE_REQUEST)
		return answer(target);
	if (flags & MESSAGE_ERROR)
		counts.refusals++;
	else
		counts.answers++;
	return true;
}

/* Descriptors that come along are BARs of the server: closed at once. */
static ssize_t receive(struct target *target, void *to, size_t length)
{
	char control[CMSG_SPACE(sizeof(int) * FUZZ_FDS)] __attribute__((aligned(8)));
	struct iovec part = { to, length };
	struct msghdr head = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control),
	};
	ssize_t got = recvmsg(target->fd, &head, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	for (struct cmsghdr *each = got < 0 ? NULL : CMSG_FIRSTHDR(&head); each;
	     each = CMSG_NXTHDR(&head, each))
		for (size_t i = 0; i < (each->cmsg_len - CMSG_LEN(0)) / sizeof(int); i++)
			close(((int *)CMSG_DATA(each))[i]);
	return got;
}

static bool serve(struct target *target)
{
	for (;;) {
		size_t head = sizeof(target->in);
		ssize_t got;

		if (target->got < head)
			got = receive(target, (char *)&target->in + target->got,
				      head - target->got);
		else
			got = receive(target, target->body + target->got - head,
				      target->in.size - target->got);
		if (got < 0 && errno == EAGAIN)
			return true;
		if (got <= 0)
			return false;
		target->got += (size_t)got;
		if (target->got == head) {
			if (target->in.size < head || target->in.size > head + MESSAGE_BODY)
				fail("the server sends nonsense");
			free(target->body);
			target->body = malloc(target->in.size);
		}
		if (target->got >= head && target->got == target->in.size && !take(target))
			return false;
	}
}

static void serve_all(void)
{
	for (unsigned int i = 0; i < TARGETS; i++)
		if (targets[i].fd >= 0 && !serve(&targets[i]))
			disconnect(&targets[i]);
}

static void ask_control(const char *line)
{
	char text[4096];
	int fd = connect_to("control");
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	unsigned int waits = 0;
	size_t length = 0;

	if (write(fd, line, strlen(line)) != (ssize_t)strlen(line))
		fail("the server takes no command");
	while (length < 2 || memcmp(text + length - 2, ".\n", 2)) {
		ssize_t got;

		if (poll(&ready, 1, 10) == 0) {
			if (++waits > PATIENCE / 10)
				fail("the server answers no command");
			serve_all();
			continue;
		}
		got = read(fd, text, sizeof(text));
		if (got <= 0)
			fail("the server answers no command");
		length = (size_t)got;
	}
	close(fd);
}

static void change_faults(void)
{
	char line[128];

	snprintf(line, sizeof(line), "fault %s %s all\n",
		 faults[fuzz_below(sizeof(faults) / sizeof(faults[0]))],
		 fuzz_chance(15) ? "on" : "off");
	ask_control(line);
}

/* Files in use become shorter and long again. */
static void cut_memory(void)
{
	if (ftruncate(fuzz_bar_fd, 4096) || ftruncate(fuzz_bar_fd, BAR_SIZE))
		fail("no memory");
}

static void send_one(struct target *target)
{
	struct packet packet;

	if (target->fd < 0)
		begin(target);
	fuzz_make(target, &packet);
	if (!target->is_calm ? fuzz_chance(3) : !fuzz_below(1000))
		fuzz_spoil(&packet);
	counts.sent++;
	if (!send_packet(target, &packet, NULL, 0) || fuzz_below(2000) == 0) {
		disconnect(target);
		return;
	}
	if (packet.starts_work)
		poll(&(struct pollfd){ .fd = target->fd, .events = POLLIN }, 1, 5);
}

static unsigned int fds_of_server(void)
{
	char path[64];
	unsigned int count = 0;
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", server);
	fds = opendir(path);
	if (!fds)
		fail("the server is gone");
	while (readdir(fds))
		count++;
	closedir(fds);
	return count;
}

static bool maps_files(void)
{
	char path[64], line[512];
	bool found = false;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", server);
	maps = fopen(path, "r");
	if (!maps)
		fail("the server is gone");
	while (fgets(line, sizeof(line), maps))
		found |= strstr(line, "memory-backend-memfd") || strstr(line, "memfd:bar") ||
			 strstr(line, "memfd:other");
	fclose(maps);
	return found;
}

static void end_server(unsigned int fds_before)
{
	int status;

	for (unsigned int i = 0; i < TARGETS; i++)
		if (targets[i].fd >= 0)
			disconnect(&targets[i]);
	ask_control("faults\n");
	usleep(500000);
	if (fds_of_server() != fds_before)
		fail("the server keeps descriptors");
	if (maps_files())
		fail("the server keeps memory");
	kill(server, SIGTERM);
	if (waitpid(server, &status, 0) != server || !WIFEXITED(status) || WEXITSTATUS(status)) {
		server = 0;
		fail("the server did not end well");
	}
}

static void remove_directory(void)
{
	static const char *const left[] = { "access.log", "access.log.1" };
	char path[128];

	for (unsigned int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, left[i]);
		unlink(path);
	}
	if (rmdir(directory))
		fail("the server leaves files behind");
}

static void run(uint64_t messages)
{
	unsigned int fds_before;

	ask_control("functions\n");
	usleep(200000);
	fds_before = fds_of_server();
	while (counts.sent < messages) {
		send_one(&targets[fuzz_below(TARGETS)]);
		serve_all();
		if (fuzz_below(500) == 0)
			change_faults();
		if (fuzz_below(1000) == 0)
			cut_memory();
	}
	end_server(fds_before);
}

int main(int count, char **words)
{
	uint64_t seed = 1, messages = 100000;
	int option;

	while ((option = getopt(count, words, "s:n:")) >= 0) {
		if (option == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (option == 'n')
			messages = strtoull(optarg, NULL, 0);
		else
			return 2;
	}
	if (optind + 1 != count) {
		fputs("usage: fuzz [-s SEED] [-n MESSAGES] SIM\n", stderr);
		return 2;
	}
	for (unsigned int i = 0; i < TARGETS; i++)
		targets[i].fd = -1;
	signal(SIGPIPE, SIG_IGN);
	fuzz_seed(seed);
	make_memory();
	start_server(words[optind]);
	run(messages);
	remove_directory();
	printf("fuzz: seed %" PRIu64 ": %" PRIu64 " messages, %" PRIu64 " answers, %" PRIu64
	       " refusals, %" PRIu64 " requests of the server, %" PRIu64 " connections\n",
	       seed, counts.sent, counts.answers, counts.refusals, counts.requests,
	       counts.connections);
	return counts.answers && counts.refusals && counts.requests ? 0 : 1;
}

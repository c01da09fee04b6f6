// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vpeer/vpeer.h>

#include "memory.h"

#define APART	(4UL << 20)

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	_exit(1);
}

static void take_window(struct memory *memory, const char *pci)
{
	struct vpeer_aperture *aperture;
	struct vpeer_window *window;
	struct vpeer_error error;
	void *mapped;

	if (vpeer_open(&aperture, pci, &error) ||
	    vpeer_window_alloc(aperture, SIZE, VPEER_ANY_OFFSET, &window, &error) ||
	    vpeer_window_map(window, 0, SIZE, PROT_READ | PROT_WRITE, &mapped, &error))
		die("no window: %s", error.message);
	memory->address = mapped;
	memory->offset = vpeer_window_offset(window);
}

static void take_plain(struct memory *memory, const char *pci, unsigned int number)
{
	char path[128];
	int fd;

	memory->offset = number * APART;
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/resource2_wc", pci);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		die("%s: %m", path);
	memory->address = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			       (off_t)memory->offset);
	if (memory->address == MAP_FAILED)
		die("mmap of %s: %m", path);
	close(fd);
}

void memory_take(struct memory *memory, const char *pci, unsigned int number)
{
	if (getenv("INTEROP_PLAIN"))
		take_plain(memory, pci, number);
	else
		take_window(memory, pci);
	printf("%s %llu\n", number ? "target" : "initiator", (unsigned long long)memory->offset);
	fflush(stdout);
}

void memory_fill(const struct memory *memory, const char *file, size_t from)
{
	static char bytes[HALF];
	int fd = open(file, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || pread(fd, bytes, HALF, (off_t)from) != HALF)
		die("%s: cannot read %lu bytes from byte %zu on", file, HALF, from);
	close(fd);
	memcpy(memory->address, bytes, HALF);
	memset(memory->address + HALF, 0, HALF);
}

void peer_start(struct peer *peer)
{
	int sockets[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets))
		die("socketpair: %m");
	pid = fork();
	if (pid < 0)
		die("fork: %m");
	peer->is_target = pid == 0;
	peer->socket = sockets[peer->is_target];
	close(sockets[!peer->is_target]);
	if (peer->is_target)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
}

int peer_end(struct peer *peer)
{
	int status;

	if (peer->is_target)
		return 0;
	return wait(&status) < 0 || status;
}

void peer_send(const struct peer *peer, const void *data, size_t size)
{
	if (send(peer->socket, data, size, MSG_NOSIGNAL) != (ssize_t)size)
		die("the other process has gone");
}

void peer_receive(const struct peer *peer, void *data, size_t size)
{
	if (recv(peer->socket, data, size, MSG_WAITALL) != (ssize_t)size)
		die("the other process has gone");
}

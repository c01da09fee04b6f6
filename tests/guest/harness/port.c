// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <sys/file.h>

#include "aperture.h"
#include "harness.h"
#include "port.h"

#define LAB	"/run/vpeer-lab/"
#define PORTS	"/sys/class/virtio-ports/"

bool port_find(const char *name, char *node, size_t size)
{
	char wanted[64], found[64];
	bool there = false;
	glob_t names;

	snprintf(wanted, sizeof(wanted), "vpeer.%s\n", name);
	if (glob(PORTS "*/name", 0, NULL, &names))
		return false;
	for (size_t i = 0; i < names.gl_pathc && !there; i++) {
		const char *port = names.gl_pathv[i] + strlen(PORTS);

		sysfs_read(names.gl_pathv[i], found, sizeof(found));
		there = !strcmp(found, wanted);
		if (there)
			snprintf(node, size, "/dev/%.*s", (int)strcspn(port, "/"), port);
	}
	globfree(&names);
	return there;
}

int port_open(const char *name, int *lock)
{
	char node[64], path[64];
	int fd;

	CHECK(port_find(name, node, sizeof(node)));
	snprintf(path, sizeof(path), LAB "%s.lock", name);
	*lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	CHECK_OK(*lock);
	CHECK_OK(flock(*lock, LOCK_EX));
	fd = open(node, O_RDWR | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}

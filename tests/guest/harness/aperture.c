// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"

const char *aperture_pci(void)
{
	const char *pci = getenv("VPEER_AP_PCI");

	if (!pci || !*pci)
		test_skip("no aperture: VPEER_AP_PCI is not set");
	return pci;
}

static char chosen[16] = "*";

void aperture_choose(int number)
{
	if (number < 0)
		strcpy(chosen, "*");
	else
		snprintf(chosen, sizeof(chosen), "%d", number);
}

/* Directory of the aperture in sysfs; "" while it is not attached. */
static const char *aperture_dir(void)
{
	static char dir[512];
	char pattern[128];
	glob_t found;

	snprintf(pattern, sizeof(pattern),
		 "/sys/bus/pci/devices/%s/vpeer/vpeer%s", aperture_pci(), chosen);
	dir[0] = '\0';
	if (!glob(pattern, 0, NULL, &found)) {
		snprintf(dir, sizeof(dir), "%s", found.gl_pathv[0]);
		globfree(&found);
	}
	return dir;
}

const char *aperture_node(void)
{
	static char node[64];
	const char *dir = aperture_dir();

	node[0] = '\0';
	if (*dir)
		snprintf(node, sizeof(node), "/dev/%s", strrchr(dir, '/') + 1);
	return node;
}

int aperture_open(void)
{
	int fd = open(aperture_node(), O_RDWR | O_CLOEXEC);

	CHECK_OK(fd);
	return fd;
}

int control_open(void)
{
	int fd = open("/dev/vpeerctl", O_RDWR | O_CLOEXEC);

	CHECK_OK(fd);
	return fd;
}

bool sysfs_read(const char *path, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	text[0] = '\0';
	if (fd < 0)
		return false;
	len = read(fd, text, size - 1);
	close(fd);
	if (len < 0)
		return false;
	text[len] = '\0';
	return true;
}

bool sysfs_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = write(fd, text, strlen(text));
	close(fd);
	return len == (ssize_t)strlen(text);
}

uint64_t sysfs_u64(const char *dir, const char *attribute)
{
	char path[640], text[64];

	snprintf(path, sizeof(path), "%s/%s", dir, attribute);
	if (!sysfs_read(path, text, sizeof(text)))
		return 0;
	return strtoull(text, NULL, 0);
}

uint64_t aperture_stat(const char *attribute)
{
	const char *dir = aperture_dir();

	CHECK(*dir);
	return sysfs_u64(dir, attribute);
}

bool aperture_all_free(void)
{
	return aperture_stat("bytes_free") == aperture_stat("size");
}

bool pci_bound(const char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver", pci);
	return !access(path, F_OK);
}

static void function_write(const char *file, const char *text)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/%s", aperture_pci(), file);
	CHECK(sysfs_write(path, text));
}

void aperture_reset_by(const char *method)
{
	function_write("reset_method", method);
}

void aperture_reset(const char *method)
{
	aperture_reset_by(method);
	function_write("reset", "1");
}

static void parse_pci(const char *pci, uint32_t *domain, uint8_t *bus, uint8_t *devfn)
{
	unsigned int d, b, device, function;

	CHECK_EQ(sscanf(pci, "%x:%x:%x.%x", &d, &b, &device, &function), 4);
	*domain = d;
	*bus = b;
	*devfn = device << 3 | function;
}

int control_attach_range(const char *pci, uint8_t bar, uint32_t flags,
			 uint64_t offset, uint64_t size, uint32_t *reason)
{
	struct vpeer_attach arg = {
		.argsz = sizeof(arg),
		.flags = flags,
		.bar = bar,
		.range_offset = offset,
		.range_size = size,
	};
	int fd = control_open(), ret, error;

	parse_pci(pci, &arg.domain, &arg.bus, &arg.devfn);
	ret = ioctl(fd, VPEER_IOCTL_ATTACH, &arg);
	error = errno;
	close(fd);
	if (reason)
		*reason = arg.reason;
	errno = error;
	return ret ? ret : (int)arg.index;
}

int control_attach(const char *pci, uint8_t bar, uint32_t flags, uint32_t *reason)
{
	int ret = control_attach_range(pci, bar, flags, 0, 0, reason);

	return ret < 0 ? ret : 0;
}

int control_detach(const char *pci, uint64_t *pinned, uint32_t *reason)
{
	struct vpeer_detach arg = { .argsz = sizeof(arg) };
	int fd = control_open(), ret, error;

	parse_pci(pci, &arg.domain, &arg.bus, &arg.devfn);
	ret = ioctl(fd, VPEER_IOCTL_DETACH, &arg);
	error = errno;
	close(fd);
	if (pinned)
		*pinned = arg.pinned_bytes;
	if (reason)
		*reason = arg.reason;
	errno = error;
	return ret;
}

/* Lines read "address barN start size pinned". */
uint64_t quarantine_bytes(void)
{
	char text[4096], *line, *rest = text;
	unsigned long long size;
	uint64_t bytes = 0;

	sysfs_read("/sys/class/misc/vpeerctl/quarantine", text, sizeof(text));
	while ((line = strsep(&rest, "\n")))
		if (sscanf(line, "%*s %*s %*s %llu", &size) == 1)
			bytes += size;
	return bytes;
}

void module_parameter(const char *name, uint64_t value)
{
	char path[128], text[32];

	snprintf(path, sizeof(path), "/sys/module/vpeer/parameters/%s", name);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	CHECK(sysfs_write(path, text));
}

uint64_t window_alloc(int fd, uint64_t size)
{
	struct vpeer_window_alloc arg = { .argsz = sizeof(arg), .size = size };

	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg));
	return arg.offset;
}

int window_alloc_at(int fd, uint64_t offset, uint64_t size, uint32_t *reason)
{
	struct vpeer_window_alloc arg = {
		.argsz = sizeof(arg),
		.flags = VPEER_ALLOC_FIXED,
		.offset = offset,
		.size = size,
	};
	int ret = ioctl(fd, VPEER_IOCTL_WINDOW_ALLOC, &arg);

	if (reason)
		*reason = arg.reason;
	return ret;
}

int window_free(int fd, uint64_t offset)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .offset = offset };

	return ioctl(fd, VPEER_IOCTL_WINDOW_FREE, &arg);
}

int window_revoke(int fd, uint64_t offset, uint32_t timeout_ms, uint64_t *pinned)
{
	struct vpeer_window_op arg = {
		.argsz = sizeof(arg),
		.offset = offset,
		.timeout_ms = timeout_ms,
	};
	int ret = ioctl(fd, VPEER_IOCTL_WINDOW_REVOKE, &arg);

	if (pinned)
		*pinned = arg.pinned_bytes;
	return ret;
}

struct vpeer_window_info window_info(int fd, uint64_t offset)
{
	struct vpeer_window_info arg = { .argsz = sizeof(arg), .offset = offset };

	CHECK_OK(ioctl(fd, VPEER_IOCTL_WINDOW_INFO, &arg));
	return arg;
}

void *window_map(int fd, uint64_t offset, uint64_t size)
{
	void *addr = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);

	CHECK_OK((long)addr);
	return addr;
}

static int owner_open(int flags)
{
	const char *dir = getenv("VPEER_OWNER_DIR");
	char path[256];
	int fd;

	if (!dir)
		test_skip("no view of the owner's side: VPEER_OWNER_DIR is not set");
	snprintf(path, sizeof(path), "%s/%s-bar2", dir, aperture_pci());
	fd = open(path, flags | O_CLOEXEC);
	CHECK_OK(fd);
	return fd;
}

void owner_read(uint64_t offset, void *bytes, size_t size)
{
	int fd = owner_open(O_RDONLY);
	size_t done = 0;

	while (done < size) {
		ssize_t len = pread(fd, (char *)bytes + done, size - done, offset + done);

		CHECK(len > 0);
		done += len;
	}
	close(fd);
}

void owner_write(uint64_t offset, const void *bytes, size_t size)
{
	int fd = owner_open(O_RDWR);
	size_t done = 0;

	while (done < size) {
		ssize_t len = pwrite(fd, (const char *)bytes + done, size - done,
				     offset + done);

		CHECK(len > 0);
		done += len;
	}
	close(fd);
}

/* A sum that depends on every byte's place. */
uint64_t owner_sum(uint64_t offset, uint64_t size)
{
	static uint64_t block[256 * KIB / sizeof(uint64_t)];
	uint64_t sum = 0;

	for (uint64_t done = 0; done < size; done += sizeof(block)) {
		owner_read(offset + done, block, sizeof(block));
		for (size_t i = 0; i < ARRAY_SIZE(block); i++)
			sum = (sum ^ block[i]) * 0x100000001b3ULL;
	}
	return sum;
}

bool owner_is(uint64_t offset, const void *bytes, size_t size)
{
	void *seen = malloc(size);
	bool same;

	CHECK(seen);
	owner_read(offset, seen, size);
	same = !memcmp(seen, bytes, size);
	free(seen);
	return same;
}

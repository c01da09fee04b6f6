// SPDX-License-Identifier: GPL-2.0-only
/* Flags, reserved fields, pointers and call numbers. */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "calls.h"
#include "harness.h"

static union {
	struct call_header header;
	unsigned char bytes[1024];
} arg;

static uint32_t known_flags(const struct call *call)
{
	switch (call->cmd) {
	case VPEER_IOCTL_ATTACH:
		return VPEER_ATTACH_FORCE | VPEER_ATTACH_CLEAN | VPEER_ATTACH_FOREIGN;
	case VPEER_IOCTL_WINDOW_ALLOC:
		return VPEER_ALLOC_FIXED;
	case VPEER_IOCTL_WINDOW_REVOKE:
		return VPEER_REVOKE_ALL;
	case VPEER_IOCTL_WINDOW_INFO:
		return VPEER_INFO_NEXT;
	case VPEER_IOCTL_EVENT:
		return VPEER_EVENT_ADD | VPEER_EVENT_REMOVE;
	}
	return 0;
}

TEST(unknown_flags, 10)
{
	struct nodes nodes = nodes_open();

	for (size_t i = 0; i < call_count; i++) {
		for (unsigned int bit = 0; bit < 32; bit++) {
			if (known_flags(&calls[i]) & 1U << bit)
				continue;
			memset(&arg, 0, sizeof(arg));
			arg.header.argsz = calls[i].size;
			arg.header.flags = 1U << bit;
			CHECK_REFUSED(call_fd(&nodes, &calls[i]), calls[i].cmd,
				      &arg.header, EINVAL, VPEER_REASON_BAD_ARGUMENT);
		}
	}
	nodes_close(&nodes);
}

TEST(reserved_fields, 10)
{
	struct nodes nodes = nodes_open();

	for (size_t i = 0; i < call_count; i++) {
		if (!calls[i].reserved)
			continue;
		memset(&arg, 0, sizeof(arg));
		arg.header.argsz = calls[i].size;
		arg.bytes[calls[i].reserved] = 1;
		CHECK_REFUSED(call_fd(&nodes, &calls[i]), calls[i].cmd,
			      &arg.header, EINVAL, VPEER_REASON_BAD_ARGUMENT);
	}
	nodes_close(&nodes);
}

TEST(bad_pointer, 10)
{
	struct nodes nodes = nodes_open();
	void *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_OK((long)none);
	for (size_t i = 0; i < call_count; i++) {
		int fd = call_fd(&nodes, &calls[i]);

		CHECK_ERRNO(ioctl(fd, calls[i].cmd, NULL), EFAULT);
		CHECK_ERRNO(ioctl(fd, calls[i].cmd, none), EFAULT);
		CHECK_ERRNO(ioctl(fd, calls[i].cmd, (void *)-4096L), EFAULT);
	}
	nodes_close(&nodes);
}

/* A call that cannot tell its result must not leave a window behind. */
TEST(read_only_result, 10)
{
	int fd = aperture_open();
	struct vpeer_window_info info = { .argsz = sizeof(info), .flags = VPEER_INFO_NEXT };
	struct vpeer_window_alloc *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
					       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK_OK((long)page);
	page->argsz = sizeof(*page);
	page->size = 1;
	CHECK_OK(mprotect(page, 4096, PROT_READ));
	CHECK_ERRNO(ioctl(fd, VPEER_IOCTL_WINDOW_ALLOC, page), EFAULT);
	CHECK_REFUSED(fd, VPEER_IOCTL_WINDOW_INFO, &info, ENOENT, VPEER_REASON_NOT_OWNER);
	close(fd);
}

TEST(unknown_calls, 10)
{
	struct nodes nodes = nodes_open();
	unsigned long unknown[] = {
		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE - 1),
		_IO(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE + 11),
		_IO(VPEER_IOCTL_TYPE + 1, VPEER_IOCTL_BASE),
		_IOWR(VPEER_IOCTL_TYPE, VPEER_IOCTL_BASE, struct vpeer_query),
		0xffffffff,
	};

	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		memset(&arg, 0, sizeof(arg));
		arg.header.argsz = 64;
		CHECK_ERRNO(ioctl(nodes.control, unknown[i], &arg), ENOTTY);
		CHECK_ERRNO(ioctl(nodes.aperture, unknown[i], &arg), ENOTTY);
	}
	nodes_close(&nodes);
}

TEST(call_of_the_other_node, 10)
{
	struct nodes nodes = nodes_open();

	for (size_t i = 0; i < call_count; i++) {
		if (calls[i].cmd == VPEER_IOCTL_QUERY)
			continue;
		memset(&arg, 0, sizeof(arg));
		arg.header.argsz = calls[i].size;
		CHECK_ERRNO(ioctl(calls[i].control ? nodes.aperture : nodes.control,
				  calls[i].cmd, &arg), ENOTTY);
	}
	nodes_close(&nodes);
}

static void check_query(int fd)
{
	struct vpeer_query query = { .argsz = sizeof(query), .reason = 77 };

	CHECK_OK(ioctl(fd, VPEER_IOCTL_QUERY, &query));
	CHECK_EQ(query.reason, VPEER_REASON_NONE);
	CHECK_EQ(query.api_version, VPEER_API_VERSION);
	CHECK_EQ(query.granule, GRANULE);
	CHECK_EQ(query.max_bytes_per_user, 0);
	CHECK_EQ(query.features, VPEER_FEATURE_WINDOWS | VPEER_FEATURE_IMPLICIT_WINDOWS |
		 VPEER_FEATURE_ROUTE_PAGES | VPEER_FEATURE_HUGE_PAGES |
		 VPEER_FEATURE_GENERATIONS | VPEER_FEATURE_FOREIGN |
		 VPEER_FEATURE_ROUTE_DMABUF | VPEER_FEATURE_EVENTS |
		 VPEER_FEATURE_UNMAP_GENERATIONS | VPEER_FEATURE_MORE_EVENTS |
		 VPEER_FEATURE_PATH_REPORT);
	CHECK(query.module_version[0]);
	CHECK(memchr(query.module_version, 0, sizeof(query.module_version)));
}

TEST(query, 10)
{
	struct nodes nodes = nodes_open();

	check_query(nodes.control);
	check_query(nodes.aperture);
	nodes_close(&nodes);
}

TEST(aperture_info, 10)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info), .reason = 77 };
	unsigned int domain, bus, device, function;
	int fd = aperture_open();

	CHECK_EQ(sscanf(aperture_pci(), "%x:%x:%x.%x", &domain, &bus, &device,
			&function), 4);
	CHECK_OK(ioctl(fd, VPEER_IOCTL_APERTURE_INFO, &info));
	CHECK_EQ(info.reason, VPEER_REASON_NONE);
	CHECK_EQ(info.domain, domain);
	CHECK_EQ(info.bus, bus);
	CHECK_EQ(info.devfn, device << 3 | function);
	CHECK_EQ(info.bar, 2);
	CHECK_EQ(info.memory_type, VPEER_MEMORY_WRITE_COMBINING);
	CHECK_EQ(info.size, aperture_stat("size"));
	CHECK_EQ(info.granule, GRANULE);
	CHECK_EQ(info.bytes_free, info.size);
	CHECK_EQ(info.bytes_pinned, 0);
	CHECK_EQ(info.windows, 0);
	CHECK_EQ(info.generation_offset, VPEER_MMAP_GENERATION);
	close(fd);
}

TEST(no_read_write_seek, 10)
{
	int fd = aperture_open();
	char byte = 0;

	CHECK_ERRNO(read(fd, &byte, 1), EINVAL);
	CHECK_ERRNO(write(fd, &byte, 1), EINVAL);
	CHECK_ERRNO(lseek(fd, 0, SEEK_SET), ESPIPE);
	close(fd);
}

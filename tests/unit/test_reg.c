// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Decisions of a registration, by errors that no device of the lab gives. */
#include <setjmp.h>
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "context.h"
#include "forbid.h"
#include "mr.h"
#include "register.h"

#define SIZE	16384

/* What the device answers, and what it was asked. */
static struct {
	int probe;		/* errno of the probe */
	int dmabuf[4];		/* of registrations of DMA-bufs, one after another */
	int address[4];
	int dereg;
	int dealloc;
	unsigned int probes, dmabufs, addresses, deregs, deallocs;
	int access;		/* of the last one */
	uint64_t iova;
	void *at;
	int fd;
} device;

static struct ibv_device ibv_device;
static struct ibv_context ibv_context = { .device = &ibv_device };
static struct ibv_pd pd = { .context = &ibv_context };

static const char *device_name(struct ibv_device *which)
{
	assert_ptr_equal(which, &ibv_device);
	return "test0";
}

static struct ibv_mr *answer(int err)
{
	static struct ibv_mr mr;

	errno = err;
	return err ? NULL : &mr;
}

static struct ibv_mr *reg_address(struct ibv_pd *which, void *address, size_t length,
				  uint64_t iova, unsigned int access)
{
	assert_ptr_equal(which, &pd);
	assert_true(length > 0);
	device.at = address;
	device.iova = iova;
	device.access = (int)access;
	return answer(device.address[device.addresses++ % 4]);
}

static struct ibv_mr *reg_dmabuf(struct ibv_pd *which, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access)
{
	assert_ptr_equal(which, &pd);
	(void)offset;
	if (fd < 0 && !length) {
		device.probes++;
		return answer(device.probe);
	}
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	device.fd = fd;
	device.iova = iova;
	device.access = access;
	return answer(device.dmabuf[device.dmabufs++ % 4]);
}

/* What happens while the first MR is deregistered. */
static void (*during_dereg)(void);

static int dereg(struct ibv_mr *mr)
{
	void (*during)(void) = during_dereg;

	assert_non_null(mr);
	device.deregs++;
	during_dereg = NULL;
	if (during)
		during();
	return device.dereg;
}

static int dealloc(struct ibv_pd *which)
{
	assert_ptr_equal(which, &pd);
	device.deallocs++;
	return device.dealloc;
}

static const struct vpeer_verbs verbs = {
	.dealloc_pd = dealloc,
	.get_device_name = device_name,
	.reg_mr = reg_address,
	.reg_dmabuf_mr = reg_dmabuf,
	.dereg_mr = dereg,
};

/* Memory that has a DMA-buf, of a kind. */
static struct {
	unsigned int exports, releases;
	unsigned int last_flags;
	bool has_other;
	int refusal;		/* errno of an export, of which no reason says who mends it */
} memory;

static int export_it(struct vpeer_memory *which, uint64_t start, uint64_t length,
		     unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error)
{
	(void)which;
	(void)length;
	if (flags && !memory.has_other)
		return vpeer_fail(error, EOPNOTSUPP, VPEER_REASON_NO_DMABUF_EXPORT, "gpu", "",
				  "no");
	if (memory.refusal)
		return vpeer_fail_mmap(error, memory.refusal, "node");
	memory.exports++;
	memory.last_flags = flags;
	*fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	*offset = start & 4095;
	return 0;
}

static void release_it(struct vpeer_memory *which)
{
	(void)which;
	memory.releases++;
}

static const struct vpeer_memory_ops kind = {
	.name = "test memory",
	.routes = VPEER_ROUTES_DIRECT & ~VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM),
	.export = export_it,
	.release = release_it,
};

static struct vpeer_context *make(const struct vpeer_context_options *options)
{
	struct vpeer_context *context;
	struct vpeer_error error;

	memset(&device, 0, sizeof(device));
	memset(&memory, 0, sizeof(memory));
	device.probe = EBADF;
	assert_int_equal(vpeer_context_begin(&context, &pd, options, &verbs, &error), 0);
	assert_int_equal(error.err, 0);
	return context;
}

static struct vpeer_memory memory_of(unsigned int which)
{
	return (struct vpeer_memory){
		.ops = &kind,
		.kind = which,
		.start = 0x10000,
		.length = SIZE,
		.base = 0x10000,
		.base_length = SIZE,
		.writable = true,
		.who = "0000:01:00.0 BAR 2",
	};
}

/* One registration that no one keeps. */
static int reg(struct vpeer_context *context, unsigned int which,
	       const struct vpeer_reg_options *options, struct vpeer_mr **mr,
	       struct vpeer_error *error)
{
	struct vpeer_exported exported = { .fd = -1 };
	struct vpeer_memory m = memory_of(which);
	struct vpeer_request r;
	int err;

	assert_int_equal(vpeer_request_init(&r, context, 0x10000, SIZE, options, error), 0);
	err = vpeer_register_memory(&r, &m, &exported, 0, mr, error);
	vpeer_exported_close(&exported);
	return err;
}

static void reg_good(struct vpeer_context *context, unsigned int which, unsigned int route)
{
	struct vpeer_error error;
	struct vpeer_mr *mr;

	assert_int_equal(reg(context, which, NULL, &mr, &error), 0);
	assert_int_equal(vpeer_mr_route(mr), route);
	assert_int_equal(device.iova, 0x10000);
	assert_int_equal(vpeer_dereg(mr), 0);
}

static void end(struct vpeer_context *context)
{
	assert_int_equal(vpeer_context_destroy(context, NULL), 0);
}

static void options_refused(void **state)
{
	const struct vpeer_context_options bad[] = {
		{ .flags = 1U << 2 },
		{ .relaxed_ordering = 3 },
		{ .routes = 1 },
		{ .routes = 1U << 5 },
		{ .cuda_check = 2 },
		{ .aperture_percent = 101 },
		{ .log_level = 4 },
		{ .max_entries = 1ULL << 40 },
		{ .reserved = { [7] = 1 } },
	};
	struct vpeer_context *context;
	struct vpeer_error error;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(vpeer_context_begin(&context, &pd, &bad[i], &verbs, &error),
				 -EINVAL);
		assert_int_equal(error.reason, VPEER_REASON_BAD_ARGUMENT);
		assert_string_equal(error.who, "test0");
		assert_null(context);
	}
}

static void hints_refused(void **state)
{
	const struct vpeer_reg_options bad[] = {
		{ .flags = 1U << 4 },
		{ .access = IBV_ACCESS_RELAXED_ORDERING },
		{ .access = IBV_ACCESS_ZERO_BASED },
		{ .relaxed_ordering = 3 },
		{ .routes = 1 },
		{ .routes = 1U << 5 },
		{ .reserved = { 1 } },
		{ .reserved = { [3] = 1 } },
	};
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(vpeer_reg(context, &device, 1, &bad[i], &mr, &error), -EINVAL);
		assert_int_equal(error.reason, VPEER_REASON_BAD_ARGUMENT);
	}
	assert_int_equal(device.addresses, 0);
	end(context);
}

/* A driver that has no such call is asked once. */
static void no_import_is_remembered(void **state)
{
	static const int errors[] = { EOPNOTSUPP, EPROTONOSUPPORT, ENOSYS, 524 };
	struct vpeer_reg_options only = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct vpeer_context *context = make(NULL);

		device.probe = errors[i];
		for (int times = 0; times < 3; times++) {
			assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &only, &mr, &error),
					 -errors[i]);
			assert_int_equal(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
			assert_string_equal(error.who, "test0");
		}
		assert_int_equal(device.probes, 1);
		assert_int_equal(memory.exports, 0);
		assert_int_equal(memory.releases, 3);
		reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_PAGES);
		assert_int_equal(device.probes, 1);
		end(context);
	}
	assert_non_null(strstr(error.message, "ENOTSUPP"));
}

/* What may pass is tried again. */
static void passing_errors_are_not_remembered(void **state)
{
	static const int errors[] = { ENOMEM, EAGAIN, EBUSY, ENOSPC, EMFILE };

	(void)state;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		struct vpeer_context *context = make(NULL);

		device.probe = errors[i];
		device.dmabuf[0] = errors[i];
		reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_PAGES);
		assert_int_equal(device.dmabufs, 1);
		device.probe = EBADF;
		reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
		reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
		assert_int_equal(device.probes, 2);
		end(context);
	}
}

/* An exporter may refuse one attachment, and take the next. */
static void exporter_refuses(void **state)
{
	struct vpeer_reg_options only = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	device.dmabuf[0] = EOPNOTSUPP;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &only, &mr, &error), -EOPNOTSUPP);
	assert_int_equal(error.reason, VPEER_REASON_EXPORTER_REFUSED);
	assert_string_equal(error.who, "0000:01:00.0 BAR 2");
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	end(context);
}

static void interruptions_are_repeated(void **state)
{
	struct vpeer_context *context = make(NULL);

	(void)state;
	device.dmabuf[0] = EINTR;
	device.dmabuf[1] = EINTR;
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_int_equal(device.dmabufs, 3);
	end(context);
}

struct logged {
	unsigned int lines[4];
	char last[4][256];
};

static void log_it(void *argument, int level, const char *text)
{
	struct logged *logged = argument;

	assert_in_range(level, 1, 3);
	assert_null(strchr(text, '\n'));
	logged->lines[level]++;
	snprintf(logged->last[level], sizeof(logged->last[level]), "%s", text);
}

static void relaxed_where_it_is_taken(void **state)
{
	struct logged logged = { 0 };
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_DEBUG,
		.log = log_it,
		.log_argument = &logged,
	};
	struct vpeer_context *context = make(&options);

	(void)state;
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_true(device.access & IBV_ACCESS_RELAXED_ORDERING);
	assert_int_equal(logged.lines[VPEER_LOG_INFO], 1);
	assert_non_null(strstr(logged.last[VPEER_LOG_INFO], "relaxed"));
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_int_equal(logged.lines[VPEER_LOG_INFO], 1);
	assert_int_equal(logged.lines[VPEER_LOG_DEBUG], 2);
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 0);
	end(context);
}

/* Older kernels know no such flag: told once, and left out from then on. */
static void relaxed_where_it_is_refused(void **state)
{
	struct logged logged = { 0 };
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_WARNING,
		.log = log_it,
		.log_argument = &logged,
	};
	struct vpeer_context *context = make(&options);

	(void)state;
	device.dmabuf[0] = EINVAL;
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_int_equal(device.dmabufs, 2);
	assert_false(device.access & IBV_ACCESS_RELAXED_ORDERING);
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 1);
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_int_equal(device.dmabufs, 3);
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 1);
	assert_int_equal(logged.lines[VPEER_LOG_INFO], 0);
	end(context);
}

/* EINVAL of something else: the flag is not blamed. */
static void invalid_for_another_reason(void **state)
{
	struct vpeer_reg_options only = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	device.dmabuf[0] = EINVAL;
	device.dmabuf[1] = EINVAL;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &only, &mr, &error), -EINVAL);
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_true(device.access & IBV_ACCESS_RELAXED_ORDERING);
	end(context);
}

static void ordering_as_asked(void **state)
{
	struct vpeer_reg_options strict = { .relaxed_ordering = VPEER_ORDERING_STRICT };
	struct vpeer_reg_options relaxed = {
		.relaxed_ordering = VPEER_ORDERING_RELAXED,
		.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES),
	};
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &strict, &mr, &error), 0);
	assert_false(device.access & IBV_ACCESS_RELAXED_ORDERING);
	vpeer_dereg(mr);
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &relaxed, &mr, &error), 0);
	assert_true(device.access & IBV_ACCESS_RELAXED_ORDERING);
	vpeer_dereg(mr);
	relaxed.relaxed_ordering = VPEER_ORDERING_DEFAULT;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &relaxed, &mr, &error), 0);
	assert_false(device.access & IBV_ACCESS_RELAXED_ORDERING);
	vpeer_dereg(mr);
	end(context);
}

/* The first one counts; the others are told in short. */
static void first_refusal_is_kept(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	device.dmabuf[0] = EACCES;
	device.address[0] = EFAULT;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, NULL, &mr, &error), -EACCES);
	assert_int_equal(error.err, EACCES);
	assert_int_equal(error.reason, VPEER_REASON_ACCESS);
	assert_non_null(strstr(error.message, "test0: dmabuf: "));
	assert_non_null(strstr(error.message, "; pages: "));
	assert_non_null(strstr(error.message, vpeer_reason_text(VPEER_REASON_NOT_PINNABLE)));
	device.address[0] = EFAULT;
	assert_int_equal(memory.releases, 1);
	end(context);
}

/* Who can mend what the memory's driver said is said with it. */
static void mender_is_kept(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_error alone, error;
	struct vpeer_mr *mr;

	(void)state;
	vpeer_fail_mmap(&alone, EDQUOT, "node");
	assert_int_equal(alone.mender, VPEER_MENDER_GUEST);
	memory.refusal = EDQUOT;
	device.address[0] = EFAULT;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, NULL, &mr, &error), -EDQUOT);
	assert_int_equal(error.mender, VPEER_MENDER_GUEST);
	assert_string_equal(error.remedy, alone.remedy);
	end(context);
}

/* A GPU's other kind of mapping is tried when the device refuses the first. */
static void other_mapping(void **state)
{
	struct vpeer_reg_options only = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	memory.has_other = true;
	device.dmabuf[0] = EOPNOTSUPP;
	reg_good(context, VPEER_MEMORY_CUDA, VPEER_ROUTE_DMABUF);
	assert_int_equal(memory.exports, 2);
	assert_int_equal(memory.last_flags, VPEER_EXPORT_PCIE);
	device.dmabufs = 0;
	device.dmabuf[0] = ENOMEM;
	assert_int_equal(reg(context, VPEER_MEMORY_CUDA, &only, &mr, &error), -ENOMEM);
	assert_int_equal(memory.exports, 3);
	device.dmabufs = 0;
	memory.has_other = false;
	device.dmabuf[0] = EOPNOTSUPP;
	assert_int_equal(reg(context, VPEER_MEMORY_CUDA, &only, &mr, &error), -EOPNOTSUPP);
	assert_int_equal(error.reason, VPEER_REASON_EXPORTER_REFUSED);
	end(context);
}

/* Without a function for DMA-bufs in libibverbs. */
static void old_libibverbs(void **state)
{
	struct vpeer_reg_options only = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	context->verbs.reg_dmabuf_mr = NULL;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &only, &mr, &error), -ENOSYS);
	assert_int_equal(error.reason, VPEER_REASON_NO_LIBIBVERBS);
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_PAGES);
	end(context);
}

static unsigned int descriptors(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void descriptors_are_closed(void **state)
{
	struct vpeer_reg_options only = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) };
	struct vpeer_context *context = make(NULL);
	unsigned int before = descriptors();
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &only, &mr, &error), 0);
	assert_int_equal(descriptors(), before);
	vpeer_dereg(mr);
	for (int i = 0; i < 4; i++)
		device.dmabuf[i] = EINVAL;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, &only, &mr, &error), -EINVAL);
	assert_int_equal(reg(context, VPEER_MEMORY_CUDA, &only, &mr, &error), -EINVAL);
	assert_int_equal(descriptors(), before);
	end(context);
	assert_int_equal(descriptors(), before - 2);
}

/* Written by the CPU it would be a fault. */
static void no_copy_to_read_only(void **state)
{
	struct vpeer_reg_options staged = {
		.access = IBV_ACCESS_REMOTE_READ,
		.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
		.flags = VPEER_REG_STAGING,
	};
	struct vpeer_context *context = make(NULL);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct vpeer_error error;
	struct vpeer_mr *mr;
	char *text = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)state;
	assert_true(text != MAP_FAILED);
	strcpy(text, "read only");
	assert_int_equal(mprotect(text, page, PROT_READ), 0);
	assert_int_equal(vpeer_reg(context, text, page, &staged, &mr, &error), 0);
	assert_int_equal(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, text, page, &error), 0);
	assert_string_equal(device.at, "read only");
	assert_int_equal(vpeer_mr_copy(mr, VPEER_COPY_FROM_STAGE, text, page, &error), -EACCES);
	assert_int_equal(error.reason, VPEER_REASON_ACCESS);
	assert_int_equal(vpeer_dereg(mr), 0);
	munmap(text, page);
	end(context);
}

static void dereg_fails(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_stats stats;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, NULL, &mr, &error), 0);
	device.dereg = EBUSY;
	assert_int_equal(vpeer_dereg(mr), -EBUSY);
	assert_int_equal(memory.releases, 1);
	vpeer_context_stats(context, &stats);
	assert_int_equal(stats.deregistered, 1);
	assert_int_equal(stats.lost, 1);
	end(context);
}

/* It is looked at by who tells of what was taken back. */
static void pinned_dereg_fails(void **state)
{
	struct logged logged = { 0 };
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_WARNING,
		.log = log_it,
		.log_argument = &logged,
	};
	struct vpeer_context *context = make(&options);
	struct vpeer_error error;
	struct vpeer_stats stats;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(reg(context, VPEER_MEMORY_WINDOW, NULL, &mr, &error), 0);
	vpeer_mr_pin(mr);
	device.dereg = EBUSY;
	assert_int_equal(vpeer_dereg(mr), 0);
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 0);
	assert_int_equal(vpeer_mr_unpin(mr), -EBUSY);
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 1);
	assert_non_null(strstr(logged.last[VPEER_LOG_WARNING],
			       "test0: an MR of 0000:01:00.0 BAR 2"));
	assert_non_null(strstr(logged.last[VPEER_LOG_WARNING], "EBUSY"));
	assert_non_null(strstr(logged.last[VPEER_LOG_WARNING], "memory windows"));
	vpeer_context_stats(context, &stats);
	assert_int_equal(stats.lost, 1);
	end(context);
}

/* With something of the caller's in it nothing ends; what else is wrong comes too late for that. */
static void domain_does_not_end(void **state)
{
	struct logged logged = { 0 };
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_WARNING,
		.log = log_it,
		.log_argument = &logged,
	};
	struct vpeer_context *context = make(&options);
	unsigned int before = descriptors();
	struct vpeer_error error;

	(void)state;
	context->own_pd = true;
	device.dealloc = EBUSY;
	assert_int_equal(vpeer_context_destroy(context, &error), -EBUSY);
	assert_string_equal(error.who, "test0");
	assert_non_null(strstr(error.message, "protection domain is in use"));
	assert_non_null(strstr(error.remedy, "queue pairs"));
	assert_int_equal(descriptors(), before);
	reg_good(context, VPEER_MEMORY_WINDOW, VPEER_ROUTE_DMABUF);
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 0);
	device.dealloc = EIO;
	assert_int_equal(vpeer_context_destroy(context, &error), -EIO);
	assert_int_equal(error.err, EIO);
	assert_non_null(strstr(error.message, "EIO"));
	assert_int_equal(logged.lines[VPEER_LOG_WARNING], 1);
	assert_non_null(strstr(logged.last[VPEER_LOG_WARNING], "protection domain is lost"));
	assert_int_equal(device.deallocs, 2);
	assert_true(descriptors() < before);
}

/* One of the caller's stays. */
static void domain_of_the_caller(void **state)
{
	(void)state;
	end(make(NULL));
	assert_int_equal(device.deallocs, 0);
}

/* Memory whose registrations are kept: its word is the test's. */
static uint64_t generation;

static struct vpeer_mr *keep_at(struct vpeer_context *context, uint64_t start, uint64_t ticket,
				int expected)
{
	struct vpeer_exported exported = { .fd = -1 };
	struct vpeer_memory m = memory_of(VPEER_MEMORY_WINDOW);
	struct vpeer_mr *mr = NULL;
	struct vpeer_error error;
	struct vpeer_request r;

	m.start = start;
	m.base = start;
	m.cacheable = true;
	m.word = &generation;
	m.seen = 7;
	assert_int_equal(vpeer_request_init(&r, context, start, SIZE, NULL, &error), 0);
	assert_int_equal(vpeer_register_memory(&r, &m, &exported, ticket, &mr, &error), expected);
	vpeer_exported_close(&exported);
	return mr;
}

static struct vpeer_mr *keep_since(struct vpeer_context *context, uint64_t ticket, int expected)
{
	return keep_at(context, 0x10000, ticket, expected);
}

static struct vpeer_mr *keep(struct vpeer_context *context, int expected)
{
	return keep_since(context, vpeer_ticket(context), expected);
}

static struct vpeer_mr *hit(struct vpeer_context *context, uint64_t address)
{
	struct vpeer_request r;

	assert_int_equal(vpeer_request_init(&r, context, address, 8, NULL, NULL), 0);
	return vpeer_request_find(&r);
}

static void stale_is_not_kept(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_mr *mr;

	(void)state;
	generation = 7;
	mr = keep(context, 0);
	assert_ptr_equal(hit(context, 0x10008), mr);
	assert_null(hit(context, 0x10000 - 8));
	vpeer_dereg(mr);
	assert_int_equal(vpeer_mr_check(mr, NULL), 0);
	generation = 7 + VPEER_GENERATION_ACCESS;
	assert_int_equal(vpeer_mr_check(mr, NULL), -ESTALE);
	assert_int_equal(vpeer_mr_work_begin(mr), -ESTALE);
	generation = 7;
	vpeer_dereg(mr);
	assert_int_equal(device.deregs, 0);
	generation = 7 + VPEER_GENERATION_ACCESS;
	assert_null(hit(context, 0x10008));
	assert_int_equal(device.deregs, 1);
	assert_int_equal(memory.releases, 1);
	/* It went while it was registered. */
	keep(context, -ESTALE);
	assert_int_equal(device.deregs, 2);
	assert_int_equal(memory.releases, 2);
	end(context);
}

static char *map_pages(size_t pages, int protection)
{
	char *memory = mmap(NULL, pages * SIZE, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(memory != MAP_FAILED);
	return memory;
}

static void check_stats(struct vpeer_context *context, uint64_t hits, uint64_t misses,
			uint64_t failed)
{
	struct vpeer_stats stats;

	vpeer_context_stats(context, &stats);
	assert_int_equal(stats.hits, hits);
	assert_int_equal(stats.misses, misses);
	assert_int_equal(stats.failed, failed);
}

#define RANGES	3

static void give_back(struct vpeer_mr **mrs)
{
	for (int i = 0; i < RANGES; i++)
		assert_int_equal(vpeer_dereg(mrs[i]), 0);
}

/* Whether they could have one MR or not. */
static void ranges_are_counted(void **state)
{
	const struct vpeer_reg_options kept = { .flags = VPEER_REG_KEEP };
	struct vpeer_context *context = make(NULL);
	char *memory = map_pages(RANGES, PROT_READ | PROT_WRITE);
	const struct vpeer_range ranges[RANGES] = {
		{ memory, SIZE }, { memory + SIZE, SIZE }, { memory + 2 * SIZE, SIZE },
	};
	struct vpeer_mr *mrs[RANGES];

	(void)state;
	assert_int_equal(vpeer_reg_batch(context, ranges, RANGES, &kept, mrs, NULL), 0);
	assert_int_equal(device.addresses, 1);
	give_back(mrs);
	check_stats(context, 0, 3, 0);
	assert_int_equal(vpeer_reg_batch(context, ranges, RANGES, &kept, mrs, NULL), 0);
	give_back(mrs);
	check_stats(context, 3, 3, 0);
	assert_int_equal(vpeer_invalidate(context, memory, RANGES * SIZE), 1);
	device.addresses = 0;
	device.address[0] = ENOMEM;
	assert_int_equal(vpeer_reg_batch(context, ranges, RANGES, &kept, mrs, NULL), 0);
	assert_int_equal(device.addresses, 4);
	give_back(mrs);
	check_stats(context, 3, 6, 0);
	end(context);
	munmap(memory, RANGES * SIZE);
}

/* All of a call, wherever it fails. */
static void refused_ranges_are_counted(void **state)
{
	struct vpeer_context *context = make(NULL);
	char *memory = map_pages(RANGES, PROT_READ | PROT_WRITE);
	struct vpeer_range ranges[RANGES] = {
		{ memory, SIZE }, { memory + SIZE, SIZE }, { memory + 2 * SIZE, SIZE },
	};
	struct vpeer_mr *mrs[RANGES];
	struct vpeer_error error;

	(void)state;
	device.address[0] = ENOMEM;
	device.address[2] = ENOMEM;
	assert_int_equal(vpeer_reg_batch(context, ranges, RANGES, NULL, mrs, &error), -ENOMEM);
	assert_non_null(strstr(error.message, "range 1,"));
	assert_int_equal(device.addresses, 3);
	check_stats(context, 0, 3, 3);
	ranges[1].length = 0;
	assert_int_equal(vpeer_reg_batch(context, ranges, RANGES, NULL, mrs, &error), -EINVAL);
	check_stats(context, 0, 3, 6);
	assert_int_equal(device.deregs, 1);
	end(context);
	munmap(memory, RANGES * SIZE);
}

/* The second range is in the allocation that the first has registered. */
static void shared_hits_are_counted(void **state)
{
	const struct vpeer_reg_options whole = { .flags = VPEER_REG_KEEP | VPEER_REG_WHOLE };
	struct vpeer_context *context = make(NULL);
	char *memory = map_pages(4, PROT_READ | PROT_WRITE);
	const struct vpeer_range ranges[RANGES] = {
		{ memory, SIZE }, { memory + 2 * SIZE, SIZE }, { memory + 3 * SIZE, SIZE },
	};
	struct vpeer_mr *mrs[RANGES];

	(void)state;
	assert_int_equal(vpeer_reg_batch(context, ranges, RANGES, &whole, mrs, NULL), 0);
	assert_ptr_equal(mrs[0], mrs[1]);
	assert_ptr_equal(mrs[0], mrs[2]);
	give_back(mrs);
	check_stats(context, 2, 1, 0);
	assert_int_equal(device.addresses, 1);
	end(context);
	munmap(memory, 4 * SIZE);
}

static void rails_are_counted(void **state)
{
	struct vpeer_context *first = make(NULL), *second = make(NULL);
	struct vpeer_context *contexts[] = { first, second };
	char *memory = map_pages(1, PROT_READ | PROT_WRITE);
	struct vpeer_mr *mrs[2];

	(void)state;
	assert_int_equal(vpeer_reg_rails(contexts, 2, memory, 0, NULL, mrs, NULL), -EINVAL);
	check_stats(first, 0, 0, 1);
	check_stats(second, 0, 0, 1);
	munmap(memory, SIZE);
	assert_int_equal(vpeer_reg_rails(contexts, 2, memory, SIZE, NULL, mrs, NULL), -EFAULT);
	check_stats(first, 0, 1, 2);
	check_stats(second, 0, 1, 2);
	end(first);
	end(second);
}

static struct vpeer_context *told_context;
static unsigned int told;

static void take_back(void)
{
	generation += VPEER_GENERATION_ACCESS;
	vpeer_context_reclaim(told_context);
}

static void count_told(void *argument, struct vpeer_mr *mr)
{
	(void)argument;
	(void)mr;
	told++;
}

/* Of two that are given up together, the second is nobody's while the first is deregistered. */
static void nobodys_is_not_told(void **state)
{
	struct vpeer_context_options options = {
		.flags = VPEER_CONTEXT_NO_THREAD,
		.revoked = count_told,
	};
	struct vpeer_mr *held;

	(void)state;
	told_context = make(&options);
	told = 0;
	generation = 7;
	vpeer_dereg(keep(told_context, 0));
	vpeer_dereg(keep_at(told_context, 0x20000, vpeer_ticket(told_context), 0));
	held = keep_at(told_context, 0x30000, vpeer_ticket(told_context), 0);
	during_dereg = take_back;
	assert_int_equal(vpeer_context_trim(told_context, 0), 2);
	assert_null(during_dereg);
	assert_int_equal(device.deregs, 2);
	/* The one that is held. */
	assert_int_equal(told, 1);
	vpeer_dereg(held);
	assert_int_equal(device.deregs, 3);
	end(told_context);
}

static sem_t called;
static bool returned;

/* No lock of the context's is held, and it is used by others meanwhile. */
static void slow_callback(void *argument, struct vpeer_mr *mr)
{
	(void)argument;
	sem_post(&called);
	usleep(100000);
	if (!pthread_mutex_trylock(&told_context->lock)) {
		pthread_mutex_unlock(&told_context->lock);
		__atomic_store_n(&returned, !vpeer_dereg(mr), __ATOMIC_RELEASE);
	}
}

static void destroy_waits_for_the_callback(void **state)
{
	struct vpeer_context_options options = { .revoked = slow_callback };
	struct vpeer_stats stats;

	(void)state;
	assert_int_equal(sem_init(&called, 0, 0), 0);
	told_context = make(&options);
	generation = 7;
	keep(told_context, 0);
	__atomic_store_n(&generation, 7 + VPEER_GENERATION_ACCESS, __ATOMIC_RELEASE);
	assert_int_equal(eventfd_write(vpeer_context_fd(told_context), 1), 0);
	assert_int_equal(sem_wait(&called), 0);
	vpeer_context_stats(told_context, &stats);
	assert_int_equal(stats.revoked, 1);
	assert_int_equal(vpeer_context_trim(told_context, 0), 0);
	assert_false(__atomic_load_n(&returned, __ATOMIC_ACQUIRE));
	end(told_context);
	assert_true(__atomic_load_n(&returned, __ATOMIC_ACQUIRE));
	assert_int_equal(device.deregs, 1);
}

static sem_t go;

/* Has a hit, is idle, and looks once more. */
static void *hit_twice(void *argument)
{
	vpeer_dereg(hit(argument, 0x10008));
	sem_post(&called);
	sem_wait(&go);
	vpeer_dereg(hit(argument, 0x90000));
	sem_post(&called);
	sem_wait(&go);
	return NULL;
}

static bool deregistered(unsigned int count)
{
	for (int i = 0; i < 200; i++) {
		if (__atomic_load_n(&device.deregs, __ATOMIC_RELAXED) == count)
			return true;
		usleep(10000);
	}
	return false;
}

/* The context's thread ends what waits for the other one, and the context's end the rest. */
static bool ends_without_membarrier(void)
{
	struct logged logged = { 0 };
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_WARNING,
		.log = log_it,
		.log_argument = &logged,
	};
	struct vpeer_context *context = make(&options);
	pthread_t other;
	bool good;

	generation = 7;
	sem_init(&called, 0, 0);
	sem_init(&go, 0, 0);
	vpeer_dereg(keep(context, 0));
	vpeer_dereg(keep_at(context, 0x20000, vpeer_ticket(context), 0));
	good = !pthread_create(&other, NULL, hit_twice, context);
	sem_wait(&called);
	good = good && forbid_membarrier(true) && !logged.lines[VPEER_LOG_WARNING];
	vpeer_invalidate(context, (void *)0x10000, 1);
	vpeer_context_reclaim(context);
	good = good && !device.deregs && logged.lines[VPEER_LOG_WARNING] == 1 &&
	       strstr(logged.last[VPEER_LOG_WARNING], "membarrier(): EPERM");
	sem_post(&go);
	sem_wait(&called);
	good = good && deregistered(1) && !vpeer_context_destroy(context, NULL) &&
	       device.deregs == 2 && logged.lines[VPEER_LOG_WARNING] == 1;
	sem_post(&go);
	pthread_join(other, NULL);
	return good;
}

/* At the end no one is in a call, so that nothing is waited for. */
static bool ends_at_the_end(void)
{
	struct vpeer_context *context = make(NULL);
	pthread_t other;
	bool good;

	generation = 7;
	sem_init(&called, 0, 0);
	sem_init(&go, 0, 0);
	vpeer_dereg(keep(context, 0));
	good = !pthread_create(&other, NULL, hit_twice, context);
	sem_wait(&called);
	good = good && forbid_membarrier(true);
	vpeer_invalidate(context, (void *)0x10000, 1);
	return good && !device.deregs && !vpeer_context_destroy(context, NULL) &&
	       device.deregs == 1;
}

static void check_in_child(bool (*body)(void))
{
	pid_t pid = fork();
	int status;

	if (!pid)
		_exit(body() ? 0 : 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void without_membarrier(void **state)
{
	(void)state;
	check_in_child(ends_without_membarrier);
	check_in_child(ends_at_the_end);
}

/* Other memory that is freed all the time takes nothing away but the place in the cache. */
static void others_are_invalidated(void **state)
{
	struct vpeer_context *context = make(NULL);
	uint64_t ticket = vpeer_ticket(context);
	struct vpeer_stats stats;
	struct vpeer_mr *mr;

	(void)state;
	generation = 7;
	for (int i = 0; i < 1000; i++)
		assert_int_equal(vpeer_invalidate(context, (void *)0x900000, SIZE), 0);
	mr = keep_since(context, ticket, 0);
	assert_int_equal(vpeer_mr_check(mr, NULL), 0);
	assert_null(hit(context, 0x10000));
	vpeer_context_stats(context, &stats);
	assert_int_equal(stats.uncached, 1);
	assert_int_equal(vpeer_dereg(mr), 0);
	assert_int_equal(device.deregs, 1);
	ticket = vpeer_ticket(context);
	vpeer_invalidate(context, (void *)0x10000, 1);
	keep_since(context, ticket, -ESTALE);
	assert_int_equal(device.deregs, 2);
	end(context);
}

static void child_frees_memory_only(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_mr *mr;
	int status;
	pid_t pid;

	(void)state;
	generation = 7;
	mr = keep(context, 0);
	pid = fork();
	if (!pid) {
		struct vpeer_error error;
		bool good = vpeer_dereg(mr) == -ECHILD && vpeer_mr_work_begin(mr) == -ECHILD &&
			    vpeer_reg(context, &device, 1, NULL, &mr, &error) == -ECHILD &&
			    error.reason == VPEER_REASON_FORKED &&
			    !vpeer_context_destroy(context, NULL) && !device.deregs &&
			    !memory.releases;

		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	vpeer_dereg(mr);
	end(context);
	assert_int_equal(device.deregs, 1);
	assert_int_equal(memory.releases, 1);
}

/* By the numbers of the parent's descriptors the child may have its own. */
static void child_keeps_its_descriptors(void **state)
{
	struct vpeer_context *context = make(NULL);
	int fds[] = { vpeer_context_fd(context), context->stop };
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR);
		bool good = dup2(null, fds[0]) == fds[0] && dup2(null, fds[1]) == fds[1] &&
			    !vpeer_context_destroy(context, NULL) &&
			    fcntl(fds[0], F_GETFD) >= 0 && fcntl(fds[1], F_GETFD) >= 0;

		_exit(good ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	end(context);
}

static void no_thread_no_stop(void **state)
{
	struct vpeer_context_options options = { .flags = VPEER_CONTEXT_NO_THREAD };
	unsigned int before = descriptors();
	struct vpeer_context *context = make(&options);

	(void)state;
	assert_int_equal(descriptors(), before + 1);
	assert_true(vpeer_context_fd(context) >= 0);
	assert_ptr_equal(vpeer_context_pd(context), &pd);
	end(context);
	assert_int_equal(descriptors(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_refused),
		cmocka_unit_test(hints_refused),
		cmocka_unit_test(no_import_is_remembered),
		cmocka_unit_test(passing_errors_are_not_remembered),
		cmocka_unit_test(exporter_refuses),
		cmocka_unit_test(interruptions_are_repeated),
		cmocka_unit_test(relaxed_where_it_is_taken),
		cmocka_unit_test(relaxed_where_it_is_refused),
		cmocka_unit_test(invalid_for_another_reason),
		cmocka_unit_test(ordering_as_asked),
		cmocka_unit_test(first_refusal_is_kept),
		cmocka_unit_test(mender_is_kept),
		cmocka_unit_test(other_mapping),
		cmocka_unit_test(old_libibverbs),
		cmocka_unit_test(descriptors_are_closed),
		cmocka_unit_test(no_copy_to_read_only),
		cmocka_unit_test(dereg_fails),
		cmocka_unit_test(pinned_dereg_fails),
		cmocka_unit_test(domain_does_not_end),
		cmocka_unit_test(domain_of_the_caller),
		cmocka_unit_test(stale_is_not_kept),
		cmocka_unit_test(ranges_are_counted),
		cmocka_unit_test(refused_ranges_are_counted),
		cmocka_unit_test(shared_hits_are_counted),
		cmocka_unit_test(rails_are_counted),
		cmocka_unit_test(nobodys_is_not_told),
		cmocka_unit_test(destroy_waits_for_the_callback),
		cmocka_unit_test(without_membarrier),
		cmocka_unit_test(others_are_invalidated),
		cmocka_unit_test(child_frees_memory_only),
		cmocka_unit_test(child_keeps_its_descriptors),
		cmocka_unit_test(no_thread_no_stop),
	};

	return cmocka_run_group_tests_name("registration", tests, NULL, NULL);
}

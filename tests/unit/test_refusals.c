// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Refused registrations: the cause, what it is about, the remedy, and who can mend it. */
#include <setjmp.h>
#include "fixture.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "context.h"
#include "mr.h"
#include "register.h"

#define PAGE	4096

/* What the device answers. */
static int address_errno, dmabuf_errno, probe_errno, port_errno;

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
	assert_true(address && length && iova && access);
	return answer(address_errno);
}

static struct ibv_mr *reg_dmabuf(struct ibv_pd *which, uint64_t offset, size_t length,
				 uint64_t iova, int fd, int access)
{
	assert_ptr_equal(which, &pd);
	assert_true(access || !(offset | iova));
	return answer(fd < 0 && !length ? probe_errno : dmabuf_errno);
}

static int dereg(struct ibv_mr *mr)
{
	assert_non_null(mr);
	return 0;
}

static int query_port(struct ibv_context *which, uint8_t port, struct ibv_port_attr *attributes)
{
	assert_ptr_equal(which, &ibv_context);
	assert_non_null(attributes);
	assert_int_equal(port, 7);
	attributes->state = IBV_PORT_ACTIVE;
	attributes->lid = 1;
	return port_errno;
}

static struct ibv_cq *create_cq(struct ibv_context *which, int entries, void *argument,
				struct ibv_comp_channel *channel, int vector)
{
	static struct ibv_cq cq;

	assert_ptr_equal(which, &ibv_context);
	assert_true(entries > 0 && !argument && !channel && !vector);
	return &cq;
}

static int destroy_cq(struct ibv_cq *cq)
{
	assert_non_null(cq);
	return 0;
}

/* It posts nothing: ibv_post_send() would call through a NULL pointer. */
static struct ibv_qp *create_qp(struct ibv_pd *which, struct ibv_qp_init_attr *attributes)
{
	static struct ibv_qp qp = { .context = &ibv_context };

	assert_ptr_equal(which, &pd);
	assert_int_equal(attributes->qp_type, IBV_QPT_RC);
	return &qp;
}

static int modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attributes, int mask)
{
	assert_true(qp && attributes && mask);
	return 0;
}

static int destroy_qp(struct ibv_qp *qp)
{
	assert_non_null(qp);
	return 0;
}

static const struct vpeer_verbs verbs = {
	.get_device_name = device_name,
	.reg_mr = reg_address,
	.reg_dmabuf_mr = reg_dmabuf,
	.dereg_mr = dereg,
	.query_port = query_port,
	.create_cq = create_cq,
	.destroy_cq = destroy_cq,
	.create_qp = create_qp,
	.modify_qp = modify_qp,
	.destroy_qp = destroy_qp,
};

static struct vpeer_context *make(const struct vpeer_context_options *options)
{
	struct vpeer_context *context;

	address_errno = 0;
	dmabuf_errno = 0;
	probe_errno = EBADF;
	port_errno = 0;
	assert_int_equal(vpeer_context_begin(&context, &pd, options, &verbs, NULL), 0);
	return context;
}

static void end(struct vpeer_context *context)
{
	assert_int_equal(vpeer_context_destroy(context, NULL), 0);
}

static void expect(const struct vpeer_error *error, unsigned int reason, const char *message,
		   const char *remedy)
{
	assert_int_equal(error->reason, reason);
	if (!strstr(error->message, message) || !strstr(error->remedy, remedy))
		fail_msg("'%s' (%s) lacks '%s' or '%s'", error->message, error->remedy, message,
			 remedy);
	assert_int_equal(error->mender, VPEER_MENDER_PROGRAM);
	assert_true(error->who[0]);
}

static void members_of_a_registration(void **state)
{
	static const struct {
		struct vpeer_reg_options options;
		const char *message;
		const char *remedy;
	} cases[] = {
		{ { .flags = 1U << 4 }, "member flags of the options is out of range: 16 (0x10)",
		  "of one release" },
		{ { .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING },
		  "access of the options is out of range: 1048577 (0x100001)",
		  "relaxed_ordering" },
		{ { .access = IBV_ACCESS_ZERO_BASED }, "(0x20)", "vpeer_mr_range()" },
		{ { .access = 1U << 30 }, "(0x40000000)", "of libibverbs" },
		{ { .access = 1U << 10 }, "(0x400)", "of libibverbs" },
		{ { .access = IBV_ACCESS_REMOTE_WRITE }, "access", "IBV_ACCESS_LOCAL_WRITE" },
		{ { .access = IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_REMOTE_READ }, "access",
		  "IBV_ACCESS_LOCAL_WRITE" },
		{ { .relaxed_ordering = 3 }, "relaxed_ordering", "enum vpeer_ordering" },
		{ { .routes = VPEER_ROUTE_DMABUF }, "routes", "VPEER_ROUTE_BIT()" },
		{ { .routes = 1U << 5 }, "routes of the options is out of range: 32",
		  "VPEER_ROUTE_BIT()" },
		{ { .reserved = { [3] = 1 } }, "reserved", "set the whole structure to 0" },
	};
	struct vpeer_context *context = make(NULL);
	static char memory[PAGE];
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(vpeer_reg(context, memory, PAGE, &cases[i].options, &mr, &error),
				 -EINVAL);
		expect(&error, VPEER_REASON_BAD_ARGUMENT, cases[i].message, cases[i].remedy);
		assert_string_equal(error.who, "test0");
	}
	end(context);
}

/* Optional bits are the driver's to know. */
static void accesses_that_are_good(void **state)
{
	static const uint32_t good[] = {
		IBV_ACCESS_REMOTE_READ,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
		IBV_ACCESS_ON_DEMAND | IBV_ACCESS_MW_BIND | IBV_ACCESS_HUGETLB,
		1U << 29,
	};
	struct vpeer_context *context = make(NULL);
	static char memory[PAGE];
	struct vpeer_mr *mr;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct vpeer_reg_options options = { .access = good[i] };

		assert_int_equal(vpeer_reg(context, memory, PAGE, &options, &mr, NULL), 0);
		assert_int_equal(vpeer_dereg(mr), 0);
	}
	end(context);
}

/* A kept registration that permits more does not hide it. */
static void impossible_access_of_a_hit(void **state)
{
	struct vpeer_reg_options options = { .flags = VPEER_REG_KEEP };
	struct vpeer_context *context = make(NULL);
	static char memory[PAGE];
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(vpeer_reg(context, memory, PAGE, &options, &mr, NULL), 0);
	assert_int_equal(vpeer_dereg(mr), 0);
	options.access = IBV_ACCESS_REMOTE_WRITE;
	assert_int_equal(vpeer_reg(context, memory, PAGE, &options, &mr, &error), -EINVAL);
	options.access |= IBV_ACCESS_LOCAL_WRITE;
	assert_int_equal(vpeer_reg(context, memory, PAGE, &options, &mr, &error), 0);
	assert_int_equal(vpeer_dereg(mr), 0);
	end(context);
}

static void members_of_a_context(void **state)
{
	static const struct {
		struct vpeer_context_options options;
		const char *message;
		const char *remedy;
	} cases[] = {
		{ { .flags = 1U << 2 }, "member flags of the options is out of range: 4 (0x4)",
		  "of one release" },
		{ { .relaxed_ordering = 3 }, "relaxed_ordering", "enum vpeer_ordering" },
		{ { .routes = VPEER_ROUTE_DMABUF }, "routes", "VPEER_ROUTE_BIT()" },
		{ { .cuda_check = 2 }, "cuda_check", "enum vpeer_cuda_check" },
		{ { .max_entries = 1ULL << 40 }, "max_entries of the options is out of range: "
		  "1099511627776", "16777216" },
		{ { .aperture_percent = 101 }, "aperture_percent", "1 to 100" },
		{ { .log_level = 4 }, "log_level", "enum vpeer_log_level" },
		{ { .reserved = { [7] = 1 } }, "reserved", "set the whole structure to 0" },
	};
	struct vpeer_context *context;
	struct vpeer_error error;

	(void)state;
	assert_int_equal(VPEER_CACHE_MAX_ENTRIES, 16777216);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(vpeer_context_begin(&context, &pd, &cases[i].options, &verbs,
						     &error), -EINVAL);
		expect(&error, VPEER_REASON_BAD_ARGUMENT, cases[i].message, cases[i].remedy);
		assert_string_equal(error.who, "test0");
	}
}

static void ranges(void **state)
{
	struct vpeer_context *context = make(NULL);
	static char memory[PAGE];
	const struct vpeer_range none = { memory, 0 };
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(vpeer_reg(context, (void *)0x1000, 0, NULL, &mr, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "0 bytes at 0x1000: the range is empty",
	       "at least 1 byte");
	assert_int_equal(vpeer_reg(context, (void *)-4096L, 8192, NULL, &mr, &error), -EOVERFLOW);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "8192 bytes at 0xfffffffffffff000",
	       "check address and length");
	assert_int_equal(vpeer_reg_batch(context, &none, 0, NULL, &mr, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "number of ranges is 0", "at least 1 range");
	assert_int_equal(vpeer_reg_batch(context, &none, 1, NULL, &mr, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "range 0, 0 bytes at ", "at least 1 byte");
	assert_int_equal(vpeer_reg_rails(&context, 0, memory, 1, NULL, &mr, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "number of contexts is 0", "at least 1 context");
	end(context);
}

/* Where NULL is what a call of libibverbs returned that nobody looked at. */
static void null_arguments(void **state)
{
	struct vpeer_context *contexts[] = { make(NULL), NULL };
	struct vpeer_context *none = (void *)1;
	static char memory[PAGE];
	struct vpeer_mr *mrs[2];
	struct vpeer_error error;
	void *umem = memory;

	(void)state;
	assert_int_equal(vpeer_context_create(&none, NULL, NULL, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "protection domain is NULL", "ibv_alloc_pd()");
	assert_null(none);
	assert_int_equal(vpeer_context_open(&none, NULL, NULL, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "the device is NULL", "ibv_open_device()");
	assert_null(none);
	assert_int_equal(vpeer_umem_reg(NULL, memory, 1, 0, &umem, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "the device is NULL", "ibv_open_device()");
	assert_null(umem);
	assert_int_equal(vpeer_reg_rails(contexts, 2, memory, 1, NULL, mrs, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "context 1 of 2 is NULL",
	       "vpeer_context_create()");
	assert_string_equal(error.who, "context 1");
	end(contexts[0]);
}

static int reg_host(struct vpeer_context *context, uint32_t access, struct vpeer_error *error)
{
	struct vpeer_reg_options options = { .access = access };
	static char memory[PAGE];
	struct vpeer_mr *mr;

	return vpeer_reg(context, memory, PAGE, &options, &mr, error);
}

static void access_not_offered(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;

	(void)state;
	address_errno = EOPNOTSUPP;
	assert_int_equal(reg_host(context, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND, &error),
			 -EOPNOTSUPP);
	expect(&error, VPEER_REASON_ACCESS, "does not offer the access 0x41 (on demand): ",
	       "ask for less");
	assert_string_equal(error.who, "test0");
	assert_int_equal(reg_host(context, IBV_ACCESS_MW_BIND | IBV_ACCESS_ON_DEMAND, &error),
			 -EOPNOTSUPP);
	expect(&error, VPEER_REASON_ACCESS, "0x50 (on demand, memory windows): ", "ask for less");
	assert_int_equal(reg_host(context, 0, &error), -EOPNOTSUPP);
	expect(&error, VPEER_REASON_ACCESS, "does not offer the access 0x7: ", "ask for less");
	address_errno = EINVAL;
	assert_int_equal(reg_host(context, 1U << 8, &error), -EINVAL);
	expect(&error, VPEER_REASON_ACCESS, "0x100: ", "ask for less");
	address_errno = EFAULT;
	assert_int_equal(reg_host(context, IBV_ACCESS_ON_DEMAND, &error), -EFAULT);
	assert_int_equal(error.reason, VPEER_REASON_NOT_PINNABLE);
	end(context);
}

static int export_it(struct vpeer_memory *which, uint64_t start, uint64_t length,
		     unsigned int flags, int *fd, uint64_t *offset, struct vpeer_error *error)
{
	assert_true(which && length && !flags);
	(void)error;
	*fd = dup(STDERR_FILENO);
	*offset = start % PAGE;
	return 0;
}

/* Device memory, by DMA-buf and by pages. */
static const struct vpeer_memory_ops kind = {
	.name = "test memory",
	.routes = VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) | VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) |
		  VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING),
	.export = export_it,
};

static int reg_device(struct vpeer_context *context, unsigned int which, uint32_t routes,
		      struct vpeer_mr **mr, struct vpeer_error *error)
{
	struct vpeer_reg_options options = { .routes = routes };
	struct vpeer_exported exported = { .fd = -1 };
	struct vpeer_memory memory = {
		.ops = &kind,
		.kind = which,
		.start = 0x10000,
		.length = PAGE,
		.base = 0x10000,
		.base_length = PAGE,
		.writable = true,
		.who = "0000:01:00.0 BAR 2",
	};
	struct vpeer_request r;
	int err;

	if (which == VPEER_MEMORY_DMABUF) {
		memory.dmabuf.fd = -1;
		strcpy(memory.dmabuf.name, "vpeer");
	}
	assert_int_equal(vpeer_request_init(&r, context, 0x10000, PAGE, &options, NULL), 0);
	vpeer_error_clear(error);
	err = vpeer_register_memory(&r, &memory, &exported, 0, mr, error);
	vpeer_exported_close(&exported);
	return err;
}

static void no_import(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	probe_errno = EOPNOTSUPP;
	address_errno = EFAULT;
	assert_int_equal(reg_device(context, VPEER_MEMORY_WINDOW,
				    VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF), &mr, &error),
			 -EOPNOTSUPP);
	assert_int_equal(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
	assert_non_null(strstr(error.remedy, ", or allow the route pages or staging"));
	assert_int_equal(reg_device(context, VPEER_MEMORY_WINDOW, 0, &mr, &error), -EOPNOTSUPP);
	assert_int_equal(error.reason, VPEER_REASON_NO_DMABUF_IMPORT);
	assert_non_null(strstr(error.message, "; pages: "));
	assert_null(strstr(error.remedy, "allow"));
	assert_int_equal(error.mender, VPEER_MENDER_GUEST);
	assert_int_equal(reg_device(context, VPEER_MEMORY_DMABUF, 0, &mr, &error), -EOPNOTSUPP);
	expect(&error, VPEER_REASON_NO_DMABUF_IMPORT, "; pages: ", "vpeer_window_map()");
	end(context);
}

/* What was asked for cannot be: other refusals come second. */
static void invalid_leads(void **state)
{
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	probe_errno = EOPNOTSUPP;
	address_errno = EINVAL;
	assert_int_equal(reg_device(context, VPEER_MEMORY_WINDOW, 0, &mr, &error), -EINVAL);
	assert_int_equal(error.err, EINVAL);
	assert_non_null(strstr(error.message, "test0: pages: EINVAL"));
	assert_non_null(strstr(error.message, "; dmabuf: "));
	address_errno = EFAULT;
	assert_int_equal(reg_device(context, VPEER_MEMORY_WINDOW, 0, &mr, &error), -EOPNOTSUPP);
	end(context);
}

static void flushes(void **state)
{
	struct vpeer_reg_options deaf = {
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
	};
	struct vpeer_context *context = make(NULL);
	static char memory[PAGE];
	struct vpeer_flush *flush;
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	port_errno = EINVAL;
	assert_int_equal(vpeer_flush_create(&flush, context, 7, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "port 7: ", "rdma link");
	assert_null(flush);
	port_errno = 0;
	assert_int_equal(vpeer_flush_create(&flush, context, 7, &error), 0);
	assert_int_equal(vpeer_reg(context, memory, PAGE, &deaf, &mr, NULL), 0);
	assert_int_equal(vpeer_flush(flush, mr, 0, &error), -EINVAL);
	expect(&error, VPEER_REASON_ACCESS, "without remote read", "IBV_ACCESS_REMOTE_READ");
	assert_int_equal(vpeer_dereg(mr), 0);
	vpeer_flush_destroy(flush);
	end(context);
}

static void staged(void **state)
{
	struct vpeer_reg_options options = { .routes = VPEER_ROUTE_BIT(VPEER_ROUTE_STAGING) };
	struct vpeer_context *context = make(NULL);
	static char memory[2 * PAGE];
	struct vpeer_error error;
	struct vpeer_mr *mr, *direct;

	(void)state;
	assert_int_equal(vpeer_reg(context, memory, PAGE, &options, &mr, NULL), 0);
	assert_int_equal(vpeer_reg(context, memory, PAGE, NULL, &direct, NULL), 0);
	assert_int_equal(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, memory + 1, PAGE, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "4096 bytes at 0x", "vpeer_mr_range()");
	assert_int_equal(vpeer_mr_copy(mr, 3, memory, PAGE, &error), -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "no way 3", "enum vpeer_copy");
	assert_int_equal(vpeer_mr_copy(direct, VPEER_COPY_TO_STAGE, memory, 1, &error),
			 -EOPNOTSUPP);
	expect(&error, VPEER_REASON_STAGED, "not staged, by pages", "vpeer_mr_route()");
	assert_int_equal(vpeer_mr_copy(mr, VPEER_COPY_TO_STAGE, memory, PAGE, &error), 0);
	assert_int_equal(vpeer_dereg(mr), 0);
	assert_int_equal(vpeer_dereg(direct), 0);
	end(context);
}

static void in_use(void **state)
{
	struct vpeer_context *context = make(NULL);
	static char memory[2 * PAGE];
	struct vpeer_error error;
	struct vpeer_mr *mrs[2];

	(void)state;
	for (int i = 0; i < 2; i++)
		assert_int_equal(vpeer_reg(context, memory + i * PAGE, PAGE, NULL, &mrs[i], NULL),
				 0);
	assert_int_equal(vpeer_mr_work_begin(mrs[1]), 0);
	assert_int_equal(vpeer_context_destroy(context, &error), -EBUSY);
	expect(&error, VPEER_REASON_MR_IN_USE, "MRs: 2, with work in flight: 1", "vpeer_dereg()");
	assert_int_equal(vpeer_dereg(mrs[0]), 0);
	assert_int_equal(vpeer_dereg(mrs[1]), -EINPROGRESS);
	assert_int_equal(vpeer_context_destroy(context, &error), -EBUSY);
	expect(&error, VPEER_REASON_MR_IN_USE, "MRs: 1, with work in flight: 1", "vpeer_dereg()");
	vpeer_mr_work_end(mrs[1]);
	end(context);
}

static void whole_dmabuf(void **state)
{
	struct vpeer_reg_options options = { .flags = VPEER_REG_WHOLE };
	struct vpeer_context *context = make(NULL);
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(vpeer_reg_dmabuf(context, -1, 0, PAGE, 0, &options, &mr, &error),
			 -EINVAL);
	expect(&error, VPEER_REASON_BAD_ARGUMENT, "VPEER_REG_WHOLE", "offset and length");
	options.flags = 0;
	assert_int_equal(vpeer_reg_dmabuf(context, -1, 0, PAGE, 0, &options, &mr, &error), -EBADF);
	assert_int_equal(error.mender, VPEER_MENDER_PROGRAM);
	end(context);
}

static void keep_line(void *argument, int level, const char *text)
{
	if (level == VPEER_LOG_DEBUG)
		snprintf(argument, 256, "%s", text);
}

/* Each number once, in the units of the rest. */
static void logged_once(void **state)
{
	char line[256] = "", wanted[128];
	struct vpeer_context_options options = {
		.log_level = VPEER_LOG_DEBUG,
		.log = keep_line,
		.log_argument = line,
	};
	struct vpeer_context *context = make(&options);
	static char memory[PAGE];
	struct vpeer_error error;
	struct vpeer_mr *mr;

	(void)state;
	assert_int_equal(vpeer_reg(context, memory, PAGE, NULL, &mr, NULL), 0);
	snprintf(wanted, sizeof(wanted), "test0: registered 4096 bytes at %p", memory);
	assert_memory_equal(line, wanted, strlen(wanted));
	assert_null(strstr(line + strlen(wanted), "bytes"));
	assert_int_equal(vpeer_dereg(mr), 0);
	assert_int_equal(reg_device(context, VPEER_MEMORY_WINDOW, 0, &mr, &error), 0);
	assert_non_null(strstr(line, "BAR 2, 4096 bytes at 0x10000, by dmabuf"));
	assert_int_equal(vpeer_dereg(mr), 0);
	end(context);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_of_a_registration),
		cmocka_unit_test(accesses_that_are_good),
		cmocka_unit_test(impossible_access_of_a_hit),
		cmocka_unit_test(members_of_a_context),
		cmocka_unit_test(ranges),
		cmocka_unit_test(null_arguments),
		cmocka_unit_test(access_not_offered),
		cmocka_unit_test(no_import),
		cmocka_unit_test(invalid_leads),
		cmocka_unit_test(flushes),
		cmocka_unit_test(staged),
		cmocka_unit_test(in_use),
		cmocka_unit_test(whole_dmabuf),
		cmocka_unit_test(logged_once),
	};

	return cmocka_run_group_tests_name("refusals", tests, NULL, NULL);
}

// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each call of the interface, with each of its allocations failing in turn: the documented errno, nothing
 * left behind, and the same call works afterwards.
 */
#include <fcntl.h>
#include <linux/dma-buf.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "dmabuf.h"
#include "fail.h"
#include "harness.h"
#include "memory.h"
#include "neighbour.h"
#include "rdma.h"
#include "vrnic.h"

#define MOST		64	/* allocations of a call */
#define SETTLE_MS	5000
#define OVERRIDE	"of_administrator"

/* What the calls below work on. */
struct place {
	int fd;
	int made;
	char *mapped;
	uint64_t offset;
	uint32_t reason;
	struct rdma rdma;
	struct ibv_mr *mr;
};

/* How a call ends when this one of its own fails, unless by ENOMEM. */
struct ending {
	const char *what;
	int error;
	uint32_t reason;
};

struct sweep {
	void (*before)(struct place *p);
	int (*call)(struct place *p);		/* 0 or -errno */
	void (*undo)(struct place *p);		/* what the call made */
	void (*after)(struct place *p);		/* what before() made */
	unsigned int least;			/* so many of its own can fail */
	unsigned int most;			/* the others are another sweep's; 0: none is */
	unsigned int times;			/* in a row, where the kernel tries again; 0: once */
	uint32_t reason;			/* that goes with ENOMEM */
	const struct ending *endings;		/* up to one without a name */
};

struct state {
	char text[600];
};

static void describe_aperture(char *text, size_t size)
{
	static const char *const counters[] = {
		"windows", "mappings", "bytes_free", "bytes_pinned",
		"dmabufs", "dmabuf_maps", "dmabuf_bytes_mapped",
	};
	size_t used = 0;

	text[0] = '\0';
	if (!*aperture_node())
		return;
	for (size_t i = 0; i < ARRAY_SIZE(counters); i++)
		used += snprintf(text + used, size - used, ", %s %llu", counters[i],
				 (unsigned long long)aperture_stat(counters[i]));
}

/* The function's driver_override, which attach keeps and detach puts back. */
static void override_path(char *path, size_t size)
{
	snprintf(path, size, "/sys/bus/pci/devices/%s/driver_override", aperture_pci());
}

static void set_override(const char *name)
{
	char path[128];

	override_path(path, sizeof(path));
	CHECK(sysfs_write(path, name));
}

static void get_override(char *name, size_t size)
{
	char path[128];

	override_path(path, sizeof(path));
	CHECK(sysfs_read(path, name, size));
	name[strcspn(name, "\n")] = '\0';
}

static void describe(struct state *state)
{
	char held[256], aperture[256], override[64];

	fail_live(held, sizeof(held));
	describe_aperture(aperture, sizeof(aperture));
	get_override(override, sizeof(override));
	snprintf(state->text, sizeof(state->text), "%.200s, files %u, override %.40s%.250s", held,
		 descriptors(), override, aperture);
}

static bool is_as(const struct state *wanted, struct state *now)
{
	describe(now);
	return !strcmp(now->text, wanted->text);
}

/* References that walkers of page tables took in passing go at once, but not synchronously. */
static void check_as(const struct state *wanted, const char *when)
{
	int64_t end = test_now_ms() + SETTLE_MS;
	struct state now;

	while (!is_as(wanted, &now)) {
		if (test_now_ms() > end)
			test_fail(__FILE__, __LINE__, "%s: '%.400s' instead of '%.400s'", when,
				  now.text, wanted->text);
		test_sleep_ms(10);
	}
}

static const struct ending *ending_of(const struct sweep *s, const char *what)
{
	const struct ending *e;

	for (e = s->endings; e && e->what; e++)
		if (!strncmp(what, e->what, strlen(e->what)))
			return e;
	return NULL;
}

static void check_ending(const struct sweep *s, const struct place *p, const char *what, int ret)
{
	const struct ending *e = ending_of(s, what);
	int error = e ? e->error : ENOMEM;
	uint32_t reason = e ? e->reason : s->reason;

	printf("%s: %s, reason %u\n", what, ret ? strerrorname_np(-ret) : "works", p->reason);
	if (-ret != error || p->reason != reason)
		test_fail(__FILE__, __LINE__, "%s: %s, reason %u; expected %s, reason %u", what,
			  ret ? strerrorname_np(-ret) : "works", p->reason,
			  error ? strerrorname_np(error) : "that it works", reason);
}

static void call_and_undo(const struct sweep *s, struct place *p, const struct state *before)
{
	p->reason = 0;
	CHECK_EQ(-s->call(p), 0);
	if (s->undo)
		s->undo(p);
	check_as(before, "after the call and its end");
}

/* False if there are not so many. */
static bool fail_one(const struct sweep *s, struct place *p, unsigned int nth)
{
	struct state before;
	char what[96];
	bool hit;
	int ret;

	describe(&before);
	p->reason = 0;
	fail_arm(nth, s->times ?: 1);
	ret = s->call(p);
	hit = fail_disarm(what, sizeof(what));
	if (hit)
		check_ending(s, p, what, ret);
	else
		CHECK_EQ(-ret, 0);
	if (!ret && s->undo)
		s->undo(p);
	check_as(&before, hit ? what : "after the call and its end");
	if (hit)
		call_and_undo(s, p, &before);
	return hit;
}

static void begin(const struct sweep *s, struct place *p)
{
	*p = (struct place){ .fd = -1, .made = -1 };
	if (s->before)
		s->before(p);
}

static void end(const struct sweep *s, struct place *p)
{
	if (s->after)
		s->after(p);
}

static void sweep(const struct sweep *s)
{
	unsigned int nth = 0;
	struct state rest;
	struct place p;
	bool more;

	describe(&rest);
	do {
		CHECK(nth++ < MOST);
		begin(s, &p);
		more = fail_one(s, &p, nth);
		end(s, &p);
		check_as(&rest, "at the end");
	} while (more && nth != s->most);
	printf("%u of its own fail\n", more ? nth : nth - 1);
	CHECK((more ? nth : nth - 1) >= s->least);
}

static int result(int ret)
{
	return ret < 0 ? -errno : 0;
}

static void open_node(struct place *p)
{
	p->fd = aperture_open();
}

static void close_node(struct place *p)
{
	close(p->fd);
}

/* Struct pages stay for a while after their last use, but not beyond the aperture. */
static void attach_anew(struct place *p)
{
	(void)p;
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static void open_attached_anew(struct place *p)
{
	attach_anew(p);
	open_node(p);
}

static void close_and_attach_anew(struct place *p)
{
	close_node(p);
	attach_anew(p);
}

static void detach_for_good(struct place *p)
{
	(void)p;
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

static int call_attach(struct place *p)
{
	return result(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, &p->reason));
}

static void attach_at_end(struct place *p)
{
	(void)p;
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

static int call_open(struct place *p)
{
	p->made = open(aperture_node(), O_RDWR | O_CLOEXEC);
	return result(p->made);
}

static void close_made(struct place *p)
{
	close(p->made);
	p->made = -1;
}

TEST(open, 30)
{
	fail_load();
	sweep(&(struct sweep){ .call = call_open, .undo = close_made, .least = 2 });
}

static const struct ending attach_endings[] = {
	{ "pci_enable_device_mem", EIO, VPEER_REASON_ENABLE_FAILED },
	{ "pci_request_region", EBUSY, VPEER_REASON_REGION_BUSY },
	/* Nothing is measured, or shown there, then. */
	{ "ioremap_wc vpeer_access_measure", 0, 0 },
	{ "debugfs_create_dir", 0, 0 },
	{ },
};

TEST(attach, 60)
{
	fail_load();
	detach_for_good(NULL);
	sweep(&(struct sweep){
		.call = call_attach, .undo = detach_for_good,
		.least = 10, .reason = VPEER_REASON_NO_MEMORY, .endings = attach_endings,
	});
	attach_at_end(NULL);
}

/* With a name that an administrator left there. */
TEST(attach_overridden, 60)
{
	fail_load();
	detach_for_good(NULL);
	set_override(OVERRIDE);
	sweep(&(struct sweep){
		.call = call_attach, .undo = detach_for_good,
		.least = 11, .reason = VPEER_REASON_NO_MEMORY, .endings = attach_endings,
	});
	set_override("\n");
	attach_at_end(NULL);
}

static int call_attach_range(struct place *p)
{
	int number = control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					  2 * GRANULE, 4 * GRANULE, &p->reason);

	return result(number);
}

TEST(attach_range, 60)
{
	static const struct ending endings[] = {
		{ "ioremap_wc vpeer_access_measure", 0, 0 },
		{ "debugfs_create_dir", 0, 0 },
		{ },
	};

	fail_load();
	neighbour_alone();
	sweep(&(struct sweep){
		.call = call_attach_range, .undo = detach_for_good,
		.least = 8, .reason = VPEER_REASON_NO_MEMORY, .endings = endings,
	});
	neighbour_unbind();
	attach_at_end(NULL);
}

/* The name that is not put back counts as a reason. */
static int call_detach(struct place *p)
{
	int ret = result(control_detach(aperture_pci(), NULL, &p->reason));
	char override[64];

	get_override(override, sizeof(override));
	if (strcmp(override, OVERRIDE)) {
		p->reason = VPEER_REASON_NO_MEMORY;
		set_override(OVERRIDE);
	}
	return ret;
}

/* It must do its work whatever fails, and only the kernel's own copy of the name can be missing. */
TEST(detach, 30)
{
	static const struct ending endings[] = {
		{ "driver_set_override", 0, VPEER_REASON_NO_MEMORY },
		{ "device_set_driver_override", 0, VPEER_REASON_NO_MEMORY },
		{ "", 0, 0 },
		{ },
	};

	fail_load();
	detach_for_good(NULL);
	set_override(OVERRIDE);
	sweep(&(struct sweep){
		.before = attach_at_end, .call = call_detach, .undo = attach_at_end,
		.after = detach_for_good, .endings = endings,
	});
	set_override("\n");
	attach_at_end(NULL);
}

static int call_alloc(struct place *p)
{
	struct vpeer_window_alloc arg = { .argsz = sizeof(arg), .size = 2 * GRANULE };
	int ret = result(ioctl(p->fd, VPEER_IOCTL_WINDOW_ALLOC, &arg));

	p->offset = arg.offset;
	p->reason = arg.reason;
	/* A slot that a call before had kept would not be the next one's. */
	if (!ret)
		CHECK_EQ(arg.slot, 0);
	return ret;
}

static void free_and_attach_anew(struct place *p)
{
	CHECK_OK(window_free(p->fd, p->offset));
	close_node(p);
	attach_anew(p);
	open_node(p);
}

/* Window, user, struct pages. */
TEST(window_alloc, 60)
{
	fail_load();
	sweep(&(struct sweep){
		.before = open_attached_anew, .call = call_alloc, .undo = free_and_attach_anew,
		.after = close_and_attach_anew, .least = 4, .reason = VPEER_REASON_NO_MEMORY,
	});
}

static int call_mmap(struct place *p)
{
	p->mapped = mmap(NULL, GRANULE, PROT_READ | PROT_WRITE, MAP_SHARED, p->fd, GRANULE);
	return p->mapped == MAP_FAILED ? -errno : 0;
}

static void unmap(struct place *p)
{
	munmap(p->mapped, GRANULE);
}

TEST(mmap, 30)
{
	fail_load();
	sweep(&(struct sweep){
		.before = open_node, .call = call_mmap, .undo = unmap, .after = close_node,
		.least = 2,
	});
}

static void open_and_map(struct place *p)
{
	open_attached_anew(p);
	CHECK_EQ(call_mmap(p), 0);
}

static int call_touch(struct place *p)
{
	return signal_of_write(p->mapped) ? -EFAULT : 0;
}

/* All that the first fault made goes with the aperture. */
static void touched(struct place *p)
{
	unmap(p);
	close_and_attach_anew(p);
	open_node(p);
	CHECK_EQ(call_mmap(p), 0);
}

static void unmap_and_close(struct place *p)
{
	unmap(p);
	close_node(p);
	attach_anew(p);
}

/* SIGBUS if there are no struct pages; a page table that cannot be had has the fault done again. */
TEST(fault, 60)
{
	static const struct ending endings[] = {
		{ "vmf_insert_", 0, 0 },
		{ "vm_insert_", 0, 0 },
		{ "", EFAULT, 0 },
		{ },
	};

	fail_load();
	sweep(&(struct sweep){
		.before = open_and_map, .call = call_touch, .undo = touched,
		.after = unmap_and_close, .least = 3, .times = 4, .endings = endings,
	});
}

static int call_map_generations(struct place *p)
{
	p->mapped = mmap(NULL, 4096, PROT_READ, MAP_SHARED, p->fd, VPEER_MMAP_GENERATION);
	return p->mapped == MAP_FAILED ? -errno : 0;
}

static void unmap_generations(struct place *p)
{
	munmap(p->mapped, 4096);
}

TEST(mmap_generations, 30)
{
	fail_load();
	sweep(&(struct sweep){
		.before = open_node, .call = call_map_generations, .undo = unmap_generations,
		.after = close_node, .least = 1,
	});
}

static int call_export(struct place *p)
{
	struct vpeer_dmabuf arg = { .argsz = sizeof(arg), .offset = GRANULE + 4096, .size = 8192 };
	int ret = result(ioctl(p->fd, VPEER_IOCTL_DMABUF, &arg));

	p->made = arg.fd;
	p->reason = arg.reason;
	return ret;
}

static void close_exported(struct place *p)
{
	close_made(p);
	touched(p);
}

static void open_and_touch(struct place *p)
{
	open_node(p);
	CHECK_EQ(call_mmap(p), 0);
	CHECK_EQ(signal_of_write(p->mapped), 0);
}

static void close_touched(struct place *p)
{
	unmap(p);
	close_node(p);
}

/* A window beside those of the calls, so that the chunk that they lie in has its struct pages. */
static int keep_struct_pages(void)
{
	int fd = aperture_open();

	CHECK_OK(window_alloc_at(fd, 8 * GRANULE, GRANULE, NULL));
	return fd;
}

/* Struct pages, which are the window's from then on; descriptor, the DMA-buf itself. */
TEST(dmabuf, 60)
{
	static const struct ending endings[] = {
		{ "get_unused_fd_flags", EMFILE, VPEER_REASON_TOO_MANY_FILES },
		{ },
	};
	int fd;

	fail_load();
	sweep(&(struct sweep){
		.before = open_and_map, .call = call_export, .undo = close_exported,
		.after = unmap_and_close, .least = 2, .most = 2, .reason = VPEER_REASON_NO_MEMORY,
	});
	fd = keep_struct_pages();
	sweep(&(struct sweep){
		.before = open_and_touch, .call = call_export, .undo = close_made,
		.after = close_touched, .least = 3, .reason = VPEER_REASON_NO_MEMORY,
		.endings = endings,
	});
	close(fd);
}

/* A window of whose DMA-buf the calls make use. */
static void open_exported(struct place *p)
{
	open_and_touch(p);
	CHECK_EQ(call_export(p), 0);
}

static void close_all(struct place *p)
{
	close_made(p);
	close_touched(p);
}

static int call_map_dmabuf(struct place *p)
{
	char *mapped = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, p->made, 0);

	if (mapped == MAP_FAILED)
		return -errno;
	CHECK_EQ(signal_of_write(mapped + 4096), 0);
	munmap(mapped, 8192);
	return 0;
}

static int call_sync(struct place *p)
{
	struct dma_buf_sync sync = { .flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW };

	if (ioctl(p->made, DMA_BUF_IOCTL_SYNC, &sync))
		return -errno;
	sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
	return result(ioctl(p->made, DMA_BUF_IOCTL_SYNC, &sync));
}

/* A page table that cannot be had has the fault done again. */
TEST(dmabuf_mmap, 30)
{
	static const struct ending endings[] = {
		{ "vmf_insert_", 0, 0 },
		{ "vm_insert_", 0, 0 },
		{ },
	};
	int fd;

	fail_load();
	fd = keep_struct_pages();
	sweep(&(struct sweep){
		.before = open_exported, .call = call_map_dmabuf, .after = close_all,
		.least = 1, .endings = endings,
	});
	close(fd);
}

static void open_for_import(struct place *p)
{
	rdma_open_device(&p->rdma, vrnic_device(0));
	open_exported(p);
}

static void close_after_import(struct place *p)
{
	close_all(p);
	rdma_close(&p->rdma);
}

static int call_import(struct place *p)
{
	p->mr = ibv_reg_dmabuf_mr(p->rdma.pd, 0, 8192, 0, p->made, RDMA_ACCESS);
	return p->mr ? 0 : -errno;
}

static void end_import(struct place *p)
{
	CHECK_EQ(ibv_dereg_mr(p->mr), 0);
}

static int call_end_import(struct place *p)
{
	end_import(p);
	return 0;
}

static void import(struct place *p)
{
	CHECK_EQ(call_import(p), 0);
}

static void open_imported(struct place *p)
{
	open_for_import(p);
	import(p);
}

static void close_imported(struct place *p)
{
	end_import(p);
	close_after_import(p);
}

static const struct ending none[] = { { "", EBADE, 0 }, { } };

/* Attachment, mapping, IOVA and segments; the end of an MR needs nothing. */
static void check_import(const char *mode)
{
	int fd;

	fail_load();
	vrnic_dmabuf_mode(mode);
	fd = keep_struct_pages();
	sweep(&(struct sweep){
		.before = open_for_import, .call = call_import, .undo = end_import,
		.after = close_after_import, .least = 4,
	});
	sweep(&(struct sweep){
		.before = open_imported, .call = call_end_import, .undo = import,
		.after = close_imported, .endings = none,
	});
	close(fd);
}

TEST(import_dynamic, 60)
{
	check_import("dynamic");
}

TEST(import_revocable, 60)
{
	if (vrnic_can_revoke())
		check_import("revocable");
}

TEST(import_pinned, 60)
{
	check_import("pinned");
}

static void open_with_eventfd(struct place *p)
{
	open_node(p);
	p->made = eventfd(0, EFD_CLOEXEC);
	CHECK_OK(p->made);
}

static int set_event(struct place *p, int fd)
{
	struct vpeer_event arg = { .argsz = sizeof(arg), .fd = fd };
	int ret = result(ioctl(p->fd, VPEER_IOCTL_EVENT, &arg));

	p->reason = arg.reason;
	return ret;
}

static int call_event(struct place *p)
{
	return set_event(p, p->made);
}

static void no_event(struct place *p)
{
	CHECK_EQ(set_event(p, -1), 0);
}

static void close_both(struct place *p)
{
	close_made(p);
	close_node(p);
}

TEST(event, 30)
{
	static const struct ending endings[] = {
		{ "eventfd_ctx_fdget", EBADF, VPEER_REASON_NOT_EVENTFD },
		{ },
	};

	fail_load();
	sweep(&(struct sweep){
		.before = open_with_eventfd, .call = call_event, .undo = no_event,
		.after = close_both, .least = 1, .endings = endings,
	});
}

/* One window, whose struct pages stay throughout. */
static void open_with_window(struct place *p)
{
	open_node(p);
	p->offset = window_alloc(p->fd, GRANULE);
}

static int call_query(struct place *p)
{
	struct vpeer_query arg = { .argsz = sizeof(arg) };

	return result(ioctl(p->fd, VPEER_IOCTL_QUERY, &arg));
}

static int call_aperture_info(struct place *p)
{
	struct vpeer_aperture_info arg = { .argsz = sizeof(arg) };

	return result(ioctl(p->fd, VPEER_IOCTL_APERTURE_INFO, &arg));
}

static int call_window_info(struct place *p)
{
	struct vpeer_window_info arg = { .argsz = sizeof(arg), .offset = p->offset };

	return result(ioctl(p->fd, VPEER_IOCTL_WINDOW_INFO, &arg));
}

static int call_revoke(struct place *p)
{
	return result(window_revoke(p->fd, p->offset, 0, NULL));
}

static int call_revoke_all(struct place *p)
{
	struct vpeer_window_op arg = { .argsz = sizeof(arg), .flags = VPEER_REVOKE_ALL };

	return result(ioctl(p->fd, VPEER_IOCTL_WINDOW_REVOKE, &arg));
}

static int call_free(struct place *p)
{
	return result(window_free(p->fd, p->offset));
}

static void alloc_again(struct place *p)
{
	p->offset = window_alloc(p->fd, GRANULE);
}

/* None of these asks the kernel for anything, so that none can fail for want of it. */
TEST(calls_that_allocate_nothing, 30)
{
	static int (*const calls[])(struct place *p) = {
		call_query, call_aperture_info, call_window_info, call_revoke, call_revoke_all,
		call_free,
	};
	int fd;

	fail_load();
	fd = keep_struct_pages();
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		sweep(&(struct sweep){
			.before = open_with_window, .call = calls[i],
			.undo = calls[i] == call_free ? alloc_again : NULL,
			.after = close_node, .endings = none,
		});
	sweep(&(struct sweep){
		.before = open_exported, .call = call_sync, .after = close_all, .endings = none,
	});
	close(fd);
}

/* What would be left behind is seen. */
TEST(leak_is_seen, 10)
{
	struct state rest, now;
	int fd;

	fail_load();
	describe(&rest);
	CHECK(is_as(&rest, &now));
	fd = aperture_open();
	CHECK(!is_as(&rest, &now));
	close(fd);
	check_as(&rest, "closed");
}

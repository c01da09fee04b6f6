// SPDX-License-Identifier: GPL-2.0-only
/*
 * Each call of the interface, with each of its allocations failing in turn: the documented errno, nothing
 * left behind, and the same call works afterwards.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "fail.h"
#include "harness.h"
#include "memory.h"
#include "neighbour.h"

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
	unsigned int times;			/* in a row, where the kernel tries again; 0: once */
	uint32_t reason;			/* that goes with ENOMEM */
	const struct ending *endings;		/* up to one without a name */
};

struct state {
	char text[600];
};

static unsigned int open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	unsigned int count = 0;

	CHECK(dir);
	while (readdir(dir))
		count++;
	closedir(dir);
	return count;
}

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
		 open_files(), override, aperture);
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
	} while (more);
	printf("%u of its own fail\n", nth - 1);
	CHECK(nth - 1 >= s->least);
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

TEST(attach, 60)
{
	static const struct ending endings[] = {
		{ "pci_enable_device_mem", EIO, VPEER_REASON_ENABLE_FAILED },
		{ "pci_request_region", EBUSY, VPEER_REASON_REGION_BUSY },
		/* Nothing is measured, or shown there, then. */
		{ "ioremap_wc vpeer_access_measure", 0, 0 },
		{ "debugfs_create_dir", 0, 0 },
		{ },
	};

	fail_load();
	detach_for_good(NULL);
	sweep(&(struct sweep){
		.call = call_attach, .undo = detach_for_good,
		.least = 10, .reason = VPEER_REASON_NO_MEMORY, .endings = endings,
	});
	attach_at_end(NULL);
}

/* With a name that an administrator left there. */
TEST(attach_overridden, 60)
{
	static const struct ending endings[] = {
		{ "pci_enable_device_mem", EIO, VPEER_REASON_ENABLE_FAILED },
		{ "pci_request_region", EBUSY, VPEER_REASON_REGION_BUSY },
		{ "ioremap_wc vpeer_access_measure", 0, 0 },
		{ "debugfs_create_dir", 0, 0 },
		{ },
	};

	fail_load();
	detach_for_good(NULL);
	set_override(OVERRIDE);
	sweep(&(struct sweep){
		.call = call_attach, .undo = detach_for_good,
		.least = 11, .reason = VPEER_REASON_NO_MEMORY, .endings = endings,
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
	static const struct ending none[] = { { "", EBADE, 0 }, { } };
	int fd;

	fail_load();
	fd = aperture_open();
	window_alloc(fd, GRANULE);
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++)
		sweep(&(struct sweep){
			.before = open_with_window, .call = calls[i],
			.undo = calls[i] == call_free ? alloc_again : NULL,
			.after = close_node, .endings = none,
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

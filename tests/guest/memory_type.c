// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory types of a BAR that vpeer shares with its driver: who comes first
 * decides, and all CPU mappings of a page have one type. The table here is
 * what vpeer-attach(8) tells in words.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "neighbour.h"

#define RANGE_AT	(8 * MIB)
#define RANGE_SIZE	(2 * GRANULE)

#define UC	NEIGHBOUR_TYPE_UC
#define UC_	NEIGHBOUR_TYPE_UC_MINUS
#define WC	NEIGHBOUR_TYPE_WC
#define WB	NEIGHBOUR_TYPE_WB
#define REFUSED	0x100

struct place {
	const char *name;
	uint64_t offset;
	uint64_t size;
	uint64_t inside;	/* a place of the range in the driver's mapping */
	uint64_t outside;	/* a place that is not in the range */
};

#define NOWHERE	UINT64_MAX

static const struct place overlapping[] = {
	{ "the range itself", RANGE_AT, RANGE_SIZE, GRANULE, NOWHERE },
	{ "around the range", 0, 2 * RANGE_AT, RANGE_AT + GRANULE, 0 },
	{ "across its start", RANGE_AT - GRANULE, 2 * GRANULE, GRANULE, 0 },
	{ "across its end", RANGE_AT + GRANULE, 2 * GRANULE, 0, GRANULE },
	{ "one page of it", RANGE_AT + GRANULE, 4096, 0, NOWHERE },
};

static const struct place beside = {
	"beside the range", RANGE_AT + RANGE_SIZE, RANGE_SIZE, NOWHERE, 0,
};

/* What the driver asks for, and what comes of it. */
static const struct row {
	const char *name;
	enum neighbour_kind kind;
	bool user;
	uint32_t alone;		/* type without vpeer */
	uint32_t shared;	/* type of vpeer's mappings, if the driver came first */
	uint32_t later;		/* the driver's type, if it came second */
} rows[] = {
	{ "ioremap",		NEIGHBOUR_IOREMAP,	false, UC_, UC_, WC },
	{ "ioremap_wc",		NEIGHBOUR_IOREMAP_WC,	false, WC, WC, WC },
	{ "ioremap_uc",		NEIGHBOUR_IOREMAP_UC,	false, UC, UC, WC },
	{ "memremap",		NEIGHBOUR_MEMREMAP_WB,	false, WB, REFUSED, WC },
	{ "mmap, as it is",	NEIGHBOUR_USER,		true, WB, REFUSED, WC },
	{ "mmap, uncached",	NEIGHBOUR_USER_NONCACHED, true, UC_, UC_, WC },
	{ "mmap, combining",	NEIGHBOUR_USER_WRITECOMBINE, true, WC, WC, WC },
};

/* A mapping of the driver, in the kernel or of this process. */
struct view {
	const struct row *row;
	const struct place *place;
	int fd;
	char *user;
};

static struct view view_make(const struct row *row, const struct place *place)
{
	struct view v = { .row = row, .place = place };

	v.fd = neighbour_mapped(row->kind, place->offset, place->size);
	if (!row->user)
		return v;
	v.user = mmap(NULL, place->size, PROT_READ | PROT_WRITE, MAP_SHARED, v.fd, 0);
	CHECK_OK((long)v.user);
	return v;
}

static void view_end(struct view *v)
{
	if (v->user)
		CHECK_OK(munmap(v->user, v->place->size));
	close(v->fd);
}

static uint32_t view_type(const struct view *v, uint64_t place)
{
	uint32_t type;

	if (v->user)
		CHECK_OK(neighbour_type(v->fd, NEIGHBOUR_SIDE_USER,
					(uintptr_t)v->user + place, &type));
	else
		CHECK_OK(neighbour_type(v->fd, NEIGHBOUR_SIDE_DRIVER, place, &type));
	return type;
}

static void tell(const struct view *v, const char *what, uint32_t type)
{
	printf("%s, %s: %s: %s\n", v->row->name, v->place->name, what,
	       neighbour_type_name(type));
}

static void check_driver(const struct view *v, uint32_t inside, uint32_t outside)
{
	if (v->place->inside != NOWHERE) {
		tell(v, "driver in the range", view_type(v, v->place->inside));
		CHECK_EQ(view_type(v, v->place->inside), inside);
	}
	if (v->place->outside != NOWHERE) {
		tell(v, "driver outside", view_type(v, v->place->outside));
		CHECK_EQ(view_type(v, v->place->outside), outside);
	}
}

/* Uncached is uncached: only MTRRs of guests long gone tell the two apart. */
static uint32_t plain(uint32_t type)
{
	return type == UC_ ? UC : type;
}

/* vpeer's own mappings: a window in this process, and the kernel's linear map. */
static void check_vpeer(const struct view *v, const char *window, uint32_t expected)
{
	uint32_t user, linear;

	CHECK_OK(neighbour_type(v->fd, NEIGHBOUR_SIDE_USER, (uintptr_t)window, &user));
	CHECK_OK(neighbour_type(v->fd, NEIGHBOUR_SIDE_LINEAR, RANGE_AT + GRANULE, &linear));
	tell(v, "window", user);
	tell(v, "linear map", linear);
	CHECK_EQ(plain(user), plain(expected));
	CHECK_EQ(plain(linear), plain(expected));
}

static void check_info(int fd, uint32_t type)
{
	struct vpeer_aperture_info info = { .argsz = sizeof(info) };

	CHECK_OK(ioctl(fd, VPEER_IOCTL_APERTURE_INFO, &info));
	CHECK_EQ(info.memory_type, type == WC ? VPEER_MEMORY_WRITE_COMBINING :
						VPEER_MEMORY_UNCACHED);
}

/* The granule in which the driver's mapping overlaps, touched. */
static char *touch(int fd)
{
	char *window = window_map(fd, GRANULE, GRANULE);

	window[0] = 1;
	return window;
}

static void end(int fd, char *window)
{
	CHECK_OK(munmap(window, GRANULE));
	close(fd);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/*
 * Whatever went before, the list is as it was. Processes that end and CPU
 * hotplug do not show in it.
 */
static void check_list(char *before)
{
	char *after = memtype_list();

	if (strcmp(before, after)) {
		printf("before:\n%s\nafter:\n%s\n", before, after);
		test_fail(__FILE__, __LINE__, "reserved memory types changed");
	}
	free(before);
	free(after);
}

static void check_attach_refused(void)
{
	uint32_t reason;

	CHECK_ERRNO(control_attach_range(aperture_pci(), NEIGHBOUR_BAR, VPEER_ATTACH_FOREIGN,
					 RANGE_AT, RANGE_SIZE, &reason), EBUSY);
	CHECK_EQ(reason, VPEER_REASON_MEMORY_TYPE);
}

static void driver_first(const struct row *row, const struct place *place)
{
	char *list = memtype_list(), *window;
	struct view v = view_make(row, place);
	int fd;

	check_driver(&v, row->alone, row->alone);
	if (row->shared == REFUSED) {
		check_attach_refused();
		check_driver(&v, row->alone, row->alone);
		view_end(&v);
		check_list(list);
		return;
	}
	fd = foreign_open(foreign_attach(RANGE_AT, RANGE_SIZE));
	window = touch(fd);
	check_vpeer(&v, window, row->shared);
	check_driver(&v, row->alone, row->alone);
	check_info(fd, row->shared);
	end(fd, window);
	check_driver(&v, row->alone, row->alone);
	view_end(&v);
	check_list(list);
}

TEST(driver_first, 60)
{
	neighbour_alone();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t p = 0; p < ARRAY_SIZE(overlapping); p++)
			driver_first(&rows[i], &overlapping[p]);
}

/* @touched: vpeer has made its pages already, else it does so afterwards. */
static void vpeer_first(const struct row *row, const struct place *place, bool touched)
{
	char *list = memtype_list(), *window = NULL;
	int fd = foreign_open(foreign_attach(RANGE_AT, RANGE_SIZE));
	struct view v;

	if (touched)
		window = touch(fd);
	v = view_make(row, place);
	if (!touched)
		window = touch(fd);
	check_driver(&v, row->later, row->later);
	check_vpeer(&v, window, WC);
	check_info(fd, WC);
	end(fd, window);
	/* What it got it keeps. */
	check_driver(&v, row->later, row->later);
	view_end(&v);
	check_list(list);
}

TEST(vpeer_first, 60)
{
	neighbour_alone();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t p = 0; p < ARRAY_SIZE(overlapping); p++)
			vpeer_first(&rows[i], &overlapping[p], true);
}

TEST(vpeer_first_but_untouched, 60)
{
	neighbour_alone();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		for (size_t p = 0; p < ARRAY_SIZE(overlapping); p++)
			vpeer_first(&rows[i], &overlapping[p], false);
}

/* Mappings that do not overlap do not matter to each other. */
TEST(beside_the_range, 60)
{
	neighbour_alone();
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct view before = view_make(row, &beside), after;
		char *list = memtype_list();
		int fd = foreign_open(foreign_attach(RANGE_AT, RANGE_SIZE));
		char *window = touch(fd);

		check_vpeer(&before, window, WC);
		check_driver(&before, row->alone, row->alone);
		view_end(&before);
		after = view_make(row, &beside);
		check_driver(&after, row->alone, row->alone);
		check_vpeer(&after, window, WC);
		end(fd, window);
		check_list(list);
		view_end(&after);
	}
}

/*
 * A kernel that does not use PAT has no write-combining, and windows are not
 * called so. Nor does it know reservations: the linear map is what MTRRs say.
 */
TEST(without_pat, 20)
{
	char *window, type[32], path[64];
	uint32_t user;
	int fd, number;

	if (system("grep -qw nopat /proc/cmdline"))
		test_skip("this kernel uses PAT");
	neighbour_alone();
	number = foreign_attach(RANGE_AT, RANGE_SIZE);
	fd = foreign_open(number);
	window = touch(fd);
	CHECK_OK(neighbour_type(neighbour_open(), NEIGHBOUR_SIDE_USER, (uintptr_t)window, &user));
	CHECK_EQ(plain(user), UC);
	check_info(fd, UC);
	snprintf(path, sizeof(path), "/sys/class/vpeer/vpeer%d/memory_type", number);
	CHECK(sysfs_read(path, type, sizeof(type)));
	CHECK(!strcmp(type, "uncached\n"));
	end(fd, window);
}

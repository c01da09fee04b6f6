// SPDX-License-Identifier: GPL-2.0-only
/*
 * Windows that are taken from a registered DMA-buf in every way, idle and under load, from importers of every
 * class. From those that are told, not a byte lands any more once they were; those that pin and are not told
 * keep the memory, which no one else gets, until they let go.
 *
 * VPEER_TEST_REVOCATIONS (30) sets the rounds of a case, which are as many as there are combinations at least:
 * each comes up once before any comes up again. VPEER_TEST_SEED repeats the choices of an earlier run.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "dmabuf.h"
#include "harness.h"
#include "keeper.h"
#include "memory.h"
#include "monitor.h"
#include "owned.h"
#include "random.h"
#include "sim.h"
#include "traffic.h"
#include "vgpu.h"
#include "vrnic.h"

#define PAGE		4096
#define WAIT_MS		200	/* for those who are not told */
#define SLACK_MS	4000	/* of an emulated machine under load */
#define SLOT_MS		20000	/* that machine's hot-plug slot takes for itself */
#define GRANULES	8	/* of the aperture that are used */
#define AFTERWARDS	4	/* batches that are tried once all is over */

enum way { REVOKE, UNBIND, UNPLUG, GONE, RESET, CLOSE, KILL, WAYS };

static const struct {
	const char *name;
	enum vpeer_cause cause;
	bool leaves;		/* the aperture goes */
} ways[WAYS] = {
	[REVOKE] = { "revoke", VPEER_CAUSE_OWNER, false },
	[UNBIND] = { "unbind", VPEER_CAUSE_DETACHED, true },
	[UNPLUG] = { "unplug", VPEER_CAUSE_DETACHED, true },
	[GONE] = { "gone", VPEER_CAUSE_UNPLUGGED, true },
	[RESET] = { "reset", VPEER_CAUSE_RESET, false },
	[CLOSE] = { "close", VPEER_CAUSE_NONE, false },
	[KILL] = { "kill", VPEER_CAUSE_NONE, false },
};

enum class { DYNAMIC, REVOCABLE, PINNED, CLASSES };

static const char *const classes[] = { "dynamic", "revocable", "pinned" };

struct cell {
	enum way way;
	enum class class;
	bool busy;
};

/* Where it is done. */
struct place {
	int vgpu;		/* its number, or -1: an aperture of QEMU's own */
	bool stale;		/* with translations that are used on */
	const char *reset;	/* method */
};

struct round {
	const struct place *place;
	struct cell cell;
	struct keeper keeper;
	struct traffic traffic;
	int fd, dmabuf, event, other;	/* other: of the aperture, of someone else's */
	const volatile uint64_t *generations;
	uint64_t window, generation;
	uint64_t start, size;		/* of the DMA-buf, from the start of the aperture */
	uint64_t at;			/* of the registered bytes */
	uint32_t slot;
	bool told;			/* the importer of this class, that it goes */
};

/* An eventfd and the generations tell of revocations. */
static void watch(struct round *r)
{
	struct vpeer_event arg = { .argsz = sizeof(arg) };

	r->event = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CHECK_OK(r->event);
	arg.fd = r->event;
	CHECK_OK(ioctl(r->fd, VPEER_IOCTL_EVENT, &arg));
	r->generations = window_generations(r->fd);
	CHECK_OK(madvise((void *)r->generations, PAGE, MADV_DONTFORK));
	r->slot = window_info(r->fd, r->window).slot;
	r->generation = r->generations[r->slot];
}

/* Some pages of the window, in which there is room for what is registered. */
static void export(struct round *r)
{
	uint64_t spare = (GRANULE - TRAFFIC_SIZE) / PAGE - 1;
	uint64_t first = pick(spare), more = pick(spare - first), skip = pick(more * PAGE + 1);

	r->start = r->window + first * PAGE;
	r->size = TRAFFIC_SIZE + (more + 1) * PAGE;
	r->dmabuf = dmabuf_export(r->fd, r->start, r->size);
	r->at = r->start + skip;
}

static void start(struct round *r)
{
	bool by_lkey = pick(2);

	printf("%s, %s, %s, by %s: window %#llx, DMA-buf %#llx +%#llx, registered from %#llx\n",
	       ways[r->cell.way].name, classes[r->cell.class], r->cell.busy ? "in flight" : "idle",
	       by_lkey ? "lkey" : "rkey", (unsigned long long)r->window,
	       (unsigned long long)r->start, (unsigned long long)r->size,
	       (unsigned long long)r->at);
	traffic_start(&r->traffic, r->dmabuf, r->at - r->start, by_lkey, r->fd);
	CHECK_EQ(window_info(r->fd, r->window).mapped_bytes, r->size);
	CHECK_EQ(window_info(r->fd, r->window).pinned_bytes,
		 r->told ? 0 : r->size);
	if (r->place->stale)
		sim_ask("fault atc-stale on all");
	if (!r->cell.busy)
		return;
	traffic_go(&r->traffic, true);
	traffic_wait(&r->traffic, 2);
	usleep(pick(20000));
}

static void round_begin(struct round *r, const struct place *place, struct cell cell)
{
	*r = (struct round){
		.place = place,
		.cell = cell,
		.other = -1,
		.told = vrnic_is_told(classes[cell.class]),
	};
	sim_ask("log clear");
	if (!pci_bound(aperture_pci()))
		attach_again();
	keeper_open(&r->keeper, place->vgpu);
	vrnic_dmabuf_mode(classes[cell.class]);
	r->fd = aperture_open();
	r->window = pick(GRANULES) * GRANULE;
	CHECK_OK(window_alloc_at(r->fd, r->window, GRANULE, NULL));
	watch(r);
	export(r);
	start(r);
}

static void forget(struct round *r)
{
	munmap((void *)r->generations, PAGE);
	close(r->event);
	close(r->dmabuf);
	close(r->fd);
	r->fd = -1;
}

/* The function itself goes, and its GPU's registers. */
static bool is_removed(const struct round *r)
{
	return r->cell.way == UNPLUG || r->cell.way == GONE;
}

static bool really_unplugged(const struct round *r)
{
	return r->place->vgpu < 0 || lab_passthrough();
}

static void pull_out(const struct round *r)
{
	sim_ask("fault gone on vgpu%d", r->place->vgpu);
	sysfs_remove();
	sim_ask("fault gone off vgpu%d", r->place->vgpu);
}

static void take_out(const struct round *r)
{
	if (!really_unplugged(r))
		sysfs_remove();
	else if (r->place->vgpu < 0)
		unplug();
	else
		step("/run/vpeer-lab/unplug vgpu%d", r->place->vgpu);
}

static void put_back(const struct round *r)
{
	if (r->cell.way == GONE || !really_unplugged(r))
		sysfs_rescan();
	else if (r->place->vgpu < 0)
		replug();
	else
		step("/run/vpeer-lab/replug vgpu%d", r->place->vgpu);
}

static void revoke_window(struct round *r)
{
	uint64_t pinned = 77;
	int ret = window_revoke(r->fd, r->window, WAIT_MS, &pinned);

	CHECK_ERRNO(ret, r->told ? 0 : EINPROGRESS);
	CHECK_EQ(pinned, r->told ? 0 : r->size);
}

static void do_it(struct round *r)
{
	switch (r->cell.way) {
	case REVOKE:
		revoke_window(r);
		break;
	case UNBIND:
		CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", aperture_pci()));
		break;
	case UNPLUG:
		take_out(r);
		break;
	case GONE:
		pull_out(r);
		break;
	case RESET:
		aperture_reset(r->place->reset);
		break;
	case CLOSE:
		forget(r);
		break;
	default:
		traffic_kill(&r->traffic);
	}
}

/* What an owner learns of it. */
static void check_told(struct round *r)
{
	struct vpeer_window_info info = window_info(r->fd, r->window);
	uint64_t events = 0;

	CHECK_EQ(info.state, VPEER_WINDOW_REVOKED);
	CHECK_EQ(info.cause, ways[r->cell.way].cause);
	CHECK_EQ(info.pinned_bytes, r->told ? 0 : r->size);
	CHECK(r->generations[r->slot] > r->generation);
	CHECK_EQ(read(r->event, &events, sizeof(events)), sizeof(events));
	CHECK_EQ(events, 1);
}

/* All batches that began after NUMBER fail, and no byte of them lands. */
static void check_stopped(struct round *r, unsigned int number)
{
	keeper_poison(&r->keeper, r->at, TRAFFIC_SIZE);
	traffic_go(&r->traffic, true);
	traffic_wait(&r->traffic, AFTERWARDS);
	CHECK(r->traffic.state->last_good <= number);
	CHECK(keeper_has_poison(&r->keeper, r->at, TRAFFIC_SIZE));
}

/* Batches that begin from now on do land. */
static void check_goes_on(struct round *r)
{
	unsigned int number = r->traffic.state->begun;

	traffic_go(&r->traffic, true);
	traffic_wait(&r->traffic, AFTERWARDS);
	CHECK(r->traffic.state->last_good > number);
	traffic_go(&r->traffic, false);
	keeper_poison(&r->keeper, r->at, TRAFFIC_SIZE);
	traffic_go(&r->traffic, true);
	traffic_wait(&r->traffic, AFTERWARDS);
	CHECK(!keeper_has_poison(&r->keeper, r->at, TRAFFIC_SIZE));
}

/* What no one writes to stays as it is. */
static void check_left_alone(struct round *r)
{
	traffic_go(&r->traffic, false);
	keeper_poison(&r->keeper, r->at, TRAFFIC_SIZE);
	test_sleep_ms(20);
	CHECK(keeper_has_poison(&r->keeper, r->at, TRAFFIC_SIZE));
}

static void check_not_given(struct round *r)
{
	uint32_t reason;

	r->other = aperture_open();
	CHECK_ERRNO(window_alloc_at(r->other, r->window, GRANULE, &reason), EBUSY);
}

static void check_zero(struct round *r)
{
	char *mapped;

	if (r->other < 0)
		r->other = aperture_open();
	CHECK_WITHIN(!window_alloc_at(r->other, r->window, GRANULE, NULL), 10000);
	mapped = window_map(r->other, r->window, GRANULE);
	CHECK(all_zero(mapped, GRANULE));
	munmap(mapped, GRANULE);
	close(r->other);
}

/* Told importers are done with it; it goes to the next owner. */
static void after_telling(struct round *r, unsigned int number)
{
	CHECK_EQ(quarantine_bytes(), 0);
	check_told(r);
	CHECK_EQ(window_info(r->fd, r->window).mapped_bytes, 0);
	if (is_removed(r)) {
		put_back(r);
		keeper_open(&r->keeper, r->place->vgpu);
	}
	check_stopped(r, number);
	/* No access was stopped by the IOMMU alone. */
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error|atc-stale) "), 0);
	sim_ask("fault atc-stale off all");
	traffic_release(&r->traffic);
	if (is_removed(r))
		keeper_close(&r->keeper);
	if (ways[r->cell.way].leaves)
		attach_again();
	else
		CHECK_OK(window_free(r->fd, r->window));
	forget(r);
	check_zero(r);
}

static void check_kept_by_quarantine(struct round *r)
{
	uint32_t reason;

	CHECK(quarantine_bytes() > 0);
	if (r->cell.way == UNBIND) {
		CHECK_ERRNO(control_attach(aperture_pci(), 2, 0, &reason), EBUSY);
		CHECK_EQ(reason, VPEER_REASON_QUARANTINED);
		check_goes_on(r);
		check_left_alone(r);
		return;
	}
	put_back(r);
	check_held_back();
	traffic_go(&r->traffic, true);
	traffic_wait(&r->traffic, AFTERWARDS);
}

static void check_kept_by_window(struct round *r)
{
	check_not_given(r);
	check_goes_on(r);
	CHECK_ERRNO(window_free(r->fd, r->window), EINPROGRESS);
	CHECK_ERRNO(window_alloc_at(r->other, r->window, GRANULE, NULL), EBUSY);
	check_left_alone(r);
}

/* Pinned memory is the importer's until it lets go. */
static void after_pinning(struct round *r)
{
	check_told(r);
	if (ways[r->cell.way].leaves)
		check_kept_by_quarantine(r);
	else
		check_kept_by_window(r);
	sim_ask("fault atc-stale off all");
	traffic_release(&r->traffic);
	if (ways[r->cell.way].leaves)
		attach_again();
	check_zero(r);
	forget(r);
}

/* The MR keeps the window, whatever its class. */
static void after_closing(struct round *r)
{
	CHECK_EQ(aperture_stat("windows"), 1);
	check_not_given(r);
	check_goes_on(r);
	sim_ask("fault atc-stale off all");
	traffic_release(&r->traffic);
	check_zero(r);
}

/* Its MRs are gone with the process, and the window is its owner's. */
static void after_killing(struct round *r)
{
	struct vpeer_window_info info = window_info(r->fd, r->window);
	uint64_t events;

	CHECK_EQ(info.mapped_bytes, 0);
	CHECK_EQ(info.pinned_bytes, 0);
	CHECK_EQ(info.state, VPEER_WINDOW_ACTIVE);
	CHECK_EQ(r->generations[r->slot], r->generation);
	CHECK_ERRNO(read(r->event, &events, sizeof(events)), EAGAIN);
	keeper_poison(&r->keeper, r->at, TRAFFIC_SIZE);
	test_sleep_ms(20);
	CHECK(keeper_has_poison(&r->keeper, r->at, TRAFFIC_SIZE));
	sim_ask("fault atc-stale off all");
	CHECK_EQ(sim_logged(" (unmapped|denied|off|error|atc-stale) "), 0);
	CHECK_OK(window_free(r->fd, r->window));
	forget(r);
	check_zero(r);
}

/* How long it may take, with the bounded wait. */
static int64_t most_ms(const struct round *r)
{
	bool slot = r->cell.way == UNPLUG && really_unplugged(r);

	return WAIT_MS + SLACK_MS + (slot ? SLOT_MS : 0);
}

static void run_round(const struct place *place, struct cell cell)
{
	unsigned int number;
	struct round r;
	int64_t began;

	round_begin(&r, place, cell);
	if (is_removed(&r))
		keeper_close(&r.keeper);
	began = test_now_ms();
	do_it(&r);
	CHECK(test_now_ms() - began < most_ms(&r));
	number = cell.way == KILL ? 0 : r.traffic.state->begun;
	if (cell.way == CLOSE)
		after_closing(&r);
	else if (cell.way == KILL)
		after_killing(&r);
	else if (r.told)
		after_telling(&r, number);
	else
		after_pinning(&r);
	if (!is_removed(&r))
		keeper_close(&r.keeper);
}

static bool can(const struct place *place, struct cell cell)
{
	if (cell.class == REVOCABLE && !vrnic_can_revoke())
		return false;
	/* VFIO has a configuration space of its own, in which a device pulled out is still there. */
	return cell.way != GONE || (place->vgpu >= 0 && !lab_passthrough());
}

static unsigned int all_cells(const struct place *place, struct cell *cells)
{
	unsigned int count = 0;

	for (enum way way = 0; way < WAYS; way++)
		for (enum class class = 0; class < CLASSES; class++)
			for (int busy = 0; busy < 2; busy++) {
				struct cell cell = { way, class, busy };

				if (can(place, cell))
					cells[count++] = cell;
			}
	return count;
}

static void shuffle(struct cell *cells, unsigned int count)
{
	for (unsigned int left = count; left > 1; left--) {
		unsigned int other = pick(left);
		struct cell cell = cells[left - 1];

		cells[left - 1] = cells[other];
		cells[other] = cell;
	}
}

static unsigned int rounds(unsigned int cells)
{
	const char *text = getenv("VPEER_TEST_REVOCATIONS");
	unsigned int count = text && *text ? strtoul(text, NULL, 10) : 30;

	return count < cells ? cells : count;
}

static void run_rounds(const struct place *place)
{
	struct cell cells[WAYS * CLASSES * 2];
	unsigned int count = all_cells(place, cells);
	uint32_t seed = random_seed();

	printf("VPEER_TEST_SEED=%u\n", seed);
	pick_seed(seed);
	module_parameter("revoke_wait_ms", WAIT_MS);
	for (unsigned int i = 0; i < rounds(count); i++) {
		int64_t start = test_now_ms();

		if (!(i % count))
			shuffle(cells, count);
		printf("%u: ", i + 1);
		run_round(place, cells[i % count]);
		printf("%u: %lld ms\n", i + 1, (long long)(test_now_ms() - start));
	}
	module_parameter("revoke_wait_ms", 2000);
}

TEST(gpu, 3000)
{
	const struct place place = { .vgpu = 0, .reset = "flr" };

	sim_begin();
	monitor_need();
	setenv("VPEER_AP_PCI", vgpu_pci(0), 1);
	if (!pci_bound(aperture_pci()))
		attach_again();
	run_rounds(&place);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
}

/* Translations that both functions use on after they were unmapped do not help them. */
TEST(atc_stale, 3000)
{
	const struct place place = { .vgpu = -1, .stale = true, .reset = "bus" };

	sim_begin();
	leaving_aperture();
	run_rounds(&place);
	aperture_reset_by("default");
}

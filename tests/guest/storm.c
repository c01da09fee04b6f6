// SPDX-License-Identifier: GPL-2.0-only
/*
 * kill -9 at random moments over owners that claim, touch, register, transfer,
 * fork and pass descriptors; beside it, an aperture that leaves and returns
 * under the same load. No one may see a byte of another owner, and everything
 * must be at rest afterwards.
 *
 * VPEER_TEST_KILLS (40) and VPEER_TEST_DEPARTURES (8) set the rounds,
 * VPEER_TEST_SEED repeats the choices of an earlier run.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "apertures.h"
#include "harness.h"
#include "holder.h"
#include "memory.h"
#include "owner.h"
#include "population.h"
#include "random.h"
#include "words.h"

#define ROUND_MS	60000
#define KILL_EVERY_MS	200	/* at most */
#define CALM_EVERY	100	/* rounds */
#define MANY		200	/* rounds in which every act must have been done */
#define HELD		(2 * GRANULE)
#define FOREIGNER	0xf0e1f0e1

static unsigned int rounds(const char *variable, unsigned int otherwise)
{
	const char *text = getenv(variable);

	return text && *text ? strtoul(text, NULL, 10) : otherwise;
}

static void begin(void)
{
	uint32_t seed = random_seed();

	printf("VPEER_TEST_SEED=%u\n", seed);
	pick_seed(seed);
}

static uint64_t granules(void)
{
	return aperture_stat("size") / GRANULE;
}

static bool aperture_at_rest(void)
{
	return !aperture_stat("windows") && !aperture_stat("mappings") &&
	       !aperture_stat("bytes_pinned") &&
	       aperture_stat("bytes_free") == aperture_stat("size");
}

struct pace {
	const char *name;
	unsigned int round;
	int64_t start, since, longest;
};

static struct pace pace_start(const char *name)
{
	int64_t now = test_now_ms();

	return (struct pace){ .name = name, .start = now, .since = now };
}

/* Each round must be done within ROUND_MS. */
static void pace_round(struct pace *pace)
{
	int64_t now = test_now_ms(), took = now - pace->since;

	pace->round++;
	pace->since = now;
	if (took > pace->longest)
		pace->longest = took;
	if (took > ROUND_MS)
		test_fail(__FILE__, __LINE__, "%s: round %u took %lld ms", pace->name,
			  pace->round, (long long)took);
	if (!(pace->round % 50))
		printf("%s: %u rounds, %lld ms each, longest %lld ms\n", pace->name,
		       pace->round, (long long)((now - pace->start) / pace->round),
		       (long long)pace->longest);
}

/* All owners die at once; the next one finds zeroes everywhere. */
static void calm(struct population *p)
{
	population_end(p);
	CHECK_WITHIN(aperture_at_rest(), 10000);
	check_next_owner(p->start * GRANULE, (p->end - p->start) * GRANULE);
	CHECK_WITHIN(aperture_at_rest(), 5000);
}

static struct population killed_population(void)
{
	return (struct population){
		.storm = storm_make(),
		.size = 4,
		.disk = "VPEER_NVME_DISK",
		.end = granules(),
	};
}

static void kill_once(struct population *p, unsigned int round)
{
	test_sleep_ms(pick(KILL_EVERY_MS));
	population_replace(p, pick(p->size));
	population_check(p);
	if (!(round % 5))
		population_drain(p);
}

static void kills(unsigned int count)
{
	struct population p = killed_population();
	struct pace pace = pace_start("kills");

	begin();
	population_start(&p);
	for (unsigned int i = 1; i <= count; i++) {
		kill_once(&p, i);
		if (!(i % CALM_EVERY)) {
			calm(&p);
			population_start(&p);
		}
		pace_round(&pace);
	}
	calm(&p);
	storm_report(&p, count >= MANY);
	CHECK(p.storm->done[OWNER_FIRST_TOUCH] > count / 2);
}

/* How an aperture leaves. */
enum departure { UNPLUG, UNBIND, DETACH, REMOVE, DEPARTURES };

static void leave(enum departure how)
{
	switch (how) {
	case UNPLUG:
		unplug();
		break;
	case REMOVE:
		sysfs_remove();
		break;
	case UNBIND:
		CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", aperture_pci()));
		break;
	default:
		CHECK_ERRNO(control_detach(aperture_pci(), NULL, NULL), EINPROGRESS);
	}
	CHECK(!*aperture_node());
}

static void bring_back(enum departure how)
{
	if (how == UNPLUG)
		replug();
	else if (how == REMOVE)
		sysfs_rescan();
}

static void depart_once(struct population *p, enum departure how)
{
	bool early = pick(2), by_kill = pick(2);
	struct holder h;

	holder_start(&h, 0, HELD, true);
	test_sleep_ms(pick(100));
	leave(how);
	population_replace(p, pick(p->size));
	CHECK(quarantine_bytes() > 0);
	if (early) {
		bring_back(how);
		if (how == UNPLUG || how == REMOVE)
			check_held_back();
	}
	if (by_kill)
		holder_kill(&h);
	else
		holder_release(&h);
	CHECK_WITHIN(!quarantine_bytes(), 10000);
	if (!early)
		bring_back(how);
	attach_again();
	check_next_owner(0, HELD);
	population_check(p);
}

/* Its owners stay, find their memory gone and come back. */
static void departures(unsigned int count)
{
	struct pace pace = pace_start("departures");
	struct population p;

	leaving_aperture();
	begin();
	p = (struct population){
		.storm = storm_make(),
		.size = 2,
		.leaves = true,
		.disk = "VPEER_ATS_DISK",
		.start = HELD / GRANULE,
		.end = granules(),
	};
	module_parameter("revoke_wait_ms", 100);
	population_start(&p);
	for (unsigned int i = 0; i < count; i++) {
		depart_once(&p, i % 2 ? UNBIND + i / 2 % (DEPARTURES - UNBIND) : UNPLUG);
		pace_round(&pace);
	}
	module_parameter("revoke_wait_ms", 2000);
	calm(&p);
	storm_report(&p, count >= MANY);
	CHECK(!count || p.storm->faults);
}

static pid_t start(void (*run)(unsigned int), unsigned int count)
{
	pid_t pid = test_fork();

	if (!pid) {
		run(count);
		exit(EXIT_SUCCESS);
	}
	return pid;
}

/* The first that fails ends the case. */
static void join_both(void)
{
	int status;

	for (int i = 0; i < 2; i++) {
		CHECK(wait(&status) > 0);
		if (WIFEXITED(status) && WEXITSTATUS(status))
			exit(WEXITSTATUS(status));
		CHECK_EQ(status, 0);
	}
}

TEST(kills_beside_departures, 1500)
{
	unsigned int departs = rounds("VPEER_TEST_DEPARTURES", 8);

	start(departures, departs);
	start(kills, rounds("VPEER_TEST_KILLS", 40));
	join_both();
}

/* Nothing of the storm keeps the module, and nothing of the module stays. */
TEST(module_leaves_afterwards, 60)
{
	const char *all = getenv("VPEER_AP_ALL");

	CHECK_OK(syscall(SYS_delete_module, "vpeer", O_NONBLOCK));
	CHECK(access("/dev/vpeerctl", F_OK));
	CHECK(access("/sys/class/vpeer", F_OK));
	step("! grep -q vpeer /proc/iomem");
	step("modprobe vpeer");
	step("for ap in %s; do vpeer attach $ap; done", all);
	check_next_owner(0, HELD);
}

/* Memory that is said to be clean and is not. */
static void attach_with_foreign_words(uint64_t size)
{
	char *words = plain_memory(size);

	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	words_fill(words, size, 0, FOREIGNER);
	owner_write(0, words, size);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, VPEER_ATTACH_CLEAN, NULL));
}

/* The storm does see others' bytes where there are some. */
TEST(control_others_bytes_are_seen, 60)
{
	struct population p;
	char whose[64];

	attach_with_foreign_words(HELD);
	p = killed_population();
	p.end = HELD / GRANULE;
	begin();
	population_start(&p);
	CHECK_EQ(population_wait(&p, 20000), OWNER_SAW_OTHERS);
	printf("%s\n", p.storm->trouble);
	snprintf(whose, sizeof(whose), "a word of owner %u", FOREIGNER);
	CHECK(strstr(p.storm->trouble, whose));
	for (unsigned int place = 0; place < p.size; place++)
		if (p.pids[place])
			kill(p.pids[place], SIGKILL);
	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	check_next_owner(0, HELD);
}

/* Writes into what a stopped owner has claimed and filled. */
static void damage(const struct population *p)
{
	char *words = plain_memory(GRANULE);
	enum owner_act act;
	siginfo_t info;

	words_fill(words, GRANULE, 0, FOREIGNER);
	CHECK_OK(kill(p->pids[0], SIGSTOP));
	CHECK_EQ(waitid(P_PID, p->pids[0], &info, WSTOPPED | WEXITED | WNOWAIT), 0);
	if (info.si_code != CLD_STOPPED)
		return;
	act = p->storm->now[0];
	if (act > OWNER_FIRST_TOUCH && act < OWNER_REVOKE)
		owner_write(0, words, GRANULE);
	CHECK_OK(kill(p->pids[0], SIGCONT));
}

/* And does see that its own bytes have changed. */
TEST(control_damage_is_seen, 60)
{
	struct population p = killed_population();
	int64_t end = test_now_ms() + 30000;
	int status = -1;

	begin();
	p.size = 1;
	p.end = 2;
	population_start(&p);
	while (status < 0 && test_now_ms() < end) {
		damage(&p);
		status = population_wait(&p, 100);
		population_drain(&p);
	}
	printf("%s\n", p.storm->trouble);
	CHECK_EQ(status, OWNER_DAMAGED);
}

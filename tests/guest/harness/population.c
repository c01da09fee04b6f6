// SPDX-License-Identifier: GPL-2.0-only
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "population.h"
#include "random.h"

#define DEATH_MS	20000
#define EXCHANGE	(STDERR_FILENO + 1)

struct storm *storm_make(void)
{
	struct storm *storm = mmap(NULL, sizeof(*storm), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK_OK((long)storm);
	return storm;
}

static _Noreturn void fail_owner(const struct population *p, pid_t pid, int status)
{
	test_fail(__FILE__, __LINE__, "process %d ended with status %#x: %s", pid,
		  status, p->storm->told ? p->storm->trouble : "see the log");
}

static void start_owner(struct population *p, unsigned int place)
{
	struct owner owner = {
		.storm = p->storm,
		.number = __sync_add_and_fetch(&p->storm->next_owner, 1),
		.seed = pick(UINT32_MAX),
		.place = place,
		.exchange = p->exchange[place % 2],
		.leaves = p->leaves,
		.disk = p->disk,
		.start = p->start,
		.end = p->end,
	};

	p->pids[place] = test_fork();
	if (p->pids[place])
		return;
	/* Others wait for the end of what this process would keep open. */
	CHECK_OK(dup2(owner.exchange, EXCHANGE));
	CHECK_OK(close_range(EXCHANGE + 1, ~0U, 0));
	owner.exchange = EXCHANGE;
	owner_run(&owner);
}

void population_start(struct population *p)
{
	CHECK_OK(prctl(PR_SET_CHILD_SUBREAPER, 1));
	CHECK_OK(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, p->exchange));
	for (unsigned int place = 0; place < p->size; place++)
		start_owner(p, place);
}

void population_kill(struct population *p, unsigned int place)
{
	pid_t pid = p->pids[place];
	int64_t end = test_now_ms() + DEATH_MS;
	int status;

	CHECK_OK(kill(pid, SIGKILL));
	while (!waitpid(pid, &status, WNOHANG)) {
		if (test_now_ms() > end)
			test_fail(__FILE__, __LINE__, "owner not dead %d ms after kill -9",
				  DEATH_MS);
		test_sleep_ms(1);
	}
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
		fail_owner(p, pid, status);
	p->killed_in[p->storm->now[place]]++;
	p->pids[place] = 0;
}

void population_replace(struct population *p, unsigned int place)
{
	population_kill(p, place);
	start_owner(p, place);
}

void population_check(struct population *p)
{
	int status;
	pid_t pid;

	/* Owners never end; children that lost their parent end well. */
	while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
		for (unsigned int place = 0; place < p->size; place++)
			if (p->pids[place] == pid)
				fail_owner(p, pid, status);
		if (status)
			fail_owner(p, pid, status);
	}
	if (p->storm->told)
		test_fail(__FILE__, __LINE__, "%s", p->storm->trouble);
}

/* A descriptor on its way keeps its window from the next owner. */
void population_drain(const struct population *p)
{
	owner_drain(p->exchange[0]);
	owner_drain(p->exchange[1]);
}

int population_wait(struct population *p, unsigned int milliseconds)
{
	int64_t end = test_now_ms() + milliseconds;
	int status;

	while (test_now_ms() < end) {
		for (unsigned int place = 0; place < p->size; place++) {
			pid_t pid = p->pids[place];

			if (pid && waitpid(pid, &status, WNOHANG) == pid) {
				p->pids[place] = 0;
				return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
			}
		}
		test_sleep_ms(5);
	}
	return -1;
}

void population_end(struct population *p)
{
	for (unsigned int place = 0; place < p->size; place++)
		if (p->pids[place])
			population_kill(p, place);
	close(p->exchange[0]);
	close(p->exchange[1]);
}

void storm_report(const struct population *p, bool all)
{
	const struct storm *storm = p->storm;

	for (unsigned int act = 0; act < OWNER_ACTS; act++)
		printf("%-12s done %llu, killed in %llu\n", owner_act_names[act],
		       (unsigned long long)storm->done[act],
		       (unsigned long long)p->killed_in[act]);
	printf("%u owners, %llu MiB found zero, %llu faults\n", storm->next_owner,
	       (unsigned long long)(storm->bytes_found_zero >> 20),
	       (unsigned long long)storm->faults);
	for (unsigned int act = 0; act < OWNER_ACTS && all; act++)
		if (!storm->done[act] && !(p->leaves && act == OWNER_VIEW))
			test_fail(__FILE__, __LINE__, "'%s' was never done",
				  owner_act_names[act]);
}

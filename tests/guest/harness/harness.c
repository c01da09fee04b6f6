// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <fnmatch.h>
#include <libgen.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"
#include "kmsg.h"
#include "settle.h"

#define MAX_TESTS	64
#define EXIT_SKIP	77
#define HANG_SECONDS	10

struct test {
	const char *name;
	void (*run)(void);
	unsigned int seconds;
};

/* Written by whichever process of the case fails first. */
struct outcome {
	volatile int told;
	volatile int expect_fault;
	char reason[1024];
};

static struct test tests[MAX_TESTS];
static unsigned int test_count;
static struct outcome *outcome;

void test_add(const char *name, void (*run)(void), unsigned int seconds)
{
	if (test_count == MAX_TESTS)
		abort();
	tests[test_count++] = (struct test){ name, run, seconds };
}

static void tell(const char *format, va_list arguments)
{
	if (__sync_lock_test_and_set(&outcome->told, 1))
		return;
	vsnprintf(outcome->reason, sizeof(outcome->reason), format, arguments);
}

void test_fail(const char *file, int line, const char *format, ...)
{
	char located[512];
	va_list arguments;

	snprintf(located, sizeof(located), "%s:%d: %s", file, line, format);
	va_start(arguments, format);
	tell(located, arguments);
	va_end(arguments);
	fflush(stdout);
	_exit(EXIT_FAILURE);
}

void test_skip(const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	tell(format, arguments);
	va_end(arguments);
	_exit(EXIT_SKIP);
}

void test_expect_fault(void)
{
	outcome->expect_fault = 1;
}

void test_check_errno(const char *file, int line, const char *call, long ret,
		      int expected)
{
	int got = ret < 0 ? errno ?: EBADE : 0;

	if (got == expected)
		return;
	test_fail(file, line, "%s: expected %s, got %s", call,
		  expected ? strerrorname_np(expected) : "success",
		  got ? strerrorname_np(got) : "success");
}

int64_t test_now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

void test_sleep_ms(unsigned int milliseconds)
{
	struct timespec span = { milliseconds / 1000,
				 milliseconds % 1000 * 1000000L };

	while (nanosleep(&span, &span) && errno == EINTR)
		;
}

pid_t test_fork(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	return pid;
}

void test_join(pid_t pid)
{
	int status;

	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		test_fail(__FILE__, __LINE__, "a child was killed by signal %d",
			  WTERMSIG(status));
	if (WEXITSTATUS(status) == EXIT_SKIP)
		_exit(EXIT_SKIP);
	CHECK_EQ(WEXITSTATUS(status), 0);
}

void test_in_child(void (*run)(void *context), void *context)
{
	pid_t pid = test_fork();

	if (!pid) {
		run(context);
		_exit(EXIT_SUCCESS);
	}
	test_join(pid);
}

static void log_to_file(const char *prefix, const char *name)
{
	const char *dir = getenv("VPEER_CASE_LOGS");
	char path[512];
	int fd;

	if (!dir)
		return;
	snprintf(path, sizeof(path), "%s/%s.%s.log", dir, prefix, name);
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND, 0644);
	if (fd < 0)
		return;
	dup2(fd, STDOUT_FILENO);
	dup2(fd, STDERR_FILENO);
	close(fd);
}

static _Noreturn void run_child(const char *prefix, const struct test *test)
{
	setpgid(0, 0);
	log_to_file(prefix, test->name);
	setvbuf(stdout, NULL, _IOLBF, 0);
	settle_before();
	test->run();
	exit(EXIT_SUCCESS);
}

/* Waits so long; true when the process ended. */
static bool wait_until(pid_t pid, unsigned int seconds, int *status)
{
	int64_t end = test_now_ms() + seconds * 1000LL;

	while (!waitpid(pid, status, WNOHANG)) {
		if (test_now_ms() > end)
			return false;
		test_sleep_ms(5);
	}
	return true;
}

static int judge(int status)
{
	if (WIFSIGNALED(status))
		snprintf(outcome->reason, sizeof(outcome->reason),
			 "killed by signal %d (%s)", WTERMSIG(status),
			 sigabbrev_np(WTERMSIG(status)) ?: "?");
	else if (WEXITSTATUS(status) && !outcome->told)
		snprintf(outcome->reason, sizeof(outcome->reason),
			 "exit status %d", WEXITSTATUS(status));
	return WIFSIGNALED(status) ? EXIT_FAILURE : WEXITSTATUS(status);
}

/* Ends what is left of the case's processes. */
static int reap(const struct test *test, pid_t pid)
{
	int status;

	if (wait_until(pid, test->seconds, &status)) {
		kill(-pid, SIGKILL);
		return judge(status);
	}
	kill(-pid, SIGKILL);
	snprintf(outcome->reason, sizeof(outcome->reason), "%s %u s",
		 wait_until(pid, HANG_SECONDS, &status) ?
		 "not done within" : "hangs in the kernel after", test->seconds);
	return EXIT_FAILURE;
}

static void collect_orphans(void)
{
	int64_t end = test_now_ms() + 2000;

	while (waitpid(-1, NULL, WNOHANG) >= 0 && test_now_ms() < end)
		test_sleep_ms(5);
}

/* What a case must leave behind in kernel log and counters. */
static int aftermath(int mark)
{
	char line[256];
	const char *pattern = outcome->expect_fault ?
			      KMSG_TROUBLE : KMSG_TROUBLE "|" KMSG_FAULT;

	if (mark >= 0 && kmsg_count(mark, pattern, line, sizeof(line))) {
		snprintf(outcome->reason, sizeof(outcome->reason),
			 "kernel log: %s", line);
		return EXIT_FAILURE;
	}
	return settle_after(outcome->reason, sizeof(outcome->reason)) ?
	       EXIT_SUCCESS : EXIT_FAILURE;
}

static int run_test(const char *prefix, const struct test *test)
{
	int64_t start = test_now_ms();
	int mark = kmsg_mark(), result;
	pid_t pid;

	memset(outcome, 0, sizeof(*outcome));
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		return EXIT_FAILURE;
	if (!pid)
		run_child(prefix, test);
	setpgid(pid, pid);
	result = reap(test, pid);
	collect_orphans();
	if (result == EXIT_SUCCESS || result == EXIT_SKIP)
		result = aftermath(mark) ?: result;
	close(mark);

	printf("%s %s.%s%s%s (%lld ms)\n",
	       result == EXIT_SUCCESS ? "ok" :
	       result == EXIT_SKIP ? "skip" : "not ok", prefix, test->name,
	       result == EXIT_SUCCESS ? "" : ": ",
	       result == EXIT_SUCCESS ? "" : outcome->reason,
	       (long long)(test_now_ms() - start));
	fflush(stdout);
	return result;
}

static bool wanted(const char *prefix, const char *name, int argc, char **argv)
{
	char full[256];

	if (argc < 2)
		return true;
	snprintf(full, sizeof(full), "%s.%s", prefix, name);
	for (int i = 1; i < argc; i++)
		if (!fnmatch(argv[i], full, 0) || !fnmatch(argv[i], name, 0))
			return true;
	return false;
}

/* usage: PROGRAM [--list | PATTERN...] */
int main(int argc, char **argv)
{
	const char *prefix = basename(argv[0]);
	unsigned int ran = 0, failed = 0, skipped = 0;

	outcome = mmap(NULL, sizeof(*outcome), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (outcome == MAP_FAILED)
		return EXIT_FAILURE;
	prctl(PR_SET_CHILD_SUBREAPER, 1);

	for (unsigned int i = 0; i < test_count; i++) {
		int result;

		if (argc == 2 && !strcmp(argv[1], "--list")) {
			printf("%s.%s\n", prefix, tests[i].name);
			continue;
		}
		if (!wanted(prefix, tests[i].name, argc, argv))
			continue;
		result = run_test(prefix, &tests[i]);
		ran++;
		failed += result != EXIT_SUCCESS && result != EXIT_SKIP;
		skipped += result == EXIT_SKIP;
	}
	if (failed)
		return EXIT_FAILURE;
	return ran && ran == skipped ? EXIT_SKIP : EXIT_SUCCESS;
}

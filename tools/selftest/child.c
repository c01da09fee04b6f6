// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The child process of a pair, its deadline, and its records. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/sysfs.h"
#include "pair.h"
#include "scratch.h"

/* After SIGKILL a process can still be inside the kernel, in an I/O. */
#define KILL_WAIT_MS	5000

static const int endings[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
	interrupted = number;
}

bool pair_interrupted(void)
{
	return interrupted;
}

void pair_catch_signals(void)
{
	struct sigaction action = { .sa_handler = on_signal };

	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		sigaction(endings[i], &action, NULL);
}

void send_record(const struct channel *channel, const struct record *record)
{
	_Static_assert(sizeof(*record) <= PIPE_BUF, "a record must be written in one piece");

	if (write(channel->fd, record, sizeof(*record)) != sizeof(*record))
		_exit(EXIT_FAIL); /* the parent is gone */
}

void send_failed(const struct channel *channel, const char *remedy, const char *format, ...)
{
	struct record record = { .kind = RECORD_FAILED, .outcome = OUTCOME_FAIL };
	va_list args;

	va_start(args, format);
	vsnprintf(record.text, sizeof(record.text), format, args);
	va_end(args);
	text_format(record.remedy, sizeof(record.remedy), "%s", remedy);
	send_record(channel, &record);
}

void send_error(const struct channel *channel, const struct vpeer_error *error)
{
	send_failed(channel, error->remedy, "%s: %s", error->who, error->message);
}

void send_started(const struct channel *channel, const char *format, ...)
{
	struct record record = { .kind = RECORD_STARTED };
	va_list args;

	va_start(args, format);
	vsnprintf(record.name, sizeof(record.name), format, args);
	va_end(args);
	send_record(channel, &record);
}

static void run_child(const struct pair *pair, const struct settings *settings, int fd)
{
	struct channel channel = { .fd = fd };
	struct record done = { .kind = RECORD_DONE };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		signal(endings[i], SIG_DFL);
	if (pair->initiator->kind == INITIATOR_RDMA)
		test_rdma(pair, settings, &channel);
	else
		test_block(pair, settings, &channel);
	send_record(&channel, &done);
	_exit(EXIT_PASS);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

char *pair_aperture(const struct pair *pair, char text[APERTURE_LEN])
{
	const struct vpeer_entry *aperture = pair->aperture;
	char pci[VPEER_PCI_LEN];

	vpeer_pci_format(&aperture->pci, pci);
	if (aperture->bar_offset)
		text_format(text, APERTURE_LEN, "%s BAR %u+0x%" PRIx64, pci, aperture->bar,
			    aperture->bar_offset);
	else
		text_format(text, APERTURE_LEN, "%s BAR %u", pci, aperture->bar);
	return text;
}

static void show_progress(const struct pair *pair, const char *what, size_t index, size_t count)
{
	char aperture[APERTURE_LEN];

	fprintf(stderr, "\r\033[K[%zu/%zu] %s, %s: %s", index, count,
		pair_aperture(pair, aperture), pair->initiator->name, what);
	fflush(stderr);
}

static void clear_progress(void)
{
	fputs("\r\033[K", stderr);
}

static void take_record(struct result *result, const struct record *record)
{
	if (record->kind == RECORD_EVIDENCE)
		result->evidence = record->evidence;
	else if (record->kind == RECORD_DONE)
		result->finished = true;
	if (record->kind == RECORD_CASE && record->outcome == OUTCOME_PASS)
		result->bytes += record->bytes;
	result->records = xrealloc(result->records, result->count + 1, sizeof(*record));
	result->records[result->count++] = *record;
}

/*
 * As poll(), 0 once the deadline has passed. Signals wait outside of the call:
 * one between the test and the call would be noticed at the next record only.
 */
static int wait_readable(int fd, int64_t deadline)
{
	struct pollfd poller = { .fd = fd, .events = POLLIN };
	int64_t left = deadline - now_ms();
	struct timespec time = { left / 1000, left % 1000 * 1000000 };
	sigset_t blocked, before;
	int ready = -1;

	if (left <= 0)
		return 0;
	sigemptyset(&blocked);
	for (size_t i = 0; i < ARRAY_SIZE(endings); i++)
		sigaddset(&blocked, endings[i]);
	sigprocmask(SIG_BLOCK, &blocked, &before);
	if (!interrupted)
		ready = ppoll(&poller, 1, &time, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return ready;
}

/* Until the child closes its end, the deadline passes, or a signal comes. */
static void read_records(struct pair *pair, int fd, int64_t deadline, size_t index, size_t count,
			 bool progress)
{
	struct record record;
	int ready;

	while (!interrupted) {
		ready = wait_readable(fd, deadline);
		if (!ready) {
			pair->result.timed_out = true;
			return;
		}
		if (ready < 0)
			continue; /* a signal */
		if (read(fd, &record, sizeof(record)) != sizeof(record))
			return;
		if (record.kind == RECORD_STARTED && progress)
			show_progress(pair, record.name, index, count);
		take_record(&pair->result, &record);
	}
}

static bool reap(pid_t child, int *status, int64_t deadline)
{
	do {
		if (waitpid(child, status, WNOHANG) == child)
			return true;
		usleep(10000);
	} while (now_ms() < deadline);
	return false;
}

static void name_signal(struct result *result, int number)
{
	if (number == SIGBUS)
		text_format(result->cause, sizeof(result->cause),
			    "the window went away during the test (signal %d, %s): the aperture "
			    "was detached or revoked, or its device failed", number,
			    strsignal(number));
	else
		text_format(result->cause, sizeof(result->cause),
			    "the test process was ended by signal %d (%s)", number,
			    strsignal(number));
}

static void end_child(struct result *result, pid_t child, int64_t deadline)
{
	int status = 0;

	if (!result->timed_out && !interrupted && reap(child, &status, deadline)) {
		if (WIFSIGNALED(status))
			name_signal(result, WTERMSIG(status));
		return;
	}
	if (!interrupted)
		result->timed_out = true;
	kill(child, SIGKILL);
	if (!reap(child, &status, now_ms() + KILL_WAIT_MS))
		text_format(result->cause, sizeof(result->cause),
			    "process %d does not end even after SIGKILL: it waits in the kernel",
			    (int)child);
	else if (interrupted)
		text_format(result->cause, sizeof(result->cause), "interrupted");
}

static int spawn(struct pair *pair, const struct settings *settings, size_t index, size_t count)
{
	int64_t deadline = now_ms() + (int64_t)settings->timeout * 1000;
	bool progress = !settings->quiet && isatty(STDERR_FILENO);
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	fflush(NULL);
	child = fork();
	if (child < 0) {
		int err = -errno;

		close(ends[0]);
		close(ends[1]);
		return err;
	}
	if (!child) {
		close(ends[0]);
		run_child(pair, settings, ends[1]);
	}
	close(ends[1]);
	read_records(pair, ends[0], deadline, index, count, progress);
	end_child(&pair->result, child, deadline);
	close(ends[0]);
	if (progress)
		clear_progress();
	return 0;
}

static void add_failure(struct result *result, const struct vpeer_error *error)
{
	struct record record = { .kind = RECORD_FAILED, .outcome = OUTCOME_FAIL };

	text_format(record.text, sizeof(record.text), "%s: %s", error->who, error->message);
	text_format(record.remedy, sizeof(record.remedy), "%s", error->remedy);
	take_record(result, &record);
}

void pair_run(struct pair *pair, const struct settings *settings, size_t index, size_t count)
{
	struct scratch *scratch = pair->initiator->scratch;
	char command_line[4096];
	struct vpeer_error error;
	int err = 0;

	pair->result = (struct result){ .grade = pair->view[0] ? GRADE_OWNER : GRADE_WINDOW };
	if (vpeer_sysfs_read(command_line, sizeof(command_line), "/proc/cmdline"))
		command_line[0] = '\0';
	/* Here, so that the contents come back even if the child does not. */
	if (scratch && scratch_save(scratch, &error))
		add_failure(&pair->result, &error);
	else
		err = spawn(pair, settings, index, count);
	if (err) {
		vpeer_fail(&error, -err, VPEER_REASON_NONE, pair->initiator->name, "",
			   "cannot start the test process: %s", strerror(-err));
		add_failure(&pair->result, &error);
	}
	if (scratch && scratch->saved && scratch_restore(scratch, &error))
		add_failure(&pair->result, &error);
	result_decide(&pair->result, settings->accept_window, command_line);
}

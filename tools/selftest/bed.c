// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "bed.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "evidence.h"

#define REVOKE_WAIT_MS	5000

void record_fail(struct record *record, const char *remedy, const char *format, ...)
{
	va_list args;

	record->outcome = OUTCOME_FAIL;
	va_start(args, format);
	vsnprintf(record->text, sizeof(record->text), format, args);
	va_end(args);
	text_format(record->remedy, sizeof(record->remedy), "%s", remedy);
}

static void *take_pages(size_t length)
{
	void *pages = mmap(NULL, length, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	return pages == MAP_FAILED ? NULL : pages;
}

static bool open_view(struct bed *bed)
{
	bed->view = -1;
	if (!bed->pair->view[0])
		return true;
	bed->view = open(bed->pair->view, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (bed->view >= 0)
		return true;
	send_failed(bed->channel, "name a readable file or directory with --owner-view",
		    "cannot open the owner's view %s: %s", bed->pair->view, strerror(errno));
	return false;
}

static bool open_window(struct bed *bed, uint64_t size)
{
	struct vpeer_error error;
	void *mapped;

	if (vpeer_open(&bed->aperture, bed->pair->aperture->node, &error) ||
	    vpeer_window_alloc(bed->aperture, size, VPEER_ANY_OFFSET, &bed->window, &error) ||
	    vpeer_window_map(bed->window, 0, 0, PROT_READ | PROT_WRITE, &mapped, &error)) {
		send_error(bed->channel, &error);
		return false;
	}
	bed->mapped = mapped;
	bed->length = (size_t)vpeer_window_size(bed->window);
	return true;
}

static bool take_memory(struct bed *bed)
{
	bed->host = take_pages(bed->length);
	bed->look = take_pages(bed->length);
	bed->expected = take_pages(bed->length);
	if (bed->host && bed->look && bed->expected)
		return true;
	send_failed(bed->channel, "free memory", "no memory for buffers of %zu bytes",
		    bed->length);
	return false;
}

/* Stores must be seen from the owner's side, or comparing there proves nothing. */
static bool check_view(struct bed *bed)
{
	struct record record = { .outcome = OUTCOME_PASS };

	bed_poison(bed, GUARD, GUARD);
	if (bed_check_poison(bed, SIDE_WINDOW, GUARD, GUARD, &record))
		return true;
	send_failed(bed->channel, "check that the owner's view shows this BAR, without caching",
		    "the CPU's own stores do not arrive in the window: %s", record.text);
	return false;
}

bool bed_begin(struct bed *bed, const struct pair *pair, const struct settings *settings,
	       const struct channel *channel, uint64_t largest)
{
	*bed = (struct bed){
		.pair = pair,
		.channel = channel,
		.seed = settings->seed,
		.view = -1,
	};
	send_started(channel, "setting up");
	return open_view(bed) && open_window(bed, largest + 4 * GUARD) && take_memory(bed) &&
	       check_view(bed);
}

void bed_end(struct bed *bed)
{
	if (bed->mapped)
		vpeer_window_unmap(bed->mapped, bed->length);
	vpeer_window_free(bed->window, REVOKE_WAIT_MS, NULL);
	vpeer_close(bed->aperture);
	if (bed->view >= 0)
		close(bed->view);
	if (bed->host)
		munmap(bed->host, bed->length);
	if (bed->look)
		munmap(bed->look, bed->length);
	if (bed->expected)
		munmap(bed->expected, bed->length);
}

static enum pattern poison_of(enum side side)
{
	return side == SIDE_WINDOW ? PATTERN_POISON_WINDOW : PATTERN_POISON_HOST;
}

void bed_store(struct bed *bed, enum side side, uint64_t offset, const void *bytes, size_t length)
{
	memcpy((side == SIDE_WINDOW ? bed->mapped : bed->host) + offset, bytes, length);
	__atomic_thread_fence(__ATOMIC_SEQ_CST); /* drains write-combining buffers */
}

void bed_poison(struct bed *bed, uint64_t offset, size_t length)
{
	bed->seed += 0x9e3779b97f4a7c15ULL;
	for (enum side side = SIDE_WINDOW; side <= SIDE_HOST; side++) {
		pattern_fill(bed->look, poison_of(side), bed->seed, offset - GUARD,
			     length + 2 * GUARD);
		bed_store(bed, side, offset - GUARD, bed->look, length + 2 * GUARD);
	}
}

/* Where an offset of the window lies in the BAR, which the owner's view shows. */
static uint64_t bed_in_bar(const struct bed *bed, uint64_t offset)
{
	return bed->pair->aperture->bar_offset + vpeer_window_offset(bed->window) + offset;
}

static bool read_view(struct bed *bed, uint64_t offset, size_t length)
{
	off_t place = (off_t)bed_in_bar(bed, offset);
	size_t done = 0;
	ssize_t got;

	posix_fadvise(bed->view, place, (off_t)length, POSIX_FADV_DONTNEED);
	while (done < length) {
		got = pread(bed->view, bed->look + done, length - done, place + (off_t)done);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		done += (size_t)got;
	}
	return true;
}

static bool look_at(struct bed *bed, enum side side, uint64_t offset, size_t length,
		    struct record *record)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (side == SIDE_HOST) {
		memcpy(bed->look, bed->host + offset, length);
	} else if (bed->view < 0) {
		memcpy(bed->look, bed->mapped + offset, length);
	} else if (!read_view(bed, offset, length)) {
		record_fail(record, "the file must be as long as the BAR",
			    "cannot read the owner's view %s at offset %" PRIu64 ": %s",
			    bed->pair->view, bed_in_bar(bed, offset),
			    errno ? strerror(errno) : "it is too short");
		return false;
	}
	return true;
}

static void fail_by_mismatch(struct record *record, enum side side, const char *where,
			     const struct mismatch *first)
{
	record_fail(record, "the path loses or misplaces data: do not use it; see the kernel log",
		    "%s: first difference %s the target, at offset %" PRIu64
		    ": expected 0x%02x, got 0x%02x (%s)",
		    side == SIDE_WINDOW ? "window" : "host memory", where, first->position,
		    first->expected, first->got, pattern_describe(first->got));
}

bool bed_check(struct bed *bed, enum side side, uint64_t offset, size_t length,
	       struct record *record)
{
	struct mismatch first;

	if (!look_at(bed, side, offset - GUARD, length + 2 * GUARD, record))
		return false;
	if (!bytes_match(bed->look + GUARD, bed->expected, offset, length, &first))
		fail_by_mismatch(record, side, "inside", &first);
	else if (!pattern_matches(bed->look, poison_of(side), bed->seed, offset - GUARD, GUARD,
				  &first))
		fail_by_mismatch(record, side, "before", &first);
	else if (!pattern_matches(bed->look + GUARD + length, poison_of(side), bed->seed,
				  offset + length, GUARD, &first))
		fail_by_mismatch(record, side, "after", &first);
	else
		return true;
	return false;
}

bool bed_check_poison(struct bed *bed, enum side side, uint64_t offset, size_t length,
		      struct record *record)
{
	pattern_fill(bed->expected, poison_of(side), bed->seed, offset, length);
	return bed_check(bed, side, offset, length, record);
}

bool bed_pinned(const struct bed *bed, uint64_t *pinned)
{
	struct vpeer_window_info info = { .argsz = sizeof(info) };

	if (vpeer_window_info(bed->window, &info, NULL))
		return false;
	*pinned = info.pinned_bytes;
	return true;
}

void bed_collect(const struct bed *bed, const struct swiotlb_state *before,
		 struct evidence *evidence)
{
	const struct pair *pair = bed->pair;
	struct trace_hits hits = { 0 };
	struct swiotlb_state after;
	int err = trace_collect(pair->trace,
				pair->bus_start + vpeer_window_offset(bed->window),
				bed->length, pair->initiator->pci, &hits);

	if (err && pair->trace->path[0]) {
		text_format(evidence->mapping_text, sizeof(evidence->mapping_text),
			    "cannot read %.80s/trace: %s", pair->trace->path, strerror(-err));
		text_format(evidence->clean_text, sizeof(evidence->clean_text), "%s",
			    evidence->mapping_text);
		return;
	}
	swiotlb_read(&after, DEBUGFS, false);
	evidence_judge_mapping(pair->trace, &hits, evidence);
	evidence_judge_bounces(pair->trace, &hits, before, &after, pair->initiator->pci,
			       evidence);
}

/* A grandchild touches the window, so that the signal ends only that. */
static bool raises_sigbus(const struct bed *bed, struct record *record)
{
	struct rlimit no_core = { 0 };
	int status;
	pid_t child = fork();

	if (!child) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGBUS, SIG_DFL);
		_exit(*(volatile uint8_t *)bed->mapped ? 1 : 0);
	}
	if (child < 0 || waitpid(child, &status, 0) != child) {
		record_fail(record, "", "cannot run the access: %s", strerror(errno));
		return false;
	}
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)
		return true;
	record_fail(record, "the module does not stop access: report this with the kernel log",
		    "a CPU load of the revoked window did not raise SIGBUS");
	return false;
}

static bool has_generations(const struct bed *bed)
{
	struct vpeer_query query = { .argsz = sizeof(query) };

	return !vpeer_query(bed->aperture, &query, NULL) &&
	       query.features & VPEER_FEATURE_GENERATIONS;
}

bool bed_revoke(struct bed *bed)
{
	struct record record = { .kind = RECORD_CONTROL, .name = "CPU access after revoke" };
	uint64_t before = vpeer_window_generation(bed->window);
	struct vpeer_error error;

	send_started(bed->channel, "%s", record.name);
	if (vpeer_window_revoke(bed->window, REVOKE_WAIT_MS, NULL, &error))
		record_fail(&record, error.remedy, "%s", error.message);
	else if (raises_sigbus(bed, &record) && has_generations(bed) &&
		 vpeer_window_generation(bed->window) == before)
		record_fail(&record, "the module does not tell caches: report this",
			    "the window's generation did not change");
	send_record(bed->channel, &record);
	return record.outcome == OUTCOME_PASS;
}

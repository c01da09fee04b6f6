// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "../lib/sysfs.h"
#include "selftest/plan.h"

#define DEFAULT_TIMEOUT	60
#define LARGEST_TIMEOUT	86400

static int set_sizes(struct settings *settings, const char *text)
{
	char copy[256], *rest = copy, *item;
	uint64_t size;

	if (strlen(text) >= sizeof(copy))
		return usage_error(&command_selftest, "too many sizes");
	strcpy(copy, text);
	settings->size_count = 0;
	while ((item = strsep(&rest, ","))) {
		if (parse_size(item, &size) || !size || size > LARGEST_SIZE)
			return usage_error(&command_selftest, "'%s' is no size from 1 to 16M",
					   item);
		if (settings->size_count == MAX_SIZES)
			return usage_error(&command_selftest, "more than %d sizes", MAX_SIZES);
		settings->sizes[settings->size_count++] = size;
	}
	return EXIT_PASS;
}

static int set_timeout(struct settings *settings, const char *text)
{
	uint64_t seconds;

	if (vpeer_parse_u64(text, &seconds))
		return usage_error(&command_selftest, "'%s' is no number of seconds", text);
	if (!seconds || seconds > LARGEST_TIMEOUT)
		return usage_error(&command_selftest, "--timeout takes at least 1 second and at "
				   "most %d, not %s", LARGEST_TIMEOUT, text);
	settings->timeout = (unsigned int)seconds;
	return EXIT_PASS;
}

static int set_accept(struct settings *settings, const char *text)
{
	if (strcmp(text, "window"))
		return usage_error(&command_selftest, "--accept takes 'window', not '%s'", text);
	settings->accept_window = true;
	return EXIT_PASS;
}

static int set_seed(struct settings *settings, const char *text)
{
	if (vpeer_parse_u64(text, &settings->seed))
		return usage_error(&command_selftest, "'%s' is no seed", text);
	return EXIT_PASS;
}

static int take_option(int code, char **argv, struct settings *settings, struct wishes *wishes)
{
	switch (code) {
	case 'a':
		return wish_aperture(&command_selftest, wishes, optarg);
	case 'r':
		return wish_name(&command_selftest, &wishes->rdma, "--rdma", optarg);
	case 'b':
		return wish_name(&command_selftest, &wishes->block, "--block", optarg);
	case 's':
		return wish_scratch(&command_selftest, wishes, optarg);
	case 'o':
		settings->owner_view = optarg;
		return EXIT_PASS;
	case 'w':
		return set_accept(settings, optarg);
	case 't':
		return set_timeout(settings, optarg);
	case 'z':
		return set_sizes(settings, optarg);
	case 'S':
		return set_seed(settings, optarg);
	case 'j':
		settings->json = true;
		return EXIT_PASS;
	case 'q':
		settings->quiet = true;
		return EXIT_PASS;
	case 'v':
		settings->verbose = true;
		return EXIT_PASS;
	}
	return option_error(&command_selftest, code, argv);
}

static int parse_options(int argc, char **argv, struct settings *settings, struct wishes *wishes)
{
	static const struct option options[] = {
		{ "aperture", required_argument, NULL, 'a' },
		{ "rdma", required_argument, NULL, 'r' },
		{ "block", required_argument, NULL, 'b' },
		{ "scratch", required_argument, NULL, 's' },
		{ "owner-view", required_argument, NULL, 'o' },
		{ "accept", required_argument, NULL, 'w' },
		{ "timeout", required_argument, NULL, 't' },
		{ "sizes", required_argument, NULL, 'z' },
		{ "seed", required_argument, NULL, 'S' },
		{ "json", no_argument, NULL, 'j' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "verbose", no_argument, NULL, 'v' },
		{ 0 },
	};
	int code, status = EXIT_PASS;

	opterr = 0;
	while (!status && (code = getopt_long(argc, argv, ":", options, NULL)) != -1)
		status = take_option(code, argv, settings, wishes);
	if (!status && optind < argc)
		status = usage_error(&command_selftest, "unexpected argument '%s'", argv[optind]);
	return status;
}

static void pick_seed(struct settings *settings)
{
	uint32_t seed;

	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = (uint32_t)time(NULL);
	settings->seed = seed;
}

static size_t run_pairs(struct plan *plan, const struct settings *settings)
{
	size_t done = 0;

	pair_catch_signals();
	trace_begin(&plan->trace, NULL);
	while (done < plan->pair_count && !pair_interrupted()) {
		pair_run(&plan->pairs[done], settings, done + 1, plan->pair_count);
		done++;
	}
	trace_end(&plan->trace);
	return done;
}

static int judge(const struct plan *plan, size_t done)
{
	if (pair_interrupted()) {
		fprintf(stderr, "vpeer: interrupted after %zu of %zu pairs\n", done,
			plan->pair_count);
		return EXIT_FAIL;
	}
	for (size_t i = 0; i < done; i++)
		if (plan->pairs[i].result.verdict != VERDICT_PASS)
			return EXIT_FAIL;
	return EXIT_PASS;
}

static int print_report(const struct plan *plan, size_t done, const struct settings *settings)
{
	if (settings->json)
		return json_finish(report_document(plan->pairs, done, settings));
	report_text(plan->pairs, done, settings);
	return EXIT_PASS;
}

static int run_selftest(int argc, char **argv)
{
	struct settings settings = { .timeout = DEFAULT_TIMEOUT };
	struct wishes wishes = { 0 };
	struct plan plan;
	size_t done;
	int status, written = EXIT_PASS;

	settings.owner_view = getenv("VPEER_OWNER_VIEW");
	pick_seed(&settings);
	status = parse_options(argc, argv, &settings, &wishes);
	if (status)
		return status;
	status = plan_begin(&plan, &wishes, &settings);
	if (!status) {
		done = run_pairs(&plan, &settings);
		written = print_report(&plan, done, &settings);
		status = judge(&plan, done);
	} else if (status == EXIT_NOTHING && settings.json) {
		written = print_report(&plan, 0, &settings);
	}
	plan_end(&plan);
	return status ? status : written;
}

const struct command command_selftest = {
	.name = "selftest",
	.summary = "prove by comparing bytes that initiators reach apertures directly",
	.usage = "[--aperture PCI]... [--rdma DEV]... [--block DEV]...\n"
		 "       [--scratch DEV:OFFSET:LENGTH]... [--owner-view PATH] [--accept window]\n"
		 "       [--timeout SECONDS] [--sizes BYTES,...] [--seed N] [--json] [--quiet]\n"
		 "       [--verbose]",
	.options = "  --aperture PCI     test this aperture, not all; may be repeated\n"
		   "  --rdma DEV         test this RDMA device, not all initiators; may be repeated\n"
		   "  --block DEV        test this disk, not all initiators; may be repeated\n"
		   "  --scratch DEV:OFFSET:LENGTH\n"
		   "                     this range of the disk may be overwritten; it is restored\n"
		   "  --owner-view PATH  file, or directory of files, that shows the memory from its\n"
		   "                     owner's side; $VPEER_OWNER_VIEW without this option\n"
		   "  --accept window    bytes compared through the BAR count as proof\n"
		   "  --timeout SECONDS  deadline of a pair, 60 by default\n"
		   "  --sizes BYTES,...  transfer sizes, up to 16M\n"
		   "  --seed N           seed of the patterns, random by default\n"
		   "  --json             one JSON document instead of the table\n"
		   "  --quiet            no progress on the terminal\n"
		   "  --verbose          every case and control below the table\n"
		   "  --help             this text\n",
	.manual = "vpeer-selftest",
	.run = run_selftest,
};

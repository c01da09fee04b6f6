// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <getopt.h>

#include "doctor/check.h"
#include "util.h"

struct wishes {
	bool json;
	bool problems;
	bool strict;
};

static int judge(const struct site *site, const struct findings *all, bool strict)
{
	size_t looked_at = site->aperture_count;

	if (findings_of(all, STATE_FAIL))
		return EXIT_FAIL;
	if (strict && (findings_of(all, STATE_WARN) || findings_of(all, STATE_UNKNOWN)))
		return EXIT_FAIL;
	for (size_t i = 0; i < site->function_count; i++)
		looked_at += site_is_memory(site, &site->functions[i]) ||
			     site_is_initiator(site, &site->functions[i]);
	return looked_at ? EXIT_PASS : EXIT_NOTHING;
}

static int examine(const struct wishes *wishes)
{
	struct findings all = { 0 };
	struct site_place place;
	struct site site;
	int status;

	site_here(&place);
	site_read(&site, &place);
	doctor_check_all(&all, &site);
	status = judge(&site, &all, wishes->strict);
	if (!wishes->json)
		doctor_print(&all, !wishes->problems, stdout);
	else if (json_finish(doctor_document(&site, &all)))
		status = EXIT_FAIL;
	if (status == EXIT_NOTHING)
		fputs("vpeer: nothing to examine: no GPU, no accelerator, no aperture, no RDMA or "
		      "NVMe device\n  remedy: run it in the guest that the devices were given to\n",
		      stderr);
	findings_free(&all);
	site_free(&site);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "problems", no_argument, NULL, 'p' },
		{ "strict", no_argument, NULL, 's' },
		{ 0 },
	};
	struct wishes wishes = { 0 };
	int code;

	while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		switch (code) {
		case 'j':
			wishes.json = true;
			break;
		case 'p':
			wishes.problems = true;
			break;
		case 's':
			wishes.strict = true;
			break;
		default:
			return option_error(&command_doctor, code, argv);
		}
	}
	if (optind < argc)
		return usage_error(&command_doctor, "it takes no operand: '%s'", argv[optind]);
	return examine(&wishes);
}

const struct command command_doctor = {
	.name = "doctor",
	.summary = "say what is wrong with this machine's peer DMA, and who mends it",
	.usage = "[--json] [--problems] [--strict]",
	.options = "  --json      a JSON document; vpeer-doctor(1) describes it\n"
		   "  --problems  leave out what is ok\n"
		   "  --strict    fail also for what warns or is unknown\n"
		   "  --help      this text\n",
	.manual = "vpeer-doctor",
	.run = run,
};

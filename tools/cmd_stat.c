// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <getopt.h>
#include <json-c/json.h>

#include "stat/metrics.h"
#include "util.h"

static int nothing(const struct readings *readings)
{
	fprintf(stderr, "vpeer: %s\n  remedy: %s\n",
		readings->version[0] ? "no aperture is attached" : "the module vpeer is not loaded",
		"'vpeer list --all' shows what could be attached, 'vpeer attach' does it");
	return EXIT_NOTHING;
}

static int show(const struct vpeer_pci_address *pci, int form)
{
	struct readings readings;
	struct vpeer_error error;
	int status = EXIT_PASS;

	if (readings_take(&readings, "/sys", pci, &error)) {
		report_error(&error);
		status = EXIT_FAIL;
	} else if (form == 'p') {
		readings_prometheus(&readings, stdout);
	} else if (form == 'j') {
		status = json_finish(readings_document(&readings));
	} else if (!readings.count && !readings.range_count) {
		status = nothing(&readings);
	} else {
		readings_print(&readings, stdout);
	}
	readings_free(&readings);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "prometheus", no_argument, NULL, 'p' },
		{ 0 },
	};
	struct vpeer_pci_address pci;
	int code, form = 0;

	while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (code != 'j' && code != 'p')
			return option_error(&command_stat, code, argv);
		if (form && form != code)
			return usage_error(&command_stat, "--json or --prometheus, not both");
		form = code;
	}
	if (argc - optind > 1)
		return usage_error(&command_stat, "unexpected argument '%s'", argv[optind + 1]);
	if (optind == argc)
		return show(NULL, form);
	if (vpeer_pci_parse(argv[optind], &pci))
		return usage_error(&command_stat, "'%s' is no PCI address like 0000:01:00.0",
				   argv[optind]);
	return show(&pci, form);
}

const struct command command_stat = {
	.name = "stat",
	.summary = "show what the module counts of each aperture",
	.usage = "[--json | --prometheus] [PCI]",
	.options = "  PCI           of this function only\n"
		   "  --json        one JSON document\n"
		   "  --prometheus  as a node exporter's textfile collector takes it\n"
		   "  --help        this text\n",
	.manual = "vpeer-stat",
	.run = run,
};

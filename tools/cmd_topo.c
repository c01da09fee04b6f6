// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <string.h>
#include <unistd.h>

#include "topo/topofile.h"
#include "util.h"

struct wishes {
	bool json;
	bool list;
	bool strict;
	bool nccl;
	const char *svg;
	const char *check;
	const char *measured;
};

static int fail_file(const char *path, int err, const char *doing, const char *remedy)
{
	struct vpeer_error error;

	vpeer_fail(&error, -err, VPEER_REASON_NONE, path, remedy, "cannot %s: %s", doing,
		   strerror(-err));
	report_error(&error);
	return EXIT_FAIL;
}

static int draw(const struct topo *topo, const char *path)
{
	static const char remedy[] = "name a file that can be written";
	FILE *file;
	int fd, err;

	if (!strcmp(path, "-")) {
		topo_svg(topo, stdout);
		return EXIT_PASS;
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	file = fd < 0 ? NULL : fdopen(fd, "w");
	if (!file)
		return fail_file(path, -errno, "open", remedy);
	topo_svg(topo, file);
	err = ferror(file) ? -EIO : 0;
	if (fclose(file) && !err)
		err = -errno;
	return err ? fail_file(path, err, "write", remedy) : EXIT_PASS;
}

static int write_topology(const struct topo *topo)
{
	struct nccl_plan plan;
	int status = nccl_plan_make(&plan, topo);

	if (!status)
		nccl_write(&plan, stdout);
	nccl_plan_free(&plan);
	return status;
}

static bool has_ends(const struct topo *topo)
{
	bool any = false;

	for (size_t i = 0; i < topo->memory_count; i++)
		any |= topo_is_gpu(topo->memory[i].function);
	for (size_t i = 0; i < topo->initiator_count; i++)
		any |= topo->initiators[i].rdma && topo->initiators[i].function;
	return any;
}

static int judge(const struct topo *topo, const struct findings *all, bool strict)
{
	if (findings_of(all, STATE_FAIL))
		return EXIT_FAIL;
	if (strict && (findings_of(all, STATE_WARN) || findings_of(all, STATE_UNKNOWN)))
		return EXIT_FAIL;
	if (has_ends(topo))
		return EXIT_PASS;
	fputs("vpeer: this machine has neither GPU nor RDMA device: nothing to compare the file "
	      "with\n  remedy: run it in the guest that the file is for\n", stderr);
	return EXIT_NOTHING;
}

static int check(const struct topo *topo, const struct wishes *wishes)
{
	struct findings all = { 0 };
	int status, err = topofile_read(topo, wishes->check, &all);

	if (err)
		return fail_file(wishes->check, err, "read", "name a file that can be read");
	status = judge(topo, &all, wishes->strict);
	if (!wishes->json)
		topofile_print(&all, stdout);
	else if (json_finish(topofile_document(wishes->check, &all)))
		status = EXIT_FAIL;
	findings_free(&all);
	return status;
}

static int show(const struct topo *topo, const struct wishes *wishes)
{
	int status = EXIT_PASS;

	if (wishes->json)
		status = json_finish(topo_document(topo));
	else if (wishes->svg)
		status = draw(topo, wishes->svg);
	else
		topo_print(topo, wishes->list, stdout);
	if (status || topo->memory_count || topo->initiator_count)
		return status;
	fputs("vpeer: nothing to show: no GPU, no accelerator, no aperture, no RDMA or NVMe "
	      "device\n  remedy: run it in the guest that the devices were given to\n", stderr);
	return EXIT_NOTHING;
}

static int look(const struct topo *topo, const struct wishes *wishes)
{
	if (wishes->check)
		return check(topo, wishes);
	return wishes->nccl ? write_topology(topo) : show(topo, wishes);
}

static int examine(const struct wishes *wishes)
{
	struct vpeer_error error;
	struct site_place place;
	struct topo topo;
	struct site site;
	int status = EXIT_PASS;

	site_here(&place);
	site_read(&site, &place);
	topo_read(&topo, &site);
	if (wishes->measured && topo_measured(&topo, wishes->measured, &error)) {
		report_error(&error);
		status = EXIT_FAIL;
	}
	if (!status)
		status = look(&topo, wishes);
	topo_free(&topo);
	site_free(&site);
	return status;
}

static int take_option(struct wishes *wishes, int code, char **argv)
{
	switch (code) {
	case 'c':
		wishes->check = optarg;
		break;
	case 'g':
		wishes->svg = optarg;
		break;
	case 'j':
		wishes->json = true;
		break;
	case 'l':
		wishes->list = true;
		break;
	case 'm':
		wishes->measured = optarg;
		break;
	case 'n':
		wishes->nccl = true;
		break;
	case 's':
		wishes->strict = true;
		break;
	default:
		return option_error(&command_topo, code, argv);
	}
	return EXIT_PASS;
}

static int refuse_mixture(const struct wishes *wishes)
{
	int forms = wishes->nccl + !!wishes->svg + !!wishes->check + wishes->list;

	if (forms > 1)
		return usage_error(&command_topo,
				   "one of --list, --svg, --nccl-xml and --check at a time");
	if (wishes->json && (wishes->nccl || wishes->svg || wishes->list))
		return usage_error(&command_topo, "--json goes with --check and --measured only");
	if (wishes->strict && !wishes->check)
		return usage_error(&command_topo, "--strict goes with --check only");
	if (wishes->measured && wishes->check)
		return usage_error(&command_topo, "--check does not go with --measured");
	return EXIT_PASS;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "check", required_argument, NULL, 'c' },
		{ "json", no_argument, NULL, 'j' },
		{ "list", no_argument, NULL, 'l' },
		{ "measured", required_argument, NULL, 'm' },
		{ "nccl-xml", no_argument, NULL, 'n' },
		{ "strict", no_argument, NULL, 's' },
		{ "svg", required_argument, NULL, 'g' },
		{ 0 },
	};
	struct wishes wishes = { 0 };
	int code, status = EXIT_PASS;

	opterr = 0;
	while (!status && (code = getopt_long(argc, argv, ":", options, NULL)) != -1)
		status = take_option(&wishes, code, argv);
	if (!status && optind < argc)
		status = usage_error(&command_topo, "it takes no operand: '%s'", argv[optind]);
	if (!status)
		status = refuse_mixture(&wishes);
	return status ? status : examine(&wishes);
}

const struct command command_topo = {
	.name = "topo",
	.summary = "show which memory is how far from which device; topology files for NCCL",
	.usage = "[--measured FILE] [--list | --json | --svg FILE | --nccl-xml]\n"
		 "       vpeer topo --check FILE [--json] [--strict]",
	.options = "  --measured FILE  take verdicts from what 'vpeer selftest --json' printed\n"
		   "  --list           a line for each pair, however many\n"
		   "  --json           a JSON document; vpeer-topo(1) describes it\n"
		   "  --svg FILE       draw the tree of PCI and the matrix; - for standard output\n"
		   "  --nccl-xml       print a topology file for NCCL\n"
		   "  --check FILE     whether a topology file for NCCL is well, and of this machine\n"
		   "  --strict         fail also for what warns\n"
		   "  --help           this text\n",
	.manual = "vpeer-topo",
	.run = run,
};

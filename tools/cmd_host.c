// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "../lib/sysfs.h"
#include "host/check.h"
#include "host/guest.h"
#include "util.h"

#define DEFAULT_MEMORY	(8ULL << 30)
#define DEFAULT_CPUS	4
#define MOST_CPUS	4096
#define MEMORY_GRAIN	(2ULL << 20)

/* What is printed once all is known to be right. */
typedef void printer(const struct guest *guest, FILE *file);

static int add_operand(struct host *host, const char *text)
{
	struct vpeer_pci_address address;
	struct vpeer_error error;
	char pci[VPEER_PCI_LEN];

	if (vpeer_pci_parse(text, &address))
		return usage_error(&command_host, "'%s' is no PCI address like 0000:01:00.0", text);
	vpeer_pci_format(&address, pci);
	for (size_t i = 0; i < host->function_count; i++)
		if (!strcmp(host->functions[i].pci, pci))
			return usage_error(&command_host, "%s is named twice", pci);
	if (!host_add_named(host, pci, &error))
		return EXIT_PASS;
	report_error(&error);
	return EXIT_FAIL;
}

static int add_operands(struct host *host, char **operands)
{
	int status = EXIT_PASS;

	while (!status && *operands)
		status = add_operand(host, *operands++);
	return status;
}

static int check(const struct host *host, bool json)
{
	struct findings all = { 0 };
	struct path *paths;
	size_t count = host_paths(host, &paths);
	int status = EXIT_PASS;

	check_all(&all, host, paths, count);
	if (json)
		status = json_finish(host_document(host, paths, count, &all));
	else
		findings_print(&all, stdout);
	if (findings_of(&all, STATE_FAIL) || findings_of(&all, STATE_UNKNOWN))
		status = EXIT_FAIL;
	findings_free(&all);
	free(paths);
	return status;
}

static int tell_nothing(void)
{
	fputs("vpeer: only the host was looked at: no display controller, accelerator or VF\n"
	      "  remedy: name functions, such as 0000:01:00.0\n", stderr);
	return EXIT_NOTHING;
}

static int run_check(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ 0 },
	};
	bool json = false;
	struct host host;
	int code, status;

	while ((code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		if (code != 'j')
			return option_error(&command_host, code, argv);
		json = true;
	}
	host_read(&host, &host_here);
	status = add_operands(&host, argv + optind);
	if (!status && optind == argc)
		host_add_default(&host);
	if (!status) {
		status = check(&host, json);
		if (!host.function_count)
			status = tell_nothing();
	}
	host_free(&host);
	return status;
}

static int take_cpus(const char *text, unsigned int *cpus)
{
	uint64_t number;

	if (vpeer_parse_u64(text, &number) || !number || number > MOST_CPUS)
		return usage_error(&command_host, "'%s' is no number of CPUs", text);
	*cpus = (unsigned int)number;
	return EXIT_PASS;
}

static int take_memory(const char *text, uint64_t *bytes)
{
	if (parse_size(text, bytes) || !*bytes || *bytes % MEMORY_GRAIN)
		return usage_error(&command_host, "'%s' is no size in steps of 2M", text);
	return EXIT_PASS;
}

static int take_choice(const char *option, const char *no, const char *yes, bool *chosen)
{
	*chosen = !strcmp(optarg, yes);
	if (*chosen || !strcmp(optarg, no))
		return EXIT_PASS;
	return usage_error(&command_host, "%s takes %s or %s, not '%s'", option, no, yes, optarg);
}

static int take_name(const char **name)
{
	const char *at = optarg;

	while (isalnum((unsigned char)*at) || (*at && strchr("-_.", *at)))
		at++;
	if (!*optarg || *at)
		return usage_error(&command_host, "'%s' is no name of letters and digits", optarg);
	*name = optarg;
	return EXIT_PASS;
}

/* XML has no place for others, nor has a line of --lines. */
static int take_text(const char **text)
{
	if (!is_one_line(optarg))
		return usage_error(&command_host, "a value has control characters, or is no UTF-8");
	*text = optarg;
	return EXIT_PASS;
}

static int take_option(int code, char **argv, struct guest_wish *wish)
{
	switch (code) {
	case 'm':
		return take_memory(optarg, &wish->memory);
	case 'c':
		return take_cpus(optarg, &wish->cpus);
	case 'n':
		return take_name(&wish->name);
	case 'g':
		return take_choice("--guest-iommu", "none", "intel", &wish->guest_iommu);
	case 't':
		return take_choice("--topology", "root-port", "switch", &wish->switches);
	case 'w':
		return take_choice("--firmware", "ovmf", "seabios", &wish->seabios);
	case 'u':
		wish->iommufd = true;
		return EXIT_PASS;
	case 'M':
		wish->managed = true;
		return EXIT_PASS;
	case 'f':
		wish->fragment = true;
		return EXIT_PASS;
	case 'l':
		wish->lines = true;
		return EXIT_PASS;
	case 'k':
		return take_text(&wish->kernel);
	case 'i':
		return take_text(&wish->initrd);
	case 'a':
		return take_text(&wish->append);
	}
	return option_error(&command_host, code, argv);
}

/* Name of an option that says nothing of devices, else NULL. */
static const char *whole_option(int code)
{
	switch (code) {
	case 'm':
		return "--memory";
	case 'c':
		return "--cpus";
	case 'n':
		return "--name";
	case 'w':
		return "--firmware";
	case 'k':
		return "--kernel";
	case 'i':
		return "--initrd";
	case 'a':
		return "--append";
	}
	return NULL;
}

/* Options of both; "fragment" and "managed" of libvirt only, "lines" of QEMU. */
#define GUEST_OPTIONS \
	{ "memory", required_argument, NULL, 'm' }, \
	{ "cpus", required_argument, NULL, 'c' }, \
	{ "name", required_argument, NULL, 'n' }, \
	{ "guest-iommu", required_argument, NULL, 'g' }, \
	{ "topology", required_argument, NULL, 't' }, \
	{ "firmware", required_argument, NULL, 'w' }, \
	{ "iommufd", no_argument, NULL, 'u' }, \
	{ "kernel", required_argument, NULL, 'k' }, \
	{ "initrd", required_argument, NULL, 'i' }, \
	{ "append", required_argument, NULL, 'a' }

static int parse_wish(int argc, char **argv, const struct option *options,
		      struct guest_wish *wish)
{
	int code, status = EXIT_PASS;

	while (!status && (code = getopt_long(argc, argv, ":", options, NULL)) != -1) {
		status = take_option(code, argv, wish);
		wish->whole = wish->whole ? wish->whole : whole_option(code);
	}
	if (!status && optind == argc)
		status = usage_error(&command_host, "name the PCI functions for the guest");
	for (size_t i = 0; !status && wish->lines && i < wish->extra_count; i++)
		if (strchr(wish->extra[i], '\n'))
			status = usage_error(&command_host, "--lines cannot print an argument of "
					     "several lines");
	if (!status && wish->fragment && wish->whole)
		status = usage_error(&command_host, "--fragment has devices only: %s does "
				     "not apply", wish->whole);
	if (!status && !wish->kernel && (wish->initrd || wish->append))
		status = usage_error(&command_host, "--initrd and --append need --kernel");
	return status;
}

static int emit(struct host *host, const struct guest_wish *wish, printer *print)
{
	struct vpeer_error error;
	struct guest guest;

	if (guest_may(host, wish, &error) || guest_plan(&guest, host, wish, &error)) {
		report_error(&error);
		return EXIT_FAIL;
	}
	guest_warn(&guest, stderr);
	print(&guest, stdout);
	return EXIT_PASS;
}

static int run_guest(int argc, char **argv, const struct option *options,
		     struct guest_wish *wish, printer *print)
{
	struct host host;
	int status;

	wish->memory = DEFAULT_MEMORY;
	wish->cpus = DEFAULT_CPUS;
	wish->name = "vpeer";
	status = parse_wish(argc, argv, options, wish);
	if (status)
		return status;
	host_read(&host, &host_here);
	status = add_operands(&host, argv + optind);
	if (!status)
		status = emit(&host, wish, print);
	host_free(&host);
	return status;
}

static int run_xml(int argc, char **argv)
{
	static const struct option options[] = {
		GUEST_OPTIONS,
		{ "managed", no_argument, NULL, 'M' },
		{ "fragment", no_argument, NULL, 'f' },
		{ 0 },
	};
	struct guest_wish wish = { 0 };

	return run_guest(argc, argv, options, &wish, guest_print_xml);
}

/* What follows "--" goes to QEMU as it is. */
static int run_qemu(int argc, char **argv)
{
	static const struct option options[] = {
		GUEST_OPTIONS,
		{ "lines", no_argument, NULL, 'l' },
		{ 0 },
	};
	struct guest_wish wish = { 0 };
	int end = 1, status;
	char *kept;

	while (end < argc && strcmp(argv[end], "--"))
		end++;
	if (end < argc) {
		wish.extra = argv + end + 1;
		wish.extra_count = (size_t)(argc - end - 1);
	}
	kept = argv[end];
	argv[end] = NULL;
	status = run_guest(end, argv, options, &wish, guest_print_qemu);
	argv[end] = kept;
	return status;
}

static int run_host(int argc, char **argv)
{
	static const struct {
		const char *name;
		int (*run)(int argc, char **argv);
	} parts[] = {
		{ "check", run_check },
		{ "xml", run_xml },
		{ "qemu", run_qemu },
	};

	opterr = 0;
	if (argc < 2)
		return usage_error(&command_host, "name what to do: check, xml or qemu");
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (!strcmp(argv[1], parts[i].name))
			return parts[i].run(argc - 1, argv + 1);
	return usage_error(&command_host, "'%s' is none of check, xml and qemu", argv[1]);
}

const struct command command_host = {
	.name = "host",
	.summary = "on a KVM host: check what peer DMA in a guest needs, and lay a guest out",
	.usage = "check [--json] [PCI]...\n"
		 "       vpeer host xml [--managed] [--fragment] [OPTION]... PCI...\n"
		 "       vpeer host qemu [--lines] [OPTION]... PCI... [-- ARGUMENT...]",
	.options = "  check              IOMMU, ACS, ATS, VFIO, VFs, huge pages, NUMA: of the "
		   "functions\n                     named, or of all GPUs, VFs, and memory bound "
		   "to vfio-pci\n  --json             one JSON document instead of text\n"
		   "  xml                a libvirt domain that has the functions\n"
		   "  --managed          libvirt binds them to vfio-pci itself\n"
		   "  --fragment         their controllers and devices only\n"
		   "  qemu               a QEMU command line that has the functions\n"
		   "  --lines            an argument a line, not quoted\n"
		   "  -- ARGUMENT...     more arguments for QEMU\n"
		   "  --memory BYTES     of the guest, 8G by default\n"
		   "  --cpus N           of the guest, 4 by default\n"
		   "  --name NAME        of the guest\n"
		   "  --topology root-port|switch\n"
		   "                     a root port each, or a switch for all of one NUMA node\n"
		   "  --guest-iommu none|intel\n"
		   "                     whether the guest has an IOMMU of its own\n"
		   "  --firmware ovmf|seabios\n"
		   "  --iommufd          VFIO by iommufd, not by a type1 container\n"
		   "  --kernel FILE, --initrd FILE, --append TEXT\n"
		   "                     boot this kernel\n"
		   "  --help             this text\n",
	.manual = "vpeer-host",
	.run = run_host,
};

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "../lib/sysfs.h"
#include "bench/bench.h"

#define DEFAULT_SIZE	(1ULL << 30)
#define DEFAULT_SECONDS	10
#define MOST_SECONDS	86400

struct files {
	FILE *json;
	FILE *svg;
};

static int add_aperture(struct wishes *wishes, const char *name)
{
	if (wishes->apertures.count)
		return usage_error(&command_bench, "name one aperture");
	return wish_aperture(&command_bench, wishes, name);
}

static int set_size(struct bench_settings *settings, const char *text)
{
	if (parse_size(text, &settings->size) || !settings->size ||
	    settings->size % HUGE_PAGE || settings->size > SIZE_MAX / 2)
		return usage_error(&command_bench, "'%s' is no multiple of 2M", text);
	return EXIT_PASS;
}

static int set_seconds(struct bench_settings *settings, const char *text)
{
	uint64_t seconds;

	if (vpeer_parse_u64(text, &seconds))
		return usage_error(&command_bench, "'%s' is no number of seconds", text);
	if (!seconds || seconds > MOST_SECONDS)
		return usage_error(&command_bench, "--seconds takes at least 1 and at most %d, "
				   "not %s", MOST_SECONDS, text);
	settings->seconds = (unsigned int)seconds;
	return EXIT_PASS;
}

static int set_host(struct bench_settings *settings, const char *text)
{
	settings->huge = !strcmp(text, "thp");
	if (!settings->huge && strcmp(text, "4k"))
		return usage_error(&command_bench, "--host takes 'thp' or '4k', not '%s'", text);
	return EXIT_PASS;
}

static int set_groups(struct bench_settings *settings, const char *text)
{
	char copy[64], *rest = copy, *item;

	if (strlen(text) >= sizeof(copy))
		return usage_error(&command_bench, "too many names in --only");
	strcpy(copy, text);
	memset(settings->groups, 0, sizeof(settings->groups));
	while ((item = strsep(&rest, ","))) {
		enum group group = 0;

		while (group < GROUPS && strcmp(item, group_name(group)))
			group++;
		if (group == GROUPS)
			return usage_error(&command_bench,
					   "--only takes touch, register, rdma and disk, not '%s'",
					   item);
		settings->groups[group] = true;
	}
	return EXIT_PASS;
}

static int take_option(int code, char **argv, struct bench_settings *settings,
		       struct wishes *wishes)
{
	switch (code) {
	case 'a':
		return add_aperture(wishes, optarg);
	case 'r':
		return wish_name(&command_bench, &wishes->rdma, "--rdma", optarg);
	case 'b':
		return wish_name(&command_bench, &wishes->block, "--block", optarg);
	case 's':
		return wish_scratch(&command_bench, wishes, optarg);
	case 'z':
		return set_size(settings, optarg);
	case 't':
		return set_seconds(settings, optarg);
	case 'h':
		return set_host(settings, optarg);
	case 'o':
		return set_groups(settings, optarg);
	case 'j':
		settings->json = true;
		settings->json_file = optarg;
		return EXIT_PASS;
	case 'g':
		settings->svg_file = optarg;
		return EXIT_PASS;
	case 'q':
		settings->quiet = true;
		return EXIT_PASS;
	}
	return option_error(&command_bench, code, argv);
}

static int parse_options(int argc, char **argv, struct bench_settings *settings,
			 struct wishes *wishes)
{
	static const struct option options[] = {
		{ "aperture", required_argument, NULL, 'a' },
		{ "rdma", required_argument, NULL, 'r' },
		{ "block", required_argument, NULL, 'b' },
		{ "scratch", required_argument, NULL, 's' },
		{ "size", required_argument, NULL, 'z' },
		{ "seconds", required_argument, NULL, 't' },
		{ "host", required_argument, NULL, 'h' },
		{ "only", required_argument, NULL, 'o' },
		{ "json", optional_argument, NULL, 'j' },
		{ "svg", required_argument, NULL, 'g' },
		{ "quiet", no_argument, NULL, 'q' },
		{ 0 },
	};
	int code, status = EXIT_PASS;

	opterr = 0;
	while (!status && (code = getopt_long(argc, argv, ":", options, NULL)) != -1)
		status = take_option(code, argv, settings, wishes);
	if (!status && optind < argc)
		status = usage_error(&command_bench, "unexpected argument '%s'", argv[optind]);
	return status;
}

static int complain(const char *who, const char *what, const char *remedy)
{
	fprintf(stderr, "vpeer: %s: %s\n  remedy: %s\n", who, what, remedy);
	return EXIT_FAIL;
}

static int pick_aperture(struct bench *bench)
{
	const struct bench_settings *settings = &bench->settings;
	char text[160], bytes[BYTES_LEN], room[BYTES_LEN];

	if (bench->plan.aperture_count != 1)
		return usage_error(&command_bench, "%zu apertures are attached: name one with "
				   "--aperture", bench->plan.aperture_count);
	bench->entry = bench->plan.apertures;
	if ((!settings->groups[GROUP_TOUCH] && !settings->groups[GROUP_REGISTER]) ||
	    bench->entry->bytes_free >= settings->size)
		return EXIT_PASS;
	text_format(text, sizeof(text), "a window of %s is wanted, %s of the aperture are free",
		    format_bytes(settings->size, bytes),
		    format_bytes(bench->entry->bytes_free, room));
	return complain(bench->entry->node, text, "name a smaller --size");
}

static int refuse_file(const char *path, int err)
{
	return complain(path, strerror(-err), "name a file that can be written");
}

/* Before all the measuring; what the file holds stays until there is something new. */
static int open_file(const char *path, FILE **file)
{
	int fd;

	if (!path)
		return EXIT_PASS;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
	*file = fd < 0 ? NULL : fdopen(fd, "w");
	if (*file)
		return EXIT_PASS;
	return refuse_file(path, -errno);
}

static int open_files(const struct bench_settings *settings, struct files *files)
{
	int status = open_file(settings->json_file, &files->json);

	return status ? status : open_file(settings->svg_file, &files->svg);
}

static void close_files(struct files *files)
{
	if (files->json)
		fclose(files->json);
	if (files->svg)
		fclose(files->svg);
}

static int write_file(const struct bench *bench, const char *path, FILE **file,
		      int (*write)(const struct bench *bench, FILE *file))
{
	int err = 0;

	if (ftruncate(fileno(*file), 0) && errno != EINVAL) /* no regular file */
		err = -errno;
	if (!err)
		err = write(bench, *file);
	if (fclose(*file) && !err)
		err = -errno;
	*file = NULL;
	return err ? refuse_file(path, err) : EXIT_PASS;
}

static int write_json(const struct bench *bench, FILE *file)
{
	struct json_object *document = bench_document(bench);
	const char *text = json_object_to_json_string_ext(
		document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	int err = !text ? -ENOMEM : fprintf(file, "%s\n", text) < 0 ? -EIO : 0;

	json_object_put(document);
	return err;
}

static int write_results(const struct bench *bench, struct files *files)
{
	const struct bench_settings *settings = &bench->settings;
	int status = EXIT_PASS, more = EXIT_PASS;

	if (settings->json && !settings->json_file)
		status = json_finish(bench_document(bench));
	else
		bench_print(bench);
	if (files->json)
		more = write_file(bench, settings->json_file, &files->json, write_json);
	status = status ? status : more;
	if (files->svg)
		more = write_file(bench, settings->svg_file, &files->svg, bench_chart);
	return status ? status : more;
}

static int judge(const struct bench *bench)
{
	fflush(stdout);
	bench_print_errors(bench, stderr);
	if (pair_interrupted()) {
		fputs("vpeer: interrupted\n", stderr);
		return EXIT_FAIL;
	}
	for (size_t i = 0; i < bench->count; i++)
		if (bench->items[i].failed)
			return EXIT_FAIL;
	return EXIT_PASS;
}

static void on_bus_error(int number)
{
	static const char message[] =
		"vpeer: the window went away: its aperture was detached or revoked\n"
		"  remedy: attach it again, and repeat\n";

	(void)number;
	if (write(STDERR_FILENO, message, sizeof(message) - 1) < 0)
		_exit(EXIT_FAIL);
	_exit(EXIT_FAIL);
}

/* No comparison can be made without it. */
static int try_aperture(const struct bench *bench)
{
	struct vpeer_aperture *aperture;
	struct vpeer_error error;

	if (vpeer_open(&aperture, bench->entry->node, &error)) {
		report_error(&error);
		return EXIT_FAIL;
	}
	vpeer_close(aperture);
	return EXIT_PASS;
}

static int measure(struct bench *bench, struct files *files)
{
	int status, written = EXIT_PASS;

	machine_read(&bench->machine);
	pair_catch_signals();
	signal(SIGBUS, on_bus_error);
	trace_begin(&bench->plan.trace, NULL);
	meter_begin(&bench->meter, &bench->plan.trace, bench->entry->index);
	bench_run(bench);
	meter_end(&bench->meter);
	trace_end(&bench->plan.trace);
	if (!pair_interrupted())
		written = write_results(bench, files);
	status = judge(bench);
	return status ? status : written;
}

static int prepare_and_measure(struct bench *bench)
{
	struct files files = { 0 };
	int status = try_aperture(bench);

	bench_plan(bench);
	if (!status && !bench->count) {
		fputs("vpeer: nothing to measure: no initiator for what --only names\n"
		      "  remedy: name other operations or initiators\n", stderr);
		status = EXIT_NOTHING;
	}
	if (!status)
		status = open_files(&bench->settings, &files);
	if (!status)
		status = measure(bench, &files);
	close_files(&files);
	bench_end(bench);
	return status;
}

static int run_bench(int argc, char **argv)
{
	static const struct settings no_view;
	struct bench bench = {
		.settings = {
			.size = DEFAULT_SIZE,
			.seconds = DEFAULT_SECONDS,
			.huge = true,
			.groups = { true, true, true, true },
		},
	};
	struct wishes wishes = { 0 };
	int status = parse_options(argc, argv, &bench.settings, &wishes);

	if (status)
		return status;
	status = plan_begin(&bench.plan, &wishes, &no_view);
	if (!status)
		status = pick_aperture(&bench);
	if (!status)
		status = prepare_and_measure(&bench);
	plan_end(&bench.plan);
	return status;
}

const struct command command_bench = {
	.name = "bench",
	.summary = "count and time what a window costs, against host memory",
	.usage = "[--aperture PCI] [--rdma DEV]... [--block DEV]...\n"
		 "       [--scratch DEV:OFFSET:LENGTH]... [--size BYTES] [--seconds N]\n"
		 "       [--host thp|4k] [--only touch,register,rdma,disk] [--json[=FILE]]\n"
		 "       [--svg FILE] [--quiet]",
	.options = "  --aperture PCI     the aperture to measure, where several are attached\n"
		   "  --rdma DEV         measure this RDMA device, not all initiators; may be repeated\n"
		   "  --block DEV        measure this disk, not all initiators; may be repeated\n"
		   "  --scratch DEV:OFFSET:LENGTH\n"
		   "                     this range of the disk may be overwritten; it is restored\n"
		   "  --size BYTES       bytes registered and first touched, 1G by default\n"
		   "  --seconds N        longest time for a comparison's pairs, 10 by default\n"
		   "  --host thp|4k      pages of the host memory, thp by default\n"
		   "  --only NAME,...    of touch, register, rdma, disk\n"
		   "  --json             one JSON document instead of the tables\n"
		   "  --json=FILE        the document into a file, besides the tables\n"
		   "  --svg FILE         chart of the ratios\n"
		   "  --quiet            no progress on the terminal\n"
		   "  --help             this text\n",
	.manual = "vpeer-bench",
	.run = run_bench,
};

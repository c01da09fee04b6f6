// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "util.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/sysfs.h"

void *xrealloc(void *old, size_t count, size_t size)
{
	void *grown = reallocarray(old, count ? count : 1, size);

	if (!grown) {
		fputs("vpeer: out of memory\n", stderr);
		exit(EXIT_FAIL);
	}
	return grown;
}

char *xstrdup(const char *text)
{
	size_t length = strlen(text) + 1;

	return memcpy(xrealloc(NULL, length, 1), text, length);
}

void text_format(char *text, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (vsnprintf(text, size, format, args) < 0)
		text[0] = '\0';
	va_end(args);
}

size_t utf8_length(const char *text)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	unsigned char lead = (unsigned char)*text;
	size_t more = lead < 0x80 ? 0 : lead >> 5 == 6 ? 1 : lead >> 4 == 14 ? 2 : 3;
	uint32_t code = more ? lead & (0x3fU >> more) : lead;

	if (lead > 0xf4 || lead >> 6 == 2)
		return 0;
	for (size_t i = 1; i <= more; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[more] || code > 0x10ffff || code >> 11 == 0x1b)
		return 0;
	return more + 1;
}

bool is_one_line(const char *text)
{
	size_t length = 1;

	for (; *text && length; text += length)
		length = (unsigned char)*text < ' ' || *text == 0x7f ? 0 : utf8_length(text);
	return length;
}

int hold_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd)
			return -errno;
	return 0;
}

/* Of a pipe whose reader has gone, as that of '| head'. */
static bool has_no_reader(int fd)
{
	struct pollfd poller = { .fd = fd };

	return poll(&poller, 1, 0) == 1 && poller.revents & POLLERR;
}

int close_output(int status)
{
	bool unread = has_no_reader(STDOUT_FILENO), failed = ferror(stdout);
	int err = fclose(stdout) ? errno : 0;

	if (!failed && !err)
		return status;
	if (unread || err == EPIPE)
		return EXIT_FAIL;
	fprintf(stderr, "vpeer: standard output: cannot write%s%s\n"
			"  remedy: redirect it to a file that can be written\n",
		err ? ": " : "", err ? strerror(err) : "");
	return EXIT_FAIL;
}

void report_error(const struct vpeer_error *error)
{
	fprintf(stderr, "vpeer: %s: %s\n", error->who, error->message);
	if (error->remedy[0])
		fprintf(stderr, "  remedy: %s\n", error->remedy);
}

int usage_error(const struct command *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "vpeer %s: ", command->name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, "\nusage: vpeer %s %s\n", command->name, command->usage);
	return EXIT_USAGE;
}

int option_error(const struct command *command, int code, char **argv)
{
	return usage_error(command, code == ':' ? "option '%s' needs a value" : "bad option '%s'",
			   argv[optind - 1]);
}

int pci_operand(const struct command *command, int argc, char **argv,
		struct vpeer_pci_address *address)
{
	if (argc - optind != 1)
		return usage_error(command, "name one PCI address");
	if (vpeer_pci_parse(argv[optind], address))
		return usage_error(command, "'%s' is no PCI address like 0000:01:00.0",
				   argv[optind]);
	return 0;
}

int parse_size(const char *text, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	size_t digits = strspn(text, "0123456789xabcdef");
	const char *suffix = text + digits, *unit;
	unsigned int shift = 0;
	uint64_t number;
	char head[32];

	if (!digits || digits >= sizeof(head))
		return -EINVAL;
	memcpy(head, text, digits);
	head[digits] = '\0';
	if (vpeer_parse_u64(head, &number))
		return -EINVAL;
	if (*suffix) {
		unit = memchr(units, *suffix & ~0x20, sizeof(units) - 1);
		if (!unit || (suffix[1] && strcmp(suffix + 1, "iB")))
			return -EINVAL;
		shift = 10 * (unsigned int)(unit - units + 1);
	}
	if (number > UINT64_MAX >> shift)
		return -ERANGE;
	*bytes = number << shift;
	return 0;
}

char *format_bytes(uint64_t bytes, char text[BYTES_LEN])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t unit = 0;

	while (bytes && !(bytes & 1023) && unit + 1 < ARRAY_SIZE(units)) {
		bytes >>= 10;
		unit++;
	}
	snprintf(text, BYTES_LEN, "%llu %s", (unsigned long long)bytes, units[unit]);
	return text;
}

int json_finish(struct json_object *document)
{
	const char *text = json_object_to_json_string_ext(
		document, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	int status = EXIT_PASS;

	if (text) {
		puts(text);
	} else {
		fputs("vpeer: out of memory\n", stderr);
		status = EXIT_FAIL;
	}
	json_object_put(document);
	return status;
}

// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "finding.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "util.h"

const char *const job_host = "host administrator";
const char *const job_setup = "firmware setup of the server";
const char *const job_device = "firmware of the device";
const char *const job_vm = "configuration of the VM";
const char *const job_guest = "administrator of the guest";
const char *const job_container = "configuration of the container";
const char *const job_user = "user who starts the program";
const char *const job_network = "administrator of the network";

const char *state_name(enum state state)
{
	static const char *const names[] = { "ok", "warn", "fail", "unknown" };

	return names[state];
}

size_t findings_of(const struct findings *all, enum state state)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += all->items[i].state == state;
	return count;
}

/* What files and logs have could tell a terminal what to do. */
static char *without_controls(char *text)
{
	for (char *at = text; *at; at++) {
		unsigned char byte = (unsigned char)*at, next = (unsigned char)at[1];

		if (byte < ' ' || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0))
			*at = '?';
	}
	return text;
}

static char *compose(const char *format, va_list args)
{
	char text[1024];

	if (vsnprintf(text, sizeof(text), format, args) < 0)
		text[0] = '\0';
	return without_controls(xstrdup(text));
}

static void replace(char **text, char *by)
{
	free(*text);
	*text = by;
}

static struct finding *last(struct findings *all)
{
	return &all->items[all->count - 1];
}

void findings_group(struct findings *all, const char *group)
{
	all->group = group;
}

void finding_add(struct findings *all, const char *name, const char *object)
{
	all->items = xrealloc(all->items, all->count + 1, sizeof(*all->items));
	all->items[all->count++] = (struct finding){
		.group = all->group ? all->group : "",
		.name = name,
		.object = without_controls(xstrdup(object)),
		.meaning = xstrdup(""),
		.remedy = xstrdup(""),
		.job = "",
	};
}

void finding_saw(struct findings *all, const char *value, const char *file, ...)
{
	struct finding *finding = last(all);
	struct evidence *evidence;
	va_list args;

	finding->evidence = xrealloc(finding->evidence, finding->count + 1, sizeof(*evidence));
	evidence = &finding->evidence[finding->count++];
	evidence->value = without_controls(xstrdup(value));
	va_start(args, file);
	evidence->file = compose(file, args);
	va_end(args);
}

void finding_says(struct findings *all, enum state state, const char *format, ...)
{
	va_list args;

	last(all)->state = state;
	va_start(args, format);
	replace(&last(all)->meaning, compose(format, args));
	va_end(args);
}

void finding_remedy(struct findings *all, const char *job, const char *format, ...)
{
	va_list args;

	last(all)->job = job;
	va_start(args, format);
	replace(&last(all)->remedy, compose(format, args));
	va_end(args);
}

void findings_free(struct findings *all)
{
	for (size_t i = 0; i < all->count; i++) {
		struct finding *finding = &all->items[i];

		for (size_t j = 0; j < finding->count; j++) {
			free(finding->evidence[j].file);
			free(finding->evidence[j].value);
		}
		free(finding->evidence);
		free(finding->object);
		free(finding->meaning);
		free(finding->remedy);
	}
	free(all->items);
	*all = (struct findings){ 0 };
}

void finding_print(const struct finding *finding, const char *indent, FILE *file)
{
	fprintf(file, "%s%-7s  %s  %s: %s\n", indent, state_name(finding->state), finding->object,
		finding->name, finding->meaning);
	if (finding->state == STATE_OK)
		return;
	for (size_t i = 0; i < finding->count; i++)
		fprintf(file, "%s         seen: %s in %s\n", indent,
			finding->evidence[i].value[0] ? finding->evidence[i].value : "nothing",
			finding->evidence[i].file);
	if (finding->remedy[0])
		fprintf(file, "%s         remedy (%s): %s\n", indent, finding->job,
			finding->remedy);
}

void findings_print_counts(const struct findings *all, FILE *file)
{
	fprintf(file, "%zu ok, %zu warn, %zu fail, %zu unknown\n", findings_of(all, STATE_OK),
		findings_of(all, STATE_WARN), findings_of(all, STATE_FAIL),
		findings_of(all, STATE_UNKNOWN));
}

void findings_print(const struct findings *all, FILE *file)
{
	for (size_t i = 0; i < all->count; i++)
		finding_print(&all->items[i], "", file);
	findings_print_counts(all, file);
}

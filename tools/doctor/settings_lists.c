// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "settings.h"

#include <string.h>

#include "../util.h"
#include "guest.h"

/* One of @names is @word, up to its ':' if it has one; with @prefix, begins with it. */
static bool is_among(char *const *names, size_t count, const char *word, bool prefix)
{
	size_t length = strcspn(word, ":");

	for (size_t i = 0; i < count; i++)
		if (!strncmp(names[i], word, length) && (prefix || !names[i][length]))
			return true;
	return false;
}

/*
 * NCCL's syntax: "^" excludes, "=" wants whole names, else they may begin so; a ":PORT" may
 * follow. Whether any of the devices is left.
 */
static bool any_left(char *const *names, size_t count, const char *list, bool exclude, bool exact)
{
	char text[1024], *rest, *word;

	for (size_t i = 0; i < count; i++) {
		bool named = false;

		text_format(text, sizeof(text), "%s", list);
		rest = text;
		while ((word = strsep(&rest, ",")))
			named |= *word && is_among(&names[i], 1, word, !exact);
		if (named != exclude)
			return true;
	}
	return false;
}

bool setting_names_no_device(const struct site *site, const char *value)
{
	bool exclude = *value == '^', exact, left;
	char **names;
	size_t count;

	value += exclude;
	exact = *value == '=';
	value += exact;
	count = site_names(site, &names, "sys/class/infiniband");
	left = any_left(names, count, value, exclude, exact);
	site_names_free(names, count);
	return count && !left;
}

bool setting_names_no_rdma(const struct site *site, const char *value)
{
	char text[1024], *rest = text, *word, **names;
	size_t count = site_names(site, &names, "sys/class/infiniband");
	bool named = !count;

	text_format(text, sizeof(text), "%s", value);
	while ((word = strsep(&rest, ",")))
		named |= !strcmp(word, "all") || (*word && is_among(names, count, word, false));
	site_names_free(names, count);
	return !named && *value != '^';
}

/* A word of @list, between commas, is one of @starts, or begins with it. */
static bool has_word(const char *list, const char *const *starts, bool exact)
{
	char text[1024], *rest = text, *word;

	text_format(text, sizeof(text), "%s", list);
	while ((word = strsep(&rest, ",;")))
		for (const char *const *start = starts; *start; start++)
			if (!strncmp(word, *start, strlen(*start)) &&
			    (!exact || !word[strlen(*start)]))
				return true;
	return false;
}

bool setting_lacks_rdma(const struct site *site, const char *value)
{
	static const char *const rdma[] = { "all", "rc", "dc", "ud", "ib", "srd", "gga", NULL };
	static const char *const whole[] = { "ib", NULL };

	if (!site_has_rdma(site))
		return false;
	return *value == '^' ? has_word(value + 1, whole, true) : !has_word(value, rdma, false);
}

bool setting_lacks_cuda(const struct site *site, const char *value)
{
	static const char *const cuda[] = { "all", "cuda", "gpu", NULL };
	static const char *const whole[] = { "cuda", "gpu", "cuda_copy", NULL };

	if (!site_has_driver(site, "nvidia") || setting_lacks_rdma(site, value))
		return false;
	return *value == '^' ? has_word(value + 1, whole, true) : !has_word(value, cuda, false);
}

bool setting_lacks_provider(const struct site *site, const char *value)
{
	static const char *const rdma[] = { "verbs", "efa", "cxi", "opx", "psm", "mlx", "lnx",
					    "ucx", NULL };

	(void)site;
	/* "^tcp" leaves out what it names. */
	return *value != '^' && !has_word(value, rdma, false);
}

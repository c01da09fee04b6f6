// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "host_seen.h"

#include <stdlib.h>
#include <string.h>

void seen_look(struct seen *seen, const struct host_tree *tree, const char *root)
{
	*seen = (struct seen){ 0 };
	host_tree_make(tree, root, &seen->place);
	host_read(&seen->host, &seen->place);
	host_add_default(&seen->host);
	seen->path_count = host_paths(&seen->host, &seen->paths);
	check_all(&seen->all, &seen->host, seen->paths, seen->path_count);
}

void seen_choose(struct seen *seen, const struct host_tree *tree, const char *root,
		 const char *first, const char *second)
{
	*seen = (struct seen){ 0 };
	host_tree_make(tree, root, &seen->place);
	host_read(&seen->host, &seen->place);
	assert_int_equal(host_add(&seen->host, first), 0);
	if (second)
		assert_int_equal(host_add(&seen->host, second), 0);
}

void seen_forget(struct seen *seen)
{
	findings_free(&seen->all);
	free(seen->paths);
	host_free(&seen->host);
}

const struct finding *finding_of(const struct findings *all, const char *name, const char *object)
{
	for (size_t i = 0; i < all->count; i++)
		if (!strcmp(all->items[i].name, name) && !strcmp(all->items[i].object, object))
			return &all->items[i];
	fail_msg("no check %s of %s", name, object);
	return NULL;
}

size_t findings_named(const struct findings *all, const char *name, enum state state)
{
	size_t count = 0;

	for (size_t i = 0; i < all->count; i++)
		count += !strcmp(all->items[i].name, name) && all->items[i].state == state;
	return count;
}

void expect_said(const struct findings *all, const struct said *said)
{
	size_t wanted = 0;

	for (; wanted < MOST_SPEAKING && said[wanted].name; wanted++)
		if (!findings_named(all, said[wanted].name, said[wanted].state))
			fail_msg("%s is not %s", said[wanted].name, state_name(said[wanted].state));
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *finding = &all->items[i];
		bool meant = finding->state == STATE_OK;

		for (size_t j = 0; j < wanted; j++)
			meant |= !strcmp(said[j].name, finding->name) &&
				 said[j].state == finding->state;
		if (!meant)
			fail_msg("%s %s is %s: %s", finding->object, finding->name,
				 state_name(finding->state), finding->meaning);
		if (finding->state == STATE_FAIL && (!finding->remedy[0] || !finding->job[0]))
			fail_msg("%s names no remedy", finding->name);
		if (!finding->count || !finding->meaning[0])
			fail_msg("%s shows nothing", finding->name);
	}
}

void expect_tree(void **state, const struct host_tree *tree, const struct said *said)
{
	struct seen seen;

	seen_look(&seen, tree, *state);
	expect_said(&seen.all, said);
	seen_forget(&seen);
}

void expect_text(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("no '%s' in: %s", wanted, text);
}

const struct guest_wish plain_wish = {
	.name = "vpeer",
	.memory = 8ULL << 30,
	.cpus = 4,
};

char *guest_emitted(const struct seen *seen, const struct guest_wish *wish,
		    void (*print)(const struct guest *guest, FILE *file))
{
	struct vpeer_error error;
	struct guest guest;
	char *text = NULL;
	size_t size;
	FILE *file;

	if (guest_may(&seen->host, wish, &error) ||
	    guest_plan(&guest, &seen->host, wish, &error))
		fail_msg("%s: %s", error.who, error.message);
	file = open_memstream(&text, &size);
	assert_non_null(file);
	print(&guest, file);
	fclose(file);
	return text;
}

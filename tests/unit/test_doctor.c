// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* "vpeer doctor" on machines that are made up (sites/): well ones and broken ones. */
#include "fixture.h"

#include <dirent.h>
#include <fnmatch.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "doctor/check.h"
#include "site_file.h"
#include "util.h"

#define MOST_SITES 256

static char *names[MOST_SITES];

static bool fits(const struct expectation *expected, const struct finding *finding)
{
	return !strcmp(expected->state, state_name(finding->state)) &&
	       !fnmatch(expected->name, finding->name, 0) &&
	       !fnmatch(expected->object, finding->object, 0) &&
	       strstr(finding->meaning, expected->meaning) &&
	       strstr(finding->remedy, expected->remedy) && strstr(finding->job, expected->job);
}

static void tell(const struct finding *finding)
{
	print_error("  %s %s %s: %s | %s | %s\n", state_name(finding->state), finding->name,
		    finding->object, finding->meaning, finding->remedy, finding->job);
}

static bool all_come(const struct made_site *made, const struct findings *all)
{
	bool well = true;

	for (size_t i = 0; i < made->expected_count; i++) {
		const struct expectation *expected = &made->expected[i];
		bool found = false;

		for (size_t j = 0; j < all->count; j++)
			found |= fits(expected, &all->items[j]);
		if (!found)
			print_error("does not come: %s %s %s: %s | %s | %s\n", expected->state,
				    expected->name, expected->object, expected->meaning,
				    expected->remedy, expected->job);
		well &= found;
	}
	return well;
}

static bool no_other_cries(const struct made_site *made, const struct findings *all)
{
	bool well = true;

	for (size_t i = 0; i < all->count; i++) {
		bool meant = all->items[i].state == STATE_OK;

		for (size_t j = 0; j < made->expected_count; j++)
			meant |= fits(&made->expected[j], &all->items[i]);
		if (!meant) {
			print_error("not expected:\n");
			tell(&all->items[i]);
		}
		well &= meant;
	}
	return well;
}

static bool is_legible(const struct finding *finding)
{
	for (size_t i = 0; i < finding->count; i++)
		if (!is_one_line(finding->evidence[i].value) ||
		    !is_one_line(finding->evidence[i].file))
			return false;
	return is_one_line(finding->meaning) && is_one_line(finding->remedy);
}

/* What each must have, whatever it says. */
static bool all_are_whole(const struct findings *all)
{
	bool well = true;

	for (size_t i = 0; i < all->count; i++) {
		const struct finding *finding = &all->items[i];
		bool trouble = finding->state == STATE_WARN || finding->state == STATE_FAIL;

		if (finding->count && finding->meaning[0] && finding->group[0] &&
		    is_legible(finding) && (!trouble || (finding->remedy[0] && finding->job[0])))
			continue;
		print_error("lacks evidence, meaning, remedy or job, or has control characters:\n");
		tell(finding);
		well = false;
	}
	return well;
}

static void test_site(void **state)
{
	struct made_site *made;
	struct findings all = { 0 };
	struct site site;
	void *root;
	bool well;

	assert_int_equal(fixture_begin(&root), 0);
	made = made_site_new(SITES, *state, root);
	site_read(&site, &made->place);
	doctor_check_all(&all, &site);
	well = all_come(made, &all);
	well &= no_other_cries(made, &all);
	well &= all_are_whole(&all);
	json_object_put(doctor_document(&site, &all));
	findings_free(&all);
	site_free(&site);
	made_site_free(made);
	fixture_end(&root);
	assert_true(well);
}

static int is_site(const struct dirent *item)
{
	return item->d_name[0] != '.';
}

int main(void)
{
	struct CMUnitTest tests[MOST_SITES] = { 0 };
	struct dirent **items;
	int count = scandir(SITES, &items, is_site, alphasort), failed;

	if (count <= 0 || count > MOST_SITES) {
		fprintf(stderr, "%s: %d machines\n", SITES, count);
		return 1;
	}
	for (int i = 0; i < count; i++) {
		names[i] = items[i]->d_name;
		tests[i] = (struct CMUnitTest){
			.name = names[i],
			.test_func = test_site,
			.initial_state = names[i],
		};
	}
	failed = _cmocka_run_group_tests("doctor", tests, (size_t)count, NULL, NULL);
	for (int i = 0; i < count; i++)
		free(items[i]);
	free(items);
	return failed;
}

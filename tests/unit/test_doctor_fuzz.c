// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * "vpeer doctor" on machines whose files are broken at random: configuration space, sysfs and
 * procfs. Each round spoils a few files and links of a well machine, and mends them again.
 */
#include "fixture.h"

#include <ftw.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "doctor/check.h"
#include "site_file.h"
#include "util.h"

#define ROUNDS		150
#define MOST_NS		1000000000LL	/* of each machine */
#define MOST_FILES	4096
#define MOST_SPOILT	12
#define MOST_BYTES	8192

struct item {
	char *path;
	bool link;
	bool config;	/* spoilt more often than the rest */
};

struct spoilt {
	const struct item *item;
	uint8_t bytes[MOST_BYTES];
	ssize_t length;
};

static struct item items[MOST_FILES];
static size_t item_count;
static unsigned int seed;

static unsigned int pick(unsigned int below)
{
	return (unsigned int)rand_r(&seed) % below;
}

static int note(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	if (type != FTW_F && type != FTW_SL && type != FTW_SLN)
		return 0;
	if (item_count == MOST_FILES)
		return -1;
	items[item_count++] = (struct item){
		.path = xstrdup(path),
		.link = type != FTW_F,
		.config = !strcmp(path + place->base, "config"),
	};
	return 0;
}

static void forget_items(void)
{
	while (item_count)
		free(items[--item_count].path);
}

static const struct item *pick_item(void)
{
	bool config = pick(2);

	for (;;) {
		const struct item *item = &items[pick((unsigned int)item_count)];

		if (item->config || !config || !pick(64))
			return item;
	}
}

static void write_bytes(const char *path, const void *bytes, size_t length)
{
	FILE *file;

	unlink(path);
	file = fopen(path, "we");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, length, file), length);
	assert_int_equal(fclose(file), 0);
}

static void save(struct spoilt *spoilt, const struct item *item)
{
	FILE *file;

	spoilt->item = item;
	if (item->link) {
		spoilt->length = readlink(item->path, (char *)spoilt->bytes, MOST_BYTES - 1);
		assert_true(spoilt->length > 0);
		spoilt->bytes[spoilt->length] = '\0';
		return;
	}
	file = fopen(item->path, "re");
	assert_non_null(file);
	spoilt->length = (ssize_t)fread(spoilt->bytes, 1, MOST_BYTES, file);
	fclose(file);
}

static void mend(const struct spoilt *spoilt)
{
	if (!spoilt->item->link) {
		write_bytes(spoilt->item->path, spoilt->bytes, (size_t)spoilt->length);
		return;
	}
	unlink(spoilt->item->path);
	assert_int_equal(symlink((const char *)spoilt->bytes, spoilt->item->path), 0);
}

/* Another target: nothing, itself, a long name, one that is no number. */
static void spoil_link(const struct item *item)
{
	static const char *const targets[] = { "/nowhere", "../0000:zz:00.0", "%s%n", "-1" };
	char name[NAME_MAX + 1];
	int err;

	unlink(item->path);
	switch (pick(4)) {
	case 0:
		err = symlink(item->path, item->path);
		break;
	case 1:
		memset(name, 'x', NAME_MAX);
		name[NAME_MAX] = '\0';
		err = symlink(name, item->path);
		break;
	case 2:
		err = 0;
		break;
	default:
		err = symlink(targets[pick(ARRAY_SIZE(targets))], item->path);
	}
	assert_int_equal(err, 0);
}

static void flip(uint8_t *bytes, size_t length)
{
	/* Where capabilities lead to one another. */
	size_t most = length > 512 && pick(2) ? 512 : length;

	for (unsigned int i = length ? 1 + pick(32) : 0; i; i--)
		bytes[pick((unsigned int)most)] = (uint8_t)pick(256);
}

static size_t odd_text(uint8_t *bytes)
{
	static const char *const texts[] = {
		"", "\n", "-1", "0", "0xffffffffffffffff", "18446744073709551616",
		"-9223372036854775808",
		"%s%s%s%n", "1e999", "nan", ":", "0x", "DMA", "999999.9 GT/s PCIe", "\xff\xfe\xfd",
	};
	const char *text = texts[pick(ARRAY_SIZE(texts))];

	memcpy(bytes, text, strlen(text));
	return strlen(text);
}

static void spoil_file(const struct spoilt *spoilt)
{
	size_t length = (size_t)spoilt->length;
	uint8_t bytes[MOST_BYTES];

	memcpy(bytes, spoilt->bytes, length);
	switch (pick(spoilt->item->config ? 3 : 6)) {
	case 0:
	case 1:
		flip(bytes, length);
		break;
	case 2:
		length = length ? pick((unsigned int)length) : 0;
		break;
	case 3:
		length = odd_text(bytes);
		break;
	case 4:
		length = MOST_BYTES;
		memset(bytes, pick(2) ? '9' : 'x', length);
		break;
	default:
		unlink(spoilt->item->path);
		return;
	}
	write_bytes(spoilt->item->path, bytes, length);
}

static void check_whole(const struct findings *all)
{
	for (size_t i = 0; i < all->count; i++) {
		const struct finding *finding = &all->items[i];

		assert_true(finding->state < STATES);
		assert_true(finding->meaning[0] && finding->count);
	}
}

static void run_once(const struct site_place *place)
{
	struct findings all = { 0 };
	struct json_object *document;
	char *text = NULL;
	size_t size = 0;
	struct site site;
	FILE *file = open_memstream(&text, &size);

	assert_non_null(file);
	site_read(&site, place);
	doctor_check_all(&all, &site);
	check_whole(&all);
	doctor_print(&all, true, file);
	document = doctor_document(&site, &all);
	assert_non_null(json_object_to_json_string(document));
	json_object_put(document);
	findings_free(&all);
	site_free(&site);
	fclose(file);
	free(text);
}

static bool is_spoilt(const struct spoilt *spoilt, unsigned int count, const struct item *item)
{
	while (count)
		if (spoilt[--count].item == item)
			return true;
	return false;
}

static void spoil_and_run(const struct site_place *place)
{
	static struct spoilt spoilt[MOST_SPOILT];
	unsigned int wanted = 1 + pick(MOST_SPOILT), count = 0;

	while (wanted--) {
		const struct item *item = pick_item();

		if (is_spoilt(spoilt, count, item))
			continue;
		save(&spoilt[count], item);
		if (item->link)
			spoil_link(item);
		else
			spoil_file(&spoilt[count]);
		count++;
	}
	run_once(place);
	while (count)
		mend(&spoilt[--count]);
}

static long long now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000LL + now.tv_nsec;
}

static void test_spoilt(void **state)
{
	struct made_site *made;
	long long end = now_ns() + MOST_NS;
	unsigned int rounds = 0;
	void *root;

	assert_int_equal(fixture_begin(&root), 0);
	made = made_site_new(SITES, *state, root);
	assert_int_equal(nftw(root, note, 16, FTW_PHYS), 0);
	for (; rounds < ROUNDS && now_ns() < end; rounds++) {
		seed = rounds;
		spoil_and_run(&made->place);
	}
	print_message("%s: %u rounds, %zu files and links\n", (const char *)*state, rounds,
		      item_count);
	forget_items();
	made_site_free(made);
	fixture_end(&root);
	assert_true(rounds > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_prestate(test_spoilt, "kvm-h100"),
		cmocka_unit_test_prestate(test_spoilt, "metal-a100"),
		cmocka_unit_test_prestate(test_spoilt, "kvm-lab"),
	};

	return cmocka_run_group_tests_name("doctor_fuzz", tests, NULL, NULL);
}

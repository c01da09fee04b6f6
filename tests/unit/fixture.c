// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "fixture.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int fixture_begin(void **state)
{
	char *root = strdup("/tmp/vpeer-unit-XXXXXX");

	*state = root && mkdtemp(root) ? root : NULL;
	return *state ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *place)
{
	(void)status;
	(void)type;
	(void)place;
	return remove(path);
}

int fixture_end(void **state)
{
	int err = nftw(*state, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	free(*state);
	return err;
}

static void full_path(char full[PATH_MAX], const char *root, const char *path)
{
	assert_true(snprintf(full, PATH_MAX, "%s/%s", root, path) < PATH_MAX);
}

static void make_parents(char *full)
{
	for (char *slash = strchr(full + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(!mkdir(full, 0700) || errno == EEXIST);
		*slash = '/';
	}
}

void fixture_directory(const char *root, const char *path)
{
	char full[PATH_MAX];

	full_path(full, root, path);
	make_parents(full);
	assert_true(!mkdir(full, 0700) || errno == EEXIST);
}

void fixture_bytes(const char *root, const char *path, const void *bytes, size_t size)
{
	char full[PATH_MAX];
	FILE *file;

	full_path(full, root, path);
	make_parents(full);
	file = fopen(full, "w");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fclose(file), 0);
}

void fixture_file(const char *root, const char *path, const char *text)
{
	fixture_bytes(root, path, text, strlen(text));
}

void fixture_link(const char *root, const char *path, const char *target)
{
	char full[PATH_MAX];

	full_path(full, root, path);
	make_parents(full);
	assert_int_equal(symlink(target, full), 0);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A directory tree made for one test, in place of /sys or /proc. */
#ifndef FIXTURE_H
#define FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka setup and teardown: *state is the path of an empty directory. */
int fixture_begin(void **state);
int fixture_end(void **state);

/* Makes missing directories. Fail the test on errors. */
void fixture_file(const char *root, const char *path, const char *text);
void fixture_bytes(const char *root, const char *path, const void *bytes, size_t size);
void fixture_directory(const char *root, const char *path);
void fixture_link(const char *root, const char *path, const char *target);

#endif /* FIXTURE_H */

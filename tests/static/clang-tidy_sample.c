// SPDX-License-Identifier: GPL-2.0-only
/* What clang-tidy must find, for tests/static/clang-tidy.sh. */
#include <stdlib.h>
#include <string.h>

char *short_copy(const char *text)
{
	char *copy = malloc(strlen(text + 1));

	return copy;
}

int leak(size_t size)
{
	char *text = malloc(size);

	if (!text)
		return -1;
	return 0;
}

int follow_nothing(const int *number)
{
	if (!number)
		return *number;
	return 0;
}

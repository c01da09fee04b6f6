// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "document.h"

#include <stdlib.h>

#include "util.h"

/* Names in sysfs and the command line are bytes, JSON is UTF-8. */
struct json_object *json_text(const char *text)
{
	struct json_object *string;
	char *copy = xstrdup(text), *at = copy;

	while (*at) {
		size_t length = utf8_length(at);

		if (!length)
			*at = '?';
		at += length ? length : 1;
	}
	string = json_object_new_string(copy);
	free(copy);
	return string;
}

void json_put_text(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, json_text(text));
}

/* An empty text is one that is not known. */
void json_put_known(struct json_object *object, const char *key, const char *text)
{
	json_object_object_add(object, key, text[0] ? json_text(text) : NULL);
}

void json_put_number(struct json_object *object, const char *key, uint64_t value)
{
	json_object_object_add(object, key, json_object_new_uint64(value));
}

void json_put_signed(struct json_object *object, const char *key, long value)
{
	json_object_object_add(object, key, value < 0 ? NULL : json_object_new_int64(value));
}

void json_put_flag(struct json_object *object, const char *key, bool value)
{
	json_object_object_add(object, key, json_object_new_boolean(value));
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Members of JSON documents. */
#ifndef DOCUMENT_H
#define DOCUMENT_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>

/* Bytes that are no UTF-8, as names in sysfs may have, become "?". */
struct json_object *json_text(const char *text);

void json_put_text(struct json_object *object, const char *key, const char *text);

/* null where it is empty */
void json_put_known(struct json_object *object, const char *key, const char *text);

void json_put_number(struct json_object *object, const char *key, uint64_t value);

/* null where it is negative */
void json_put_signed(struct json_object *object, const char *key, long value);

void json_put_flag(struct json_object *object, const char *key, bool value);

#endif /* DOCUMENT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a check found, with where it was seen and who mends it. */
#ifndef FINDING_H
#define FINDING_H

#include <stddef.h>
#include <stdio.h>

enum state {
	STATE_OK,
	STATE_WARN,
	STATE_FAIL,
	STATE_UNKNOWN,
	STATES,
};

struct evidence {
	char *file;
	char *value;
};

struct finding {
	const char *group;	/* guest, driver, device, host; empty where there are none */
	const char *name;	/* of the check */
	char *object;		/* "host", a PCI address, or two of them */
	enum state state;
	char *meaning;
	char *remedy;		/* empty when there is nothing to do */
	const char *job;	/* whose it is */
	struct evidence *evidence;
	size_t count;
};

struct findings {
	struct finding *items;
	size_t count;
	const char *group;	/* of those that follow, or NULL */
};

/* Whose job a remedy is. */
extern const char *const job_host, *const job_setup, *const job_device, *const job_vm;
extern const char *const job_guest, *const job_container, *const job_user, *const job_network;

const char *state_name(enum state state);
size_t findings_of(const struct findings *all, enum state state);
void findings_free(struct findings *all);

/* Those that follow belong to it. */
void findings_group(struct findings *all, const char *group);

/* Begins one that is ok; what follows belongs to the last one begun. */
void finding_add(struct findings *all, const char *name, const char *object);
void finding_saw(struct findings *all, const char *value, const char *file, ...)
	__attribute__((format(printf, 3, 4)));
void finding_says(struct findings *all, enum state state, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void finding_remedy(struct findings *all, const char *job, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Each of its lines begins with @indent; evidence and remedy only where it is not ok. */
void finding_print(const struct finding *finding, const char *indent, FILE *file);

/* How many there are of each state, in a line. */
void findings_print_counts(const struct findings *all, FILE *file);

/* All of them, and their counts. */
void findings_print(const struct findings *all, FILE *file);

struct json_object;

/* For a document: each of them, and how many there are of each state. */
struct json_object *findings_document(const struct findings *all);
struct json_object *findings_summary(const struct findings *all);

#endif /* FINDING_H */

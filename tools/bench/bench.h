/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A run of the benchmark: comparisons of a window with host memory. */
#ifndef BENCH_H
#define BENCH_H

#include "../selftest/plan.h"
#include "machine.h"
#include "stats.h"
#include "work.h"

enum group { GROUP_TOUCH, GROUP_REGISTER, GROUP_RDMA, GROUP_DISK, GROUPS };

struct bench_settings {
	uint64_t size;		/* registered and touched */
	unsigned int seconds;	/* for the times of a comparison */
	bool huge;		/* host memory of huge pages */
	bool quiet;
	bool json;
	const char *json_file;	/* NULL: in place of the tables */
	const char *svg_file;
	bool groups[GROUPS];
};

struct comparison {
	const struct operation *operation;
	const struct initiator *initiator;	/* NULL: the CPU */
	uint64_t bytes;
	struct counts counts[2];
	uint64_t bytes_pinned;
	double *seconds[2];
	size_t samples;		/* of each side */
	struct interval interval;
	bool failed;
	struct vpeer_error error;
};

struct bench {
	struct bench_settings settings;
	struct plan plan;
	const struct vpeer_entry *entry;
	struct machine machine;
	struct meter meter;
	struct comparison *items;
	size_t count;
};

struct unmeasured {
	const char *what;
	char why[160];
};

#define MOST_UNMEASURED	8

const char *group_name(enum group group);

/* Fills bench->items from the plan. */
void bench_plan(struct bench *bench);
void bench_run(struct bench *bench);
void bench_end(struct bench *bench);

/* Counts for 1 GiB. */
double per_gib(const struct comparison *item, enum side side, enum counter counter);

/* What this machine cannot show; returns how many. */
size_t bench_unmeasured(const struct bench *bench, struct unmeasured list[MOST_UNMEASURED]);

void bench_print(const struct bench *bench);

/* What ended the comparisons that failed, once for all that failed alike. */
void bench_print_errors(const struct bench *bench, FILE *file);

/* The caller frees the document. */
struct json_object *bench_document(const struct bench *bench);

/* 0 or a negative errno. */
int bench_chart(const struct bench *bench, FILE *file);

/* "register rxe0" */
void comparison_label(const struct comparison *item, char *text, size_t size);

#endif /* BENCH_H */

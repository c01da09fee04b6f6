/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* From what was seen of a pair to its verdict. */
#ifndef VERDICT_H
#define VERDICT_H

#include <stddef.h>

#include "record.h"

enum verdict {
	VERDICT_PASS,
	VERDICT_UNPROVEN,
	VERDICT_BOUNCED,
	VERDICT_FAIL,
	VERDICT_TIMEOUT,
};

enum grade { GRADE_NONE, GRADE_WINDOW, GRADE_OWNER };

/* Everything known of a pair once its child has ended. */
struct result {
	struct record *records;
	size_t count;
	struct evidence evidence;	/* all facts unknown until a record came */
	enum grade grade;
	enum verdict verdict;
	bool timed_out;
	bool finished;			/* the child reported its end */
	uint64_t bytes;			/* compared, of passed cases */
	char cause[640];		/* empty for PASS */
	char remedy[384];
};

/*
 * Sets verdict, cause and remedy from the rest. @accept_window: bytes compared
 * through the BAR are good enough. @command_line: the kernel's, to name a
 * switch that bounces DMA.
 */
void result_decide(struct result *result, bool accept_window, const char *command_line);

/* "direct", or what is missing; never empty. */
void evidence_summary(const struct evidence *evidence, char *text, size_t size);

const char *verdict_name(enum verdict verdict);
const char *grade_name(enum grade grade);

/* Whether any case of @op ran, failed or was skipped: "pass", "FAIL", ... */
const char *result_mark(const struct result *result, enum op op);

#endif /* VERDICT_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One (aperture, initiator) pair: what to test and what came out. */
#ifndef PAIR_H
#define PAIR_H

#include "../util.h"
#include "initiator.h"
#include "trace.h"
#include "verdict.h"

#define MAX_SIZES	16
#define LARGEST_SIZE	(16ULL << 20)

struct settings {
	const char *owner_view;		/* NULL without */
	bool accept_window;
	bool quiet;
	bool verbose;
	bool json;
	unsigned int timeout;		/* seconds for a pair */
	uint64_t seed;
	uint64_t sizes[MAX_SIZES];	/* none: the defaults */
	size_t size_count;
};

struct pair {
	const struct vpeer_entry *aperture;
	struct initiator *initiator;
	struct trace *trace;
	uint64_t bus_start;		/* CPU address of the aperture */
	char view[512];			/* file of the owner's side, empty for none */
	struct result result;
};

/* "0000:05:00.0 BAR 2", and where in the BAR a shared range starts. */
#define APERTURE_LEN 64
char *pair_aperture(const struct pair *pair, char text[APERTURE_LEN]);

/*
 * Runs the pair in a child process and fills pair->result. @index counts from
 * 1 to @count, for the progress line.
 */
void pair_run(struct pair *pair, const struct settings *settings, size_t index, size_t count);

/* Set by SIGINT, SIGTERM and the like: end the child, clean up, stop. */
bool pair_interrupted(void);
void pair_catch_signals(void);

/* In the child: a record to the parent. */
struct channel {
	int fd;
};

void send_record(const struct channel *channel, const struct record *record);
void send_failed(const struct channel *channel, const char *remedy, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void send_error(const struct channel *channel, const struct vpeer_error *error);
void send_started(const struct channel *channel, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* In the child: the tests themselves. They report through the channel alone. */
void test_rdma(const struct pair *pair, const struct settings *settings,
	       const struct channel *channel);
void test_block(const struct pair *pair, const struct settings *settings,
		const struct channel *channel);

/* On stdout. */
void report_text(const struct pair *pairs, size_t count, const struct settings *settings);

/* The caller frees the document. */
struct json_object *report_document(const struct pair *pairs, size_t count,
				    const struct settings *settings);

#endif /* PAIR_H */

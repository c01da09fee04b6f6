/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Ratios of paired times: geometric mean and 95 % interval. */
#ifndef STATS_H
#define STATS_H

#include <stdbool.h>
#include <stddef.h>

/* An interval whose half-width is larger says nothing. */
#define WIDEST_HALF	0.05

/* Their spread alone says how many pairs are needed and how wide the interval is. */
#define PILOT_PAIRS	8

enum finding { FINDING_INCONCLUSIVE, FINDING_FASTER, FINDING_EQUAL, FINDING_SLOWER };

struct ratios {
	double *logs;
	size_t count;
	size_t wanted;	/* 0 before the pilot's end */
};

struct interval {
	size_t pairs;
	double ratio;	/* geometric mean */
	double low;
	double high;
	double half;	/* half-width; relative to the ratio where that is above 1 */
};

void ratios_add(struct ratios *ratios, double window, double host);
void ratios_end(struct ratios *ratios);

/* Whether there are as many pairs as the pilot found to be needed. */
bool ratios_enough(const struct ratios *ratios);

/*
 * By two samples (Stein 1945): to stop as soon as the interval is narrow would
 * stop where it is so by chance. With fewer than two pairs it is infinite.
 */
struct interval ratios_interval(const struct ratios *ratios);

enum finding interval_finding(const struct interval *interval);
const char *finding_name(enum finding finding);

/* Quantile of Student's t for a two-sided 95 % interval; 1 to PILOT_PAIRS - 1 degrees. */
double student_t(size_t degrees);

/* A/B/B/A: whether the window comes first in pair @index, counted from 0. */
bool window_first(size_t index);

double median(const double *values, size_t count);

#endif /* STATS_H */

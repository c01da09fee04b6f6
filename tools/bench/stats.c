// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "stats.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../util.h"

#define MOST_PAIRS	1000000

double student_t(size_t degrees)
{
	static const double table[PILOT_PAIRS - 1] = { 12.7062, 4.3027, 3.1824, 2.7764,
						       2.5706,	2.4469, 2.3646 };

	return table[degrees - 1];
}

static double mean_of(const double *logs, size_t count)
{
	double sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += logs[i];
	return sum / (double)count;
}

/* Half-width of the logarithm's interval that a single pair would have. */
static double pilot_reach(const struct ratios *ratios)
{
	size_t n = ratios->count < PILOT_PAIRS ? ratios->count : PILOT_PAIRS;
	double mean = mean_of(ratios->logs, n), squares = 0;

	for (size_t i = 0; i < n; i++)
		squares += (ratios->logs[i] - mean) * (ratios->logs[i] - mean);
	return student_t(n - 1) * sqrt(squares / (double)(n - 1));
}

/* An even number, for whole A/B/B/A rounds. */
static size_t pairs_wanted(const struct ratios *ratios)
{
	double pairs = ceil(pow(pilot_reach(ratios) / asinh(WIDEST_HALF), 2));

	if (pairs <= PILOT_PAIRS)
		return PILOT_PAIRS;
	return pairs < MOST_PAIRS ? ((size_t)pairs + 1) & ~(size_t)1 : MOST_PAIRS;
}

void ratios_add(struct ratios *ratios, double window, double host)
{
	ratios->logs = xrealloc(ratios->logs, ratios->count + 1, sizeof(*ratios->logs));
	ratios->logs[ratios->count++] = log(window / host);
	if (ratios->count == PILOT_PAIRS)
		ratios->wanted = pairs_wanted(ratios);
}

bool ratios_enough(const struct ratios *ratios)
{
	return ratios->wanted && ratios->count >= ratios->wanted;
}

void ratios_end(struct ratios *ratios)
{
	free(ratios->logs);
	*ratios = (struct ratios){ 0 };
}

struct interval ratios_interval(const struct ratios *ratios)
{
	struct interval interval = { .pairs = ratios->count, .high = INFINITY, .half = INFINITY };
	double mean = mean_of(ratios->logs, ratios->count), reach;

	interval.ratio = exp(mean);
	if (ratios->count < 2)
		return interval;
	reach = pilot_reach(ratios) / sqrt((double)ratios->count);
	interval.low = exp(mean - reach);
	interval.high = exp(mean + reach);
	interval.half = (interval.high - interval.low) / 2 / fmax(1, interval.ratio);
	return interval;
}

enum finding interval_finding(const struct interval *interval)
{
	if (!(interval->half <= WIDEST_HALF))
		return FINDING_INCONCLUSIVE;
	if (interval->high < 1)
		return FINDING_FASTER;
	return interval->low > 1 ? FINDING_SLOWER : FINDING_EQUAL;
}

const char *finding_name(enum finding finding)
{
	static const char *const names[] = {
		[FINDING_INCONCLUSIVE] = "inconclusive",
		[FINDING_FASTER] = "faster",
		[FINDING_EQUAL] = "equal",
		[FINDING_SLOWER] = "slower",
	};

	return names[finding];
}

bool window_first(size_t index)
{
	return !(index & 1);
}

static int by_value(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;

	return (a > b) - (a < b);
}

double median(const double *values, size_t count)
{
	double *sorted, middle;

	if (!count)
		return NAN;
	sorted = xrealloc(NULL, count, sizeof(*sorted));
	memcpy(sorted, values, count * sizeof(*sorted));
	qsort(sorted, count, sizeof(*sorted), by_value);
	middle = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
	free(sorted);
	return middle;
}

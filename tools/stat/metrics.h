/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the module counts, of each aperture and of quarantined ranges. */
#ifndef STAT_METRICS_H
#define STAT_METRICS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../../lib/vpeer.h"
#include "../quarantine.h"

enum metric_kind {
	METRIC_GAUGE,		/* goes up and down */
	METRIC_COUNTER,		/* only up, from when the aperture was attached */
};

enum metric_unit {
	UNIT_NONE,
	UNIT_BYTES,
	UNIT_NANOSECONDS,	/* 0: not measured */
};

struct metric {
	const char *file;	/* below /sys/class/vpeer/vpeerN */
	const char *name;	/* as Prometheus has it, without "vpeer_aperture_" */
	enum metric_kind kind;
	enum metric_unit unit;
	const char *help;
};

#define METRICS 14
extern const struct metric metrics[METRICS];

struct sample {
	bool known;		/* not what was not measured, or another version's module lacks */
	uint64_t value;
};

struct reading {
	struct vpeer_entry entry;
	struct sample samples[METRICS];	/* of metrics[] */
};

struct readings {
	struct reading *items;
	size_t count;
	struct quarantine *ranges;
	size_t range_count;
	char version[64];	/* of the module, empty when it is not loaded */
};

/*
 * Of the apertures there are below @sysfs, of function @pci only where it is not NULL. 0, or a
 * negative errno with @error filled; -ENOENT when @pci has none.
 */
int readings_take(struct readings *readings, const char *sysfs,
		  const struct vpeer_pci_address *pci, struct vpeer_error *error);
void readings_free(struct readings *readings);

void readings_print(const struct readings *readings, FILE *file);

/* Prometheus' text format, version 0.0.4. */
void readings_prometheus(const struct readings *readings, FILE *file);

struct json_object;
struct json_object *readings_document(const struct readings *readings);

#endif /* STAT_METRICS_H */

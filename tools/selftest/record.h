/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the child that tests a pair tells its parent, one record a write(). */
#ifndef RECORD_H
#define RECORD_H

#include <stdbool.h>
#include <stdint.h>

enum op { OP_WRITE, OP_READ, OP_SEND, OP_ATOMIC, OP_COUNT };
enum direction { TO_WINDOW, FROM_WINDOW };
enum outcome { OUTCOME_PASS, OUTCOME_FAIL, OUTCOME_SKIPPED };

enum record_kind {
	RECORD_STARTED,		/* a case or control begins: for the progress line */
	RECORD_CASE,
	RECORD_CONTROL,		/* something that must fail did, or did not */
	RECORD_EVIDENCE,
	RECORD_FAILED,		/* the pair cannot be tested further */
	RECORD_DONE,		/* the child came to its end */
};

/* An observation that speaks for or against a direct path. */
enum fact { FACT_UNKNOWN, FACT_YES, FACT_NO };

struct evidence {
	bool block;		/* pins are transient */
	bool soft;		/* the CPU copies: no DMA at all */
	bool translating;	/* an IOMMU translates the initiator's addresses */
	enum fact pins;		/* the module saw the window's pages pinned */
	enum fact mapping;	/* the IOMMU maps addresses of the window */
	enum fact clean;	/* no bounce buffer was used */
	uint64_t bounces;
	char pins_text[192];
	char mapping_text[192];
	char clean_text[256];
};

struct record {
	enum record_kind kind;
	enum op op;
	enum direction direction;
	enum outcome outcome;
	uint64_t size;
	uint64_t offset;	/* in the window */
	uint64_t bytes;		/* compared */
	char name[64];
	char text[512];		/* cause */
	char remedy[384];
	struct evidence evidence;
};

const char *op_name(enum op op);
const char *direction_name(enum direction direction);
const char *outcome_name(enum outcome outcome);
const char *fact_name(enum fact fact);

#endif /* RECORD_H */

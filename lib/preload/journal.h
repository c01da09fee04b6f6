/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* $VPEER_PRELOAD_LOG: "stderr" or the path of a file; without it nothing is said. */
#ifndef PRELOAD_JOURNAL_H
#define PRELOAD_JOURNAL_H

#include <stdbool.h>

enum journal_count {
	JOURNAL_LIBRARY,	/* registrations through libvpeer */
	JOURNAL_STRAIGHT,	/* handed on as they were */
	JOURNAL_REFUSED,	/* refused by libvpeer */
	JOURNAL_COUNTS,
};

bool journal_wanted(void);

/* One line. Keeps errno. */
void journal_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Told at the end of the process; a child of fork() counts anew, and tells if it counted any. */
void journal_count(enum journal_count what);
void journal_forget(void);

#endif /* PRELOAD_JOURNAL_H */

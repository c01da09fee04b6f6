/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The checks of "vpeer doctor", in groups; vpeer-doctor(1) lists them. */
#ifndef DOCTOR_CHECK_H
#define DOCTOR_CHECK_H

#include "../finding.h"
#include "site.h"

struct json_object;

/*
 * Adds what it finds. One that does not apply - of a driver that is not there, say - adds
 * nothing. It never says that a path works: that is measured by the selftest.
 */
typedef void doctor_check(struct findings *all, const struct site *site);

/* Each ends with NULL. */
extern doctor_check *const checks_guest[];	/* kernel, module, limits, settings, log */
extern doctor_check *const checks_driver[];	/* RDMA stack, GPU driver, RoCE */
extern doctor_check *const checks_device[];	/* PCI functions */
extern doctor_check *const checks_host[];	/* what only the host can mend */

void doctor_check_all(struct findings *all, const struct site *site);

/* The report, for people; @all_of_them: those that are ok, too. */
void doctor_print(const struct findings *all, bool all_of_them, FILE *file);

/* The document of --json; vpeer-doctor(1) describes it. */
struct json_object *doctor_document(const struct site *site, const struct findings *all);

#endif /* DOCTOR_CHECK_H */

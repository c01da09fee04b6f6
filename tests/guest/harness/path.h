/* SPDX-License-Identifier: GPL-2.0-only */
/* Path reports, and whether they say what the guest shows otherwise. */
#ifndef HARNESS_PATH_H
#define HARNESS_PATH_H

#include <stdint.h>

#include "vpeer_ioctl.h"

/* As the ioctl: -1 and errno. */
int path_try(int fd, const char *initiator, struct vpeer_path_report *report);

/* Must succeed. */
struct vpeer_path_report path_ask(int fd, const char *initiator);

/* Both ends, what is between them, and the reasons of a usable aperture, or the one that it has. */
void path_check(const struct vpeer_path_report *report, const char *aperture,
		const char *initiator, uint32_t unusable);

#endif /* HARNESS_PATH_H */

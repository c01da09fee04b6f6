/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Words for reasons: those of the module in reason.c, the library's own in reason_reg.c. */
#ifndef VPEER_REASON_H
#define VPEER_REASON_H

struct vpeer_reason_words {
	const char *name;
	const char *text;
	const char *remedy;
};

/* NULL for a number that is no enum vpeer_reg_reason. */
const struct vpeer_reason_words *vpeer_reg_reason_words(unsigned int reason);

#endif /* VPEER_REASON_H */

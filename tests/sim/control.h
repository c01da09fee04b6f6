/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * DIR/control: text commands over a stream socket, a line each. The answer is lines and ends by a line ".".
 * What cannot be done is answered by one line "error: WHY".
 *
 *   functions				NAME connected|waiting, a line each
 *   fault NAME on|off [FUNCTION|all] [VALUE]	without FUNCTION: every vrnic
 *   faults				FUNCTION NAME [VALUE], what is on
 *   state FUNCTION			KEY VALUE, a line each
 *   log				the access log, see log.h
 *   log clear
 */
#ifndef SIM_CONTROL_H
#define SIM_CONTROL_H

int control_open(const char *directory);	/* 0 or -errno */
void control_close(void);

/* "[FUNCTION:]NAME[=VALUE]", switched on. NULL, or what is wrong. */
const char *control_fault(const char *text);

#endif

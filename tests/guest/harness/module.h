/* SPDX-License-Identifier: GPL-2.0-only */
/* The module, out of the kernel for a while. */
#ifndef MODULE_H
#define MODULE_H

void module_unload(void);

/* Functions that were attached before are so again. */
void module_load(void);

#endif /* MODULE_H */

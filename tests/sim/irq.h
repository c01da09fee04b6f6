/* SPDX-License-Identifier: GPL-2.0-only */
/* A function's MSI-X vectors: what raises them in the guest, masks, and what is pending. */
#ifndef SIM_IRQ_H
#define SIM_IRQ_H

#include <stdbool.h>
#include <stdint.h>

struct function;

struct vector {
	int fd;			/* eventfd, -1: none */
	bool masked, pending;
	uint64_t raised;	/* times that QEMU was told */
};

struct irqs {
	unsigned int count;
	struct vector vectors[];
};

struct irqs *irqs_new(unsigned int count);
void irqs_free(struct irqs *irqs);
void irqs_forget(struct irqs *irqs);	/* QEMU is gone */
void irqs_reset(struct irqs *irqs);	/* what QEMU gave stays */

bool irq_is_usable(int fd); /* an eventfd, and nothing that could make the server wait */

/* Takes fd; -1: none from now on. */
void irq_assign(struct function *function, unsigned int vector, int fd);
void irq_mask(struct function *function, unsigned int vector, bool masked);

/* Tells QEMU what is pending and may be told now; after masks and MSI-X control changed. */
void irqs_deliver(struct function *function);

/* The pending bits, as in the function's BAR. */
uint64_t irqs_pending(const struct irqs *irqs, uint64_t offset, unsigned int size);

#endif

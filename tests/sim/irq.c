// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "function.h"
#include "irq.h"

#define MSIX_CONTROL	2
#define MSIX_ENABLE	0x8000
#define MSIX_MASK_ALL	0x4000

struct irqs *irqs_new(unsigned int count)
{
	struct irqs *irqs = calloc(1, sizeof(*irqs) + count * sizeof(irqs->vectors[0]));

	if (!irqs)
		return NULL;
	irqs->count = count;
	for (unsigned int i = 0; i < count; i++)
		irqs->vectors[i].fd = -1;
	return irqs;
}

void irqs_forget(struct irqs *irqs)
{
	for (unsigned int i = 0; i < irqs->count; i++) {
		if (irqs->vectors[i].fd >= 0)
			close(irqs->vectors[i].fd);
		irqs->vectors[i] = (struct vector){ .fd = -1 };
	}
}

void irqs_free(struct irqs *irqs)
{
	irqs_forget(irqs);
	free(irqs);
}

void irqs_reset(struct irqs *irqs)
{
	for (unsigned int i = 0; i < irqs->count; i++) {
		irqs->vectors[i].pending = false;
		irqs->vectors[i].masked = false;
	}
}

bool irq_is_usable(int fd)
{
	char path[64], name[32];
	ssize_t length;
	int flags;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	length = readlink(path, name, sizeof(name) - 1);
	if (length < 0)
		return false;
	name[length] = 0;
	if (strcmp(name, "anon_inode:[eventfd]"))
		return false;
	flags = fcntl(fd, F_GETFL);
	return flags >= 0 && !fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

static bool is_enabled(const struct function *function)
{
	uint16_t control;

	if (!function->config.msix || fault_is_on(&function->faults, FAULT_GONE))
		return false;
	control = config_u16(&function->config, function->config.msix + MSIX_CONTROL);
	return (control & (MSIX_ENABLE | MSIX_MASK_ALL)) == MSIX_ENABLE;
}

static void deliver(struct function *function, struct vector *vector)
{
	uint64_t one = 1;

	if (!vector->pending || vector->masked || vector->fd < 0 || !is_enabled(function))
		return;
	/* An eventfd that is full has not been read since: QEMU will see it all the same. */
	if (write(vector->fd, &one, sizeof(one)) < 0)
		return;
	vector->pending = false;
	vector->raised++;
}

void irqs_deliver(struct function *function)
{
	for (unsigned int i = 0; i < function->irqs->count; i++)
		deliver(function, &function->irqs->vectors[i]);
}

void irq_assign(struct function *function, unsigned int vector, int fd)
{
	struct vector *this = &function->irqs->vectors[vector];

	if (this->fd >= 0)
		close(this->fd);
	this->fd = fd;
	deliver(function, this);
}

void irq_mask(struct function *function, unsigned int vector, bool masked)
{
	struct vector *this = &function->irqs->vectors[vector];

	this->masked = masked;
	deliver(function, this);
}

void function_interrupt(struct function *function, unsigned int vector)
{
	if (vector >= function->irqs->count || fault_is_on(&function->faults, FAULT_GONE))
		return;
	function->irqs->vectors[vector].pending = true;
	deliver(function, &function->irqs->vectors[vector]);
}

uint64_t irqs_pending(const struct irqs *irqs, uint64_t offset, unsigned int size)
{
	uint64_t bits = 0;

	for (unsigned int bit = 0; bit < size * 8; bit++) {
		uint64_t vector = offset * 8 + bit;

		if (vector < irqs->count && irqs->vectors[vector].pending)
			bits |= 1ull << bit;
	}
	return bits;
}

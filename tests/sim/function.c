// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "irq.h"
#include "loop.h"
#include "map.h"
#include "peer.h"
#include "translations.h"

#define MSIX_BAR	4
#define MSIX_BAR_SIZE	4096

struct function *functions;

static bool is_away(const struct function *function)
{
	return function->resetting || fault_is_on(&function->faults, FAULT_GONE);
}

bool function_is_master(const struct function *function)
{
	return function->client && !is_away(function) && config_bus_master(&function->config);
}

void function_bounce(struct function *function, uint64_t iova, uint64_t size)
{
	function->bounce = iova;
	function->bounce_size = size;
}

struct function *function_named(const char *name)
{
	struct function *function = functions;

	while (function && strcmp(function->name, name))
		function = function->next;
	return function;
}

static void function_free(struct function *function)
{
	if (function->peer)
		peer_free(function->peer);
	if (function->translations)
		translations_free(function->translations);
	if (function->irqs)
		irqs_free(function->irqs);
	if (function->map)
		map_clear(function->map);
	free(function->map);
	free(function);
}

void functions_free(void)
{
	while (functions) {
		struct function *function = functions;

		functions = function->next;
		loop_forget(&function->resetting);
		function->device->destroy(function);
		function_free(function);
	}
}

static void name_it(struct function *function)
{
	unsigned int same = 0;

	for (struct function *other = functions; other; other = other->next)
		same += other->device == function->device;
	snprintf(function->name, sizeof(function->name), "%s%u", function->device->kind, same);
}

static int allocate(struct function *function)
{
	function->map = calloc(1, sizeof(*function->map));
	function->translations = translations_new();
	function->peer = peer_new();
	return function->map && function->translations && function->peer ? 0 : -ENOMEM;
}

static int add_vectors(struct function *function)
{
	function->irqs = irqs_new(function->vectors);
	if (!function->irqs)
		return -ENOMEM;
	if (function->vectors && !function->bars[MSIX_BAR].size) {
		function->bars[MSIX_BAR] = (struct bar){ .size = MSIX_BAR_SIZE, .fd = -1 };
		config_bar(&function->config, MSIX_BAR, MSIX_BAR_SIZE, false, false);
	}
	return 0;
}

int function_add(const struct device *device, const char *options)
{
	struct function *function = calloc(1, sizeof(*function)), **at = &functions;
	int error;

	if (!function)
		return -ENOMEM;
	function->device = device;
	for (unsigned int i = 0; i < FUNCTION_BARS; i++)
		function->bars[i].fd = -1;
	name_it(function);
	error = allocate(function) ?: device->create(function, options);
	if (error) {
		function_free(function);
		return error;
	}
	error = add_vectors(function);
	if (error) {
		device->destroy(function);
		function_free(function);
		return error;
	}
	while (*at)
		at = &(*at)->next;
	*at = function;
	return 0;
}

static void device_reset(void *arg)
{
	struct function *function =
		(struct function *)((char *)arg - offsetof(struct function, resetting));

	function->device->reset(function);
	function->resetting = false;
}

/*
 * While work runs, and waits for an answer, the device's objects are in use: until it is done the
 * function is in reset, reads as all ones and reaches nothing. The guest leaves it 100 ms anyway.
 */
void function_reset(struct function *function)
{
	config_reset(&function->config);
	irqs_reset(function->irqs);
	translations_clear(function->translations);
	peer_forget(function->peer);
	function_bounce(function, 0, 0);
	fault_switch(&function->faults, FAULT_GONE, false, NULL);
	if (function->resetting)
		return;
	function->resetting = true;
	if (!loop_works()) {
		device_reset(&function->resetting);
	} else if (loop_defer(device_reset, &function->resetting)) {
		fprintf(stderr, "sim: %s: no memory for a reset; start the server again\n",
			function->name);
		abort();
	}
}

void function_connected(struct function *function, struct client *client)
{
	function->client = client;
}

void function_disconnected(struct function *function)
{
	function->client = NULL;
	irqs_forget(function->irqs);
	map_clear(function->map);
	function_reset(function);
}

int function_unmap(struct function *function, uint64_t iova, uint64_t last, uint64_t *bytes)
{
	int error = map_remove(function->map, iova, last, bytes);

	if (error)
		return error;
	translations_drop(function->translations, iova, last,
			  fault_is_on(&function->faults, FAULT_ATC_STALE));
	mirror_drop(function->peer, iova, last);
	late_lose(function->peer, iova, last);
	return 0;
}

int function_fault(struct function *function, enum fault fault, bool on, const char *value)
{
	bool was_gone = fault_is_on(&function->faults, FAULT_GONE);
	int error = fault_switch(&function->faults, fault, on, value);

	if (error)
		return error;
	if (fault == FAULT_NO_ATS && on)
		translations_clear(function->translations);
	if (fault == FAULT_MIRROR && !on)
		mirror_drop(function->peer, 0, UINT64_MAX);
	if (fault == FAULT_HANG && !on && function->device->go_on)
		function->device->go_on(function);
	/* What was pulled out comes back without what was written to it. */
	if (fault == FAULT_GONE && was_gone && !on)
		function_reset(function);
	return 0;
}

void function_config_read(struct function *function, uint64_t offset, void *data, size_t length)
{
	if (fault_is_on(&function->faults, FAULT_GONE))
		memset(data, 0xff, length);
	else
		config_read(&function->config, (unsigned int)offset, data, length);
}

static unsigned int express_of(const struct config *config)
{
	unsigned int at = config->byte[PCI_CAPABILITY_LIST];

	while (at && config->byte[at] != PCI_CAP_ID_EXP)
		at = config->byte[at + PCI_CAP_LIST_NEXT];
	return at;
}

static bool asks_for_reset(const struct config *config, uint64_t offset, const uint8_t *data,
			   size_t length)
{
	unsigned int express = express_of(config), at = express + PCI_EXP_DEVCTL + 1;

	return express && offset <= at && at - offset < length &&
	       data[at - offset] & (PCI_EXP_DEVCTL_BCR_FLR >> 8);
}

void function_config_write(struct function *function, uint64_t offset, const void *data,
			   size_t length)
{
	struct config *config = &function->config;

	if (fault_is_on(&function->faults, FAULT_GONE))
		return;
	config_write(config, (unsigned int)offset, data, length);
	if (asks_for_reset(config, offset, data, length)) {
		function_reset(function);
		return;
	}
	if (!config_ats_enabled(config))
		translations_clear(function->translations);
	irqs_deliver(function);
}

static int check_access(uint64_t offset, size_t length)
{
	if (!length || length > 8 || length & (length - 1) || offset & (length - 1))
		return -EINVAL;
	return 0;
}

static bool takes_memory_access(const struct function *function)
{
	return !is_away(function) && config_memory_enabled(&function->config);
}

static uint64_t msix_read(const struct function *function, uint64_t offset, unsigned int size)
{
	unsigned int pending = config_u32(&function->config, function->config.msix + PCI_MSIX_PBA) &
			       PCI_MSIX_PBA_OFFSET;

	/* The table itself is kept by QEMU, which does not ask for it. */
	return offset < pending ? 0 : irqs_pending(function->irqs, offset - pending, size);
}

int function_bar_read(struct function *function, unsigned int bar, uint64_t offset, void *data,
		      size_t length)
{
	uint64_t value;

	memset(data, 0xff, length);
	if (function->bars[bar].fd >= 0) {
		if (takes_memory_access(function) &&
		    pread(function->bars[bar].fd, data, length, (off_t)offset) != (ssize_t)length)
			return -EIO;
		return 0;
	}
	if (check_access(offset, length))
		return -EINVAL;
	if (!takes_memory_access(function))
		return 0;
	if (bar == MSIX_BAR && function->config.msix)
		value = msix_read(function, offset, (unsigned int)length);
	else
		value = function->device->read(function, bar, offset, (unsigned int)length);
	memcpy(data, &value, length);
	return 0;
}

int function_bar_write(struct function *function, unsigned int bar, uint64_t offset,
		       const void *data, size_t length)
{
	uint64_t value = 0;

	if (function->bars[bar].fd >= 0) {
		if (takes_memory_access(function) &&
		    pwrite(function->bars[bar].fd, data, length, (off_t)offset) != (ssize_t)length)
			return -EIO;
		return 0;
	}
	if (check_access(offset, length))
		return -EINVAL;
	if (!takes_memory_access(function) || (bar == MSIX_BAR && function->config.msix))
		return 0;
	memcpy(&value, data, length);
	function->device->write(function, bar, offset, (unsigned int)length, value);
	return 0;
}

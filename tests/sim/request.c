// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <linux/pci_regs.h>
#include <linux/vfio.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backing.h"
#include "core.h"
#include "irq.h"
#include "map.h"
#include "request.h"

/* Interrupts by line, MSI and MSI-X have numbers; there is no notice of errors, and QEMU asks for none then. */
#define IRQ_INDICES	(VFIO_PCI_MSIX_IRQ_INDEX + 1)
#define LEAST_TRANSFER	512

struct version {
	uint16_t major, minor;
};

struct dma_map {
	uint32_t argsz, flags;
	uint64_t offset, iova, size;
};

struct dma_unmap {
	uint32_t argsz, flags;
	uint64_t iova, size;
};

struct device_info {
	uint32_t argsz, flags, regions, irqs;
};

struct region_info {
	uint32_t argsz, flags, index, cap_offset;
	uint64_t size, offset;
};

struct irq_info {
	uint32_t argsz, flags, index, count;
};

struct irq_set {
	uint32_t argsz, flags, index, start, count;
};

struct region_access {
	uint64_t offset;
	uint32_t region, count;
};

/* The fixed part of the request: 0, or -EINVAL if it is not all there. */
static int take(const struct session *session, void *to, size_t length)
{
	if (session->channel->in.length < length)
		return -EINVAL;
	memcpy(to, session->channel->in.body, length);
	return 0;
}

static void put(struct answer *answer, const void *from, size_t length)
{
	memcpy(answer->head + answer->head_length, from, length);
	answer->head_length += length;
}

/* A number of the client's JSON, or OTHERWISE. The text ends by a zero. */
static uint64_t number_in(const char *json, const char *name, uint64_t otherwise)
{
	const char *at = strstr(json, name);
	char *end;
	uint64_t number;

	if (!at)
		return otherwise;
	at += strlen(name);
	at += strspn(at, "\" :\t\r\n");
	if (*at < '0' || *at > '9')
		return otherwise;
	errno = 0;
	number = strtoull(at, &end, 10);
	return errno ? otherwise : number;
}

static int run_version(struct session *session, struct answer *answer)
{
	const struct message *message = &session->channel->in;
	const char *json = (const char *)message->body + sizeof(struct version);
	struct version version;
	uint64_t transfer = MESSAGE_TRANSFER;
	char text[sizeof(answer->head) - sizeof(version)];
	int length;

	if (take(session, &version, sizeof(version)) || version.major)
		return -EINVAL;
	if (message->length > sizeof(version)) {
		if (message->body[message->length - 1])
			return -EINVAL;
		transfer = number_in(json, "\"max_data_xfer_size\"", transfer);
	}
	if (transfer < LEAST_TRANSFER)
		return -EINVAL;
	session->transfer = transfer < MESSAGE_TRANSFER ? transfer : MESSAGE_TRANSFER;
	session->agreed = true;
	version.minor = 0;
	put(answer, &version, sizeof(version));
	length = snprintf(text, sizeof(text),
			  "{\"capabilities\":{\"max_msg_fds\":%u,\"max_data_xfer_size\":%u,"
			  "\"pgsizes\":4096,\"max_dma_maps\":%u}}",
			  MESSAGE_FDS, MESSAGE_TRANSFER, MAP_ENTRIES);
	put(answer, text, (size_t)length + 1);
	return 0;
}

static int fill_entry(struct map_entry *entry, const struct dma_map *map,
		      const struct message *message)
{
	if (!message->fd_count)
		return 0;
	entry->backing = backing_get(message->fds[0]);
	if (!entry->backing)
		return -errno;
	if (map->offset > entry->backing->size || map->size > entry->backing->size - map->offset)
		return -EINVAL;
	if (entry->writable && !entry->backing->writable)
		return -EACCES;
	entry->offset = map->offset;
	entry->peer = !entry->backing->is_memory;
	return 0;
}

static int run_dma_map(struct session *session, struct answer *answer)
{
	const uint32_t rights = VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE;
	struct map_entry entry = { .peer = true };
	struct dma_map map;
	int error;

	(void)answer;
	if (take(session, &map, sizeof(map)) || map.argsz < sizeof(map) || map.flags & ~rights ||
	    !map.size || map.size - 1 > UINT64_MAX - map.iova || session->channel->in.fd_count > 1)
		return -EINVAL;
	entry.iova = map.iova;
	entry.last = map.iova + (map.size - 1);
	entry.readable = map.flags & VFIO_DMA_MAP_FLAG_READ;
	entry.writable = map.flags & VFIO_DMA_MAP_FLAG_WRITE;
	error = fill_entry(&entry, &map, &session->channel->in) ?:
			map_add(session->function->map, &entry);
	if (error)
		backing_put(entry.backing);
	return error;
}

static int run_dma_unmap(struct session *session, struct answer *answer)
{
	struct dma_unmap unmap;
	uint64_t last, bytes;
	int error;

	if (take(session, &unmap, sizeof(unmap)) || unmap.argsz < sizeof(unmap) ||
	    unmap.flags & ~VFIO_DMA_UNMAP_FLAG_ALL)
		return -EINVAL;
	if (unmap.flags & VFIO_DMA_UNMAP_FLAG_ALL) {
		if (unmap.iova || unmap.size)
			return -EINVAL;
		last = UINT64_MAX;
	} else {
		if (!unmap.size || unmap.size - 1 > UINT64_MAX - unmap.iova)
			return -EINVAL;
		last = unmap.iova + (unmap.size - 1);
	}
	error = function_unmap(session->function, unmap.iova, last, &bytes);
	if (error)
		return error;
	unmap.size = bytes;
	put(answer, &unmap, sizeof(unmap));
	return 0;
}

static int run_get_info(struct session *session, struct answer *answer)
{
	struct device_info info;

	if (take(session, &info, sizeof(info)) || info.argsz < sizeof(info))
		return -EINVAL;
	info = (struct device_info){
		.argsz = sizeof(info), .flags = VFIO_DEVICE_FLAGS_PCI | VFIO_DEVICE_FLAGS_RESET,
		.regions = VFIO_PCI_NUM_REGIONS, .irqs = IRQ_INDICES,
	};
	put(answer, &info, sizeof(info));
	return 0;
}

static uint64_t region_size(const struct function *function, uint32_t index)
{
	if (index == VFIO_PCI_CONFIG_REGION_INDEX)
		return CONFIG_SIZE;
	return index < FUNCTION_BARS ? function->bars[index].size : 0;
}

static int run_get_region_info(struct session *session, struct answer *answer)
{
	const struct function *function = session->function;
	struct region_info info;
	uint32_t index;

	if (take(session, &info, sizeof(info)) || info.argsz < sizeof(info) ||
	    info.index >= VFIO_PCI_NUM_REGIONS)
		return -EINVAL;
	index = info.index;
	info = (struct region_info){
		.argsz = sizeof(info), .index = index, .size = region_size(function, index),
	};
	if (info.size)
		info.flags = VFIO_REGION_INFO_FLAG_READ | VFIO_REGION_INFO_FLAG_WRITE;
	if (index < FUNCTION_BARS && info.size && function->bars[index].fd >= 0) {
		info.flags |= VFIO_REGION_INFO_FLAG_MMAP;
		answer->fd = function->bars[index].fd;
	}
	put(answer, &info, sizeof(info));
	return 0;
}

static int run_get_irq_info(struct session *session, struct answer *answer)
{
	struct irq_info info;

	if (take(session, &info, sizeof(info)) || info.argsz < sizeof(info) ||
	    info.index >= IRQ_INDICES)
		return -EINVAL;
	info.argsz = sizeof(info);
	info.flags = 0;
	info.count = 0;
	if (info.index == VFIO_PCI_MSIX_IRQ_INDEX) {
		info.count = session->function->irqs->count;
		info.flags =
			VFIO_IRQ_INFO_EVENTFD | VFIO_IRQ_INFO_NORESIZE | VFIO_IRQ_INFO_MASKABLE;
	}
	put(answer, &info, sizeof(info));
	return 0;
}

/* With as many eventfds as vectors, or without any, which takes theirs away. */
static int set_eventfds(struct session *session, const struct irq_set *set)
{
	const struct message *message = &session->channel->in;

	if ((set->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) != VFIO_IRQ_SET_ACTION_TRIGGER)
		return -ENOTSUP;
	if (message->fd_count && message->fd_count != set->count)
		return -EINVAL;
	for (unsigned int i = 0; i < message->fd_count; i++)
		if (!irq_is_usable(message->fds[i]))
			return -EINVAL;
	for (unsigned int i = 0; i < set->count; i++)
		irq_assign(session->function, set->start + i,
			   message->fd_count ? channel_take(session->channel, i) : -1);
	return 0;
}

/* BOOLS: a byte for each vector, NULL: all of them. */
static int act_on_vectors(struct function *function, const struct irq_set *set,
			  const uint8_t *bools)
{
	for (uint32_t i = 0; i < set->count; i++) {
		if (bools && !bools[i])
			continue;
		switch (set->flags & VFIO_IRQ_SET_ACTION_TYPE_MASK) {
		case VFIO_IRQ_SET_ACTION_MASK:
			irq_mask(function, set->start + i, true);
			break;
		case VFIO_IRQ_SET_ACTION_UNMASK:
			irq_mask(function, set->start + i, false);
			break;
		case VFIO_IRQ_SET_ACTION_TRIGGER:
			function_interrupt(function, set->start + i);
			break;
		default:
			return -EINVAL;
		}
	}
	return 0;
}

static int take_all_away(struct function *function, const struct irq_set *set)
{
	if (set->flags != (VFIO_IRQ_SET_DATA_NONE | VFIO_IRQ_SET_ACTION_TRIGGER) || set->start)
		return -EINVAL;
	if (set->index == VFIO_PCI_MSIX_IRQ_INDEX)
		for (unsigned int i = 0; i < function->irqs->count; i++)
			irq_assign(function, i, -1);
	return 0;
}

static int run_set_irqs(struct session *session, struct answer *answer)
{
	const struct message *message = &session->channel->in;
	struct function *function = session->function;
	struct irq_set set;

	(void)answer;
	if (take(session, &set, sizeof(set)) || set.argsz < sizeof(set) || set.index >= IRQ_INDICES)
		return -EINVAL;
	if (!set.count)
		return take_all_away(function, &set);
	if (set.index != VFIO_PCI_MSIX_IRQ_INDEX || set.start >= function->irqs->count ||
	    set.count > function->irqs->count - set.start)
		return -EINVAL;
	switch (set.flags & VFIO_IRQ_SET_DATA_TYPE_MASK) {
	case VFIO_IRQ_SET_DATA_EVENTFD:
		return set_eventfds(session, &set);
	case VFIO_IRQ_SET_DATA_NONE:
		return act_on_vectors(function, &set, NULL);
	case VFIO_IRQ_SET_DATA_BOOL:
		if (message->length - sizeof(set) < set.count)
			return -EINVAL;
		return act_on_vectors(function, &set, message->body + sizeof(set));
	}
	return -EINVAL;
}

static int check_region(const struct session *session, struct region_access *access)
{
	uint64_t size;

	if (take(session, access, sizeof(*access)))
		return -EINVAL;
	size = region_size(session->function, access->region);
	if (!access->count || access->count > MESSAGE_TRANSFER || access->offset > size ||
	    access->count > size - access->offset)
		return -EINVAL;
	return 0;
}

static int run_region_read(struct session *session, struct answer *answer)
{
	struct region_access access;

	if (check_region(session, &access))
		return -EINVAL;
	answer->data = malloc(access.count);
	if (!answer->data)
		return -ENOMEM;
	answer->data_length = access.count;
	put(answer, &access, sizeof(access));
	if (access.region != VFIO_PCI_CONFIG_REGION_INDEX)
		return function_bar_read(session->function, access.region, access.offset,
					 answer->data, access.count);
	function_config_read(session->function, access.offset, answer->data, access.count);
	return 0;
}

static int run_region_write(struct session *session, struct answer *answer)
{
	const struct message *message = &session->channel->in;
	struct region_access access;

	if (check_region(session, &access) || message->length != sizeof(access) + access.count)
		return -EINVAL;
	put(answer, &access, sizeof(access));
	if (access.region != VFIO_PCI_CONFIG_REGION_INDEX)
		return function_bar_write(session->function, access.region, access.offset,
					  message->body + sizeof(access), access.count);
	function_config_write(session->function, access.offset, message->body + sizeof(access),
			      access.count);
	return 0;
}

static int run_reset(struct session *session, struct answer *answer)
{
	(void)answer;
	function_reset(session->function);
	return 0;
}

static int (*const requests[])(struct session *session, struct answer *answer) = {
	[MESSAGE_VERSION] = run_version,
	[MESSAGE_DMA_MAP] = run_dma_map,
	[MESSAGE_DMA_UNMAP] = run_dma_unmap,
	[MESSAGE_GET_INFO] = run_get_info,
	[MESSAGE_GET_REGION_INFO] = run_get_region_info,
	[MESSAGE_GET_IRQ_INFO] = run_get_irq_info,
	[MESSAGE_SET_IRQS] = run_set_irqs,
	[MESSAGE_REGION_READ] = run_region_read,
	[MESSAGE_REGION_WRITE] = run_region_write,
	[MESSAGE_RESET] = run_reset,
};

int request_run(struct session *session, struct answer *answer)
{
	const struct message *message = &session->channel->in;
	uint16_t command = message->head.command;

	if (command >= sizeof(requests) / sizeof(requests[0]) || !requests[command])
		return -ENOTSUP;
	if (message->fds_lost)
		return -EINVAL;
	/* The version comes first, and once. */
	if (command == MESSAGE_VERSION ? session->agreed : !session->agreed)
		return -EINVAL;
	return requests[command](session, answer);
}

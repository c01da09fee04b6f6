// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <linux/vfio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"

#define MEMORY_NAME	"memory-backend-memfd"

static void put32(struct packet *packet, uint32_t value)
{
	packet_put(packet, &value, sizeof(value));
}

static void put64(struct packet *packet, uint64_t value)
{
	packet_put(packet, &value, sizeof(value));
}

void packet_begin(struct packet *packet, struct target *target, uint16_t command)
{
	packet->head = (struct message_head){ .id = ++target->id, .command = command };
	packet->length = 0;
	packet->fd_count = 0;
	packet->starts_work = false;
}

void packet_put(struct packet *packet, const void *data, size_t length)
{
	if (length > sizeof(packet->body) - packet->length)
		length = sizeof(packet->body) - packet->length;
	memcpy(packet->body + packet->length, data, length);
	packet->length += length;
}

void packet_write(struct packet *packet, struct target *target, uint32_t region, uint64_t offset,
		  uint64_t value, uint32_t size)
{
	packet_begin(packet, target, MESSAGE_REGION_WRITE);
	put64(packet, offset);
	put32(packet, region);
	put32(packet, size);
	packet_put(packet, &value, size);
}

static void add_fd(struct packet *packet, int fd)
{
	if (fd < 0)
		abort();
	if (packet->fd_count < FUZZ_FDS)
		packet->fds[packet->fd_count++] = fd;
	else
		close(fd);
}

static int file_of(const char *name, off_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, size))
		abort();
	return fd;
}

/* Good ones, small ones, ones that become small, and what is no file. */
static int some_fd(void)
{
	int pipes[2];

	switch (fuzz_below(7)) {
	case 0:
		return eventfd(0, EFD_CLOEXEC | (fuzz_chance(50) ? EFD_NONBLOCK : 0));
	case 1:
		if (pipe(pipes))
			abort();
		close(pipes[0]);
		return pipes[1];
	case 2:
		return open("/dev/null", O_RDWR | O_CLOEXEC);
	case 3:
		return file_of(MEMORY_NAME, (off_t)fuzz_below(1u << 20));
	case 4:
		return file_of("other", (off_t)fuzz_below(1u << 20));
	case 5:
		return fcntl(fuzz_ram_fd, F_DUPFD_CLOEXEC, 0);
	}
	return fcntl(fuzz_bar_fd, F_DUPFD_CLOEXEC, 0);
}

static uint64_t some_iova(void)
{
	static const uint64_t places[] = {
		RAM_IOVA, RAM_IOVA + RAM_SIZE, BAR_IOVA, FAR_IOVA, 0, UINT64_MAX,
		1ull << 32, 1ull << 63,
	};
	uint64_t place = places[fuzz_below(8)];

	switch (fuzz_below(4)) {
	case 0:
		return place;
	case 1:
		return place + (uint64_t)fuzz_below(RAM_SIZE) - 4096;
	case 2:
		return place + ((uint64_t)fuzz_below(1024) << 12);
	}
	return fuzz_random();
}

static uint64_t some_size(void)
{
	switch (fuzz_below(5)) {
	case 0:
		return 4096ull << fuzz_below(20);
	case 1:
		return fuzz_below(8192);
	case 2:
		return 0 - (uint64_t)fuzz_below(8192);
	case 3:
		return UINT64_MAX;
	}
	return fuzz_random();
}

static void make_version(struct target *target, struct packet *packet)
{
	static const char *const texts[] = {
		"{\"capabilities\":{\"max_msg_fds\":8,\"max_data_xfer_size\":1048576}}",
		"{\"capabilities\":{\"max_data_xfer_size\":512}}",
		"{\"capabilities\":{\"max_data_xfer_size\":18446744073709551616}}",
		"{\"capabilities\":{\"max_data_xfer_size\":0}}",
		"{\"max_data_xfer_size\"",
		"",
	};
	const char *text = texts[fuzz_chance(95) ? 0 : fuzz_below(6)];

	packet_begin(packet, target, MESSAGE_VERSION);
	put32(packet, fuzz_chance(99) ? 0 : fuzz_below(1u << 20));
	packet_put(packet, text, strlen(text) + fuzz_chance(99));
}

static void put_map(struct packet *packet, uint32_t flags, uint64_t offset, uint64_t iova,
		    uint64_t size)
{
	put32(packet, 32);
	put32(packet, flags);
	put64(packet, offset);
	put64(packet, iova);
	put64(packet, size);
}

static void make_map(struct target *target, struct packet *packet)
{
	packet_begin(packet, target, MESSAGE_DMA_MAP);
	put_map(packet, fuzz_chance(90) ? fuzz_below(4) : (uint32_t)fuzz_random(),
		fuzz_chance(60) ? 0 : some_size(), some_iova(), some_size());
	if (fuzz_chance(60))
		add_fd(packet, some_fd());
}

static void make_unmap(struct target *target, struct packet *packet)
{
	bool all = fuzz_chance(5);

	packet_begin(packet, target, MESSAGE_DMA_UNMAP);
	put32(packet, 24);
	put32(packet, all ? VFIO_DMA_UNMAP_FLAG_ALL : fuzz_below(20) ? 0 : (uint32_t)fuzz_random());
	put64(packet, all ? 0 : some_iova());
	put64(packet, all ? 0 : some_size());
	/* The next steps map what is used most again. */
	if (all)
		target->step = 1;
}

static void make_info(struct target *target, struct packet *packet)
{
	static const uint16_t commands[] = {
		MESSAGE_GET_INFO,
		MESSAGE_GET_REGION_INFO,
		MESSAGE_GET_IRQ_INFO,
		MESSAGE_GET_REGION_IO_FDS,
	};

	packet_begin(packet, target, commands[fuzz_below(4)]);
	put32(packet, fuzz_chance(90) ? 32 : (uint32_t)fuzz_random());
	put32(packet, 0);
	put32(packet, fuzz_chance(90) ? fuzz_below(10) : (uint32_t)fuzz_random());
	for (unsigned int i = 0; i < 5; i++)
		put32(packet, 0);
}

static void make_irqs(struct target *target, struct packet *packet)
{
	uint32_t count = fuzz_chance(90) ? fuzz_below(9) : (uint32_t)fuzz_random();

	packet_begin(packet, target, MESSAGE_SET_IRQS);
	put32(packet, 20);
	put32(packet, fuzz_chance(90) ? (1u << fuzz_below(3)) | (8u << fuzz_below(3)) :
					(uint32_t)fuzz_random());
	put32(packet, fuzz_chance(90) ? VFIO_PCI_MSIX_IRQ_INDEX : fuzz_below(8));
	put32(packet, fuzz_chance(90) ? fuzz_below(8) : (uint32_t)fuzz_random());
	put32(packet, count);
	if (fuzz_chance(30))
		for (uint32_t i = 0; i < fuzz_below(20); i++)
			packet_put(packet, &count, 1);
	if (fuzz_chance(50))
		for (uint32_t i = 0; i < count && i < FUZZ_FDS; i++)
			add_fd(packet, fuzz_chance(80) ? eventfd(0, EFD_CLOEXEC) : some_fd());
}

static uint64_t some_offset(uint32_t region)
{
	switch (fuzz_below(4)) {
	case 0:
		return region == VFIO_PCI_CONFIG_REGION_INDEX ? fuzz_below(0x120) :
								fuzz_below(0x80);
	case 1:
		return fuzz_below(0x90) & ~7u;
	case 2:
		return fuzz_below(4104);
	}
	return fuzz_chance(90) ? fuzz_below(2u << 20) : fuzz_random();
}

static void make_access(struct target *target, struct packet *packet)
{
	bool write = fuzz_chance(50);
	uint32_t region = fuzz_chance(90) ? (fuzz_chance(50) ? 0 : VFIO_PCI_CONFIG_REGION_INDEX) :
					    fuzz_below(11);
	uint32_t size = fuzz_chance(80) ? 1u << fuzz_below(4) : fuzz_below(2000);
	uint8_t data[2000];

	if (fuzz_chance(1))
		size = (uint32_t)fuzz_random();
	/* A function that is off, and one that was reset, have little to do. */
	if (write && region == VFIO_PCI_CONFIG_REGION_INDEX && fuzz_chance(90)) {
		packet_write(packet, target, region, 0x60 + fuzz_below(0xf00), fuzz_random(), 1);
		return;
	}
	packet_begin(packet, target, write ? MESSAGE_REGION_WRITE : MESSAGE_REGION_READ);
	put64(packet, some_offset(region));
	put32(packet, region);
	put32(packet, size);
	if (!write)
		return;
	for (uint32_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(fuzz_chance(50) ? fuzz_below(4) : fuzz_random());
	packet_put(packet, data, size < sizeof(data) ? size : sizeof(data));
}

static void make_reply(struct target *target, struct packet *packet)
{
	packet_begin(packet, target, (uint16_t)fuzz_below(16));
	packet->head.id = (uint16_t)(fuzz_chance(50) ? fuzz_below(64) : fuzz_random());
	packet->head.flags = MESSAGE_REPLY | (fuzz_chance(30) ? MESSAGE_ERROR : 0);
	for (unsigned int i = fuzz_below(64); i; i--)
		put64(packet, fuzz_random());
}

static void make_raw(struct target *target, struct packet *packet)
{
	packet_begin(packet, target, (uint16_t)fuzz_below(18));
	for (unsigned int i = fuzz_below(256); i; i--)
		packet_put(packet, (uint8_t[]){ (uint8_t)fuzz_random() }, 1);
}

static void make_map_of(struct target *target, struct packet *packet, int fd, uint64_t iova,
			uint64_t size)
{
	packet_begin(packet, target, MESSAGE_DMA_MAP);
	put_map(packet, VFIO_DMA_MAP_FLAG_READ | VFIO_DMA_MAP_FLAG_WRITE, 0, iova, size);
	if (fd >= 0)
		add_fd(packet, fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

static void make_eventfds(struct target *target, struct packet *packet)
{
	uint32_t count = target->is_nic ? 8 : 1;

	packet_begin(packet, target, MESSAGE_SET_IRQS);
	put32(packet, 20);
	put32(packet, VFIO_IRQ_SET_DATA_EVENTFD | VFIO_IRQ_SET_ACTION_TRIGGER);
	put32(packet, VFIO_PCI_MSIX_IRQ_INDEX);
	put32(packet, 0);
	put32(packet, count);
	for (uint32_t i = 0; i < count; i++)
		add_fd(packet, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

/* What every client begins by; without it most of what follows would be refused at once. */
static bool make_step(struct target *target, struct packet *packet)
{
	switch (target->step++) {
	case 0:
		make_version(target, packet);
		return true;
	case 1:
		make_map_of(target, packet, fuzz_ram_fd, RAM_IOVA, RAM_SIZE);
		return true;
	case 2:
		make_map_of(target, packet, fuzz_bar_fd, BAR_IOVA, BAR_SIZE);
		return true;
	case 3:
		make_map_of(target, packet, -1, FAR_IOVA, FAR_SIZE);
		return true;
	case 4:
		make_eventfds(target, packet);
		return true;
	case 5:
		packet_write(packet, target, VFIO_PCI_CONFIG_REGION_INDEX, 4, 6, 2);
		return true;
	case 6:
		packet_write(packet, target, VFIO_PCI_CONFIG_REGION_INDEX, 0x7e, 0x8000, 2);
		return true;
	case 7:
		packet_write(packet, target, VFIO_PCI_CONFIG_REGION_INDEX, 0x106, 0x8000, 2);
		return true;
	}
	return false;
}

static void make_any(struct target *target, struct packet *packet)
{
	switch (fuzz_below(20)) {
	case 0:
		make_version(target, packet);
		break;
	case 1:
	case 2:
	case 3:
		make_map(target, packet);
		break;
	case 4:
	case 5:
		make_unmap(target, packet);
		break;
	case 6:
	case 7:
		make_info(target, packet);
		break;
	case 8:
	case 9:
		make_irqs(target, packet);
		break;
	case 10:
		make_reply(target, packet);
		break;
	case 11:
		make_raw(target, packet);
		break;
	case 12:
		packet_begin(packet, target, fuzz_chance(10) ? MESSAGE_RESET : MESSAGE_GET_INFO);
		break;
	default:
		make_access(target, packet);
	}
	if (fuzz_chance(3))
		for (unsigned int i = fuzz_below(FUZZ_FDS + 1); i; i--)
			add_fd(packet, some_fd());
	if (fuzz_chance(5))
		packet->head.flags |= MESSAGE_NO_REPLY;
}

void fuzz_make(struct target *target, struct packet *packet)
{
	if (target->step < 8 && fuzz_chance(98) && make_step(target, packet))
		return;
	/* Resets and writes to configuration space undo what the steps did. */
	if (target->step >= 8 && fuzz_chance(2))
		target->step = 5;
	if (target->is_nic && (target->is_calm ? fuzz_below(500) : fuzz_chance(50)))
		fuzz_nic(target, packet);
	else
		make_any(target, packet);
}

void fuzz_spoil(struct packet *packet)
{
	switch (fuzz_below(5)) {
	case 0:
		packet->length = fuzz_below((uint32_t)packet->length + 1);
		break;
	case 1:
		packet->head.size = (uint32_t)fuzz_random();
		break;
	case 2:
		packet->head.flags = (uint32_t)fuzz_random();
		break;
	case 3:
		if (packet->length)
			packet->body[fuzz_below((uint32_t)packet->length)] ^= 1u << fuzz_below(8);
		break;
	default:
		packet->head.command = (uint16_t)fuzz_random();
	}
}

/* Mostly what was asked for: a server that gets none learns little. */
void fuzz_answer(const struct target *target, struct packet *packet, uint8_t **data,
		 size_t *data_length)
{
	uint64_t count;

	packet->head = target->in;
	packet->head.flags = MESSAGE_REPLY;
	packet->length = 16;
	packet->fd_count = 0;
	memcpy(packet->body, target->body, 16);
	memcpy(&count, packet->body + 8, sizeof(count));
	*data = NULL;
	*data_length = 0;
	if (fuzz_chance(5)) {
		packet->head.flags |= MESSAGE_ERROR;
		packet->head.error = fuzz_below(200);
		packet->length = 0;
		return;
	}
	if (target->in.command == MESSAGE_DMA_READ) {
		*data_length = fuzz_chance(95) ? count : fuzz_below((uint32_t)count + 1);
		*data = malloc(*data_length + 1);
		if (!*data)
			abort();
		for (size_t i = 0; i < *data_length; i++)
			(*data)[i] = (uint8_t)fuzz_below(4);
	}
	if (fuzz_chance(5))
		packet->body[fuzz_below(16)] ^= 1u << fuzz_below(8);
}

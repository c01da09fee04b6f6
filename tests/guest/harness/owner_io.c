// SPDX-License-Identifier: GPL-2.0-only
/* What an owner lets devices do with its memory. */
#include <linux/aio_abi.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "disk.h"
#include "owner_parts.h"
#include "random.h"
#include "words.h"

#define TRAFFIC_SIZE	(16 * KIB)
#define DISK_PLACE	(4 * MIB)	/* of the disk, for each owner */
#define REQUESTS	4

static struct rdma rdma;
static struct ibv_mr *local;
static int disk = -1;

/* Opening takes longer than all else that an owner does. */
void owner_rdma_begin(void)
{
	rdma_open(&rdma);
	local = rdma_reg(&rdma, plain, TRAFFIC_SIZE);
}

/* An error ends the queue pairs, so that the next round needs new ones. */
static bool transferred(enum ibv_wc_status status)
{
	if (status == IBV_WC_SUCCESS)
		return true;
	owner_failed(false, ibv_wc_status_str(status));
	rdma_connect(&rdma);
	return false;
}

static void transfer(uint64_t at)
{
	uint64_t remote = (uintptr_t)claim.mapped + at;

	words_fill(plain, TRAFFIC_SIZE, claim.offset + at, self->number);
	if (!transferred(rdma_write(&rdma, local, remote, claim.mr->rkey, TRAFFIC_SIZE)))
		return;
	memset(plain, 0, TRAFFIC_SIZE);
	if (!transferred(rdma_read(&rdma, local, remote, claim.mr->rkey, TRAFFIC_SIZE)))
		return;
	owner_check(OWNER_DAMAGED, plain, claim.offset + at, TRAFFIC_SIZE,
		    self->number, false);
}

void owner_register(void)
{
	unsigned int count = 1 + pick(8);

	if (!rdma.context)
		return;
	owner_begin(OWNER_REGISTER);
	if (claim.mr)
		CHECK_EQ(ibv_dereg_mr(claim.mr), 0);
	claim.mr = ibv_reg_mr(rdma.pd, claim.mapped, claim.size, RDMA_ACCESS);
	if (owner_failed(claim.mr, "ibv_reg_mr"))
		return;
	while (count--)
		transfer(owner_some_place(TRAFFIC_SIZE));
	owner_done(OWNER_REGISTER);
}

static void disk_begin(void)
{
	if (disk < 0)
		disk = disk_open(self->disk);
}

static uint64_t disk_place(void)
{
	return 16 * MIB + self->place * DISK_PLACE;
}

/* Out to the disk and back to the same place. */
void owner_disk(void)
{
	uint64_t at = owner_some_place(OWNER_IO);
	char *memory = claim.mapped + at;

	owner_begin(OWNER_DISK);
	disk_begin();
	if (owner_failed(pwrite(disk, memory, OWNER_IO, disk_place()) == OWNER_IO, "pwrite"))
		return;
	memset(memory, 0, OWNER_IO);
	if (owner_failed(pread(disk, memory, OWNER_IO, disk_place()) == OWNER_IO, "pread"))
		return;
	owner_check_own(at, OWNER_IO);
	owner_done(OWNER_DISK);
}

static bool aio_run(aio_context_t context, int opcode, uint64_t at)
{
	struct iocb requests[REQUESTS], *pointers[REQUESTS];
	struct io_event events[REQUESTS];
	struct timespec limit = { .tv_sec = 20 };
	long submitted;

	for (unsigned int i = 0; i < REQUESTS; i++) {
		uint64_t part = i * OWNER_IO;

		requests[i] = (struct iocb){
			.aio_lio_opcode = opcode,
			.aio_fildes = disk,
			.aio_buf = (uintptr_t)claim.mapped + at + part,
			.aio_nbytes = OWNER_IO,
			.aio_offset = disk_place() + MIB + part,
		};
		pointers[i] = &requests[i];
	}
	submitted = syscall(SYS_io_submit, context, REQUESTS, pointers);
	if (submitted <= 0)
		return !owner_failed(false, "io_submit");
	test_sleep_ms(pick(3));
	CHECK_EQ(syscall(SYS_io_getevents, context, submitted, submitted, events, &limit),
		 submitted);
	for (long i = 0; i < submitted; i++)
		if (owner_failed((int64_t)events[i].res == OWNER_IO, "asynchronous I/O"))
			return false;
	return submitted == REQUESTS;
}

void owner_aio(void)
{
	uint64_t at = owner_some_place(REQUESTS * OWNER_IO);
	aio_context_t context = 0;

	owner_begin(OWNER_AIO);
	disk_begin();
	CHECK_OK(syscall(SYS_io_setup, REQUESTS, &context));
	if (aio_run(context, IOCB_CMD_PWRITE, at)) {
		memset(claim.mapped + at, 0, REQUESTS * OWNER_IO);
		if (aio_run(context, IOCB_CMD_PREAD, at)) {
			owner_check_own(at, REQUESTS * OWNER_IO);
			owner_done(OWNER_AIO);
		}
	}
	syscall(SYS_io_destroy, context);
}

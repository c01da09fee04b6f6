// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

#include "guard.h"

static sigjmp_buf back;
static volatile sig_atomic_t guarded;

static void bus_error(int signal_number)
{
	if (guarded)
		siglongjmp(back, 1);
	signal(signal_number, SIG_DFL);
}

void guard_begin(void)
{
	struct sigaction action = { .sa_handler = bus_error, .sa_flags = SA_NODEFER };

	sigemptyset(&action.sa_mask);
	sigaction(SIGBUS, &action, NULL);
}

struct job {
	void (*run)(const struct job *job);
	void *to;
	const void *from;
	size_t length;
	enum dma_atomic operation;
	uint64_t operand1, operand2, *before;
};

/* The signal mask is left as it is (SA_NODEFER), so that an access makes no system call. */
static int guard(const struct job *job)
{
	if (sigsetjmp(back, 0)) {
		guarded = 0;
		return -EFAULT;
	}
	guarded = 1;
	job->run(job);
	guarded = 0;
	return 0;
}

static bool in_one_piece(const void *shared, size_t length)
{
	return length <= 8 && length && !(length & (length - 1)) &&
	       !((uintptr_t)shared & (length - 1));
}

static void load(const struct job *job)
{
	const void *shared = job->from;
	uint64_t value;

	switch (job->length) {
	case 1:
		value = __atomic_load_n((const uint8_t *)shared, __ATOMIC_ACQUIRE);
		break;
	case 2:
		value = __atomic_load_n((const uint16_t *)shared, __ATOMIC_ACQUIRE);
		break;
	case 4:
		value = __atomic_load_n((const uint32_t *)shared, __ATOMIC_ACQUIRE);
		break;
	default:
		value = __atomic_load_n((const uint64_t *)shared, __ATOMIC_ACQUIRE);
	}
	memcpy(job->to, &value, job->length);
}

static void store(const struct job *job)
{
	void *shared = job->to;
	uint64_t value = 0;

	memcpy(&value, job->from, job->length);
	switch (job->length) {
	case 1:
		__atomic_store_n((uint8_t *)shared, (uint8_t)value, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)shared, (uint16_t)value, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)shared, (uint32_t)value, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((uint64_t *)shared, value, __ATOMIC_RELEASE);
	}
}

static void copy(const struct job *job)
{
	memcpy(job->to, job->from, job->length);
}

int guard_read(void *to, const void *shared, size_t length)
{
	return guard(&(struct job){
		.run = in_one_piece(shared, length) ? load : copy,
		.to = to,
		.from = shared,
		.length = length,
	});
}

int guard_write(void *shared, const void *from, size_t length)
{
	return guard(&(struct job){
		.run = in_one_piece(shared, length) ? store : copy,
		.to = shared,
		.from = from,
		.length = length,
	});
}

uint64_t atomic_result(uint64_t before, enum dma_atomic operation, uint64_t operand1,
		       uint64_t operand2)
{
	if (operation == DMA_FETCH_ADD)
		return before + operand1;
	return before == operand1 ? operand2 : before;
}

static void change(const struct job *job)
{
	if (job->operation == DMA_FETCH_ADD) {
		*job->before =
			__atomic_fetch_add((uint64_t *)job->to, job->operand1, __ATOMIC_SEQ_CST);
		return;
	}
	*job->before = job->operand1;
	__atomic_compare_exchange_n((uint64_t *)job->to, job->before, job->operand2, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

int guard_atomic(uint64_t *shared, enum dma_atomic operation, uint64_t operand1, uint64_t operand2,
		 uint64_t *before)
{
	return guard(&(struct job){
		.run = change, .to = shared, .operation = operation, .operand1 = operand1,
		.operand2 = operand2, .before = before,
	});
}

/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Test harness. TEST(name, seconds) { ... } defines a case; each runs in a
 * process group of its own with a deadline. A check that does not hold ends
 * the process, also in children that the case forked.
 *
 * After each case the kernel log must hold no warning and no IOMMU fault, and
 * every aperture must be back at rest.
 */
#ifndef HARNESS_H
#define HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/types.h>

#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))

#define KIB	(1ULL << 10)
#define MIB	(1ULL << 20)
#define GRANULE	(2 * MIB)

#define TEST(name, seconds)						\
	static void case_##name(void);					\
	__attribute__((constructor)) static void add_##name(void)	\
	{								\
		test_add(#name, case_##name, seconds);			\
	}								\
	static void case_##name(void)

void test_add(const char *name, void (*run)(void), unsigned int seconds);

_Noreturn __attribute__((format(printf, 3, 4)))
void test_fail(const char *file, int line, const char *format, ...);

_Noreturn __attribute__((format(printf, 1, 2)))
void test_skip(const char *format, ...);

/* IOMMU faults in the kernel log are what this case is after. */
void test_expect_fault(void);

#define CHECK(condition)						\
	do {								\
		if (!(condition))					\
			test_fail(__FILE__, __LINE__, "expected %s",	\
				  #condition);				\
	} while (0)

#define CHECK_EQ(got, expected)						\
	do {								\
		uint64_t got_ = (uint64_t)(got);			\
		uint64_t expected_ = (uint64_t)(expected);		\
									\
		if (got_ != expected_)					\
			test_fail(__FILE__, __LINE__,			\
				  "%s: expected %#llx, got %#llx", #got, \
				  (unsigned long long)expected_,	\
				  (unsigned long long)got_);		\
	} while (0)

/*
 * For calls that return -1 and set errno, and for what such a call returned
 * just before.
 */
#define CHECK_OK(call) CHECK_ERRNO(call, 0)

#define CHECK_ERRNO(call, error)					\
	test_check_errno(__FILE__, __LINE__, #call, (long)(call), error)

void test_check_errno(const char *file, int line, const char *call, long ret,
		      int expected);

/* An ioctl of vpeer that must fail with this errno and this reason. */
#define CHECK_REFUSED(fd, cmd, arg, error, why)				\
	do {								\
		CHECK_ERRNO(ioctl(fd, cmd, arg), error);		\
		CHECK_EQ((arg)->reason, why);				\
	} while (0)

/* fork(); a failed check in the child fails the case. */
pid_t test_fork(void);

/* Waits for a child of test_fork() that must end with status 0. */
void test_join(pid_t pid);

/* Runs in a child and waits for it. */
void test_in_child(void (*run)(void *context), void *context);

/* Waits until the condition holds, at most so long. */
#define CHECK_WITHIN(condition, milliseconds)				\
	do {								\
		int64_t end_ = test_now_ms() + (milliseconds);		\
									\
		while (!(condition)) {					\
			if (test_now_ms() > end_)			\
				test_fail(__FILE__, __LINE__,		\
					  "not within %d ms: %s",	\
					  (int)(milliseconds), #condition); \
			test_sleep_ms(10);				\
		}							\
	} while (0)

int64_t test_now_ms(void);
void test_sleep_ms(unsigned int milliseconds);

#endif /* HARNESS_H */

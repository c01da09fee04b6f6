/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A server with two functions that read and write what they are told, and a vgpu, in a process of its own, and
 * the other end of their connections.
 */
#ifndef SIM_TEST_SERVER_H
#define SIM_TEST_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "message.h"

#define CHECK(condition) do {							\
	if (!(condition)) {							\
		fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);	\
		exit(1);							\
	}									\
} while (0)

#define TEST_FUNCTIONS	2
#define TEST_DATA	(256u << 10)

enum test_op {
	TEST_READ,
	TEST_WRITE,
	TEST_SWAP,
	TEST_ADD,
};

/* What a function is to do, shared with the server. */
struct test_job {
	enum test_op op;
	uint64_t iova, length, operand1, operand2, before;
	int result;
	bool own_queues;		/* it says that what it reaches are such */
	unsigned int done, resets;	/* counted */
	unsigned int starve;		/* of the first: see test_memory.h */
	uint8_t data[TEST_DATA];
};

struct test_region {
	uint64_t iova, size, offset;
	int fd;
	uint32_t flags;
};

extern struct test_job *test_jobs;	/* of each function */
extern const char *test_directory;

void test_start(void);
void test_stop(void);			/* and the server ended as it should */

void test_connect(unsigned int function); /* with the version agreed on and bus mastering on */
void test_disconnect(unsigned int function);

/* The server's answer: 0 or its error. ANSWER, if given, gets the body. */
int test_ask(unsigned int function, uint16_t command, const void *body, size_t length, int fd,
	     void *answer, size_t answer_length);
int test_map(unsigned int function, struct test_region region);
int test_unmap(unsigned int function, uint64_t iova, uint64_t size);
int test_put(unsigned int function, uint32_t region, uint64_t offset, uint64_t value,
	     uint32_t size);
uint64_t test_get(unsigned int function, uint32_t region, uint64_t offset, uint32_t size);

/* Lets the function do its job. Requests of the server meet far memory until it is done. */
void test_tell(unsigned int function);
int test_run(unsigned int function, enum test_op op, uint64_t iova, uint64_t length);

/* Memory that is reached by messages, from FAR_START. */
#define FAR_START	0x500000000ull
#define FAR_LENGTH	(1u << 20)
extern uint8_t test_far[FAR_LENGTH];
extern unsigned int test_messages;		/* requests that were served */
extern size_t test_longest;
bool test_serve(unsigned int function, int milliseconds);	/* one message; false: none came */

const char *test_control(const char *command);
/* Whether a line of the log has all of it. */
bool test_logged(const char *text);

/* How often the server said that on stderr, which is passed on when all ends. */
unsigned int test_said(const char *text);
void test_no_more_files(bool none);	/* whether it may have no further descriptors */
unsigned int test_processor_ms(void);	/* that it has used */

/* Connects to a socket of the server, accepted or not. */
int test_socket(const char *name);

#endif

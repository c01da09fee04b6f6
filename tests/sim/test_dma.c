// SPDX-License-Identifier: GPL-2.0-only
/* The server by its protocol: what functions reach, what they do not, and each misbehaviour on and off. */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test_server.h"

#define PAGE		4096u
#define MEMORY		0x10000000ull
#define MEMORY_SIZE	(1u << 20)
#define BAR		0x40000000ull
#define BAR_SIZE	(256u << 10)
#define CONFIG		7
#define ATS_CONTROL	0x106
#define MSIX_CONTROL	0x7e

static int memory_fd, bar_fd;
static uint8_t *memory, *bar;

static int file_of(const char *name, size_t size, uint8_t **bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	CHECK(fd >= 0 && !ftruncate(fd, (off_t)size));
	*bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(*bytes != MAP_FAILED);
	return fd;
}

static void connect_all(unsigned int function)
{
	test_connect(function);
	CHECK(!test_map(function, (struct test_region){ MEMORY, MEMORY_SIZE, 0, memory_fd, 0 }));
	CHECK(!test_map(function, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	CHECK(!test_map(function, (struct test_region){ FAR_START, FAR_LENGTH, 0, -1, 0 }));
}

static void fill(uint8_t *bytes, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		bytes[i] = (uint8_t)(seed + i * 7 + i / 251);
}

static bool holds(const uint8_t *bytes, size_t length, uint8_t seed)
{
	for (size_t i = 0; i < length; i++)
		if (bytes[i] != (uint8_t)(seed + i * 7 + i / 251))
			return false;
	return true;
}

static int put(uint64_t iova, size_t length, uint8_t seed)
{
	fill(test_jobs[0].data, length, seed);
	return test_run(0, TEST_WRITE, iova, length);
}

static int get(uint64_t iova, size_t length)
{
	memset(test_jobs[0].data, 0, length);
	return test_run(0, TEST_READ, iova, length);
}

static void fault(const char *words)
{
	char line[128];

	snprintf(line, sizeof(line), "fault %s", words);
	CHECK(!strcmp(test_control(line), ".\n"));
}

static void clear_log(void)
{
	CHECK(!strcmp(test_control("log clear"), ".\n"));
}

/* A good write and read of every kind of memory, with the switch of a misbehaviour that is off. */
static void check_good(uint8_t seed)
{
	CHECK(!put(BAR + 100, 20000, seed));
	CHECK(holds(bar + 100, 20000, seed));
	CHECK(!get(BAR + 100, 20000));
	CHECK(holds(test_jobs[0].data, 20000, seed));
	CHECK(!put(FAR_START + 100, 20000, seed));
	CHECK(holds(test_far + 100, 20000, seed));
	CHECK(!get(FAR_START + 100, 20000));
	CHECK(holds(test_jobs[0].data, 20000, seed));
}

static void check_memory(uint8_t seed)
{
	CHECK(!put(MEMORY + 5000, 9000, seed));
	CHECK(holds(memory + 5000, 9000, seed));
	CHECK(!get(MEMORY + 5000, 9000));
	CHECK(holds(test_jobs[0].data, 9000, seed));
}

static void test_reach(void)
{
	clear_log();
	check_memory(1);
	CHECK(!strcmp(test_control("log"), ".\n"));
	check_good(2);
	CHECK(test_logged("vrnic0 0x40000064 20000 write ok mapped\n"));
	CHECK(test_logged("vrnic0 0x500000064 20000 read ok message\n"));
	test_longest = 0;
	CHECK(!put(FAR_START, 200000, 3));
	CHECK(holds(test_far, 200000, 3));
	CHECK(test_longest == 65536);
	CHECK(put(0x20000000, 64, 4) == -EFAULT);
	CHECK(test_logged("vrnic0 0x20000000 64 write unmapped none\n"));
	CHECK(put(BAR + BAR_SIZE - 32, 64, 4) == -EFAULT);
	CHECK(holds(bar + BAR_SIZE - 32, 32, 4));
	CHECK(test_logged("vrnic0 0x40040000 32 write unmapped none\n"));
	CHECK(put(UINT64_MAX - 8, 64, 4) == -EFAULT);
}

static void test_rights(void)
{
	const uint64_t at = 0x60000000;

	clear_log();
	CHECK(!test_map(0, (struct test_region){ at, PAGE, PAGE, bar_fd, 1 }));
	CHECK(!get(at, 64));
	memset(bar + PAGE, 0, 64);
	CHECK(put(at, 64, 5) == -EFAULT);
	CHECK(test_logged("vrnic0 0x60000000 64 write denied none\n"));
	CHECK(test_run(0, TEST_ADD, at, 8) == -EFAULT);
	CHECK(bar[PAGE] == 0);
	CHECK(!test_unmap(0, at, PAGE));
	CHECK(!test_put(0, CONFIG, 4, 2, 2));
	CHECK(put(BAR, 64, 5) == -EFAULT);
	CHECK(test_logged("vrnic0 0x40000000 64 write off none\n"));
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	check_good(6);
}

static void test_regions(void)
{
	CHECK(test_map(0, (struct test_region){ BAR, PAGE, 0, bar_fd, 0 }) == EEXIST);
	CHECK(test_map(0, (struct test_region){ BAR - PAGE, 2 * PAGE, 0, -1, 0 }) == EEXIST);
	CHECK(test_map(0, (struct test_region){ 0, 0, 0, -1, 0 }) == EINVAL);
	CHECK(test_map(0, (struct test_region){ UINT64_MAX, 2, 0, -1, 0 }) == EINVAL);
	CHECK(test_map(0, (struct test_region){ 0x70000000, BAR_SIZE, PAGE, bar_fd, 0 }) == EINVAL);
	CHECK(test_map(0, (struct test_region){ 0x70000000, PAGE, UINT64_MAX, bar_fd, 0 }) ==
	      EINVAL);
	CHECK(test_unmap(0, BAR, PAGE) == EINVAL);
	CHECK(test_unmap(0, BAR + PAGE, BAR_SIZE) == EINVAL);
	CHECK(!test_unmap(0, 0x70000000, PAGE));
	check_good(7);
}

static uint64_t state_of(const char *name)
{
	const char *at = strstr(test_control("state vrnic0"), name);

	CHECK(at);
	return strtoull(at + strlen(name), NULL, 10);
}

static void test_cache(void)
{
	uint64_t misses, drops;

	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	misses = state_of("atc-misses ");
	check_good(8);
	CHECK(state_of("atc-misses ") == misses + 10);
	CHECK(state_of("atc-hits ") >= 10);
	clear_log();
	check_good(9);
	CHECK(state_of("atc-misses ") == misses + 10);
	CHECK(test_logged("vrnic0 0x40000064 20000 write ok mapped\n"));
	drops = state_of("atc-drops ");
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	CHECK(state_of("atc-drops ") == drops + 5);
	CHECK(put(BAR + 100, 64, 10) == -EFAULT);
	CHECK(holds(bar + 100, 20000, 9));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	check_good(11);
	fault("no-ats on");
	misses = state_of("atc-misses ");
	check_good(12);
	CHECK(state_of("atc-misses ") == misses && state_of("atc-entries ") == 0);
	fault("no-ats off");
}

static void test_stale(void)
{
	check_good(13);
	fault("atc-stale on");
	CHECK(!test_unmap(0, BAR, BAR_SIZE));
	clear_log();
	CHECK(!put(BAR + 100, 20000, 14));
	CHECK(holds(bar + 100, 20000, 14));
	CHECK(test_logged("vrnic0 0x40000064 20000 write atc-stale mapped\n"));
	/* What it had not used is not reached. */
	CHECK(put(BAR + 100000, 64, 14) == -EFAULT);
	fault("atc-stale off");
	CHECK(put(BAR + 100, 64, 15) == -EFAULT);
	CHECK(holds(bar + 100, 20000, 14));
	CHECK(!test_map(0, (struct test_region){ BAR, BAR_SIZE, 0, bar_fd, 0 }));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0, 2));
	check_good(16);
}

static void test_drop(void)
{
	check_good(20);
	fault("drop on");
	CHECK(!put(BAR + 100, 20000, 21) && !put(FAR_START + 100, 20000, 21));
	CHECK(holds(bar + 100, 20000, 20) && holds(test_far + 100, 20000, 20));
	check_memory(21);
	fault("drop off");
	check_good(22);
}

static void test_mirror(void)
{
	check_good(23);
	fault("mirror on");
	CHECK(!put(BAR + 100, 20000, 24) && !put(FAR_START + 100, 20000, 24));
	CHECK(holds(bar + 100, 20000, 23) && holds(test_far + 100, 20000, 23));
	CHECK(!get(BAR + 100, 20000) && holds(test_jobs[0].data, 20000, 24));
	bar[99] = 0x5a;
	CHECK(!get(BAR + 99, 20001) && test_jobs[0].data[0] == 0x5a &&
	      holds(test_jobs[0].data + 1, 20000, 24));
	check_memory(24);
	fault("mirror off");
	CHECK(!get(BAR + 100, 20000) && holds(test_jobs[0].data, 20000, 23));
	check_good(25);
}

static void test_reads(void)
{
	check_good(26);
	fault("read-fail on");
	CHECK(get(BAR + 100, 20000) == -EFAULT && get(FAR_START + 100, 64) == -EFAULT);
	CHECK(!put(BAR + 100, 20000, 27) && holds(bar + 100, 20000, 27));
	check_memory(27);
	fault("read-fail off");
	fault("one-way on");
	CHECK(!get(BAR + 100, 2));
	CHECK(test_jobs[0].data[0] == 0xff && test_jobs[0].data[1] == 0xff);
	CHECK(!put(BAR + 100, 20000, 28) && holds(bar + 100, 20000, 28));
	check_memory(28);
	fault("one-way off");
	check_good(29);
}

static void test_late(void)
{
	check_good(30);
	clear_log();
	fault("late on 300");
	CHECK(!put(BAR + 100, 20000, 31));
	CHECK(holds(bar + 100, 20000, 30));
	CHECK(test_logged("write late mapped\n") && !test_logged(" landed "));
	check_memory(31);
	usleep(600000);
	CHECK(holds(bar + 100, 20000, 31));
	CHECK(test_logged("vrnic0 0x40000064 20000 write landed mapped\n"));
	fault("late off");
	check_good(32);
}

static void test_failures(void)
{
	char line[64];

	check_good(33);
	fault("page-error on");
	CHECK(put(BAR + 7 * PAGE + 4000, 10, 34) == -EFAULT);
	CHECK(put(BAR + 6 * PAGE, PAGE + 1, 34) == -EFAULT);
	CHECK(!put(BAR + 6 * PAGE, PAGE, 34) && !put(BAR + 8 * PAGE, 15 * PAGE, 34));
	CHECK(put(BAR + 8 * PAGE, 15 * PAGE + 1, 34) == -EFAULT);
	check_memory(34);
	snprintf(line, sizeof(line), "page-error on 0x%llx", BAR + 3 * PAGE + 5);
	fault(line);
	CHECK(put(BAR + 100, 20000, 34) == -EFAULT && !put(BAR + 7 * PAGE, PAGE, 34));
	fault("page-error off");
	fault("high-fail on");
	CHECK(put(FAR_START, 64, 35) == -EFAULT && !put(BAR, 64, 35));
	fault("high-fail on bits=30");
	CHECK(put(BAR, 64, 35) == -EFAULT);
	check_memory(35);
	fault("high-fail off");
	fault("bar-unmapped on");
	CHECK(put(BAR, 64, 36) == -EFAULT && get(FAR_START, 64) == -EFAULT);
	check_memory(36);
	fault("bar-unmapped off");
	check_good(37);
	CHECK(strstr(test_control("fault drop on vrnic0 5"), "error"));
	CHECK(strstr(test_control("fault nothing on"), "error"));
	CHECK(strstr(test_control("fault high-fail on vrnic0 bits=64"), "error"));
	CHECK(!strcmp(test_control("faults"), ".\n"));
}

static void test_bounce(void)
{
	fault("bounce on");
	CHECK(put(BAR + 100, 20000, 40) == -EFAULT);
	CHECK(!test_put(0, 0, 8, MEMORY + 0x8000, 8));
	memset(memory + 0x8000, 0, 8192);
	clear_log();
	check_good(41);
	CHECK(test_logged("vrnic0 0x10008000 4096 write bounce mapped\n"));
	CHECK(memory[0x8000] || memory[0x8001]);
	fault("bounce off");
	clear_log();
	memset(memory + 0x8000, 0, 8192);
	check_good(42);
	CHECK(!memory[0x8000] && !memory[0x8001] && !test_logged("bounce"));
}

static void test_slow(void)
{
	struct timespec begin, end;

	fault("slow on 50000");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!put(BAR, 4 * PAGE, 43));
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 >= 200);
	fault("slow off");
	clock_gettime(CLOCK_MONOTONIC, &begin);
	CHECK(!put(BAR, 4 * PAGE, 43));
	clock_gettime(CLOCK_MONOTONIC, &end);
	CHECK((end.tv_sec - begin.tv_sec) * 1000 + (end.tv_nsec - begin.tv_nsec) / 1000000 < 200);
}

#define COMMAND		4
#define BAR0		0x10

/* What a driver wrote, and what came of it. */
static void use(void)
{
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2) && !test_put(0, CONFIG, BAR0, 0xfe000000, 4));
	CHECK(!test_put(0, CONFIG, ATS_CONTROL, 0x8000, 2));
	check_good(44);
	CHECK(!test_put(0, CONFIG, MSIX_CONTROL, 0xc000, 2));
	CHECK(test_get(0, CONFIG, BAR0, 4) == 0xfe000000 && test_get(0, 4, 0x800, 8));
	CHECK(state_of("atc-entries ") > 0);
}

static void check_gone(void)
{
	CHECK(test_get(0, CONFIG, 0, 4) == 0xffffffff);
	CHECK(test_get(0, 0, 0, 4) == 0xffffffff);
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2) && !test_put(0, CONFIG, BAR0, 0xfd000000, 4));
}

/* As when its power came on, but for what QEMU says of memory. */
static void check_new(void)
{
	CHECK(test_get(0, CONFIG, 0, 4) == 0x00011234);
	CHECK(test_get(0, CONFIG, COMMAND, 2) == 0 && test_get(0, CONFIG, BAR0, 4) == 0);
	CHECK(test_get(0, CONFIG, MSIX_CONTROL, 2) == 1);
	CHECK(test_get(0, CONFIG, ATS_CONTROL, 2) == 0 && state_of("atc-entries ") == 0);
	CHECK(test_get(0, 0, 0, 4) == 0xffffffff);
	CHECK(!test_put(0, CONFIG, COMMAND, 2, 2));
	CHECK(test_get(0, 0, 0, 4) == test_jobs[0].done && !test_get(0, 4, 0x800, 8));
	CHECK(put(BAR, 64, 45) == -EFAULT);
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2));
	check_good(46);
	CHECK(!test_put(0, CONFIG, COMMAND, 0, 2));
}

static void test_gone(void)
{
	unsigned int resets = test_jobs[0].resets;

	use();
	fault("gone off");
	CHECK(test_jobs[0].resets == resets && test_get(0, CONFIG, COMMAND, 2) == 6);
	fault("gone on");
	check_gone();
	CHECK(test_jobs[0].resets == resets);
	fault("gone off");
	CHECK(test_jobs[0].resets == resets + 1);
	check_new();
	use();
	fault("gone on vrnic0");
	check_gone();
	CHECK(!test_ask(0, MESSAGE_RESET, NULL, 0, -1, NULL, 0));
	check_new();
	CHECK(!test_put(0, CONFIG, COMMAND, 6, 2));
	check_good(47);
}

static uint64_t number_at(const void *at)
{
	uint64_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

static void check_atomics(uint64_t iova, uint8_t *at)
{
	struct test_job *job = &test_jobs[0];

	memset(at, 0, 8);
	job->operand1 = 5;
	CHECK(!test_run(0, TEST_ADD, iova, 8) && job->before == 0 && number_at(at) == 5);
	CHECK(!test_run(0, TEST_ADD, iova, 8) && job->before == 5 && number_at(at) == 10);
	job->operand2 = 7;
	CHECK(!test_run(0, TEST_SWAP, iova, 8) && job->before == 10 && number_at(at) == 10);
	job->operand1 = 10;
	CHECK(!test_run(0, TEST_SWAP, iova, 8) && job->before == 10 && number_at(at) == 7);
	CHECK(test_run(0, TEST_ADD, iova + 4, 8) == -EINVAL);
}

static void test_atomics(void)
{
	struct test_job *job = &test_jobs[0];

	check_atomics(MEMORY + 64, memory + 64);
	check_atomics(BAR + 64, bar + 64);
	check_atomics(FAR_START + 64, test_far + 64);
	fault("drop on");
	CHECK(!test_run(0, TEST_ADD, BAR + 64, 8) && job->before == 7 && number_at(bar + 64) == 7);
	fault("drop off");
	fault("mirror on");
	CHECK(!test_run(0, TEST_ADD, BAR + 64, 8) && !test_run(0, TEST_ADD, BAR + 64, 8));
	CHECK(job->before == 17 && number_at(bar + 64) == 7);
	fault("mirror off");
}

static unsigned int raised(int fd)
{
	uint64_t count;

	return read(fd, &count, sizeof(count)) == sizeof(count) ? (unsigned int)count : 0;
}

static void set_irqs(uint32_t flags, int fd)
{
	const uint32_t body[5] = { 20, flags, 2, 0, 1 };

	CHECK(!test_ask(0, MESSAGE_SET_IRQS, body, sizeof(body), fd, NULL, 0));
}

static void test_interrupts(void)
{
	int fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC), pipes[2];
	const uint32_t body[5] = { 20, 0x24, 2, 0, 1 };

	CHECK(!pipe(pipes));
	CHECK(test_ask(0, MESSAGE_SET_IRQS, body, sizeof(body), pipes[1], NULL, 0) == EINVAL);
	set_irqs(0x24, fd);
	raised(fd);
	CHECK(!put(BAR, 64, 50) && !raised(fd));
	CHECK(test_get(0, 4, 0x800, 8) == 1);
	CHECK(!test_put(0, CONFIG, MSIX_CONTROL, 0x8000, 2));
	CHECK(raised(fd) == 1 && test_get(0, 4, 0x800, 8) == 0);
	CHECK(!put(BAR, 64, 51) && !test_get(0, 0, 0, 4) == 0 && raised(fd) == 1);
	set_irqs(0x9, -1);
	CHECK(!put(BAR, 64, 52) && test_get(0, 4, 0x800, 8) == 1 && !raised(fd));
	set_irqs(0x11, -1);
	CHECK(raised(fd) == 1);
	set_irqs(0x24, -1);
	CHECK(!put(BAR, 64, 53) && test_get(0, 4, 0x800, 8) == 1 && !raised(fd));
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

/* While one function waits for QEMU, requests of all are answered, also resets. */
static void test_waiting(void)
{
	struct test_job *job = &test_jobs[0];
	unsigned int done = job->done, resets = job->resets;

	connect_all(1);
	clear_log();
	job->op = TEST_READ;
	job->iova = FAR_START;
	job->length = 64;
	test_tell(0);
	CHECK(test_get(1, 0, 0, 4) == test_jobs[1].done);
	CHECK(job->done == done);
	CHECK(!test_ask(0, MESSAGE_RESET, NULL, 0, -1, NULL, 0));
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	for (int i = 0; i < 5000 && __atomic_load_n(&job->resets, __ATOMIC_ACQUIRE) == resets; i++)
		test_serve(0, 1);
	CHECK(job->done == done + 1 && job->resets == resets + 1);
	check_good(54);
	test_disconnect(1);
}

static void test_gone_qemu(void)
{
	struct test_job *job = &test_jobs[0];
	unsigned int resets = job->resets, done = job->done;

	job->op = TEST_READ;
	job->iova = FAR_START;
	job->length = 64;
	test_tell(0);
	CHECK(job->done == done);
	test_disconnect(0);
	connect_all(0);
	CHECK(job->done == done + 1 && job->result == -EFAULT && job->resets > resets);
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	check_good(55);
}

static void test_flr(void)
{
	unsigned int resets = test_jobs[0].resets;

	CHECK(!test_put(0, CONFIG, 0x48, 0xa810, 2));
	CHECK(test_jobs[0].resets == resets + 1);
	CHECK(test_get(0, CONFIG, 4, 2) == 0 && test_get(0, CONFIG, 0x48, 2) == 0x2810);
	CHECK(!test_put(0, CONFIG, 4, 2, 2));
	CHECK(put(BAR, 64, 56) == -EFAULT);
	CHECK(!test_put(0, CONFIG, 4, 6, 2));
	check_good(57);
}

static void test_taken_away(void)
{
	clear_log();
	CHECK(!ftruncate(bar_fd, PAGE));
	CHECK(put(BAR + 2 * PAGE, 64, 58) == -EFAULT);
	CHECK(test_logged("vrnic0 0x40002000 64 write error mapped\n"));
	CHECK(!ftruncate(bar_fd, BAR_SIZE));
	check_good(59);
}

/* Connections that cannot be accepted wait, and the server sleeps meanwhile. */
static void test_no_descriptors(void)
{
	static const char words[] = "functions\n", accept[] = "no connection is accepted";
	struct pollfd control = { .events = POLLIN }, function = { .events = POLLIN };
	unsigned int used;

	test_no_more_files(true);
	control.fd = test_socket("control");
	function.fd = test_socket("vrnic1");
	CHECK(write(control.fd, words, sizeof(words) - 1) == sizeof(words) - 1);
	used = test_processor_ms();
	CHECK(!poll(&control, 1, 1000));
	CHECK(test_processor_ms() - used < 200);
	CHECK(test_said(accept) == 1);
	/* The one that is there is served all the same. */
	CHECK(test_get(0, CONFIG, 0, 4) == 0x00011234);
	test_no_more_files(false);
	CHECK(poll(&control, 1, 5000) == 1);
	close(control.fd);
	for (int i = 0; i < 500 && !strstr(test_control("functions"), "vrnic1 connected"); i++)
		usleep(10000);
	CHECK(strstr(test_control("functions"), "vrnic1 connected"));
	close(function.fd);
	test_no_more_files(true);
	control.fd = test_socket("control");
	CHECK(!poll(&control, 1, 300));
	test_no_more_files(false);
	close(control.fd);
	CHECK(!strcmp(test_control("faults"), ".\n") && test_said(accept) == 2);
	check_good(60);
}

/* What takes memory, on the other function. Where there is none, it ends early. */
static void use_the_other(void)
{
	test_control("faults");
	connect_all(1);
	test_get(1, CONFIG, 0, 4);
	fault("mirror on vrnic1");
	fill(test_jobs[1].data, 64, 61);
	test_run(1, TEST_WRITE, BAR, 64);
	test_run(1, TEST_READ, FAR_START, 64);
	fault("late on vrnic1");
	fault("mirror off vrnic1");
	test_run(1, TEST_WRITE, BAR, 64);
}

static void run_quietly(void (*run)(void))
{
	pid_t child = fork();
	int status;

	CHECK(child >= 0);
	if (!child) {
		freopen("/dev/null", "w", stderr);
		run();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
}

/* Each allocation in turn fails, and the server lives on. */
static void test_no_memory(void)
{
	unsigned int *starve = &test_jobs[0].starve, at = 0;

	do {
		__atomic_store_n(starve, ++at, __ATOMIC_RELEASE);
		run_quietly(use_the_other);
		if (__atomic_load_n(starve, __ATOMIC_ACQUIRE))
			break;
		fault("mirror off vrnic1");
		fault("late off vrnic1");
		check_good((uint8_t)at);
	} while (at < 200);
	CHECK(at > 10 && at < 200);
	__atomic_store_n(starve, 0, __ATOMIC_RELEASE);
	fault("late off vrnic1");
	connect_all(1);
	test_disconnect(1);
	check_good(62);
}

int main(void)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} tests[] = {
		{ "reach", test_reach },
		{ "rights", test_rights },
		{ "regions", test_regions },
		{ "cache", test_cache },
		{ "stale", test_stale },
		{ "drop", test_drop },
		{ "mirror", test_mirror },
		{ "reads", test_reads },
		{ "late", test_late },
		{ "failures", test_failures },
		{ "bounce", test_bounce },
		{ "slow", test_slow },
		{ "gone", test_gone },
		{ "atomics", test_atomics },
		{ "interrupts", test_interrupts },
		{ "waiting", test_waiting },
		{ "gone_qemu", test_gone_qemu },
		{ "flr", test_flr },
		{ "taken_away", test_taken_away },
		{ "no_descriptors", test_no_descriptors },
		{ "no_memory", test_no_memory },
	};

	memory_fd = file_of("memory-backend-memfd", MEMORY_SIZE, &memory);
	bar_fd = file_of("bar", BAR_SIZE, &bar);
	test_start();
	connect_all(0);
	for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
		printf("%s\n", tests[i].name);
		fflush(stdout);
		tests[i].run();
	}
	test_disconnect(0);
	test_stop();
	return 0;
}

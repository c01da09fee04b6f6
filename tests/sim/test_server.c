// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "control.h"
#include "core.h"
#include "dma.h"
#include "guard.h"
#include "log.h"
#include "loop.h"
#include "test_memory.h"
#include "test_server.h"
#include "vgpu.h"

#define PATIENCE	20000	/* ms */
#define REGISTERS	4096

struct test_job *test_jobs;
const char *test_directory;
uint8_t test_far[FAR_LENGTH];
unsigned int test_messages;
size_t test_longest;

static char directory[sizeof("/tmp/sim-test-XXXXXX")];
static pid_t server;
static int said = -1;
static int connections[TEST_FUNCTIONS];
static uint16_t last_id;

/* The device: a write to its register starts the job. */

static int tester_create(struct function *function, const char *options)
{
	(void)options;
	function->private = &test_jobs[function->name[strlen(function->name) - 1] - '0'];
	function->vectors = 2;
	function->bars[0] = (struct bar){ .size = REGISTERS, .fd = -1 };
	config_begin(&function->config, 0x1234, 0x0001, 0xff0000);
	config_bar(&function->config, 0, REGISTERS, false, false);
	config_express(&function->config);
	config_msix(&function->config, 2, 4);
	config_ats(&function->config);
	return 0;
}

static uint64_t tester_read(struct function *function, unsigned int bar, uint64_t offset,
			    unsigned int size)
{
	const struct test_job *job = function->private;

	(void)bar;
	(void)size;
	return offset ? UINT64_MAX : job->done;
}

static int do_job(struct function *function, struct test_job *job)
{
	switch (job->op) {
	case TEST_READ:
		return dma_read(function, job->iova, job->data, job->length);
	case TEST_WRITE:
		return dma_write(function, job->iova, job->data, job->length);
	case TEST_SWAP:
		return dma_atomic(function, job->iova, DMA_COMPARE_SWAP, job->operand1,
				  job->operand2, &job->before);
	case TEST_ADD:
		return dma_atomic(function, job->iova, DMA_FETCH_ADD, job->operand1, job->operand2,
				  &job->before);
	}
	return -EINVAL;
}

static void finish(struct function *function, int result)
{
	struct test_job *job = function->private;

	job->result = result;
	__atomic_store_n(&job->done, job->done + 1, __ATOMIC_RELEASE);
	function_interrupt(function, 0);
}

static void work(void *arg)
{
	struct function *function = arg;
	struct test_job *job = function->private;
	int result;

	function->own_queues = job->own_queues;
	result = do_job(function, job);
	function->own_queues = false;
	finish(function, result);
}

static void tester_write(struct function *function, unsigned int bar, uint64_t offset,
			 unsigned int size, uint64_t value)
{
	(void)bar;
	(void)size;
	if (offset == 8)
		function_bounce(function, value, 8192);
	else if (loop_defer(work, function))
		finish(function, -ENOMEM);
}

static void tester_reset(struct function *function)
{
	struct test_job *job = function->private;

	__atomic_store_n(&job->resets, job->resets + 1, __ATOMIC_RELEASE);
}

static void tester_destroy(struct function *function)
{
	loop_forget(function);
}

static const struct device tester = {
	.kind = "vrnic",
	.create = tester_create,
	.read = tester_read,
	.write = tester_write,
	.reset = tester_reset,
	.destroy = tester_destroy,
};

static void stop(int fd, short events, void *arg)
{
	(void)fd;
	(void)events;
	(void)arg;
	loop_stop();
}

static void serve_functions(int end)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	starve_at = &test_jobs[0].starve;
	CHECK(dup2(said, STDERR_FILENO) == STDERR_FILENO);
	guard_begin();
	CHECK(!log_open(directory));
	CHECK(!control_open(directory));
	CHECK(!loop_add(end, POLLIN, stop, NULL));
	loop_urgent(end);
	for (unsigned int i = 0; i < TEST_FUNCTIONS; i++)
		CHECK(!function_add(&tester, ""));
	CHECK(!function_add(&vgpu_device, "aperture=1M,memory=2M"));
	for (struct function *function = functions; function; function = function->next)
		CHECK(!client_listen(function, directory));
	CHECK(!loop_run());
	clients_end();
	control_close();
	functions_free();
	log_close();
}

static int end_pipe[2];

static const char *all_said(void)
{
	static char text[1 << 16];
	ssize_t length = pread(said, text, sizeof(text) - 1, 0);

	text[length > 0 ? length : 0] = 0;
	return text;
}

static void pass_on(void)
{
	fputs(all_said(), stderr);
}

void test_start(void)
{
	strcpy(directory, "/tmp/sim-test-XXXXXX");
	CHECK(mkdtemp(directory));
	test_directory = directory;
	test_jobs = mmap(NULL, TEST_FUNCTIONS * sizeof(*test_jobs), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(test_jobs != MAP_FAILED);
	CHECK(!pipe(end_pipe));
	said = memfd_create("said", MFD_CLOEXEC);
	CHECK(said >= 0);
	server = fork();
	CHECK(server >= 0);
	if (server) {
		CHECK(!atexit(pass_on));
		return;
	}
	close(end_pipe[1]);
	serve_functions(end_pipe[0]);
	exit(0);
}

void test_stop(void)
{
	char path[128];
	int status;

	close(end_pipe[1]);
	CHECK(waitpid(server, &status, 0) == server);
	CHECK(WIFEXITED(status) && !WEXITSTATUS(status));
	snprintf(path, sizeof(path), "%s/access.log", directory);
	CHECK(!unlink(path));
	CHECK(!rmdir(directory));
}

/* The other end. */

int test_socket(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK(fd >= 0);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/%s", directory, name);
	for (int i = 0; i < PATIENCE / 10; i++) {
		if (!connect(fd, (struct sockaddr *)&address, sizeof(address)))
			return fd;
		usleep(10000);
	}
	CHECK(!"the server listens");
	return -1;
}

static void send_message(unsigned int function, struct message_head head, const void *body,
			 size_t length, int fd)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = {
		.align = { .cmsg_level = SOL_SOCKET,
			   .cmsg_type = SCM_RIGHTS,
			   .cmsg_len = CMSG_LEN(sizeof(int)) },
	};
	struct iovec parts[2] = { { &head, sizeof(head) }, { (void *)body, length } };
	struct msghdr message = { .msg_iov = parts, .msg_iovlen = 2 };

	head.size = (uint32_t)(sizeof(head) + length);
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
	}
	CHECK(sendmsg(connections[function], &message, MSG_NOSIGNAL) == (ssize_t)head.size);
}

static bool receive_all(int fd, void *to, size_t length)
{
	return !length || recv(fd, to, length, MSG_WAITALL) == (ssize_t)length;
}

static void serve_far(unsigned int function, struct message_head head, const uint8_t *body,
		      size_t length)
{
	static uint8_t answer[16 + MESSAGE_TRANSFER];
	uint64_t iova, count, at;

	memcpy(&iova, body, sizeof(iova));
	memcpy(&count, body + 8, sizeof(count));
	at = iova - FAR_START;
	head.flags = MESSAGE_REPLY;
	test_messages++;
	if (count > test_longest)
		test_longest = count;
	if (at > FAR_LENGTH || count > FAR_LENGTH - at) {
		head.flags |= MESSAGE_ERROR;
		head.error = EFAULT;
		send_message(function, head, NULL, 0, -1);
		return;
	}
	memcpy(answer, body, 16);
	if (head.command == MESSAGE_DMA_READ) {
		memcpy(answer + 16, test_far + at, count);
		send_message(function, head, answer, 16 + count, -1);
		return;
	}
	CHECK(head.command == MESSAGE_DMA_WRITE && length == 16 + count);
	memcpy(test_far + at, body + 16, count);
	send_message(function, head, NULL, 0, -1);
}

static bool receive_message(unsigned int function, int milliseconds, struct message_head *head,
			    uint8_t *body)
{
	struct pollfd ready = { .fd = connections[function], .events = POLLIN };

	if (poll(&ready, 1, milliseconds) != 1)
		return false;
	CHECK(receive_all(ready.fd, head, sizeof(*head)));
	CHECK(head->size >= sizeof(*head) && head->size - sizeof(*head) <= MESSAGE_BODY);
	CHECK(receive_all(ready.fd, body, head->size - sizeof(*head)));
	return true;
}

bool test_serve(unsigned int function, int milliseconds)
{
	static uint8_t body[MESSAGE_BODY];
	struct message_head head;

	if (!receive_message(function, milliseconds, &head, body))
		return false;
	CHECK((head.flags & MESSAGE_TYPE) == MESSAGE_REQUEST);
	serve_far(function, head, body, head.size - sizeof(head));
	return true;
}

int test_ask(unsigned int function, uint16_t command, const void *body, size_t length, int fd,
	     void *answer, size_t answer_length)
{
	struct message_head head = { .id = ++last_id, .command = command }, got;
	static uint8_t buffer[MESSAGE_BODY];

	send_message(function, head, body, length, fd);
	for (;;) {
		CHECK(receive_message(function, PATIENCE, &got, buffer));
		if ((got.flags & MESSAGE_TYPE) == MESSAGE_REPLY)
			break;
		/* Kept from its answer until the own one came: QEMU's lock is held as long. */
		static uint8_t asked[MESSAGE_BODY];
		struct message_head request = got;

		memcpy(asked, buffer, got.size - sizeof(got));
		CHECK(receive_message(function, PATIENCE, &got, buffer));
		serve_far(function, request, asked, request.size - sizeof(request));
		break;
	}
	CHECK((got.flags & MESSAGE_TYPE) == MESSAGE_REPLY);
	CHECK(got.id == head.id && got.command == command);
	if (got.flags & MESSAGE_ERROR)
		return (int)got.error;
	if (answer) {
		CHECK(got.size - sizeof(got) >= answer_length);
		memcpy(answer, buffer, answer_length);
	}
	return 0;
}

int test_put(unsigned int function, uint32_t region, uint64_t offset, uint64_t value, uint32_t size)
{
	struct {
		uint64_t offset;
		uint32_t region, count;
		uint64_t value;
	} body = { offset, region, size, value };

	return test_ask(function, MESSAGE_REGION_WRITE, &body, 16 + size, -1, NULL, 0);
}

uint64_t test_get(unsigned int function, uint32_t region, uint64_t offset, uint32_t size)
{
	struct {
		uint64_t offset;
		uint32_t region, count;
		uint64_t value;
	} body = { offset, region, size, 0 };

	CHECK(!test_ask(function, MESSAGE_REGION_READ, &body, 16, -1, &body, 16 + size));
	return body.value;
}

int test_map(unsigned int function, struct test_region region)
{
	struct {
		uint32_t argsz, flags;
		uint64_t offset, iova, size;
	} body = { sizeof(body), region.flags ? region.flags : 3, region.offset, region.iova,
		   region.size };

	return test_ask(function, MESSAGE_DMA_MAP, &body, sizeof(body), region.fd, NULL, 0);
}

int test_unmap(unsigned int function, uint64_t iova, uint64_t size)
{
	struct {
		uint32_t argsz, flags;
		uint64_t iova, size;
	} body = { sizeof(body), 0, iova, size };

	return test_ask(function, MESSAGE_DMA_UNMAP, &body, sizeof(body), -1, NULL, 0);
}

void test_connect(unsigned int function)
{
	static const char version[] = "\0\0\0\0{\"capabilities\":{\"max_data_xfer_size\":65536}}";
	char name[] = "vrnic0";

	name[5] = (char)('0' + function);
	connections[function] = test_socket(name);
	CHECK(!test_ask(function, MESSAGE_VERSION, version, sizeof(version), -1, NULL, 0));
	CHECK(!test_put(function, 7, 4, 6, 2));
}

void test_disconnect(unsigned int function)
{
	close(connections[function]);
}

void test_tell(unsigned int function)
{
	CHECK(!test_put(function, 0, 0, 1, 4));
}

int test_run(unsigned int function, enum test_op op, uint64_t iova, uint64_t length)
{
	struct test_job *job = &test_jobs[function];
	unsigned int before = job->done;

	job->op = op;
	job->iova = iova;
	job->length = length;
	test_tell(function);
	for (int i = 0; __atomic_load_n(&job->done, __ATOMIC_ACQUIRE) == before; i++) {
		CHECK(i < PATIENCE);
		test_serve(function, 1);
	}
	return job->result;
}

const char *test_control(const char *command)
{
	static char answer[1 << 20];
	int fd = test_socket("control");
	size_t length = 0;

	CHECK(write(fd, command, strlen(command)) == (ssize_t)strlen(command) &&
	      write(fd, "\n", 1) == 1);
	while (length < 2 || strcmp(answer + length - 2, ".\n") ||
	       (length > 2 && answer[length - 3] != '\n')) {
		ssize_t got = read(fd, answer + length, sizeof(answer) - 1 - length);

		CHECK(got > 0);
		length += (size_t)got;
		answer[length] = 0;
	}
	close(fd);
	return answer;
}

bool test_logged(const char *text)
{
	return strstr(test_control("log"), text);
}

unsigned int test_said(const char *text)
{
	unsigned int count = 0;

	for (const char *at = all_said(); (at = strstr(at, text)); at++)
		count++;
	return count;
}

/* It sleeps, so that it has seen all that was closed. */
static bool is_idle(void)
{
	char path[64], state = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", server);
	file = fopen(path, "r");
	CHECK(file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
	fclose(file);
	return state == 'S';
}

/* poll() wants the limit to be no less than what it looks at. */
static unsigned int first_free(void)
{
	char path[64], target[8];
	unsigned int fd = 0;

	do
		snprintf(path, sizeof(path), "/proc/%d/fd/%u", server, fd++);
	while (readlink(path, target, sizeof(target)) >= 0);
	return fd - 1;
}

void test_no_more_files(bool none)
{
	struct rlimit limit;

	while (!is_idle())
		usleep(1000);
	CHECK(!prlimit(server, RLIMIT_NOFILE, NULL, &limit));
	limit.rlim_cur = none ? first_free() : limit.rlim_max;
	CHECK(!prlimit(server, RLIMIT_NOFILE, &limit, NULL));
}

unsigned int test_processor_ms(void)
{
	struct timespec time;
	clockid_t clock;

	CHECK(!clock_getcpuclockid(server, &clock) && !clock_gettime(clock, &time));
	return (unsigned int)(time.tv_sec * 1000 + time.tv_nsec / 1000000);
}

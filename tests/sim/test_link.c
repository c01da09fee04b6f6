// SPDX-License-Identifier: GPL-2.0-only
/* Two servers, each a process, and a peer that sends what no server does. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "loop.h"
#include "test_vrnic.h"

#define SIZE	(4u << 20)
#define LISTENER_LID	1
#define CONNECTOR_LID	100
#define FUZZ_ROUNDS	3000

struct side {
	struct machine machine;
	struct queue send, receive;
	struct pair pair, datagrams;
	struct buffer buffer;
};

static char path[64];

static uint8_t pattern(uint64_t i)
{
	return i * 13 + (i >> 9);
}

/* Both sides name their objects alike, so that none has to be told. */
static void side_open(struct side *side, uint16_t peer)
{
	uint64_t i;

	machine_make(&side->machine);
	queue_make(&side->machine, &side->send, 1, 64);
	queue_make(&side->machine, &side->receive, 2, 64);
	pair_make(&side->machine, &side->pair, 1, VRNIC_QP_RC, &side->send, &side->receive);
	pair_make(&side->machine, &side->datagrams, 2, VRNIC_QP_UD, &side->send, &side->receive);
	buffer_make(&side->machine, &side->buffer, 1, SIZE, ALL);
	for (i = 0; i < SIZE; i++)
		side->buffer.bytes[i] = peer == LISTENER_LID ? pattern(i) : 0;
	pair_connect(&side->datagrams, peer, 2);
	pair_connect(&side->pair, peer, 1);
}

static bool wait_for(struct queue *queue, struct vrnic_completion *completion)
{
	unsigned int i;

	for (i = 0; i < 5000; i++) {
		if (queue_poll(queue, completion))
			return true;
		rig_run_for(1000);
	}
	return false;
}

static bool wait_for_port(struct machine *machine, uint32_t state)
{
	unsigned int i;
	uint32_t number;

	for (i = 0; i < 5000; i++) {
		if (machine_event_of(machine, 0, VRNIC_EVENT_PORT, &number) && number == state)
			return true;
		rig_run_for(1000);
	}
	return false;
}

static void datagram_to(struct side *side, uint16_t lid, uint64_t id)
{
	struct vrnic_send_wr wr = wr_of(VRNIC_WR_SEND, id, &side->buffer, 0, 2000);

	wr.destination_lid = lid;
	wr.destination_qp = 2;
	wr.qkey = RIG_QKEY;
	pair_post(&side->datagrams, &wr);
}

/* Sends, writes, reads, adds, then tells that it is done. */
static int run_connector(void)
{
	struct side *side = calloc(1, sizeof(*side));
	struct vrnic_completion completion;
	char spec[80];
	unsigned int i;

	rig_failures = 0;
	snprintf(spec, sizeof(spec), "connect:%s", path);
	vrnic_set_first_lid(CONNECTOR_LID);
	side_open(side, LISTENER_LID);
	CHECK(vrnic_fabric_open(spec) == 0);
	CHECK(wait_for_port(&side->machine, 1));
	for (i = 0; i < 5; i++) {
		static const unsigned int opcodes[] = { VRNIC_WR_SEND, VRNIC_WR_WRITE,
							VRNIC_WR_READ, VRNIC_WR_FETCH_ADD,
							VRNIC_WR_SEND };
		struct vrnic_send_wr wr = wr_remote(opcodes[i], i, &side->buffer,
						    i == 3 ? 8 : SIZE, &side->buffer, 0);

		if (i == 4)
			wr.sge[0].length = 8;
		pair_post(&side->pair, &wr);
		CHECK(wait_for(&side->send, &completion) && completion.id == i);
		CHECK(completion.status == VRNIC_WC_OK);
	}
	datagram_to(side, LISTENER_LID, 9);
	CHECK(wait_for(&side->send, &completion) && completion.id == 9);
	/* The listener goes: the port with it, and what is asked of it fails. */
	CHECK(wait_for_port(&side->machine, 0));
	pair_post(&side->pair, &(struct vrnic_send_wr){ .id = 10, .opcode = VRNIC_WR_SEND });
	CHECK(wait_for(&side->send, &completion) && completion.id == 10);
	CHECK(completion.status == VRNIC_WC_RETRIES);
	vrnic_fabric_close();
	machine_free(&side->machine);
	free(side);
	return rig_failures ? 1 : 0;
}

static void serve_connector(struct side *side)
{
	struct vrnic_completion completion;
	uint64_t i, wrong = 0;

	pair_receive(&side->pair, 1, &side->buffer, 0, SIZE);
	pair_receive(&side->pair, 2, &side->buffer, 8, 8);
	pair_receive(&side->datagrams, 3, &side->buffer, 4096, 4096);
	CHECK(wait_for_port(&side->machine, 1));
	CHECK(wait_for(&side->receive, &completion) && completion.id == 1);
	CHECK(completion.length == SIZE && completion.source_lid == CONNECTOR_LID);
	CHECK(wait_for(&side->receive, &completion) && completion.id == 2);
	CHECK(wait_for(&side->receive, &completion) && completion.id == 3);
	CHECK(completion.length == 2040 && completion.source_qp == 2);
	for (i = 16; i < SIZE; i++)
		if (i < 4096 || i >= 8192)
			wrong += side->buffer.bytes[i] != pattern(i);
	CHECK(!wrong);
}

static pid_t start(int (*run)(void))
{
	pid_t child = fork();

	if (child)
		return child;
	_exit(run());
}

static void finish(pid_t child)
{
	int status = -1;

	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void name_path(const char *name)
{
	snprintf(path, sizeof(path), "/tmp/vrnic-%s-%d", name, (int)getpid());
}

static struct side *listener_open(void)
{
	struct side *side = calloc(1, sizeof(*side));
	char spec[80];

	snprintf(spec, sizeof(spec), "listen:%s", path);
	vrnic_set_first_lid(LISTENER_LID);
	side_open(side, CONNECTOR_LID);
	CHECK(vrnic_fabric_open(spec) == 0);
	CHECK(vrnic_device.read(&side->machine.function, 0, VRNIC_REG_PORT, 4) == 0);
	return side;
}

static void listener_close(struct side *side)
{
	vrnic_fabric_close();
	CHECK(access(path, F_OK) && errno == ENOENT);
	machine_free(&side->machine);
	free(side);
}

void test_link(void)
{
	struct side *side;
	pid_t child;

	name_path("link");
	fflush(stdout);
	child = start(run_connector);
	side = listener_open();
	serve_connector(side);
	rig_run_for(100000);
	listener_close(side);
	finish(child);
}

static int reach_listener(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	strcpy(address.sun_path, path);
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)))
		abort();
	return fd;
}

static uint64_t seed = 88172645463325252ull;

static uint64_t any(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static struct frame_head greeting(void)
{
	return (struct frame_head){ .op = FRAME_HELLO, .key = FRAME_MAGIC,
				    .source_lid = CONNECTOR_LID, .psn = 4 };
}

/* Near enough to what is right to get far, wrong in any field. */
static struct frame_head odd_head(void)
{
	struct frame_head head = {
		.op = any() % 64 ? FRAME_SEND + any() % (FRAME_OPS - FRAME_SEND) : any(),
		.flags = any(), .source_lid = CONNECTOR_LID,
		.destination_lid = any() % 8 ? LISTENER_LID : any(),
		.source_qp = any() % 8 ? 1 : any(), .destination_qp = 1 + any() % 2,
		.psn = (0xfffffc + any() % 6) & PSN_MASK, .code = any() % NAK_CODES,
		.timer = any(), .key = 0x15a, .qkey = RIG_QKEY,
		.address = 0x7f0100000000ull + any() % SIZE, .operand = { any() % SIZE, any() },
	};

	if (!(any() % 8))
		head.key = any();
	if (!(any() % 8))
		head.address = any();
	if (!(any() % 200))
		head.length = any();
	else if (head.op == FRAME_SEND || head.op == FRAME_WRITE || head.op == FRAME_READ_DATA)
		head.length = any() % 4 ? any() % (FRAME_SEGMENT + 1) : FRAME_SEGMENT;
	else if (head.op == FRAME_DATAGRAM)
		head.length = any() % (VRNIC_MTU + 1);
	return head;
}

static bool is_closed(int fd)
{
	char byte[4096];
	ssize_t count;

	do {
		count = recv(fd, byte, sizeof(byte), MSG_DONTWAIT);
	} while (count > 0);
	return !count || errno != EAGAIN;
}

/* False: the listener hung up. */
static bool send_odd(int fd)
{
	static uint8_t payload[FRAME_SEGMENT];
	struct frame_head head = odd_head();
	size_t length = head.length > FRAME_SEGMENT ? 0 : head.length;

	if (send(fd, &head, sizeof(head), MSG_NOSIGNAL) < 0)
		return false;
	while (length) {
		ssize_t count = send(fd, payload, length, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (count < 0 && errno != EAGAIN)
			return false;
		length -= count > 0 ? count : 0;
		rig_run_for(1000);
	}
	rig_run_for(100);
	return !is_closed(fd);
}

static void renew(struct side *side)
{
	struct pair *pair = &side->pair;
	struct vrnic_completion completion;
	unsigned int i;

	CHECK(pair_state(pair, VRNIC_QPS_RESET) == VRNIC_OK);
	pair_connect(pair, CONNECTOR_LID, 1);
	for (i = 0; i < 8; i++) {
		struct vrnic_send_wr wr = wr_remote(i % 2 ? VRNIC_WR_READ : VRNIC_WR_WRITE, i,
						    &side->buffer, 150000, &side->buffer, 0);

		pair_receive(pair, i, &side->buffer, 0, SIZE);
		pair_post(pair, &wr);
	}
	for (i = 0; i < 64; i++)
		pair_receive(&side->datagrams, i, &side->buffer, 0, SIZE);
	while (queue_poll(&side->send, &completion) || queue_poll(&side->receive, &completion))
		;
}

static void refused(const struct frame_head *head, size_t length)
{
	int fd = reach_listener();

	CHECK(send(fd, head, length, MSG_NOSIGNAL) == (ssize_t)length);
	rig_run_for(20000);
	CHECK(is_closed(fd));
	close(fd);
	rig_run_for(20000);
}

static void test_refusals(void)
{
	struct frame_head head = greeting();

	head.key++;
	refused(&head, sizeof(head));
	head = greeting();
	head.source_lid = 0;
	refused(&head, sizeof(head));
	head = greeting();
	head.source_lid = LISTENER_LID;
	refused(&head, sizeof(head));
	head = greeting();
	head.psn = PSN_MASK;
	refused(&head, sizeof(head));
	head = greeting();
	head.op = FRAME_ACK;
	refused(&head, sizeof(head));
	head = greeting();
	head.length = 1;
	refused(&head, sizeof(head));
}

/* Sends all, unless the listener hangs up. */
static bool send_all(int fd, const void *data, size_t length)
{
	size_t done = 0;

	while (done < length) {
		ssize_t count = send(fd, (const char *)data + done, length - done,
				     MSG_NOSIGNAL | MSG_DONTWAIT);

		if (count < 0 && errno != EAGAIN)
			return false;
		done += count > 0 ? count : 0;
		rig_run_for(100);
	}
	return true;
}

/* It asks and asks, and reads no answer. Data is held back; of answers without, there is an end. */
static void test_deaf_peer(struct side *side, int fd)
{
	static struct frame_head heads[1024];
	struct frame_head hello = greeting();
	unsigned int i, rounds = 0;

	if (fd >= 0)
		close(fd);
	rig_run_for(5000);
	fd = reach_listener();
	CHECK(send(fd, &hello, sizeof(hello), 0) == sizeof(hello));
	CHECK(pair_state(&side->pair, VRNIC_QPS_RESET) == VRNIC_OK);
	pair_connect(&side->pair, CONNECTOR_LID, 1);
	for (i = 0; i < 1024; i++)
		heads[i] = (struct frame_head){
			.op = i < 16 ? FRAME_READ : FRAME_SEND, .flags = FRAME_FIRST | FRAME_LAST,
			.source_lid = CONNECTOR_LID, .destination_lid = LISTENER_LID,
			.source_qp = 1, .destination_qp = 1, .key = 0x15a,
			.address = 0x7f0100000000ull, .operand = { SIZE },
			.psn = (0xfffffc + 64 * i) & PSN_MASK,
		};
	for (i = 16; i < 1024; i++)
		heads[i].psn = 0xfffffb;
	while (rounds < 2000 && send_all(fd, heads, sizeof(heads))) {
		CHECK(link_is_up() || rounds > 50);
		rounds++;
	}
	CHECK(rounds > 100 && rounds < 2000);
	CHECK(!link_is_up());
	close(fd);
}

void test_link_garbage(void)
{
	struct frame_head hello = greeting();
	unsigned int i, hung_up = 0;
	struct side *side;
	int fd = -1, two;

	name_path("garbage");
	side = listener_open();
	test_refusals();
	for (i = 0; i < FUZZ_ROUNDS; i++) {
		if (fd < 0) {
			fd = reach_listener();
			CHECK(send(fd, &hello, sizeof(hello), 0) == sizeof(hello));
			rig_run_for(2000);
			CHECK(!is_closed(fd));
		}
		if (i % 40 == 0)
			renew(side);
		if (send_odd(fd))
			continue;
		hung_up++;
		close(fd);
		fd = -1;
		rig_run_for(2000);
	}
	printf("hung up %u times\n", hung_up);
	CHECK(hung_up > 0 && hung_up < FUZZ_ROUNDS / 4);
	test_deaf_peer(side, fd);
	fd = -1;
	rig_run_for(5000);
	/* One peer at a time. */
	if (fd < 0)
		fd = reach_listener();
	rig_run_for(5000);
	two = reach_listener();
	rig_run_for(5000);
	CHECK(is_closed(two));
	close(two);
	CHECK(!is_closed(fd));
	close(fd);
	rig_run_for(5000);
	listener_close(side);
}

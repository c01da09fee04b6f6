// SPDX-License-Identifier: GPL-2.0-only
/*
 * libvpeer-preload.so: what a program that knows nothing of it gets. This program starts itself again with it
 * before the first case.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "aperture.h"
#include "cuda.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "rdma.h"
#include "vrnic.h"

#define SIZE	(64 * KIB)
#define AT	(5 * GRANULE)
#define OFF	4608		/* within a page */
#define JOURNAL	"/tmp/preload-journal"

__attribute__((constructor)) static void start_with_it(int argc, char **argv)
{
	(void)argc;
	if (getenv("LD_PRELOAD"))
		return;
	setenv("LD_PRELOAD", "/usr/$LIB/vpeer/libvpeer-preload.so", 1);
	setenv("VPEER_PRELOAD_LOG", JOURNAL, 1);
	execv("/proc/self/exe", argv);
	_exit(1);
}

struct set {
	struct rdma r;
	int fd;
	char *window;
	char *plain;
	struct ibv_mr *plain_mr;
};

static void begin(struct set *s)
{
	unlink(JOURNAL);
	rdma_open_device(&s->r, vrnic_device(0));
	rdma_connect(&s->r);
	s->fd = aperture_open();
	CHECK_OK(window_alloc_at(s->fd, AT, GRANULE, NULL));
	s->window = window_map(s->fd, AT, GRANULE);
	s->plain = plain_memory(SIZE);
	s->plain_mr = rdma_reg(&s->r, s->plain, SIZE);
}

static void end(struct set *s)
{
	CHECK_EQ(ibv_dereg_mr(s->plain_mr), 0);
	munmap(s->window, GRANULE);
	close(s->fd);
	rdma_close(&s->r);
}

/* Lines of the journal that have these words. */
static unsigned int told(const char *words)
{
	FILE *file = fopen(JOURNAL, "r");
	unsigned int count = 0;
	char line[2048];

	while (file && fgets(line, sizeof(line), file))
		count += strstr(line, words) != NULL;
	if (file)
		fclose(file);
	return count;
}

/* Bytes of ordinary memory arrive in the window, for its owner. */
static void check_write(struct set *s, uint64_t remote, uint32_t rkey, uint64_t offset, int seed)
{
	pattern_fill(s->plain, SIZE, seed);
	CHECK_EQ(rdma_write(&s->r, s->plain_mr, remote, rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(owner_is(AT + offset, s->plain, SIZE));
}

TEST(window, 60)
{
	struct ibv_mr *mr;
	struct set s;

	begin(&s);
	mr = rdma_reg(&s.r, s.window + OFF, SIZE);
	CHECK(mr);
	CHECK(mr->addr == s.window + OFF);
	CHECK_EQ(mr->length, SIZE);
	CHECK(mr->pd == s.r.pd && mr->context == s.r.context);
	CHECK_EQ(told("window, by dmabuf, on "), 1);
	CHECK(told("host, straight") >= 1);
	check_write(&s, (uintptr_t)s.window + OFF, mr->rkey, OFF, 31);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(rdma_write(&s.r, s.plain_mr, (uintptr_t)s.window + OFF, mr->rkey, SIZE),
		 IBV_WC_REM_ACCESS_ERR);
	end(&s);
}

/* The address in work requests is one that the program chose. */
TEST(window_at_iova, 60)
{
	uint64_t iova = (0x7000000000 & ~4095ULL) + OFF % 4096;
	struct ibv_mr *mr;
	struct set s;

	begin(&s);
	mr = ibv_reg_mr_iova(s.r.pd, s.window + OFF, SIZE, iova, RDMA_ACCESS);
	CHECK(mr);
	CHECK(mr->addr == s.window + OFF);
	check_write(&s, iova, mr->rkey, OFF, 32);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK(!ibv_reg_mr_iova(s.r.pd, s.window + OFF, SIZE, iova + 1, RDMA_ACCESS));
	CHECK_EQ(errno, EINVAL);
	end(&s);
}

static void check_unreadable(struct set *s, uint64_t iova)
{
	struct ibv_mr *mr = ibv_reg_mr_iova(s->r.pd, s->window, SIZE, iova, 0);

	CHECK(mr);
	rdma_connect(&s->r);
	pattern_fill(s->plain, SIZE, 33);
	CHECK_EQ(rdma_read(&s->r, s->plain_mr, iova, mr->rkey, SIZE), IBV_WC_REM_ACCESS_ERR);
	CHECK(pattern_is(s->plain, SIZE, 33));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
}

TEST(no_more_access_than_asked_for, 60)
{
	struct set s;

	begin(&s);
	memset(s.window, 0, SIZE);
	check_unreadable(&s, (uintptr_t)s.window);
	check_unreadable(&s, 0x7000000000);
	end(&s);
}

TEST(not_registered_again, 60)
{
	struct ibv_mr *mr;
	struct set s;

	begin(&s);
	mr = rdma_reg(&s.r, s.window, SIZE);
	CHECK(mr);
	CHECK_EQ(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			      IBV_ACCESS_LOCAL_WRITE), IBV_REREG_MR_ERR_INPUT);
	CHECK_EQ(errno, EOPNOTSUPP);
	check_write(&s, (uintptr_t)s.window, mr->rkey, 0, 34);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	end(&s);
}

TEST(domain_in_use, 60)
{
	struct ibv_mr *mr;
	struct ibv_pd *pd;
	struct set s;

	begin(&s);
	pd = ibv_alloc_pd(s.r.context);
	CHECK(pd);
	mr = ibv_reg_mr(pd, s.window, SIZE, RDMA_ACCESS);
	CHECK(mr);
	CHECK_EQ(ibv_dealloc_pd(pd), EBUSY);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	mr = ibv_reg_mr(pd, s.window, SIZE, RDMA_ACCESS);
	CHECK(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	CHECK_EQ(ibv_dealloc_pd(pd), 0);
	end(&s);
}

/* Nor does the window, when its program has given all of it up. */
TEST(no_descriptor_stays, 60)
{
	unsigned int before;
	struct ibv_mr *mr;
	struct set s;

	begin(&s);
	/* With what is kept for the protection domain. */
	mr = rdma_reg(&s.r, s.window, SIZE);
	CHECK(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	before = descriptors();
	for (int i = 0; i < 20; i++) {
		int fd = aperture_open();
		char *window;

		CHECK_OK(window_alloc_at(fd, AT + GRANULE, GRANULE, NULL));
		window = window_map(fd, AT + GRANULE, GRANULE);
		mr = rdma_reg(&s.r, window, SIZE);
		CHECK(mr);
		CHECK_EQ(ibv_dereg_mr(mr), 0);
		CHECK_OK(munmap(window, GRANULE));
		close(fd);
		CHECK_EQ(descriptors(), before);
		CHECK_EQ(aperture_stat("windows"), 1);
	}
	CHECK(told("window, by dmabuf, on ") >= 20);
	end(&s);
}

/* The errno is the library's, its words are for the journal alone. */
TEST(revoked, 60)
{
	struct set s;

	begin(&s);
	CHECK_OK(window_revoke(s.fd, AT, 1000, NULL));
	CHECK(!ibv_reg_mr(s.r.pd, s.window, SIZE, RDMA_ACCESS));
	CHECK_EQ(errno, ENODEV);
	CHECK_EQ(told("window, refused, on "), 1);
	CHECK_EQ(told("; to be mended by the "), 1);
	CHECK(!ibv_reg_mr(s.r.pd, s.window + GRANULE - SIZE, 2 * SIZE, RDMA_ACCESS));
	end(&s);
}

TEST(cuda_memory, 60)
{
	struct ibv_mr *mr;
	char *gpu_memory;
	struct set s;
	uint64_t at;

	begin(&s);
	cuda_load();
	cuda_use(cuda_add_memory(4 * MIB, &gpu_memory));
	at = cuda_alloc(2 * SIZE);
	mr = rdma_reg(&s.r, (void *)(at + OFF), SIZE);
	CHECK(mr);
	CHECK(mr->addr == (void *)(at + OFF));
	CHECK_EQ(told("cuda, by dmabuf, on "), 1);
	pattern_fill(s.plain, SIZE, 35);
	CHECK_EQ(rdma_write(&s.r, s.plain_mr, at + OFF, mr->rkey, SIZE), IBV_WC_SUCCESS);
	CHECK(!memcmp(gpu_memory + cuda.place(at) + OFF, s.plain, SIZE));
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	cuda_free(at);
	/* What is no pointer of anyone's is the kernel's to refuse. */
	CHECK(!ibv_reg_mr(s.r.pd, (void *)(at + OFF), SIZE, RDMA_ACCESS));
	CHECK_EQ(errno, EFAULT);
	end(&s);
}

static volatile int stop;

static void *go_on(void *argument)
{
	struct set *s = argument;

	while (!stop) {
		struct ibv_mr *window = ibv_reg_mr(s->r.pd, s->window, SIZE, RDMA_ACCESS);
		struct ibv_mr *plain = ibv_reg_mr(s->r.pd, s->plain, SIZE, RDMA_ACCESS);

		CHECK(window && plain);
		CHECK_EQ(ibv_dereg_mr(window), 0);
		CHECK_EQ(ibv_dereg_mr(plain), 0);
	}
	return NULL;
}

/* A child has a device, and memory, of its own. */
static void register_in_child(void *argument)
{
	struct ibv_mr *mr;
	struct rdma r;

	(void)argument;
	rdma_open_device(&r, vrnic_device(1));
	mr = rdma_reg(&r, plain_memory(SIZE), SIZE);
	CHECK(mr);
	CHECK_EQ(ibv_dereg_mr(mr), 0);
	rdma_close(&r);
}

static void register_nothing(void *argument)
{
	(void)argument;
	exit(0);
}

/* What the parent did is not told by a child that did nothing. */
TEST(totals_of_a_child, 60)
{
	struct set s;

	begin(&s);
	CHECK(told("host, straight") >= 1);
	test_in_child(register_nothing, NULL);
	CHECK_EQ(told("in all: "), 0);
	end(&s);
}

static void start_another(void *argument)
{
	(void)argument;
	execl("/bin/true", "true", (char *)NULL);
}

/* That it was there is told of a program that registered nothing. */
TEST(totals_of_nothing, 60)
{
	struct set s;

	begin(&s);
	test_in_child(start_another, NULL);
	CHECK_EQ(told("in all: 0 through libvpeer, 0 straight, 0 refused"), 1);
	end(&s);
}

static void register_unheard(void *argument)
{
	setenv("VPEER_PRELOAD_LOG", "/no/such/journal", 1);
	CHECK(freopen(JOURNAL, "a", stderr));
	register_in_child(argument);
	register_in_child(argument);
}

/* Once, where it is seen. */
TEST(no_file_for_the_journal, 60)
{
	struct set s;

	begin(&s);
	test_in_child(register_unheard, NULL);
	CHECK_EQ(told("cannot open VPEER_PRELOAD_LOG=/no/such/journal: No such file"), 1);
	end(&s);
}

TEST(threads_and_forks, 90)
{
	pthread_t threads[4];
	struct set s;

	begin(&s);
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, go_on, &s), 0);
	for (int i = 0; i < 10; i++)
		test_in_child(register_in_child, NULL);
	stop = 1;
	for (size_t i = 0; i < ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	CHECK(told("window, by dmabuf, on ") >= ARRAY_SIZE(threads));
	end(&s);
}

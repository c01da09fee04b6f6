// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the library finds out of a real GPU's memory, and the DMA-bufs that the driver
 * makes for it. The last line counts; the status is 0, 1 when one failed, 77 when
 * there is no GPU.
 */
#include <dirent.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "driver.h"
#include "memory.h"

#define SIZE		((size_t)4 << 20)
#define ROUNDS		100
#define BUFFER_ID	7
#define SYNC_MEMOPS	6

enum { FAILED = 1, SKIPPED = 2 };

static jmp_buf out;
static char said[512];
static struct vpeer_finder *finder;

void check_fail(int line, const char *format, ...)
{
	int used = snprintf(said, sizeof(said), "line %d: ", line);
	va_list args;

	va_start(args, format);
	vsnprintf(said + used, sizeof(said) - (size_t)used, format, args);
	va_end(args);
	longjmp(out, FAILED);
}

void check_skip(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(said, sizeof(said), format, args);
	va_end(args);
	longjmp(out, SKIPPED);
}

void check_call(int line, const char *call, int result)
{
	if (result)
		check_fail(line, "%s: error %d", call, result);
}

static unsigned int descriptors(void)
{
	DIR *directory = opendir("/proc/self/fd");
	unsigned int count = 0;

	while (directory && readdir(directory))
		count++;
	closedir(directory);
	return count;
}

static void find(uint64_t at, uint64_t length, struct vpeer_memory *memory)
{
	struct vpeer_error error;

	if (vpeer_memory_identify(finder, at, length, memory, &error))
		check_fail(__LINE__, "%s: %s", error.who, error.message);
}

static struct vpeer_memory_info query(uint64_t at, size_t length)
{
	struct vpeer_memory_info info;
	struct vpeer_error error;

	if (vpeer_query_memory((void *)at, length, &info, &error))
		check_fail(__LINE__, "%s: %s", error.who, error.message);
	return info;
}

static void check_allocation(void)
{
	struct vpeer_memory_info info;
	struct vpeer_pci_address pci;
	uint64_t at, id = 0;
	char path[128], text[VPEER_PCI_LEN];

	CALL(cuda.mem_alloc(&at, SIZE));
	info = query(at + 5000, 7);
	CHECK(info.kind == VPEER_MEMORY_CUDA);
	CHECK(info.base == at && info.length == SIZE);
	CALL(cuda.get(&id, BUFFER_ID, at));
	CHECK(id && info.identity == id);
	CHECK(!vpeer_pci_parse(gpu.address, &pci));
	CHECK(info.device_known && !memcmp(&pci, &info.device, sizeof(pci)));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s",
		 vpeer_pci_format(&info.device, text));
	CHECK(!access(path, F_OK));
	CALL(cuda.mem_free(at));
	CHECK(vpeer_query_memory((void *)at, 1, &info, NULL) ||
	      info.kind != VPEER_MEMORY_CUDA);
}

static void check_other_memory(void)
{
	struct vpeer_memory_info info;
	uint64_t managed;
	char *plain = calloc(1, 64);
	void *host;

	CHECK(query((uintptr_t)plain, 64).kind == VPEER_MEMORY_HOST);
	free(plain);
	CALL(cuda.mem_host(&host, 8192, 0));
	CHECK(query((uintptr_t)host, 8192).kind == VPEER_MEMORY_CUDA_HOST);
	CALL(cuda.mem_free_host(host));
	CALL(cuda.mem_managed(&managed, 65536, 1));
	info = query(managed, 65536);
	CALL(cuda.mem_free(managed));
	CHECK(info.kind == VPEER_MEMORY_CUDA_MANAGED && !info.exportable);
}

/* An address that comes back is other memory: each allocation has an id of its own. */
static void check_ids(void)
{
	struct vpeer_memory memory;
	unsigned int same = 0;
	uint64_t at, again;

	for (unsigned int round = 0; round < ROUNDS; round++) {
		CALL(cuda.mem_alloc(&at, SIZE));
		find(at, SIZE, &memory);
		CHECK(memory.cacheable && vpeer_memory_valid(&memory));
		CALL(cuda.mem_free(at));
		CHECK(!vpeer_memory_valid(&memory));
		CALL(cuda.mem_alloc(&again, SIZE));
		same += again == at;
		CHECK(!vpeer_memory_valid(&memory));
		vpeer_memory_release(&memory);
		CALL(cuda.mem_free(again));
	}
	if (!same)
		check_skip("no address came back in %d rounds", ROUNDS);
}

/* Where the driver lets DMA-bufs be mapped, their bytes are the allocation's. */
static void compare(int fd, uint64_t offset, uint64_t at, size_t length)
{
	size_t whole = (size_t)lseek(fd, 0, SEEK_END);
	char *mapped = mmap(NULL, whole, PROT_READ, MAP_SHARED, fd, 0), *bytes = malloc(length);
	bool same = true;

	if (mapped == MAP_FAILED) {
		free(bytes);
		printf("  DMA-bufs of this driver cannot be mapped: bytes are not compared\n");
		return;
	}
	for (size_t i = 0; i < length; i++)
		bytes[i] = (char)(i * 7 + at / 512 + 1);
	CALL(cuda.from_host(at, bytes, length));
	same = !memcmp(mapped + offset, bytes, length);
	munmap(mapped, whole);
	free(bytes);
	CHECK(same);
}

static void check_export_of(uint64_t at, size_t length)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned int before = descriptors();
	struct vpeer_export export;
	struct vpeer_error error;

	if (vpeer_export((void *)at, length, &export, &error) == -EOPNOTSUPP && !gpu.exports)
		check_skip("%s: %s", error.message, error.remedy);
	if (export.fd < 0)
		check_fail(__LINE__, "%s: %s", error.who, error.message);
	CHECK(export.offset == at % page);
	CHECK((uint64_t)lseek(export.fd, 0, SEEK_END) >= export.offset + length);
	compare(export.fd, export.offset, at, length);
	close(export.fd);
	CHECK(descriptors() == before);
}

static void check_export(void)
{
	int sync = 0;
	uint64_t at;

	CALL(cuda.mem_alloc(&at, SIZE));
	check_export_of(at, SIZE);
	check_export_of(at + 4096 + 512, 100000);
	CALL(cuda.get(&sync, SYNC_MEMOPS, at));
	CHECK(sync == 1);
	CALL(cuda.mem_free(at));
	CALL(cuda.mem_alloc(&at, 1000));
	check_export_of(at + 1, 999);
	CALL(cuda.mem_free(at));
}

static void check_mapping_type(void)
{
	struct vpeer_memory memory;
	struct vpeer_error error;
	uint64_t at, offset;
	int fd, err;

	CALL(cuda.mem_alloc(&at, SIZE));
	find(at, SIZE, &memory);
	err = vpeer_memory_export(&memory, at, SIZE, VPEER_EXPORT_PCIE, &fd, &offset, &error);
	vpeer_memory_release(&memory);
	CALL(cuda.mem_free(at));
	if (err)
		check_skip("the platform has one mapping type: %s", error.message);
	close(fd);
}

static void map_one(uint64_t at, size_t size)
{
	const struct cuda_properties wanted = {
		.type = 1,
		.location_type = 1,
		.location = gpu.number,
		.gdr = 1,
	};
	const struct cuda_access access = {
		.location_type = 1,
		.location = gpu.number,
		.flags = 3,
	};
	unsigned long long handle;

	CALL(cuda.create(&handle, size, &wanted, 0));
	CALL(cuda.map(at, size, 0, handle, 0));
	CALL(cuda.release(handle));
	CALL(cuda.set_access(at, size, &access, 1));
}

/* Addresses that several allocations are mapped at, one of which is replaced. */
static void check_mapped(void)
{
	const struct cuda_properties wanted = {
		.type = 1,
		.location_type = 1,
		.location = gpu.number,
		.gdr = 1,
	};
	struct vpeer_memory memory;
	size_t piece;
	uint64_t at;

	CALL(cuda.granularity(&piece, &wanted, 0));
	CALL(cuda.reserve(&at, 4 * piece, 0, 0, 0));
	for (unsigned int i = 0; i < 3; i++)
		map_one(at + i * piece, piece);
	find(at + piece / 2, 2 * piece, &memory);
	CHECK(memory.kind == VPEER_MEMORY_CUDA && vpeer_memory_valid(&memory));
	CALL(cuda.unmap(at + piece, piece));
	CHECK(!vpeer_memory_valid(&memory));
	map_one(at + piece, piece);
	CHECK(!vpeer_memory_valid(&memory));
	vpeer_memory_release(&memory);
	check_export_of(at + piece - 4096, 8192);
	check_export_of(at, 3 * piece);
	CALL(cuda.unmap(at, 3 * piece));
	CALL(cuda.unreserve(at, 4 * piece));
}

struct work {
	uint64_t at;
	int err;
	void *left;
	struct vpeer_error error;
};

static void *export_without_context(void *data)
{
	struct work *work = data;
	struct vpeer_export export;

	work->err = vpeer_export((void *)work->at, 4096, &export, &work->error);
	if (!work->err)
		close(export.fd);
	cuda.current(&work->left);
	return NULL;
}

static void check_thread(void)
{
	struct work work = { 0 };
	pthread_t thread;
	void *context;

	CALL(cuda.mem_alloc(&work.at, SIZE));
	CHECK(!pthread_create(&thread, NULL, export_without_context, &work));
	pthread_join(thread, NULL);
	CALL(cuda.mem_free(work.at));
	CALL(cuda.current(&context));
	CHECK(context == gpu.context);
	CHECK(!work.left);
	if (work.err == -EOPNOTSUPP && !gpu.exports)
		check_skip("%s", work.error.message);
	if (work.err)
		check_fail(__LINE__, "%s: %s", work.error.who, work.error.message);
}

static void check_copy(void)
{
	struct vpeer_memory memory;
	char out_bytes[512], in_bytes[512];
	struct vpeer_error error;
	uint64_t at;

	memset(out_bytes, 0x5a, sizeof(out_bytes));
	memset(in_bytes, 0, sizeof(in_bytes));
	CALL(cuda.mem_alloc(&at, SIZE));
	find(at, SIZE, &memory);
	CHECK(!memory.ops->copy(&memory, at + 100, out_bytes, sizeof(out_bytes), false, &error));
	CALL(cuda.to_host(in_bytes, at + 100, sizeof(in_bytes)));
	CHECK(!memcmp(in_bytes, out_bytes, sizeof(in_bytes)));
	memset(in_bytes, 0, sizeof(in_bytes));
	CHECK(!memory.ops->copy(&memory, at + 100, in_bytes, sizeof(in_bytes), true, &error));
	CHECK(!memcmp(in_bytes, out_bytes, sizeof(in_bytes)));
	vpeer_memory_release(&memory);
	CALL(cuda.mem_free(at));
}

/* A range may not leave its allocation. */
static void check_end(void)
{
	struct vpeer_memory_info info;
	struct vpeer_error error;
	uint64_t at;

	CALL(cuda.mem_alloc(&at, SIZE));
	CHECK(vpeer_query_memory((void *)at, SIZE + ((size_t)1 << 40), &info, &error) == -EINVAL);
	CHECK(error.reason == VPEER_REASON_MIXED_MEMORY);
	CALL(cuda.mem_free(at));
}

static const struct {
	const char *name;
	void (*run)(void);
} checks[] = {
	{ "allocation", check_allocation },
	{ "other_memory", check_other_memory },
	{ "ids", check_ids },
	{ "end", check_end },
	{ "export", check_export },
	{ "mapping_type", check_mapping_type },
	{ "mapped", check_mapped },
	{ "thread", check_thread },
	{ "copy", check_copy },
};

static unsigned int counts[3];

static void run(size_t i)
{
	static const char *const words[] = { "ok", "not ok", "skip" };
	int how;

	said[0] = '\0';
	how = setjmp(out);
	if (!how)
		checks[i].run();
	counts[how]++;
	printf("%s %s%s%s\n", words[how], checks[i].name, said[0] ? ": " : "", said);
}

int main(void)
{
	const char *why;
	size_t i;

	if (setjmp(out)) {
		printf("skip: the GPU cannot be used: %s\n", said);
		return 77;
	}
	why = gpu_begin();
	if (why) {
		printf("skip: %s\n", why);
		return 77;
	}
	if (vpeer_finder_create(&finder, -1, NULL))
		return 1;
	for (i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		run(i);
	vpeer_finder_destroy(finder);
	printf("%u passed, %u failed, %u skipped\n", counts[0], counts[FAILED], counts[SKIPPED]);
	return counts[FAILED] ? 1 : 0;
}

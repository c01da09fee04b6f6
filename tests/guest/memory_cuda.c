// SPDX-License-Identifier: GPL-2.0-only
/* Pointers of the CUDA driver: what they point to, DMA-bufs of it, and whether it is still the same. */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/memory.h"
#include "aperture.h"
#include "cuda.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"

#define UNIT	(64 * KIB)
#define SIZE	(4 * MIB)

static char *gpu_memory;

static int begin(void)
{
	int ordinal;

	cuda_load();
	ordinal = cuda_add_memory(SIZE, &gpu_memory);
	cuda_use(ordinal);
	return ordinal;
}

static struct vpeer_memory_info query(uint64_t at, size_t length)
{
	struct vpeer_memory_info info;
	struct vpeer_error error;

	if (vpeer_query_memory((void *)at, length, &info, &error))
		test_fail(__FILE__, __LINE__, "query of %#llx: %s: %s", (unsigned long long)at,
			  error.who, error.message);
	return info;
}

static void check_refused(uint64_t at, size_t length, int err, unsigned int reason)
{
	struct vpeer_memory_info info;
	struct vpeer_error error = { 0 };

	CHECK_EQ(vpeer_query_memory((void *)at, length, &info, &error), -err);
	CHECK_EQ(error.reason, reason);
	CHECK(error.who[0] && error.message[0]);
}

static struct vpeer_finder *finder_new(void)
{
	struct vpeer_finder *finder;

	CHECK_EQ(vpeer_finder_create(&finder, -1, NULL), 0);
	return finder;
}

static void find(struct vpeer_finder *finder, uint64_t at, uint64_t length,
		 struct vpeer_memory *memory)
{
	struct vpeer_error error;

	if (vpeer_memory_identify(finder, at, length, memory, &error))
		test_fail(__FILE__, __LINE__, "%s: %s", error.who, error.message);
}

static int export(uint64_t at, size_t length, struct vpeer_export *exported,
		  struct vpeer_error *error)
{
	unsigned int depth = cuda.depth(), retained = cuda.retained(0);
	int err = vpeer_export((void *)at, length, exported, error);

	/* Nothing is left behind on the thread. */
	CHECK_EQ(cuda.depth(), depth);
	CHECK_EQ(cuda.retained(0), retained);
	return err;
}

/* What the DMA-buf shows is the allocation's memory, and only so much of it as pages make necessary. */
static void check_export(uint64_t at, size_t length, uint64_t size)
{
	uint64_t id = 0, before = descriptors();
	struct vpeer_export exported;
	struct vpeer_error error;
	char *through;

	if (export(at, length, &exported, &error))
		test_fail(__FILE__, __LINE__, "export of %#llx: %s: %s", (unsigned long long)at,
			  error.who, error.message);
	CHECK_EQ(dmabuf_size(exported.fd), size);
	CHECK_EQ(exported.offset, at % 4096);
	CHECK(fcntl(exported.fd, F_GETFD) & FD_CLOEXEC);
	through = dmabuf_map(exported.fd, 0, size);
	pattern_fill(through, size, at);
	CHECK(!memcmp(gpu_memory + cuda.place(at), through + exported.offset, 1));
	for (size_t i = 0; i < length; i++)
		if (gpu_memory[cuda.place(at + i)] != through[exported.offset + i])
			test_fail(__FILE__, __LINE__, "byte %zu is not the allocation's", i);
	munmap(through, size);
	close(exported.fd);
	CHECK_EQ(descriptors(), before);
	/* Copies are synchronous from now on, but where there is no such attribute. */
	CHECK_EQ(cuda.get(&id, 6, at), 0);
}

TEST(allocation, 10)
{
	struct vpeer_memory_info info;
	struct vpeer_pci_address pci;
	uint64_t at, id = 0;
	int sync = 0, ordinal = begin();
	char name[32];

	at = cuda_alloc(3 * UNIT);
	info = query(at + 5000, 3);

	CHECK_EQ(info.kind, VPEER_MEMORY_CUDA);
	CHECK_EQ(info.base, at);
	CHECK_EQ(info.length, 3 * UNIT);
	CHECK_EQ(cuda.pci(name, sizeof(name), ordinal), 0);
	CHECK_EQ(vpeer_pci_parse(name, &pci), 0);
	CHECK(info.device_known && !memcmp(&info.device, &pci, sizeof(pci)));
	CHECK_EQ(cuda.get(&id, 7, at), 0);
	CHECK_EQ(info.identity, id);
	CHECK(info.exportable);
	CHECK_EQ(cuda.get(&sync, 6, at), 0);
	CHECK_EQ(sync, 0);
	check_export(at, 3 * UNIT, 3 * UNIT);
	check_export(at + 4096 + 7, 4096, 8192);
	CHECK_EQ(cuda.get(&sync, 6, at), 0);
	CHECK_EQ(sync, 1);
	CHECK_EQ(cuda.export_flags(), 0);
	check_refused(at + 3 * UNIT - 1, 2, EINVAL, VPEER_REASON_MIXED_MEMORY);
	cuda_free(at);
	CHECK_EQ(query(at, 1).kind, VPEER_MEMORY_HOST);
}

/* Small ones share pages, and neither start nor end with one. */
TEST(small_allocation, 10)
{
	struct vpeer_memory_info info;
	uint64_t at;

	begin();
	at = cuda_alloc(1000);
	CHECK(at % 4096);
	info = query(at + 999, 1);
	CHECK_EQ(info.base, at);
	CHECK_EQ(info.length, 1000);
	check_export(at, 1000, 4096);
	check_export(at + 1, 1, 4096);
	cuda_free(at);
	at = cuda_alloc(10000);
	check_export(at, 10000, 12288);
	check_export(at + 9999, 1, 4096);
	cuda_free(at);
}

/* Driver and vpeer beside each other, and the same memory. */
TEST(window_of_vpeer, 20)
{
	struct vpeer_pci_address pci;
	struct vpeer_memory_info info;
	uint64_t at;
	int ordinal;

	cuda_load();
	ordinal = cuda_add_window(2 * GRANULE, &gpu_memory);
	cuda_use(ordinal);
	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &pci), 0);
	at = cuda_alloc(GRANULE);
	info = query(at, GRANULE);
	CHECK_EQ(info.kind, VPEER_MEMORY_CUDA);
	CHECK(!memcmp(&info.device, &pci, sizeof(pci)));
	check_export(at + 100, UNIT, UNIT + 4096);
	CHECK(owner_is(cuda.place(at + 100), gpu_memory + cuda.place(at + 100), UNIT));
	info = query((uintptr_t)gpu_memory, GRANULE);
	CHECK_EQ(info.kind, VPEER_MEMORY_WINDOW);
	cuda_free(at);
}

/* The driver calls all host memory that it was told of. */
TEST(window_that_the_driver_knows, 20)
{
	char *plain = plain_memory(UNIT), *window;
	struct vpeer_memory memory;
	struct vpeer_finder *finder;
	uint64_t offset;
	int fd;

	begin();
	fd = aperture_open();
	offset = window_alloc(fd, GRANULE);
	window = window_map(fd, offset, GRANULE);
	CHECK_EQ(cuda.host_register(window, GRANULE, 4), 0);
	CHECK_EQ(cuda.host_register(plain, UNIT, 0), 0);
	finder = finder_new();
	find(finder, (uintptr_t)plain, UNIT, &memory);
	CHECK_EQ(memory.kind, VPEER_MEMORY_CUDA_HOST);
	vpeer_memory_release(&memory);
	find(finder, (uintptr_t)window, GRANULE, &memory);
	CHECK_EQ(memory.kind, VPEER_MEMORY_WINDOW);
	CHECK(memory.word && vpeer_memory_valid(&memory));
	CHECK_OK(window_revoke(fd, offset, 0, NULL));
	CHECK(!vpeer_memory_valid(&memory));
	vpeer_memory_release(&memory);
	check_refused((uintptr_t)window, GRANULE, ENODEV, VPEER_REASON_REVOKED);
	vpeer_finder_destroy(finder);
	CHECK_EQ(cuda.host_unregister(window), 0);
	munmap(window, GRANULE);
	close(fd);
}

TEST(no_driver, 10)
{
	struct vpeer_memory_info info;
	char *memory = plain_memory(4096);

	CHECK_EQ(vpeer_query_memory(memory, 1, &info, NULL), 0);
	CHECK_EQ(info.kind, VPEER_MEMORY_HOST);
	begin();
	CHECK_EQ(vpeer_query_memory(memory, 1, &info, NULL), 0);
	CHECK_EQ(info.kind, VPEER_MEMORY_HOST);
	CHECK(cuda.calls("cuPointerGetAttributes") > 0);
}

/* The same address, other memory, each time: never taken for the old. */
TEST(reallocated, 30)
{
	struct vpeer_finder *finder;
	struct vpeer_memory memory;

	begin();
	finder = finder_new();
	for (unsigned int round = 0; round < 1000; round++) {
		uint64_t at = cuda_alloc(UNIT), again, place = cuda.place(at);

		find(finder, at, UNIT, &memory);
		CHECK(memory.cacheable);
		CHECK(vpeer_memory_valid(&memory));
		cuda_free(at);
		CHECK(!vpeer_memory_valid(&memory));
		again = cuda_alloc(UNIT);
		CHECK_EQ(again, at);
		CHECK(cuda.place(again) != place);
		CHECK(!vpeer_memory_valid(&memory));
		vpeer_memory_release(&memory);
		cuda_free(again);
	}
	vpeer_finder_destroy(finder);
}

/* A range of several allocations, each of which may go. */
TEST(mapped_allocations, 20)
{
	struct vpeer_memory memory, second;
	struct vpeer_memory_info info;
	struct vpeer_finder *finder;
	struct vpeer_error error;
	uint64_t at, offset;
	int ordinal = begin(), fd;

	CHECK_EQ(cuda.reserve(&at, 4 * UNIT, 0, 0, 0), 0);
	for (unsigned int i = 0; i < 3; i++)
		cuda_map(at + i * UNIT, UNIT, ordinal, true);
	info = query(at + UNIT - 1, UNIT + 2);
	CHECK_EQ(info.kind, VPEER_MEMORY_CUDA);
	CHECK_EQ(info.base, at);
	CHECK_EQ(info.length, 3 * UNIT);
	check_export(at + 512, 3 * UNIT - 512, 3 * UNIT);
	check_export(at + UNIT - 1, 2, 8192);
	check_refused(at, 4 * UNIT, EINVAL, VPEER_REASON_MIXED_MEMORY);

	finder = finder_new();
	find(finder, at, 3 * UNIT, &memory);
	CHECK_EQ(vpeer_memory_share(&memory, &second), 0);
	CHECK(vpeer_memory_valid(&second));
	CHECK_EQ(cuda.unmap(at + UNIT, UNIT), 0);
	CHECK(!vpeer_memory_valid(&memory));
	/* Other memory between: not in a row, but exported all the same. */
	cuda_map(at + UNIT, UNIT, ordinal, true);
	CHECK(!vpeer_memory_valid(&memory));
	vpeer_memory_release(&memory);
	CHECK(!vpeer_memory_valid(&second));
	vpeer_memory_release(&second);
	if (cuda_scatters())
		check_export(at, 3 * UNIT, 3 * UNIT);

	/* Without the flag of cuMemCreate() there is no export. */
	cuda_map(at + 3 * UNIT, UNIT, ordinal, false);
	find(finder, at + 3 * UNIT, UNIT, &memory);
	CHECK_EQ(memory.ops->prepare(&memory, &error), 0);
	CHECK_EQ(vpeer_memory_export(&memory, at + 3 * UNIT, UNIT, 0, &fd, &offset, &error),
		 -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_CUDA_NO_GDR);
	CHECK(strstr(error.remedy, "gpuDirectRDMACapable"));
	CHECK_EQ(fd, -1);
	vpeer_memory_release(&memory);
	vpeer_finder_destroy(finder);
	CHECK_EQ(cuda.unmap(at, 4 * UNIT), 0);
	CHECK_EQ(cuda.unreserve(at, 4 * UNIT), 0);
}

/* All of a reservation has one buffer id: where no more is told, nothing is kept. */
TEST(mapped_by_an_old_driver, 10)
{
	struct vpeer_finder *finder;
	struct vpeer_memory memory;
	uint64_t at, first = 0, second = 0;
	int ordinal = begin();

	CHECK_EQ(cuda.reserve(&at, 2 * UNIT, 0, 0, 0), 0);
	cuda_map(at, UNIT, ordinal, true);
	CHECK_EQ(cuda.get(&first, 7, at), 0);
	finder = finder_new();
	find(finder, at, UNIT, &memory);
	CHECK(memory.cacheable && !memory.uncached);
	CHECK_EQ(cuda.unmap(at, UNIT), 0);
	cuda_map(at, UNIT, ordinal, true);
	CHECK_EQ(cuda.get(&second, 7, at), 0);
	CHECK_EQ(first, second);
	CHECK(!vpeer_memory_valid(&memory));
	vpeer_memory_release(&memory);

	CHECK_OK(setenv("VPEER_TEST_CUDA_OLD", "1", 1));
	find(finder, at, UNIT, &memory);
	CHECK(!memory.cacheable && memory.uncached);
	vpeer_memory_release(&memory);
	second = cuda_alloc(UNIT);
	find(finder, second, UNIT, &memory);
	CHECK(memory.cacheable);
	vpeer_memory_release(&memory);
	vpeer_finder_destroy(finder);
	cuda_free(second);
	CHECK_EQ(cuda.unmap(at, UNIT), 0);
}

/* Of two devices is of neither. */
TEST(two_devices, 10)
{
	struct vpeer_memory_info info;
	char *other_memory;
	int first = begin(), second = cuda_add_memory(SIZE, &other_memory);
	uint64_t at;

	CHECK_EQ(cuda.reserve(&at, 2 * UNIT, 0, 0, 0), 0);
	cuda_map(at, UNIT, first, true);
	cuda_map(at + UNIT, UNIT, second, true);
	info = query(at + UNIT, UNIT);
	CHECK_EQ(info.base, at + UNIT);
	check_refused(at, UNIT + 1, EINVAL, VPEER_REASON_MIXED_MEMORY);
	CHECK_EQ(cuda.unmap(at, 2 * UNIT), 0);
}

static void *export_on_thread(void *data)
{
	uint64_t at = *(uint64_t *)data;

	CHECK_EQ(cuda.depth(), 0);
	check_export(at, 100, at % 4096 + 100 > 4096 ? 8192 : 4096);
	CHECK_EQ(cuda.depth(), 0);
	return NULL;
}

/* Threads without a context, or with another one. */
TEST(contexts, 20)
{
	char *other_memory;
	int first = begin(), second = cuda_add_memory(SIZE, &other_memory);
	void *own, *popped;
	pthread_t thread;
	uint64_t at = cuda_alloc(UNIT), mapped;

	CHECK_EQ(cuda.reserve(&mapped, UNIT, 0, 0, 0), 0);
	cuda_map(mapped, UNIT, first, true);
	CHECK_EQ(pthread_create(&thread, NULL, export_on_thread, &at), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(pthread_create(&thread, NULL, export_on_thread, &mapped), 0);
	CHECK_EQ(pthread_join(thread, NULL), 0);
	cuda_use(second);
	check_export(at, 100, 4096);
	check_export(mapped, 100, 4096);
	CHECK_EQ(cuda.pop(&popped), 0);

	/* Memory of a context that is not the primary one. */
	CHECK_EQ(cuda.context_create(&own, 0, first), 0);
	check_export(at, 100, 4096);
	cuda_free(at);
	at = cuda_alloc(UNIT);
	CHECK_EQ(cuda.pop(&popped), 0);
	check_export(at, 100, 4096);
	cuda_free(at);
	CHECK_EQ(cuda.context_destroy(own), 0);
}

/* A program that has let its primary context go gets it back for the call only. */
TEST(no_context_left, 10)
{
	uint64_t mapped;
	void *popped;
	int ordinal = begin();

	CHECK_EQ(cuda.reserve(&mapped, UNIT, 0, 0, 0), 0);
	cuda_map(mapped, UNIT, ordinal, true);
	CHECK_EQ(cuda.pop(&popped), 0);
	CHECK_EQ(cuda.primary_release(ordinal), 0);
	CHECK_EQ(cuda.retained(ordinal), 0);
	check_export(mapped, UNIT, UNIT);
	CHECK_EQ(cuda.retained(ordinal), 0);
}

TEST(managed_and_host, 10)
{
	struct vpeer_memory memory;
	struct vpeer_export exported;
	struct vpeer_finder *finder;
	struct vpeer_error error;
	uint64_t managed;
	void *host;

	begin();
	CHECK_EQ(cuda.mem_managed(&managed, UNIT, 1), 0);
	CHECK_EQ(query(managed, UNIT).kind, VPEER_MEMORY_CUDA_MANAGED);
	CHECK_EQ(export(managed, 1, &exported, &error), -EOPNOTSUPP);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DMABUF_EXPORT);
	finder = finder_new();
	find(finder, managed, 1, &memory);
	CHECK(!(memory.ops->routes & VPEER_ROUTES_DIRECT) && !memory.cacheable);
	vpeer_memory_release(&memory);
	cuda_free(managed);

	CHECK_EQ(cuda.mem_host(&host, 8192, 0), 0);
	find(finder, (uintptr_t)host, 8192, &memory);
	CHECK_EQ(memory.kind, VPEER_MEMORY_CUDA_HOST);
	CHECK(memory.ops->routes & VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES));
	CHECK(!memory.cacheable && !memory.exportable);
	vpeer_memory_release(&memory);
	CHECK_EQ(cuda.mem_free_host(host), 0);
	vpeer_finder_destroy(finder);
}

TEST(copies, 10)
{
	struct vpeer_finder *finder;
	struct vpeer_memory memory;
	struct vpeer_error error;
	char *plain = plain_memory(4096), *back = plain_memory(4096);
	uint64_t at;

	begin();
	at = cuda_alloc(8192);
	finder = finder_new();
	find(finder, at, 8192, &memory);
	pattern_fill(plain, 4096, 5);
	CHECK_EQ(memory.ops->copy(&memory, at + 100, plain, 4096, false, &error), 0);
	CHECK(!memcmp(gpu_memory + cuda.place(at + 100), plain, 4096));
	CHECK_EQ(memory.ops->copy(&memory, at + 100, back, 4096, true, &error), 0);
	CHECK(pattern_is(back, 4096, 5));
	cuda.fail("cuMemcpyDtoH_v2", 304, 1);
	CHECK_EQ(memory.ops->copy(&memory, at, back, 1, true, &error), -EIO);
	CHECK_EQ(error.err, EIO);
	CHECK_EQ(error.reason, VPEER_REASON_CUDA);
	CHECK(strstr(error.message, "CUDA_ERROR_OPERATING_SYSTEM"));
	vpeer_memory_release(&memory);
	vpeer_finder_destroy(finder);
}

static void check_fails(uint64_t at, int err, unsigned int reason, const char *words)
{
	struct vpeer_export exported;
	struct vpeer_error error;
	unsigned int before = descriptors();

	CHECK_EQ(export(at, 1, &exported, &error), -err);
	CHECK_EQ(error.err, err);
	CHECK_EQ(error.reason, reason);
	CHECK(strstr(error.message, words));
	CHECK(strstr(error.who, "CUDA memory"));
	CHECK_EQ(exported.fd, -1);
	CHECK_EQ(descriptors(), before);
}

/* By the driver's own names. */
TEST(failures, 10)
{
	uint64_t at;
	void *popped;

	begin();
	at = cuda_alloc(UNIT);
	cuda.fail("cuMemGetHandleForAddressRange", 2, 1);
	check_fails(at, ENOSPC, VPEER_REASON_BAR_FULL, "cannot export");
	cuda.fail("cuMemGetHandleForAddressRange", 1, 1);
	check_fails(at, EINVAL, VPEER_REASON_CUDA, "CUDA_ERROR_INVALID_VALUE");
	cuda.fail("cuMemGetHandleForAddressRange", 304, 1);
	check_fails(at, EIO, VPEER_REASON_CUDA, "CUDA_ERROR_OPERATING_SYSTEM");
	cuda.fail("cuMemGetHandleForAddressRange", 12345, 1);
	check_fails(at, EIO, VPEER_REASON_CUDA, "12345");
	cuda.fail("cuPointerSetAttribute", 201, 1);
	check_fails(at, EIO, VPEER_REASON_CUDA, "cuPointerSetAttribute");
	CHECK_EQ(cuda.pop(&popped), 0);
	cuda.fail("cuCtxPushCurrent_v2", 201, 1);
	check_fails(at, EIO, VPEER_REASON_CUDA, "cuCtxPushCurrent");
	check_export(at, 1, 4096);
	cuda.fail("cuPointerGetAttribute", 1, 1);
	check_fails(at, ENODEV, VPEER_REASON_MR_STALE, "cannot export");
}

/* What GPU and driver are is told as the cause. */
TEST(without_gpudirect, 10)
{
	struct test_cuda_device device;
	uint64_t at;

	cuda_load();
	device = cuda_memory_device(SIZE, &gpu_memory);
	device.gdr = 0;
	cuda_use(cuda_add(&device));
	at = cuda_alloc(UNIT);
	check_fails(at, EOPNOTSUPP, VPEER_REASON_CUDA_NO_GDR, "no GPUDirect RDMA");
	device.gdr = 1;
	device.dmabuf = 0;
	cuda_use(cuda_add(&device));
	at = cuda_alloc(UNIT);
	check_fails(at, EOPNOTSUPP, VPEER_REASON_CUDA_NO_GDR, "exports no DMA-bufs");
	CHECK(!query(at, 1).exportable);
}

/* Coherent platforms: by PCIe first, and the other way when that is asked for or there is no such type. */
TEST(mapping_types, 10)
{
	struct vpeer_finder *finder;
	struct test_cuda_device device;
	struct vpeer_memory memory;
	struct vpeer_error error;
	uint64_t at, offset;
	int fd;

	cuda_load();
	device = cuda_memory_device(SIZE, &gpu_memory);
	device.coherent = 1;
	device.pcie = 1;
	cuda_use(cuda_add(&device));
	finder = finder_new();
	at = cuda_alloc(UNIT);
	check_export(at, UNIT, UNIT);
	CHECK_EQ(cuda.export_flags(), 1);
	find(finder, at, UNIT, &memory);
	CHECK_EQ(vpeer_memory_export(&memory, at, UNIT, VPEER_EXPORT_PCIE, &fd, &offset, &error),
		 0);
	CHECK_EQ(cuda.export_flags(), 0);
	close(fd);
	vpeer_memory_release(&memory);

	device.pcie = 0;
	cuda_use(cuda_add(&device));
	at = cuda_alloc(UNIT);
	check_export(at, UNIT, UNIT);
	CHECK_EQ(cuda.export_flags(), 0);

	device.coherent = 0;
	cuda_use(cuda_add(&device));
	at = cuda_alloc(UNIT);
	find(finder, at, UNIT, &memory);
	CHECK_EQ(vpeer_memory_export(&memory, at, UNIT, VPEER_EXPORT_PCIE, &fd, &offset, &error),
		 -EOPNOTSUPP);
	CHECK_EQ(cuda.export_flags(), 1);
	vpeer_memory_release(&memory);
	vpeer_finder_destroy(finder);
}

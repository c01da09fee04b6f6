// SPDX-License-Identifier: GPL-2.0-only
/* The library on the real module. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/vpeer.h"
#include "aperture.h"
#include "dmabuf.h"
#include "harness.h"
#include "memory.h"
#include "user.h"
#include "witness.h"

static struct vpeer_aperture *open_one(void)
{
	struct vpeer_aperture *aperture;
	struct vpeer_error error;

	if (vpeer_open(&aperture, aperture_pci(), &error))
		test_fail(__FILE__, __LINE__, "vpeer_open: %s", error.message);
	return aperture;
}

TEST(list, 10)
{
	struct vpeer_entry *entries;
	size_t count;
	char pci[VPEER_PCI_LEN];

	CHECK_EQ(vpeer_list(&entries, &count, NULL), 0);
	CHECK(count >= 1);
	CHECK(!strcmp(vpeer_pci_format(&entries[0].pci, pci), aperture_pci()));
	CHECK_EQ(entries[0].size, aperture_stat("size"));
	CHECK_EQ(entries[0].bytes_free, entries[0].size);
	CHECK(!strcmp(entries[0].kind, "owned"));
	CHECK(!strcmp(entries[0].node, aperture_node()));
	vpeer_list_free(entries);
}

TEST(window, 10)
{
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window *window;
	uint64_t before;
	void *mapped;

	CHECK_EQ(vpeer_window_alloc(aperture, 1, 3 * GRANULE, &window, NULL), 0);
	CHECK_EQ(vpeer_window_offset(window), 3 * GRANULE);
	CHECK_EQ(vpeer_window_size(window), GRANULE);
	CHECK_EQ(vpeer_window_map(window, 0, 0, PROT_READ | PROT_WRITE, &mapped, NULL), 0);
	pattern_fill(mapped, 4096, 101);
	CHECK(owner_is(3 * GRANULE, mapped, 4096));
	before = vpeer_window_generation(window);
	CHECK(before > 0);
	CHECK_EQ(vpeer_window_generation(window), before);
	CHECK_EQ(vpeer_window_revoke(window, 0, NULL, NULL), 0);
	CHECK(vpeer_window_generation(window) != before);
	CHECK_EQ(signal_of_read(mapped), SIGBUS);
	CHECK_EQ(vpeer_window_unmap(mapped, GRANULE), 0);
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
	vpeer_close(aperture);
}

TEST(path_report, 10)
{
	struct vpeer_path_report report = { .argsz = sizeof(report) };
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_pci_address pci;
	struct vpeer_error error;

	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &pci), 0);
	CHECK_EQ(vpeer_path_report(aperture, &pci, &report, &error), 0);
	CHECK_EQ(error.err, 0);
	CHECK_EQ(report.size, aperture_stat("size"));
	CHECK(!strcmp(report.initiator.driver, "vpeer"));
	pci.bus = 0xff;
	report = (struct vpeer_path_report){ .argsz = sizeof(report) };
	CHECK_EQ(vpeer_path_report(aperture, &pci, &report, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_NO_DEVICE);
	CHECK(!strncmp(error.who, "0000:ff:", 8));
	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &pci), 0);
	report = (struct vpeer_path_report){ .argsz = sizeof(report) };
	CHECK_EQ(control_detach(aperture_pci(), NULL, NULL), 0);
	CHECK_EQ(vpeer_path_report(aperture, &pci, &report, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_GONE);
	CHECK(!strcmp(error.who, aperture_pci()));
	vpeer_close(aperture);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
}

TEST(refusals_have_words, 10)
{
	struct vpeer_aperture *aperture = open_one(), *other = open_one();
	struct vpeer_window *window, *second;
	struct vpeer_error error = { 0 };

	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, 0, &window, NULL), 0);
	CHECK_EQ(vpeer_window_alloc(other, GRANULE, 0, &second, &error), -EBUSY);
	CHECK_EQ(error.reason, VPEER_REASON_RANGE_OWNED);
	CHECK(error.message[0]);
	CHECK_EQ(vpeer_window_alloc(other, 0, VPEER_ANY_OFFSET, &second, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BAD_ARGUMENT);
	CHECK_EQ(vpeer_window_alloc(other, 1, 4096, &second, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BAD_ALIGNMENT);
	CHECK(strstr(error.message, "offset 4096 is not a multiple of the granule"));
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
	vpeer_close(other);
	vpeer_close(aperture);
}

TEST(dmabuf, 10)
{
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window *window;
	struct vpeer_error error;
	int whole, part;
	void *mapped;

	CHECK_EQ(vpeer_window_alloc(aperture, 2 * GRANULE, 3 * GRANULE, &window, NULL), 0);
	CHECK_EQ(vpeer_window_dmabuf(window, 0, 0, &whole, &error), 0);
	CHECK_EQ(error.err, 0);
	CHECK_EQ(dmabuf_size(whole), 2 * GRANULE);
	CHECK_EQ(vpeer_window_dmabuf(window, GRANULE + 4096, 0, &part, NULL), 0);
	CHECK_EQ(dmabuf_size(part), GRANULE - 4096);
	close(part);
	CHECK_EQ(vpeer_window_dmabuf(window, GRANULE, 8192, &part, NULL), 0);
	CHECK_EQ(dmabuf_size(part), 8192);
	mapped = dmabuf_map(part, 0, 8192);
	pattern_fill(mapped, 8192, 102);
	CHECK(owner_is(4 * GRANULE, mapped, 8192));

	/* Handle and node are closed; the DMA-buf goes on. */
	vpeer_close(aperture);
	CHECK(pattern_is(mapped, 8192, 102));
	CHECK_EQ(aperture_stat("windows"), 1);
	munmap(mapped, 8192);
	close(whole);
	close(part);
}

TEST(dmabuf_refused, 10)
{
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window *window;
	struct vpeer_error error;
	int fd = 77;

	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, 0, &window, NULL), 0);
	CHECK_EQ(vpeer_window_dmabuf(window, 1, 0, &fd, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BAD_ALIGNMENT);
	CHECK_EQ(vpeer_window_dmabuf(window, 0, 2 * GRANULE, &fd, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_BEYOND_WINDOW);
	CHECK_EQ(vpeer_window_revoke(window, 0, NULL, NULL), 0);
	CHECK_EQ(vpeer_window_dmabuf(window, 0, 0, &fd, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_REVOKED);
	CHECK(!strcmp(error.who, aperture_pci()));
	CHECK(strstr(error.message, "cannot export a window"));
	CHECK(error.remedy[0]);
	CHECK_EQ(fd, -1);
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
	vpeer_close(aperture);
}

static void free_it(void *window)
{
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
}

/* mmap() alone would claim a window of its own there. */
TEST(map_freed_by_another_process, 10)
{
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window_info info = { .argsz = sizeof(info) };
	struct vpeer_window *window;
	struct vpeer_error error;
	void *mapped;

	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, GRANULE, &window, NULL), 0);
	test_in_child(free_it, window);
	CHECK_EQ(vpeer_window_map(window, 0, 0, PROT_READ, &mapped, &error), -ENOENT);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_OWNER);
	CHECK(!mapped);
	CHECK_EQ(aperture_stat("windows"), 0);
	CHECK_EQ(vpeer_window_info(window, &info, &error), -ENOENT);
	CHECK_EQ(vpeer_window_free(window, 0, NULL), -ENOENT);
	vpeer_close(aperture);
}

static void check_map_refused(struct vpeer_window *window, uint32_t reason)
{
	struct vpeer_error error;
	void *mapped;

	CHECK_EQ(vpeer_window_map(window, 0, 0, PROT_READ, &mapped, &error), -ENODEV);
	CHECK_EQ(error.reason, reason);
	CHECK(!strcmp(error.who, aperture_pci()));
	CHECK(error.remedy[0]);
	CHECK(!mapped);
}

TEST(map_refused, 10)
{
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window *owners, *admins;

	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, 0, &owners, NULL), 0);
	CHECK_EQ(vpeer_window_revoke(owners, 0, NULL, NULL), 0);
	check_map_refused(owners, VPEER_REASON_REVOKED);
	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, GRANULE, &admins, NULL), 0);
	CHECK_EQ(vpeer_revoke_all(aperture, 0, NULL, NULL), 0);
	check_map_refused(admins, VPEER_REASON_REVOKED);
	CHECK_EQ(vpeer_window_free(owners, 0, NULL), 0);
	CHECK_EQ(vpeer_window_free(admins, 0, NULL), 0);
	vpeer_close(aperture);
}

static uint32_t cause_of(struct vpeer_window *window)
{
	struct vpeer_window_info info = { .argsz = sizeof(info) };

	CHECK_EQ(vpeer_window_info(window, &info, NULL), 0);
	return info.cause;
}

TEST(event, 20)
{
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window *window, *second;
	struct vpeer_error error;
	int event = event_make();

	CHECK_EQ(vpeer_event_fd(aperture, -2, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_EVENTFD);
	CHECK_EQ(vpeer_event_fd(aperture, STDOUT_FILENO, &error), -EBADF);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_EVENTFD);
	CHECK(error.message[0] && error.remedy[0]);
	CHECK_EQ(vpeer_event_fd(aperture, event, &error), 0);
	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, 0, &window, NULL), 0);
	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, GRANULE, &second, NULL), 0);
	CHECK_EQ(cause_of(window), VPEER_CAUSE_NONE);
	CHECK_EQ(vpeer_window_revoke(window, 0, NULL, NULL), 0);
	CHECK_EQ(event_count(event), 1);
	CHECK(!strcmp(vpeer_cause_name(cause_of(window)), "owner"));
	CHECK(!strcmp(vpeer_cause_name(cause_of(second)), "none"));
	CHECK_EQ(vpeer_revoke_all(aperture, 0, NULL, NULL), 0);
	CHECK_EQ(event_count(event), 1);
	CHECK(!strcmp(vpeer_cause_name(cause_of(second)), "admin"));
	CHECK_EQ(vpeer_event_fd(aperture, -1, &error), 0);
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
	CHECK_EQ(vpeer_window_free(second, 0, NULL), 0);
	vpeer_close(aperture);
	close(event);
}

TEST(event_added, 20)
{
	struct vpeer_aperture *aperture = open_one();
	int own = event_make(), event = event_make();
	struct vpeer_window *window;
	struct vpeer_error error;
	uint64_t before;
	void *mapped;

	CHECK_EQ(vpeer_event_add(aperture, -1, &error), -EINVAL);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_EVENTFD);
	CHECK_EQ(vpeer_event_remove(aperture, -1, NULL), -EINVAL);
	CHECK_EQ(vpeer_event_add(aperture, STDOUT_FILENO, &error), -EBADF);
	CHECK_EQ(vpeer_event_remove(aperture, event, &error), -ENOENT);
	CHECK_EQ(error.reason, VPEER_REASON_EVENTFD_NOT_ADDED);
	CHECK_EQ(vpeer_event_fd(aperture, own, NULL), 0);
	CHECK_EQ(vpeer_event_add(aperture, event, NULL), 0);
	CHECK_EQ(vpeer_event_add(aperture, event, &error), -EEXIST);
	CHECK_EQ(error.reason, VPEER_REASON_EVENTFD_ADDED);
	CHECK_EQ(vpeer_window_alloc(aperture, GRANULE, 0, &window, NULL), 0);
	CHECK_EQ(vpeer_window_map(window, 0, 0, PROT_READ, &mapped, NULL), 0);
	before = vpeer_window_generation(window);
	CHECK_EQ(event_count(event), 0);
	CHECK_EQ(vpeer_window_unmap(mapped, GRANULE), 0);
	CHECK_EQ(event_count(event), 1);
	CHECK(vpeer_window_generation(window) != before);
	CHECK_EQ(vpeer_event_remove(aperture, event, &error), 0);
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
	CHECK_EQ(event_count(event), 0);
	CHECK_EQ(event_count(own), 0);
	vpeer_close(aperture);
	close(own);
	close(event);
}

static void as_member(void *unused)
{
	struct vpeer_pci_address address;
	struct vpeer_control *control;
	struct vpeer_error error;

	(void)unused;
	become_member();
	CHECK_EQ(vpeer_revoke_all(open_one(), 0, NULL, &error), -EPERM);
	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &address), 0);
	CHECK_EQ(vpeer_control_open(&control, &error), 0);
	CHECK_EQ(vpeer_detach(control, &address, NULL, &error), -EPERM);
	CHECK_EQ(error.reason, VPEER_REASON_NOT_PERMITTED);
	CHECK(error.remedy[0]);
}

TEST(permission, 10)
{
	test_in_child(as_member, NULL);
	CHECK(pci_bound(aperture_pci()));
}

TEST(detach_and_attach, 20)
{
	struct vpeer_pci_address address;
	struct vpeer_aperture *aperture = open_one();
	struct vpeer_window *window;
	struct vpeer_control *control;
	struct vpeer_error error;
	unsigned int index = 77;
	int event = event_make();

	CHECK_EQ(vpeer_window_alloc(aperture, 1, VPEER_ANY_OFFSET, &window, NULL), 0);
	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &address), 0);
	CHECK_EQ(vpeer_control_open(&control, NULL), 0);
	CHECK_EQ(vpeer_detach(control, &address, NULL, &error), 0);
	CHECK(!strcmp(vpeer_cause_name(cause_of(window)), "detached"));
	check_map_refused(window, VPEER_REASON_GONE);
	CHECK_EQ(vpeer_event_fd(aperture, event, &error), -ENODEV);
	CHECK_EQ(error.reason, VPEER_REASON_GONE);
	close(event);
	CHECK_EQ(vpeer_window_free(window, 0, &error), -ENODEV);
	CHECK_EQ(vpeer_attach(control, &address, VPEER_BAR_AUTO, 0, &index, &error), 0);
	CHECK(index < 256);
	CHECK_EQ(vpeer_attach(control, &address, VPEER_BAR_AUTO, 0, NULL, &error), -EEXIST);
	CHECK_EQ(error.reason, VPEER_REASON_ALREADY_ATTACHED);
	vpeer_control_close(control);
	vpeer_close(aperture);
}

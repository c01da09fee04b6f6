// SPDX-License-Identifier: GPL-2.0-only
/* The library on the real module. */
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../lib/vpeer.h"
#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "user.h"

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
	CHECK_EQ(vpeer_window_free(window, 0, NULL), 0);
	vpeer_close(other);
	vpeer_close(aperture);
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

	CHECK_EQ(vpeer_window_alloc(aperture, 1, VPEER_ANY_OFFSET, &window, NULL), 0);
	CHECK_EQ(vpeer_pci_parse(aperture_pci(), &address), 0);
	CHECK_EQ(vpeer_control_open(&control, NULL), 0);
	CHECK_EQ(vpeer_detach(control, &address, NULL, &error), 0);
	CHECK_EQ(vpeer_window_free(window, 0, &error), -ENODEV);
	CHECK_EQ(vpeer_attach(control, &address, VPEER_BAR_AUTO, 0, &index, &error), 0);
	CHECK(index < 256);
	CHECK_EQ(vpeer_attach(control, &address, VPEER_BAR_AUTO, 0, NULL, &error), -EEXIST);
	CHECK_EQ(error.reason, VPEER_REASON_ALREADY_ATTACHED);
	vpeer_control_close(control);
	vpeer_close(aperture);
}

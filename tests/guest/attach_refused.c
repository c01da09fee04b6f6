// SPDX-License-Identifier: GPL-2.0-only
/* BARs that must not become apertures. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "refusal.h"

TEST(no_such_function, 10)
{
	check_refusal(&(struct refusal){
		.pci = "0000:ff:1f.7", .bar = 0,
		.error = ENODEV, .reason = VPEER_REASON_NO_DEVICE,
	});
	check_refusal(&(struct refusal){
		.pci = "ffff:00:00.0", .bar = VPEER_BAR_AUTO,
		.error = ENODEV, .reason = VPEER_REASON_NO_DEVICE,
	});
}

TEST(driver_bound, 10)
{
	const char *pci = getenv("VPEER_NVME_VF");

	need_function(pci);
	check_refusal(&(struct refusal){
		.pci = pci, .bar = 0, .flags = VPEER_ATTACH_FORCE,
		.error = EBUSY, .reason = VPEER_REASON_DRIVER_BOUND,
	});
}

TEST(already_attached, 10)
{
	check_refusal(&(struct refusal){
		.pci = aperture_pci(), .bar = VPEER_BAR_AUTO,
		.error = EEXIST, .reason = VPEER_REASON_ALREADY_ATTACHED,
	});
}

/* With the aperture's own function free again. */
static void check_own(uint8_t bar, uint32_t flags, int error, uint32_t reason,
		      unsigned int log_lines)
{
	const char *pci = aperture_pci();

	CHECK_OK(control_detach(pci, NULL, NULL));
	check_refusal(&(struct refusal){
		.pci = pci, .bar = bar, .flags = flags,
		.error = error, .reason = reason, .log_lines = log_lines,
	});
	CHECK_OK(control_attach(pci, VPEER_BAR_AUTO, 0, NULL));
}

TEST(smaller_than_a_page, 10)
{
	check_own(0, 0, EMSGSIZE, VPEER_REASON_TOO_SMALL, 1);
	check_own(0, VPEER_ATTACH_FORCE, EMSGSIZE, VPEER_REASON_TOO_SMALL, 1);
}

TEST(no_such_bar, 10)
{
	check_own(5, 0, ENXIO, VPEER_REASON_NO_SUCH_BAR, 1);
	check_own(6, 0, ENXIO, VPEER_REASON_NO_SUCH_BAR, 0);
	check_own(0xfe, 0, ENXIO, VPEER_REASON_NO_SUCH_BAR, 0);
}

TEST(upper_half_of_a_bar, 10)
{
	check_own(3, VPEER_ATTACH_FORCE, ENXIO, VPEER_REASON_NO_SUCH_BAR, 1);
}

/* The edu device has one BAR, of registers, 1 MiB. */
TEST(registers, 10)
{
	const char *pci = getenv("VPEER_EDU_PCI");

	need_function(pci);
	check_refusal(&(struct refusal){
		.pci = pci, .bar = 0,
		.error = EACCES, .reason = VPEER_REASON_NOT_PREFETCHABLE, .log_lines = 1,
	});
	check_refusal(&(struct refusal){
		.pci = pci, .bar = VPEER_BAR_AUTO,
		.error = ENXIO, .reason = VPEER_REASON_NO_SUCH_BAR, .log_lines = 1,
	});
}

TEST(smaller_than_a_granule, 10)
{
	const char *pci = getenv("VPEER_EDU_PCI");

	need_function(pci);
	check_refusal(&(struct refusal){
		.pci = pci, .bar = 0, .flags = VPEER_ATTACH_FORCE,
		.error = EOVERFLOW, .reason = VPEER_REASON_NO_PAGES, .log_lines = 1,
	});
}

/* The chipset's SMBus function has a memory BAR 0 at most and I/O ports in BAR 4. */
TEST(io_ports, 10)
{
	const char *pci = "0000:00:1f.3";

	need_function(pci);
	check_refusal(&(struct refusal){
		.pci = pci, .bar = 4,
		.error = EINVAL, .reason = VPEER_REASON_NOT_MEMORY, .log_lines = 1,
	});
}

static void driver_file(const char *file, const char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/drivers/virtio-pci/%s", file);
	CHECK(sysfs_write(path, pci));
}

/* A virtio function without its driver: MSI-X table in BAR 1. */
TEST(msix_table, 20)
{
	const char *pci = getenv("VPEER_ATS_PCI");

	need_function(pci);
	driver_file("unbind", pci);
	check_refusal(&(struct refusal){
		.pci = pci, .bar = 1,
		.error = EACCES, .reason = VPEER_REASON_MSIX_BAR, .log_lines = 1,
	});
	check_refusal(&(struct refusal){
		.pci = pci, .bar = 1, .flags = VPEER_ATTACH_FORCE,
		.error = EOVERFLOW, .reason = VPEER_REASON_NO_PAGES, .log_lines = 1,
	});
	driver_file("bind", pci);
}

/* As vfio-pci is bound: the reason is in the log only. */
TEST(bind_by_sysfs, 20)
{
	const char *pci = aperture_pci();
	char path[128];

	CHECK_OK(control_detach(pci, NULL, NULL));
	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/driver_override", pci);
	CHECK(!sysfs_write("/sys/bus/pci/drivers/vpeer/bind", pci));
	CHECK(sysfs_write(path, "vpeer"));
	CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/bind", pci));
	CHECK(*aperture_node());
	CHECK(sysfs_write("/sys/bus/pci/drivers/vpeer/unbind", pci));
	CHECK(!*aperture_node());
	CHECK(sysfs_write(path, "\n"));
	CHECK_OK(control_attach(pci, VPEER_BAR_AUTO, 0, NULL));
}

TEST(detach_of_nothing, 10)
{
	uint32_t reason;

	CHECK_ERRNO(control_detach("0000:ff:1f.7", NULL, &reason), ENODEV);
	CHECK_EQ(reason, VPEER_REASON_NO_DEVICE);
	CHECK_ERRNO(control_detach("0000:00:00.0", NULL, &reason), ENODEV);
	CHECK_EQ(reason, VPEER_REASON_NOT_ATTACHED);
}

// SPDX-License-Identifier: GPL-2.0-only
/* VPEER_IOCTL_PATH_REPORT, compared with sysfs, configuration space and lspci. */
#include <fcntl.h>
#include <linux/pci_regs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aperture.h"
#include "command.h"
#include "harness.h"
#include "path.h"
#include "pci_seen.h"
#include "user.h"
#include "vfio.h"
#include "vgpu.h"
#include "vrnic.h"

#define ATS_ENABLED	(1U << 15)

struct seen_kinds {
	int fd;
	unsigned int pairs, good, driverless, far, virtual, acs, ats_on, ats_off, no_ats, legacy;
};

/* What a window would be refused for, if anything. */
static uint32_t unusable(int fd)
{
	uint32_t reason = VPEER_REASON_NONE;

	if (window_alloc_at(fd, 0, GRANULE, &reason))
		return reason;
	CHECK_OK(window_free(fd, 0));
	return VPEER_REASON_NONE;
}

static void count(struct seen_kinds *kinds, const struct vpeer_path_report *report)
{
	const struct vpeer_path_function *at = &report->initiator;

	kinds->pairs++;
	kinds->good += report->dmabuf_reason == VPEER_REASON_NONE;
	kinds->driverless += report->dmabuf_reason == VPEER_REASON_NO_DMA_DRIVER;
	kinds->far += !(report->facts & VPEER_PATH_COMMON);
	kinds->virtual += !!(at->flags & VPEER_FUNCTION_VIRTUAL);
	kinds->acs += at->bridges[0].flags & VPEER_FUNCTION_ACS ? 1 : 0;
	kinds->no_ats += !(at->flags & VPEER_FUNCTION_ATS);
	kinds->legacy += !(at->flags & VPEER_FUNCTION_PCIE);
	if (at->flags & VPEER_FUNCTION_ATS) {
		kinds->ats_on += !!(at->ats_control & ATS_ENABLED);
		kinds->ats_off += !(at->ats_control & ATS_ENABLED);
	}
}

static void check_pair(const char *pci, void *context)
{
	struct seen_kinds *kinds = context;
	struct vpeer_path_report report = path_ask(kinds->fd, pci);

	printf("%s %s: facts %#x, distance %u, iommu %u, flags %#x, reason %u\n", pci,
	       report.initiator.driver, report.facts, report.distance, report.initiator.iommu,
	       report.initiator.flags, report.dmabuf_reason);
	path_check(&report, aperture_pci(), pci, unusable(kinds->fd));
	count(kinds, &report);
}

static void check_all(struct seen_kinds *kinds)
{
	kinds->fd = aperture_open();
	pci_seen_each(check_pair, kinds);
	close(kinds->fd);
	printf("%u pairs: %u good, %u without driver, %u far, %u VFs, %u below ACS, %u no PCIe\n",
	       kinds->pairs, kinds->good, kinds->driverless, kinds->far, kinds->virtual,
	       kinds->acs, kinds->legacy);
	printf("ATS: %u on, %u off, %u none\n", kinds->ats_on, kinds->ats_off, kinds->no_ats);
}

/* Bridges, and the aperture itself, too. A guest that has one kind alone would show little. */
TEST(every_function, 60)
{
	struct seen_kinds kinds = { 0 };

	check_all(&kinds);
	CHECK(kinds.good && kinds.driverless && kinds.far);
	CHECK(kinds.acs && kinds.no_ats && kinds.legacy);
	CHECK(kinds.far < kinds.pairs);
}

static bool behind(const char *name)
{
	const char *iommu = getenv("VPEER_LAB_IOMMU");

	return iommu && !strcmp(iommu, name);
}

/* The host may have enabled it. */
static bool passed_through(void)
{
	const char *level = getenv("VPEER_LAB_LEVEL");

	return level && strcmp(level, "one");
}

/* Linux enables it for every function that has it, behind an IOMMU that has it as well. */
TEST(ats_is_enabled_by_linux, 60)
{
	struct seen_kinds kinds = { 0 };

	check_all(&kinds);
	if (!kinds.ats_on && !kinds.ats_off)
		test_skip("no function has ATS");
	CHECK(!behind("intel") || kinds.ats_on > 0);
	CHECK(!behind("none") || passed_through() || !kinds.ats_on);
}

TEST(vf_and_its_pf, 20)
{
	const char *vf = getenv("VPEER_NVME_VF");
	struct vpeer_path_report report;
	struct pci_seen seen;
	int fd;

	if (!vf || !*vf)
		test_skip("no VF: VPEER_NVME_VF is not set");
	fd = aperture_open();
	pci_seen_read(&seen, vf);
	report = path_ask(fd, vf);
	if (!*seen.pf) {
		CHECK(!(report.initiator.flags & (VPEER_FUNCTION_VIRTUAL | VPEER_FUNCTION_PF)));
		test_skip("its PF is the host's");
	}
	CHECK(report.initiator.flags & VPEER_FUNCTION_VIRTUAL);
	CHECK(report.initiator.flags & VPEER_FUNCTION_PF);
	report = path_ask(fd, seen.pf);
	CHECK(!(report.initiator.flags & (VPEER_FUNCTION_VIRTUAL | VPEER_FUNCTION_PF)));
	close(fd);
}

static void has(const char *text, const char *line)
{
	if (!strstr(text, line))
		test_fail(__FILE__, __LINE__, "lspci does not say '%s'", line);
}

static void check_lspci_ats(const struct vpeer_path_function *at, const char *text)
{
	char line[128];

	CHECK_EQ(!!strstr(text, "ATSCtl:"), !!(at->flags & VPEER_FUNCTION_ATS));
	if (!(at->flags & VPEER_FUNCTION_ATS))
		return;
	snprintf(line, sizeof(line), "ATSCap:\tInvalidate Queue Depth: %02x", at->ats_cap & 31);
	has(text, line);
	snprintf(line, sizeof(line), "ATSCtl:\tEnable%c, Smallest Translation Unit: %02x",
		 at->ats_control & ATS_ENABLED ? '+' : '-', at->ats_control & 31);
	has(text, line);
}

static void acs_line(char *line, size_t size, const char *name, uint16_t word)
{
	static const char *const bits[] = { "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir",
					    "UpstreamFwd", "EgressCtrl", "DirectTrans" };
	size_t at = snprintf(line, size, "%s:\t", name);

	for (size_t i = 0; i < ARRAY_SIZE(bits); i++)
		at += snprintf(line + at, size - at, "%s%s%c", i ? " " : "", bits[i],
			       word >> i & 1 ? '+' : '-');
}

static void check_lspci_acs(const struct vpeer_path_bridge *bridge)
{
	char line[128];
	const char *text = output_of(0, "lspci -vvs %04x:%02x:%02x.%x", bridge->domain,
				     bridge->bus, bridge->devfn >> 3, bridge->devfn & 7);

	CHECK_EQ(!!strstr(text, "ACSCtl:"), !!(bridge->flags & VPEER_FUNCTION_ACS));
	if (!(bridge->flags & VPEER_FUNCTION_ACS))
		return;
	acs_line(line, sizeof(line), "ACSCap", bridge->acs_cap);
	has(text, line);
	acs_line(line, sizeof(line), "ACSCtl", bridge->acs_control);
	has(text, line);
}

static void check_lspci(const char *pci, void *context)
{
	struct vpeer_path_report report = path_ask(*(int *)context, pci);
	const char *text = output_of(0, "lspci -vvs %s", pci);

	check_lspci_ats(&report.initiator, text);
	if (*report.initiator.driver && !strstr(text, "Kernel driver in use:"))
		test_fail(__FILE__, __LINE__, "lspci shows no driver");
	if (report.initiator.bridge_count)
		check_lspci_acs(&report.initiator.bridges[0]);
}

TEST(lspci_says_the_same, 120)
{
	int fd = aperture_open();

	pci_seen_each(check_lspci, &fd);
	close(fd);
}

static struct vpeer_path_report ask_of(const char *aperture, const char *initiator)
{
	struct vpeer_path_report report;
	bool attached;
	int fd;

	setenv("VPEER_AP_PCI", aperture, 1);
	attached = *aperture_node();
	if (!attached)
		CHECK_OK(control_attach(aperture, 2, 0, NULL));
	fd = aperture_open();
	report = path_ask(fd, initiator);
	path_check(&report, aperture, initiator, VPEER_REASON_NONE);
	close(fd);
	if (!attached)
		CHECK_OK(control_detach(aperture, NULL, NULL));
	return report;
}

/* The lab's first vgpu is to have clique 3 and ATS, the second neither. */
TEST(clique_and_ats_of_an_aperture, 60)
{
	char with[16], without[16];
	struct vpeer_path_report report;

	vgpu_pci(2);
	snprintf(with, sizeof(with), "%s", vgpu_pci(0));
	snprintf(without, sizeof(without), "%s", vgpu_pci(1));
	report = ask_of(with, without);
	CHECK(report.aperture.flags & VPEER_FUNCTION_CLIQUE);
	CHECK_EQ(report.aperture.clique, 3);
	CHECK(report.aperture.flags & VPEER_FUNCTION_ATS);
	CHECK(!(report.initiator.flags & (VPEER_FUNCTION_CLIQUE | VPEER_FUNCTION_ATS)));
	report = ask_of(without, with);
	CHECK(!(report.aperture.flags & (VPEER_FUNCTION_CLIQUE | VPEER_FUNCTION_ATS)));
	CHECK_EQ(report.aperture.clique, 0);
	CHECK(report.initiator.flags & VPEER_FUNCTION_CLIQUE);
}

/* The last aperture of a VMM that does not map its BAR; the first one is mapped. */
TEST(aperture_that_is_trapped, 60)
{
	const char *all = getenv("VPEER_AP_ALL"), *last = all ? strrchr(all, ' ') : NULL;
	char good[16], bad[16];
	struct vpeer_path_report report;
	int fd;

	if (!last)
		test_skip("not so many apertures: VPEER_AP_ALL is '%s'", all ? all : "");
	snprintf(good, sizeof(good), "%s", aperture_pci());
	snprintf(bad, sizeof(bad), "%s", last + 1);
	setenv("VPEER_AP_PCI", bad, 1);
	fd = aperture_open();
	if (unusable(fd) != VPEER_REASON_TRAPPED)
		test_skip("the VMM maps every BAR");
	report = path_ask(fd, good);
	path_check(&report, bad, good, VPEER_REASON_TRAPPED);
	CHECK_EQ(report.dmabuf_reason, VPEER_REASON_TRAPPED);
	close(fd);
	setenv("VPEER_AP_PCI", good, 1);
	fd = aperture_open();
	CHECK(path_ask(fd, bad).dmabuf_reason != VPEER_REASON_TRAPPED);
	close(fd);
}

static void set_ats(const char *pci, bool on)
{
	output_of(0, "setpci -s %s ECAP_ATS+6.w=%04x:8000", pci, on ? 0x8000 : 0);
}

/* Not what Linux remembers. The function does no DMA meanwhile. */
TEST(ats_is_read_from_the_register, 60)
{
	char pci[16];
	int fd = aperture_open();
	bool was;

	snprintf(pci, sizeof(pci), "%s", vgpu_pci(0));
	was = path_ask(fd, pci).initiator.ats_control & ATS_ENABLED;
	set_ats(pci, !was);
	CHECK_EQ(!!(path_ask(fd, pci).initiator.ats_control & ATS_ENABLED), !was);
	set_ats(pci, was);
	CHECK_EQ(!!(path_ask(fd, pci).initiator.ats_control & ATS_ENABLED), was);
	close(fd);
}

/* Each GPU that is there. */
TEST(vgpu_and_vrnic, 120)
{
	const char *all = getenv("VPEER_VGPU_ALL");
	char *vgpus = strdup(all ? all : ""), *vgpu;
	struct vpeer_path_report report;

	vgpu_pci(0);
	while ((vgpu = strsep(&vgpus, " "))) {
		report = ask_of(vgpu, vrnic_pci(0));
		CHECK_EQ(report.dmabuf_reason, VPEER_REASON_NONE);
		CHECK(!strcmp(report.aperture.driver, "vpeer"));
		CHECK(!strncmp(report.initiator.driver, "vrnic", 5));
		CHECK(report.initiator.flags & VPEER_FUNCTION_ATS);
	}
}

/* Can capabilities of the bridge above the aperture be read in sysfs? */
static bool reads_capabilities(const struct vpeer_path_report *report)
{
	const struct vpeer_path_bridge *bridge = &report->aperture.bridges[0];
	char path[128], byte;
	ssize_t size;
	int fd;

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%04x:%02x:%02x.%x/config",
		 bridge->domain, bridge->bus, bridge->devfn >> 3, bridge->devfn & 7);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	size = pread(fd, &byte, 1, PCI_CFG_SPACE_SIZE);
	close(fd);
	return size == 1;
}

static void ask_as_member(void *data)
{
	const struct vpeer_path_report *expected = data;
	struct vpeer_path_report report;
	int fd;

	become_member();
	fd = open(aperture_node(), O_RDONLY | O_CLOEXEC);
	CHECK_OK(fd);
	report = path_ask(fd, aperture_pci());
	CHECK(!memcmp(&report, expected, sizeof(report)));
	CHECK(!reads_capabilities(&report));
}

/* What sysfs shows to root alone, too. */
TEST(group_member, 20)
{
	int fd = aperture_open();
	struct vpeer_path_report report = path_ask(fd, aperture_pci());

	CHECK(report.aperture.bridges[0].flags & VPEER_FUNCTION_ACS);
	CHECK(reads_capabilities(&report));
	test_in_child(ask_as_member, &report);
	close(fd);
}

/* No one has to clear what is out. */
TEST(results_replace_what_was_there, 20)
{
	struct vpeer_path_report clean, dirty;
	int fd = aperture_open();

	clean = path_ask(fd, aperture_pci());
	memset(&dirty, 0xff, sizeof(dirty));
	dirty.argsz = sizeof(dirty);
	dirty.flags = 0;
	dirty.domain = clean.domain;
	dirty.bus = clean.bus;
	dirty.devfn = clean.devfn;
	memset(dirty.reserved, 0, sizeof(dirty.reserved));
	memset(dirty.reserved2, 0, sizeof(dirty.reserved2));
	dirty.reserved3 = 0;
	memset(dirty.reserved4, 0, sizeof(dirty.reserved4));
	memset(dirty.aperture.reserved, 0, sizeof(dirty.aperture.reserved));
	memset(dirty.initiator.reserved, 0, sizeof(dirty.initiator.reserved));
	CHECK_OK(ioctl(fd, VPEER_IOCTL_PATH_REPORT, &dirty));
	CHECK(!memcmp(&clean, &dirty, sizeof(clean)));
	close(fd);
}

/* Each byte that is to be zero. */
TEST(reserved_bytes, 20)
{
	static const struct {
		size_t at, size;
	} places[] = {
		{ offsetof(struct vpeer_path_report, flags), 4 },
		{ offsetof(struct vpeer_path_report, reserved), 2 },
		{ offsetof(struct vpeer_path_report, reserved2), 2 },
		{ offsetof(struct vpeer_path_report, reserved3), 4 },
		{ offsetof(struct vpeer_path_report, reserved4), 64 },
		{ offsetof(struct vpeer_path_report, aperture.reserved), 16 },
		{ offsetof(struct vpeer_path_report, initiator.reserved), 16 },
	};
	struct vpeer_path_report report;
	int fd = aperture_open();

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		for (size_t at = 0; at < places[i].size; at++) {
			memset(&report, 0, sizeof(report));
			report.argsz = sizeof(report);
			((char *)&report)[places[i].at + at] = 1;
			CHECK_REFUSED(fd, VPEER_IOCTL_PATH_REPORT, &report, EINVAL,
				      VPEER_REASON_BAD_ARGUMENT);
		}
	}
	path_ask(fd, aperture_pci());
	close(fd);
}

TEST(no_such_function, 20)
{
	static const char *const nowhere[] = {
		"0000:00:1d.1", "0000:ff:1f.7", "0001:00:00.0", "10000:00:00.0", "ffffffff:00:00.0",
		"80000000:00:00.0",
	};
	struct vpeer_path_report report;
	int fd = aperture_open();

	for (size_t i = 0; i < ARRAY_SIZE(nowhere); i++) {
		CHECK_ERRNO(path_try(fd, nowhere[i], &report), ENODEV);
		CHECK_EQ(report.reason, VPEER_REASON_NO_DEVICE);
	}
	path_ask(fd, "0000:00:00.0");
	close(fd);
}

TEST(aperture_gone, 30)
{
	struct vpeer_path_report report;
	int fd = aperture_open();

	CHECK_OK(control_detach(aperture_pci(), NULL, NULL));
	CHECK_ERRNO(path_try(fd, "0000:00:00.0", &report), ENODEV);
	CHECK_EQ(report.reason, VPEER_REASON_GONE);
	close(fd);
	CHECK_OK(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, NULL));
	fd = aperture_open();
	path_ask(fd, "0000:00:00.0");
	close(fd);
}

#define ROUNDS	20

static void remove_and_rescan(const char *pci)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/bus/pci/devices/%s/remove", pci);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		CHECK(sysfs_write(path, "1"));
		CHECK(sysfs_write("/sys/bus/pci/rescan", "1"));
		CHECK(!access(path, F_OK));
	}
	_exit(0);
}

TEST(initiator_comes_and_goes, 60)
{
	const char *edu = getenv("VPEER_EDU_PCI");
	unsigned int there = 0, gone = 0;
	struct vpeer_path_report report;
	int status = 0, fd;
	pid_t pid;

	if (!edu || !*edu)
		test_skip("no edu device: VPEER_EDU_PCI is not set");
	fd = aperture_open();
	pid = test_fork();
	if (!pid)
		remove_and_rescan(edu);
	while (!waitpid(pid, &status, WNOHANG)) {
		if (!path_try(fd, edu, &report)) {
			CHECK_EQ(report.initiator.bridge_count, 1);
			there++;
		} else {
			CHECK_EQ(errno, ENODEV);
			CHECK_EQ(report.reason, VPEER_REASON_NO_DEVICE);
			gone++;
		}
	}
	CHECK_EQ(status, 0);
	printf("%u reports while it was there, %u when not\n", there, gone);
	CHECK(there && gone);
	close(fd);
}

/* Its DMA is not the kernel's then. */
TEST(initiator_of_vfio, 60)
{
	const char *edu = getenv("VPEER_EDU_PCI");
	struct vpeer_path_report report;
	struct vfio v;
	int fd;

	if (!edu || !*edu)
		test_skip("no edu device: VPEER_EDU_PCI is not set");
	fd = aperture_open();
	report = path_ask(fd, edu);
	CHECK_EQ(report.initiator.driver[0], 0);
	CHECK_EQ(report.dmabuf_reason, VPEER_REASON_NO_DMA_DRIVER);
	if (report.initiator.iommu == VPEER_IOMMU_NONE)
		test_skip("VFIO takes it behind an IOMMU only");
	vfio_open(&v, edu);
	report = path_ask(fd, edu);
	CHECK(!strcmp(report.initiator.driver, "vfio-pci"));
	CHECK_EQ(report.initiator.iommu, VPEER_IOMMU_UNKNOWN);
	CHECK_EQ(report.dmabuf_reason, VPEER_REASON_NO_DMA_DRIVER);
	path_check(&report, aperture_pci(), edu, VPEER_REASON_NONE);
	vfio_close(&v);
	close(fd);
}

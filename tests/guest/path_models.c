// SPDX-License-Identifier: GPL-2.0-only
/* Path reports of the device models, whose capabilities the lab chose. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "command.h"
#include "harness.h"
#include "path.h"
#include "vgpu.h"
#include "vrnic.h"

#define ATS_ENABLED	(1U << 15)

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

// SPDX-License-Identifier: GPL-2.0-only
/* The path report of an aperture that takes no windows. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "path.h"

/* The last aperture of a VMM that does not map its BAR; the first one is mapped. */
TEST(by_the_vmm, 60)
{
	const char *all = getenv("VPEER_AP_ALL"), *last = all ? strrchr(all, ' ') : NULL;
	char good[16], bad[16];
	struct vpeer_path_report report;
	uint32_t reason;
	int fd;

	if (!last)
		test_skip("not so many apertures: VPEER_AP_ALL is '%s'", all ? all : "");
	snprintf(good, sizeof(good), "%s", aperture_pci());
	snprintf(bad, sizeof(bad), "%s", last + 1);
	setenv("VPEER_AP_PCI", bad, 1);
	fd = aperture_open();
	CHECK_ERRNO(window_alloc_at(fd, 0, GRANULE, &reason), EOPNOTSUPP);
	CHECK_EQ(reason, VPEER_REASON_TRAPPED);
	report = path_ask(fd, good);
	path_check(&report, bad, good, VPEER_REASON_TRAPPED);
	CHECK_EQ(report.dmabuf_reason, VPEER_REASON_TRAPPED);
	close(fd);
	setenv("VPEER_AP_PCI", good, 1);
	fd = aperture_open();
	CHECK(path_ask(fd, bad).dmabuf_reason != VPEER_REASON_TRAPPED);
	close(fd);
}

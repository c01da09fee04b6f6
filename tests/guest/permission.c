// SPDX-License-Identifier: GPL-2.0-only
/* Who may do what. */
#include <fcntl.h>
#include <grp.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "aperture.h"
#include "harness.h"
#include "memory.h"
#include "user.h"

static void check_mode(const char *node)
{
	struct group *group = getgrnam("vpeer");
	struct stat st;

	CHECK(group);
	CHECK_OK(stat(node, &st));
	CHECK(S_ISCHR(st.st_mode));
	CHECK_EQ(st.st_mode & 07777, 0660);
	CHECK_EQ(st.st_uid, 0);
	CHECK_EQ(st.st_gid, group->gr_gid);
}

TEST(node_modes, 10)
{
	check_mode("/dev/vpeerctl");
	check_mode(aperture_node());
}

static void work_as_member(void *unused)
{
	char *mapped;
	int fd;

	(void)unused;
	become_member();
	fd = aperture_open();
	CHECK_OK(window_alloc_at(fd, 0, GRANULE, NULL));
	mapped = window_map(fd, 0, GRANULE);
	mapped[0] = 1;
	CHECK_OK(window_revoke(fd, 0, 0, NULL));
	CHECK_OK(window_free(fd, 0));
	CHECK_EQ(signal_of_write(window_map(fd, 4 * GRANULE, GRANULE)), 0);
}

TEST(group_member, 10)
{
	test_in_child(work_as_member, NULL);
}

static void try_as_stranger(void *unused)
{
	(void)unused;
	become_stranger();
	CHECK_ERRNO(open(aperture_node(), O_RDWR), EACCES);
	CHECK_ERRNO(open(aperture_node(), O_RDONLY), EACCES);
	CHECK_ERRNO(open("/dev/vpeerctl", O_RDWR), EACCES);
	CHECK_ERRNO(open("/dev/vpeerctl", O_RDONLY), EACCES);
}

TEST(stranger, 10)
{
	test_in_child(try_as_stranger, NULL);
}

static void administer_as_member(void *unused)
{
	uint32_t reason;

	(void)unused;
	become_member();
	CHECK_ERRNO(control_detach(aperture_pci(), NULL, &reason), EPERM);
	CHECK_EQ(reason, VPEER_REASON_NOT_PERMITTED);
	CHECK_ERRNO(control_attach(aperture_pci(), VPEER_BAR_AUTO, 0, &reason), EPERM);
	CHECK_EQ(reason, VPEER_REASON_NOT_PERMITTED);
	CHECK_ERRNO(control_attach("0000:ff:1f.7", 0, VPEER_ATTACH_FORCE, &reason), EPERM);
}

TEST(member_cannot_administer, 10)
{
	test_in_child(administer_as_member, NULL);
	CHECK(pci_bound(aperture_pci()));
}

/* CAP_SYS_ADMIN is what counts when the call is made, not who opened the node. */
static void attach_by_passed_node(void *data)
{
	struct vpeer_detach arg = { .argsz = sizeof(arg) };
	unsigned int domain, bus, device, function;

	CHECK_EQ(sscanf(aperture_pci(), "%x:%x:%x.%x", &domain, &bus, &device,
			&function), 4);
	arg.domain = domain;
	arg.bus = bus;
	arg.devfn = device << 3 | function;
	become_member();
	CHECK_REFUSED(*(int *)data, VPEER_IOCTL_DETACH, &arg, EPERM,
		      VPEER_REASON_NOT_PERMITTED);
}

TEST(opened_by_root_used_by_member, 10)
{
	int fd = control_open();

	test_in_child(attach_by_passed_node, &fd);
	CHECK(pci_bound(aperture_pci()));
	close(fd);
}

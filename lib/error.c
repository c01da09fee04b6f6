// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "sysfs.h"

struct hint {
	int err;
	unsigned int mender;
	const char *message;
	const char *remedy;
};

/* How every structure of the interface begins. */
struct head {
	uint32_t argsz;
	uint32_t flags;
	uint32_t reason;
};

static const struct hint open_hints[] = {
	{ EACCES, VPEER_MENDER_GUEST, "permission denied",
	  "join the group vpeer ('usermod -aG vpeer USER', then log in again), or run as root" },
	{ EPERM, VPEER_MENDER_GUEST, "not permitted to open the node",
	  "allow the node in the container's device list, or run outside of it" },
	{ ENXIO, VPEER_MENDER_GUEST, "the node exists but no device is behind it",
	  "load the module ('modprobe vpeer') and attach the function again" },
	{ ENODEV, VPEER_MENDER_GUEST, "the aperture was detached",
	  "attach the function again with 'vpeer attach'" },
	{ EMFILE, VPEER_MENDER_PROGRAM, "this process has too many open files",
	  "raise 'ulimit -n'" },
};

static const struct hint mmap_hints[] = {
	{ EBUSY, VPEER_MENDER_PROGRAM,
	  "another open file has a window there, or DMA pins of its last owner remain",
	  "allocate a window, or end the other user ('vpeer list' shows them)" },
	{ EINVAL, VPEER_MENDER_PROGRAM,
	  "the range is not page aligned, leaves the aperture, or the mapping is private",
	  "map page-aligned ranges inside the window with MAP_SHARED" },
	{ EPERM, VPEER_MENDER_PROGRAM, "device memory must not be executable",
	  "map without PROT_EXEC" },
	{ EACCES, VPEER_MENDER_PROGRAM, "the node was not opened for writing",
	  "open the node with O_RDWR" },
	{ EAGAIN, VPEER_MENDER_PROGRAM,
	  "the function is being reset, its bus is in error, or the machine is suspended",
	  "call again when it is over" },
	{ ENODEV, VPEER_MENDER_GUEST, "the aperture was detached or unplugged",
	  "attach the function again" },
	{ EDQUOT, VPEER_MENDER_GUEST, "the limit of window bytes per user is reached",
	  "free windows, or raise the module parameter max_bytes_per_user" },
	{ ENOMEM, VPEER_MENDER_GUEST, "no address space or host memory is left",
	  "free memory; 'ulimit -v' may be the limit" },
};

static const struct hint *find_hint(const struct hint *hints, size_t count, int err)
{
	for (size_t i = 0; i < count; i++)
		if (hints[i].err == err)
			return &hints[i];
	return NULL;
}

void vpeer_error_clear(struct vpeer_error *error)
{
	if (error)
		memset(error, 0, sizeof(*error));
}

int vpeer_fail(struct vpeer_error *error, int err, unsigned int reason, const char *who,
	       const char *remedy, const char *format, ...)
{
	va_list args;

	if (!error)
		return -err;
	vpeer_error_clear(error);
	error->err = err;
	error->reason = reason;
	error->mender = vpeer_reason_mender(reason);
	snprintf(error->who, sizeof(error->who), "%s", who);
	snprintf(error->remedy, sizeof(error->remedy), "%s", remedy);
	va_start(args, format);
	vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return -err;
}

int vpeer_mended_by(struct vpeer_error *error, unsigned int mender, int result)
{
	if (error)
		error->mender = mender;
	return result;
}

int vpeer_fail_memory(struct vpeer_error *error, const char *who, const char *what)
{
	return vpeer_mended_by(error, VPEER_MENDER_GUEST,
			       vpeer_fail(error, ENOMEM, VPEER_REASON_NONE, who,
					  "free memory; 'ulimit -v' may be the limit",
					  "%s: no memory", what));
}

static int fail_by_hint(struct vpeer_error *error, int err, const char *who, const char *what,
			const struct hint *hint)
{
	return vpeer_mended_by(error, hint ? hint->mender : VPEER_MENDER_UNKNOWN,
			 vpeer_fail(error, err, VPEER_REASON_NONE, who, hint ? hint->remedy : "",
				    "%s: %s", what, hint ? hint->message : strerror(err)));
}

int vpeer_fail_files(struct vpeer_error *error, int err, const char *who, const char *remedy,
		     const char *what)
{
	bool files = err == EMFILE || err == ENFILE;

	return vpeer_fail(error, err, files ? VPEER_REASON_TOO_MANY_FILES : VPEER_REASON_NONE, who,
			  files ? vpeer_reason_remedy(VPEER_REASON_TOO_MANY_FILES) : remedy,
			  "%s: %s", what, strerror(err));
}

static int fail_absent(struct vpeer_error *error, const char *path, bool control)
{
	vpeer_fail(error, ENOENT, VPEER_REASON_NONE, path,
		   control ? "load it with 'modprobe vpeer'" :
			     "attach the function with 'vpeer attach'; 'vpeer list' shows what is "
			     "attached",
		   "cannot open: %s",
		   control ? "the module vpeer is not loaded" : "the node does not exist");
	return vpeer_mended_by(error, VPEER_MENDER_GUEST, -ENOENT);
}

int vpeer_fail_open(struct vpeer_error *error, int err, const char *path)
{
	bool control = !strcmp(path, VPEER_CONTROL_NODE);

	if (err == ENOENT)
		return fail_absent(error, path, control);
	if (err == EACCES && control)
		return vpeer_mended_by(error, VPEER_MENDER_GUEST,
				 vpeer_fail(error, err, VPEER_REASON_NONE, path,
					    vpeer_reason_remedy(VPEER_REASON_NOT_PERMITTED),
					    "cannot open: permission denied"));
	return fail_by_hint(error, err, path, "cannot open",
			    find_hint(open_hints, sizeof(open_hints) / sizeof(open_hints[0]), err));
}

int vpeer_fail_mmap(struct vpeer_error *error, int err, const char *who)
{
	return fail_by_hint(error, err, who, "cannot map",
			    find_hint(mmap_hints, sizeof(mmap_hints) / sizeof(mmap_hints[0]), err));
}

int vpeer_fail_unattached(struct vpeer_error *error, const struct vpeer_pci_address *address)
{
	char pci[VPEER_PCI_LEN];

	vpeer_pci_format(address, pci);
	if (!vpeer_sysfs_exists("/sys/bus/pci/devices/%s", pci))
		return vpeer_fail(error, ENOENT, VPEER_REASON_NO_DEVICE, pci,
				  vpeer_reason_remedy(VPEER_REASON_NO_DEVICE), "%s",
				  vpeer_reason_text(VPEER_REASON_NO_DEVICE));
	vpeer_fail(error, ENOENT, VPEER_REASON_NONE, pci,
		   "attach it with 'vpeer attach'; 'vpeer list --all' shows candidates",
		   "no BAR of this function is attached");
	return vpeer_mended_by(error, VPEER_MENDER_GUEST, -ENOENT);
}

int vpeer_fail_reason(struct vpeer_error *error, int err, unsigned int reason, const char *who,
		      const char *what)
{
	return vpeer_fail(error, err, reason, who, vpeer_reason_remedy(reason), "%s: %s", what,
			  vpeer_reason_text(reason));
}

static int fail_ioctl(struct vpeer_error *error, int err, unsigned int reason, const char *who,
		      const char *what)
{
	if (reason != VPEER_REASON_NONE)
		return vpeer_fail_reason(error, err, reason, who, what);
	if (err == ENOTTY)
		return vpeer_mended_by(error, VPEER_MENDER_PROGRAM,
				       vpeer_fail(error, err, reason, who,
						  "name a node /dev/vpeerN",
						  "%s: this is no node of vpeer", what));
	return vpeer_fail(error, err, reason, who, "", "%s: %s", what, strerror(err));
}

int vpeer_ioctl(int fd, unsigned long request, void *argument, const char *who,
		const char *what, struct vpeer_error *error)
{
	struct head *head = argument;

	head->reason = VPEER_REASON_NONE;
	if (!ioctl(fd, request, argument)) {
		vpeer_error_clear(error);
		return 0;
	}
	return fail_ioctl(error, errno, head->reason, who, what);
}

int vpeer_handshake(int fd, const char *who, struct vpeer_query *query,
		    struct vpeer_error *error)
{
	int err;

	*query = (struct vpeer_query){ .argsz = sizeof(*query) };
	err = vpeer_ioctl(fd, VPEER_IOCTL_QUERY, query, who, "cannot query the module", error);
	if (err)
		return err;
	query->module_version[sizeof(query->module_version) - 1] = '\0';
	if (query->api_version == VPEER_API_VERSION)
		return 0;
	vpeer_fail(error, EPROTO, VPEER_REASON_NONE, who,
		   "install the library and module of one release, then reload the module",
		   "module %s speaks interface version %u, this library version %u",
		   query->module_version, query->api_version, VPEER_API_VERSION);
	return vpeer_mended_by(error, VPEER_MENDER_GUEST, -EPROTO);
}

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * DOC: libvpeer
 *
 * Device memory behind a PCI BAR, as memory that RDMA and block drivers take.
 *
 * Every function that can fail returns 0 or a negative errno value and, when
 * the caller passes a struct vpeer_error, says there why and what mends it.
 * All sizes and offsets are bytes; offsets count from the start of the BAR.
 *
 * The library keeps no global state. Functions may be called from any thread;
 * two threads may use one handle at the same time, but a handle must not be
 * used while or after it is closed or freed.
 */
#ifndef VPEER_H
#define VPEER_H

#include <stddef.h>
#include <stdint.h>

#include "vpeer_ioctl.h"

#ifdef __cplusplus
extern "C" {
#endif

#define VPEER_EXPORT __attribute__((visibility("default")))

/* What the argument points to is not read: it need not be initialized. */
#if defined(__GNUC__) && __GNUC__ >= 11 && !defined(__clang__)
#define VPEER_NO_ACCESS(argument) __attribute__((access(none, argument)))
#else
#define VPEER_NO_ACCESS(...)
#endif

/* Bytes of a PCI address as text with its final zero byte. */
#define VPEER_PCI_LEN	24

/* vpeer_window_alloc(): any place in the aperture will do. */
#define VPEER_ANY_OFFSET	UINT64_MAX

/**
 * struct vpeer_pci_address - place of a PCI function, as the running kernel shows it
 * @domain: PCI segment
 * @bus: bus number
 * @devfn: device number << 3 | function number
 */
struct vpeer_pci_address {
	uint32_t domain;
	uint8_t bus;
	uint8_t devfn;
	uint8_t reserved[2];
};

/**
 * struct vpeer_error - why a call failed; owned by the caller
 * @err: positive errno value, 0 after success
 * @reason: enum vpeer_reason, VPEER_REASON_NONE where errno alone is known
 * @who: the object: a PCI address, with the BAR if it is one, or the path of
 *	a node
 * @message: cause, one sentence without a final newline
 * @remedy: what to do about it; empty where nothing is known
 * @mender: enum vpeer_mender: who can do it
 * @reserved: 0
 *
 * Passing NULL for it is allowed everywhere.
 */
struct vpeer_error {
	int32_t err;
	uint32_t reason;
	char who[128];
	char message[384];
	char remedy[384];
	uint64_t mender;
	uint64_t reserved[3];
};

/**
 * struct vpeer_entry - one aperture as sysfs shows it
 * @pci: the function that owns the BAR
 * @index: N of /dev/vpeerN
 * @bar: BAR index
 * @size: bytes of the aperture
 * @granule: bytes of a granule
 * @bytes_free: bytes no window holds
 * @bytes_pinned: bytes initiators hold pinned
 * @windows: number of windows of all open files
 * @mappings: number of live CPU mappings
 * @bar_offset: where in the BAR the aperture starts: 0 unless foreign
 * @kind: "owned", or "foreign": a range of a BAR whose driver stays
 * @memory_type: caching of CPU mappings: "write-combining" or "uncached"
 * @status: the module's own word on its state: "ok", or why it is of no use, as
 *	'vpeer list' shows it
 * @node: path of the node
 */
struct vpeer_entry {
	struct vpeer_pci_address pci;
	uint32_t index;
	uint32_t bar;
	uint64_t size;
	uint64_t granule;
	uint64_t bytes_free;
	uint64_t bytes_pinned;
	uint64_t windows;
	uint64_t mappings;
	char kind[16];
	char memory_type[24];
	char status[128];
	char node[32];
	uint64_t bar_offset;
	uint64_t reserved[7];
};

struct vpeer_control;	/* the control node */
struct vpeer_aperture;	/* an open aperture; closing it ends its windows */
struct vpeer_window;	/* a window of an open aperture */

/**
 * vpeer_pci_parse() - read a PCI address
 * @text: an address like 0000:01:00.0, or 01:00.0 for domain 0, in hexadecimal
 * @address: receives the address; untouched on failure
 *
 * Return: 0, -EINVAL for any other text and for NULL.
 */
VPEER_EXPORT int vpeer_pci_parse(const char *text, struct vpeer_pci_address *address);

/**
 * vpeer_pci_format() - write a PCI address the way sysfs does
 * @address: address
 * @text: receives the text
 *
 * Return: @text.
 */
VPEER_EXPORT char *vpeer_pci_format(const struct vpeer_pci_address *address,
				    char text[VPEER_PCI_LEN]);

/**
 * vpeer_reason_name() - short name of a reason, for logs and scripts
 * @reason: enum vpeer_reason or enum vpeer_reg_reason
 *
 * Return: static text such as "driver-bound"; "unknown" for a number this
 * library does not know.
 */
VPEER_EXPORT const char *vpeer_reason_name(unsigned int reason);

/**
 * vpeer_reason_text() - what a reason means, as a sentence
 * @reason: enum vpeer_reason or enum vpeer_reg_reason
 *
 * struct vpeer_error has it already; this is for programs that call ioctl()
 * themselves.
 *
 * Return: static text, never NULL.
 */
VPEER_EXPORT const char *vpeer_reason_text(unsigned int reason);

/**
 * vpeer_reason_remedy() - what mends a reason, as a sentence
 * @reason: enum vpeer_reason or enum vpeer_reg_reason
 *
 * struct vpeer_error has it already; this is for programs that call ioctl()
 * themselves.
 *
 * Return: static text, never NULL.
 */
VPEER_EXPORT const char *vpeer_reason_remedy(unsigned int reason);

/**
 * vpeer_cause_name() - short name of why a window was revoked
 * @cause: enum vpeer_cause, as in struct vpeer_window_info
 *
 * Return: static text such as "detached"; "unknown" for a number this library
 * does not know.
 */
VPEER_EXPORT const char *vpeer_cause_name(unsigned int cause);

/**
 * vpeer_cause_text() - why a window was revoked, as a sentence
 * @cause: enum vpeer_cause, as in struct vpeer_window_info
 *
 * To be detached includes a hot-unplug that was asked for, and a function that
 * is removed through sysfs. A machine that began to be suspended and was kept
 * from it by pins that remain counts as suspended.
 *
 * Return: static text, never NULL.
 */
VPEER_EXPORT const char *vpeer_cause_text(unsigned int cause);

/**
 * vpeer_list() - find all apertures of this machine
 * @entries: receives an array, sorted by index; free it with vpeer_list_free()
 * @count: receives the number of entries; 0 when the module is not loaded
 * @error: may be NULL
 *
 * Reads /sys/class/vpeer. An aperture that is detached during the call is left
 * out. Without the module there are none, which is no error.
 *
 * Return: 0, -ENOMEM, or the errno of reading sysfs.
 */
VPEER_EXPORT int vpeer_list(struct vpeer_entry **entries, size_t *count,
			    struct vpeer_error *error);

/**
 * vpeer_list_free() - free what vpeer_list() returned
 * @entries: array or NULL
 */
VPEER_EXPORT void vpeer_list_free(struct vpeer_entry *entries);

/**
 * vpeer_open() - open an aperture
 * @aperture: receives the handle; close it with vpeer_close()
 * @name: PCI address like 0000:01:00.0, path of a node like /dev/vpeer0, a name
 *	like vpeer0, or an index like 0
 * @error: may be NULL
 *
 * Checks that the module speaks the interface version this library was built
 * for. The descriptor is close-on-exec. A child of fork() shares the open file
 * and so its windows.
 *
 * Return: 0, -EINVAL for a malformed name, -ENOENT when there is no such
 * aperture, -EACCES without the node's permission, which members of the group
 * vpeer have, -ENOTTY when the path is no
 * node of vpeer, -EPROTO on a version mismatch, -ENODEV when the aperture was
 * detached, -ENOMEM.
 */
VPEER_EXPORT int vpeer_open(struct vpeer_aperture **aperture, const char *name,
			    struct vpeer_error *error);

/**
 * vpeer_close() - close an aperture
 * @aperture: handle or NULL
 *
 * Free its window handles first: they point into it. Mappings stay valid
 * until unmapped; the windows end with the last descriptor and mapping.
 */
VPEER_EXPORT void vpeer_close(struct vpeer_aperture *aperture);

/**
 * vpeer_fd() - descriptor of an open aperture, to pass on or to poll
 * @aperture: handle
 *
 * Return: the descriptor; it stays owned by the handle.
 */
VPEER_EXPORT int vpeer_fd(const struct vpeer_aperture *aperture);

/**
 * vpeer_query() - version, features and limits of the module
 * @aperture: handle
 * @query: out; the caller sets @query->argsz to its size, all else to 0
 * @error: may be NULL
 *
 * Return: 0, -EINVAL for another size or a member that is not 0.
 */
VPEER_EXPORT int vpeer_query(struct vpeer_aperture *aperture, struct vpeer_query *query,
			     struct vpeer_error *error);

/**
 * vpeer_aperture_info() - place, size and use of an aperture
 * @aperture: handle
 * @info: out; the caller sets @info->argsz to its size, all else to 0
 * @error: may be NULL
 *
 * Return: 0, -EINVAL for another size or a member that is not 0, -ENODEV once
 * the aperture was detached.
 */
VPEER_EXPORT int vpeer_aperture_info(struct vpeer_aperture *aperture,
				     struct vpeer_aperture_info *info,
				     struct vpeer_error *error);

/**
 * vpeer_event_fd() - be told of revocations by an eventfd
 * @aperture: handle
 * @eventfd: descriptor of an eventfd, which stays the caller's; -1 for none
 *	from now on
 * @error: may be NULL
 *
 * It counts the windows of this handle that are revoked from now on, whoever
 * does it - the program itself, an administrator, a detach, unplug, reset or
 * suspend: set it before taking windows. A window that is freed is not counted.
 *
 * The event comes when the generation has changed and before access has ended:
 * for a moment CPUs and importers may still reach the memory. It is the time to
 * deregister: pins that go now spare the revocation its EINPROGRESS. What says
 * that no access is possible is the return of vpeer_window_revoke() or
 * vpeer_window_free().
 *
 * vpeer_window_info() tells the cause, also once the aperture is gone. An open
 * file has one such eventfd: a second call replaces the first one's, one in a
 * child of fork() too. After vpeer_close() it is signalled as long as a mapping
 * or a DMA-buf keeps the open file; the cause can be asked before that only. The
 * caller may close the descriptor.
 *
 * Return: 0, -EBADF when it is not the descriptor of an eventfd, -EINVAL for a
 * negative number other than -1, -ENODEV once the aperture was detached.
 *
 * Example:
 *	struct vpeer_window_info info = { .argsz = sizeof(info) };
 *	uint64_t count;
 *	int event = eventfd(0, EFD_CLOEXEC);
 *
 *	if (vpeer_event_fd(aperture, event, &error))
 *		errx(1, "%s: %s (%s)", error.who, error.message, error.remedy);
 *	if (read(event, &count, sizeof(count)) == sizeof(count) &&
 *	    !vpeer_window_info(window, &info, &error) &&
 *	    info.state == VPEER_WINDOW_REVOKED)
 *		warnx("%s", vpeer_cause_text(info.cause));
 */
VPEER_EXPORT int vpeer_event_fd(struct vpeer_aperture *aperture, int eventfd,
				struct vpeer_error *error);

/**
 * vpeer_event_add() - have one more eventfd told of changed generations
 * @aperture: handle
 * @eventfd: descriptor of an eventfd, which stays the caller's
 * @error: may be NULL
 *
 * For libraries that cache what they registered: beside the program's eventfd,
 * and each process that shares the open file may add its own. It is signalled
 * once or more after the generation of a window of this open file has changed,
 * whoever made it change: revoked, freed, or unmapped, see
 * vpeer_window_generation(), which tells what is stale. For taking a window it
 * is not signalled.
 *
 * An open file takes VPEER_MAX_EVENTFDS. An eventfd stays, even when its last
 * descriptor is closed or its process ends, until vpeer_event_remove() or as
 * long as a descriptor, mapping or DMA-buf keeps the open file. The module
 * must have VPEER_FEATURE_MORE_EVENTS. Thread-safe.
 *
 * Return: 0, -EBADF when it is not the descriptor of an eventfd, -EINVAL for a
 * negative number or a module without the feature, -EEXIST when the eventfd
 * was added before, -ENOSPC when there is no place for another one, -ENODEV
 * once the aperture was detached.
 */
VPEER_EXPORT int vpeer_event_add(struct vpeer_aperture *aperture, int eventfd,
				 struct vpeer_error *error);

/**
 * vpeer_event_remove() - undo vpeer_event_add()
 * @aperture: handle
 * @eventfd: any descriptor of the eventfd that was added
 * @error: may be NULL
 *
 * It is not signalled any more once this has returned. Also possible when the
 * aperture is gone. Thread-safe.
 *
 * Return: 0, -ENOENT when it was not added, -EBADF and -EINVAL as
 * vpeer_event_add().
 */
VPEER_EXPORT int vpeer_event_remove(struct vpeer_aperture *aperture, int eventfd,
				    struct vpeer_error *error);

/**
 * vpeer_path_report() - what this machine shows of the path to an initiator
 * @aperture: handle
 * @initiator: the function that is to do DMA, such as an RDMA or NVMe VF
 * @report: out; the caller sets @report->argsz to its size, all else to 0
 * @error: may be NULL
 *
 * Both ends, the bridges above them with their ACS bits, the initiator's ATS
 * capability as its registers have it, IOMMU and DMA mask, the hypervisor, and
 * for the routes by DMA-buf and by pinned pages an enum vpeer_reason that tells
 * why the initiator cannot go them, VPEER_REASON_NONE where nothing is known
 * against it. What the host has between them is not seen, nor whether the
 * driver imports DMA-bufs: that only vpeer_reg() or a transfer tells. Registers
 * are read and never written.
 *
 * No root is needed, but the permission to open the aperture. A function in
 * D3cold is woken for the time of the call. The call waits for a driver that is
 * being bound to the initiator, or unbound. Thread-safe. The module must have
 * VPEER_FEATURE_PATH_REPORT.
 *
 * Return: 0, -ENODEV when there is no such function, or it does not answer, or
 * the aperture was detached, as @error's reason tells; -EINVAL for another size
 * or a member that is not 0, -EOPNOTSUPP for a module without the feature,
 * -EINTR when a signal comes while it waits.
 *
 * Example:
 *	struct vpeer_path_report report = { .argsz = sizeof(report) };
 *	struct vpeer_pci_address vf;
 *
 *	if (vpeer_pci_parse("0000:08:00.1", &vf) ||
 *	    vpeer_path_report(aperture, &vf, &report, &error))
 *		errx(1, "%s: %s (%s)", error.who, error.message, error.remedy);
 *	if (report.dmabuf_reason)
 *		warnx("%s", vpeer_reason_text(report.dmabuf_reason));
 *	if (!(report.initiator.ats_control & 1 << 15))
 *		warnx("ATS is off");
 */
VPEER_EXPORT int vpeer_path_report(struct vpeer_aperture *aperture,
				   const struct vpeer_pci_address *initiator,
				   struct vpeer_path_report *report,
				   struct vpeer_error *error);

/**
 * vpeer_window_alloc() - take a window
 * @aperture: handle; must outlive the window handle
 * @size: bytes wanted, at least 1; rounded up to whole granules
 * @offset: a multiple of the granule, or VPEER_ANY_OFFSET
 * @window: receives the handle; give it back with vpeer_window_free()
 * @error: may be NULL
 *
 * The memory reads as zero at first.
 *
 * Return: 0, -EINVAL for size 0, an offset that is not aligned or a range that
 * leaves the aperture, -ENOSPC when there is no free run of granules this long,
 * -EBUSY when the range has an owner or its last owner's pins remain, -EDQUOT at
 * the user's limit, -EMFILE at VPEER_MAX_WINDOWS, -EAGAIN while the function is
 * reset or the machine suspended, -EOPNOTSUPP when the VMM traps every access
 * to the BAR, -ERANGE when the kernel cannot make pages for the range, -ENODEV
 * when the aperture was detached, -ENOMEM.
 */
VPEER_EXPORT int vpeer_window_alloc(struct vpeer_aperture *aperture, uint64_t size,
				    uint64_t offset, struct vpeer_window **window,
				    struct vpeer_error *error);

/**
 * vpeer_window_free() - give a window back
 * @window: handle or NULL; invalid afterwards whatever the result
 * @timeout_ms: wait for DMA pins at most this long, in milliseconds; the
 *	module's parameter revoke_wait_ms is the most it waits
 * @error: may be NULL
 *
 * Every mapping of the window raises SIGBUS from then on, and cannot be
 * registered. Importers of its DMA-bufs are told first; the time that their
 * drivers take to let go is not part of @timeout_ms and has no bound of vpeer's.
 * Where processes share the open file, it ends the handles of all.
 *
 * Return: 0 when no access is possible from now on, -EINPROGRESS when
 * initiators still hold pins, -ENOENT when another process freed it before,
 * -ENODEV when the aperture was detached.
 */
VPEER_EXPORT int vpeer_window_free(struct vpeer_window *window, unsigned int timeout_ms,
				   struct vpeer_error *error);

/**
 * vpeer_window_revoke() - end all access to a window but keep it
 * @window: handle; stays valid and must still be freed
 * @timeout_ms: wait for DMA pins at most this long, in milliseconds
 * @pinned_bytes: receives bytes still pinned; may be NULL
 * @error: may be NULL
 *
 * Return: as vpeer_window_free().
 */
VPEER_EXPORT int vpeer_window_revoke(struct vpeer_window *window, unsigned int timeout_ms,
				     uint64_t *pinned_bytes, struct vpeer_error *error);

/**
 * vpeer_revoke_all() - revoke every window of an aperture, whoever owns it
 * @aperture: handle
 * @timeout_ms: wait for DMA pins at most this long, in milliseconds
 * @pinned_bytes: receives bytes still pinned; may be NULL
 * @error: may be NULL
 *
 * Return: as vpeer_window_free(), -EPERM without CAP_SYS_ADMIN.
 */
VPEER_EXPORT int vpeer_revoke_all(struct vpeer_aperture *aperture, unsigned int timeout_ms,
				  uint64_t *pinned_bytes, struct vpeer_error *error);

/**
 * vpeer_window_info() - state of a window
 * @window: handle
 * @info: out; the caller sets @info->argsz to its size, all else to 0
 * @error: may be NULL
 *
 * The member pinned_bytes is what a revocation could not take back now: pinned
 * pages, and DMA-bufs whose importer is not told of revocations. So, after a
 * DMA-buf was registered, a driver that lets go of it adds to mapped_bytes alone,
 * and one that keeps it to both. Of a revoked window it has all that is still
 * held, until the aperture is gone: what is held then is in quarantine, which
 * /sys/class/misc/vpeerctl/quarantine lists.
 *
 * Return: 0, or -ENOENT when a process that shares the open file freed it.
 */
VPEER_EXPORT int vpeer_window_info(struct vpeer_window *window, struct vpeer_window_info *info,
				   struct vpeer_error *error);

/**
 * vpeer_window_map() - map part of a window
 * @window: handle
 * @offset: from the start of the window, a multiple of the page size
 * @length: bytes, at least 1; 0 for all from @offset to the end
 * @prot: PROT_READ, PROT_WRITE or both; PROT_EXEC is refused
 * @address: receives the address; undo with vpeer_window_unmap()
 * @error: may be NULL
 *
 * The mapping is shared, not dumped in core files, and may be registered with
 * vpeer_reg() or ibv_reg_mr() or used for O_DIRECT I/O. Stores to it can be
 * write-combined: order them before starting DMA. It outlives the handles: unmap
 * it as well.
 *
 * Return: 0, -EINVAL when the offset is not page aligned or the range leaves
 * the window, -EPERM for PROT_EXEC, -ENODEV when the window was revoked or the
 * aperture detached, -EAGAIN while the function is reset or the machine
 * suspended, -ENOENT when a process that shares the open file freed the window,
 * -ENOMEM.
 *
 * Example:
 *	if (vpeer_window_map(window, 4096, 0, PROT_READ | PROT_WRITE, &memory, &error))
 *		errx(1, "%s: %s (%s)", error.who, error.message, error.remedy);
 *	...
 *	vpeer_window_unmap(memory, vpeer_window_size(window) - 4096);
 */
VPEER_EXPORT int vpeer_window_map(struct vpeer_window *window, uint64_t offset, size_t length,
				  int prot, void **address, struct vpeer_error *error);

/**
 * vpeer_window_unmap() - undo vpeer_window_map()
 * @address: what vpeer_window_map() returned
 * @length: the bytes mapped: what vpeer_window_map() was called with, or
 *	vpeer_window_size() - offset when that was 0
 *
 * Return: 0, -EINVAL for a length of 0 or an address that is not page aligned.
 */
VPEER_EXPORT int vpeer_window_unmap(void *address, size_t length);

/**
 * vpeer_window_dmabuf() - export part of a window as a DMA-buf
 * @window: handle
 * @offset: from the start of the window, a multiple of the page size
 * @size: bytes, a multiple of the page size; 0 for all from @offset to the end
 * @fd: receives the descriptor, close-on-exec; close it when it is no longer
 *	needed. -1 on failure
 * @error: may be NULL
 *
 * For ibv_reg_dmabuf_mr() and other importers that declare peer-to-peer DMA; the
 * kernel refuses others when they attach. CPUs may map it with MAP_SHARED, at an
 * offset that counts from @offset, and frame their access with
 * DMA_BUF_IOCTL_SYNC. For RDMA register the DMA-buf, not its mapping; a mapping
 * to be registered with ibv_reg_mr() comes from vpeer_window_map().
 *
 * What no one has used yet is zeroed first, so the first export of a large window
 * takes as long as touching it would. An importer's IOMMU maps the whole granules
 * that the range lies in, and the importer keeps its users to the range: export
 * whole granules to who must not reach the rest by a faulty device.
 *
 * The descriptor may be closed once the memory is registered, and may be passed
 * on to another process. The window, and its place in the user's limit, lasts
 * until the DMA-buf's last descriptor, mapping and importer are gone, also after
 * vpeer_close(), unless it is freed or revoked: that ends access through the
 * DMA-buf as well. Mappings raise SIGBUS, and importers are told. Those that take
 * notice let go of the memory at once; the others keep it, which EINPROGRESS
 * tells, as with pins of mapped pages. vpeer_window_info() tells the two apart
 * from the registration on.
 *
 * Return: 0, -EINVAL when the range is not page aligned or leaves the window,
 * -EMFILE without a free descriptor, -ENODEV when the window was revoked or the
 * aperture detached, -EAGAIN while the function is reset or the machine
 * suspended, -EINTR when the process is being killed, -EBUSY or -ERANGE when
 * the kernel cannot make pages for the range, -ENOENT when a process that
 * shares the open file freed the window, -ENOMEM.
 *
 * Example:
 *	if (vpeer_window_dmabuf(window, 0, 0, &fd, &error))
 *		errx(1, "%s: %s (%s)", error.who, error.message, error.remedy);
 *	mr = ibv_reg_dmabuf_mr(pd, 0, vpeer_window_size(window), iova, fd,
 *			       IBV_ACCESS_LOCAL_WRITE);
 *	if (!mr)
 *		err(1, "ibv_reg_dmabuf_mr; the kernel's log has the cause");
 *	close(fd);
 */
VPEER_EXPORT int vpeer_window_dmabuf(struct vpeer_window *window, uint64_t offset, uint64_t size,
				     int *fd, struct vpeer_error *error);

/**
 * vpeer_window_offset() - where a window starts
 * @window: handle
 *
 * Return: bytes from the start of the BAR.
 */
VPEER_EXPORT uint64_t vpeer_window_offset(const struct vpeer_window *window);

/**
 * vpeer_window_size() - bytes of a window
 * @window: handle
 *
 * Return: bytes granted, whole granules.
 */
VPEER_EXPORT uint64_t vpeer_window_size(const struct vpeer_window *window);

/**
 * vpeer_window_generation() - generation of a window
 * @window: handle
 *
 * One acquire load, no system call and no lock. The value changes before the
 * window is revoked, so what was cached under an older value is stale. It
 * changes too when a mapping of the window or of its DMA-bufs is unmapped, in
 * part or by putting another one over it or moving it, before other memory can
 * have the addresses: what was registered by address is stale then, although
 * the window lives on (VPEER_FEATURE_UNMAP_GENERATIONS). A child of fork() that
 * unmaps its copy changes it for all; exit and exec do not. Unmapping changes
 * less than VPEER_GENERATION_ACCESS: a change from there upwards tells that
 * access ends.
 *
 * Return: the generation; 0 when the module has no generation page.
 */
VPEER_EXPORT uint64_t vpeer_window_generation(const struct vpeer_window *window);

/**
 * vpeer_control_open() - open the control node /dev/vpeerctl
 * @control: receives the handle; close it with vpeer_control_close()
 * @error: may be NULL
 *
 * Return: 0, -ENOENT when the module is not loaded, -EACCES, -EPROTO on a
 * version mismatch, -ENOMEM.
 */
VPEER_EXPORT int vpeer_control_open(struct vpeer_control **control, struct vpeer_error *error);

/**
 * vpeer_control_close() - close the control node
 * @control: handle or NULL
 */
VPEER_EXPORT void vpeer_control_close(struct vpeer_control *control);

/**
 * vpeer_control_query() - as vpeer_query(), on the control node
 * @control: handle
 * @query: out; the caller sets @query->argsz to its size, all else to 0
 * @error: may be NULL
 *
 * Return: 0, -EINVAL for another size or a member that is not 0.
 */
VPEER_EXPORT int vpeer_control_query(struct vpeer_control *control, struct vpeer_query *query,
				     struct vpeer_error *error);

/**
 * vpeer_attach() - make a BAR an aperture
 * @control: handle
 * @address: function, which must have no driver
 * @bar: BAR index 0-5, or VPEER_BAR_AUTO for the largest prefetchable memory BAR
 * @flags: 0, or VPEER_ATTACH_* other than VPEER_ATTACH_FOREIGN
 * @index: receives N of the new node /dev/vpeerN; may be NULL
 * @error: may be NULL
 *
 * Return: 0, -EPERM without CAP_SYS_ADMIN, or another errno for each enum
 * vpeer_reason of attaching, which @error has.
 */
VPEER_EXPORT int vpeer_attach(struct vpeer_control *control,
			      const struct vpeer_pci_address *address, unsigned int bar,
			      unsigned int flags, unsigned int *index,
			      struct vpeer_error *error);

/**
 * vpeer_attach_range() - make a range of a BAR an aperture beside its driver
 * @control: handle
 * @address: function, whose own driver must be bound and stays
 * @bar: BAR index 0-5, or VPEER_BAR_AUTO for the largest prefetchable memory BAR
 * @flags: 0, or VPEER_ATTACH_* other than VPEER_ATTACH_FOREIGN
 * @offset: start of the range in the BAR, a multiple of the granule (2 MiB)
 * @size: bytes, a multiple of the granule
 * @index: receives N of the new node /dev/vpeerN; may be NULL
 * @error: may be NULL
 *
 * The caller asserts that the driver does not use the range while the
 * aperture exists. Offsets of windows count from the range's start.
 *
 * Return: 0, -EPERM without CAP_SYS_ADMIN, or another errno for each enum
 * vpeer_reason of attaching, which @error has.
 */
VPEER_EXPORT int vpeer_attach_range(struct vpeer_control *control,
				    const struct vpeer_pci_address *address, unsigned int bar,
				    unsigned int flags, uint64_t offset, uint64_t size,
				    unsigned int *index, struct vpeer_error *error);

/**
 * vpeer_detach() - revoke every window and end the function's apertures
 * @control: handle
 * @address: function
 * @pinned_bytes: receives bytes that stay quarantined; may be NULL
 * @error: may be NULL
 *
 * Gives the function up, unless that has a driver of its own.
 *
 * Return: 0, -EINPROGRESS when the apertures are gone but pinned memory stays
 * quarantined until the last pin drops, -ENODEV when the function has no
 * aperture, -EPERM without CAP_SYS_ADMIN.
 */
VPEER_EXPORT int vpeer_detach(struct vpeer_control *control,
			      const struct vpeer_pci_address *address, uint64_t *pinned_bytes,
			      struct vpeer_error *error);

#ifdef __cplusplus
}
#endif

#include "vpeer_reg.h"

#endif /* VPEER_H */

/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/**
 * DOC: registration
 *
 * Memory of any kind as memory regions (MRs) of RDMA devices.
 *
 * vpeer_reg() takes any pointer. It finds out what the memory is, picks a route
 * that the device's driver takes, registers through libibverbs and keeps what
 * it registered, as long as it is right to. Neither vpeer.ko nor libcuda nor
 * libibverbs need be there for the library to load; what is missing is said
 * when it is needed.
 *
 * A context belongs to the process that made it: in a child of fork() every
 * call that registers or gives back fails with -ECHILD, and vpeer_context_destroy()
 * frees memory only.
 *
 * Addresses, sizes and offsets are bytes.
 */
#ifndef VPEER_REG_H
#define VPEER_REG_H

#ifndef VPEER_H
#error "include vpeer.h, which includes this header"
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct ibv_context;
struct ibv_mr;
struct ibv_pd;

struct vpeer_context;	/* a protection domain, and what is registered in it */
struct vpeer_mr;	/* a registration; many callers may hold one */
struct vpeer_flush;	/* a queue pair that orders writes before reads */

/* Why a registration is refused. Above those of the module; numbers are stable. */
enum vpeer_reg_reason {
	VPEER_REASON_NO_LIBIBVERBS = 4096,	/* ENOSYS: libibverbs.so.1 cannot be loaded, or is too old */
	VPEER_REASON_NO_RDMA_DEVICE = 4097,	/* ENODEV: no RDMA device of this name */
	VPEER_REASON_FORKED = 4098,		/* ECHILD: the context is the parent's */
	VPEER_REASON_NOT_MAPPED = 4099,		/* EFAULT: the process has nothing at part of the range */
	VPEER_REASON_MIXED_MEMORY = 4100,	/* EINVAL: the range is of more than one kind, window or device */
	VPEER_REASON_MEMLOCK = 4101,		/* ENOMEM: RLIMIT_MEMLOCK */
	VPEER_REASON_NO_DMABUF_IMPORT = 4102,	/* EOPNOTSUPP: the device's driver imports no DMA-bufs */
	VPEER_REASON_NO_DMABUF_EXPORT = 4103,	/* EOPNOTSUPP: the memory's driver exports no DMA-bufs */
	VPEER_REASON_EXPORTER_REFUSED = 4104,	/* the memory's driver does not let this device attach */
	VPEER_REASON_NO_PEERMEM = 4105,		/* EFAULT: no peer-memory client takes the address */
	VPEER_REASON_NOT_PINNABLE = 4106,	/* EFAULT: the kernel has no pages for the mapping */
	VPEER_REASON_ROUTE_FORBIDDEN = 4107,	/* EPERM: what would work is not among the allowed routes */
	VPEER_REASON_CUDA = 4108,		/* a call of the CUDA driver failed; the message has its name */
	VPEER_REASON_CUDA_NO_GDR = 4109,	/* EOPNOTSUPP: the GPU, or its driver, has no GPUDirect RDMA */
	VPEER_REASON_BAR_FULL = 4110,		/* ENOSPC: the GPU's BAR has no room for another mapping */
	VPEER_REASON_MR_LIMIT = 4111,		/* ENOMEM: the device has no MR, or no translation, left */
	VPEER_REASON_ACCESS = 4112,		/* EACCES: the mapping, or the device, does not permit the access */
	VPEER_REASON_MR_STALE = 4113,		/* ESTALE: the memory behind the MR was taken back */
	VPEER_REASON_MR_IN_USE = 4114,		/* EBUSY: MRs, or work on them, remain */
	VPEER_REASON_STAGED = 4115,		/* EOPNOTSUPP: the call needs, or cannot have, a staged MR */
	VPEER_REASON_NO_MLX5 = 4116,		/* EOPNOTSUPP: not a device of libmlx5, or no such library */
	VPEER_REASON_FLUSH_FAILED = 4117,	/* EIO: the flushing read did not complete */
};

/* Who can mend a failure: enum of vpeer_reason_mender() and struct vpeer_error.mender. */
enum vpeer_mender {
	VPEER_MENDER_UNKNOWN = 0,
	VPEER_MENDER_PROGRAM = 1,	/* the caller: another argument, another order of calls */
	VPEER_MENDER_GUEST = 2,		/* who administers this machine: modules, limits, packages */
	VPEER_MENDER_HOST = 3,		/* who administers the KVM host, or firmware and hardware */
};

/* Ways into the RDMA core, and a mask of them. */
enum vpeer_route {
	VPEER_ROUTE_NONE = 0,
	VPEER_ROUTE_DMABUF = 1,		/* ibv_reg_dmabuf_mr() */
	VPEER_ROUTE_PAGES = 2,		/* ibv_reg_mr(): pages that the kernel pins */
	VPEER_ROUTE_PEERMEM = 3,	/* ibv_reg_mr(): a peer-memory client of the RDMA stack */
	VPEER_ROUTE_STAGING = 4,	/* host memory that the caller copies to and from */
};

#define VPEER_ROUTE_BIT(route)	(1U << (route))
#define VPEER_ROUTES_DIRECT	(VPEER_ROUTE_BIT(VPEER_ROUTE_DMABUF) | \
				 VPEER_ROUTE_BIT(VPEER_ROUTE_PAGES) | \
				 VPEER_ROUTE_BIT(VPEER_ROUTE_PEERMEM))

/* What memory is. */
enum vpeer_memory_kind {
	VPEER_MEMORY_UNKNOWN = 0,
	VPEER_MEMORY_HOST = 1,		/* ordinary memory of the process */
	VPEER_MEMORY_WINDOW = 2,	/* a mapped window of vpeer.ko */
	VPEER_MEMORY_DMABUF = 3,	/* a DMA-buf, by descriptor or mapped */
	VPEER_MEMORY_CUDA = 4,		/* device memory of the CUDA driver */
	VPEER_MEMORY_CUDA_HOST = 5,	/* host memory that the CUDA driver allocated or registered */
	VPEER_MEMORY_CUDA_MANAGED = 6,	/* memory that the CUDA driver moves about: cannot be registered directly */
};

/* struct vpeer_context_options.relaxed_ordering, struct vpeer_reg_options.relaxed_ordering */
enum vpeer_ordering {
	VPEER_ORDERING_DEFAULT = 0,	/* relaxed for MRs of DMA-bufs, strict for others */
	VPEER_ORDERING_RELAXED = 1,
	VPEER_ORDERING_STRICT = 2,
};

/* How a registration of CUDA memory that is kept is known to be good still. */
enum vpeer_cuda_check {
	VPEER_CUDA_CHECK_ID = 0,	/* its id is compared at each hit: one call of the driver */
	VPEER_CUDA_CHECK_FREES = 1,	/* the caller promises vpeer_invalidate() before each free */
};

/* struct vpeer_context_options.flags */
#define VPEER_CONTEXT_NO_THREAD	(1U << 0)	/* the caller polls vpeer_context_fd() instead */
#define VPEER_CONTEXT_NO_CACHE	(1U << 1)	/* nothing is kept */

/* Levels of log messages. */
enum vpeer_log_level {
	VPEER_LOG_WARNING = 1,	/* something is slower, or less, than it could be */
	VPEER_LOG_INFO = 2,	/* which route is taken, once for each kind of memory and device */
	VPEER_LOG_DEBUG = 3,	/* each registration */
};

/**
 * struct vpeer_context_options - how a context works
 * @flags: VPEER_CONTEXT_*
 * @relaxed_ordering: enum vpeer_ordering of MRs that do not say
 * @routes: mask of VPEER_ROUTE_BIT() that may be taken, not an enum vpeer_route
 *	itself; 0 for VPEER_ROUTES_DIRECT
 * @cuda_check: enum vpeer_cuda_check
 * @max_entries: registrations kept while no one holds them, and those that are
 *	held; at most 16777216, 0 for 65536
 * @max_bytes: bytes of them; 0 for no bound
 * @aperture_percent: share of one aperture that registrations which are kept,
 *	and those that are held, may take, 1 to 100; 0 for 50. What goes beyond
 *	is registered, and not kept
 * @log_level: highest enum vpeer_log_level that @log is called for; 0 for none
 * @log: receives messages, one line without a newline. Called on the thread
 *	that called the library, or on the context's own thread, from several
 *	at a time; it must not call the library with this context
 * @log_argument: passed to @log
 * @revoked: told that memory of a registration that is held was taken back.
 *	Called on the context's own thread, or within
 *	vpeer_context_reclaim(), once for each MR, with no lock held; it may
 *	call every function on @mr but must not destroy the context. It may be
 *	called before vpeer_reg() has returned @mr, while another thread gives
 *	@mr back, and for work in flight after vpeer_dereg(). Access by the
 *	device has ended already, or ends with vpeer_dereg(); of an @mr that is
 *	given back during the call, when that returns
 * @revoked_argument: passed to @revoked
 * @reserved: 0
 */
struct vpeer_context_options {
	uint32_t flags;
	uint32_t relaxed_ordering;
	uint32_t routes;
	uint32_t cuda_check;
	uint64_t max_entries;
	uint64_t max_bytes;
	uint32_t aperture_percent;
	uint32_t log_level;
	void (*log)(void *argument, int level, const char *text);
	void *log_argument;
	void (*revoked)(void *argument, struct vpeer_mr *mr);
	void *revoked_argument;
	uint64_t reserved[8];
};

/* struct vpeer_reg_options.flags */
#define VPEER_REG_WHOLE		(1U << 0)	/* all of the allocation, window or mapping that the range is in */
#define VPEER_REG_KEEP		(1U << 1)	/* host memory: the caller promises vpeer_invalidate() before it goes */
#define VPEER_REG_NO_CACHE	(1U << 2)	/* an MR of its own, ended by vpeer_dereg() */
#define VPEER_REG_STAGING	(1U << 3)	/* staging is allowed if nothing direct works */

/**
 * struct vpeer_reg_options - hints for a registration
 * @flags: VPEER_REG_*
 * @access: IBV_ACCESS_* of libibverbs, without IBV_ACCESS_RELAXED_ORDERING and
 *	IBV_ACCESS_ZERO_BASED; 0 for local write, remote write and remote read. Remote
 *	write and remote atomics go with local write only
 * @relaxed_ordering: enum vpeer_ordering; the default is the context's
 * @routes: mask of VPEER_ROUTE_BIT() that may be taken, not an enum vpeer_route
 *	itself; 0 for the context's
 * @reserved: 0
 */
struct vpeer_reg_options {
	uint32_t flags;
	uint32_t access;
	uint32_t relaxed_ordering;
	uint32_t routes;
	uint64_t reserved[4];
};

/**
 * struct vpeer_range - part of memory
 * @address: first byte
 * @length: bytes, at least 1
 */
struct vpeer_range {
	void *address;
	size_t length;
};

/**
 * struct vpeer_memory_info - what a pointer points to
 * @kind: enum vpeer_memory_kind
 * @device_known: 1 when @device is the function that the memory is on
 * @base: start of the allocation, window mapping or mapping
 * @length: bytes of it
 * @device: PCI function of device memory
 * @window_offset: window: offset of @base from the start of the BAR range
 * @identity: window: its generation; CUDA: buffer id, or the id of what is mapped
 *	there; else 0
 * @exportable: 1 when a DMA-buf of it can be had
 * @node: window: path of the node; DMA-buf: the name that DMA_BUF_SET_NAME gave it;
 *	empty where it has none
 * @reserved: 0
 */
struct vpeer_memory_info {
	uint32_t kind;
	uint32_t device_known;
	uint64_t base;
	uint64_t length;
	struct vpeer_pci_address device;
	uint64_t window_offset;
	uint64_t identity;
	uint32_t exportable;
	char node[68];
	uint64_t reserved[4];
};

/* How far two PCI functions are apart, nearest first. */
enum vpeer_distance {
	VPEER_DISTANCE_UNKNOWN = 0,
	VPEER_DISTANCE_SAME_FUNCTION = 1,
	VPEER_DISTANCE_SAME_DEVICE = 2,	/* functions of one device */
	VPEER_DISTANCE_SAME_SWITCH = 3,	/* a bridge in common below the root port */
	VPEER_DISTANCE_SAME_ROOT_PORT = 4,
	VPEER_DISTANCE_SAME_BRIDGE = 5,	/* one host bridge */
	VPEER_DISTANCE_SAME_NODE = 6,	/* host bridges of one NUMA node */
	VPEER_DISTANCE_FAR = 7,
};

/**
 * struct vpeer_pair_info - memory of a function, and an RDMA device
 * @memory: function that the memory is on
 * @device: function of the RDMA device
 * @device_known: 1 when @device is set; soft-RoCE devices have none of their
 *	own and show their network device's
 * @distance: enum vpeer_distance as this machine sees it; a guest does not see
 *	the host's bridges
 * @common: bridge that both are below, if @distance has one
 * @memory_node: NUMA node of @memory, -1 if unknown
 * @device_node: NUMA node of @device, -1 if unknown
 * @routes: mask of VPEER_ROUTE_BIT() not known to be impossible
 * @reasons: for each enum vpeer_route: why it is impossible, else 0
 * @device_name: RDMA device
 * @reserved: 0
 */
struct vpeer_pair_info {
	struct vpeer_pci_address memory;
	struct vpeer_pci_address device;
	uint32_t device_known;
	uint32_t distance;
	struct vpeer_pci_address common;
	int32_t memory_node;
	int32_t device_node;
	uint32_t routes;
	uint32_t reasons[8];
	char device_name[68];
	uint64_t reserved[4];
};

/**
 * struct vpeer_stats - what a context did so far
 * @hits: ranges whose registration was there
 * @misses: ranges whose registration was not
 * @stale: kept registrations whose memory was taken back
 * @evicted: kept registrations dropped for room, or by vpeer_context_trim()
 * @registered: MRs made, by any route
 * @deregistered: MRs ended
 * @deferred: vpeer_dereg() that waited for work in flight
 * @failed: ranges refused: of vpeer_reg_batch() all of a call, of vpeer_reg_rails()
 *	one in each context
 * @uncached: registrations that were to be kept and could not be, as what is held
 *	takes up the bounds, or for lack of memory: they end with vpeer_dereg()
 * @entries: registrations kept or held now
 * @bytes: bytes of them
 * @routes: MRs made, for each enum vpeer_route
 * @probes: functional probes of a route
 * @revoked: calls of the callback of that name
 * @exports: DMA-bufs asked for
 * @lost: of those in @deregistered, MRs that ibv_dereg_mr() refused to end; each is
 *	logged as well
 * @reserved: 0
 */
struct vpeer_stats {
	uint64_t hits;
	uint64_t misses;
	uint64_t stale;
	uint64_t evicted;
	uint64_t registered;
	uint64_t deregistered;
	uint64_t deferred;
	uint64_t failed;
	uint64_t uncached;
	uint64_t entries;
	uint64_t bytes;
	uint64_t routes[8];
	uint64_t probes;
	uint64_t revoked;
	uint64_t exports;
	uint64_t lost;
	uint64_t reserved[7];
};

/**
 * vpeer_reason_mender() - who can mend a reason
 * @reason: enum vpeer_reason or enum vpeer_reg_reason
 *
 * Return: enum vpeer_mender.
 */
VPEER_EXPORT unsigned int vpeer_reason_mender(unsigned int reason);

/**
 * vpeer_mender_text() - who that is, in words
 * @mender: enum vpeer_mender
 *
 * Return: static text such as "the administrator of the KVM host", never NULL.
 */
VPEER_EXPORT const char *vpeer_mender_text(unsigned int mender);

/**
 * vpeer_route_name() - name of a route, for logs and scripts
 * @route: enum vpeer_route
 *
 * Return: static text such as "dmabuf"; "unknown" for another number.
 */
VPEER_EXPORT const char *vpeer_route_name(unsigned int route);

/**
 * vpeer_memory_kind_name() - name of a kind of memory, for logs and scripts
 * @kind: enum vpeer_memory_kind
 *
 * Return: static text such as "window"; "unknown" for another number.
 */
VPEER_EXPORT const char *vpeer_memory_kind_name(unsigned int kind);

/**
 * vpeer_distance_name() - name of a distance, for logs and scripts
 * @distance: enum vpeer_distance
 *
 * Return: static text such as "same-switch"; "unknown" for another number.
 */
VPEER_EXPORT const char *vpeer_distance_name(unsigned int distance);

/**
 * vpeer_context_create() - start registering in a protection domain
 * @context: receives the handle; end it with vpeer_context_destroy()
 * @pd: protection domain of the caller's, which must outlive the context
 * @options: NULL for the defaults
 * @error: may be NULL
 *
 * Starts a thread that deregisters what was kept of memory that was taken
 * back, unless VPEER_CONTEXT_NO_THREAD; it blocks all signals and sleeps
 * unless there is something to do.
 *
 * Where the kernel refuses membarrier(), which is logged once, registrations that are
 * kept are found more slowly. If it refuses it later, as with a seccomp filter, they
 * may also end late, and the revoked callback may come late: when each thread that
 * had used the context has used it once more, or has ended.
 *
 * Return: 0, -EINVAL for an unknown flag or a reserved field that is not 0,
 * -ENOSYS without libibverbs, -ENOMEM, -EMFILE, -EAGAIN when there can be no
 * thread.
 */
VPEER_EXPORT int vpeer_context_create(struct vpeer_context **context, struct ibv_pd *pd,
				      const struct vpeer_context_options *options,
				      struct vpeer_error *error);

/**
 * vpeer_context_open() - the same with a protection domain of its own
 * @context: receives the handle; end it with vpeer_context_destroy()
 * @device: an open device of the caller's, which must outlive the context
 * @options: NULL for the defaults
 * @error: may be NULL
 *
 * Return: as vpeer_context_create(), or the errno of ibv_alloc_pd().
 */
VPEER_EXPORT int vpeer_context_open(struct vpeer_context **context, struct ibv_context *device,
				    const struct vpeer_context_options *options,
				    struct vpeer_error *error);

/**
 * vpeer_context_destroy() - deregister what is kept, and end a context
 * @context: handle or NULL; valid still after -EBUSY
 * @error: may be NULL
 *
 * No other thread may use the context, nor one that used it be ending.
 *
 * Return: 0; -EBUSY while MRs are held or have work in flight, or while something of
 * the caller's is in a protection domain of the context's own; or another errno of
 * ibv_dealloc_pd(): the context has ended, and the protection domain is lost. In a
 * child of fork() 0: memory is freed, the parent's MRs stay.
 */
VPEER_EXPORT int vpeer_context_destroy(struct vpeer_context *context, struct vpeer_error *error);

/**
 * vpeer_context_pd() - protection domain of a context
 * @context: handle
 *
 * Return: the protection domain; it stays owned by who made it.
 */
VPEER_EXPORT struct ibv_pd *vpeer_context_pd(const struct vpeer_context *context);

/**
 * vpeer_context_fd() - descriptor that is readable when there is something to reclaim
 * @context: handle
 *
 * To be polled together with others; then call vpeer_context_reclaim().
 *
 * Return: the descriptor, which stays owned by the handle.
 */
VPEER_EXPORT int vpeer_context_fd(const struct vpeer_context *context);

/**
 * vpeer_context_reclaim() - deregister what was kept of memory that was taken back
 * @context: handle
 *
 * What the context's thread does by itself. Calls the callback for MRs that are
 * held.
 *
 * Return: number of registrations ended or told, or -ECHILD.
 */
VPEER_EXPORT int vpeer_context_reclaim(struct vpeer_context *context);

/**
 * vpeer_context_trim() - deregister what no one holds
 * @context: handle
 * @keep: how many of the most recently used may stay
 *
 * Return: number of registrations ended, or -ECHILD.
 */
VPEER_EXPORT int vpeer_context_trim(struct vpeer_context *context, uint64_t keep);

/**
 * vpeer_context_stats() - what a context did so far
 * @context: handle
 * @stats: out
 *
 * Counted without locks: figures may be of slightly different moments.
 */
VPEER_EXPORT void vpeer_context_stats(const struct vpeer_context *context,
				      struct vpeer_stats *stats);

/**
 * vpeer_reg() - register memory, whatever it is
 * @context: handle
 * @address: first byte
 * @length: bytes, at least 1
 * @options: NULL for the defaults
 * @mr: receives the registration; give it back with vpeer_dereg()
 * @error: may be NULL
 *
 * The MR covers at least the range; work requests name memory by its address in
 * the process, on either side. Where a kept registration covers the range with
 * at least this access, that is what is returned: for windows no lock is taken
 * and no system call made.
 *
 * Windows and CUDA memory are kept. A window's registration ends when the
 * window is freed or revoked, or, unless it is held, any mapping of the window
 * undone: then it is not given out again. Host memory is kept only
 * with VPEER_REG_KEEP: nothing tells the library that it was freed.
 *
 * Routes are tried in the order of enum vpeer_route. A driver's refusal that
 * can not change is remembered, others are tried again. If all fail, @error has
 * the first refusal, and what the others said.
 *
 * Return: 0; -EINVAL for length 0, an unknown flag, or a range that is of
 * several kinds; -EOVERFLOW for a range that wraps; -EFAULT when the process has
 * nothing there, or the kernel no pages to pin; -ENOMEM without memory, and at a
 * limit of locked memory or of the device; -EACCES when mapping or device does
 * not permit the access; -EOPNOTSUPP when driver or memory has no such route;
 * -EPERM when the allowed routes exclude what would work; -ENODEV when the
 * window was revoked; -ECHILD in a child of fork(); or another errno of the first
 * route, see enum vpeer_reg_reason.
 */
VPEER_EXPORT int vpeer_reg(struct vpeer_context *context, void *address, size_t length,
			   const struct vpeer_reg_options *options, struct vpeer_mr **mr,
			   struct vpeer_error *error);

/**
 * vpeer_reg_dmabuf() - register part of a DMA-buf
 * @context: handle
 * @fd: descriptor of the DMA-buf, which stays the caller's and may be closed
 *	afterwards
 * @offset: first byte in the DMA-buf
 * @length: bytes, at least 1
 * @iova: address that work requests use for the first byte; its offset in a
 *	page is that of @offset
 * @options: NULL for the defaults
 * @mr: receives the registration; give it back with vpeer_dereg()
 * @error: may be NULL
 *
 * Where the device's driver imports no DMA-bufs and pages are allowed, the
 * DMA-buf is mapped and its pages are pinned, if its exporter has any.
 *
 * Nothing is kept after vpeer_dereg(): VPEER_REG_KEEP and VPEER_REG_NO_CACHE change
 * nothing. Nor is a DMA-buf by descriptor staged, with VPEER_REG_STAGING either: map
 * it and register the mapping. VPEER_REG_WHOLE is refused: name all of the DMA-buf by
 * @offset and @length.
 *
 * Return: as vpeer_reg(); -EBADF when @fd is not of a DMA-buf; -EINVAL also for
 * VPEER_REG_WHOLE, and when @iova and @offset differ within a page.
 */
VPEER_EXPORT int vpeer_reg_dmabuf(struct vpeer_context *context, int fd, uint64_t offset,
				  size_t length, uint64_t iova,
				  const struct vpeer_reg_options *options, struct vpeer_mr **mr,
				  struct vpeer_error *error);

/**
 * vpeer_reg_rails() - register one range in several contexts
 * @contexts: handles, @count of them, on any devices
 * @count: how many, at least 1
 * @address: first byte
 * @length: bytes, at least 1
 * @options: NULL for the defaults
 * @mrs: receives @count registrations
 * @error: may be NULL; names the device that refused
 *
 * The memory is exported once; what it is, each context finds out for itself. All
 * or nothing.
 *
 * Return: as vpeer_reg(); -EINVAL also when @count is 0.
 */
VPEER_EXPORT int vpeer_reg_rails(struct vpeer_context *const *contexts, size_t count,
				 void *address, size_t length,
				 const struct vpeer_reg_options *options, struct vpeer_mr **mrs,
				 struct vpeer_error *error);

/**
 * vpeer_reg_batch() - register many ranges
 * @context: handle
 * @ranges: @count of them, in any order; they may overlap
 * @count: how many, at least 1
 * @options: NULL for the defaults
 * @mrs: receives @count registrations, in the order of @ranges
 * @error: may be NULL; names the range that was refused
 *
 * Ranges that touch or overlap and lie in one allocation share an MR. All or
 * nothing.
 *
 * Return: as vpeer_reg(); -EINVAL also when @count is 0.
 */
VPEER_EXPORT int vpeer_reg_batch(struct vpeer_context *context, const struct vpeer_range *ranges,
				 size_t count, const struct vpeer_reg_options *options,
				 struct vpeer_mr **mrs, struct vpeer_error *error);

/**
 * vpeer_dereg() - give a registration back
 * @mr: what vpeer_reg() gave, once for each time it did; or NULL
 *
 * Not before the completions of what uses the MR have been seen, unless it is
 * framed by vpeer_mr_work_begin(): then the MR ends with the work in flight. One that is
 * kept ends when it is dropped, and one of which the context's thread just looks
 * whether the revoked callback is due ends right after that. What ibv_dereg_mr() says
 * then is logged, and counted in struct vpeer_stats.lost.
 *
 * Return: 0, -EINPROGRESS when it waits for work in flight, -ECHILD, or the
 * errno of ibv_dereg_mr() for one that ends at once: the MR is lost then, which is
 * logged and counted, too.
 */
VPEER_EXPORT int vpeer_dereg(struct vpeer_mr *mr);

/**
 * vpeer_invalidate() - memory is about to be freed
 * @context: handle
 * @address: first byte
 * @length: bytes
 *
 * Ends what is kept of it. MRs that are held are not given out again, and end
 * with the last vpeer_dereg().
 *
 * Return: number of registrations, or -ECHILD.
 */
VPEER_EXPORT int vpeer_invalidate(struct vpeer_context *context, const void *address,
				  size_t length)
	VPEER_NO_ACCESS(2);

/**
 * vpeer_mr_work_begin() - work on an MR is posted
 * @mr: registration that is held
 *
 * From now on vpeer_dereg() does not end the MR before vpeer_mr_work_end().
 * Counted; for callers that may deregister before completions are seen.
 *
 * Return: 0, -ESTALE when the memory was taken back: post nothing, or -ECHILD.
 */
VPEER_EXPORT int vpeer_mr_work_begin(struct vpeer_mr *mr);

/**
 * vpeer_mr_work_end() - work on an MR is completed, or flushed
 * @mr: registration; not to be used afterwards if it was given back
 */
VPEER_EXPORT void vpeer_mr_work_end(struct vpeer_mr *mr);

/**
 * vpeer_mr_check() - see whether the memory behind an MR is still there
 * @mr: registration that is held
 * @error: may be NULL
 *
 * For windows an acquire load and a compare. A window is there until it is freed
 * or revoked: an MR that is held reaches it even if its mapping was undone.
 *
 * For CUDA memory the driver is asked, at the cost of a call, whether what is there is
 * still what was registered; with VPEER_CUDA_CHECK_FREES nothing is. Of host memory and
 * DMA-bufs nothing tells that they were taken back: 0 says nothing about them.
 *
 * Return: 0, -ESTALE when it was taken back, or -ECHILD.
 */
VPEER_EXPORT int vpeer_mr_check(const struct vpeer_mr *mr, struct vpeer_error *error);

/**
 * vpeer_mr_lkey() - local key
 * @mr: registration that is held
 *
 * Return: lkey for work requests.
 */
VPEER_EXPORT uint32_t vpeer_mr_lkey(const struct vpeer_mr *mr);

/**
 * vpeer_mr_rkey() - remote key
 * @mr: registration that is held
 *
 * Return: rkey for the peer.
 */
VPEER_EXPORT uint32_t vpeer_mr_rkey(const struct vpeer_mr *mr);

/**
 * vpeer_mr_ibv() - MR of libibverbs
 * @mr: registration that is held
 *
 * Its member addr is NOT the address for work requests: it may be NULL, an offset in a
 * DMA-buf or a buffer of the library's. The address is that which vpeer_mr_range()
 * gives, whatever the route.
 *
 * Return: the MR, which must not be deregistered by the caller.
 */
VPEER_EXPORT struct ibv_mr *vpeer_mr_ibv(const struct vpeer_mr *mr);

/**
 * vpeer_mr_range() - what an MR covers, and under which address
 * @mr: registration that is held
 * @iova: receives the address of the first byte in work requests; may be NULL
 * @length: receives the bytes; may be NULL
 */
VPEER_EXPORT void vpeer_mr_range(const struct vpeer_mr *mr, uint64_t *iova, uint64_t *length);

/**
 * vpeer_mr_route() - how an MR reached the RDMA core
 * @mr: registration that is held
 *
 * Return: enum vpeer_route.
 */
VPEER_EXPORT unsigned int vpeer_mr_route(const struct vpeer_mr *mr);

/**
 * vpeer_mr_kind() - what the memory of an MR is
 * @mr: registration that is held
 *
 * Return: enum vpeer_memory_kind.
 */
VPEER_EXPORT unsigned int vpeer_mr_kind(const struct vpeer_mr *mr);

/* vpeer_mr_copy() */
enum vpeer_copy {
	VPEER_COPY_TO_STAGE = 1,	/* before a transfer from the memory */
	VPEER_COPY_FROM_STAGE = 2,	/* after a transfer to the memory */
};

/**
 * vpeer_mr_copy() - bring memory and its staging buffer together
 * @mr: registration by VPEER_ROUTE_STAGING that is held
 * @way: enum vpeer_copy
 * @address: first byte in the memory
 * @length: bytes
 * @error: may be NULL
 *
 * Work requests go on using the memory's own addresses, as vpeer_mr_range() gives
 * them: they reach the staging buffer, and nothing is copied but by this call. A window
 * that is revoked, or memory that is unmapped, while it is being copied gives SIGBUS or
 * SIGSEGV, as any access to it would.
 *
 * Return: 0, -EINVAL for a range outside the MR or an unknown @way, -EOPNOTSUPP for an MR by
 * another route, -EACCES to memory that is mapped for reading only, -ESTALE when
 * the memory was taken back, -EIO when the CUDA driver refused, -ECHILD.
 */
VPEER_EXPORT int vpeer_mr_copy(struct vpeer_mr *mr, unsigned int way, void *address,
			       size_t length, struct vpeer_error *error);

/**
 * vpeer_query_memory() - what a pointer points to
 * @address: first byte
 * @length: bytes, at least 1
 * @info: out
 * @error: may be NULL
 *
 * Return: 0, -EFAULT when the process has nothing there, -EINVAL for length 0 or
 * when the range is of several kinds, -EOVERFLOW when it wraps, or another errno of reading
 * /proc.
 */
VPEER_EXPORT int vpeer_query_memory(const void *address, size_t length,
				    struct vpeer_memory_info *info, struct vpeer_error *error)
	VPEER_NO_ACCESS(1);

/**
 * vpeer_query_pair() - path between memory of a function and a device
 * @context: handle: the device, whose routes may have been tried already
 * @memory: function that the memory is on, an aperture's or a GPU
 * @info: out
 * @error: may be NULL
 *
 * What sysfs and earlier registrations say. Only a transfer with bytes compared
 * proves a path: that is 'vpeer selftest'.
 *
 * Return: 0, or -ENODEV when there is no such function.
 */
VPEER_EXPORT int vpeer_query_pair(struct vpeer_context *context,
				  const struct vpeer_pci_address *memory,
				  struct vpeer_pair_info *info, struct vpeer_error *error);

/**
 * vpeer_nearest_devices() - RDMA devices, the nearest to a function first
 * @memory: function that the memory is on
 * @pairs: receives an array; free it with vpeer_pairs_free()
 * @count: receives the number of pairs
 * @error: may be NULL
 *
 * Of the same distance the nearest NUMA node comes first, as firmware has it,
 * then in the order of PCI addresses and names; an unknown distance is last.
 * Routes are not tried: their fields are 0.
 *
 * Return: 0, -ENODEV when there is no such function, -ENOMEM.
 */
VPEER_EXPORT int vpeer_nearest_devices(const struct vpeer_pci_address *memory,
				       struct vpeer_pair_info **pairs, size_t *count,
				       struct vpeer_error *error);

/**
 * vpeer_nearest_memory() - apertures and GPUs, the nearest to an RDMA device first
 * @device: name of an RDMA device, such as mlx5_0
 * @pairs: receives an array; free it with vpeer_pairs_free()
 * @count: receives the number of pairs
 * @error: may be NULL
 *
 * Functions that have an aperture, and display controllers and accelerators with
 * a prefetchable 64-bit BAR of 64 MiB or more, each once. In the order of
 * vpeer_nearest_devices().
 *
 * Return: 0, -ENODEV when there is no such device, -ENOMEM.
 */
VPEER_EXPORT int vpeer_nearest_memory(const char *device, struct vpeer_pair_info **pairs,
				      size_t *count, struct vpeer_error *error);

/**
 * vpeer_pairs_free() - free what vpeer_nearest_devices() or _memory() returned
 * @pairs: array or NULL
 */
VPEER_EXPORT void vpeer_pairs_free(struct vpeer_pair_info *pairs);

/**
 * struct vpeer_export - a DMA-buf of memory
 * @fd: descriptor, close-on-exec; the caller closes it
 * @reserved: 0
 * @offset: where in the DMA-buf the range starts
 * @length: bytes of the range
 */
struct vpeer_export {
	int32_t fd;
	uint32_t reserved;
	uint64_t offset;
	uint64_t length;
};

/**
 * vpeer_export() - a DMA-buf of any device memory
 * @address: first byte
 * @length: bytes, at least 1
 * @dmabuf: receives the descriptor
 * @error: may be NULL
 *
 * For importers that are no MRs: queues of mlx5 (mlx5dv_devx_umem_reg_ex()),
 * other devices. The DMA-buf covers whole pages around the range.
 *
 * Return: 0, -EOPNOTSUPP for memory that has no exporter, or another errno of
 * vpeer_query_memory() or vpeer_window_dmabuf().
 */
VPEER_EXPORT int vpeer_export(const void *address, size_t length, struct vpeer_export *dmabuf,
			      struct vpeer_error *error)
	VPEER_NO_ACCESS(1);

/**
 * vpeer_umem_reg() - memory of a queue or doorbell for mlx5 devices
 * @device: open device, of libmlx5
 * @address: first byte
 * @length: bytes, at least 1
 * @access: IBV_ACCESS_*
 * @umem: receives a struct mlx5dv_devx_umem; end it with
 *	mlx5dv_devx_umem_dereg()
 * @error: may be NULL
 *
 * By DMA-buf where the memory has one, else by address.
 *
 * Return: 0, -EOPNOTSUPP when the device or libmlx5 has no such thing, or the
 * errno of mlx5dv_devx_umem_reg_ex().
 */
VPEER_EXPORT int vpeer_umem_reg(struct ibv_context *device, void *address, size_t length,
				uint32_t access, void **umem, struct vpeer_error *error);

/**
 * vpeer_flush_create() - make ready to order writes of a device before reads by the GPU
 * @flush: receives the handle; end it with vpeer_flush_destroy()
 * @context: handle of the context, which must outlive it
 * @port: port of the device, from 1
 * @error: may be NULL
 *
 * Makes a queue pair that is connected to itself.
 *
 * Return: 0, -EINVAL for a port that the device does not have, -EOPNOTSUPP when the
 * port is down or has no address, -ENOMEM, -ECHILD, or an errno of libibverbs.
 */
VPEER_EXPORT int vpeer_flush_create(struct vpeer_flush **flush, struct vpeer_context *context,
				    uint8_t port, struct vpeer_error *error);

/**
 * vpeer_flush() - what the device has written is in the memory when this returns
 * @flush: handle; one thread at a time
 * @mr: registration of the memory in the same context, with remote read
 * @timeout_ms: wait for the read at most this long, in milliseconds
 * @error: may be NULL
 *
 * For memory whose processor reads what a NIC wrote: a completion says that the
 * NIC has sent the writes, not that they have arrived. Reads the first byte of
 * the memory by the same device: writes of one requester do not pass its reads
 * (PCI Express Base Specification, transaction ordering), unless both are
 * relaxed. Orders the writes of this device only.
 *
 * Return: 0, -EINVAL for an MR of another context or without remote read, -EOPNOTSUPP
 * for a staged one, -ETIMEDOUT when @timeout_ms have passed, -EIO when the read failed
 * (then @flush is of no use any more), -ESTALE when the memory was taken back, -ECHILD.
 */
VPEER_EXPORT int vpeer_flush(struct vpeer_flush *flush, struct vpeer_mr *mr,
			     unsigned int timeout_ms, struct vpeer_error *error);

/**
 * vpeer_flush_destroy() - end what vpeer_flush_create() made
 * @flush: handle or NULL
 */
VPEER_EXPORT void vpeer_flush_destroy(struct vpeer_flush *flush);

#ifdef __cplusplus
}
#endif

#endif /* VPEER_REG_H */

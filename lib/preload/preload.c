// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * libvpeer for programs that cannot be changed: $LD_PRELOAD names this library, and what they
 * register of windows and of GPU memory goes through libvpeer. All else goes to
 * libibverbs as it is.
 *
 * A program that asked for no relaxed ordering counts on the order of what a device
 * writes, so that none is given to it.
 */
#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "journal.h"
#include "real.h"
#include "register.h"
#include "table.h"

#define INTERPOSED	__attribute__((visibility("default")))

/* Other addresses, or other memory at each access, than libvpeer registers. */
#define NOT_OURS	(IBV_ACCESS_ZERO_BASED | IBV_ACCESS_ON_DEMAND)

/* What a program asks for. */
struct asked {
	struct ibv_pd *pd;
	void *address;
	size_t length;
	uint64_t iova;
	unsigned int access;
	unsigned int kind;
};

/* Does libvpeer know more of it than libibverbs? */
static bool is_ours(struct asked *a)
{
	a->kind = table_kind(a->address, a->length);
	if (a->access & NOT_OURS)
		return false;
	return a->kind == VPEER_MEMORY_WINDOW || a->kind == VPEER_MEMORY_CUDA;
}

/* As it is asked for: also without any access but local reads. */
static int make_request(const struct asked *a, struct vpeer_context *context,
			struct vpeer_request *request, struct vpeer_error *error)
{
	bool relaxed = a->access & IBV_ACCESS_RELAXED_ORDERING;
	const struct vpeer_reg_options options = {
		.flags = VPEER_REG_NO_CACHE,
		.relaxed_ordering = relaxed ? VPEER_ORDERING_RELAXED : VPEER_ORDERING_STRICT,
	};
	int err = vpeer_request_init(request, context, a->iova, a->length, &options, error);

	request->access = a->access & ~(unsigned int)IBV_ACCESS_OPTIONAL_RANGE;
	return err;
}

static int register_exported(const struct asked *a, const struct vpeer_request *request,
			     const struct vpeer_export *export, struct vpeer_mr **mr,
			     struct vpeer_error *error)
{
	struct vpeer_exported exported = { .fd = -1 };
	struct vpeer_memory memory;
	int err = vpeer_memory_from_dmabuf(export->fd, export->offset, a->length, a->iova,
					   &memory, error);

	if (!err)
		err = vpeer_register_memory(request, &memory, &exported, 0, mr, error);
	vpeer_exported_close(&exported);
	return err;
}

/* Work requests are to use addresses that are not those of the process. */
static int register_elsewhere(const struct asked *a, const struct vpeer_request *request,
			      struct vpeer_mr **mr, struct vpeer_error *error)
{
	struct vpeer_export export;
	int err;

	if ((a->iova ^ (uintptr_t)a->address) & ((uint64_t)sysconf(_SC_PAGESIZE) - 1))
		return vpeer_fail(error, EINVAL, VPEER_REASON_BAD_ALIGNMENT, "", "",
				  "address and iova differ within a page");
	err = vpeer_export(a->address, a->length, &export, error);
	if (err)
		return err;
	err = register_exported(a, request, &export, mr, error);
	close(export.fd);
	return err;
}

static int register_ours(const struct asked *a, struct vpeer_mr **mr, struct vpeer_error *error)
{
	struct vpeer_request request;
	struct vpeer_context *context;
	int err = table_context(a->pd, &context, error);

	if (err)
		return err;
	err = make_request(a, context, &request, error);
	if (err)
		return err;
	if (a->iova == (uintptr_t)a->address)
		err = vpeer_register(&request, mr, error);
	else
		err = register_elsewhere(a, &request, mr, error);
	if (err)
		return err;
	err = table_add(*mr);
	if (err) {
		vpeer_dereg(*mr);
		vpeer_fail(error, -err, VPEER_REASON_NONE, "", "", "no memory");
	}
	return err;
}

/* What libibverbs would have said of it. */
static struct ibv_mr *dressed(const struct asked *a, const struct vpeer_mr *mr)
{
	struct ibv_mr *ibv = vpeer_mr_ibv(mr);

	ibv->addr = a->address;
	ibv->length = a->length;
	journal_count(JOURNAL_LIBRARY);
	journal_say("%p, %zu bytes: %s, by %s, on %s", a->address, a->length,
		    vpeer_memory_kind_name(a->kind), vpeer_route_name(vpeer_mr_route(mr)),
		    a->pd->context->device->name);
	return ibv;
}

static void tell_refusal(const struct asked *a, const struct vpeer_error *error)
{
	bool mendable = *error->remedy;

	journal_say("%p, %zu bytes: %s, refused, on %s: %s%s%s%s%s", a->address, a->length,
		    vpeer_memory_kind_name(a->kind), a->pd->context->device->name, error->message,
		    mendable ? "; to be mended by " : "",
		    mendable ? vpeer_mender_text((unsigned int)error->mender) : "",
		    mendable ? ": " : "", error->remedy);
}

static struct ibv_mr *register_or_tell(const struct asked *a)
{
	struct vpeer_error error = { 0 };
	struct vpeer_mr *mr = NULL;
	int err = register_ours(a, &mr, &error);

	if (!err)
		return dressed(a, mr);
	journal_count(JOURNAL_REFUSED);
	tell_refusal(a, &error);
	errno = -err;
	return NULL;
}

static struct ibv_mr *straight(const struct asked *a, struct ibv_mr *mr)
{
	const char *kind = vpeer_memory_kind_name(a->kind);
	const char *device = a->pd->context->device->name;

	journal_count(JOURNAL_STRAIGHT);
	if (mr)
		journal_say("%p, %zu bytes: %s, straight, on %s", a->address, a->length, kind,
			    device);
	else
		journal_say("%p, %zu bytes: %s, straight, on %s: %m", a->address, a->length, kind,
			    device);
	return mr;
}

INTERPOSED struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct asked a = { pd, addr, length, (uintptr_t)addr, (unsigned int)access, 0 };

	if (is_ours(&a))
		return register_or_tell(&a);
	return straight(&a, real_reg_mr(pd, addr, length, access));
}

INTERPOSED struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length,
					  uint64_t iova, int access)
{
	struct asked a = { pd, addr, length, iova, (unsigned int)access, 0 };

	if (is_ours(&a))
		return register_or_tell(&a);
	return straight(&a, real_reg_mr_iova(pd, addr, length, iova, access));
}

INTERPOSED struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length,
					   uint64_t iova, unsigned int access)
{
	struct asked a = { pd, addr, length, iova, access, 0 };

	if (is_ours(&a))
		return register_or_tell(&a);
	return straight(&a, real_reg_mr_iova2(pd, addr, length, iova, access));
}

/* libvpeer would not know of it. The MR stays as it is. */
INTERPOSED int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr,
			    size_t length, int access)
{
	if (!table_find(mr))
		return real_rereg_mr(mr, flags, pd, addr, length, access);
	journal_say("%p: ibv_rereg_mr() refused: not of what libvpeer registered", mr->addr);
	errno = EOPNOTSUPP;
	return IBV_REREG_MR_ERR_INPUT;
}

INTERPOSED int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct vpeer_mr *ours = table_take(mr);
	int err;

	if (!ours)
		return real_dereg_mr(mr);
	err = -vpeer_dereg(ours);
	if (err)
		errno = err;
	return err;
}

INTERPOSED int ibv_dealloc_pd(struct ibv_pd *pd)
{
	int err = -table_end_context(pd);

	if (!err)
		return real_dealloc_pd(pd);
	errno = err;
	return err;
}

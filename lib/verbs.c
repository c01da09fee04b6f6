// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "verbs.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "internal.h"

#define LIBRARY	"libibverbs.so.1"

struct symbol {
	const char *name;
	const char *version;
	size_t place;
	bool optional;
};

#define SYMBOL(member, version, optional) \
	{ "ibv_" #member, version, offsetof(struct vpeer_verbs, member), optional }

static const struct symbol symbols[] = {
	SYMBOL(get_device_name, "IBVERBS_1.1", false),
	SYMBOL(alloc_pd, "IBVERBS_1.1", false),
	SYMBOL(dealloc_pd, "IBVERBS_1.1", false),
	{ "ibv_reg_mr_iova2", "IBVERBS_1.8", offsetof(struct vpeer_verbs, reg_mr), false },
	SYMBOL(reg_dmabuf_mr, "IBVERBS_1.12", true),
	SYMBOL(dereg_mr, "IBVERBS_1.1", false),
	SYMBOL(create_cq, "IBVERBS_1.1", false),
	SYMBOL(destroy_cq, "IBVERBS_1.1", false),
	SYMBOL(create_qp, "IBVERBS_1.1", false),
	SYMBOL(modify_qp, "IBVERBS_1.1", false),
	SYMBOL(destroy_qp, "IBVERBS_1.1", false),
	SYMBOL(query_port, "IBVERBS_1.1", false),
	SYMBOL(query_gid, "IBVERBS_1.1", false),
};

static int fail_missing(struct vpeer_error *error, const char *what)
{
	return vpeer_fail(error, ENOSYS, VPEER_REASON_NO_LIBIBVERBS, LIBRARY,
			  vpeer_reason_remedy(VPEER_REASON_NO_LIBIBVERBS), "%s: %s",
			  vpeer_reason_text(VPEER_REASON_NO_LIBIBVERBS), what);
}

int vpeer_verbs_load(struct vpeer_verbs *verbs, struct vpeer_error *error)
{
	*verbs = (struct vpeer_verbs){ .handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL) };
	if (!verbs->handle)
		return fail_missing(error, dlerror() ?: LIBRARY);
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		const struct symbol *s = &symbols[i];
		void *address = dlvsym(verbs->handle, s->name, s->version);
		int err;

		if (!address && !s->optional) {
			err = fail_missing(error, s->name);
			vpeer_verbs_unload(verbs);
			return err;
		}
		memcpy((char *)verbs + s->place, &address, sizeof(address));
	}
	return 0;
}

void vpeer_verbs_unload(struct vpeer_verbs *verbs)
{
	if (verbs->handle)
		dlclose(verbs->handle);
	verbs->handle = NULL;
}

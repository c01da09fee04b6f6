/* SPDX-License-Identifier: GPL-2.0-only */
/* What the parts of an owner share. */
#ifndef OWNER_PARTS_H
#define OWNER_PARTS_H

#include <setjmp.h>
#include <signal.h>

#include "harness.h"
#include "owner.h"
#include "rdma.h"

#define OWNER_PAGE	4096ULL
#define OWNER_IO	(64 * KIB)	/* one transfer to or from a disk */

/* The process's own; a fault may end any use of it. */
struct owner_claim {
	int fd;
	uint64_t offset;
	uint64_t size;
	char *mapped;
	struct ibv_mr *mr;
	bool explicit;
	bool revoked;
};

extern const struct owner *self;
extern struct owner_claim claim;
extern char *plain;		/* OWNER_IO bytes of ordinary memory */

/* Where a fault goes that is allowed; any other kills. */
extern sigjmp_buf owner_fault_jump;
extern volatile sig_atomic_t owner_faults_allowed;

__attribute__((format(printf, 2, 3)))
_Noreturn void owner_give_up(int status, const char *format, ...);

/* Tells the storm what is under way, and what was done. */
void owner_begin(enum owner_act act);
void owner_done(enum owner_act act);

/* !@ok: ends the owner, unless its aperture may leave. */
bool owner_failed(bool ok, const char *what);

void owner_check(int status, const char *memory, uint64_t offset, uint64_t size,
		 uint32_t owner, bool zero_too);
void owner_check_own(uint64_t at, uint64_t size);

/* A page of the claim with so many bytes behind it. */
uint64_t owner_some_place(uint64_t size);

/* owner_io.c */
void owner_rdma_begin(void);
void owner_register(void);
void owner_disk(void);
void owner_aio(void);

/* owner_share.c */
void owner_fork(void);
void owner_collect(void);
void owner_pass(void);
void owner_take(void);

#endif /* OWNER_PARTS_H */

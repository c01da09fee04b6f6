/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A seccomp filter that refuses membarrier() with EPERM, for processes that end afterwards. */
#ifndef FORBID_H
#define FORBID_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For this thread and those it makes, or for all there are. */
static inline bool forbid_membarrier(bool all)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(__NR_seccomp, SECCOMP_SET_MODE_FILTER,
			all ? SECCOMP_FILTER_FLAG_TSYNC : 0, &program);
}

#endif /* FORBID_H */

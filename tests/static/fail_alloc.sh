#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Whatever the module allocates can be made to fail: tests/fail_alloc/fail.h stands before each such call.
set -eu

cd "$(dirname "$0")/../.."
status=0

# Loading only, where nothing is left to look at when it fails.
loading='alloc_workqueue|alloc_chrdev_region'

used() {
	grep -hoE '\<(kv?[mzc]?alloc[a-z_]*|k(str|mem)dup[a-z_]*|kv?asprintf|[a-z]+_alloc[a-z_]*|alloc_[a-z_]+|memremap[a-z_]*|ioremap[a-z_]*|dma_map_[a-z_]+|dma_buf_export|get_unused_fd_flags|xa_store[a-z_]*|vmf?_insert_[a-z_]+)\(' \
		kmod/*.c kmod/compat/compat.h | tr -d '(' | sort -u | grep -Ev "^(vpeer_.*|$loading)\$"
}

wrapped() {
	sed -n 's/^#define \([a-z_]*\)(.*/\1/p' tests/fail_alloc/fail.h | sort -u
}

[ "$(used | wc -l)" -gt 12 ] || { echo "calls that allocate: not found"; status=1; }
for name in $(comm -23 <(used) <(wrapped)); do
	echo "$name: called in kmod, but not wrapped in tests/fail_alloc/fail.h"
	status=1
done
exit $status
